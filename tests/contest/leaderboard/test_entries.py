"""Entries of every kind, bad ones, the page, and seasons."""

import dataclasses
import errno
import json
import os
import re
import shutil
import sys
from array import array
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import msgspec
import numpy as np
import pytest

from cartridge.levels.season import open_season, oracle
from retro_agents.contest.leaderboard import play as running
from retro_agents.contest.leaderboard import result
from retro_agents.contest.leaderboard import score as scoring
from retro_agents.contest.leaderboard.entry import command_of, environment_for_engine, read_entry
from retro_agents.contest.leaderboard.faults import Faults
from retro_agents.contest.leaderboard.net import Net, config_of
from retro_agents.contest.leaderboard.open import main as open_board
from retro_agents.contest.leaderboard.page import OURS
from retro_agents.contest.leaderboard.play import Played
from retro_agents.contest.leaderboard.references import blind, run_of
from retro_agents.contest.leaderboard.result import verified
from retro_agents.contest.leaderboard.season import SEEDS, current_season
from retro_agents.contest.leaderboard.tape import replay
from retro_agents.contest.player import PlayerConfig
from retro_agents.contract.policy import parse_play
from retro_agents.ground.errors import UserError
from retro_agents.ground.temporary import PREFIX
from retro_agents.run.checkpoint import latest_checkpoint, load_agent
from retro_agents.run.command_line import parse_command
from tests.contest.leaderboard.conftest import STEPS
from tests.runs import ROOT, program

BAD = [
    ({"stepz": 0}, "entry.json: unknown field `stepz`; did you mean 'steps'?"),
    ({"steps": 3}, "steps: expected one of 0, 50000, 200000, 1000000"),
    ({"machine": "gpu"}, "machine: expected one of cpu, free"),
    ({"pretraining": "none"}, "pretraining: expected levels, steps and hardware in {}, or null"),
    (
        {"pretraining": {"levels": "x", "steps": -1, "hardware": "y"}},
        "pretraining.steps: expected a whole number of 0 or more",
    ),
    ({"pretraining": {"level": "x"}}, "did you mean 'levels'?"),
    ({"who": "a\nb"}, "who: expected one line of 1 to 200 characters"),
    ({"what": "a net\n"}, "what: expected one line"),
    ({"what": "\33[2J"}, "what: expected printable characters alone"),
    ({"licence": "\u202etim"}, "licence: expected printable characters alone"),
    (
        {"pretraining": {"levels": "x", "steps": 1, "hardware": "\a"}},
        "hardware: expected printable",
    ),
    (
        {"agent": "jerk", "steps": 50_000, "flags": ["--preset", "hybrid", "--policy", "net"]},
        "no checkpoint at net",
    ),
    ({"onnx": "net.onnx", "command": ["x"]}, "exactly one of agent, onnx, command, image"),
    ({"onnx": "../mine/../../net.onnx"}, "there is no ../mine/../../net.onnx in the entry's"),
    ({"checkpoint": "net"}, "only an agent has checkpoint, play or flags"),
    ({"agent": "PPO2"}, "entry.json: no agent 'PPO2'; did you mean 'ppo2'?"),
    ({"agent": "ppo2"}, "entry.json: an agent whose steps are 0 needs a checkpoint"),
    (
        {"agent": "ppo2", "checkpoint": "ppo2", "play": "greedy"},
        "play: expected best (greedy), draw, draw:T",
    ),
    ({"agent": "ppo2", "flags": ["--hidden=8"]}, "flags are for an agent whose steps are above 0"),
    ({"agent": "random", "flags": ["--hidden=8"]}, "random takes no checkpoint, play or flags"),
    ({"image": "busybox"}, "image: expected NAME@sha256:DIGEST"),
    ({"onnx": "."}, ". is no file"),
    ({"command": [""]}, "command names no program"),
    ({"command": ["a\0b"]}, "command: expected a list whose entries are each text"),
    (
        {"agent": "ppo2", "checkpoint": "ppo2", "steps": 50_000, "play": "best"},
        "play is for an agent whose steps are 0",
    ),
    ({"agent": "oracle"}, "the oracle is a reference"),
    ({"agent": "jerk", "steps": 50_000, "flags": ["--help"]}, "a flag that asks for help"),
    ({"agent": "jerk", "steps": 50_000, "flags": ["-h"]}, "asks for help is no setting"),
    ({"agent": "jerk", "steps": 50_000, "flags": ["-hh"]}, "asks for help is no setting"),
    *(
        ({"agent": "jerk", "steps": 50_000, "flags": flags}, "no ../pyproject.toml in the entry's")
        for flags in (["--config", "../pyproject.toml"], ["--config=../pyproject.toml"])
    ),
]


@pytest.mark.parametrize(("facts", "says"), BAD, ids=[says for _, says in BAD])
def test_a_bad_entry_is_refused_in_one_line(board, refused, facts, says):
    assert says in refused(board.score, board.entry(**facts))


def test_an_entry_in_other_quotes_or_at_another_place_is_refused_with_advice(board, refused):
    folder = board.entry()
    said = f"is an entry's file: give its folder, {folder}"
    assert said in refused(board.score, folder / "entry.json")
    assert f"did you mean {folder}?" in refused(board.score, Path("mne"))
    assert f"did you mean {folder}?" in refused(board.check, Path("Mine"))
    (folder / "entry.json").write_text("{'who': 'we'}")
    assert "names and texts need double quotes" in refused(board.score, folder)


def test_an_entry_holds_no_links_and_no_file_that_git_leaves_out(board, refused):
    folder = board.entry()
    (folder / "more").symlink_to(board.root)
    assert "more is a link" in refused(board.score, folder)
    (folder / "more").unlink()
    (folder / ".DS_Store").touch()
    assert ".DS_Store would not reach others" in refused(board.score, folder)
    (folder / ".DS_Store").unlink()
    (folder / "more\nfiles").touch()
    assert "has a line break in its name" in refused(board.score, folder)


def test_what_python_caches_is_no_part_of_an_entry(board, logs):
    folder = board.entry("print([str(path) for path in Path('.').rglob('*')])\nplay(steps)")
    before = read_entry(folder).sha256
    (folder / "lib" / "__pycache__").mkdir(parents=True)
    (folder / "lib" / "__pycache__" / "play.cpython-311.pyc").write_bytes(b"x")
    assert read_entry(folder).sha256 == before
    board.score(folder)
    assert "lib" in logs[0] and "pyc" not in logs[0]


@pytest.fixture
def three(board):
    """A board with a good entry between two bad ones."""
    good = board.entry(agent="random")
    shutil.copytree(good, good.with_name("Carl_Meyer"))
    (good.with_name("zoe") / "none").mkdir(parents=True)
    return [str(path) for path in sorted(good.parent.iterdir())]


def test_a_bad_entry_keeps_no_command_from_the_others(board, three, capsys, refused):
    names = "2 of 3 entries failed: Carl_Meyer, zoe"
    assert names in refused(open_board, ["--board", str(board.root), "--acts", "1"])
    assert [*current_season(board.root).facts.entries] == ["mine"]
    assert names in refused(scoring.main, [*three, "--board", str(board.root)])
    assert names in refused(board.check, *three)
    assert names in refused(board.page)
    text = (board.root / "page.md").read_text()
    assert "| mine |" in text and "changed after it was scored: Carl\\_Meyer, zoe." in text


def test_an_entry_is_checked_before_there_is_a_result_or_a_season(board, capsys, refused):
    folder = board.entry(agent="random")
    board.check(folder)
    assert "mine: well formed, and without a result in season 1" in capsys.readouterr().out
    board.check()
    assert "no entry has a result in season 1" in capsys.readouterr().out
    shutil.rmtree(board.root / "seasons")
    board.check(folder)
    assert "mine: well formed, and without a result in any season" in capsys.readouterr().out
    assert "steps: expected one of" in refused(board.check, board.entry(steps=3))


@pytest.mark.skipif(sys.platform != "linux", reason="its file systems take any name")
def test_a_file_whose_name_is_not_utf_8_counts_for_the_entrys_hash(board):
    folder = board.entry()
    before = read_entry(folder).sha256
    (folder / os.fsdecode(b"\xff")).touch()
    assert read_entry(folder).sha256 != before


def test_files_that_flags_name_are_the_entrys_own(board):
    flags = ["--preset", "hybrid", "--policy", "net"]
    folder = board.entry(agent="jerk", steps=50_000, flags=flags)
    shutil.copytree(latest_checkpoint("ppo2"), folder / "net")
    assert read_entry(folder).agent.flags == (*flags,)


def test_an_entrys_own_net_may_have_the_name_of_a_shipped_one(board):
    folder = board.entry(agent="ppo2", checkpoint="ppo2")
    shutil.copytree(latest_checkpoint("ppo2").parent, folder / "ppo2")
    entry = read_entry(folder)
    assert Path(entry.agent.checkpoint).is_relative_to(folder.resolve())
    home = folder.with_name("copy")  # the entry's own folder is hidden from it
    words = command_of(entry, home, meet=home, work=home, seed=7)
    start = Path(words[words.index("--checkpoint") + 1])
    assert start.is_relative_to(home) and start.name == Path(entry.agent.checkpoint).name


def test_a_result_that_cannot_be_written_replaces_none(board, refused, monkeypatch):
    folder = board.entry()
    before = board.score(folder)

    def full(path, runs):
        raise OSError(errno.ENOSPC, "no space left on device")

    monkeypatch.setattr(result, "write_tape", full)
    assert "free some space there" in refused(board.score, folder, "--again")
    assert board.result() == before
    board.check(folder)


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [(shutil, "copytree", "set TMPDIR"), (os, "posix_fallocate", "No space left on device")],
)
def test_a_full_temporary_folder_is_no_fault_of_the_entry(
    module, name, said, board, refused, monkeypatch
):
    """The second of its runs finds no space, and the first one stays."""
    made, left = getattr(module, name), [1]

    def full(*args, **named):
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        left.pop()
        return made(*args, **named)

    monkeypatch.setattr(module, name, full)
    monkeypatch.setattr(running, "GRACE", float("inf"))  # none for who waits for a failed server
    assert said in refused(board.score, board.entry())
    assert len(list((board.results / "unfinished").iterdir())) == 1


def test_an_entry_of_another_board_is_not_scored(board, refused, tmp_path):
    copy = shutil.copytree(board.entry(), tmp_path / "elsewhere" / "entries" / "mine")
    said = refused(board.score, copy)
    assert f"{copy} is not in {board.root}/entries: copy it to {board.root}/entries" in said
    assert not board.results.exists()


def test_an_exported_net_is_scored_and_plays_as_its_agent(board):
    folder = board.entry(onnx="net.onnx")
    shutil.copy(ROOT / "web" / "agents" / "rainbow.onnx", folder / "net.onnx")
    for module in ("numpy", "resource"):
        (folder / f"{module}.py").write_text("raise SystemExit('a file of the entry was imported')")
    board.score(folder)
    board.check(folder)
    images = np.random.default_rng(0).integers(256, size=(8, 4, 84, 84), dtype=np.uint8)
    theirs = load_agent("rainbow").act(images, play="best")
    net = Net(folder / "net.onnx", seed=0)
    for play in (None, "draw"):  # whose noise the file lacks
        assert net.act(images, play=play).tolist() == theirs.tolist()


def net_of(**session):
    """A net without a file."""
    net = object.__new__(Net)
    net.session, net.random, net.state = SimpleNamespace(**session), np.random.default_rng(0), None
    return net


@pytest.mark.parametrize(
    ("play", "chances"),
    [
        ("draw", [0.1, 0.6, 0.3]),
        ("draw:0.5", [0.01 / 0.46, 0.36 / 0.46, 0.09 / 0.46]),
        ("epsilon:0.3", [0.1, 0.8, 0.1]),
        ("best", [0.0, 1.0, 0.0]),
    ],
)
def test_a_net_draws_its_actions_as_an_agent_does(play, chances):
    logits = np.tile(np.log([0.1, 0.6, 0.3]), (20_000, 1))
    drawn = net_of().chosen(logits, *parse_play(play))
    np.testing.assert_allclose(np.bincount(drawn, minlength=3) / len(drawn), chances, atol=0.01)


def test_a_net_with_a_memory_forgets_the_last_episode():
    remembered = []

    def run(_, given):
        remembered.append(given["state"].tolist())
        return np.zeros((2, 3), np.float32), given["state"] + 1

    inputs = [SimpleNamespace(name="images"), SimpleNamespace(name="state", shape=[None, 1])]
    outputs = [SimpleNamespace(name=name) for name in ("logits", "new_state")]
    net = net_of(get_inputs=lambda: inputs, get_outputs=lambda: outputs, run=run)
    for starts in ([True, True], [False, False], [False, True]):
        net.act(np.zeros((2, 1, 4, 4), np.uint8), play="best", starts=np.array(starts))
    assert remembered == [[[0], [0]], [[1], [1]], [[2], [0]]]


def test_a_net_of_another_frame_skip_is_refused():
    net = Net(ROOT / "web" / "agents" / "rainbow.onnx", seed=0)
    said = net.session.get_modelmeta().custom_metadata_map | {"frame_skip": "2"}
    with pytest.raises(UserError, match="trained with --frame-skip 2, and the contest has 4"):
        config_of(said, Path("net.onnx"))


DOCKER = f"""#!{sys.executable}
import os, sys
from pathlib import Path
words, here, _ = sys.argv[1:], Path(__file__).parent, os.environ["DOCKER_HOST"]
if words[0] == "image":
    sys.exit(not (here / "pull").exists())
elif words[0] in ("pull", "rm"):
    (here / words[0]).open("a").write(words[-1])
else:
    assert "/runs:mode=1777" in words and (here / "pull").exists()
    assert words[words.index("--network") + 1] == "none"
    meet = words[words.index("--volume") + 1].partition(":")[0]
    steps = next(word.partition("=")[2] for word in words if word.startswith("TIMESTEPS="))
    os.environ.update(CONTEST_DIR=meet, CONTEST_STEPS=steps)
    os.execvp("python", ["python", "play.py"])
"""
IMAGE = f"theirs@sha256:{64 * '0'}"


@pytest.fixture
def docker(tmp_path, monkeypatch):
    """A program in the place of Docker, which runs the file play.py."""
    folder = program(tmp_path / "bin" / "docker", DOCKER).parent
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("DOCKER_HOST", "unix:///theirs")  # without which it would find no images
    return folder


def test_an_image_is_scored_and_what_it_used_is_not_said(board, docker):
    board.score(board.entry(image=IMAGE, machine="cpu"))
    assert "| – | MIT |" in board.page()
    assert (docker / "rm").read_text().count(PREFIX) == SEEDS
    assert (docker / "pull").read_text() == IMAGE


@pytest.mark.usefixtures("docker")
@pytest.mark.parametrize("machine", ["cpu", "free"])
def test_an_image_gets_one_core_and_its_memory_unless_its_machine_is_free(board, tmp_path, machine):
    entry = read_entry(board.entry(image=IMAGE, machine=machine))
    words = command_of(entry, tmp_path, meet=tmp_path, work=tmp_path, seed=7)
    assert ("--cpus 1 --memory 4g" in " ".join(words)) == (machine == "cpu")


def test_podman_keeps_the_users_id_unless_that_is_root_or_wants_another(monkeypatch):
    monkeypatch.delenv("PODMAN_USERNS", raising=False)
    assert environment_for_engine(1000) == {**os.environ, "PODMAN_USERNS": "keep-id"}
    assert environment_for_engine(0) == {**os.environ}
    monkeypatch.setenv("PODMAN_USERNS", "host")
    assert environment_for_engine(1000) == {**os.environ}


def test_an_engine_that_does_not_answer_is_passed_over(board, docker, refused):
    works, folder = (docker / "docker").rename(docker / "works"), board.entry(image=IMAGE)
    for name in ("docker", "podman"):
        program(docker / name, "#!/bin/sh\nexit 1\n")
    assert f"neither docker nor podman can fetch {IMAGE}" in refused(board.score, folder)
    works.rename(docker / "podman")
    assert board.score(folder)["entry"] == "mine"


@pytest.mark.usefixtures("docker")
def test_an_image_has_the_cpu_time_by_the_clock(board, refused, monkeypatch):
    machine = running.Machine(start=0.5, step=0.0, stall=60, slack=100)
    monkeypatch.setitem(running.MACHINES, "cpu", machine)
    folder = board.entry("signal.pause()", image=IMAGE, machine="cpu")
    monkeypatch.setattr(running, "GRACE", 0.1)
    assert "ran past its limits" in refused(board.score, folder)


def test_an_agent_of_the_project_plays_in_the_contests_player(board, tmp_path):
    entry = read_entry(board.entry(agent="ppo2", checkpoint="ppo2", machine="cpu", play="best"))
    words = command_of(entry, tmp_path, meet=tmp_path, work=tmp_path, seed=7)
    config = parse_command(PlayerConfig, words[4:-1], command="retro-agents contest play")
    assert (config.agent, config.mode, config.play) == ("ppo2", "frozen", "best")
    assert (config.seed, config.timesteps, config.level) == (7, STEPS, "remote")
    assert config.device == "cpu"  # as its machine says


def test_an_entry_of_one_core_is_given_no_accelerator(board, tmp_path):
    given = {}
    for machine in ("cpu", "free"):
        entry = read_entry(board.entry(machine=machine))
        given[machine] = running.environment_of(entry, tmp_path, seed=7)
    own = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    assert given["cpu"] == given["free"] | own and not own.keys() & given["free"].keys()


def test_the_page_says_who_cannot_have_seen_the_acts(board):
    folder = board.entry(agent="run-and-jump", machine="cpu", what="runs")
    board.score(folder)
    text = board.page()
    assert "| mine | runs | we |" in text and "| no | none |" in text
    season = board.root / "seasons" / "1" / "season.json"
    facts = json.loads(season.read_text()) | {"entries": {"mine": read_entry(folder).sha256}}
    season.write_text(json.dumps(facts))
    text = board.page()
    assert "| yes | none |" in text and str(facts["seed"]) not in text


def test_the_page_has_the_best_entry_first(board):
    scores = {}
    for name, agent in (("a", "random"), ("b", "hold-right")):
        facts = {"agent": agent, "who": OURS if name == "a" else "Ada"}
        folder = shutil.copytree(board.entry(**facts), board.root / "entries" / name)
        scoring.main([str(folder), "--board", str(board.root)])
        path = board.root / "results" / "1" / name / "result.json"
        scores[name] = json.loads(path.read_text())["score"]
    assert scores["a"] < scores["b"]
    text = board.page()
    assert text.index("| b |") < text.index("| a |") and "| act | b | a |" in text
    assert "| Ada |" in text and text.count(f"| {OURS} |") == 1 and "**who**" not in text


def test_what_entries_say_of_themselves_is_no_markup_on_the_page(board):
    what = r"![x](http://a/b.png) *\\_ `c` {d} &lt;"
    board.score(board.entry(agent="random", what=what, licence="[MIT](u)"))
    text = board.page()
    assert r"| !\[x\](http://a/b.png) \*\\\\\_ \`c\` \{d\} \&lt; |" in text
    assert r"| \[MIT\](u) |" in text


def test_the_page_says_who_could_read_the_acts_and_that_no_learning_is_not_measured(board):
    scored = board.score(board.entry())
    assert "- **No learning** is what an entry says" in board.page() and "†" not in board.page()
    scored["measured"]["hidden"] = False
    (board.results / "result.json").write_text(json.dumps(scored))
    text = board.page()
    assert "| mine † | a test |" in text and "- †: scored where nothing was hidden" in text


def test_a_past_season_has_its_page_and_an_empty_one_replaces_none(board, refused, capsys):
    board.score(board.entry(agent="random"))
    text = board.page()
    assert ": 1 act, 3 seeds each." in text
    shutil.copytree(board.root / "seasons" / "1", board.root / "seasons" / "2")
    assert "no entry has a result in season 2" in refused(board.page)
    assert board.page("--season", "1") == text
    capsys.readouterr()
    board.check("--season", "1")
    assert "as recorded" in capsys.readouterr().out
    assert "--season 3: " in refused(board.check, "--season", "3")


def test_the_page_leaves_out_a_result_that_is_damaged_or_of_another_entry_or_game(
    board, refused, capsys
):
    folder = board.entry(agent="random", who="Al")
    scored = board.score(folder)
    other = shutil.copytree(folder, folder.with_name("other"))
    scoring.main([str(other), "--board", str(board.root)])

    def faulty(says: str) -> None:
        (board.root / "page.md").unlink(missing_ok=True)
        assert "1 of 2 entries failed: mine" in refused(board.page)
        text = (board.root / "page.md").read_text()
        assert "| other |" in text and "| mine |" not in text and "scored: mine." in text
        with pytest.raises(SystemExit):
            board.page()
        assert says in capsys.readouterr().err

    for change, says in (
        ({"score": "?"}, "result.json is damaged"),
        ({"acts": {}}, "has other acts than its season"),
        (
            {"inputs": scored["inputs"] | {"game": "?"}},
            "the game has changed since mine was scored",
        ),
    ):
        (board.results / "result.json").write_text(json.dumps(scored | change))
        faulty(says)
    (board.results / "result.json").write_text(json.dumps(scored))
    (folder / "entry.json").write_text((folder / "entry.json").read_text().replace("Al", "Ali"))
    faulty("the entry has changed since mine was scored")


def test_a_run_of_another_entry_season_or_game_is_played_anew(tmp_path):
    played = Played(array("H", [1, 2]), 3.0, 2.0, 1)
    scoring.remember(tmp_path / "Zone.Act1.0", played, inputs=["entry", "season", "game"])
    assert scoring.recall(tmp_path / "Zone.Act1.0", inputs=["entry", "season", "game"]) == played
    assert scoring.recall(tmp_path / "Zone.Act1.0", inputs=["entry", "season", "other"]) is None
    assert scoring.recall(tmp_path / "Zone.Act1.1", inputs=["entry", "season", "game"]) is None


def test_a_copy_of_a_seasons_folder_is_no_season(board):
    shutil.copytree(board.root / "seasons" / "1", board.root / "seasons" / "2.bak")
    assert current_season(board.root).number == 1


def test_a_new_season_has_acts_that_nobody_knew(board):
    mine = read_entry(board.entry())
    assert re.fullmatch(
        r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", board.score(mine.folder)["measured"]["scored"]
    )
    folder = open_season(board.root, acts=1, faults=Faults())
    season = current_season(board.root)
    assert re.fullmatch(r"20\d\d-\d\d-\d\d \d\d:\d\d UTC", season.facts.opened)
    modes = [path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())]
    assert modes == [0o700, 0o600, 0o600]  # until somebody publishes it
    assert season.facts.entries == {"mine": mine.sha256}  # which cannot have seen them
    assert (folder.name, season.number, len(season.acts)) == ("2", 2, 1)
    assert season.level(season.acts[0]) in season.cartridge.acts
    known = msgspec.structs.replace(season.facts, secret="")
    guessed = dataclasses.replace(season, facts=known)
    assert season.sticky_seed("A", 0) != guessed.sticky_seed("A", 0)  # the seed does not tell it
    (act,) = season.acts
    assert guessed.sticky_seed(act, 0) < 2**32 < season.sticky_seed(act, 0)  # too many to try all
    played = run_of(season, act, blind("random", season.entry_seed(act, 0)), steps=9, seed=0)
    assert replay(season, act, played.masks, seed=0).steps == 9


def test_the_oracle_practises_on_the_layout_of_the_season(board, monkeypatch):
    made = Mock(side_effect=UserError("enough"))
    monkeypatch.setattr("cartridge.levels.season.make_act", made)
    season = current_season(board.root)
    season = dataclasses.replace(
        season, facts=msgspec.structs.replace(season.facts, acts={"BrambleWood.Act2": 3})
    )
    with pytest.raises(UserError, match="enough"):
        oracle(season, "BrambleWood.Act2")
    made.assert_called_once_with(0, 2, season.facts.seed, layout=3)


def test_a_season_is_there_as_a_whole_or_not_at_all(board, monkeypatch):
    def stopped(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr("cartridge.levels.season.write_text", stopped)
        open_season(board.root, acts=1, faults=Faults())
    assert [path.name for path in (board.root / "seasons").iterdir()] == ["1"]
    assert open_season(board.root, acts=1, faults=Faults()).name == "2"


def test_a_season_is_opened_in_no_folder_that_is_missing(board, refused):
    said = refused(open_board, ["--board", str(board.root / "new"), "--acts", "1"])
    assert "there is no folder" in said and not (board.root / "new").exists()


def test_ours_are_well_formed_and_their_results_stand():
    board = ROOT / "leaderboard"
    entries = {path.name: read_entry(path) for path in sorted((board / "entries").iterdir())}
    assert verified(entries["random"], current_season(board), board).finished < 0.1
