"""Which levels a contest has, and which ones judge an agent."""

from retro_agents.games.families import HELD_OUT, level_names, of_procgen
from retro_agents.games.retro.integrations import check_playable, is_native
from retro_agents.games.retro.levels import Level, parse_levels, rows_of
from retro_agents.games.retro.references import REFERENCES
from retro_agents.games.retro.splits import SPLITS, split_names
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import latest_checkpoint
from retro_agents.run.config import read_file


def learned_on(agent: str) -> str:
    """The levels that the agent in a checkpoint or a run learned on; "" if it does not say. Raises
    UserError if they are not here."""
    config = latest_checkpoint(agent) / "config.json"
    levels = str(read_file(config, what=str(config)).get("levels", ""))
    if levels in ("", "remote"):  # a contest's server does not name its level
        return ""
    try:
        level_names(levels)
    except UserError as error:
        raise UserError(
            f"{agent} learned on levels that are not here ({error}): give --levels"
        ) from None
    return levels


def held_out(agent: str) -> str:
    """The levels that judge an agent unless others are named: the test split of the games that it
    learned on; HELD_OUT if that is the free game, or if it does not say. agent: a checkpoint, a run
    or a reference player; "" for any other. Raises UserError if there is no such split."""
    levels = "" if agent in ("", *REFERENCES) else learned_on(agent)
    if not levels:
        return HELD_OUT
    if of_procgen(levels):
        raise UserError(
            f"{agent} learned on {levels}, and the contest has other games: "
            "`retro-agents procgen evaluate` judges it"
        )
    games = {level.game for level in parse_levels(levels)}
    if any(map(is_native, games)):  # cartridges of the free game's generator, too
        return HELD_OUT
    for split in split_names():
        tests = rows_of(SPLITS / f"{split}.csv") if split.endswith("-test") else []
        if games & {level.game for level in tests}:
            return split
    raise UserError(f"{agent} learned on {levels}, which has no split for tests: give --levels")


def playable_levels(spec: str, *, agent: str = "") -> list[Level]:
    """The levels of a specification (see `parse_levels`), without duplicates; of "", those of
    `held_out`. Raises UserError if they are Procgen's, if there are none, or if one cannot be
    played here."""
    spec = spec or held_out(agent)
    if of_procgen(spec):
        raise UserError(
            f"the contest has no {spec}: give other --levels; `retro-agents procgen evaluate RUN` "
            "judges agents of Procgen"
        )
    levels = list(dict.fromkeys(parse_levels(spec)))
    for level in levels:
        check_playable(level.game, level.state, scenario="contest")
    return levels
