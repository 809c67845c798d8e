"""Intervals and comparisons against slow or hand-worked ones."""

import math
from itertools import product

import numpy as np
import pytest
from scipy import stats

from retro_agents.ground import statistics
from retro_agents.ground.statistics import (
    improvement,
    improvement_interval,
    interquartile_interval,
    interquartile_mean,
    mean,
    profile,
    seed_means,
    shared,
    slope_interval,
    t_interval,
    welch_interval,
)
from tests.runs import in_python

ONE = {"a": {0: 1.0, 1: 5.0, 2: 6.0}, "b": {0: 10.0, 1: 12.0, 2: 11.0}}
OTHER = {"a": {0: 5.0, 1: 0.0, 2: 2.0}, "b": {0: 11.0, 1: 30.0, 2: 9.0}}


def test_t_interval_is_that_of_the_tables():
    # n = 3: t = 4.302653 with 2 degrees of freedom; deviation 1, so 4.302653 / sqrt(3).
    assert t_interval([1.0, 2.0, 3.0]) == pytest.approx((-0.484138, 4.484138), abs=1e-5)
    # n = 2: t = 12.7062; the half width is 12.7062 times half the distance.
    assert t_interval([10.0, 12.0]) == pytest.approx((11 - 12.7062, 11 + 12.7062), abs=1e-3)


def test_a_slope_has_the_interval_of_its_residuals():
    # Slope 6 / 5; residuals −.2, .6, −.6, .2, so the error is sqrt(.8 / 2 / 5); with 2 degrees of
    # freedom t = 4.302653.
    slope, (low, high) = slope_interval([0, 1, 2, 3], [0, 2, 2, 4])
    half = 4.302653 * math.sqrt(0.8 / 2 / 5)
    assert (slope, low, high) == pytest.approx((1.2, 1.2 - half, 1.2 + half), abs=1e-5)
    assert all(map(math.isnan, slope_interval([1, 1, 1], [1, 2, 3])[1]))


def test_welch_interval_has_the_degrees_of_freedom_of_both():
    one, other = [1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 60.0]
    scipys = stats.ttest_ind(one, other, equal_var=False).confidence_interval(0.95)
    assert welch_interval(one, other) == pytest.approx((float(scipys.low), float(scipys.high)))


def test_an_interval_stays_within_what_is_possible_unless_a_value_does_not():
    assert t_interval([1.0, 9.0], within=(0.0, 10.0)) == (0.0, 10.0)
    low, high = t_interval([1.0, 11.0], within=(0.0, 10.0))
    assert low == 0.0 and high > 11.0
    assert welch_interval([1.0, 9.0], [0.0, 9.0], within=(0.0, 10.0)) == (-10.0, 10.0)


def test_equal_values_have_intervals_of_no_width_and_one_value_has_none():
    assert t_interval([5.0] * 7) == (5.0, 5.0)
    assert welch_interval([5.0] * 3, [2.0] * 2) == (3.0, 3.0)
    assert welch_interval([0.1 + 0.2, 0.3], [1.0, 1.0]) == pytest.approx((-0.7, -0.7))
    alone = {"a": {0: 1.0, 1: 2.0}, "b": {0: 3.0}}
    nothing = [
        *t_interval([5.0]),
        *welch_interval([5.0, 6.0], [1.0]),
        *interquartile_interval(alone),
        *improvement_interval(ONE, alone),
    ]
    assert all(math.isnan(end) for end in nothing)


def outcomes(levels):
    """Every draw, with replacement, of each level's runs: all equally probable."""
    return product(*(product(level, repeat=len(level)) for level in levels))  # type: ignore[return-value]


def exact(values):
    """The 2.5 and 97.5 percentiles of all outcomes."""
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def test_strata_are_drawn_from_each_by_itself():
    levels = [list(level.values()) for level in ONE.values()]
    every = [slow_middle([x for level in drawn for x in level]) for drawn in outcomes(levels)]
    assert interquartile_interval(ONE) == pytest.approx(exact(every), abs=0.1)
    # Levels apart and seeds alike: nothing is left to chance.
    assert interquartile_interval({"a": {0: 1.0, 1: 1.0}, "b": {0: 9.0, 1: 9.0}}) == (5.0, 5.0)
    # From the least to the largest of three, which holds the median in 1 - 2 / 2**3 of cases.
    assert interquartile_interval({"a": {0: 1.0, 1: 2.0, 2: 4.0}}) == (1.0, 4.0)


def slow_middle(values):
    """Mean without the lowest and the highest quarter, rounded down."""
    cut = len(values) // 4
    kept = sorted(values)[cut : len(values) - cut]
    return sum(kept) / len(kept)


def test_interquartile_mean_leaves_a_quarter_out_at_each_end():
    assert interquartile_mean({"a": {0: 1.0, 1: 2.0}, "b": {0: 4.0, 1: 900.0}}) == 3.0
    assert interquartile_mean(ONE) == slow_middle([1.0, 5.0, 6.0, 10.0, 12.0, 11.0])


def slow_improvement(one, other):
    """Pair by pair."""
    levels = []
    for level in one:
        wins = [
            1.0 if x > y else 0.5 if x == y else 0.0
            for x in one[level].values()
            for y in other[level].values()
        ]
        levels.append(sum(wins) / len(wins))
    return sum(levels) / len(levels)


def test_improvement_counts_pairs_of_a_level_and_ties_half():
    assert improvement(ONE, OTHER) == pytest.approx(slow_improvement(ONE, OTHER))
    assert improvement(ONE, OTHER) + improvement(OTHER, ONE) == pytest.approx(1.0)
    u = stats.mannwhitneyu([1.0, 5.0, 6.0], [5.0, 0.0, 2.0]).statistic
    assert improvement({"a": ONE["a"]}, {"a": OTHER["a"]}) == pytest.approx(u / 9)
    more = {"c": {0: 1.0}, **dict(reversed(OTHER.items()))}
    assert improvement(ONE, more) == improvement(ONE, OTHER)
    assert improvement_interval(ONE, more) == improvement_interval(ONE, OTHER)
    low, high = improvement_interval(ONE, OTHER)
    assert 0.0 <= low < improvement(ONE, OTHER) < high <= 1.0
    higher = {level: {seed: r + 99.0 for seed, r in runs.items()} for level, runs in ONE.items()}
    assert improvement(higher, ONE) == 1.0  # which three seeds do not make certain
    assert all(map(math.isnan, improvement_interval(higher, ONE)))


def test_levels_count_alike_and_a_seed_once_and_a_profile_is_the_share_above():
    runs = {"a": {0: 1.0, 1: 3.0}, "b": {0: 10.0}}
    assert seed_means(runs) == [5.5] and mean(runs) == 5.5  # seed 1 lacks a level
    assert mean({"a": {0: 1.0}, "b": {1: 5.0}}) == 3.0  # both lack one
    assert seed_means(ONE) == [5.5, 8.5, 8.5]
    assert seed_means({}) == []
    assert profile(ONE, [0.0, 5.0, 11.0, 12.0]) == [1.0, 4 / 6, 1 / 6, 0.0]
    one, other = shared({**ONE, "c": {0: 1.0}}, {"a": {2: 7.0, 5: 1.0}, "c": {1: 1.0}})
    assert one == {"a": ONE["a"], "c": {0: 1.0}}
    assert other == {"a": {2: 7.0, 5: 1.0}, "c": {1: 1.0}}


def test_interval_does_not_depend_on_how_many_are_drawn_at_a_time(monkeypatch):
    runs = {"a": dict(enumerate(np.random.default_rng(0).normal(size=40).tolist()))}
    whole = interquartile_interval(runs)
    monkeypatch.setattr(statistics, "BLOCK", 1000)
    assert interquartile_interval(runs) == whole


def test_an_interval_of_a_mean_does_not_wait_for_all_of_scipys_statistics():
    text = "import sys; from retro_agents.ground.statistics import *; t_interval([1, 2]); "
    text += "welch_interval([1, 2], [3, 5]); sys.exit('scipy.stats' in sys.modules)"
    assert in_python(text).returncode == 0
