"""Which levels a contest has."""

from envs.families import of_procgen
from experiment.errors import UserError
from retro_env.integrations import check_playable
from retro_env.levels import Level, parse_levels


def playable_levels(spec: str) -> list[Level]:
    """The levels that are meant, see `parse_levels`. UserError: they are Procgen's, there are none
    such, or one cannot be played here. One that is meant twice is there once."""
    if of_procgen(spec):
        raise UserError(
            f"the contest has no {spec}: python -m procgen_env.evaluate RUN judges agents of "
            "Procgen; or give other --levels"
        )
    levels = list(dict.fromkeys(parse_levels(spec)))
    for level in levels:
        check_playable(level.game, level.state, scenario="contest")
    return levels
