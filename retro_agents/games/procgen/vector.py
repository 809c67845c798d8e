"""Procgen as a `VectorEnv`: several games in parallel, SAME_STEP autoreset, and saved states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from numpy.typing import NDArray

from retro_agents.contract.envs import (
    Infos,
    Step,
    check_options,
    check_room,
    row_seeds,
    seeds_of_rows,
)
from retro_agents.contract.frames import FrameHistory
from retro_agents.contract.rows import VectorBase
from retro_agents.games.procgen.config import COLOURS, SIZE, ProcgenConfig
from retro_agents.games.procgen.games import NOTHING, check_mode, parse_games
from retro_agents.games.procgen.pool import Ints, Pool
from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import UserError
from retro_agents.ground.generators import generator_state, set_generator_state
from retro_agents.run.fields import fields, flag_with

TAKES = 1 << 20
"""Bytes of memory that an environment takes at most."""


class ProcgenVectorEnv(VectorBase):
    """A `contract.envs.VectorEnv` on EnvPool, with a pool for each game.

    infos["episode_record"]: r (raw return), l, level ("coinrun:SEED"), progress (1.0 if finished,
    otherwise 0.0), finished, rotated (always False).
    """

    saves_states, resets_rows = True, False

    def __init__(
        self, games: Sequence[str], *, config: ProcgenConfig, seeds: Sequence[int]
    ) -> None:
        """games, seeds: of each environment. Raises UserError if a game lacks the config's mode."""
        check_mode(sorted(set(games)), config.distribution_mode)
        super().__init__(len(games), config.spec())
        self.games, self.config, self.levels = list(games), config, list(games)
        self.pools: list[Pool] = []
        self.begin(seeds)

    def begin(self, seeds: Sequence[int], *, threads: int = 0) -> None:
        """Open new pools with these seeds and at least `threads` threads, and drop all state."""
        config = replace(self.config, env_threads=max(self.config.env_threads, threads))
        self.seeds = [int(seed) for seed in seeds]
        streams = [np.random.SeedSequence([seed, 1]).generate_state(1)[0] for seed in self.seeds]
        self.rngs = [np.random.default_rng(seed) for seed in streams]
        self.pools, self.owner = [], np.zeros(self.num_envs, np.int64)
        for number, game in enumerate(dict.fromkeys(self.games)):
            rows = np.flatnonzero(np.array(self.games) == game)
            self.owner[rows] = number
            # EnvPool takes 31 bits of a seed: the last ones, so that neighbours differ.
            self.pools.append(Pool(game, config, rows, [self.seeds[i] & 0x7FFF_FFFF for i in rows]))
        count, back = self.num_envs, self.env_spec.steps_back
        self.frames = FrameHistory(count, frame_shape=(COLOURS, SIZE, SIZE), steps_back=back)
        self.resets = np.zeros(count, np.int64)
        self.returns = np.zeros(count)
        self.actions = [bytearray() for _ in range(count)]
        """The actions of each current episode."""
        self.rewards, self.reports = np.zeros(count), [Infos() for _ in range(count)]
        self.terminated, self.truncated = np.zeros(count, bool), np.zeros(count, bool)
        self.stepping: set[int] = set()

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        """Begin new episodes in all rows; seeds open new pools, in which a row whose seed is None
        draws its own. See `contract.envs.VectorEnv`."""
        self.assert_open()
        if unknown := sorted({"reset_mask", "levels"} & {*(options or {})}):
            raise ValueError(f"options[{unknown[0]!r}]: rows of Procgen cannot be reset singly")
        check_options(options)
        assert not self.stepping, "reset between step_async and step_wait"
        infos: Infos = {}
        for row in np.flatnonzero([len(actions) > 0 for actions in self.actions]).tolist():
            infos = self._add_info(
                infos, {"episode_record": self.episode(row, finished=False)}, row
            )
        if seed is not None:
            given = seeds_of_rows(seed, self.num_envs)
            drawn = [int(rng.integers(1 << 31)) for rng in self.rngs]
            self.begin([a if b is None else b for a, b in zip(drawn, given, strict=True)])
        for pool in self.pools:
            self.start(pool, pool.rows)
        return self.frames.observations(np.arange(self.num_envs)), infos

    def start(self, pool: Pool, rows: Ints) -> None:
        """Begin new episodes in these rows of a pool."""
        frames, levels = pool.reset(rows)
        self.frames.begin(rows, frames)
        self.resets[rows] += 1
        self.returns[rows] = 0.0
        for row, level in zip(rows.tolist(), levels, strict=True):
            self.levels[row] = level
            self.actions[row].clear()

    def step_async(self, actions: NDArray[np.integer], part: slice | None = None) -> None:
        """Begin a step of all rows, or of `part`. Raises ResetNeeded or InvalidAction."""
        self.assert_open()
        rows = np.arange(self.num_envs)[part or slice(None)]
        assert self.stepping.isdisjoint(rows.tolist()), "step_async twice without step_wait"
        if not self.resets[rows].all():
            raise ResetNeeded("call reset() before the first step")
        played = self.checked(actions, len(rows))
        self.stepping.update(rows.tolist())
        for i, row in enumerate(rows.tolist()):
            before = self.actions[row]
            if self.config.stick_probability and (
                self.rngs[row].random() < self.config.stick_probability
            ):
                played[i] = before[-1] if before else NOTHING
            before.append(played[i])
        for number, pool in enumerate(self.pools):
            mine = self.owner[rows] == number
            if mine.any():
                self.collect(pool)
                pool.send(rows[mine], played[mine])

    def collect(self, pool: Pool) -> None:
        """Collect a pool's step, if one is under way, and begin new episodes after ended ones."""
        if pool.on_its_way is None:
            return
        rows, frames, rewards, terminated, truncated, completed = pool.receive()
        if self.config.timeouts == "end":
            terminated, truncated = terminated | truncated, np.zeros_like(truncated)
        self.frames.add(rows, frames)
        self.returns[rows] += rewards
        self.rewards[rows] = self.config.learning_rewards(rewards)
        self.terminated[rows], self.truncated[rows] = terminated, truncated
        over = terminated | truncated
        if not over.any():
            return
        ended, finished = rows[over], completed[over]
        finals = self.frames.observations(ended)
        for row, final, whole in zip(ended.tolist(), finals, finished.tolist(), strict=True):
            episode = self.episode(row, finished=whole)
            self.reports[row] = {"final_obs": final, "episode_record": episode}
        self.start(pool, ended)

    def episode(self, row: int, *, finished: bool) -> dict[str, Any]:
        """The record of a row's episode so far."""
        return {
            "r": float(self.returns[row]),
            "l": len(self.actions[row]),
            "level": self.levels[row],
            "progress": float(finished),
            "finished": finished,
            "rotated": False,
        }

    def step_wait(self, part: slice | None = None) -> Step:
        """End the step that `step_async` began."""
        rows = np.arange(self.num_envs)[part or slice(None)]
        assert self.stepping.issuperset(rows.tolist()), "step_wait without step_async"
        self.stepping.difference_update(rows.tolist())
        for number in set(self.owner[rows].tolist()):
            self.collect(self.pools[number])
        infos: Infos = {}
        for row in rows.tolist():
            if self.reports[row]:
                infos = self._add_info(infos, self.reports[row], row)
                self.reports[row] = {}
        ends = self.terminated[rows], self.truncated[rows]
        return self.frames.observations(rows), self.rewards[rows], *ends, infos

    def save_states(self) -> list[dict[str, Any]]:
        """All that determines each row's future; `restore_states` resumes exactly."""
        assert not self.stepping, "save_states between step_async and step_wait"
        return [
            {
                "seed": self.seeds[row],
                "resets": int(self.resets[row]),
                "actions": bytes(self.actions[row]),
                "level": self.levels[row],
                "rng": generator_state(self.rngs[row]),
                **{name: getattr(self.config, name) for name in fields(self.config, "fixed")},
            }
            for row in range(self.num_envs)
        ]

    def restore_states(self, states: list[dict[str, Any]]) -> NDArray[np.uint8]:
        """Resume from `save_states`: reset equally often, then replay the current episodes.

        This takes 30 to 500 µs per earlier episode and 25 to 85 µs per step of the current ones, in
        as many threads as there are cores, which then play.
        Raises UserError if the environments or the resulting levels differ.
        """
        self.assert_open()
        self.check_states(states)
        for name in fields(self.config, "fixed"):
            theirs, ours = states[0][name], getattr(self.config, name)
            if theirs != ours:
                raise UserError(
                    f"the saved episodes have {flag_with(name, theirs)}, not {ours}: resume with "
                    "the same"
                )
        self.begin([state["seed"] for state in states], threads=free_cores())
        over = [self.replay(pool, states) for pool in self.pools]
        if any(over) or self.levels != [state["level"] for state in states]:
            raise UserError(
                "the saved episodes cannot be replayed: resume with the same --start-level, "
                "--num-levels, EnvPool, and version of this project"
            )
        for rng, state in zip(self.rngs, states, strict=True):
            set_generator_state(rng, state["rng"])
        return self.frames.observations(np.arange(self.num_envs))

    def replay(self, pool: Pool, states: Sequence[dict[str, Any]]) -> bool:
        """Replay a pool's rows up to their saved states. Returns whether an episode ended too
        early, so that the states differ."""
        resets = np.array([states[row]["resets"] for row in pool.rows])
        for before in range(int(resets.max())):
            self.start(pool, pool.rows[resets > before])
        lengths, over = np.array([len(states[row]["actions"]) for row in pool.rows]), False
        for step in range(int(lengths.max())):
            rows = pool.rows[lengths > step]
            actions = np.array([states[row]["actions"][step] for row in rows])
            for row, action in zip(rows.tolist(), actions.tolist(), strict=True):
                self.actions[row].append(action)
            pool.send(rows, actions)
            rows, frames, rewards, terminated, truncated, _ = pool.receive()
            self.frames.add(rows, frames)
            self.returns[rows] += rewards
            over |= bool((terminated | truncated).any())
        return over

    def close_extras(self, **kwargs: Any) -> None:
        """End the pools' threads."""
        self.pools = []


def make_vec(
    levels: str, *, num_envs: int, config: ProcgenConfig, seed: int = 0, part: slice = slice(None)
) -> ProcgenVectorEnv:
    """Environments of "procgen:GAME[,GAME…]", one game after the other; part: only these rows.

    Raises UserError for an unknown game, or more games than environments.
    """
    games = parse_games(levels)
    if num_envs < len(games):
        raise UserError(f"{len(games)} games need {len(games)} --num-envs or more, not {num_envs}")
    check_room(config.spec(), num_envs, part, each=TAKES)
    rows = [games[row % len(games)] for row in range(num_envs)[part]]
    return ProcgenVectorEnv(rows, config=config, seeds=row_seeds(seed, num_envs)[part])
