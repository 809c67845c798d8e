"""Episodes, comparisons, contests and sweeps, as the page asks for them."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import drafted
from retro_agents.run.checkpoint import save_checkpoint
from retro_agents.run.folder import alone_in
from retro_agents.studio import agents, judged
from retro_agents.studio.curves import Tables, drawn
from retro_agents.studio.episodes import listed
from retro_agents.studio.files import checkpoints_of, read_json
from retro_agents.studio.index import Index
from retro_agents.studio.judged import Comparison, Entry, compare, contests, scores_of, sweeps
from tests.studio.conftest import processes
from tests.studio.runs import (
    LEVELS,
    RECORDED,
    linked,
    make_contest,
    make_jerk,
    make_run,
    make_sweep,
    piped,
    table,
    write,
)


@pytest.fixture
def client(studio, tmp_path):
    root = tmp_path / "runs"
    for seed in range(2):
        make_run(root / f"a{seed}", seed=seed)
        make_run(root / f"b{seed}", seed=seed, rate=1.0)
    make_contest(root / "contest")
    (make_contest(root / "damaged") / "contest.json").write_text("{")
    make_contest(root / "begun", left=4)
    make_sweep(root / "sweep")
    (root / "a0" / "best.bk2").write_bytes(b"recorded")
    (root / "a0" / "secret.bk2").symlink_to("/etc/passwd")
    found = studio(root)
    found.rows(len)
    return found


@pytest.mark.parametrize(
    ("given", "total", "first"),
    [
        ({}, 40, [4_000]),
        ({"up": "1"}, 40, [100]),
        ({"level": LEVELS[1]}, 8, [3_700]),
        ({"level": LEVELS[1][:-1]}, 0, []),
        ({"least": "1400"}, 8, [4_000]),
        ({"ended": "lost", "order": "r"}, 20, [3_500]),  # the newest of the highest
        ({"from": "10"}, 40, [3_000]),
        ({"order": "level", "up": "1", "from": "8"}, 40, [200]),  # the second level's first
        ({"from": "1e99", "most": "-inf"}, 0, []),
    ],
)
def test_episodes_are_filtered_and_sorted(client, given, total, first):
    found = client.ask("/api/episodes", query={"run": "a0", **given})[1]
    assert found["total"] == total
    assert [row["step"] for row in found["rows"][:1]] == first


def test_later_pages_are_of_the_episodes_that_were_there_at_first(client):
    asked = {"run": "a0", "from": "1"}
    whole = client.ask("/api/episodes", query=asked)[1]
    older = client.ask("/api/episodes", query={**asked, "until": str(whole["count"] - 2)})[1]
    assert older["rows"] == whole["rows"][2:] and older["total"] == whole["total"] - 2


def test_bad_filters_are_refused(client):
    assert client.ask("/api/episodes", query={"run": "a0", "least": "nan"})[0] == 400


def test_a_recording_is_given_and_no_link_followed(client):
    assert client.ask("/api/episodes", query={"run": "a0"})[1]["files"] == ["best.bk2"]
    assert client.ask("/api/file", query={"run": "a0", "file": "best.bk2"}) == (200, b"recorded")
    for file in ("secret.bk2", "config.json"):
        assert client.ask("/api/file", query={"run": "a0", "file": file})[0] == 400


def test_the_newest_recordings_and_films_are_listed(studio, tmp_path):
    run = make_run(tmp_path / "runs" / "one")
    films = [f"films/{number:04d}.mp4" for number in range(3)]
    recordings = [f"recordings/{number:04d}.bk2" for number in range(250)]
    (run / "films").mkdir(), (run / "recordings").mkdir()
    for name in (*films, *recordings):
        (run / name).touch()
    client = studio(run.parent)
    client.rows(len)
    with drafted(run / "films" / "being-made.mp4"):
        files = client.ask("/api/episodes", query={"run": "one"})[1]["files"]
    assert files == [*films, *recordings[50:]]


@pytest.mark.parametrize(("many", "offered"), [(900, 900), (1_500, 0)])
def test_levels_are_offered_unless_they_are_many(tmp_path, many, offered):
    played = [f"{row},0,coinrun:{row},9.5,3,1,1" for row in range(many)]
    run = make_run(tmp_path / "one")
    table(run / "episodes.csv", "step,env,level,r,l,progress,finished", played)
    found = listed(Tables(), run, {})
    assert (len(found["levels"]), found["total"]) == (offered, many)


def test_a_comparison_joins_seeds_and_has_the_projects_statistics(client):
    entries = [{"runs": [name]} for name in ("a0", "a1", "b0", "b1")]
    asked = {"entries": [*entries, {"shipped": "random"}], "seeds": True}
    found = client.ask("/api/compare", asked)[1]
    assert [row["label"] for row in found["rows"]] == ["a0 and 1 more", "b0 and 1 more", "random"]
    assert [row["seeds"] for row in found["rows"]][:2] == [2, 2]
    assert found["rows"][1]["better"] == 0.5 and len(found["levels"]) > 0
    for twice in ([], entries[:1], entries[:2]):
        alone = client.ask("/api/compare", {"entries": [*twice, *entries[:2]], "seeds": True})[1]
        assert [row["label"] for row in alone["rows"]] == ["a0", "a1"]
        assert "an entry of its own" in alone["remarks"][0]
    asked = {"entries": [{"runs": ["a0", "a1"]}], "seeds": True}
    assert "these are 1" in client.ask("/api/compare", asked)[1]["flaw"]


@pytest.mark.parametrize(
    ("other", "remarks"),
    [
        (Entry(runs=["a"]), []),
        (Entry(runs=["short"]), ["Their steps differ: a 4,000, short 400."]),
        (
            Entry(contest="contest"),
            [
                "contest: 1 of 4 runs did not play all their steps, so no difference from it "
                "counts as shown.",
                "contest: 1 of 2 seeds have all 2 levels, so the mean is of that one, and there is "
                "no interval.",
            ],
        ),
    ],
)
def test_a_comparison_says_what_a_reader_must_know(tmp_path, other, remarks):
    make_run(tmp_path / "a"), make_run(tmp_path / "short", steps=400)
    make_contest(tmp_path / "contest")
    asked = Comparison([Entry(runs=["a"]), other])
    assert compare(Index(tmp_path), asked)["remarks"] == remarks


def test_curves_are_drawn_as_the_page_asks(client, tmp_path):
    runs = {name: tmp_path / "runs" / name for name in ("a0", "a1")}
    asked = {"run": [*runs], "column": "metrics/loss", "x": "seconds", "window": "3", "seeds": "1"}
    found = client.ask("/api/curves", query=asked)[1]
    assert found == drawn(Tables(), runs, "metrics/loss", x="seconds", window=3, seeds=True)


def test_a_sweeps_single_cell_is_compared(client):
    entries = [{"runs": ["sweep/rate=1/all-0"]}, {"runs": ["a0"]}]
    rows = client.ask("/api/compare", {"entries": entries})[1]["rows"]
    assert [row["label"] for row in rows] == ["sweep/rate=1/all-0", "a0"]


@pytest.mark.parametrize("seeds", [True, False])
def test_runs_of_a_grid_over_two_fields_are_compared(client, tmp_path, seeds):
    names = [f"sweep/gamma=1,rate=2/all-{seed}" for seed in range(2)]
    for seed, name in enumerate(names):
        make_run(tmp_path / "runs" / name, seed=seed, rate=2.0)
    client.rows(lambda rows: names[1] in rows)
    asked = {"entries": [{"runs": [name]} for name in (*names, "a0")], "seeds": seeds}
    assert len(client.ask("/api/compare", asked)[1]["rows"]) == (2 if seeds else 3)
    (tmp_path / "runs" / "sweep" / "gamma=1").mkdir()
    assert "before a comma" in client.ask("/api/compare", asked)[1]["flaw"]


@pytest.mark.parametrize(
    "entries",
    [[], [{"runs": ["a0"]}] * 2, [{"shipped": "../../x"}, {}], [{"contest": "../x"}, {"runs": []}]],
)
def test_what_cannot_be_compared_is_said(client, entries):
    status, found = client.ask("/api/compare", {"entries": entries, "seeds": True})
    assert (status, "flaw" in found) == (200, True)


def test_contests_make_a_leaderboard(client):
    best, *others = client.ask("/api/contests")[1]
    assert (best["id"], best["mean"], best["planned"]) == ("contest", 2_000, 4)
    assert (len(best["jobs"]), len(best["missing"])) == (3, 1)
    assert {row["id"]: (row["error"] != "", len(row.get("missing", []))) for row in others} == {
        "damaged": (True, 0),
        "begun": (False, 4),
    }


def test_a_contest_that_was_not_played_to_the_end_ranks_below_those_that_were(tmp_path):
    make_contest(tmp_path / "left", mean=9_000)
    make_contest(tmp_path / "whole", left=0)
    found = [(row["id"], row["shortfall"] == "") for row in contests(Index(tmp_path))]
    assert found == [("whole", True), ("left", False)]


def endless(path):
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.mark.parametrize("harm", [linked, piped, endless, lambda path: os.truncate(path, 1 << 30)])
@pytest.mark.parametrize("file", ["contest.json", "*/seed-1/result.json"])
def test_a_contests_file_that_is_not_one_to_read_says_so(tmp_path, harm, file):
    contest = make_contest(tmp_path / "contest")
    harm(next(contest.glob(file)))
    (row,) = contests(Index(tmp_path))
    assert row["error"].startswith(Path(file).name) and "\n" not in row["error"]
    with pytest.raises(UserError, match=Path(file).name):
        scores_of(Index(tmp_path), Entry(contest="contest"))


@pytest.mark.parametrize("name", ["state.msgpack", "meta.json"])
def test_a_run_whose_checkpoint_is_not_whole_offers_nothing_that_needs_it(studio, tmp_path, name):
    run = make_jerk(tmp_path / "runs" / "jerk")
    client = studio(run.parent)
    client.rows(len)
    about = client.ask("/api/run", query={"run": "jerk"})[1]
    assert about["checkpoints"] == ["step-000000000"]
    assert "Watch it in a window" in about["commands"]
    (run / "checkpoints" / "step-000000000" / name).unlink()
    about = client.ask("/api/run", query={"run": "jerk"})[1]
    assert about["checkpoints"] == [] and "Watch it in a window" not in about["commands"]


@pytest.mark.parametrize("name", ["checkpoints", "checkpoints/step-000000000"])
def test_linked_checkpoints_are_not_followed(tmp_path, name):
    run = make_jerk(tmp_path / "jerk")
    assert len(checkpoints_of(run)) == 1
    linked(run / name)
    assert checkpoints_of(run) == []


def test_an_endless_table_is_not_compared(tmp_path):
    endless(make_run(tmp_path / "one") / "episodes.csv")
    with pytest.raises(UserError, match=r"episodes\.csv"):
        scores_of(Index(tmp_path), Entry(runs=["one"]))


def test_a_contest_runs_while_its_folder_is_locked(tmp_path):
    with alone_in(make_contest(tmp_path / "contest")):
        assert contests(Index(tmp_path))[0]["running"]
    assert not contests(Index(tmp_path))[0]["running"]


def test_a_contest_of_zeros_is_before_one_that_is_not_played(tmp_path):
    make_contest(tmp_path / "a", left=4), make_contest(tmp_path / "b", mean=0, left=3)
    damaged = json.loads((tmp_path / "a" / "contest.json").read_text())
    (tmp_path / "c").mkdir()
    write(tmp_path / "c" / "contest.json", {**damaged, "planned": [[1, 1e999]]})
    found = contests(Index(tmp_path))
    assert [(row["id"], row["mean"]) for row in found] == [("b", 0), ("a", None), ("c", None)]
    assert "\n" not in found[2]["error"] and str(tmp_path) not in found[2]["error"]


def test_a_file_that_takes_too_long_to_make_ends_its_process(tmp_path, monkeypatch):
    monkeypatch.setattr(agents, "LONGEST", 0.01)
    before = processes()
    with pytest.raises(UserError, match="took longer"):
        asyncio.run(agents.Agents(Index(tmp_path), tmp_path).made("http.server", "0"))
    assert processes() <= before


def test_a_contests_report_may_load_nothing(client):
    status, page = client.ask("/api/report", query={"contest": "contest"})
    assert status == 200 and b"<html" in page
    policy = client.answered["Content-Security-Policy"]
    assert policy.startswith("sandbox allow-scripts; default-src 'none'; ")


def test_a_sweeps_cells_have_their_states_and_means(client):
    (sweep,) = client.ask("/api/sweeps")[1]
    found = {(one["kind"], one["name"]): one["mean"] for one in sweep["cells"]}
    assert sweep["id"] == "sweep" and sweep["table"].startswith("| rate")
    assert found["rate=2", "all-0"] == 1_500 and found["rate=1", "all-1"] == 1_000.5
    assert found["rate=2", "all-1"] == 1_200  # not complete: of its newest episodes


def test_a_sweeps_plot_is_given_and_no_link_followed(client, tmp_path):
    status, plot = client.ask("/api/plot", query={"sweep": "sweep"})
    assert (status, plot[1:4]) == (200, b"PNG")
    linked(tmp_path / "runs" / "sweep" / "plot.png")
    assert client.ask("/api/plot", query={"sweep": "sweep"})[0] == 400


def test_sweeps_that_are_removed_meanwhile_harm_nothing(tmp_path, monkeypatch):
    make_sweep(tmp_path / "a"), make_sweep(tmp_path / "b")
    index = Index(tmp_path)

    def removing(path):
        for name in "ab":
            shutil.rmtree(tmp_path / name, ignore_errors=True)
        index.look()
        return read_json(path)

    monkeypatch.setattr(judged, "read_json", removing)
    assert [(one["id"], len(one["cells"])) for one in sweeps(index)] == [("a", 4), ("b", 4)]


@pytest.mark.parametrize(
    ("cell", "record", "note"),
    [
        ("trial-000/all-0", "trial-000/all-0.json", "search.json"),
        ("runs/train_1_00000", "result.json", "population.json"),
    ],
)
def test_a_search_and_a_population_have_cells(tmp_path, cell, record, note):
    make_run(tmp_path / "sweep" / cell)
    make_run(tmp_path / "sweep" / "population" / "train_1_00000" / "checkpoint_000000")
    for name in (record, note):
        write(tmp_path / "sweep" / name, {})
    index = Index(tmp_path)
    assert [row.id for row in index.ask()] == [f"sweep/{cell}"]
    (found,) = sweeps(index)
    kind, name = cell.split("/")
    assert [(one["kind"], one["name"]) for one in found["cells"]] == [(kind, name)]


def test_cells_that_have_not_begun_are_shown_as_waiting(tmp_path):
    sweep = tmp_path / "sweep"
    make_run(sweep / "a" / "Act1-0")
    write(sweep / "a" / "Act1-0.json", {})
    write(sweep / "todo.json", {"cells": ["a/Act1-0", "group/b/Act1-1"]})
    index = Index(tmp_path)
    index.ask()
    (found,) = sweeps(index)
    states = [(one["kind"], one["name"], one["state"]) for one in found["cells"]]
    assert states[1:] == [("group/b", "Act1-1", "waiting")] and states[0][2] != "waiting"
    write(sweep / "todo.json", {"cells": 3})
    assert len(sweeps(index)[0]["cells"]) == 1


@pytest.mark.parametrize("levels", ["3", '{"a": "x"}', '{"a": Infinity, "b": -Infinity}'])
def test_a_damaged_record_hides_no_cell(tmp_path, levels):
    run = make_run(tmp_path / "sweep" / "a" / "Act1-0")
    run.with_name("Act1-0.json").write_text(f'{{"levels": {levels}}}')
    (found,) = sweeps(Index(tmp_path))
    assert [one["mean"] for one in found["cells"]] == [1_200]  # of its newest episodes


def test_where_the_newest_episodes_ended_is_sent(client):
    given = {"run": "a0", "level": LEVELS[1], "ended": "lost"}
    ends = client.ask("/api/episodes", query=given)[1]["ends"]
    assert ends == [[LEVELS[1], 0.5, False]] * 4


def test_a_jerk_run_offers_its_sequences_and_recordings(studio, tmp_path):
    client = studio(make_jerk(tmp_path / "runs" / "jerk").parent)
    checkpoint, recording = "jerk@step-000000000", f"jerk@{RECORDED}"
    names = {one["id"]: one["agent"] for one in client.ask("/api/agents")[1] if "@" in one["id"]}
    assert names == {checkpoint: "jerk", recording: "recording"}
    rows = client.ask("/api/episodes", query={"run": "jerk"})[1]["rows"]
    assert [(row["step"], row["file"]) for row in rows if row["file"]] == [(600, RECORDED)]
    status, found = client.ask("/api/player", query={"agent": checkpoint})
    assert (status, found["levels"]) == (200, {LEVELS[0]: [6, 1, 1]})


def test_the_newest_checkpoint_of_a_run_is_offered(tmp_path):
    run = make_run(tmp_path / "one")
    for step in (5, 10):
        about = {"agent": "ppo2", "config": {}, "counters": {"env_steps": step}}
        save_checkpoint(run / "checkpoints", tensors={}, **about)
    known = agents.Agents(Index(tmp_path), tmp_path).known()
    assert [one["id"] for one in known if "@" in one["id"]] == ["one@step-000000010"]


@pytest.mark.parametrize(
    ("flags", "files"),
    [("--run-dir runs/jerk-recorded --resume", {"", RECORDED}), ("--resume --record", {""})],
)
def test_a_recording_is_known_unless_a_later_start_set_record(tmp_path, flags, files):
    run = make_jerk(tmp_path / "jerk")
    write(run / "provenance.json", [{"agent": "jerk"}, {"command": f"train.py {flags}"}])
    assert {row["file"] for row in listed(Tables(), run, {})["rows"]} == files
