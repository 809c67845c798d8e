"""The one place that knows all families of environments; each is imported when it is needed."""

import re
from collections.abc import Callable, Mapping
from contextlib import closing, nullcontext
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, get_args

import numpy as np

from retro_agents.contract.envs import Expert, VectorEnv
from retro_agents.games.film import Filmed
from retro_agents.games.retro.splits import split_names
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints, step_of
from retro_agents.ground.names import nearest
from retro_agents.run.fields import section
from retro_agents.run.settings import RunSettings

TRAINING, HELD_OUT = "bramble-train", "bramble-test"
"""The free game's acts: for training, and for testing."""
KINDS: Mapping[str, Mapping[str, Any]] = {
    f"platform games (--levels {TRAINING})": {},
    "Procgen (--levels procgen:GAME)": {"levels": "procgen:"},
}
"""The families' names -> flat values of a config that plays one."""


def of_procgen(levels: Any) -> bool:
    """Whether a specification of levels is Procgen's. Raises UserError if only a part of it
    is, or if the prefix procgen: is missing."""
    parts = [part.strip().lower() for part in str(levels or "").split(",")]
    if any(part.startswith("procgen:") for part in parts):
        if not all(re.fullmatch(r"procgen:.*|\w*", part) for part in parts):
            raise UserError(
                f"{levels}: games of Procgen and other levels cannot be mixed: give "
                "procgen:GAME[,GAME...] alone, or the others alone"
            )
        return True
    if any(part.startswith("procgen") and not part.endswith(".csv") for part in parts):
        raise UserError(f"unknown levels {levels!r}; give procgen:GAME, such as procgen:coinrun")
    for word in filter(str.isalpha, parts):
        from retro_agents.games.procgen.games import GAMES

        if word not in split_names() and (near := nearest(word, GAMES, cutoff=0.8)):
            raise UserError(f"unknown levels {word!r}; did you mean 'procgen:{near}'?")
    return False


def settings_class(values: Mapping[str, Any]) -> type:
    """The class of settings of the family that plays values["levels"]."""
    if of_procgen(values.get("levels")):
        from retro_agents.games.procgen.config import ProcgenConfig

        return ProcgenConfig
    from retro_agents.games.retro.config import EnvConfig

    return EnvConfig


def levels_with(field: str) -> list[str]:
    """One example of levels for each family whose settings have a field of that name."""
    examples = TRAINING, "procgen:coinrun"
    kinds: dict[str, Any] = {levels: settings_class({"levels": levels}) for levels in examples}
    return [levels for levels, kind in kinds.items() if field in kind.__dataclass_fields__]


def env_settings() -> Any:
    """The field `env` of an agent's config: the settings of its levels' family."""
    return section(settings_class, kinds=KINDS)


def level_names(levels: str) -> list[str]:
    """The levels that a specification stands for, in order; for Procgen its games. Each is itself a
    specification. Raises UserError if there are none."""
    if of_procgen(levels):
        from retro_agents.games.procgen.games import parse_games

        return [f"procgen:{game}" for game in parse_games(levels)]
    from retro_agents.games.retro.levels import parse_levels

    return [str(level) for level in parse_levels(levels)]


def check_levels(levels: str, settings: Any) -> None:
    """Raises UserError if there are no such levels, or if a game does not support the settings."""
    _check_family(levels, settings)
    games = [name.partition(":")[2] for name in level_names(levels)]
    if of_procgen(levels):
        from retro_agents.games.procgen.games import check_mode

        check_mode(games, settings.distribution_mode)


def _check_family(levels: str, settings: Any) -> None:
    kind: Any = settings_class({"levels": levels})
    if not isinstance(settings, kind):
        raise UserError(
            f"{levels} is not of the games that these settings are for: give levels of "
            f"{settings.spec().family}"
        )


def make(levels: str, settings: Any, *, num_envs: int, **options: Any) -> VectorEnv:
    """`num_envs` environments, among which the levels are divided.

    levels: splits and levels separated by commas, a CSV, or procgen:GAME[,GAME…]. settings: of the
    levels' family. options: seed (0). rotate_every (0): agent steps on a level before the next; 0:
    one episode, if there are more levels than environments. part (a slice): make only
    these environments. record_dir: for recordings, if the family has any. Raises UserError if
    something is missing, or if the settings are another family's.
    """
    _check_family(levels, settings)
    if of_procgen(levels):
        from retro_agents.games.procgen.vector import make_vec as make_procgen

        if options.pop("rotate_every", 0) not in (0, RunSettings.rotate_every):
            raise UserError("Procgen draws a level for every episode: give --rotate-every 0")
        options.pop("record_dir", None)
        return make_procgen(levels, num_envs=num_envs, config=settings, **options)
    from retro_agents.games.retro.levels import parse_levels
    from retro_agents.games.retro.make import make_vec

    return make_vec(parse_levels(levels), num_envs=num_envs, config=settings, **options)


def level_sets(levels: str, settings: Any, *, test_levels: Any) -> dict[str, tuple[str, Any]]:
    """ "train" and, if there are any, "test" -> levels to evaluate a run on, and their settings.

    levels: on which it learns. test_levels: see `EvaluationSettings`. Raises UserError if there are
    no such levels.
    """
    if of_procgen(levels):
        from retro_agents.games.procgen.levels import TestLevels, level_sets

        if test_levels not in (known := get_args(TestLevels)):
            raise UserError(f"--test-levels {test_levels}: expected {', '.join(known)} for Procgen")
        sets = level_sets(settings, test_levels=test_levels)
        return {name: (levels, own) for name, own in sets.items()}
    if test_levels in ("unseen", "all"):
        raise UserError(f"--test-levels {test_levels} is for Procgen: give levels, as for --levels")
    found = {"train": (levels, settings)}
    if test_levels != "auto":
        check_levels(test_levels, settings)
        found["test"] = test_levels, settings
    return found


def normalised_scores(level: str, settings: Any, mean_return: float) -> dict[str, float]:
    """A mean return on a level, normalised by the family's ranges -> range -> score; {} if none."""
    if not of_procgen(level):
        return {}
    from retro_agents.games.procgen.games import normalised_scores

    (game,) = level_names(level)
    scores = normalised_scores(mean_return, game.partition(":")[2], settings.distribution_mode)
    return {kind: score for kind, score in scores.items() if not np.isnan(score)}


def expert_of(levels: str, settings: Any) -> Expert:
    """The expert that knows what to do on those levels. Raises UserError if there is none, or if it
    may not be asked, such as on held-out levels."""
    if of_procgen(levels):
        raise UserError("there is no expert for Procgen: give --levels bramble-train")
    from retro_agents.games.retro.bramble import EXPERT
    from retro_agents.games.retro.levels import parse_levels

    return resolve_name(EXPERT)(parse_levels(levels), settings)


def make_for(config: Any, **options: Any) -> VectorEnv:
    """The environments that an agent's config describes in `run` and `env`; options: of `make`."""
    run = config.run
    own = {"num_envs": run.num_envs, "seed": run.seed, "rotate_every": run.rotate_every}
    envs = make(run.levels, config.env, **own, **options)
    if not run.video_every or options.get("part", slice(None)).start:
        return envs
    folder = Path(run.run_dir)
    saved = complete_checkpoints(folder / "checkpoints") if run.resume else []
    steps = step_of(saved[-1]) if saved else 0
    others = max(run.num_envs, envs.num_envs) / envs.num_envs  # other processes play as fast
    every, start_steps = run.video_every / others, steps / others
    filmed: Any = Filmed(envs, folder / "videos", every=every, start_steps=start_steps)
    return filmed


def train(run: Callable[..., Any], config: Any, envs: VectorEnv | None) -> None:
    """Let an agent's `run` play these environments as its config says, and close them. None: its
    actors make their own."""
    with closing(envs) if envs else nullcontext():
        run(envs, config, config.run.run_dir, init=config.run.init or None)
