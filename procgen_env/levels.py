"""Which levels an agent learns on, and which it is judged on."""

from dataclasses import replace
from typing import Literal

from experiment.errors import UserError
from procgen_env.config import LAST_LEVEL, ProcgenConfig

FIRST_UNSEEN = 1_000_000
"""Test levels begin here, where a run did not itself go beyond."""
TestLevels = Literal["auto", "unseen", "all"]


def level_sets(settings: ProcgenConfig, *, test_levels: TestLevels) -> dict[str, ProcgenConfig]:
    """ "train" and "test" -> the settings that play them.

    test_levels: unseen: seeds that no training level has; all: every level, those of training
    among them, as the published results have it; auto: unseen where training has some levels only.
    UserError: there are none unseen.
    """
    limited = settings.num_levels > 0
    if test_levels == "auto":
        test_levels = "unseen" if limited else "all"
    if settings.distribution_mode == "exploration":
        test = replace(settings, distribution_mode="hard", start_level=0, num_levels=0)
    elif test_levels == "all":
        test = replace(settings, start_level=0, num_levels=0)
    else:
        first = max(FIRST_UNSEEN, settings.start_level + settings.num_levels)
        if not limited or first >= LAST_LEVEL:
            raise UserError("a run on all levels leaves none unseen: give --test-levels all")
        test = replace(settings, start_level=first, num_levels=LAST_LEVEL - first)
    return {"train": settings, "test": test}
