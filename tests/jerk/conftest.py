"""A longer corridor with four holes."""

import numpy as np
import pytest

from tests.conftest import Corridor


class Course(Corridor):
    """As Corridor, 30 columns long. Exploration alone gets through one time in a hundred."""

    length, holes, limit = 30, (7, 13, 20, 26), 80

    def __init__(self, num_envs):
        super().__init__(num_envs)
        self.levels = ["course"] * num_envs

    def _frame(self, env):
        frame = np.full((36, 36), 30, np.uint8)
        frame[:, self.position[env] : self.position[env] + 5] = 220
        return frame


@pytest.fixture
def course():
    return Course
