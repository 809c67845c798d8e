"""What a run of a `Collector` writes: metrics, episodes, and checkpoints to go on from exactly."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from retro_agents.contract.envs import VectorEnv, saved_states
from retro_agents.experience.collector import Collector
from retro_agents.experience.replay_seed import check_seen_alike
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import set_generator_state
from retro_agents.ground.seeding import rng_state, set_rng_state
from retro_agents.run.checkpoint import Checkpoint, save_checkpoint
from retro_agents.run.folder import reports as run_reports

NOTHING: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def reports(
    run_dir: Path | str, collector: Collector, name: str
) -> Iterator[Callable[[dict[str, float]], None]]:
    """metrics.csv, episodes.csv and the progress shown, by the first process -> what writes them:
    the episodes ended since the last time, and a row of metrics if any are given."""
    group = collector.group
    with ExitStack() as stack:
        if group.first:
            steps = collector.env_steps
            own = run_reports(run_dir, collector.policy.config, name, env_steps=steps)
            _, metrics, episodes, progress = stack.enter_context(own)
            collector.on_step = progress.at

        def write(values: dict[str, float]) -> None:
            ended = sorted(chain(*group.gather(collector.ended)), key=lambda e: e[:2])
            collector.ended.clear()
            collector.recent_returns.extend(episode["r"] for _, _, episode in ended)
            if not group.first:
                return
            for step, env, episode in ended:
                episodes.log(step, env, episode)
            if values:
                if recent := collector.recent_returns:
                    ends = {"min_return": min(recent), "max_return": max(recent)}
                    values = {**values, "mean_return": float(np.mean(recent)), **ends}
                metrics.log(collector.env_steps, values)
            progress.update(collector.env_steps, values)

        yield write


def save_run(
    collector: Collector,
    run_dir: Path | str,
    envs: VectorEnv,
    *,
    agent: str,
    updates: int,
    tensors: Mapping[str, Mapping[str, Tensor]],
    arrays: Mapping[str, NDArray[Any]] = NOTHING,
    state: Mapping[str, Any] = NOTHING,
    rows: Mapping[str, list[Any]] = NOTHING,
    keep: int = 2,
) -> None:
    """Write a checkpoint from which `restore_run` goes on exactly, in any number of processes.

    tensors, arrays, state: the agent's own, the same in every process. rows: a value for each
    environment of this process. keep: checkpoints that stay.
    """
    finals = [
        (t, collector.mine.start + env, image.tobytes())
        for (t, env), image in collector.rollout.finals.items()
    ]
    own = {
        "envs": saved_states(envs),
        "rngs": collector.began,
        "starts": collector.starts.tolist(),
        "state": collector.state.tolist(),
        "return_sums": collector.return_scale.sums.tolist(),
        "progress": collector.progress.tolist(),
        "finals": finals,
        **rows,
    }
    everyone = collector.group.gather((own, collector.rollout.arrays()))
    if not collector.group.first:
        return
    rollouts = [rollout for _, rollout in everyone]
    save_checkpoint(
        Path(run_dir) / "checkpoints",
        agent=agent,
        config=collector.policy.config,
        keep=keep,
        counters={"env_steps": collector.env_steps, "updates": updates},
        tensors=tensors,
        arrays={
            **{name: np.concatenate([r[name] for r in rollouts]) for name in rollouts[0]},
            **arrays,
        },
        state={
            **state,
            "rng": rng_state(),
            "recent_returns": list(collector.recent_returns),
            "return_moments": collector.return_scale.save(),
            **{name: list(chain(*(state[name] for state, _ in everyone))) for name in own},
        },
    )


def check_run(saved: Checkpoint, collector: Collector) -> None:
    """UserError: a checkpoint lacks what this run would go on with."""
    saved.check_run("rngs")
    envs, num_envs = len(saved.state["rngs"]), collector.num_envs * collector.group.size
    if envs != num_envs:
        raise UserError(
            f"the saved run has {envs} environments, this one {num_envs}: resume with the same "
            "--num-envs"
        )
    if not saved.state["envs"]:
        raise UserError(
            f"{saved.folder} holds no states of its environments, which played elsewhere: begin "
            "anew with --init"
        )
    steps = saved.arrays.stored["rewards"].shape[1]
    whole = saved.config["rollout_steps"]
    if steps > 0 and whole != collector.rollout.steps:
        raise UserError(
            f"the saved run is {steps} steps into a rollout of {whole}, not of "
            f"{collector.rollout.steps}: resume with the same --rollout-steps"
        )
    check_seen_alike(saved, collector.policy.config)


def restore_run(saved: Checkpoint, collector: Collector, envs: VectorEnv) -> NDArray[np.uint8]:
    """Be what `save_run` wrote -> the observations to act on. The last step of going on: from here
    on generators draw as they did. UserError: as `check_run`."""
    check_run(saved, collector)
    state, mine = saved.state, collector.mine
    collector.env_steps = saved.counters["env_steps"]
    collector.recent_returns.extend(state["recent_returns"])
    collector.return_scale.restore(state["return_moments"], state["return_sums"][mine])
    collector.progress = np.array(state["progress"][mine])
    collector.starts = np.array(state["starts"][mine], bool)
    collector.state = torch.tensor(state["state"][mine], device=collector.device)
    for rng, began in zip(collector.rngs, state["rngs"][mine], strict=True):
        set_generator_state(rng, began)
    collector.begin_rollout()
    collector.rollout.restore(saved.arrays, state["finals"], mine)
    obs = envs.restore_states(state["envs"][mine])
    set_rng_state(state["rng"])
    return obs
