from unittest.mock import Mock

import numpy as np
import torch

from retro_agents.experience.novelty import Novelty
from retro_agents.run.distributed import Group


def steps_of(levels, progress, colours, ended):
    """Arguments of Novelty.bonus from nested lists [T][N]."""
    frames = np.array(colours, np.uint8)[..., None, None, None] + np.zeros((2, 2, 1), np.uint8)
    return torch.from_numpy(frames), {
        "levels": np.array(levels),
        "progress": np.array(progress, np.float32),
        "ended": np.array(ended, bool),
    }


CASE = steps_of(
    levels=[[1, 1], [1, 2], [1, 1], [1, 1]],
    progress=[[0, 50], [120, 0], [130, 250], [-10, 0]],
    colours=[[8, 8], [8, 8], [200, 8], [8, 8]],
    ended=[[False, False], [False, False], [False, True], [False, False]],
)
# One after the other: new; the same bucket of progress; other progress; other level; other
# colours; the end of an episode; going back; known.
NEW = [[True, False], [True, True], [True, False], [True, False]]


def test_each_pair_of_progress_and_colour_sum_is_new_once_per_level_and_run():
    frames, rest = CASE
    first, second = Novelty(), Novelty()
    assert first.bonus(frames, **rest, group=Group()).tolist() == NEW
    assert not first.bonus(frames, **rest, group=Group()).any()
    second.restore(first.array())
    assert second.seen == first.seen and len(first.seen) == 5
    assert not second.bonus(frames, **rest, group=Group()).any()


def test_a_key_is_new_to_one_of_two_processes_only():
    frames, rest = CASE
    halves = [
        (frames[:, part], {name: value[:, part] for name, value in rest.items()})
        for part in (slice(0, 1), slice(1, 2))
    ]
    alone = Mock(rank=0, size=1, gather=Mock(side_effect=lambda keys: [keys]))
    for images, other in halves:
        Novelty().bonus(images, **other, group=alone)
    keys = [call.args[0] for call in alone.gather.call_args_list]
    for rank, (images, other) in enumerate(halves):
        both = Mock(rank=rank, size=2, gather=lambda _: keys)
        found = Novelty().bonus(images, **other, group=both)
        assert found[:, 0].tolist() == [row[rank] for row in NEW]
