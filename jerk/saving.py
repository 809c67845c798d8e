"""What a JERK run leaves: its checkpoint, and what people and other programs read."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jerk.episode import SearchEpisode
from jerk.training import Training
from retro_agents.contract.envs import VectorEnv, saved_states
from retro_agents.experience.episodes import pack, unpack, write_episodes
from retro_agents.ground.files import write_text
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.ground.seeding import rng_state, set_rng_state
from retro_agents.run.checkpoint import load_to_resume, save_checkpoint
from retro_agents.run.folder import RunFolder, alone_in

REPLAY = "replay"


def save(training: Training, folder: RunFolder, envs: VectorEnv) -> Path:
    """Write a checkpoint from which `restore` goes on exactly, sequences.json, and the replay; of
    the recordings only those stay that it names."""
    agent, config = training.agent, training.config
    spec = agent.spec
    table = {"buttons": spec.action_names, "frame_skip": spec.frame_skip}
    table |= {"levels": training.sequences.as_json()}
    write_text(folder.path / "sequences.json", json.dumps(table) + "\n")
    state = agent.state()
    if training.recordings is not None:
        state["recordings"] = training.recordings.save()
    arrays, state["runs"] = pack(training.runs.all())
    if frames := [frame for episode in training.episodes for frame in episode.frames]:
        arrays["play-frames"] = np.stack(frames)
    saved = save_checkpoint(
        folder.checkpoints,
        agent="jerk",
        config=config,
        counters={"env_steps": training.env_steps},
        tensors=agent.tensors(),
        arrays={**agent.memory_arrays(), **arrays},
        state={
            **state,
            "plays": [episode.save() for episode in training.episodes],
            "counts": dict(training.search.counts),
            "rng": rng_state(),
            "jerk_rng": generator_state(training.search.rng),
            "recent_returns": list(training.recent_returns),
            "envs": saved_states(envs),
        },
    )
    if config.write_replay and len(training.runs):
        write_replay(training, folder.path / REPLAY)
    if training.recordings is not None:
        training.recordings.keep(training.sequences.recordings())
    return saved


def write_replay(training: Training, folder: Path) -> None:
    """Write the best runs as recorded episodes, the best of all last; with the policy, as it came,
    that stands behind JERK."""
    runs, policy = training.runs.all(), training.agent.policy
    behind: dict[str, Any] = {}
    if policy is not None:
        net = policy.actor.net.state_dict()
        behind = {"agent": policy.package, "config": policy.config, "net": net}
    runs.sort(key=lambda run: run.total_reward)
    write_episodes(folder, runs, env_steps=training.env_steps, **behind)


def restore(training: Training, run_dir: Path, envs: VectorEnv) -> NDArray[np.uint8]:
    """Be what the last checkpoint of a run was -> the observations to act on. A replay that was
    written later goes, as rows of metrics do."""
    saved = load_to_resume(run_dir)
    training.agent.restore(saved)
    state = saved.state
    saved.check_run("plays")
    saved.check_same(training.config)
    if training.recordings is not None and "recordings" in state:
        training.recordings.restore(state["recordings"])
    training.agent.restore_memory(saved)
    for run in unpack(saved.arrays, state["runs"]):
        training.runs.add(run)
    training.episodes = [
        SearchEpisode.restore(episode, training.sequences) for episode in state["plays"]
    ]
    if "play-frames" in saved.arrays:
        frames = iter(saved.arrays["play-frames"])
        for episode in training.episodes:
            episode.frames = [next(frames) for _ in episode.actions]
    training.env_steps = saved.counters["env_steps"]
    training.search.counts.update(state["counts"])
    training.recent_returns.extend(state["recent_returns"])
    set_generator_state(training.search.rng, state["jerk_rng"])
    with alone_in(run_dir):  # from here on, recordings are written there
        obs = envs.restore_states(state["envs"])
        for replay in (run_dir / REPLAY).glob("step-*"):
            if replay.name > f"step-{training.env_steps:09d}":
                shutil.rmtree(replay)
    set_rng_state(state["rng"])
    return obs
