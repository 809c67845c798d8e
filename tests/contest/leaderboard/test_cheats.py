"""What entries might try: each is refused, or gains nothing."""

import json

import pytest

from retro_agents.contest.leaderboard import play as running
from retro_agents.contest.leaderboard.confine import can_hide
from retro_agents.contest.leaderboard.season import SEEDS, current_season
from retro_agents.contest.leaderboard.tape import read_tape, write_tape
from tests.runs import ROOT

LOOKS = """
here = [str(path) for place in (".", meet, os.environ["HOME"]) for path in Path(place).rglob("*")]
parent = []
for name in ("cmdline", "environ"):
    try:
        parent.append(Path(f"/proc/{os.getppid()}/{name}").read_text())
    except OSError as error:
        parent.append(error)
play(steps)
with FOUND.open("a") as file:
    print(sys.argv, dict(os.environ), os.getcwd(), here, parent, description, file=file)
"""


def test_an_entry_that_looks_for_the_levels_name_finds_none(board):
    board.score(board.entry(LOOKS))
    found = board.found.read_text()
    assert found.count("CONTEST_DIR") == 3
    season = current_season(board.root)
    assert not any(str(season.entry_seed(board.act, seed)) in found for seed in range(SEEDS))
    assert not any(part in found for part in (*board.act.split("."), "seasons", "acts.pack"))


@pytest.mark.skipif(not can_hide(), reason="no namespaces for users")
def test_an_entry_that_looks_for_the_seasons_files_finds_none(board):
    place = f"Path({str(ROOT / 'leaderboard')!r})"
    look = f"[*FOUND.parent.glob('*/*/*'), *{place}.glob('*/*/*'), socket.if_nameindex()]"
    board.score(board.entry(f"play(steps)\nFOUND.write_text(str({look}))"))
    found = board.found.read_text()
    assert "play.py" in found and "oracle/entry.json" in found
    assert not any(part in found for part in ("season", "acts.pack", "tape", "eth"))


FORGES = """
place = {where}
place.mkdir(parents=True, exist_ok=True)
(place / "result.json").write_text(json.dumps({{"score": 9999.0}}))
play(steps)
"""


@pytest.mark.parametrize("where", ["Path('.')", "meet", "FOUND.parent / 'results' / '1' / 'mine'"])
def test_an_entry_that_writes_its_own_result_gains_nothing(board, where):
    honest = board.score(board.entry())["score"]
    folder = board.entry(FORGES.format(where=where))
    assert board.score(folder)["score"] == honest
    board.check(folder)


def test_an_entry_that_changes_itself_is_refused(board, refused):
    code = "(FOUND.parent / 'entries' / 'mine' / 'more').write_text('x')\nplay(steps)"
    assert "has changed while it played" in refused(board.score, board.entry(code))


PAST = {
    "play(steps)\nsignal.pause()": "still running 0.1 s after its last step",
    "ask(reset=True)\nwhile True: pass": "of CPU time, and 0.5 s are allowed",
    "signal.pause()": "ran past its limits",
    "play(steps - 1)": "left after 39 of 40 steps",
}


@pytest.mark.parametrize("code", PAST)
def test_an_entry_that_runs_past_its_limits_is_refused(board, refused, monkeypatch, code):
    monkeypatch.setattr(running, "GRACE", 0.1)
    stall = 0.2 if code == "signal.pause()" else 60
    small = running.Machine(start=0.5, step=0.0, stall=stall, slack=100)
    monkeypatch.setitem(running.MACHINES, "cpu", small)
    said = refused(board.score, board.entry(code, machine="cpu"))
    assert PAST[code] in said and not board.results.exists()


def test_steps_beyond_the_last_one_are_not_played(board):
    result = board.score(board.entry("play(steps + 9)"))
    assert [run["steps"] for run in result["acts"][board.act]["runs"]] == [40] * 3


def raised_score(result, tape):
    result["score"] = 9_999.0


def another_recording(result, tape):
    write_tape(tape, [run[::-1] for run in read_tape(tape)])


def another_recording_and_its_hash(result, tape):
    from retro_agents.ground.files import file_hash

    another_recording(result, tape)
    for act in result["acts"].values():
        act["recording"] = file_hash(tape)


def shorter_recording(result, tape):
    write_tape(tape, [run[:-1] for run in read_tape(tape)])


def no_recording(result, tape):
    tape.write_bytes(b"nothing")


@pytest.mark.parametrize(
    "forge",
    [
        raised_score,
        another_recording,
        another_recording_and_its_hash,
        shorter_recording,
        no_recording,
    ],
)
def test_a_forged_result_or_recording_is_refused(board, refused, forge):
    folder = board.entry()
    result = board.score(folder)
    board.check(folder)
    forge(result, board.results / f"{board.act}.tape")
    (board.results / "result.json").write_text(json.dumps(result))
    assert "score the entry anew" in refused(board.check)
