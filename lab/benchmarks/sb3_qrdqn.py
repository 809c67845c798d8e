"""sb3-contrib's QR-DQN as a run of this project: flags and files of `rainbow.train`.

python -m lab.benchmarks.sb3_qrdqn --preset laptop --no-noisy --no-dueling --no-double \
    --no-prioritised --quantiles 200 --levels bramble-train --run-dir runs/qrdqn

It plays the same environments from the same seeds with the same net but for its head; `settings`
says how the rest is told to it. What it lacks is refused. It leaves episodes and metrics, but no
checkpoint: nothing here plays with its quantiles. Needs the `benchmarks` extra.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sb3_contrib import QRDQN

from lab.benchmarks.sb3 import Envs, Recorder, policy_kwargs, refuse_others
from rainbow.config import RainbowConfig
from rainbow.train import parse
from retro_agents.games.families import make_for, train
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.seeding import seed_everything
from retro_agents.run.config import flat, to_dict
from retro_agents.run.folder import Reports, reports

LACKING: dict[str, Any] = {
    "resume": False,
    "init": "",
    "init_encoder": "",
    "actors": 0,
    "compile": False,
    "double": False,
    "dueling": False,
    "noisy": False,
    "prioritised": False,
    "initial_priorities": False,
    "distributional": True,
    "munchausen": 0.0,
    "epsilon_ladder": 0.0,
    "evaluate_every": 0,
    "sight_every": 0,
    "video_every": 0,
}
"""Settings that QR-DQN has not, and the value it can have."""


def settings(config: RainbowConfig) -> dict[str, Any]:
    """What QR-DQN is constructed with to do what `rainbow` does with these settings. UserError: it
    cannot.

    Differs by its own make: fp32; fixed quantiles with the Huber loss; whole stacks remembered
    twice over; steps of all environments between updates, in whole numbers of each.
    """
    refuse_others(flat(to_dict(config)), LACKING)
    steps, rest = divmod(config.update_every, config.run.num_envs)
    if not config.quantiles or rest:
        raise UserError(
            "QR-DQN needs --quantiles above 0 and an --update-every that --num-envs divides, not "
            f"{config.quantiles} and {config.update_every} for {config.run.num_envs}"
        )
    return {
        "learning_rate": config.learning_rate,
        "buffer_size": min(config.replay_size, config.run.timesteps),
        "learning_starts": config.learning_starts,
        "batch_size": config.batch_size,
        "gamma": config.gamma,
        "n_steps": config.n_step,
        "train_freq": steps,
        "gradient_steps": 1,
        "target_update_interval": config.target_every,
        "exploration_fraction": min(1.0, config.epsilon_steps / config.run.timesteps),
        "exploration_initial_eps": config.epsilon_start,
        "exploration_final_eps": config.epsilon_final,
        "max_grad_norm": config.gradient_norm or None,
        "seed": config.run.seed,
        "policy_kwargs": {
            "n_quantiles": config.quantiles,
            **policy_kwargs(config.net, adam_epsilon=config.adam_epsilon),
        },
    }


class Losses(Recorder):
    """Writes a row of metrics every so many agent steps too."""

    def __init__(self, report: Reports, every: int) -> None:
        super().__init__(report)
        self.every = every

    def _on_step(self) -> bool:
        super()._on_step()
        if self.num_timesteps % self.every < self.training_env.num_envs:
            seen = self.logger.name_to_value
            self.note({"loss": float(seen.get("train/loss", float("nan")))})
        return True


def run(
    envs: Any, config: RainbowConfig, run_dir: Path | str, init: Path | str | None = None
) -> QRDQN:
    """Train on `envs` for `timesteps` agent steps, as `rainbow.train.run` does. init is
    refused by `settings`."""
    told = settings(config)
    device = prepare_device(config.run.device, threads=config.torch_threads)
    seed_everything(config.run.seed)
    model = QRDQN("CnnPolicy", Envs(envs, seed=config.run.seed), device=device, **told)
    with reports(run_dir, config, "sb3", env_steps=0) as report:
        recorder = Losses(report, config.log_every)
        model.learn(config.run.timesteps, callback=recorder, log_interval=10**9)
    return model


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Train as the command line says."""
    config = parse(argv)
    settings(config)
    train(run, config, make_for(config))


if __name__ == "__main__":
    main()
