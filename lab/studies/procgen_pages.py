"""Pages of docs/results on Procgen: numbers of the course and of the entry, beside ours."""

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

import numpy as np

from lab.studies.report import MARK, OUT, origin
from retro_agents.ground import statistics
from retro_agents.ground.results import ROOT, read_result
from retro_agents.judging.tables import decimal, number, table, with_interval

COURSE = """\
A course compared PPO with TRPO, Nature's convolutions with IMPALA's, and numbers of training levels
on StarPilot without backgrounds. Ours are the last checkpoints of the runs of its plans in
[sweeps](../../sweeps/README.md), with fewer steps where the table says so. *train* is on the levels
that a run learned on, *test* on all levels, and both act by draws. *penalty* is what the course
calls TRPO: a surrogate with a KL penalty of the weight shown, and an untrained critic. *TRPO* is
TRPO proper, with the bound shown on the KL divergence. Means are over seeds, with Student's t
interval over seeds in brackets; *normalised* has 0 for a policy that learned without seeing (raw
2.5; random play has 1.5) and 1 for the most there is. *Theirs* are one run each, in the course's
unit: rewards divided by a running deviation, without the last reward of an episode. *Ours in it*
are our episodes in that unit."""
COURSE_DIFFERS = """\
**Where they differ, and why.** Ours have as many steps as the table says, theirs mostly more: most
of what theirs earn beyond ours may be that. Theirs are means of the last 20 evaluations of 32
episodes while a run learned; ours are of its last weights. Their rewards are scaled by moments
brought up to date at each step, ours once per rollout; their game is the original's package, ours
EnvPool's, equal in rewards and ends. None of these was measured apart."""


KNOWN_BY = ("method", "encoder", "hidden", "num_levels")
"""What a row of the course's table is told apart by, and theirs are found by."""
GROUPED_BY = (*KNOWN_BY, "timesteps")


def published() -> dict[str, Any]:
    """The course's own numbers: where they are from, and a row of each run."""
    return read_result(ROOT / "lab" / "studies" / "course.json")


def theirs_of(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the course found for such a run: of those that are alike the one of most nearly as many
    steps."""
    rows = [r for r in published()["rows"] if all(r[name] == row[name] for name in KNOWN_BY)]
    return min(rows, key=lambda r: abs(r["timesteps"] - row["timesteps"]), default=None)


def course_page() -> str:
    """The course's numbers beside ours, method by method."""
    paths = sorted((ROOT / "lab" / "studies" / "results" / "course").glob("*.json"))
    results = [read_result(path) for path in paths]
    # A run that two sweeps have in common counts once.
    runs = {
        tuple(row[name] for name in (*GROUPED_BY, "seed")): row
        for result in results
        for row in result["rows"]
    }
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for (*known, _), row in runs.items():
        groups.setdefault(tuple(known), []).append(row)
    head = ["method", "encoder", "units", "levels", "steps", "seeds", "train", "test"]
    head += ["train − test", "train, normalised", "test, normalised"]
    head += ["ours in it: train", "ours in it: test"]
    head += ["theirs: steps", "theirs: train", "theirs: test"]
    order = sorted(groups, key=lambda known: [by_number(value) for value in known])
    body = [course_row(groups[known]) for known in order]
    parts = [
        "# The course",
        MARK.format("`lab/studies/results/course`"),
        *map(origin, results),
        COURSE,
    ]
    parts += [table(head, body), *slopes(list(runs.values()))]
    pictures = [f"course-{path.stem}.png" for path in paths]
    parts += [f"![Returns, and theirs]({name})" for name in pictures if (OUT / name).is_file()]
    parts += [COURSE_DIFFERS, f"Theirs: {published()['source']}."]
    return "\n\n".join(parts) + "\n"


ENTRY = """\
The competition's entry compared PPO, IMPALA, Ape-X and SAC, and then the parts of its own preset of
PPO. Ours have learned on all easy levels, one run a row, for fewer steps than theirs. *While it
learned* is the mean return of the episodes that ended in the last tenth of a run's steps, ± one
standard error over episodes. *Frozen* are its last weights on levels drawn anew, acting by draws as
while it learned, with Student's t interval over episodes. *Shuffled* is the mean return by the
pictures of other moments, *blind* by draws of its own action frequencies. An agent *sees* where its
own pictures earn significantly more than both. One seed does not tell what others would do. *Grid*
is PPO2 with the plain net of `procgen-easy`, on one frame (lab/plans/entry-ppo.yaml,
-short.yaml), with a learning rate that falls to 0 within these steps. With rollouts of 140 steps a
minibatch called 1,024 has 1,120 rows. *Parts* are of the first million steps of the preset with one
part off. Empty cells are unknown. The commands are those that evaluated; [the
agents](../notebook/2026-11-26-entry-agents.md), [the grid](../notebook/2026-11-26-entry-grid.md)
and [the preset](../notebook/2026-11-26-competition-2m.md) have where and how each was trained."""
ENTRY_DIFFERS = """\
**Where they differ, and why.** Theirs learned on RLlib for more steps, ours for what the table
says: most of what theirs earn beyond ours may be that. RLlib's Ape-X and SAC learned as often as
their workers left time for. Ours learn from 8 samples a step. SAC with our own values, chosen
because the entry's fail, learns from 2. None of this was measured apart."""


def entry_page() -> str:
    """What the runs of each file in lab/studies/results/entry earn, beside the entry's own
    numbers."""
    paths = sorted((ROOT / "lab" / "studies" / "results" / "entry").glob("*.json"))
    theirs = read_result(ROOT / "lab" / "studies" / "entry.json")
    parts = ["# The competition's entry", MARK.format("`lab/studies/results/entry`"), ENTRY]
    head = ["", "game", "seed", "steps", "while it learned", "frozen", "episodes", "shuffled"]
    for path in paths:
        result, beside = read_result(path), theirs.get(path.stem, theirs)
        body = [entry_row(row, beside["rows"]) for row in result["rows"]]
        text = table([*head, "blind", f"theirs after {beside['steps']:,}"], body)
        parts += [f"## {path.stem.capitalize()}", origin(result), text]
    parts += [ENTRY_DIFFERS, f"Theirs: {theirs['source']}."]
    return "\n\n".join(parts) + "\n"


def entry_row(row: Mapping[str, Any], theirs: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Of one run on one game; what it lacks is empty."""
    cells = {name: "" if row.get(name) is None else decimal(row[name], 2) for name in MEANS}
    if cells["learning_error"]:
        cells["learning"] += f" ± {cells['learning_error']}"
    if cells["frozen"]:
        cells["frozen"] += " ({} – {})".format(*(decimal(end, 2) for end in row["interval"]))
    return [
        *(row["label"], row["game"]),
        *(number(row.get(name)) for name in ("seed", "env_steps")),
        *(cells["learning"], cells["frozen"], number(row.get("episodes"))),
        *(cells["shuffled"], cells["blind"]),
        str(theirs.get(row["label"], {}).get(row["game"], "")),
    ]


MEANS = ("learning", "learning_error", "frozen", "shuffled", "blind")


def by_number(value: Any) -> tuple[str, list[float]]:
    """Sorts "penalty 2" before "penalty 10"."""
    digits, text = r"\d+(?:\.\d+)?", str(value)
    return re.sub(digits, "", text), [float(found) for found in re.findall(digits, text)]


def course_row(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of runs that differ in their seeds: what they are, what they earn, and what theirs said."""
    ends = {
        (name, unit): [float(np.mean(row[name][unit])) for row in rows]
        for name in ("train", "test")
        for unit in ("raw", "normalised", "course")
    }
    gaps = np.subtract(ends["train", "raw"], ends["test", "raw"]).tolist()
    first, theirs = rows[0], theirs_of(rows[0])
    return [
        *(first["method"], first["encoder"]),
        *(number(first[name]) for name in ("hidden", "num_levels", "timesteps")),
        str(len(rows)),
        *(with_interval(values) for values in (ends["train", "raw"], ends["test", "raw"], gaps)),
        *(decimal(fmean(ends[name, "normalised"]), 3) for name in ("train", "test")),
        *(decimal(fmean(ends[name, "course"]), 1) for name in ("train", "test")),
        number(theirs["timesteps"]) if theirs else "",
        *(str(theirs[name]) if theirs else "" for name in ("train", "test")),
    ]


def slopes(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """How train − test changes with the number of levels, for what learned on three or more."""
    lines = []
    fixed = [name for name in GROUPED_BY if name != "num_levels"]
    alike: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for run in runs:
        if run["num_levels"]:
            alike.setdefault(tuple(run[name] for name in fixed), []).append(run)
    for (method, encoder, hidden, timesteps), rows in alike.items():
        if len({row["num_levels"] for row in rows}) < 3:
            continue
        tens = np.log10([row["num_levels"] for row in rows])
        gaps = [np.mean(row["train"]["raw"]) - np.mean(row["test"]["raw"]) for row in rows]
        slope, (low, high) = statistics.slope_interval(tens, gaps)
        text = f"{decimal(slope, 2)} ({decimal(low, 2)} to {decimal(high, 2)})"
        who = f"{method}, {encoder}, {hidden} units, {timesteps:,} steps"
        what = f"train − test changes by {text} with each tenfold number of levels"
        lines.append(f"**{who}**: {what}, by the line through {len(rows)} runs, 95 % in brackets.")
    if lines:
        lines.append("A line is not the shape of the fall: see the table.")
    return lines
