"""What entries might try: each is refused, or gains nothing."""

import ctypes
import json
import os
import socket
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from retro_agents.contest.leaderboard import confine, warden
from retro_agents.contest.leaderboard import play as running
from retro_agents.contest.leaderboard.confine import begun, can_hide
from retro_agents.contest.leaderboard.season import SEEDS, current_season
from retro_agents.contest.leaderboard.tape import read_tape, write_tape
from retro_agents.contest.wire.protocol import TimestepTimeoutError
from retro_agents.ground.files import file_hash
from retro_agents.ground.temporary import temporary_folder
from tests.contest.leaderboard.conftest import STEPS
from tests.runs import ROOT

LOOKS = """
here = [str(path) for place in (".", meet, os.environ["HOME"]) for path in Path(place).rglob("*")]
parent = []
for name in ("cmdline", "environ"):
    try:
        parent.append(Path(f"/proc/{os.getppid()}/{name}").read_text())
    except OSError as error:
        parent.append(error)
print(sys.argv, dict(os.environ), os.getcwd(), here, parent, description)
play(steps)
"""
hides = pytest.mark.skipif(not can_hide(), reason="no namespaces for users")


def test_an_entry_that_looks_for_the_levels_name_finds_none(board, logs):
    board.score(board.entry(LOOKS))
    found, season = "".join(logs), current_season(board.root)
    assert ["CONTEST_DIR" in log for log in logs] == [True] * SEEDS
    assert not any(str(season.entry_seed(board.act, seed)) in found for seed in range(SEEDS))
    assert not any(part in found for part in (*board.act.split("."), "seasons", "acts.pack"))


@hides
def test_an_entry_that_looks_for_the_seasons_files_finds_none(board, logs):
    place = f"Path({str(ROOT / 'leaderboard')!r})"
    look = f"[*{place}.glob('*/*/*'), ({place} / 'page.md').read_text(), socket.if_nameindex()]"
    own = "Path(os.environ['HOME']).parent"  # beside the project, if that is a temporary folder
    around = f"[path.name for path in Path({str(ROOT.parent)!r}).iterdir() if path != {own}]"
    board.score(board.entry(f"print({look}, {around})\nplay(steps)"))
    assert f"['{ROOT.name}']" in logs[0]
    secret = ("season", "acts.pack", "tape", "Act", "eth", "entry.json")  # of others' entries
    assert not any(part in logs[0] for part in secret)


def test_what_was_built_of_this_project_is_hidden_too(tmp_path, monkeypatch):
    told = []

    def popen(*_, pass_fds, **__):
        with socket.socket(fileno=os.dup(pass_fds[0])) as warden:
            told.append(json.loads(warden.recv(1 << 20)))

    monkeypatch.setattr(confine.subprocess, "Popen", popen)
    _, channel = begun(["true"], folder=tmp_path, board=tmp_path, hide=True)
    channel.close()
    copies = {str((ROOT / name).resolve()) for name in (".git", "build", "docs/dist")}
    assert copies <= {*told[0]["hide"]["secret"]}


LEAVES = f"""
import ctypes
own, shared = Path(os.environ["HOME"]).parent, ctypes.CDLL(None).shmget
ours = own, *Path({str(ROOT / "leaderboard")!r}).parents
print("beside:", [path for path in own.parent.iterdir() if path not in ours])
for place in ("/tmp", "/var/tmp", "/dev/shm", "/run", Path.home(), ".", "..", {str(ROOT)!r}, "/"):
    path = Path(place) / "left-{os.getpid()}"
    try:
        print("found" if path.exists() else path.write_bytes(b""))
    except OSError as error:
        print(error)
print("found" if shared({os.getpid()}, 1, 0) >= 0 else shared({os.getpid()}, 1, 0o1600))
if os.uname().machine == "x86_64":  # in the keyring of the session: search for a key, or add it
    call, session = ctypes.CDLL(None).syscall, -3
    known = call(250, 10, session, b"user", b"left", 0) > 0
    print("found" if known else call(248, b"user", b"left", b"x", 1, session))
play(steps)
"""


@hides
def test_a_run_finds_nothing_that_another_run_left(board, logs):
    if os.uname().machine == "x86_64":
        ctypes.CDLL(None).syscall(250, 1, None)  # as a login does
    with temporary_folder():
        board.score(board.entry(LEAVES))
    assert ["beside: []" in log and "found" not in log for log in logs] == [True] * SEEDS


TYPES = """
for path in {}:
    try:
        print(os.isatty(os.open(path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)))
    except OSError as error:
        print(error)
play(steps)
"""


@hides
def test_an_entry_reaches_no_terminal(board, logs):
    ends = os.openpty()
    board.score(board.entry(TYPES.format([os.ttyname(ends[1]), "/dev/tty1", "/dev/console"])))
    assert "No such file" in logs[0] and "True" not in logs[0]
    for end in ends:
        os.close(end)


FORGES = """
for place in (Path("."), meet, FOUND.parent / "results" / "1" / "mine"):
    place.mkdir(parents=True, exist_ok=True)
    (place / "result.json").write_text(json.dumps({"score": 9999.0}))
play(steps)
"""


def test_an_entry_that_writes_its_own_result_gains_nothing(board):
    honest = board.score(board.entry())["score"]
    folder = board.entry(FORGES)
    assert board.score(folder)["score"] == honest
    board.check(folder)


@pytest.mark.usefixtures("unhidden")
def test_an_entry_that_changes_itself_is_refused(board, refused):
    code = "(FOUND.parent / 'entries' / 'mine' / 'more').write_text('x')\nplay(steps)"
    assert "has changed while it played" in refused(board.score, board.entry(code))


APART = """
heard, said = os.pipe()
{before}
if not os.fork():
    {apart}
    print(os.getpid(), flush=True)
    while time.process_time() < 0.7:
        pass
    os.write(said, b"x")
    {after}
os.read(heard, 1)
play(steps)
"""
TWICE = APART.format(
    before="", apart="os.setsid(); os.fork() and os._exit(0)", after="signal.pause()"
)
UNCOUNTED = APART.format(
    before="signal.signal(signal.SIGCHLD, signal.SIG_IGN)", apart="pass", after="os._exit(0)"
)
PAST = {
    "play(steps)\nsignal.pause()": "still running 0.1 s after its last step",
    "ask(reset=True)\nwhile True: pass": "of CPU time, and 0.5 s are allowed",
    "signal.pause()": "ran past its limits",
    "play(steps - 1)": "left after 39 of 40 steps",
    "import shutil\nshutil.rmtree(meet)\nline.close()": "the entry's server failed: ",
    "print('x' * 10**6, '\\nlast')": "left after 0 of 40 steps: last",
    APART.format(before="", apart="os.setsid()", after="signal.pause()"): "and 0.5 s are allowed",
    TWICE: "of CPU time, and 0.5 s are allowed",
    UNCOUNTED: "of CPU time, and 0.5 s are allowed",
}


def counts():
    counter = warden.clock()
    if counter >= 0:
        os.close(counter)
    return counter >= 0


def small(monkeypatch, *, stall=60.0):
    machine = running.Machine(start=0.5, step=0.0, stall=stall, slack=1000)
    monkeypatch.setitem(running.MACHINES, "cpu", machine)


@pytest.mark.parametrize("code", PAST)
def test_an_entry_that_runs_past_its_limits_is_refused(board, refused, monkeypatch, code):
    if code == UNCOUNTED and not counts():
        pytest.skip("the system lets no user count CPU time")
    stays = "pause" in code and "fork" not in code  # others leave in their own time
    monkeypatch.setattr(running, "GRACE", 0.1 if stays else 60)
    small(monkeypatch, stall=0.2 if code == "signal.pause()" else 60)
    said = refused(board.score, board.entry(code, machine="cpu"))
    assert PAST[code] in said and not (board.results / "result.json").exists()


@hides
def test_what_an_entry_may_write_and_start_has_an_end(board, logs):
    disks = "[os.statvfs(place) for place in ('/tmp', '/dev/shm')]"
    sizes = f"[one.f_blocks * one.f_frsize // 2**20 for one in {disks}]"
    limits = (
        "[resource.getrlimit(one)[0] for one in (resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC)]"
    )
    board.score(board.entry(f"import resource\nprint({sizes}, {limits})\nplay(steps)"))
    (_, size), (_, processes) = warden.LIMITS.items()
    assert logs[0].startswith("[256, 256] [")
    found = [int(word) for word in logs[0].partition("] [")[2].strip("]\n").split(", ")]
    assert 0 < found[0] <= size and 0 < found[1] <= processes


@pytest.mark.parametrize(
    ("code", "limit", "says"),
    [
        ("print('x' * 10**6, flush=True)", {"PRINTED": 10**5}, "it printed more than 0 MiB"),
        ("os.fork()\nall = b'x' * 10**8", {}, "GiB, and 0 are allowed"),
    ],
)
@pytest.mark.usefixtures("unhidden")
def test_a_run_that_fills_the_disk_or_the_memory_is_ended(
    board, refused, monkeypatch, code, limit, says
):
    """Not only after its end, as it measured before."""
    machine = running.Machine(start=60, step=0.0, stall=60, memory=150 * 2**20, slack=1)
    monkeypatch.setitem(running.MACHINES, "cpu", machine)
    for name, value in limit.items():
        monkeypatch.setattr(running, name, value)
    began = time.monotonic()
    assert says in refused(board.score, board.entry(f"{code}\nsignal.pause()", machine="cpu"))
    assert time.monotonic() - began < 30


def test_an_entry_that_never_connects_is_ended_soon_with_its_last_words(
    board, refused, monkeypatch
):
    monkeypatch.setattr(running, "CONNECT", 0.5)
    folder = board.entry()
    (folder / "play.py").write_text("import time\nprint('waits', flush=True)\ntime.sleep(60)")
    began = time.monotonic()
    assert "limits: no client came and began to play: waits" in refused(board.score, folder)
    assert time.monotonic() - began < 30


@pytest.mark.usefixtures("unhidden")
def test_nothing_that_an_entry_started_outlives_it(board, refused, monkeypatch, logs):
    small(monkeypatch)
    refused(board.score, board.entry(TWICE, machine="cpu"))
    assert not Path(f"/proc/{logs[0].split()[0]}").exists()


def test_an_entry_held_to_one_core_is_scored_on_linux_alone(board, refused, monkeypatch):
    monkeypatch.setattr(confine, "LINUX", False)
    assert "score it there" in refused(board.score, board.entry(machine="cpu"))


def test_steps_beyond_the_last_one_are_not_played_and_the_memory_is_the_entrys_own(board):
    result = board.score(board.entry("play(steps + 9)"))
    assert [run["steps"] for run in result["acts"][board.act]["runs"]] == [40] * 3
    (runs,) = result["measured"]["costs"].values()
    assert all(0 < run["memory"] < 50 for run in runs)


def test_a_forged_result_or_recording_is_refused(board, refused):
    folder = board.entry()
    result, tape = board.score(folder), board.results / f"{board.act}.tape"
    honest, played = json.dumps(result), read_tape(tape)
    result["score"] = 9_999.0
    for text, runs in (
        (json.dumps(result), played),
        (honest, [run[::-1] for run in played]),
        (honest, [run[:-1] for run in played]),
        (honest, None),
    ):
        board.check(folder)
        (board.results / "result.json").write_text(text)
        write_tape(tape, runs) if runs else tape.write_bytes(b"nothing")
        assert "score the entry anew" in refused(board.check)
        (board.results / "result.json").write_text(honest)
        write_tape(tape, played)
    write_tape(tape, [run[::-1] for run in played])
    result = json.loads(honest)
    result["acts"][board.act]["recording"] = file_hash(tape)
    (board.results / "result.json").write_text(json.dumps(result))
    assert "score the entry anew" in refused(board.check)


@pytest.mark.parametrize(("gib", "says"), [(5, "it used 5.0 GiB, and 4 are allowed"), (3, "")])
def test_an_entry_has_no_more_memory_than_its_class(gib, says):
    ended = TimestepTimeoutError("all are played")
    limits = SimpleNamespace(timesteps=STEPS)
    server = SimpleNamespace(limits=limits, error=None, ended=ended)
    with pytest.raises(running.RefusedError, match=says) if says else nullcontext():
        machine = running.MACHINES["cpu"]
        running.judge(server, late="", use=(0.0, gib * 2**30), machine=machine, said="")
