"""Which runs a command plays, in which order, and what a stopped one leaves."""

import dataclasses
import shutil
import threading
import time
from array import array
from types import SimpleNamespace

import msgspec
import pytest

from retro_agents.contest.leaderboard import play as running
from retro_agents.contest.leaderboard import score as scoring
from retro_agents.contest.leaderboard.entry import read_entry
from retro_agents.contest.leaderboard.play import Played
from retro_agents.contest.leaderboard.season import SEEDS, current_season
from retro_agents.ground.errors import UserError
from retro_agents.run.folder import alone_in

COUNTS = """
with FOUND.open("a") as file:
    file.write("x")
"""
SECOND_FAILS = f"""
{COUNTS}
if FOUND.read_text() == "xx":
    sys.exit("stopped")
play(steps)
"""


@pytest.mark.usefixtures("unhidden")
def test_an_interrupted_score_resumes_with_the_runs_that_are_over(board, monkeypatch):
    folder, begun = board.entry(f"{COUNTS}\nplay(steps)"), iter("12345")

    def stopped(*given, **more):
        if next(begun) == "2":
            raise KeyboardInterrupt
        return running.play(*given, **more)

    monkeypatch.setattr(scoring, "play", stopped)
    with pytest.raises((SystemExit, KeyboardInterrupt)):
        board.score(folder)
    assert len(list((board.results / "unfinished").iterdir())) == 1
    board.score(folder)
    board.check(folder)
    assert board.found.read_text() == "x" * 3 and not (board.results / "unfinished").exists()


def test_an_entry_is_scored_by_one_process_at_a_time(board, refused, monkeypatch):
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    board.results.mkdir(parents=True)
    with alone_in(board.results):
        assert "another process scores mine" in refused(board.score, board.entry())
    assert not [*board.results.iterdir()]


@pytest.fixture
def two(board):
    """two(code): the command that scores an entry with that code, and then the entry `mine`."""

    def words(code):
        first = shutil.copytree(board.entry(code), board.root / "entries" / "first")
        return [str(first), str(board.entry()), "--board", str(board.root), "--trust"]

    return words


def test_an_entry_that_fails_keeps_no_other_from_its_result(board, two, capsys):
    with pytest.raises(SystemExit, match="2"):
        scoring.main(two("sys.exit('stopped')"))
    assert (
        "error: first: the entry left after 0 of 40 steps: stopped (more in"
        in capsys.readouterr().err
    )
    assert board.result()["entry"] == "mine"


@pytest.mark.usefixtures("unhidden")
def test_a_command_that_was_interrupted_plays_no_finished_entry_anew(board, two, monkeypatch):
    words = two(f"{COUNTS}\nplay(steps)")

    def stopped(entry, *given, **more):
        if entry.name == "mine":
            raise KeyboardInterrupt
        return running.play(entry, *given, **more)

    with monkeypatch.context() as patch, pytest.raises((SystemExit, KeyboardInterrupt)):
        patch.setattr(scoring, "play", stopped)
        scoring.main(words)
    scoring.main(words)
    assert board.found.read_text() == "x" * SEEDS
    assert not [*board.root.glob("results/*/*/unfinished")]


@pytest.fixture
def play_all(board, monkeypatch):
    """play_all(play): three acts by two workers, with `play` in the place of a run; first A and B,
    each with seed 0."""
    season = current_season(board.root)
    facts = msgspec.structs.replace(season.facts, acts=dict.fromkeys("ABC", 0))
    season, entry = dataclasses.replace(season, facts=facts), read_entry(board.entry())
    drawn = SimpleNamespace(shuffle=lambda jobs: jobs.sort(key={("A", 1), ("A", 2)}.__contains__))
    monkeypatch.setattr(scoring.random, "SystemRandom", lambda: drawn)

    def found(play):
        monkeypatch.setattr(scoring, "play", play)
        return scoring.play_all(entry, season, board.root, workers=2)

    return found


NOTHING = Played(array("H"), 0.0, 0.0, 0)


def test_every_act_is_played_once_before_any_is_played_again(play_all):
    """Otherwise a long run could tell a later run of an act what an earlier one told it."""
    begun, under_way = [], []

    def play(*given, seed, **_):
        act = given[-1]
        turn = begun.count(act)
        begun.append(act)
        under_way.append(turn)
        assert {*under_way} == {turn}
        if len(begun) == 1:
            time.sleep(0.2)
        under_way.remove(turn)
        return NOTHING

    assert len(play_all(play)) == 3 * SEEDS


def test_a_failure_that_is_not_the_entrys_lets_the_runs_under_way_end(board, play_all):
    """Otherwise one run could save another one from an end that it does not like."""
    both, begun = threading.Barrier(2), []

    def play(*given, stopping, **_):
        begun.append(given[-1])
        both.wait(9)
        if given[-1] == "B":
            raise UserError("no space")
        if stopping.wait(0.2):
            raise running.RefusedError("stopped")
        return NOTHING

    with pytest.raises(UserError, match="mine: no space"):
        play_all(play)
    assert [path.name for path in (board.results / "unfinished").iterdir()] == ["A.0"]
    assert sorted(begun) == ["A", "B"]


@pytest.mark.usefixtures("unhidden")
def test_an_entry_that_has_not_changed_is_played_again_only_on_request(board, capsys):
    draws = "with FOUND.open('a') as file:\n    file.write(os.environ['CONTEST_SEED'] + ' ')"
    folder = board.entry(f"{draws}\nplay(steps)")
    board.score(folder)
    board.score(folder)
    assert "already scored (--again plays it anew)" in capsys.readouterr().out
    seeds = board.found.read_text().split()
    board.score(folder, "--again")
    now = board.found.read_text().split()
    assert len({*seeds}) == SEEDS and sorted(now) == sorted(seeds * 2)  # it has no second draw
    (board.results / f"{board.act}.tape").write_bytes(b"")
    board.score(folder)
    assert len(board.found.read_text().split()) == 3 * SEEDS
    (folder / "more").touch()
    board.score(folder)
    assert len({*board.found.read_text().split()}) == 2 * SEEDS


def test_the_entry_that_nothing_is_hidden_from_is_played_on_request_alone(
    board, refused, monkeypatch
):
    monkeypatch.setattr(scoring, "can_hide", lambda: False)
    words = [str(board.entry()), "--board", str(board.root)]
    assert "mine is not scored: this system hides nothing" in refused(scoring.main, words)
    assert not board.score(board.entry())["measured"]["hidden"]  # with --trust


def test_how_long_it_will_take_and_that_root_reads_all_are_said_first(board, monkeypatch, capsys):
    monkeypatch.setattr(scoring.os, "geteuid", lambda: 0)
    monkeypatch.setattr(scoring, "SPEED", 1 / 60)
    board.score(board.entry())
    said = capsys.readouterr().err
    assert "1 to play, 3 runs each: about 120 min with --workers 1" in said
    assert "warning: an entry that root scores can read every file" in said


@pytest.mark.usefixtures("unhidden")
def test_the_output_of_a_refused_run_stays_until_the_entry_is_scored(board, refused):
    folder = board.entry(SECOND_FAILS.replace('sys.exit("stopped")', "print(steps / 0)"))
    said = refused(board.score, folder)
    assert f"division by zero (more in {board.results}/refused.log)" in said
    assert 'play.py", line ' in (board.results / "refused.log").read_text()
    board.score(folder)
    assert not (board.results / "refused.log").exists()
    assert "it said nothing, and its exit code is 3" in refused(board.score, board.entry("exit(3)"))


@pytest.mark.usefixtures("unhidden")
def test_a_refused_entry_keeps_no_run_so_it_cannot_choose_among_them(board, refused):
    folder = board.entry(SECOND_FAILS)
    assert "left after 0 of 40 steps: stopped" in refused(board.score, folder)
    assert not (board.results / "unfinished").exists()
    board.score(folder)
    assert board.found.read_text() == "x" * 5
