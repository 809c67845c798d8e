"""What the pages draw of runs: curves, heat maps, and how configs differ."""

from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.games.families import level_names, of_procgen
from retro_agents.ground.errors import UserError
from retro_agents.ground.statistics import t_quantile
from retro_agents.run.config import flat
from retro_agents.run.fields import fields
from retro_agents.run.metrics import zone_of
from retro_agents.run.plot import smooth
from retro_agents.run.settings import RunSettings
from retro_agents.studio.files import TABLES, Columns, Table, read_json, reason_of

POINTS = 500
"""Points of a curve that are sent: more than a page has pixels for."""
BINS = 40
"""Columns of a heat map."""
MOST_TABLES = 1_000
"""Tables that are kept in memory."""
MOST_LEVELS = 100
"""Levels that a heat map has rows for."""
Curve = tuple[NDArray[np.float64], NDArray[np.float64]]


@final
class Tables:
    """The tables of the runs that somebody has looked at last, each followed since."""

    def __init__(self) -> None:
        self._table = lru_cache(MOST_TABLES)(Table)

    def of(self, run: Path, kind: str) -> Columns:
        """A run's table, with its newest rows; empty if the run has none. Raises UserError if it is
        damaged."""
        try:
            return self._table(run / f"{kind}.csv").read()
        except FileNotFoundError:
            return Columns({}, {})
        except OSError as error:
            raise UserError(f"{kind}.csv cannot be read: {reason_of(error)}") from None

    def columns(self, run: Path) -> list[str]:
        """The columns of numbers that a run has, as KIND/NAME."""
        return [
            f"{kind}/{name}"
            for kind in TABLES
            for name in self.of(run, kind).numbers
            if name not in ("step", "env")
        ]

    def curve(self, run: Path, column: str, *, x: str, window: int) -> Curve:
        """A column's numbers over the agent steps or seconds of a run, averaged over `window` rows.
        Raises UserError if the run lacks it."""
        kind, _, name = column.partition("/")
        table = self.of(run, kind) if kind in TABLES else None
        if table is None or name not in table.numbers:
            raise UserError(f"has no {name or column}")
        steps, values = table.column("step"), table.column(name)
        good = np.isfinite(values)
        steps, values = smooth(steps[good], values[good], window=window)
        return (self.seconds(run, steps) if x == "seconds" else steps), values

    def seconds(self, run: Path, steps: NDArray[np.float64]) -> NDArray[np.float64]:
        """The time that a run had taken by each step, over all its starts."""
        timing = self.of(run, "timing")
        if not timing.rows:
            raise UserError("has no timing.csv")
        seconds = timing.column("seconds")
        passed = np.diff(seconds, prepend=0.0)
        passed = np.where(passed < 0, seconds, passed)  # the clock begins anew with each start
        return np.interp(steps, timing.column("step"), np.cumsum(passed))

    def level(self, run: Path) -> str:
        """A level to watch a run's agent on: of its newest episode, or the first of its config; ""
        if there is none. Raises UserError if its table or config is damaged."""
        asked = str(config_of(run).get("levels", ""))
        found = self.of(run, "episodes").texts.get("level", [])[-1:]
        with suppress(UserError):
            found = found or level_names(asked)[:1]
            if found and of_procgen(asked):  # an episode's level is GAME:NUMBER
                return f"procgen:{found[0].removeprefix('procgen:').partition(':')[0]}"
        return str(found[0]) if found else ""

    def heat(self, run: Path) -> dict[str, Any]:
        """Mean return on each zone and each level in each part of a run: names, edges [BINS+1] in
        agent steps, and returns [names,BINS] with nan where no episode ended. Zones are left
        out if they say no more than levels, and levels if there are many."""
        table = self.of(run, "episodes")
        if "level" not in table.texts:
            return {"levels": [], "edges": [], "returns": []}
        steps, r, levels = table.column("step"), table.column("r"), table.texts["level"]
        edges = np.linspace(0, max(steps.max(), 1), BINS + 1)
        at = np.clip(np.searchsorted(edges, steps, side="left") - 1, 0, BINS - 1)
        zone = {level: zone_of(level) for level in set(levels)}
        names, returns = means([zone[level] for level in levels], at, r)
        if len(zone) <= MOST_LEVELS:
            more, others = means(levels, at, r)
            alone = len(names) in (1, len(zone))
            names, returns = (more, others) if alone else (names + more, returns + others)
        return {"levels": names, "edges": edges.tolist(), "returns": returns}


def means(
    names: Sequence[str], at: NDArray[np.intp], r: NDArray[np.float64]
) -> tuple[list[str], list[list[float]]]:
    """The different names, sorted, and the mean of r in each of their bins."""
    found, row = np.unique(names, return_inverse=True)
    sums, counts = np.zeros((2, len(found), BINS))
    np.add.at(sums, (row, at), r)
    np.add.at(counts, (row, at), 1)
    with np.errstate(invalid="ignore"):
        return found.tolist(), (sums / counts).tolist()


def thinned(curve: Curve) -> Curve:
    """A curve with at most POINTS points, each the mean of its neighbours."""
    steps, values = curve
    if len(steps) <= POINTS:
        return curve
    starts = np.linspace(0, len(steps), POINTS, endpoint=False).astype(int)
    sizes = np.diff(starts, append=len(steps))
    return np.add.reduceat(steps, starts) / sizes, np.add.reduceat(values, starts) / sizes


def together(curves: Sequence[Curve]) -> dict[str, list[float]]:
    """The mean of the curves of several seeds where all are known, with Student's t interval."""
    first, last = max(c[0][0] for c in curves), min(c[0][-1] for c in curves)
    grid = np.linspace(first, last, 200 if first <= last else 0)
    rows = np.array([np.interp(grid, *curve) for curve in curves])
    mean, count = rows.mean(0), len(rows)
    half = t_quantile(count - 1) * rows.std(0, ddof=1) / count**0.5
    found = {"x": grid, "y": mean, "low": mean - half, "high": mean + half}
    return {name: values.tolist() for name, values in found.items()}


def config_of(run: Path) -> dict[str, Any]:
    """A run's config, flat. Raises UserError if it is damaged."""
    try:
        found = read_json(run / "config.json")
    except OSError as error:
        raise UserError(f"config.json cannot be read: {reason_of(error)}") from None
    if not isinstance(found, dict):
        raise UserError("config.json is damaged: it names no fields")
    return flat(found)


def experiment_of(run: Path) -> str:
    """What the seeds of one experiment have in common."""
    own = fields(RunSettings, "launch")
    return repr({k: v for k, v in sorted(config_of(run).items()) if k not in own})


def drawn(
    tables: Tables, runs: dict[str, Path], column: str, *, x: str, window: int, seeds: bool
) -> list[dict[str, Any]]:
    """A curve for each run, or with `seeds` for each experiment: its label, x, y, the interval low
    and high of several seeds, or an error in a line."""
    found: list[dict[str, Any]] = []
    groups: dict[str, list[tuple[str, Curve]]] = {}
    for name, run in runs.items():
        try:
            curve = tables.curve(run, column, x=x, window=window)
            if not len(curve[0]):
                raise UserError("has no value yet")
            key = experiment_of(run) if seeds else name
            groups.setdefault(key, []).append((name, curve))
        except UserError as error:
            found.append({"label": name, "error": str(error), "x": [], "y": []})
    for rows in groups.values():
        names = [name for name, _ in rows]
        if len(rows) > 1:
            label = f"{names[0]} and {len(rows) - 1} more"
            found.append({"label": label, **together([curve for _, curve in rows])})
        else:
            steps, values = thinned(rows[0][1])
            found.append({"label": names[0], "x": steps.tolist(), "y": values.tolist()})
    return found


def differences(runs: dict[str, Path]) -> dict[str, Any]:
    """The runs whose configs can be read; the fields in which these differ: name, and each run's
    value as text; and what is wrong with the others, each in a line."""
    configs, errors = dict[str, dict[str, Any]](), list[str]()
    for run, folder in runs.items():
        try:
            configs[run] = config_of(folder)
        except UserError as error:
            errors.append(f"{run}: {error}")
    names = dict.fromkeys(name for config in configs.values() for name in config)
    rows = [(name, [config.get(name) for config in configs.values()]) for name in names]
    found = [
        {"name": name, "values": ["–" if value is None else str(value) for value in values]}
        for name, values in rows
        if len(configs) == 1 or any(value != values[0] for value in values)
    ]
    return {"runs": [*configs], "rows": found, "errors": errors}
