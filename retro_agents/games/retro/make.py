"""Every wrapper in its order, in one place."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium
from gymnasium.wrappers import TransformReward

from retro_agents.games.retro import wrappers
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import ContestEnv
from retro_agents.games.retro.engine import check_rules
from retro_agents.games.retro.integrations import check_playable, is_native
from retro_agents.games.retro.levels import Level, parse_level
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.games.retro.native_env import NativeContestEnv, NativeEnv
from retro_agents.games.retro.vector import RetroVectorEnv, assign_levels
from retro_agents.ground.errors import UserError


def backend_of(levels: Sequence[Level], config: EnvConfig) -> Literal["native", "emulator"]:
    """What plays these levels. UserError: they cannot be played, or only some of them natively, or
    not under this scenario."""
    native = config.backend == "native"
    for game in dict.fromkeys(level.game for level in levels):
        wanted = [level.state for level in levels if level.game == game]
        check_playable(game, *wanted, scenario=config.scenario, native=native)
    ours = {level.game for level in levels if is_native(level.game)}
    if not native or not ours:
        return "emulator"
    if others := {level.game for level in levels} - ours:
        raise UserError(
            f"levels of {min(ours)} and of {min(others)} play side by side in emulators only: "
            "add --backend emulator"
        )
    for game in ours:
        check_rules(game, config.scenario)
    return "native"


def make_contest_env(
    level: Level | str, config: EnvConfig | None = None, *, record_dir: Path | str | None = None
) -> gymnasium.Env:
    """The contest's side: MultiBinary(12) buttons -> screens uint8 [H, W, 3], 4,500 steps.

    record_dir: a folder for one .bk2 per episode. Errors: UserError (what is missing).
    """
    config = config or EnvConfig()
    level = parse_level(level) if isinstance(level, str) else level
    if backend_of([level], config) == "native":
        return NativeContestEnv(level, config, record_dir=as_path(record_dir))
    return emulated(level, config, record_dir=record_dir)


def as_path(record_dir: Path | str | None) -> Path | None:
    """A folder, if there is one."""
    return None if record_dir is None else Path(record_dir)


def emulated(level: Level, config: EnvConfig, *, record_dir: Path | str | None) -> gymnasium.Env:
    """`make_contest_env` in an emulator, whatever config.backend says."""
    env: gymnasium.Env = ContestEnv(
        level,
        scenario=config.scenario,
        frame_skip=config.frame_skip,
        stick_probability=config.stick_probability,
        record_dir=as_path(record_dir),
    )
    return wrappers.StepLimit(env, steps=config.episode_steps)


def wrap_agent(env: gymnasium.Env, config: EnvConfig) -> gymnasium.Env:
    """The agent's side of any environment with the contest's spaces, a remote one too.

    Discrete(7 or 10) -> uint8 [C, H, W]; infos["episode_record"] on an episode's last step.
    """
    env = wrappers.Discretise(env, actions=config.actions)
    env = wrappers.EpisodeRecord(env)
    if config.backtracking:
        env = wrappers.AllowBacktracking(env)
    if config.reward_scale != 1.0:
        env = TransformReward(env, lambda reward: float(reward) * config.reward_scale)
    height, width = config.image_height, config.image_width
    env = wrappers.Warp(env, height=height, width=width, grey=config.colour == "grey")
    return wrappers.FrameStack(env, depth=config.frame_stack)


def make_env(
    level: Level | str, config: EnvConfig | None = None, *, record_dir: Path | str | None = None
) -> gymnasium.Env:
    """One level for an agent: Discrete(7 or 10) -> uint8 [C, H, W], oldest frame first.

    One emulator per process: close() it before making another. Errors: UserError.
    """
    config = config or EnvConfig()
    level = parse_level(level) if isinstance(level, str) else level
    if backend_of([level], config) == "native":
        return NativeEnv(level, config, record_dir=as_path(record_dir))
    return wrap_agent(emulated(level, config, record_dir=record_dir), config)


def make_rotating_env(
    levels: list[Level],
    config: EnvConfig,
    *,
    rotate_every: int,
    record_dir: Path | str | None = None,
) -> gymnasium.Env:
    """As `make_env` in an emulator, going from level to level of the list (see LevelRotation)."""
    env = emulated(levels[0], config, record_dir=record_dir)
    return wrap_agent(wrappers.LevelRotation(env, levels, rotate_every=rotate_every), config)


def make_vec(
    levels: Sequence[Level],
    *,
    num_envs: int,
    config: EnvConfig | None = None,
    seed: int = 0,
    rotate_every: int = 0,
    part: slice = slice(None),
    record_dir: Path | str | None = None,
) -> RetroVectorEnv | NativeVectorEnv:
    """`num_envs` environments, the levels shared out among them (see assign_levels).

    rotate_every: agent steps on a level before the next; 0: see Turns. part: make only these
    environments. record_dir: one folder of .bk2 files per environment. Errors: UserError (what is
    missing).
    """
    config = config or EnvConfig()
    kind = NativeVectorEnv if backend_of(levels, config) == "native" else RetroVectorEnv
    rows = assign_levels(levels, num_envs=num_envs, rotate_every=rotate_every, seed=seed)
    return kind(
        rows[part],
        config=config,
        seed=seed,
        rotate_every=rotate_every,
        record_dir=as_path(record_dir),
    )


def layers(env: gymnasium.Env) -> dict[str, wrappers.Stateful | ContestEnv]:
    """Every layer that has a state, by its class's name, from the outside inwards."""
    found: dict[str, wrappers.Stateful | ContestEnv] = {}
    while isinstance(env, gymnasium.Wrapper):
        if isinstance(env, wrappers.Stateful):
            found[type(env).__name__] = env
        env = env.env
    assert isinstance(env, ContestEnv)
    return {**found, "ContestEnv": env}


def save_env(env: gymnasium.Env) -> dict[str, Any]:
    """State of every layer that has one, by its class's name; msgpack can carry it."""
    return {name: layer.save() for name, layer in layers(env).items()}


def restore_env(env: gymnasium.Env, saved: dict[str, Any]) -> None:
    """Continue exactly where `save_env` was called, in an environment of the same make.

    Errors: UserError (`backtracking`, which decides on a layer, is another).
    """
    found = layers(env)
    if ("AllowBacktracking" in found) != ("AllowBacktracking" in saved):
        flag = "--backtracking" if "AllowBacktracking" in saved else "--no-backtracking"
        raise UserError(f"the saved run was begun with {flag}: resume with the same")
    for name, layer in found.items():
        layer.restore(saved[name])
