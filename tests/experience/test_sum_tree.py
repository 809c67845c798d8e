"""The tree against a running sum over its leaves."""

import numpy as np
import pytest

from retro_agents.experience.sum_tree import SumTree


@pytest.mark.parametrize("size", [1, 31, 32, 33, 1024, 5000])
def test_sum_tree_finds_what_a_running_sum_finds(size):
    rng = np.random.default_rng(size)
    tree, leaves = SumTree(size), np.zeros(size)
    for _ in range(20):
        indices = rng.integers(size, size=12)
        values = rng.random(12) * (rng.random(12) < 0.7)
        leaves[indices] = values  # later duplicates win
        tree.set(indices, leaves[indices])
        np.testing.assert_array_equal(tree.leaves, leaves)
        assert tree.total == pytest.approx(leaves.sum())
        if leaves.sum() == 0.0:
            continue
        masses = rng.random(50) * leaves.sum()
        found = tree.find(masses)
        wanted = np.searchsorted(np.cumsum(leaves), masses, side="right")
        assert (leaves[found] > 0.0).all()
        assert (found == wanted).mean() > 0.95  # rounding may move a mass over an edge
        assert np.abs(np.cumsum(leaves)[found] - masses).max() <= leaves.max() + 1e-9


def test_sum_tree_never_finds_an_empty_leaf_at_the_edges():
    tree = SumTree(100)
    tree.set(np.array([3, 40]), np.array([1.0, 2.0]))
    masses = np.array([0.0, 1.0, np.nextafter(1.0, 0.0), 3.0, 4.0])
    assert tree.find(masses).tolist() == [3, 40, 3, 40, 40]
