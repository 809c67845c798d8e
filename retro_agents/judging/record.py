# PYTHON_ARGCOMPLETE_OK
"""Record episodes of any agent, or of a game's expert: demonstrations that others learn from.

retro-agents record expert --levels bramble-train --episodes 4 --out runs/demonstrations
retro-agents record rainbow --levels BrambleWood.Act1 --out runs/played
"""

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.envs import Expert, VectorEnv
from retro_agents.contract.episodes import Act
from retro_agents.contract.policy import FORMER_FLAGS, Actions, Flags, Images, Play
from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.games.families import TRAINING, expert_of, level_names, make, settings_class
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.seeding import seed_everything
from retro_agents.judging.levels import learned_on
from retro_agents.judging.tables import number
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field, positional
from retro_agents.run.folder import claimed

EXPERT = "expert"
"""Given in place of an agent: a player that may know more of the game than agents do."""


@dataclasses.dataclass(frozen=True)
class RecordConfig:
    """Play whole episodes as an agent or an expert plays, and save them."""

    agent: str = positional("AGENT")
    """A checkpoint, a run folder, a shipped agent's name (ppo2), or expert."""
    levels: str = ""
    """Levels to play, as for a trainer; default: those that the agent was trained on; for the
    expert, and for an agent that a contest trained, bramble-train."""
    episodes: Count = 1
    """Episodes of each level."""
    play: Play | None = field(None, answers=FORMER_FLAGS)
    """How actions are chosen: best, draw, draw:T with a temperature T, or epsilon:E with a share E
    of random ones; default: as the agent's checkpoint says."""
    seed: Seed = 0
    """Seed of all random numbers."""
    out: str = "runs/demonstrations"
    """Folder for the recorded episodes, the best last; `python -m ppo2.clone` and Rainbow's --init
    accept it."""


def advised(expert: Expert, envs: VectorEnv) -> Act:
    """The actions of an expert, which repeats its last action where it has no advice."""
    before = np.zeros(envs.num_envs, np.int64)

    def act(obs: Images, *, starts: Flags) -> Actions:
        nonlocal before
        advice = expert.actions(envs)
        before = np.where(advice < 0, before, advice)
        return before

    return act


def record(envs: VectorEnv, act: Act, *, episodes: int, seed: int) -> list[Episode]:
    """Record `episodes` episodes of each row, sorted by return. envs: with raw rewards."""
    spec, rows = envs.env_spec, envs.num_envs
    done: list[list[Episode]] = [[] for _ in range(rows)]
    played: list[list[tuple[NDArray[np.uint8], int, float]]] = [[] for _ in range(rows)]
    obs, _ = envs.reset(seed=seed)
    starts = np.ones(rows, bool)
    with Progress(rows * episodes, "record", unit="episodes") as progress:
        while min(map(len, done)) < episodes:
            actions, levels = act(obs, starts=starts), list(envs.levels)
            frames = obs[:, -spec.channels :]
            obs, rewards, terminated, truncated, infos = envs.step(actions)
            starts = terminated | truncated
            for row, steps in enumerate(played):
                steps.append((frames[row].copy(), int(actions[row]), float(rewards[row])))
            for row in np.flatnonzero(starts).tolist():
                last = infos["final_obs"][row][-spec.channels :]
                steps, played[row] = played[row], []
                if len(done[row]) < episodes:
                    over = bool(terminated[row])
                    done[row].append(episode(envs, steps, last, levels[row], terminated=over))
            progress.update(sum(map(len, done)))
    return sorted((one for row in done for one in row), key=lambda one: one.total_reward)


def episode(
    envs: VectorEnv,
    steps: Sequence[tuple[NDArray[np.uint8], int, float]],
    last: NDArray[np.uint8],
    level: str,
    *,
    terminated: bool,
) -> Episode:
    """Played steps (frame, action, reward) as a recorded episode. If a limit truncated it,
    everything after its highest return is left out."""
    spec = envs.env_spec
    frames, actions, rewards = zip(*steps, strict=True)
    raw = np.array(rewards)
    length = len(raw) if terminated else int(np.cumsum(raw).argmax()) + 1
    return Episode(
        level,
        np.array(actions[:length], np.uint8),
        raw[:length],
        terminated,
        action_names=spec.action_names,
        frame_skip=spec.frame_skip,
        frames=np.stack([*frames, last][: length + 1]),
    )


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Record the episodes that the command line asks for."""
    config = parse_command(RecordConfig, argv, command="retro-agents record")
    if config.play and config.agent == EXPERT:
        raise UserError("an expert has no other way to play: leave out --play")
    if config.levels:
        level_names(config.levels)  # refuses before an agent is loaded, which takes seconds
    seed_everything(config.seed)
    agent: Any = None if config.agent == EXPERT else load_agent(config.agent)
    levels = config.levels or (learned_on(config.agent) if agent else "") or TRAINING
    out, count = Path(config.out), len(level_names(levels))
    settings = agent.config.env if agent else settings_class({"levels": levels})()
    expert = expert_of(levels, settings) if agent is None else None
    plain = settings.with_raw_rewards()
    with claimed(out):
        with closing(make(levels, plain, num_envs=count, seed=config.seed)) as envs:
            act = advised(expert, envs) if expert else partial(agent.act, play=config.play)
            found = record(envs, act, episodes=config.episodes, seed=config.seed)
        saved = write_episodes(out, found, env_steps=sum(len(one.actions) for one in found))
    mean = number(float(np.mean([one.total_reward for one in found])))
    print(f"{saved}: {len(found)} episodes, {mean} each")


if __name__ == "__main__":
    main()
