"""The one place that knows all families of environments; each is imported when it is needed."""

from collections.abc import Mapping
from typing import Any

from envs.contract import VectorEnv
from experiment.config import section

TRAINING, HELD_OUT = "bramble-train", "bramble-test"
"""The free game's acts: to learn on, and to be judged on."""


def settings_class(values: Mapping[str, Any]) -> type:
    """The settings' class of the family that plays values["levels"]."""
    from retro_env.config import EnvConfig

    return EnvConfig


def env_settings() -> Any:
    """The field `env` of an agent's config: the settings of the family that its levels are of."""
    return section(settings_class)


def level_names(levels: str) -> list[str]:
    """The levels that a specification means, in order. UserError: there are none such."""
    from retro_env.levels import parse_levels

    return [str(level) for level in parse_levels(levels)]


def split_names() -> list[str]:
    """The splits of all families."""
    from retro_env import registered

    return sorted(path.stem for path in registered.SPLITS.glob("*.csv"))


def make(levels: str, settings: Any, *, num_envs: int, **options: Any) -> VectorEnv:
    """`num_envs` environments, the levels shared out among them.

    levels: a split, a CSV, or names with commas between. settings: of the levels' family. options:
    seed (0). rotate_every (0): agent steps on a level before the next; 0: an episode, where there
    are more levels than environments. serial (False): all play the same levels, in order. part (a
    slice): make only these of them. record_dir: for recordings, where the family has any.
    UserError: what is missing.
    """
    from retro_env import make_vec, parse_levels

    return make_vec(parse_levels(levels), num_envs=num_envs, config=settings, **options)


def make_for(config: Any, **options: Any) -> VectorEnv:
    """The environments that an agent's config asks for in `run` and `env`; options as of `make`."""
    run = config.run
    own = {"num_envs": run.num_envs, "seed": run.seed, "rotate_every": run.rotate_every}
    return make(run.levels, config.env, **own, **options)
