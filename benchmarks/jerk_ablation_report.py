"""The table of benchmarks.jerk_ablation: kinds over the runs that all of them have."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from benchmarks.jerk_ablation import BESIDE, AblationConfig, Cells, Scores, collect, earlier_of
from benchmarks.machine import store, write_result
from experiment.config import to_dict

RESAMPLES = 10_000


def mean_of(levels: dict[str, float]) -> float:
    """Over levels, each counting once."""
    return float(np.mean(list(levels.values())))


def interval(values: Cells) -> list[float]:
    """95 % bootstrap interval of the mean over levels, seeds drawn anew within each level; nan
    where a level has a single seed."""
    rng = np.random.default_rng(0)
    levels = sorted({level for level, _ in values})
    means = np.zeros(RESAMPLES)
    for level in levels:
        here = np.array([value for (name, _), value in values.items() if name == level])
        if len(here) < 2:
            return [float("nan"), float("nan")]
        drawn = rng.integers(0, len(here), (RESAMPLES, len(here)))
        means += here[drawn].mean(axis=1) / len(levels)
    return [float(x) for x in np.percentile(means, (2.5, 97.5))]


def over_levels(values: Cells) -> dict[str, float]:
    """Level -> mean over its seeds."""
    levels = sorted({level for level, _ in values})
    return {
        level: float(np.mean([v for (name, _), v in values.items() if name == level]))
        for level in levels
    }


@dataclasses.dataclass(frozen=True)
class Row:
    """A kind over the runs that all kinds have."""

    kind: str
    mean: float
    """Over levels, of the means over their seeds."""
    interval: list[float]
    levels: dict[str, float]
    runs: int
    gain: float | None = None
    """Over the kind that it is compared with."""
    gain_interval: list[float] | None = None


def rows_of(found: Scores) -> list[Row]:
    """A row per kind, over the runs that all kinds have."""
    shared = set.intersection(*(set(scores) for scores in found.values())) if found else set()
    rows: list[Row] = []
    before = ""
    for kind, scores in found.items() if shared else ():
        here = {key: scores[key] for key in sorted(shared)}
        levels = over_levels(here)
        row = Row(kind, mean_of(levels), interval(here), levels, len(here))
        other = BESIDE.get(kind, before)
        if other in found:
            gains = {key: here[key] - found[other][key] for key in here}
            gain = mean_of(over_levels(gains))
            row = dataclasses.replace(row, gain=gain, gain_interval=interval(gains))
        rows.append(row)
        before = kind
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    if not rows:
        return "No level and seed is complete for all kinds yet."
    levels = list(rows[0].levels)
    head = ["kind", "mean return", "95 %", "gain", "95 %", *levels]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for row in rows:
        gain = "" if row.gain is None else f"{row.gain:+,.0f}"
        cells = [row.kind, f"{row.mean:,.0f}", spelled(row.interval), gain]
        cells += [spelled(row.gain_interval), *(f"{row.levels[name]:,.0f}" for name in levels)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, f"\n{rows[0].runs} runs of each kind."])


def spelled(interval: list[float] | None) -> str:
    """'4,321 … 5,432', or nothing where it is not known."""
    if interval is None or np.isnan(interval).any():
        return ""
    return f"{interval[0]:,.0f} … {interval[1]:,.0f}"


def report(config: AblationConfig) -> str:
    """Write the table and result.json; return the table."""
    found, earlier = collect(config), earlier_of(config)
    rows = rows_of(found)
    # What an earlier result holds stays, also of kinds, levels and seeds that are not shown now.
    runs = {kind: earlier.get(kind, {}) | found.get(kind, {}) for kind in earlier | found}
    result = {
        "config": to_dict(config),
        "rows": [dataclasses.asdict(row) for row in rows],
        "runs": {
            kind: {f"{level} {seed}": value for (level, seed), value in sorted(scores.items())}
            for kind, scores in runs.items()
        },
    }
    config.out.mkdir(parents=True, exist_ok=True)
    store(config.out / "result.json", result)
    (config.out / "result.md").write_text(table(rows) + "\n")
    if config.write:
        write_result("jerk_ablation", result)
    return table(rows)
