"""Run folders as trainings leave them, for tests of the studio.

python -m tests.studio.runs FOLDER     # makes some, for the page's tests
"""

import json
import os
import sys
import zipfile
from pathlib import Path

import numpy as np

from retro_agents.studio.games import png
from tests.contest.made_up import write_job
from tests.runs import ROOT

RECORDING = ROOT / "web" / "tests" / "recording.bk2"
RECORDED = "recordings/env-00/BrambleDash-Genesis-v0-BrambleWood.Act1-000005.bk2"
LEVELS = tuple(f"BrambleDash-Genesis-v0:BrambleWood.Act{act}" for act in (1, 2, 3, 4, 5))


def make_run(folder, *, rows=40, steps=4_000, **config):
    """A run of `rows` rows in each table up to `steps` agent steps; ended unless it has more."""
    folder.mkdir(parents=True)
    asked = {"levels": "bramble-train", "timesteps": steps, "seed": 0, **config}
    write(folder / "config.json", {"run": asked, "learning_rate": config.get("rate", 3e-4)})
    start = {"agent": "ppo2", "command": "python -m ppo2.train"}
    times = {"begun": "2026-01-31T12:00:00+00:00", "ended": "2026-01-31T13:00:00+00:00"}
    write(folder / "provenance.json", [{**start, **times}])
    at = [steps * (row + 1) // rows for row in range(rows)]
    table(folder / "metrics.csv", "step,loss,entropy", [f"{s},{1 / (1 + s)},{s % 7}" for s in at])
    table(folder / "timing.csv", "step,seconds", [f"{s},{s / 100}" for s in at])
    played = [
        f"{s},0,{LEVELS[i % 5]},{1000 + 100 * (i % 5)},90,0.5,{i % 2}" for i, s in enumerate(at)
    ]
    table(folder / "episodes.csv", "step,env,level,r,l,progress,finished", played)
    return folder


def make_contest(folder, *, name="ppo2", mean=2_000, left=1):
    """A contest of two levels and two seeds, of which `left` are not played yet."""
    folder.mkdir(parents=True)
    planned = [(level, seed) for level in LEVELS[:2] for seed in (0, 1)]
    facts = {"name": name, "mode": "adapt", "timesteps": 9, "planned": planned}
    write(folder / "contest.json", facts)
    for level, seed in planned[: len(planned) - left]:
        played = {"steps": 9, "best_return": 5_000, "limits": {"timesteps": 9}}
        job = write_job(folder, level.partition(":")[2], seed, mean + 100 * seed, **played)
        columns = "step,env,level,r,l,progress,finished,complete"
        table(job / "episodes.csv", columns, [f"{s},0,{level},{mean},3,0.5,0,1" for s in (3, 6, 9)])
    return folder


def make_sweep(folder):
    """A sweep of two kinds with two cells each, of which one is not complete."""
    for rate in (1, 2):
        for seed in (0, 1):
            run = make_run(folder / f"rate={rate}" / f"all-{seed}", seed=seed, rate=rate)
            record = {"made": {}, "levels": {"one": 1_000 * rate, "two": 1_000 + seed}}
            write(run.with_name(f"{run.name}.json"), {"made": {}} if rate + seed == 3 else record)
    (folder / "plot.png").write_bytes(png(np.full((90, 160), 200, np.uint8)))
    (folder / "table.md").write_text("| rate | return |\n|---|---|\n| 1 | 1,000 |\n\nMeans.\n")
    return folder


def make_recording(path, *, steps=150):
    """A recording of so many agent steps on TideGrotto.Act1: those of web/tests/recording.json."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(RECORDING) as whole, zipfile.ZipFile(path, "w") as part:
        for name in whole.namelist():
            lines = whole.read(name).splitlines(keepends=True)
            if name == "Input Log.txt":  # two lines of head, and the frame of the reset
                lines = [*lines[: 3 + 4 * steps], lines[-1]]
            part.writestr(name, b"".join(lines))
    return path


def make_jerk(folder):
    """A run of JERK with a sequence for the first level, and its sixth episode's recording."""
    from jerk.agent import JerkAgent
    from jerk.config import JerkConfig

    run, agent = make_run(folder, levels=LEVELS[0], record=True), JerkAgent(JerkConfig())
    agent.sequences.add(LEVELS[0], np.array([6, 1, 1], np.uint8), 9.0)
    agent.save(run / "checkpoints")
    write(run / "provenance.json", [{"agent": "jerk", "begun": "2026-01-31T12:00:00+00:00"}])
    make_recording(run / RECORDED)
    return run


def linked(path):
    """A file or folder is replaced by a link to it."""
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def piped(path):
    """A file is replaced by a pipe, on which a reader would wait."""
    path.unlink()
    os.mkfifo(path)


def write(path, content):
    path.write_text(json.dumps(content))


def table(path, header, rows):
    path.write_text("\n".join([header, *rows]) + "\n")


def main():
    root = Path(sys.argv[1])
    for seed in range(3):
        make_run(root / f"ppo2-{seed}", seed=seed, rows=200, steps=1_000_000)
    make_run(root / "faster", rate=1e-3, steps=500_000)
    make_run(root / "<img src=x onerror=document.title='harmed'>", timesteps=9_000)
    for steps in (60, 24):
        make_recording(root / "faster" / "recordings" / f"{steps}-steps.bk2", steps=steps)
    make_jerk(root / "jerk")
    make_contest(root / "contests" / "one")
    make_contest(root / "contests" / "other", name="jerk", mean=5_000, left=0)
    make_sweep(root / "sweep")
    (make_run(root / "damaged") / "config.json").write_text('{"run": ')


if __name__ == "__main__":
    main()
