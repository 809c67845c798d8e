"""`test_collector.py` holds frames that are put together against the environment's own."""

import dataclasses

import pytest

from retro_agents.experience.newest_frames import NewestFrames
from tests.conftest import Corridor


@pytest.mark.parametrize(
    ("steps_back", "suits"), [((2, 1, 0), True), ((0,), False), ((3, 0), False)]
)
def test_only_frames_without_a_gap_can_follow_from_the_newest(steps_back, suits):
    frames = {"frame_stack": len(steps_back), "steps_back": steps_back}
    spec = dataclasses.replace(Corridor.env_spec, **frames)
    assert NewestFrames.suits(spec) is suits
