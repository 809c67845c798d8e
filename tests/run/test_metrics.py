import math
import sys
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from retro_agents.ground.errors import UserError
from retro_agents.run.metrics import EpisodeLog, Metrics, read_columns
from retro_agents.run.tracking import PROJECT
from tests.runs import files_up_to

EPISODE = {"r": 812.25, "l": 300, "level": "Bramble:A.Act1", "progress": 0.5, "finished": False}


def test_rows_are_on_disk_at_once_and_read_back_exactly(tmp_path):
    with Metrics(tmp_path, resume_step=2) as metrics:  # without a file
        metrics.log(4, {"loss": 0.1, "count": 3})
        metrics.log(8, {"loss": np.float32(1 / 3), "count": np.int64(2**60)})
        assert (tmp_path / "metrics.csv").read_text() == (
            f"step,loss,count\n4,0.1,3\n8,{float(np.float32(1 / 3))!r},{2**60}\n"
        )
    assert read_columns(tmp_path / "metrics.csv")["loss"][0] == 0.1


def test_a_row_that_cannot_be_written_is_a_user_error(tmp_path):
    with Metrics(tmp_path) as metrics:
        metrics.log(1, {"a": 1})
        with files_up_to(len("step,a\n1,1\n")):
            with pytest.raises(UserError, match=r"cannot write .*metrics\.csv: File too large"):
                metrics.log(2, {"a": 2})
            metrics.close()
    assert (tmp_path / "metrics.csv").read_text() == "step,a\n1,1\n"


def test_columns_may_appear_and_be_missing_later(tmp_path):
    with Metrics(tmp_path) as metrics:
        metrics.log(1, {"a": 1})
        metrics.log(2, {"b": 2.5})
        metrics.log(3, {"a": math.inf, "b": math.nan})
    columns = read_columns(tmp_path / "metrics.csv")
    assert list(columns) == ["step", "a", "b"]
    assert np.array_equal(columns["a"], [1, np.nan, np.inf], equal_nan=True)
    assert np.array_equal(columns["b"], [np.nan, 2.5, np.nan], equal_nan=True)


def test_a_resumed_run_writes_the_file_of_an_uninterrupted_one(tmp_path):
    """Though rows came after its checkpoint, the last of them cut off."""
    values = {step: {"loss": step / 7} | ({"late": step} if step > 5 else {}) for step in range(9)}
    for name in ("whole", "broken"):
        (tmp_path / name).mkdir()
        with Metrics(tmp_path / name) as metrics:
            for step in range(9):
                metrics.log(step, values[step])
    with (tmp_path / "broken" / "metrics.csv").open("a") as table:
        table.write("2,")
    with Metrics(tmp_path / "broken", resume_step=3) as metrics:
        for step in range(4, 9):
            metrics.log(step, values[step])
    files = [(tmp_path / name / "metrics.csv").read_text() for name in ("whole", "broken")]
    assert files[0] == files[1]


def test_a_damaged_table_is_a_user_error(tmp_path):
    for text in (b"a,b\n1,2\n", b"step,a\n1\n", b"\nstep\n1\n", b"step,a\nx,1\n", b"\xff,a\n1,2\n"):
        (tmp_path / "metrics.csv").write_bytes(text)
        with pytest.raises(UserError, match="is damaged"):
            Metrics(tmp_path, resume_step=1)


def test_tensorboard_gets_the_same_numbers_and_forgets_what_was_dropped(tmp_path):
    with Metrics(tmp_path) as metrics:
        for step in (1, 2, 3):
            metrics.log(step, {"loss": step / 2})
    with Metrics(tmp_path, resume_step=2) as metrics:
        metrics.log(4, {"loss": 9.0})
    events = EventAccumulator(str(tmp_path), purge_orphaned_data=True)
    events.Reload()
    found = [(e.step, e.value) for e in events.Scalars("train/loss")]
    assert found == [(1, 0.5), (2, 1.0), (4, 9.0)]


def test_wandb_keeps_to_the_runs_folder_and_is_resumed(tmp_path, monkeypatch):
    sink = Mock()
    monkeypatch.setitem(sys.modules, "wandb", sink)
    options = "project=mine entity=us group=g tags=a,b mode=offline"
    for resume_step in (None, 3):
        given = {"track": "wandb", "track_with": options, "config": {"seed": 3}}
        Metrics(tmp_path, resume_step=resume_step, **given).close()
    said = [call.kwargs for call in sink.init.call_args_list]
    assert [one.pop("resume") for one in said] == ["never", "allow"]
    assert said[0] == said[1] and said[0]["dir"] == str(tmp_path) and len(said[0]["id"]) == 16
    told = {"project": "mine", "entity": "us", "group": "g", "tags": ["a", "b"], "mode": "offline"}
    assert {**told, "name": tmp_path.name, "config": {"seed": 3}}.items() <= said[0].items()
    (tmp_path / "other").mkdir()
    Metrics(tmp_path / "other", track="wandb").close()
    assert sink.init.call_args.kwargs["id"] != said[0]["id"]


@pytest.mark.parametrize("failing", ["log", "finish"])
def test_a_tracker_that_fails_later_is_one_warning(tmp_path, monkeypatch, capsys, failing):
    mine = Mock()
    getattr(mine.begin.return_value, failing).side_effect = ConnectionError("no\nnetwork")
    monkeypatch.setitem(sys.modules, "mine", mine)
    with Metrics(tmp_path, track="mine:begin") as metrics:
        metrics.log(1, {"loss": 0.5})
        metrics.log(2, {"loss": 0.25})
    assert capsys.readouterr().err.count("warning: --track failed (no network)") == 1
    assert list(read_columns(tmp_path / "metrics.csv")["loss"]) == [0.5, 0.25]


def test_numbers_are_in_groups_beside_the_config_and_in_other_sinks(tmp_path, monkeypatch):
    sink = Mock()
    monkeypatch.setitem(sys.modules, "trackio", sink)
    config = {"run": {"seed": 3}}
    returns = {"mean_return": 7.0, "min_return": 2.25, "max_return": 9.0}
    with (
        EpisodeLog(tmp_path) as log,
        Metrics(tmp_path, track="trackio", config=config, rollout=log.rollout) as metrics,
    ):
        metrics.log(4, {"loss": 0.5, **returns})
        log.log(5, 0, EPISODE)
        log.log(6, 0, EPISODE | {"r": 2.25, "level": "Bramble:A.Act2", "finished": True})
        log.log(6, 1, EPISODE | {"r": 4.0, "level": "Bramble:B.Act1", "progress": 0.75})
        log.log(7, 0, EPISODE | {"r": 4.0, "level": "Bramble:B.Act1", "finished": True})
        metrics.log(8, {"loss": 0.25, "sight/blind": 3.0})
    assert [name for name, *_ in sink.mock_calls] == ["init", "log", "log", "finish"]
    assert [call.kwargs["step"] for call in sink.log.call_args_list] == [4, 8]
    given = sink.init.call_args.kwargs
    assert given.pop("name").startswith(f"{tmp_path.name}-")
    assert given == {"project": PROJECT, "config": config, "resume": "never"}
    (last,) = sink.log.call_args.args
    assert last.pop("time/steps_per_second") > 0
    assert last == {
        "train/loss": 0.25,
        "sight/blind": 3.0,
        "rollout/return/A": (812.25 + 2.25) / 2,
        "rollout/return/B": 4.0,
        "rollout/finished": 0.5,
        "rollout/length": 300,
        "rollout/furthest": 0.75,
    }
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    assert {*(f"rollout/{name}" for name in returns), *last} <= set(events.Tags()["scalars"])
    (text,) = events.Tensors("config/text_summary")
    assert b"seed: 3" in text.tensor_proto.string_val[0]
    assert (tmp_path / "metrics.csv").read_text().splitlines()[0] == (
        "step,loss,mean_return,min_return,max_return,sight/blind"
    )


def test_the_speed_is_that_of_the_steps_since_the_row_before(tmp_path, monkeypatch):
    mine, clock = Mock(), iter([0.0, 0.0, 10.0, 20.0])
    monkeypatch.setitem(sys.modules, "mine", mine)
    monkeypatch.setattr("retro_agents.run.metrics.time", SimpleNamespace(monotonic=clock.__next__))
    with Metrics(tmp_path, track="mine:begin", resume_step=100) as metrics:
        metrics.log(110, {"loss": 1.0})
        metrics.log(150, {"loss": 1.0})
    rows = [call.args[0] for call in mine.begin.return_value.log.call_args_list]
    assert [row["time/steps_per_second"] for row in rows] == [1.0, 4.0]
    assert read_columns(tmp_path / "timing.csv")["seconds"].tolist() == [10.0, 20.0]


def test_a_resumed_run_knows_its_last_hundred_episodes(tmp_path):
    with EpisodeLog(tmp_path) as log:
        for step in range(150):
            log.log(step, 0, EPISODE | {"r": float(step)})
        whole = log.rollout()
    with EpisodeLog(tmp_path, resume_step=149) as log:
        assert log.rollout() == whole and whole["rollout/return/A"] == 99.5


def test_levels_that_are_seeds_count_as_their_game(tmp_path):
    with pytest.raises(UserError, match="cannot read"):
        read_columns(tmp_path / "episodes.csv")
    with EpisodeLog(tmp_path) as log:
        with pytest.raises(UserError, match="no rows yet"):
            read_columns(tmp_path / "episodes.csv")
        for seed, r in ((17, 2.0), (1234567, 6.0)):
            log.log(seed, 0, EPISODE | {"r": r, "level": f"bigfish:{seed}"})
        found = log.rollout()
    assert [name for name in found if "return" in name] == ["rollout/return/bigfish"]
    assert found["rollout/return/bigfish"] == 4.0


def test_episodes_have_fixed_columns_and_resume(tmp_path):
    with EpisodeLog(tmp_path) as log:
        log.log(100, 0, EPISODE)
        log.log(200, 1, EPISODE | {"finished": True, "extra": 1})
    with EpisodeLog(tmp_path, resume_step=150) as log:
        log.log(160, 2, EPISODE | {"progress": np.float64(1.0), "finished": np.True_})
    assert (tmp_path / "episodes.csv").read_text() == (
        "step,env,level,r,l,progress,finished\n"
        "100,0,Bramble:A.Act1,812.25,300,0.5,0\n"
        "160,2,Bramble:A.Act1,812.25,300,1.0,1\n"
    )
    with EpisodeLog(tmp_path, resume_step=160) as log:
        log.log(170, 0, {"r": 1.0, "l": 3, "level": "corridor", "finished": False})
    assert (tmp_path / "episodes.csv").read_text().endswith("\n170,0,corridor,1.0,3,,0\n")
    columns = read_columns(tmp_path / "episodes.csv")
    assert list(columns["level"]) == ["Bramble:A.Act1"] * 2 + ["corridor"]
