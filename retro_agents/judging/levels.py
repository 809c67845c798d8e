"""Which levels a contest has."""

from retro_agents.games.families import of_procgen
from retro_agents.games.retro.integrations import check_playable
from retro_agents.games.retro.levels import Level, parse_levels
from retro_agents.ground.errors import UserError


def playable_levels(spec: str) -> list[Level]:
    """The levels of a specification (see `parse_levels`), without duplicates. Raises UserError if
    they are Procgen's, if there are none, or if one cannot be played here."""
    if of_procgen(spec):
        raise UserError(
            f"the contest has no {spec}: give other --levels; `retro-agents procgen evaluate RUN` "
            "judges agents of Procgen"
        )
    levels = list(dict.fromkeys(parse_levels(spec)))
    for level in levels:
        check_playable(level.game, level.state, scenario="contest")
    return levels
