"""Kinds add one part at a time, runs go on seed by seed, and tables compare like with like."""

import dataclasses
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks import jerk_ablation
from benchmarks.jerk_ablation import (
    HALVES,
    KINDS,
    PARTS,
    SEEDED,
    AblationConfig,
    check_policy,
    collect,
    earlier_of,
    first_half,
    folder_of,
    jerk_flags,
    levels_of,
    mean_return,
    play,
    ppo2_flags,
    runs_of,
    seed_run,
    tasks_of,
)
from benchmarks.jerk_ablation_report import interval, report, rows_of, table
from benchmarks.machine import RESULTS
from benchmarks.runs import Run, arguments_of, keep_arguments
from experiment.checkpoint import save_checkpoint
from experiment.errors import UserError
from jerk.train import parse
from ppo2.train import parse as parse_ppo2
from rainbow.train import parse as parse_rainbow

GAME = "BrambleDash-Genesis-v0"
ONE_LEVEL = f"{GAME}:RustCavern.Act2"


def write_run(folder: Path, returns: list[float], *, steps: int) -> None:
    """A complete run with those episodes."""
    counters = {"env_steps": steps}
    save_checkpoint(folder / "checkpoints", agent="jerk", config={}, counters=counters, tensors={})
    rows = [f"0,0,{GAME}:RustCavern.Act2,{value},10,0.5,0\n" for value in returns]
    (folder / "episodes.csv").write_text("step,env,level,r,l,progress,finished\n" + "".join(rows))


def test_four_acts_are_every_third_held_out_one_by_name():
    states = [level.state for level in levels_of(AblationConfig())]
    assert states == ["BrambleWood.Act3", "MirageDunes.Act1", "SkyIsles.Act2", "StormHarbor.Act1"]


def test_all_parts_together_are_the_hybrid_preset(tmp_path):
    last = list(PARTS)[-1]
    built = parse([*jerk_flags(AblationConfig(), last), "--run-dir", str(tmp_path / "a")])
    preset = parse(["--preset", "hybrid", "--run-dir", str(tmp_path / "a")])
    unlike = {
        name for name, value in dataclasses.asdict(built).items() if value != getattr(preset, name)
    }
    # The net of a policy that nobody gave, and files for others: no part of the search.
    assert unlike <= {"encoder", "hidden", "write_replay"}


def test_every_kind_has_the_flags_of_those_before_it():
    config = AblationConfig(policy=Path("some"))
    flags = [jerk_flags(config, kind) for kind in PARTS]
    for fewer, more in pairwise(flags):
        assert set(fewer) < set(more)
    assert "some" in flags[-1] and "some" not in flags[0]
    assert jerk_flags(config, HALVES) == flags[-1]


def test_seeds_come_after_one_another_and_complete_runs_are_not_repeated(tmp_path):
    levels = f"{ONE_LEVEL},{GAME}:SkyIsles.Act2"
    config = AblationConfig(
        out=tmp_path, levels=levels, seeds=2, only=("baseline", "mutating"), steps=100
    )
    write_run(folder_of(config, "mutating", levels_of(config)[0], 0), [1.0], steps=100)
    assert [task.name for task in tasks_of(config)] == [
        "RustCavern.Act2 baseline seed 0",
        "SkyIsles.Act2 baseline seed 0",
        "SkyIsles.Act2 mutating seed 0",
        *(
            f"{act} {kind} seed 1"
            for act in ("RustCavern.Act2", "SkyIsles.Act2")
            for kind in ("baseline", "mutating")
        ),
    ]


def test_rainbow_replay_searches_half_the_steps_then_learns_from_what_was_found(
    tmp_path, monkeypatch
):
    config = AblationConfig(out=tmp_path, levels=ONE_LEVEL, steps=100)
    level = levels_of(config)[0]
    calls: list[Run] = []

    def train(run, *, threads):
        calls.append(run)
        search = run.module == "jerk.train"
        write_run(run.folder, [100.0] if search else [200.0, 300.0], steps=run.steps)

    monkeypatch.setattr(jerk_ablation, "train", train)
    play(config, HALVES, level, 0)
    run = folder_of(config, HALVES, level, 0)
    assert [(call.module, call.folder, call.steps) for call in calls] == [
        ("jerk.train", first_half(run), 50),
        ("rainbow.train", run, 50),
    ]
    assert "--write-replay" in calls[0].flags
    flags = calls[1].flags
    assert flags[flags.index("--init") + 1] == str(first_half(run) / "replay")
    assert mean_return(run) == 200.0  # of the episodes of both halves
    assert list(tasks_of(dataclasses.replace(config, only=(HALVES,), seeds=1))) == []


def test_seeded_rainbow_waits_for_what_the_pretrained_one_plays_once(tmp_path):
    config = AblationConfig(out=tmp_path, policy=Path("one"), levels=ONE_LEVEL, seeds=1, steps=100)
    config = dataclasses.replace(config, only=("rainbow", SEEDED))
    level = levels_of(config)[0]
    needs = {task.name: task.needs for task in tasks_of(config)}
    run = f"{level.state} {SEEDED} seed 0"
    assert needs == {"seed": (), f"{level.state} rainbow seed 0": (), run: ("seed",)}
    seed = seed_run(config)
    first, then = (
        parse_rainbow([*made.flags, "--run-dir", str(tmp_path / "r")])
        for made in (seed, *runs_of(config, SEEDED, level, 0))
    )
    assert (first.init, first.init_shrink, first.levels) == ("one", 1.0, "bramble-train")
    assert first.learning_starts > seed.steps == then.init_replay <= first.replay_size
    assert (then.init, then.levels) == (str(seed.folder), str(level))
    write_run(seed.folder, [1.0], steps=seed.steps)
    keep_arguments(seed.folder, arguments_of(seed))
    assert {task.name: task.needs for task in tasks_of(config)}[run] == ()
    write_run(folder_of(config, SEEDED, level, 0), [5.0], steps=100)
    assert collect(dataclasses.replace(config, only=(SEEDED,)))[SEEDED] == {(level.state, 0): 5.0}
    with pytest.raises(UserError, match=r"seed was made with .*--init one "):
        collect(dataclasses.replace(config, only=(SEEDED,), policy=Path("other")))


def test_runs_of_another_policy_are_not_taken_for_those_of_this_one(tmp_path):
    config = AblationConfig(out=tmp_path, levels=ONE_LEVEL, steps=100, policy=Path("one"))
    config = dataclasses.replace(config, only=("mutating", "rainbow"), seeds=1)
    level = levels_of(config)[0]
    for kind in config.only:
        (run,) = runs_of(config, kind, level, 0)
        write_run(run.folder, [1.0], steps=100)
        keep_arguments(run.folder, arguments_of(run))
    assert list(tasks_of(config)) == []
    other = dataclasses.replace(config, policy=Path("other"))
    for use in (lambda: list(tasks_of(other)), lambda: collect(other)):
        with pytest.raises(UserError, match=r"rainbow-0 was made with .*--init one "):
            use()
    assert "mutating" in collect(dataclasses.replace(other, only=("mutating",)))


def test_rows_compare_only_what_all_kinds_have_and_levels_count_alike():
    found = {
        "baseline": {("a", 0): 10.0, ("a", 1): 20.0, ("b", 0): 40.0, ("b", 1): 99.0},
        "mutating": {("a", 0): 30.0, ("a", 1): 60.0, ("b", 0): 50.0},
    }
    baseline, mutating = rows_of(found)
    assert (baseline.mean, baseline.levels, baseline.runs) == (27.5, {"a": 15.0, "b": 40.0}, 3)
    assert baseline.gain is None
    assert mutating.gain == 20.0  # (20 + 40) / 2 on a, 10 on b
    assert "| mutating | 48 |" in table([baseline, mutating])
    found["rainbow"] = {("a", 0): 11.0}
    assert [row.gain for row in rows_of(found)] == [None, 20.0, 1.0]  # beside the baseline


def test_interval_is_over_seeds_not_over_levels():
    values = {(level, seed): 100.0 * (level == "b") for level in "ab" for seed in range(3)}
    assert interval(values) == [50.0, 50.0]
    low, high = interval({**values, ("a", 0): 6.0})
    assert 50.0 == low < 51.0 < high <= 53.0
    assert np.isnan(interval({("a", 0): 1.0})).all()


def test_interval_that_is_not_known_is_null(tmp_path):
    config = AblationConfig(out=tmp_path, levels=ONE_LEVEL, seeds=1, steps=100)
    config = dataclasses.replace(config, only=("baseline",))
    write_run(folder_of(config, "baseline", levels_of(config)[0], 0), [10.0], steps=100)
    assert "| baseline | 10 |  |" in report(config)
    text = (tmp_path / "result.json").read_text()
    assert "NaN" not in text and json.loads(text)["rows"][0]["interval"] == [None, None]


def test_nothing_complete_is_said(tmp_path):
    assert "complete for all kinds" in report(AblationConfig(out=tmp_path, levels=ONE_LEVEL))


def test_unknown_kind_is_refused():
    with pytest.raises(UserError, match="unknown kind 'hybrid'"):
        AblationConfig(only=("hybrid",))
    assert set(PARTS) < set(KINDS)


def test_kinds_that_a_policy_plays_in_need_one(tmp_path):
    for kind in KINDS:
        config = AblationConfig(out=tmp_path, only=(kind,))
        runs = runs_of(config, kind, levels_of(config)[0], 0)
        if kind == SEEDED or any("--policy" in run.flags for run in runs):
            with pytest.raises(UserError, match="--policy"):
                check_policy(config)
        else:
            check_policy(config)
        check_policy(dataclasses.replace(config, policy=Path("some")))


def test_ppo2_plays_in_one_emulator_from_its_own_pretraining():
    flags = ppo2_flags(AblationConfig(ppo2=Path("joint")))
    built = parse_ppo2([*flags, "--levels", ONE_LEVEL])
    assert built.num_envs == 1 and built.rollout_steps == 1024 and built.init == "joint"


def test_runs_of_an_earlier_result_count_and_are_not_made_again(tmp_path):
    out = tmp_path / "here"
    config = AblationConfig(out=out, levels=ONE_LEVEL, seeds=2, only=("baseline",), steps=100)
    level = levels_of(config)[0]
    write_run(folder_of(config, "baseline", level, 0), [10.0, 20.0], steps=100)
    report(config)
    earlier = out / "result.json"
    elsewhere = dataclasses.replace(config, out=tmp_path / "elsewhere", earlier=earlier)
    assert [task.name for task in tasks_of(elsewhere)] == ["RustCavern.Act2 baseline seed 1"]
    write_run(folder_of(elsewhere, "baseline", level, 1), [30.0], steps=100)
    assert collect(elsewhere) == {"baseline": {(level.state, 0): 15.0, (level.state, 1): 30.0}}
    write_run(folder_of(elsewhere, "baseline", level, 0), [7.0], steps=100)  # made again: it counts
    assert collect(elsewhere)["baseline"][level.state, 0] == 7.0


def test_earlier_runs_that_are_not_shown_stay_in_the_result(tmp_path):
    config = AblationConfig(out=tmp_path / "a", levels=ONE_LEVEL, seeds=2, steps=100)
    config = dataclasses.replace(config, only=("baseline", "mutating"))
    for kind in config.only:
        for seed in range(2):
            write_run(folder_of(config, kind, levels_of(config)[0], seed), [10.0], steps=100)
    report(config)
    earlier = tmp_path / "a" / "result.json"
    part = dataclasses.replace(config, out=tmp_path / "b", earlier=earlier)
    part = dataclasses.replace(part, only=("baseline",), seeds=1, levels=f"{GAME}:SkyIsles.Act2")
    write_run(folder_of(part, "baseline", levels_of(part)[0], 0), [30.0], steps=100)
    assert "| baseline | 30 |" in report(part)
    result = json.loads((tmp_path / "b" / "result.json").read_text())
    rust = {"RustCavern.Act2 0": 10.0, "RustCavern.Act2 1": 10.0}
    assert result["runs"] == {"baseline": {**rust, "SkyIsles.Act2 0": 30.0}, "mutating": rust}
    assert [row["kind"] for row in result["rows"]] == ["baseline"]


def test_earlier_runs_of_another_policy_are_refused_where_one_played_in_them(tmp_path):
    def measured(kind, **paths):
        config = AblationConfig(levels=ONE_LEVEL, steps=100, only=(kind,), seeds=1)
        config = dataclasses.replace(config, out=tmp_path / kind, **paths)
        write_run(folder_of(config, kind, levels_of(config)[0], 0), [10.0], steps=100)
        report(config)
        return dataclasses.replace(config, earlier=tmp_path / kind / "result.json")

    config = measured("rainbow", policy=Path("one"))
    assert earlier_of(config)
    with pytest.raises(UserError, match=r"other settings \(policy\)"):
        earlier_of(dataclasses.replace(config, policy=Path("other")))
    config = measured("ppo2", policy=Path("one"), ppo2=Path("runs/joint"))
    assert earlier_of(dataclasses.replace(config, policy=None, ppo2=Path("elsewhere/joint")))
    with pytest.raises(UserError, match=r"other settings \(ppo2\)"):
        earlier_of(dataclasses.replace(config, ppo2=None))
    assert earlier_of(dataclasses.replace(config, ppo2=None, only=()))  # nothing is played


def test_stored_result_goes_on_wherever_ppo2_began():
    stored = RESULTS / "jerk_ablation.json"
    config = AblationConfig(policy=Path("rainbow/pretrained"), ppo2=Path("joint"), earlier=stored)
    assert {kind for kind, cells in earlier_of(config).items() if len(cells) == 12} >= {"baseline"}


def test_an_earlier_result_of_something_else_is_refused(tmp_path):
    config = AblationConfig(out=tmp_path, levels=ONE_LEVEL, only=("baseline",), steps=100)
    report(config)
    result = tmp_path / "result.json"
    shorter = AblationConfig(out=tmp_path, levels=ONE_LEVEL, steps=50, earlier=result)
    with pytest.raises(UserError, match="other settings \\(steps\\)"):
        list(tasks_of(shorter))
    for content in ("{}", "[]", "no json", '{"config": {}, "runs": {}}'):
        result.write_text(content)
        with pytest.raises(UserError, match="no result of this benchmark"):
            list(tasks_of(dataclasses.replace(config, earlier=result)))
    with pytest.raises(UserError, match="no result of this benchmark"):
        list(tasks_of(dataclasses.replace(config, earlier=tmp_path / "none.json")))
