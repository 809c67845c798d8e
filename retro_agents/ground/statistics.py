"""Confidence intervals of means and comparisons, from few runs on several levels.

`Runs` holds the score of each run: level -> seed -> score. Means have Student's t interval over
seeds, differences Welch's: equal seeds do not make pairs of two agents' runs. Interquartile means
and probabilities of improvement have percentile bootstraps over seeds within each level, as in
rliable; with three seeds those of interquartile means are too narrow, by a fifth on many levels,
sqrt(2 / 3), and by more on one level. Statistics come from SciPy. A bootstrap draws 10,000 times
from a fixed seed. An interval that cannot be computed is (nan, nan). within: the least and the
largest possible value; an interval of a mean does not pass them, unless a value does.
Source: Agarwal et al., Deep RL at the Edge of the Statistical Precipice, arXiv:2108.13264.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Runs = Mapping[str, Mapping[int, float]]
Interval = tuple[float, float]
CONFIDENCE, RESAMPLES = 0.95, 10_000
ANYWHERE = -math.inf, math.inf
BLOCK = 4_000_000
"""Values drawn at a time, which bounds the memory."""


def t_interval(values: ArrayLike, *, within: Interval = ANYWHERE, intervals: int = 1) -> Interval:
    """Student's t interval of the mean of `values` [K], one per seed or episode. intervals: so many
    hold at once with this confidence (Bonferroni)."""
    data = np.asarray(values, np.float64)
    if len(data) < 2:
        return math.nan, math.nan
    error = data.std(ddof=1) / math.sqrt(len(data))
    half = t_quantile(len(data) - 1, intervals) * error
    least, largest = _bounds(within, data)
    return max(float(data.mean() - half), least), min(float(data.mean() + half), largest)


def t_quantile(freedom: float, intervals: int = 1) -> float:
    """Half the width of Student's t interval, in standard errors. intervals: see `t_interval`."""
    from scipy.special import stdtrit  # scipy.stats would take a second to import

    return float(stdtrit(freedom, 1.0 - (1.0 - CONFIDENCE) / 2 / intervals))


def welch_interval(
    one: ArrayLike, other: ArrayLike, *, within: Interval = ANYWHERE, intervals: int = 1
) -> Interval:
    """Interval of mean(one) − mean(other), unpaired, with unequal variances. [K], [M]. intervals:
    see `t_interval`.

    Source: Welch, Biometrika 34 (1947), 28–35.
    """
    both = [np.asarray(values, np.float64) for values in (one, other)]
    if min(map(len, both)) < 2:
        return math.nan, math.nan
    apart = float(both[0].mean() - both[1].mean())
    errors = [float(values.var(ddof=1)) / len(values) for values in both]
    if not sum(errors):
        return apart, apart
    freedom = sum(errors) ** 2 / sum(
        error**2 / (len(values) - 1) for error, values in zip(errors, both, strict=True)
    )
    half = t_quantile(freedom, intervals) * math.sqrt(sum(errors))
    least, largest = _bounds(within, *both)
    return max(apart - half, least - largest), min(apart + half, largest - least)


def slope_interval(x: ArrayLike, y: ArrayLike) -> tuple[float, Interval]:
    """The slope of the least-squares line through points [K], and its Student's t interval."""
    from scipy import stats

    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(np.unique(x)) < 2 or len(x) < 3:
        return math.nan, (math.nan, math.nan)
    line = stats.linregress(x, y)
    half = t_quantile(len(x) - 2) * float(line.stderr)
    return float(line.slope), (float(line.slope) - half, float(line.slope) + half)


def seed_means(runs: Runs) -> list[float]:
    """Returns the mean over levels of each seed that has a score on all of them."""
    seeds = _whole_seeds(runs)
    return [float(np.mean([level[seed] for level in runs.values()])) for seed in seeds]


def mean(runs: Runs) -> float:
    """Returns the mean over levels of the means over seeds: over the seeds of `seed_means`, or over
    all if there are none."""
    if seeds := _whole_seeds(runs):
        runs = {level: {s: own[s] for s in own if s in seeds} for level, own in runs.items()}
    return float(np.mean([np.mean(level) for level in _by_level(runs)]))


def interquartile_mean(runs: Runs) -> float:
    """Returns the mean without the lowest and the highest quarter of all runs, each rounded down,
    so that no outlier moves it."""
    return float(_trimmed(*_by_level(runs), axis=-1))


def interquartile_interval(runs: Runs) -> Interval:
    """The interval of `interquartile_mean`, by a bootstrap over seeds within each level."""
    return _bootstrap(_by_level(runs), _trimmed)


def improvement(one: Runs, other: Runs) -> float:
    """Returns the probability that a run of `one` beats one of `other` on the same level, averaged
    over the levels that both have; a tie counts half (Mann and Whitney's U over the number of
    pairs)."""
    first, second = map(_by_level, shared(one, other))
    return float(_better(*first, *second, axis=-1))


def improvement_interval(one: Runs, other: Runs) -> Interval:
    """The interval of `improvement`, by a bootstrap over seeds within each level; unknown where all
    runs of one beat all of the other, since all draws agree there."""
    first, second = map(_by_level, shared(one, other))
    low, high = _bootstrap([*first, *second], _better)
    return (low, high) if low < high else (math.nan, math.nan)


def profile(runs: Runs, thresholds: Sequence[float]) -> list[float]:
    """The performance profile: the share of all runs that score above each threshold."""
    scores = np.concatenate(_by_level(runs))
    return [float((scores > threshold).mean()) for threshold in thresholds]


def shared(one: Runs, other: Runs) -> tuple[Runs, Runs]:
    """Restricts both to the levels that they share, with all their seeds."""
    both = [level for level in one if level in other]
    return {level: one[level] for level in both}, {level: other[level] for level in both}


def _bounds(within: Interval, *samples: NDArray[np.float64]) -> Interval:
    """`within`, without an end that a value passes."""
    values = np.concatenate(samples)
    return (
        within[0] if values.min() >= within[0] else -math.inf,
        within[1] if values.max() <= within[1] else math.inf,
    )


def _whole_seeds(runs: Runs) -> list[int]:
    """The seeds that have a score on every level."""
    return sorted(set.intersection(*(set(level) for level in runs.values()))) if runs else []


def _by_level(runs: Runs) -> list[NDArray[np.float64]]:
    return [np.array(list(runs[level].values()), np.float64) for level in runs]


def _trimmed(*levels: NDArray[np.float64], axis: int) -> Any:
    from scipy import stats

    return stats.trim_mean(np.concatenate(levels, axis=axis), 0.25, axis=axis)


def _better(*levels: NDArray[np.float64], axis: int) -> Any:
    """levels: the scores of one per level, then those of the other, each [..., K]. Counts pairs by
    the sum of ranks, in memory that grows with the scores and not with the pairs."""
    from scipy import stats

    half, shares = len(levels) // 2, []
    for one, other in zip(levels[:half], levels[half:], strict=True):
        own, others = one.shape[axis], other.shape[axis]
        ranks = stats.rankdata(np.concatenate([one, other], axis=axis), axis=axis)
        before = ranks[..., :own].sum(axis=axis) - own * (own + 1) / 2
        shares.append(before / (own * others))
    return np.mean(shares, axis=0)


def _bootstrap(samples: Sequence[NDArray[np.float64]], statistic: Any) -> Interval:
    """Percentiles of `statistic` over stratified resamples: each sample is a stratum."""
    from scipy import stats

    if not samples or min(map(len, samples)) < 2:
        return math.nan, math.nan
    low, high = stats.bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        batch=max(BLOCK // sum(map(len, samples)), 1),
        vectorized=True,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return float(low), float(high)
