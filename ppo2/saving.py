"""What a PPO2 run writes: metrics, episodes, and checkpoints, from which it goes on exactly."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from envs import VectorEnv, saved_states
from experiment.checkpoint import Checkpoint, load_to_resume, save_checkpoint
from experiment.errors import UserError
from experiment.optimiser import optimiser_tensors, restore_optimiser
from experiment.run_folder import reports as run_reports
from experiment.seeding import rng_state, set_generator_state, set_rng_state
from ppo2.config import PPO2Config
from ppo2.training import Training


@contextmanager
def reports(
    run_dir: Path | str, config: PPO2Config, training: Training
) -> Iterator[Callable[[dict[str, float]], None]]:
    """metrics.csv, episodes.csv and the progress shown, by the first process -> what writes them:
    the episodes ended since the last time, and a row of metrics if any are given."""
    with ExitStack() as stack:
        if training.group.first:
            steps = training.env_steps
            own = run_reports(run_dir, config, "ppo2", env_steps=steps)
            _, metrics, episodes, progress = stack.enter_context(own)

        def write(values: dict[str, float]) -> None:
            ended = sorted(chain(*training.group.gather(training.ended)), key=lambda e: e[:2])
            training.ended.clear()
            training.recent_returns.extend(episode["r"] for _, _, episode in ended)
            if not training.group.first:
                return
            for step, env, episode in ended:
                episodes.log(step, env, episode)
            if values:
                if recent := training.recent_returns:
                    ends = {"min_return": min(recent), "max_return": max(recent)}
                    values = {**values, "mean_return": float(np.mean(recent)), **ends}
                metrics.log(training.env_steps, values)
            progress.update(training.env_steps, values)

        yield write


def save(training: Training, run_dir: Path | str, envs: VectorEnv) -> None:
    """Write a checkpoint from which `restore` goes on exactly, in any number of processes."""
    adam = optimiser_tensors(training.learner.optimiser)
    finals = [
        (t, training.mine.start + env, image.tobytes())
        for (t, env), image in training.rollout.finals.items()
    ]
    own = {
        "envs": saved_states(envs),
        "rngs": training.began,
        "starts": training.starts.tolist(),
        "state": training.state.tolist(),
        "return_sums": training.return_scale.sums.tolist(),
        "progress": training.progress.tolist(),
        "finals": finals,
    }
    arrays, tensors, state = {}, {}, {}
    if training.novelty is not None:
        arrays["novelty"] = training.novelty.array()
    if training.rnd is not None:
        tensors["rnd"] = training.rnd.tensors()
        state["rnd_moments"] = training.rnd.scale.save()
        own["rnd_sums"] = training.rnd.scale.sums.tolist()
    everyone = training.group.gather((own, training.rollout.arrays()))
    if not training.group.first:
        return
    rollouts = [rollout for _, rollout in everyone]
    save_checkpoint(
        Path(run_dir) / "checkpoints",
        agent="ppo2",
        config=training.config,
        keep=training.config.num_checkpoints + 1 if training.config.num_checkpoints else 2,
        counters={"env_steps": training.env_steps, "updates": training.updates},
        tensors={"net": training.agent.net.state_dict(), "optimiser": adam, **tensors},
        arrays={
            **{name: np.concatenate([r[name] for r in rollouts]) for name in rollouts[0]},
            **arrays,
        },
        state={
            **state,
            "rng": rng_state(),
            "recent_returns": list(training.recent_returns),
            "return_moments": training.return_scale.save(),
            "kl_weight": float(training.learner.kl_weight),
            **{name: list(chain(*(state[name] for state, _ in everyone))) for name in own},
        },
    )


def check(saved: Checkpoint, training: Training) -> None:
    """UserError: a checkpoint lacks what this run would go on with."""
    if "rngs" not in saved.state:
        raise UserError(f"{saved.folder} is an agent alone, not a run: give it to --init instead")
    envs, num_envs = len(saved.state["rngs"]), training.num_envs * training.group.size
    if envs != num_envs:
        raise UserError(
            f"the saved run has {envs} environments, this one {num_envs}: resume with the same "
            "--num-envs"
        )
    for name, found in (("novelty", saved.arrays), ("rnd", saved.tensors)):
        if getattr(training, name) is not None and name not in found:
            raise UserError(f"the saved run has no --{name}: resume without, or begin another run")
    steps = saved.arrays.stored["rewards"].shape[1]
    whole = saved.config["rollout_steps"]
    if steps > 0 and whole != training.rollout.steps:
        raise UserError(
            f"the saved run is {steps} steps into a rollout of {whole}, not of "
            f"{training.rollout.steps}: resume with the same --rollout-steps"
        )
    theirs, ours = saved.arrays.stored["obs"].shape[2:], tuple(training.rollout.obs.shape[2:])
    if theirs != ours:
        raise UserError(
            f"the saved run sees images [H,W,C] of {list(theirs)}, this one {list(ours)}: resume "
            "with the same --image-height, --image-width, --colour and --frame-stack"
        )


def restore(training: Training, run_dir: Path | str, envs: VectorEnv) -> NDArray[np.uint8]:
    """Be what the last checkpoint of a run was -> the observations to act on."""
    saved = load_to_resume(run_dir)
    training.agent.load_weights(saved)
    check(saved, training)
    state = saved.state
    restore_optimiser(training.learner.optimiser, saved.tensors["optimiser"])
    training.env_steps, training.updates = saved.counters["env_steps"], saved.counters["updates"]
    training.recent_returns.extend(state["recent_returns"])
    training.return_scale.restore(state["return_moments"], state["return_sums"][training.mine])
    training.learner.kl_weight.fill_(state.get("kl_weight") or training.config.kl_penalty)
    if training.novelty is not None:
        training.novelty.restore(saved.arrays["novelty"])
    if training.rnd is not None:
        training.rnd.restore(saved.tensors["rnd"])
        training.rnd.scale.restore(state["rnd_moments"], state["rnd_sums"][training.mine])
    training.progress = np.array(state["progress"][training.mine])
    training.starts = np.array(state["starts"][training.mine], bool)
    training.state = torch.tensor(state["state"][training.mine], device=training.device)
    for rng, began in zip(training.rngs, state["rngs"][training.mine], strict=True):
        set_generator_state(rng, began)
    training.begin_rollout()
    training.rollout.restore(saved.arrays, state["finals"], training.mine)
    obs = envs.restore_states(state["envs"][training.mine])
    set_rng_state(state["rng"])
    return obs
