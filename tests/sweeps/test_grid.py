"""A grid's points, runs, table and plot; killed and gone on with; as jobs of a cluster."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import matplotlib.image
import pytest

from retro_agents.ground.errors import UserError
from retro_agents.ground.results import read_result, store
from retro_agents.run.config import flat, to_dict
from retro_agents.sweeps.__main__ import asked, main, player
from retro_agents.sweeps.config import PLANS, SweepConfig, read_plan
from retro_agents.sweeps.grid import (
    Scores,
    agent_config,
    described,
    markdown,
    points,
    row_spreads,
    study_of,
    words_of,
)
from tests.runs import ROOT
from tests.sweeps.studies import calls


def sweep(out, *more):
    return ["--agent", "toy", "--grid", "gamma=0.1,0.9", "--out", str(out), *more]


def test_a_grid_is_all_combinations():
    assert points(["gamma=0.1,0.9", "--widths=16,32;8"]) == [
        {"gamma": "0.1", "widths": "16,32"},
        {"gamma": "0.1", "widths": "8"},
        {"gamma": "0.9", "widths": "16,32"},
        {"gamma": "0.9", "widths": "8"},
    ]


@pytest.mark.parametrize(
    ("word", "says"),
    [
        *((word, "--grid") for word in ("gamma", "=1", "gamma=1,1", "gamma=1,,2", "x=a/b")),
        ("widths=16,32,32", "separate values that contain commas by ;"),
    ],
)
def test_what_is_no_grid_is_refused(word, says):
    with pytest.raises(UserError, match=says):
        points([word])


def test_switches_become_flags_and_an_unknown_field_is_named():
    fields = {"pool": False, "gamma": 0.5}
    assert words_of({"pool": "true", "gamma": "1"}, fields) == ["--pool", "--gamma=1"]
    assert words_of({"pool": "False"}, fields) == ["--no-pool"]
    of_levels = {"levels": "bramble-train", "num_envs": 8}
    for known, field, says in (
        (fields, "gama", "did you mean 'gamma'"),
        (of_levels, "num_levels", r"bramble-train has no field 'num_levels'.*procgen:"),
        (of_levels, "num_env", "did you mean 'num_envs'"),
        (of_levels, "seed", "seed: the sweep itself sets that"),
    ):
        with pytest.raises(UserError, match=says):
            words_of({field: "1"}, known)


def test_every_run_is_made_once_and_the_table_has_them(tmp_path, capsys, refused):
    out = tmp_path / "out [b]"
    main(sweep(out, "--seeds", "2", "--preset", "long", "--flags=--hidden 4"))
    said = capsys.readouterr().out
    assert "4 runs to do, 2 at a time (toy long, 80 steps each on BrambleWood.Act1); " in said
    assert len(calls(out)) == 4 and f"logs are in {out}\n" in said
    assert all("--timesteps 80" in line and "--hidden 4" in line for line in calls(out))
    assert sorted(re.findall(r"--seed (\d)", " ".join(calls(out)))) == ["0", "0", "1", "1"]
    result = json.loads((out / "result.json").read_text())
    assert [point["point"] for point in result["points"]] == [{"gamma": "0.1"}, {"gamma": "0.9"}]
    found = result["points"][1]["found"]
    assert found["return"] == pytest.approx([9.5, 2**0.5])  # of the end alone: of seeds 9 and 10
    assert found["test_return"] == pytest.approx([3.0, 0.0])  # of the three that there are
    assert "| 0.9 | 2 | 9.5 ± 1.41 | 3 ± 0 |" in (out / "table.md").read_text()
    assert matplotlib.image.imread(out / "plot.png").shape[2] == 4
    assert len(list(out.glob("*/*/checkpoints/step-*"))) == 4  # nets to evaluate
    main(sweep(out, "--seeds", "2", "--preset", "long", "--flags=--hidden 4"))
    assert len(calls(out)) == 4 and "0 runs to do" in capsys.readouterr().out
    assert "was made with flags" in refused(main, sweep(out))


def test_another_grid_of_the_same_fields_and_settings_keeps_the_rows_of_earlier_ones(
    tmp_path, monkeypatch
):
    def rows(grid, *words):
        main(["--agent", "toy", "--grid", grid, "--out", str(tmp_path), *words])
        return [(row["point"], row["seeds"]) for row in read_result(result)["points"]]

    result = tmp_path / "result.json"
    assert rows("gamma=0.1,0.9") == [({"gamma": "0.1"}, 1), ({"gamma": "0.9"}, 1)]
    more = rows("gamma=0.9,0.2", "--seeds", "2")
    assert more == [({"gamma": "0.1"}, 1), ({"gamma": "0.9"}, 2), ({"gamma": "0.2"}, 2)]
    assert "| 0.1 | 1 |" in (tmp_path / "table.md").read_text()
    with monkeypatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr("retro_agents.sweeps.__main__.work", Mock(side_effect=KeyboardInterrupt))
        rows("gamma=0.3")
    assert len(read_result(result)["points"]) == 3
    assert len(rows("gamma=0.3", "--timesteps", "80")) == 1
    assert len(rows("hidden=4")) == 1


@pytest.mark.parametrize(
    ("grid", "says"),
    [
        ("gamma=0,1", "toy, 40 steps each on BrambleWood.Act1"),
        ("timesteps=40,1000", "toy, 40 to 1,000 steps each on BrambleWood.Act1"),
        ("levels=RustCavern.Act2,SkyIsles.Act2", "toy, 40 steps each on one of 2 sets of levels"),
    ],
)
def test_what_is_to_do_says_the_steps_and_levels_of_the_runs(grid, says):
    config = SweepConfig(agent="toy", grid=(grid,))
    assert described(config, study_of(config)[0]) == says


@pytest.mark.parametrize("kind", ["grid", "search", "pbt"])
def test_a_sweep_does_not_begin_in_the_folder_of_something_else(tmp_path, kind, refused):
    out = tmp_path / "out"
    store(out / "result.json", {})
    values = "gamma=0.1,0.9" if kind == "grid" else "gamma=0.1:0.9"
    said = refused(main, ["--agent", "toy", f"--{kind}", values, "--out", str(out)])
    assert "already holds an evaluation; give another --out" in said
    assert [path.name for path in out.iterdir()] == ["result.json"]


@pytest.mark.parametrize(
    ("metrics", "spreads"),  # of a run without a row, and of ES
    [("step,mean_return\n", {}), ("step,return\n10,0\n95,4\n98,6\n100,8\n", {"return": 4.0})],
)
def test_the_deviation_of_one_seed_is_over_its_last_rows(tmp_path, metrics, spreads):
    (tmp_path / "metrics.csv").write_text(metrics)
    assert row_spreads(tmp_path) == spreads


def test_flags_are_read_as_in_a_shell():
    config = SweepConfig(agent="toy", grid=("gamma=0.1",), flags="--init 'my runs/a' --hidden 4")
    (kind,) = study_of(config)[0].kinds.values()
    assert kind.words == ["--init", "my runs/a", "--hidden", "4", "--gamma=0.1"]
    with pytest.raises(UserError, match="--flags --init 'a: No closing quotation"):
        study_of(SweepConfig(agent="toy", grid=("gamma=0.1",), flags="--init 'a"))


def test_a_table_has_normalised_returns_and_says_of_what_its_deviations_are():
    assert markdown([]) == "Nothing is complete yet."
    found = {"return": (4.0, 2.0), "test_return": (5.0, 1.0), "test_normalised_paper": (0.25, 0.1)}
    one, three = (Scores({"a": "1"}, seeds, found) for seeds in (1, 3))
    text = markdown([three, three])
    assert "test levels ± 2 σ | test levels, normalised ± 2 σ" in text
    assert "| 1 | 3 | 4 ± 2 | 5 ± 1 | 0.25 ± 0.1 |" in text and "over seeds." in text
    assert "over seeds; for one seed, over the rows" in markdown([one, three])


@pytest.mark.parametrize(
    ("agent", "preset", "levels", "word", "says"),
    [
        ("toy", "", "", "gamma=0.5,1.5", "gamma"),
        ("toy", "", "", "gamma=0.9,0.90", "gamma=0.90 is gamma=0.9 a second time"),
        ("ppo2", "procgen-easy", "procgen:coinrun", "encoder_parts=shifted;nonsense", "nonsense"),
        ("ppo2", "procgen-easy", "", "levels=procgen:coinrun;procgen:nonsense", "nonsense"),
        ("ppo2", "procgen-easy", "procgen:coinrun", "distribution_mode=easy,extreme",
         "coinrun has no distribution mode"),
        ("ppo2", "fast", "BrambleWood.Act1", "augment=flip;rotat", "unknown --augment 'rotat'"),
        ("ppo2", "fast", "BrambleWood.Act1", "recurrent=none,lstm", "over time"),
        ("ppo2", "fast", "", f"levels={','.join(['BrambleWood.Act1'] * 15)};BrambleWood.Act2",
         "which is too long: give fewer fields, or levels as CSV files"),
    ],
)  # fmt: skip
def test_what_only_a_run_would_find_is_found_before_the_first(
    agent, preset, levels, word, says, tmp_path, refused
):
    out = tmp_path / "out"
    words = ["--agent", agent, f"--preset={preset}", f"--levels={levels}", "--grid", word]
    assert says in refused(main, [*words, "--out", str(out)])
    assert not out.exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("", "give one of --grid FIELD"),
        ("--grid gamma=1 --pbt gamma=0:1", "give one of --grid"),
        ("--pbt gamma=0:1 --engine local", "--engine ray"),
        ("--pbt gamma=0:1 --population 1", "2 runs or more"),
        ("--grid gamma=1 --flags '--hidden 32'", "write --flags='--hidden 32'"),
        ("--grid gamma=1 --flags=--seed=7", "--flags --seed=7: the sweep itself sets that"),
        ("--grid gamma=1 --flags=--gamma=0.5", "the sweep itself sets that"),
        ("--grid gamma=1 --levels a --flags=--levels=b", "the sweep itself sets that"),
        ("--grid gamma=1 --timesteps 9 --flags=--timesteps=8", "the sweep itself sets that"),
        ("--grid gamma=1 --flags=--resume", "the sweep itself sets that"),
        ("--grid gamma=1 --ray-address auto", "is for --engine ray, not local"),
        ("--grid gamma=0,1 --population 8", "--population has no effect without --pbt"),
        ("--grid gamma=0,1 --engine lsf --cell 1", "--engine local"),
        ("--pbt gamma=0:1 --ray-address auto --jobs 2", "--jobs has no effect"),
        ("--pbt gamma=0:1 --engine ray --seeds 3", "--seeds has no effect without --grid"),
        ("--plan course-level", "course-levels"),
    ],
)
def test_what_cannot_be_meant_is_one_line(flags, says, refused):
    assert says in refused(main, ["--agent", "toy", *shlex.split(flags)])


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ("search: ['gamma=0:1']\nseeds: 3", "--seeds has no effect without --grid"),
        ("grid: ['gamma=0,1']\ntrials: 9", "--trials has no effect without --search"),
        ("pbt: ['gamma=0:1']\ncell: 2", "--cell has no effect without --engine local"),
    ],
)
def test_a_plan_says_nothing_without_effect(plan, says, tmp_path, refused):
    (tmp_path / "plan.yaml").write_text(plan)
    assert says in refused(main, ["--agent", "toy", "--plan", str(tmp_path / "plan.yaml")])


def test_a_grid_runs_on_a_ray_cluster_where_a_run_that_fails_is_named(
    tmp_path, ray_address, toy, capsys
):
    out = tmp_path / "out"
    words = sweep(out, "--seeds", "2", "--engine", "ray", "--ray-address", ray_address)
    main(words)
    assert len(calls(out)) == 4 and "| 0.9 | 2 |" in (out / "table.md").read_text()
    assert "4 runs to do, 4 at a time" in capsys.readouterr().out
    main(words)
    assert len(calls(out)) == 4  # all was done
    capsys.readouterr()
    (toy / "train.py").write_text("raise SystemExit(1)")
    with pytest.raises(SystemExit) as stop:
        main(sweep(tmp_path / "other", "--engine", "ray", "--ray-address", ray_address))
    said = capsys.readouterr()
    assert stop.value.code == 2 and said.err.count("\n") == 1 and "2 of 2 failed" in said.err
    assert said.out.count("toy.train failed (it said nothing); see ") == 2


def test_a_run_that_begins_on_ray_as_the_sweep_is_stopped_is_cancelled(monkeypatch):
    cancelled, begun = [], iter(("first", "second"))
    ray = SimpleNamespace(
        remote=lambda play: SimpleNamespace(remote=lambda *_, **__: next(begun)),
        get=lambda run: None,
        cancel=cancelled.append,
    )
    monkeypatch.setattr("retro_agents.sweeps.__main__.ray_on", lambda *_, **__: nullcontext(ray))
    stopping = threading.Event()
    with player(asked(["--agent", "toy", "--grid", "gamma=1", "--engine", "ray"])) as functions:
        functions["play"](threads=1, stopping=stopping)
        stopping.set()
        functions["play"](threads=1, stopping=stopping)
    assert cancelled == ["second"]


def test_a_killed_sweep_goes_on_and_its_table_has_the_deviations_of_one_seed(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    waits = out / "waits"
    waits.write_text("")
    command = [sys.executable, "-m", "retro_agents.sweeps", *sweep(out, "--jobs", "1")]
    killed = subprocess.Popen(command, cwd=ROOT, process_group=0, stdout=subprocess.DEVNULL)
    while not waits.read_text():
        assert killed.poll() is None
        time.sleep(0.05)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    waits.unlink()
    main(sweep(out, "--jobs", "1"))
    first, second, third = calls(out)
    assert "--resume" not in first and second == "--resume" and "gamma=0.9" in third
    table = (out / "table.md").read_text()
    # Of 40 steps the last tenth: returns 4, 6, 8 and no more; evaluations 3, 3, 3.
    assert "| 0.1 | 1 | 1 ± 4 | 3 ± 0 |" in table and "| 0.9 | 1 | 9 ± 4 | 3 ± 0 |" in table
    assert "because there is one seed" in table


@pytest.mark.parametrize(
    ("engine", "resources", "lines", "index"),
    [
        (
            "slurm",
            "--time=10:00:00 --gres=gpu:1",
            ["#SBATCH --array=1-4%3", "#SBATCH --requeue", "#SBATCH --time=10:00:00 --gres=gpu:1"],
            "SLURM_ARRAY_TASK_ID",
        ),
        (
            "lsf",
            '-q gpuv100 -R "span[hosts=1]"',
            [
                *('#BSUB -J "sweep[1-4]%3"', "#BSUB -r", "#BSUB -wt 2", "#BSUB -wa TERM"),
                *("#BSUB -n 2", '#BSUB -q gpuv100 -R "span[hosts=1]"'),
            ],
            "LSB_JOBINDEX",
        ),
    ],
)
def test_a_job_script_runs_each_cell_once(
    tmp_path, capsys, refused, engine, resources, lines, index
):
    out = tmp_path / "my runs"
    words = sweep(out, "--seeds", "2", "--engine", engine, "--jobs", "3")
    main([*words, f"--resources={resources}"])
    script = capsys.readouterr().out
    assert set(lines) <= set(script.splitlines())
    assert script.count("span[") == (engine == "lsf") and "--jobs" not in script
    (line,) = [line for line in script.splitlines() if "job-%" in line]
    number = "%a" if engine == "slurm" else "%I"
    assert shlex.split(line)[-1].endswith(f"{tmp_path}/my runs/job-{number}.log")
    assert out.is_dir()  # before the jobs log there
    assert script.splitlines()[-1].split()[:2] == ["exec", sys.executable]
    command, listed = script.splitlines()[-1], (out / "todo.json").read_text()
    for number in range(1, 5):
        words = shlex.split(command.replace(f'"${index}"', str(number)))
        main(words[4:])
    assert (out / "todo.json").read_text() == listed  # jobs begin together, and write none
    assert len(calls(out)) == len(set(calls(out))) == 4
    assert subprocess.run(["bash", "-n"], input=script, text=True, check=False).returncode == 0
    assert "this grid has 4 runs" in refused(main, [*words[4:-1], "5"])


def test_a_job_of_a_plan_that_names_its_cluster_runs_its_cell(tmp_path, capsys):
    plan = tmp_path / "mine.yaml"
    plan.write_text("agent: toy\ngrid: ['gamma=0.1,0.9']\nengine: slurm\nresources: --time=1\n")
    main(["--plan", str(plan), "--out", str(tmp_path / "out")])
    command = capsys.readouterr().out.splitlines()[-1]
    main(command.replace('"$SLURM_ARRAY_TASK_ID"', "1").split()[4:])
    assert len(calls(tmp_path / "out")) == 1


def test_a_job_has_all_cores_and_a_cluster_of_ray_runs_as_many_as_asked(tmp_path, monkeypatch):
    at_once = []
    monkeypatch.setattr(
        "retro_agents.sweeps.__main__.work", lambda *_, jobs, **__: at_once.append(jobs)
    )
    monkeypatch.setattr("retro_agents.sweeps.__main__.player", lambda _: nullcontext({}))
    out = tmp_path / "out"
    ray = ("--seeds", "3", "--engine", "ray", "--ray-address", "auto")
    for words in (("--jobs", "4", "--cell", "1"), ray, (*ray, "--jobs", "2")):
        main(sweep(out, *words))
    assert at_once == [1, 6, 2]


@pytest.mark.parametrize("plan", sorted(path.stem for path in (ROOT / PLANS).glob("*.yaml")))
def test_every_plan_can_be_run(plan):
    config = asked(["--plan", plan])
    if config.grid:
        study, named = study_of(config)
        assert len(study.kinds) == len(named) > 1
    else:
        assert agent_config(config).run.timesteps == read_plan(plan)["timesteps"]
    if plan.removeprefix("entry-") in ("widths", "frames", "kl", "initialisation"):
        preset = agent_config(config)  # one point is the preset itself
        fields = flat(to_dict(preset))
        made = [agent_config(config, words_of(p, fields)) for p in named.values()]
        assert made.count(preset) == 1


def test_flags_win_over_a_plan_and_a_population_runs_on_ray_unless_told_otherwise(tmp_path):
    config = asked(["--plan", "course-beta", "--seeds", "5", "--timesteps", "1000"])
    assert (config.agent, config.seeds, config.timesteps) == ("trpo", 5, 1000)
    assert agent_config(config).run.timesteps == 1000
    plan = tmp_path / "mine.yaml"
    plan.write_text("agent: toy\npbt: ['gamma=0:1']\n")
    for words in (["--pbt", "gamma=0:1"], ["--pbt=gamma=0:1"], ["--plan", str(plan)]):
        assert asked(["--agent", "toy", *words]).engine == "ray"
    words = sweep(Path("out"), "--engine", "lsf", "--resources", "-q gpuv100")
    assert asked(words).resources == "-q gpuv100"  # words of one dash stand behind their flag
