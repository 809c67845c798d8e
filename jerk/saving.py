"""A JERK run's checkpoint, and what else it leaves for people and other programs."""

import dataclasses
import json
import shutil
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiment.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from experiment.config import to_dict
from experiment.errors import UserError
from experiment.files import write_text
from experiment.optimiser import optimiser_parts, restore_optimiser
from experiment.run_folder import RunFolder
from experiment.seeding import generator_state, rng_state, set_generator_state, set_rng_state
from jerk.config import JerkConfig
from jerk.play import Play
from jerk.policy import policy_state
from jerk.replay import as_replay
from jerk.training import COUNTS, Training
from retro_env import RetroVectorEnv
from retro_env.wrappers import ACTIONS

MEMORY_PREFIX = "memory-"
REPLAY = "replay"
PARTS = ("closed_loop", "memory_share", "policy_share", "learn", "write_replay", "record")
"""Fields that decide what is kept of an episode."""


def save(training: Training, folder: RunFolder, envs: RetroVectorEnv) -> Path:
    """Write a checkpoint from which `restore` goes on exactly, sequences.json, and the replay; of
    the recordings only those stay that it names."""
    agent, config = training.agent, training.config
    write_sequences(training, folder.path / "sequences.json")
    tensors, state = agent.tensors(), agent.state()
    if training.learner is not None:
        tensors["optimiser"], state["optimiser"] = optimiser_parts(training.learner.optimiser)
    if training.recordings is not None:
        state["recordings"] = training.recordings.save()
    saved = save_checkpoint(
        folder.checkpoints,
        agent="jerk",
        config=config,
        counters={
            "env_steps": training.env_steps,
            "updates": training.updates,
            "learning_since": training.learning_since,
            **training.counts,
        },
        tensors=tensors,
        arrays={**memory_arrays(training), **training.runs.arrays(), **frames_of(training.plays)},
        state={
            **state,
            "plays": [play.save() for play in training.plays],
            "runs": {level: len(found) for level, found in training.runs.levels.items()},
            "latest": training.latest,
            "policy_returns": training.policy_returns,
            "gains": training.gains,
            "rng": rng_state(),
            "jerk_rng": generator_state(training.rng),
            "recent_returns": list(training.recent_returns),
            "envs": envs.save_states(),
        },
    )
    if config.write_replay and len(training.runs):
        save_replay(training, folder.path / REPLAY)
    if training.recordings is not None:
        training.recordings.keep(training.sequences.recordings())
    return saved


def write_sequences(training: Training, path: Path) -> None:
    """The best sequences of each level, with what their numbers mean, for people and programs."""
    config = training.config
    table = {
        "buttons": ACTIONS[config.actions],
        "frame_skip": config.frame_skip,
        "levels": training.sequences.as_json(),
    }
    write_text(path, json.dumps(table) + "\n")


def memory_arrays(training: Training) -> dict[str, NDArray]:
    """The episodic memory, by names of its own."""
    memory = training.memory
    if memory is None:
        return {}
    arrays = {MEMORY_PREFIX + name: array for name, array in memory.storage.arrays().items()}
    return {**arrays, MEMORY_PREFIX + "counts": np.array([memory.merged, memory.evicted])}


def frames_of(plays: list[Play]) -> dict[str, NDArray]:
    """The frames of the episodes under way."""
    frames = [frame for play in plays for frame in play.frames]
    return {"play-frames": np.stack(frames)} if frames else {}


def save_replay(training: Training, folder: Path) -> None:
    """Write the best runs as a checkpoint that `rainbow.train --init` seeds its replay from; with
    a Rainbow behind JERK also that net, and rewards as it has them."""
    policy, config = policy_state(training.agent.policy), training.config
    tensors, agent, backtracking = {}, "jerk", True
    values = to_dict(dataclasses.replace(config, reward_scale=config.replay_scale))
    if policy is not None and policy["agent"] == "rainbow":
        agent, values = "rainbow", policy["config"]
        backtracking = values["backtracking"]
        tensors["net"] = training.agent.given
    scale = values["reward_scale"]
    save_checkpoint(
        folder,
        agent=agent,
        config=values,
        counters={"env_steps": training.env_steps},
        tensors=tensors,
        arrays=as_replay(training.runs, scale=scale, backtracking=backtracking),
        keep=1,
    )


def restore(training: Training, run_dir: Path, envs: RetroVectorEnv) -> NDArray[np.uint8]:
    """Be what the last checkpoint of a run was -> the observations to act on. A replay that was
    written later goes, as rows of metrics do."""
    saved = load_checkpoint(run_dir)
    training.agent.restore(saved)
    state = saved.state
    check_parts(training.config, saved)
    if len(state["plays"]) != training.num_envs:
        raise UserError(
            f"the saved run has {len(state['plays'])} environments, this one "
            f"{training.num_envs}: resume with the same --num-envs"
        )
    training.make_learner()
    if training.learner is not None and "optimiser" in state:
        restore_optimiser(
            training.learner.optimiser, saved.tensors["optimiser"], state["optimiser"]
        )
    if training.recordings is not None and "recordings" in state:
        training.recordings.restore(state["recordings"])
    restore_memory(training, saved)
    training.runs.restore(saved.arrays, state["runs"])
    training.plays = [Play.restore(play, training.sequences) for play in state["plays"]]
    restore_frames(training.plays, saved)
    training.env_steps = saved.counters["env_steps"]
    training.updates = saved.counters["updates"]
    training.learning_since = saved.counters["learning_since"]
    training.counts = {name: saved.counters[name] for name in COUNTS}
    training.latest = dict(state["latest"])
    training.policy_returns = dict(state["policy_returns"])
    training.gains = state["gains"]
    training.recent_returns.extend(state["recent_returns"])
    set_generator_state(training.rng, state["jerk_rng"])
    obs = envs.restore_states(state["envs"])
    set_rng_state(state["rng"])
    for replay in (run_dir / REPLAY).glob("step-*"):
        if replay.name > f"step-{training.env_steps:09d}":
            shutil.rmtree(replay)
    return obs


def check_parts(config: JerkConfig, saved: Checkpoint) -> None:
    """UserError: a run cannot go on with other parts, for want of what these would have kept."""
    if "plays" not in saved.state:
        raise UserError(f"{saved.folder} is an agent without a run; give it to --init")
    if "gains" not in saved.state:
        raise UserError(f"{saved.folder} is of an earlier version's run; give it to --init")
    for name in PARTS:
        was, now = bool(saved.config[name]), bool(getattr(config, name))
        if was != now:
            flag = name.replace("_", "-")
            raise UserError(
                f"the run was begun {'with' if was else 'without'} {flag}, and can only go on so; "
                "start another with --init"
            )
    if config.policy != saved.config["policy"]:
        raise UserError(
            f"the run has a policy from {saved.config['policy'] or 'nowhere'}, and goes on with "
            "that; leave out --policy, or start another with --init"
        )


def start_from(training: Training, init: Path | str | None) -> None:
    """Begin with what another run has: sequences, memory, policy."""
    training.agent.start_from(init)
    saved = load_checkpoint(init) if init else None
    if saved is not None and saved.agent == "jerk":
        restore_memory(training, saved)
    training.make_learner()


def restore_memory(training: Training, saved: Checkpoint) -> None:
    """Take a checkpoint's episodic memory, if both have one."""
    if training.memory is None or MEMORY_PREFIX + "counts" not in saved.arrays:
        return
    names = [name for name in saved.arrays if name.startswith(MEMORY_PREFIX)]
    arrays = {name.removeprefix(MEMORY_PREFIX): saved.arrays[name] for name in names}
    merged, evicted = arrays.pop("counts").tolist()
    try:
        training.memory.restore(arrays, merged=merged, evicted=evicted)
    except ValueError as error:
        raise UserError(f"cannot take the memory of {saved.folder}: {error}") from None


def restore_frames(plays: list[Play], saved: Checkpoint) -> None:
    """Give the episodes under way their frames back."""
    if "play-frames" not in saved.arrays:
        return
    frames = iter(saved.arrays["play-frames"])
    for play in plays:
        play.frames = [next(frames) for _ in play.actions]
