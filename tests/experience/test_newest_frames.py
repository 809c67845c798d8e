"""Observations that are put together from their newest frames equal the environment's own."""

import dataclasses

import numpy as np
import pytest
import torch

from retro_agents.experience.newest_frames import NewestFrames
from tests.conftest import Corridor

SPEC = dataclasses.replace(
    Corridor(1).env_spec, observation_shape=(6, 5, 4), frame_stack=3, steps_back=(2, 1, 0)
)
"""Three frames of two channels."""


def test_frames_that_follow_make_the_stacks_of_every_row_and_episodes_begin_with_one_frame():
    rng = np.random.default_rng(0)
    history = rng.integers(0, 256, (4, 3, 2, 5, 4), dtype=np.uint8)  # [frame, row, c, H, W]
    shown = NewestFrames(3, SPEC, torch.device("cpu"))
    newest = shown.begin(np.concatenate(history[:3], axis=1))
    np.testing.assert_array_equal(newest, history[2])
    no, part = torch.zeros(3, dtype=torch.bool), slice(None)
    stack = shown.add(torch.from_numpy(newest), no, part).permute(0, 3, 1, 2)
    np.testing.assert_array_equal(stack, np.concatenate(history[:3], axis=1))
    begins = torch.tensor([False, True])
    moved = shown.add(torch.from_numpy(history[3, 1:]), begins, slice(1, 3)).permute(0, 3, 1, 2)
    np.testing.assert_array_equal(moved[0], np.concatenate(history[1:, 1]))
    np.testing.assert_array_equal(moved[1], np.concatenate([history[3, 2]] * 3))


@pytest.mark.parametrize(
    ("steps_back", "suits"), [((2, 1, 0), True), ((0,), False), ((3, 0), False)]
)
def test_only_frames_without_a_gap_can_follow_from_the_newest(steps_back, suits):
    spec = dataclasses.replace(SPEC, frame_stack=len(steps_back), steps_back=steps_back)
    assert NewestFrames.suits(spec) is suits
