"""The levels that an agent learns on, and those that it is judged on."""

from dataclasses import replace
from typing import Literal

from retro_agents.games.procgen.config import LAST_LEVEL, ProcgenConfig
from retro_agents.games.procgen.games import EXPLORATION
from retro_agents.ground.errors import UserError

FIRST_UNSEEN = 1_000_000
"""The first test level, unless the training levels reach beyond it."""
TestLevels = Literal["auto", "unseen", "all"]


def tested_on(test_levels: TestLevels, mode: str, num_levels: int) -> str:
    """Resolves a choice of test levels to unseen or all, for a run with `num_levels` levels."""
    if test_levels != "auto":
        return test_levels
    return "unseen" if num_levels or mode == "exploration" else "all"


def level_sets(settings: ProcgenConfig, *, test_levels: TestLevels) -> dict[str, ProcgenConfig]:
    """Returns the settings that play the "train" and the "test" levels.

    test_levels: unseen: seeds outside training; all: every level, including those of training, as
    in the published results; auto: unseen if training has a limited number of levels. Exploration,
    which has one level of hard, is tested on hard. Raises UserError if no level is unseen.
    """
    exploration = settings.distribution_mode == "exploration"
    judged = replace(settings, distribution_mode="hard") if exploration else settings
    if tested_on(test_levels, settings.distribution_mode, settings.num_levels) == "all":
        test = replace(judged, start_level=0, num_levels=0)
    else:
        trained = settings.start_level + settings.num_levels
        first = max(FIRST_UNSEEN, 1 + max(EXPLORATION.values()) if exploration else trained)
        if not (exploration or settings.num_levels) or first >= LAST_LEVEL:
            raise UserError("a run on all levels leaves no unseen level: give --test-levels all")
        test = replace(judged, start_level=first, num_levels=LAST_LEVEL - first)
    return {"train": settings, "test": test}
