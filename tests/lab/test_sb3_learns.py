"""Whether Stable-Baselines3's PPO learns: how its episodes are compared."""

import pytest

from lab.sb3_learns import STEPS, compared
from retro_agents.ground.errors import UserError


@pytest.mark.parametrize("learned", [[], [(STEPS, 1.0)], [(8, 1.0), (16, 2.0)]])
def test_runs_too_short_to_compare_are_refused(learned):
    """The last ended all of its episodes too early to count."""
    with pytest.raises(UserError, match="fewer than two episodes ended: give more --steps"):
        compared([(learned, [(8, 1.0), (16, 2.0)])], STEPS)
