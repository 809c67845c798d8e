"""Is pretraining worth it? Pretrains Rainbow, then plays every held-out level with and without.

python -m benchmarks.transfer --out runs/transfer --jobs 2 --write

Every part is a run of `python -m rainbow.train` in a folder of its own: what is complete is kept,
what was interrupted is resumed, so the same command goes on wherever it was stopped.
"""

import dataclasses
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from benchmarks.machine import store, write_result
from benchmarks.runs import Run, Task, complete, kept_score, row, run_scores, train, work
from contest.match.references import reference
from contest.match.score import Score, markdown_table, play, score
from experiment.config import load_config, to_dict
from experiment.errors import command
from experiment.files import make_folder
from experiment.plot import plot_curves
from experiment.ranges import Count, Natural, Share
from retro_env import EnvConfig, Level, make_vec, parse_levels

REFERENCES = ("random", "hold-right", "run-and-jump")
KINDS = ("pretrained", "scratch")


@dataclasses.dataclass(frozen=True)
class TransferConfig:
    """Compare Rainbow from scratch with Rainbow pretrained, on levels neither has seen."""

    out: Path = Path("runs/transfer")
    """Folder for all runs, the curves and the table."""
    preset: str = "laptop"
    """Preset of Rainbow, for every part."""
    train_levels: str = "bramble-train"
    """Levels of the pretraining."""
    test_levels: str = "bramble-test"
    """Levels played afterwards."""
    pretrain_steps: Count = 500_000
    """Agent steps of pretraining."""
    play_steps: Count = 100_000
    """Agent steps on each held-out level."""
    reference_steps: Count = 20_000
    """Agent steps of each player that learns nothing."""
    seeds: Count = 3
    """Runs per held-out level and kind; the pretraining is one run."""
    init_replay: Natural = 10_000
    """Transitions of the pretraining that a pretrained run's replay starts with."""
    init_shrink: Share = 0.5
    """Share of the pretrained weights in what a pretrained run starts from."""
    replay_size: Count = 100_000
    """Transitions remembered on a held-out level. New ones replace the oldest: the seed is gone
    when as many steps are played."""
    num_envs: Count = 4
    """Emulators of each run on a held-out level."""
    jobs: Count = 2
    """Runs at a time."""
    write: bool = False
    """Also write benchmarks/results/transfer.json."""


def pretraining(config: TransferConfig) -> Run:
    """The pretraining run."""
    flags = ["--preset", config.preset, "--levels", config.train_levels]
    folder = config.out / "pretraining"
    return Run("rainbow.train", folder, config.pretrain_steps, flags, out=config.out)


def run_of(config: TransferConfig, level: Level, kind: str, seed: int) -> Run:
    """One run on a held-out level, from scratch or from the pretraining."""
    flags = ["--preset", config.preset, "--levels", str(level), "--rotate-every", "0"]
    flags += ["--num-envs", str(config.num_envs), "--seed", str(seed)]
    flags += ["--replay-size", str(config.replay_size)]
    if kind == "pretrained":
        flags += ["--init", str(pretraining(config).folder)]
        flags += ["--init-replay", str(config.init_replay)]
        flags += ["--init-shrink", str(config.init_shrink)]
    folder = config.out / level.state / f"{kind}-{seed}"
    return Run("rainbow.train", folder, config.play_steps, flags, out=config.out)


def refer(config: TransferConfig, level: Level, name: str) -> Score:
    """A player that learns nothing, on one level; kept in a file, since it never changes."""

    def played() -> Score:
        envs = make_vec([level], num_envs=1, config=EnvConfig(backtracking=False))
        try:
            return score(name, play(reference(name), envs, config.reference_steps, seed=0))
        finally:
            envs.close()

    arguments = [name, str(level), "--steps", str(config.reference_steps)]
    return kept_score(config.out / level.state / f"{name}.json", played, arguments)


def collect(config: TransferConfig, levels: Sequence[Level]) -> dict[str, dict[str, list[Score]]]:
    """Scores by player and level, as far as the runs are complete."""
    found: dict[str, dict[str, list[Score]]] = {}
    for name in REFERENCES:
        found[name] = {level.state: [refer(config, level, name)] for level in levels}
    for kind in KINDS:
        found[kind] = {}
        for level in levels:
            runs = [run_of(config, level, kind, seed) for seed in range(config.seeds)]
            found[kind][level.state] = run_scores(runs)
    return found


def report(config: TransferConfig, levels: Sequence[Level]) -> str:
    """Write curves, table and result.json; return the table as Markdown."""
    found = collect(config, levels)
    overall = [
        row(name, [one for scores in by_level.values() for one in scores])
        for name, by_level in found.items()
        if any(by_level.values())
    ]
    text = [markdown_table(overall)]
    for level in levels:
        rows = [row(n, by[level.state]) for n, by in found.items() if by[level.state]]
        text += [f"\n{level.state}\n", markdown_table(rows)]
        runs = {
            kind: [run_of(config, level, kind, seed) for seed in range(config.seeds)]
            for kind in KINDS
        }
        done = {kind: [r.folder for r in of_kind if complete(r)] for kind, of_kind in runs.items()}
        lines = {name: found[name][level.state][0].mean for name in ("random", "hold-right")}
        plot_curves(
            {kind: folders for kind, folders in done.items() if folders},
            config.out / f"{level.state}.png",
            title=f"Return on {level.state}, never seen in pretraining",
            levels=lines,
        )
    result = {
        "rows": [dataclasses.asdict(one) for one in overall],
        "runs": {
            name: {state: [s.mean for s in scores] for state, scores in by_level.items()}
            for name, by_level in found.items()
        },
    }
    store(config.out / "result.json", result)
    (config.out / "result.md").write_text("\n".join(text) + "\n")
    if config.write:
        write_result("transfer", {"config": to_dict(config), **result})
    return "\n".join(text)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Do what is not done yet, then report."""
    words = sys.argv[1:] if argv is None else argv
    name = "python -m benchmarks.transfer"
    config = load_config(TransferConfig, words, presets=None, command=name)
    make_folder(config.out)
    levels = parse_levels(config.test_levels)
    console = Console()
    console.print(f"{config.jobs} runs at a time; their logs are in {config.out}")
    tasks = [Task("pretraining", partial(train, pretraining(config)))]
    for seed in range(config.seeds):
        for level in levels:
            for kind in ("scratch", "pretrained"):
                do = partial(train, run_of(config, level, kind, seed))
                needs = ("pretraining",) if kind == "pretrained" else ()
                tasks.append(Task(f"{level.state} {kind} seed {seed}", do, needs))
    work(tasks, config.jobs, say=console.print)
    print(report(config, levels))


if __name__ == "__main__":
    main()
