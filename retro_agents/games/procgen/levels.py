"""Which levels an agent learns on, and which it is judged on."""

from dataclasses import replace
from typing import Literal

from retro_agents.games.procgen.config import LAST_LEVEL, ProcgenConfig
from retro_agents.games.procgen.games import EXPLORATION
from retro_agents.ground.errors import UserError

FIRST_UNSEEN = 1_000_000
"""Test levels begin here, where a run did not itself go beyond."""
TestLevels = Literal["auto", "unseen", "all"]


def tested_on(test_levels: TestLevels, mode: str, num_levels: int) -> str:
    """unseen or all: what a choice of test levels means for a run with so many training levels."""
    if test_levels != "auto":
        return test_levels
    return "unseen" if num_levels or mode == "exploration" else "all"


def level_sets(settings: ProcgenConfig, *, test_levels: TestLevels) -> dict[str, ProcgenConfig]:
    """ "train" and "test" -> the settings that play them.

    test_levels: unseen: seeds that no training level has; all: every level, those of training
    among them, as the published results have it; auto: unseen where training has some levels only.
    Exploration, which has one level of hard, is tested on hard. UserError: there are none unseen.
    """
    exploration = settings.distribution_mode == "exploration"
    limited = tested_on("auto", settings.distribution_mode, settings.num_levels) == "unseen"
    judged = replace(settings, distribution_mode="hard") if exploration else settings
    if tested_on(test_levels, settings.distribution_mode, settings.num_levels) == "all":
        test = replace(judged, start_level=0, num_levels=0)
    else:
        trained = settings.start_level + settings.num_levels
        first = max(FIRST_UNSEEN, 1 + max(EXPLORATION.values()) if exploration else trained)
        if not limited or first >= LAST_LEVEL:
            raise UserError("a run on all levels leaves none unseen: give --test-levels all")
        test = replace(judged, start_level=first, num_levels=LAST_LEVEL - first)
    return {"train": settings, "test": test}
