"""Charts of stored results, as SVG. None of them computes a number that a stored table lacks."""

import io
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import matplotlib

from retro_agents.games.families import level_names
from retro_agents.games.retro.bramble import reference_returns
from retro_agents.ground import statistics
from retro_agents.ground.results import ROOT, read_result

matplotlib.use("Agg")
from matplotlib import pyplot as plt

STORED = ROOT / "lab/studies/results"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "site",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#5b6b8c",
}
BLUE, ORANGE, GREY = "#3567b5", "#d98324", "#9aa7bf"


def parts() -> dict[str, Callable[[], str]]:
    return {
        "scores.svg": scores,
        "jerk.svg": partial(drawn, jerk, (7.5, 4)),
        "ppo2.svg": ppo2,
        "rainbow.svg": partial(drawn, rainbow, (7.5, 5)),
        "es.svg": partial(drawn, es, (7.5, 3.5)),
        "sight.svg": partial(drawn, sight, (7.5, 3.8)),
        "procgen.svg": partial(drawn, procgen, (7.5, 3.5)),
    }


def stored(name: str) -> dict[str, Any]:
    kinds: dict[str, Any] = read_result(STORED / f"{name}.json")["kinds"]
    return kinds


def mean_and_error(runs: Mapping[str, Mapping[str, float]]) -> tuple[float, float]:
    """The mean of the seeds' means, and half of its 95 % interval; 0 with one seed."""
    means = statistics.seed_means(runs)
    low, high = statistics.t_interval(means) if len(means) > 1 else (0.0, 0.0)
    return fmean(means), (high - low) / 2


def reference(agent: str) -> float:
    """A reference player's mean return on the held-out levels."""
    return fmean(reference_returns()[level, agent] for level in level_names("bramble-test"))


def drawn(draw: Callable[[Any], None], size: tuple[float, float]) -> str:
    """An SVG file's text of what `draw` draws into axes."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(figsize=size, layout="constrained")
        draw(axes)
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
        plt.close(figure)
    return out.getvalue()


def bars(rows: Sequence[tuple[str, float, float, str]], label: str) -> str:
    """Horizontal bars of (name, value, half interval, colour), the first on top."""

    def draw(axes: Any) -> None:
        names, values, errors, colours = zip(*reversed(rows), strict=True)
        axes.barh(names, values, xerr=errors, color=colours, height=0.7, ecolor="#333")
        for i, (value, error) in enumerate(zip(values, errors, strict=True)):
            axes.text(value + error, i, f"  {value:,.0f}", va="center")
        axes.set_xlabel(label)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.margins(x=0.12)

    return drawn(draw, (7.5, 0.42 * len(rows) + 0.9))


def scores() -> str:
    """Home: what plays the held-out levels how well."""
    jerk, sight = stored("jerk-search"), stored("sight")
    shown = [
        ("random play", reference("random"), 0.0, GREY),
        ("run and jump", reference("run-and-jump"), 0.0, GREY),
        ("Rainbow, frozen", *mean_and_error(sight["rainbow-best"]["runs"]), BLUE),
        ("PPO2, frozen", *mean_and_error(sight["ppo2-draws"]["runs"]), BLUE),
    ]
    for kind, name in (("baseline", "JERK as published"), ("hybrid", "JERK hybrid")):
        runs = jerk[f"200k/{kind}"]["runs"]
        shown.append((f"{name}, 200,000 steps", *mean_and_error(runs), ORANGE))
    learned = stored("ppo2")["adapt-200k/imitation"]["runs"]
    shown.append(("PPO2, 200,000 steps", *mean_and_error(learned), BLUE))
    shown.append(("robust oracle", reference("robust-oracle"), 0.0, GREY))
    return bars(shown, "mean return on the 11 held-out levels; most: 10,000")


def jerk(axes: Any) -> None:
    kinds = stored("jerk-search")
    budgets = {"50k": 50_000, "200k": 200_000, "1M": 1_000_000}
    for preset in ("hybrid", "recovering", "mutating", "baseline"):
        points = [mean_and_error(kinds[f"{at}/{preset}"]["runs"]) for at in budgets]
        means, errors = zip(*points, strict=True)
        axes.errorbar(budgets.values(), means, errors, marker="o", capsize=3, label=preset)
    axes.set_xscale("log")
    axes.set_xticks([*budgets.values()], [f"{n:,}" for n in budgets.values()])
    axes.minorticks_off()
    axes.set_xlabel("agent steps on a level")
    axes.set_ylabel("mean return")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="lower right")


def ppo2() -> str:
    kinds = stored("ppo2")
    names = {"adapt": "50,000 steps", "adapt-200k": "200,000 steps"}
    starts = (
        ("imitation", "pretrained, self-imitation", BLUE),
        ("shipped", "pretrained", ORANGE),
        ("shipped-scratch", "random weights", GREY),
    )
    rows = [
        (f"{start}, {steps}", *mean_and_error(kinds[f"{study}/{kind}"]["runs"]), colour)
        for study, steps in names.items()
        for kind, start, colour in starts
    ]
    return bars(rows, "mean return of all episodes on the 11 held-out levels")


def rainbow(axes: Any) -> None:
    kinds = stored("transfer")
    levels = [*kinds["held-out/scratch"]["runs"]]
    for shift, kind, colour, label in (
        (-0.2, "held-out/scratch", GREY, "random weights"),
        (0.2, "held-out/pretrained", BLUE, "pretrained"),
    ):
        values = [fmean(kinds[kind]["runs"][level].values()) for level in levels]
        places = [i + shift for i in range(len(levels))]
        axes.barh(places, values, 0.38, color=colour, label=label)
    axes.set_yticks(range(len(levels)), levels)
    axes.invert_yaxis()
    axes.set_xlabel("mean return of all episodes in 50,000 steps")
    axes.legend(frameon=False)


def es(axes: Any) -> None:
    for seed, curve in enumerate(stored("es")["search"]["curve"]):
        axes.plot(curve["step"], curve["return"], marker=".", label=f"seed {seed}")
    axes.set_xlabel("agent steps")
    axes.set_ylabel("mean return of a generation")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)


def sight(axes: Any) -> None:
    kinds = stored("sight")
    names = {"ppo2-draws": "PPO2, sampled", "ppo2-best": "PPO2, greedy"}
    names |= {"rainbow-draws": "Rainbow, exploring", "rainbow-best": "Rainbow, greedy"}
    ways = (("own frames", BLUE), ("frames from other moments", ORANGE), ("blind", GREY))
    for shift, (way, colour) in zip((-0.27, 0, 0.27), ways, strict=True):
        runs = [kinds[kind]["runs" if way == "own frames" else "sight"] for kind in names]
        key = {"frames from other moments": "shuffled", "blind": "blind"}.get(way)
        values = [mean_and_error(run[key] if key else run)[0] for run in runs]
        axes.bar([i + shift for i in range(4)], values, 0.25, color=colour, label=way)
    axes.set_xticks(range(4), names.values())
    axes.set_ylabel("mean return")
    axes.legend(frameon=False)


def procgen(axes: Any) -> None:
    rows = read_result(STORED / "entry/agents.json")["rows"]
    games = ("coinrun", "bigfish", "plunder")
    for i, agent in enumerate(("PPO2", "IMPALA", "Ape-X", "SAC", "random play")):
        own = {row["game"]: row["frozen"] for row in rows if row["label"] == agent}
        values = [own.get(game, 0.0) for game in games]
        colour = GREY if agent == "random play" else None
        places = [x + 0.16 * (i - 2) for x in range(3)]
        axes.bar(places, values, 0.15, label=agent, color=colour)
    axes.set_xticks(range(3), games)
    axes.set_ylabel("mean return")
    axes.legend(frameon=False)
