"""Tables and curves of benchmarks.ppo2_learning, of the runs that are complete."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frozen import is_played, level_score
from benchmarks.machine import read_result, store, write_result
from benchmarks.ppo2_learning import (
    PRETRAINED,
    LearningConfig,
    Runs,
    earlier_of,
    kinds_of,
    levels_of,
    players_of,
    pretraining,
    run_of,
)
from benchmarks.runs import row, run_scores, steps_of
from contest.match.score import Score, bootstrap_interval, markdown_table, score_dict
from experiment.config import to_dict
from experiment.errors import UserError
from experiment.metrics import read_columns
from experiment.plot import plot_curves

COMPARED = {
    "frozen": [("joint-draws", "serial-draws"), ("joint-draws", "sb3-draws")],
    "adapt": [("joint", "scratch"), ("scratch", "sb3-scratch"), ("joint", "sb3-joint")],
    "ablation": [(kind, "plain") for kind in ("noisy", "distillation", "novelty", "overlap")],
    "rainbow": [("encoder", "scratch"), ("encoder-frozen", "scratch"), ("encoder", "pretrained")],
}
"""Part -> pairs whose difference is shown."""
LAST = 0.1
"""Share of a pretraining, at its end, over which its last numbers are means."""


def collect(config: LearningConfig, part: str) -> dict[str, Runs]:
    """The runs of a part, by kind: those of the earlier result, then those that are complete."""
    found = earlier_of(config).get(part, {})
    known = {(name, *key) for name, runs in found.items() for key in runs}
    for name in players_of(config, 0) if part == "frozen" else kinds_of(config)[part]:
        runs = found.setdefault(name, {})
        for seed in range(config.seeds):
            for level in levels_of(config, part):
                if (name, seed, level.state) in known:
                    continue
                if part == "frozen":
                    _, player = players_of(config, seed)[name]
                    scores = [level_score(player, level)] if is_played(player, level) else []
                else:
                    scores = run_scores([run_of(config, part, name, level, seed)])
                runs.update(((seed, level.state), one) for one in scores)
    return found


def overall(label: str, runs: Runs, *, of: int) -> Score:
    """All runs of a kind as one row: a seed's score is its mean over levels, the interval is over
    seeds. of: how many runs there will be."""
    seeds = sorted({seed for seed, _ in runs})
    by_seed = [row("", [one for (s, _), one in runs.items() if s == seed]) for seed in seeds]
    return row(f"{label} ({len(runs)} of {of})", by_seed)


def difference(one: Runs, other: Runs) -> dict[str, Any]:
    """Of two kinds, over the runs of the same level and seed that both have."""
    shared = [key for key in one if key in other]
    apart = np.array([one[key].mean - other[key].mean for key in shared])
    low, high = bootstrap_interval(apart)
    return {
        "mean": float(apart.mean()),
        "low": None if np.isnan(low) else low,
        "high": None if np.isnan(high) else high,
        "pairs": len(shared),
        "higher": int((apart > 0).sum()),
    }


def difference_table(differences: Mapping[str, dict[str, Any]]) -> str:
    """As Markdown."""
    lines = [
        "| difference | mean | 95 % interval, over pairs | higher in |",
        "|---|---:|---:|---:|",
    ]
    for name, found in differences.items():
        interval = "–" if found["low"] is None else f"{found['low']:+,.0f} to {found['high']:+,.0f}"
        higher = f"{found['higher']} of {found['pairs']}"
        lines.append(f"| {name} | {found['mean']:+,.0f} | {interval} | {higher} |")
    return "\n".join(lines)


def level_table(found: Mapping[str, Runs]) -> str:
    """Mean over seeds on each level, a column per kind, as Markdown."""
    states = list(dict.fromkeys(state for runs in found.values() for _, state in runs))
    lines = [f"| mean over seeds | {' | '.join(found)} |", "|---|" + "---:|" * len(found)]
    for state in states:
        cells = []
        for runs in found.values():
            means = [one.mean for (_, where), one in runs.items() if where == state]
            cells.append(f"{np.mean(means):,.0f}" if means else "")
        lines.append(f"| {state} | {' | '.join(cells)} |")
    return "\n".join(lines)


def part_report(config: LearningConfig, part: str) -> tuple[str, dict[str, Any]]:
    """A part's tables as Markdown, and what they were made of. Empty where nothing is complete."""
    everything = collect(config, part)
    found = {name: runs for name, runs in everything.items() if runs}
    if not found:
        return "", {}
    of = config.seeds * len(levels_of(config, part))
    rows = [overall(name, runs, of=of) for name, runs in found.items()]
    differences = {
        f"{one} − {other}": difference(found[one], found[other])
        for one, other in COMPARED[part]
        if found.get(one, {}).keys() & found.get(other, {}).keys()
    }
    tables = [f"## {part}", markdown_table(rows)]
    if differences:
        tables.append(difference_table(differences))
    tables.append(level_table(found))
    values = {
        "rows": [score_dict(one) for one in rows],
        "differences": differences,
        "runs": {
            name: {f"{state} {seed}": one.mean for (seed, state), one in runs.items()}
            for name, runs in found.items()
        },
    }
    return "\n\n".join(tables), values


def pretrained(config: LearningConfig) -> dict[str, dict[str, float]]:
    """How far each pretraining is, and its numbers over its last tenth."""
    found = {}
    for name in PRETRAINED:
        steps = steps_of(pretraining(config, name))
        if steps is None:
            continue
        try:
            rows = [read_columns(config.out / name / f"{f}.csv") for f in ("metrics", "episodes")]
        except UserError:
            continue
        metrics, episodes = (
            {k: v[c["step"] > (1 - LAST) * steps] for k, v in c.items()} for c in rows
        )
        found[name] = {
            "steps": steps,
            "explained_variance": float(np.nanmean(metrics["explained_variance"])),
            "entropy": float(np.nanmean(metrics["entropy"])),
            "last_return": float(episodes["r"].mean()),
            "mean_return": float(rows[1]["r"].mean()),
        }
    return found


def pretrained_table(found: Mapping[str, dict[str, float]]) -> str:
    """As Markdown."""
    lines = [
        "| pretraining | steps | explained variance, last tenth | entropy, last tenth "
        "| mean return, last tenth | mean return |",
        "|---|" + "---:|" * 5,
    ]
    for name, one in found.items():
        lines.append(
            f"| {name} | {one['steps']:,} | {one['explained_variance']:.2f} "
            f"| {one['entropy']:.2f} | {one['last_return']:,.0f} | {one['mean_return']:,.0f} |"
        )
    return "\n".join(lines)


def draw(config: LearningConfig, names: list[str]) -> None:
    """Learning curves of the pretraining."""
    runs: dict[str, list[Path]] = {name: [config.out / name] for name in names}
    titles = {"r": "Return on the training levels", "explained_variance": "Explained variance"}
    for (column, title), window in zip(titles.items(), (500, 50), strict=True):
        out = config.out / ("curves.png" if column == "r" else f"{column}.png")
        plot_curves(runs, out, column=column, window=window, title=title)


def report(config: LearningConfig) -> str:
    """Write curves, tables and result.json; return the tables as Markdown."""
    here, before = pretrained(config), {}
    if config.earlier is not None:
        before = read_result(config.earlier, lambda result: dict(result["pretraining"]))
    settings = to_dict(dataclasses.replace(config, out=Path(config.out.name)))
    texts, result = [], {"config": settings, "pretraining": here | before}
    if here | before:
        texts.append(pretrained_table(here | before))
    if here:
        draw(config, list(here))
    for part in COMPARED:
        text, values = part_report(config, part)
        if text:
            texts.append(text)
            result[part] = values
    text = "\n\n".join(texts) if texts else "nothing is complete yet"
    config.out.mkdir(parents=True, exist_ok=True)
    store(config.out / "result.json", result)
    (config.out / "result.md").write_text(text + "\n")
    if config.write:
        write_result("ppo2_learning", result)
    return text
