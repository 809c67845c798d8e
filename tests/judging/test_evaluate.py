import errno
import io
import json
import os
import re
import signal
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from rainbow.agent import RainbowAgent
from retro_agents.contest.run import main as contest
from retro_agents.games.families import make
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import HOLDS
from retro_agents.ground.statistics import t_interval
from retro_agents.judging.evaluate import (
    Found,
    agent_in,
    film_best,
    made_out,
    main,
    play_level,
)
from retro_agents.judging.levels import held_out, playable_levels
from retro_agents.judging.policies import contest_settings, load_policy
from retro_agents.judging.score import Episode
from retro_agents.judging.watch import main as watch
from retro_agents.run.checkpoint import latest_checkpoint, load_agent, save_checkpoint
from retro_agents.run.fields import fields
from retro_agents.run.folder import alone_in
from tests.agents.tiny import train
from tests.runs import tell

LEVEL = Level("BrambleDash-Genesis-v0", "BrambleWood.Act1")
SHORT = EnvConfig(episode_steps=25)
PRETRAINED = Path(__file__).parents[2] / "rainbow" / "pretrained"


def test_same_seed_plays_the_same_episodes():
    runs = [play_level(REFERENCES["random"](0), LEVEL, SHORT, episodes=2)[0] for _ in range(2)]
    assert runs[0] == runs[1]
    assert [episode.l for episode in runs[0]] == [25, 25]


def test_the_documented_lines_play_the_episodes_of_the_command(tmp_path, capsys):
    text = (PRETRAINED.parents[1] / "docs" / "reference" / "evaluation.md").read_text()
    (code,) = re.findall(r"### From Python\n.*?```python\n(.*?)```", text, re.DOTALL)
    names = {}
    exec(code, names)
    (command,) = re.findall(r"`retro-agents evaluate (ppo2 .* --episodes 1)`", text)
    main([*command.split(), "--out", str(tmp_path / "judged")])
    last = json.loads((tmp_path / "judged" / "result.json").read_text())["scores"][1]
    assert (last["mean"], last["steps"]) == (names["played"][0].r, names["played"][0].l)


def test_later_episodes_have_the_next_seeds_and_the_best_one_is_filmed(tmp_path, monkeypatch):
    ends, seeds = [(3.0, False), (9.0, True), (5.0, False)], []

    def episode(policy, env, *, seed, on_moment, **_):
        r, finished = ends[len(seeds)]
        seeds.append(seed)
        on_moment(r)
        return Episode("one", r, 10, 0.1, finished)

    monkeypatch.setattr("retro_agents.judging.evaluate.play_episode", episode)
    options = {"episodes": 3, "seed": 7, "record_dir": tmp_path}
    played, shown = play_level(REFERENCES["random"](0), LEVEL, SHORT, **options)
    assert (seeds, shown) == ([7, 8, 9], [9.0])
    made = Mock()
    monkeypatch.setattr("retro_agents.judging.evaluate.film", made)
    film_best(Path("Act1.mp4"), played, shown, SHORT.spec(), "me")
    assert made.call_args.args[1] == {"me, Act1: best of 3": [9.0]}
    assert made.call_args.kwargs["ends"] == {"me, Act1: best of 3": "FINISHED"}


def test_trained_agent_is_played_scored_and_filmed(tmp_path, monkeypatch):
    words = ["--episodes", "3"]
    monkeypatch.setattr("retro_agents.judging.policies.fields", lambda *_: [])  # short episodes
    train("rainbow", tmp_path / "agent", "--timesteps", 0, "--episode-steps", 25)
    out = tmp_path / "out"
    left_over = out / f".{LEVEL.state}"  # by an evaluation that was killed
    left_over.mkdir(parents=True)
    for number in range(3):
        (left_over / f"{LEVEL.game}-{LEVEL.state}-{number:06d}.bk2").touch()
    main([str(tmp_path / "agent"), "--levels", str(LEVEL), "--video", "--out", str(out), *words])
    (row,) = json.loads((out / "result.json").read_text())["scores"]
    assert row["episodes"] == 3
    made = {f"{LEVEL.state}.bk2", f"{LEVEL.state}.mp4", "result.json"}
    assert {path.name for path in out.iterdir()} == made
    assert (out / "BrambleWood.Act1.bk2").stat().st_size > 0


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (KeyboardInterrupt(), 130, "interrupted; 2 of 11 levels are in {}/result.json"),
        (UserError("its state is damaged"), 2, "error: its state is damaged"),
        (signal.SIGTERM, 143, ""),
    ],
)
def test_what_ends_at_a_level_leaves_those_before_it(
    error, code, says, tmp_path, monkeypatch, capsys
):
    left = [1, 1]

    def ends(*args, record_dir, **settings):
        record_dir.mkdir()
        if not left and isinstance(error, int):
            tell(error)
        if not left:
            raise error
        left.pop()
        return [Episode("one", 900.0, 10, 0.1, False)], []

    monkeypatch.setattr("retro_agents.judging.evaluate.play_level", ends)
    monkeypatch.setattr("retro_agents.judging.evaluate.film", lambda path, *_, **__: path)
    out = tmp_path / "out"
    words = ["random", "--levels", "bramble-test", "--video", "--out", str(out)]
    with pytest.raises(SystemExit, match=str(code)):
        main(words)
    assert says.format(out) in capsys.readouterr().err
    result = json.loads((out / "result.json").read_text())
    assert [*result["returns"].values()] == [[900.0]] * 2
    assert result["scores"][-1]["label"] == "2 of 11 levels"
    assert [path.name for path in out.iterdir()] == ["result.json"]  # nothing hidden
    with pytest.raises(SystemExit, match=str(code)):  # in the first level
        main([*words[:-1], str(tmp_path / "none")])
    assert not (tmp_path / "none").exists()


def test_one_episode_of_the_first_held_out_act_ends_without_progress(tmp_path, capsys):
    steps = []
    for name, words in (("cut", []), ("whole", ["--whole"])):
        main(["run-and-jump", "--out", str(tmp_path / name), *words])
        (row,) = json.loads((tmp_path / name / "result.json").read_text())["scores"]
        assert (row["label"], row["episodes"]) == ("BrambleWood.Act3", 1)
        steps.append(row["steps"])
    assert 300 < steps[0] < steps[1] == 300 * 15
    said = capsys.readouterr()
    assert "300/300 seconds of play" in said.err
    assert "One level, one episode: for a score give --levels bramble-test --episodes 4" in said.out


def test_levels_are_given_so_that_they_add_nothing_to_the_interval(tmp_path, monkeypatch):
    told = []

    def play(policy, level, settings, *, episodes, seed, play, patience, **_):
        told.append((seed, play, patience, settings.backend))
        own = 100.0 if level.state.endswith("Act1") else 9000.0
        returns = [own + number for number in range(episodes)]
        return [Episode(str(level), r, 10, 0.5, False) for r in returns], []

    loads = Mock(wraps=load_policy)
    monkeypatch.setattr("retro_agents.judging.evaluate.play_level", play)
    monkeypatch.setattr("retro_agents.judging.evaluate.load_policy", loads)
    levels = "BrambleWood.Act1,BrambleWood.Act2"
    words = ["--episodes", "5", "--seed", "7", "--play", "best", "--out", str(tmp_path / "out")]
    main(["ppo2", "--levels", levels, "--backend", "emulator", *words])
    assert told == [(7, "best", 20 * 15, "emulator")] * 2
    loads.assert_called_once_with("ppo2", seed=7, device="cpu")
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    row = result["scores"][-1]
    assert result["backend"] == "emulator"
    assert (row["label"], row["mean"]) == ("all levels", 4552.0)
    assert [len(own) for own in result["returns"].values()] == [5, 5]
    assert result["returns"]["BrambleDash-Genesis-v0:BrambleWood.Act1"][1] == 101.0
    assert (row["low"], row["high"]) == pytest.approx(t_interval([4550, 4551, 4552, 4553, 4554]))


def test_sight_is_tested_on_all_held_out_levels(tmp_path, monkeypatch):
    tested = Mock(return_value=Found({}, ()))
    monkeypatch.setattr("retro_agents.judging.evaluate.evaluate_sight", tested)
    main(["ppo2", "--sight", "--out", str(tmp_path / "out")])
    assert tested.call_args.args[1] == playable_levels("bramble-test")


@pytest.mark.parametrize("error", [errno.EPIPE, errno.ENOSPC, errno.EIO])
def test_what_was_played_is_stored_even_if_it_cannot_be_printed(error, tmp_path, monkeypatch):
    """Into a pipe that nobody reads, on a full disk, on a terminal that is gone."""
    stream = io.StringIO()
    stream.write = stream.flush = Mock(side_effect=OSError(error, "x"))
    stream.fileno = lambda: os.open(os.devnull, os.O_WRONLY)
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, stream)
    with pytest.raises(SystemExit):
        main(["random", "--levels", str(LEVEL), "--out", str(tmp_path / "out")])
    assert json.loads((tmp_path / "out/result.json").read_text())["scores"]


def test_what_was_played_is_shown_even_if_it_cannot_be_stored(tmp_path, monkeypatch, capsys):
    episode = Episode("one", 900.0, 10, 0.1, False)
    monkeypatch.setattr(
        "retro_agents.judging.evaluate.play_level", lambda *_, **__: ([episode], [])
    )
    full = Mock(side_effect=UserError("full disk"))
    monkeypatch.setattr("retro_agents.judging.evaluate.store", full)
    with pytest.raises(UserError, match="full disk"):
        main.__wrapped__(["random", "--levels", str(LEVEL), "--out", str(tmp_path / "out")])
    assert "900" in capsys.readouterr().out


def test_what_was_played_is_stored_if_its_film_fails_and_a_missing_extra_is_said_first(
    tmp_path, monkeypatch, refused
):
    command = ["random", "--levels", str(LEVEL), "--video", "--out", str(tmp_path / "out")]
    failing = Mock(side_effect=UserError("no film"))
    monkeypatch.setattr("retro_agents.judging.evaluate.film", failing)
    assert refused(main, command, noisy=True) == "error: no film"
    assert json.loads((tmp_path / "out/result.json").read_text())["scores"]
    monkeypatch.setitem(sys.modules, "imageio", None)
    command += ["--out", str(tmp_path / "more/out")]
    assert "imageio is not installed" in refused(main, command)
    assert not (tmp_path / "more").exists()


def test_an_evaluation_that_cannot_begin_leaves_no_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failing = Mock(side_effect=UserError("no"))
    monkeypatch.setattr("retro_agents.judging.evaluate.play_level", failing)
    for words in ([], ["--out", "some/where"]):
        with pytest.raises(SystemExit):
            main(["random", *words])
    assert not [*tmp_path.glob("runs/*"), *tmp_path.glob("some")]


def test_an_evaluation_is_never_overwritten(tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    for name in ("runs/evaluation-001", "runs/evaluation-002"):
        with made_out(None) as made:
            assert str(made) == name
    with made_out(Path("given")) as made:
        assert str(made) == "given"
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    command = ["random", "--levels", str(LEVEL), "--out", "given"]
    with alone_in(Path("given")):
        assert "another evaluation writes to given" in refused(main, command)
    for name, what in HOLDS.items():
        (Path("given") / name).touch()
        assert f"given already holds {what}" in refused(main, command)
        (Path("given") / name).unlink()


def test_agent_sees_what_it_was_trained_with_and_plays_by_the_contests_rules():
    seen = {"actions": 10, "colour": "rgb", "frame_stack": 2}
    rules = {"stick_probability": 0.0, "episode_steps": 25, "scenario": "mine"}
    assert {"frame_skip", *rules} == set(fields(EnvConfig, "rules"))
    assert contest_settings(EnvConfig(**seen, **rules)) == EnvConfig(**seen)
    with pytest.raises(UserError, match="trained with --frame-skip 8, and the contest has 4"):
        contest_settings(EnvConfig(frame_skip=8))


def test_an_agent_of_another_family_is_refused_in_a_line():
    with pytest.raises(UserError, match="levels of procgen, and the contest has others"):
        contest_settings(ProcgenConfig())
    with pytest.raises(UserError, match="procgen:coinrun is not of the games"):
        make("procgen:coinrun", EnvConfig(), num_envs=1)
    with pytest.raises(UserError, match="give levels of procgen"):
        make("bramble-test", ProcgenConfig(), num_envs=1)


def test_a_contests_folder_means_the_agent_in_it(tmp_path):
    facts = {"name": "rainbow", "mode": "frozen", "checkpoint": str(PRETRAINED)}
    (tmp_path / "contest.json").write_text(json.dumps(facts))
    assert agent_in(tmp_path) == str(PRETRAINED)
    (tmp_path / "contest.json").write_text(json.dumps({**facts, "mode": "adapt"}))
    with pytest.raises(UserError, match="holds 0 agents: rainbow saved none"):
        agent_in(tmp_path)
    learned = [tmp_path / f"Game-Act1/seed-{seed}/agent" for seed in (0, 1)]
    learned[0].mkdir(parents=True)
    (tmp_path / "Game-Act1/seed-0.interrupted-1/agent").mkdir(parents=True)  # was set aside
    assert agent_in(tmp_path) == str(learned[0])
    learned[1].mkdir(parents=True)
    with pytest.raises(UserError, match=r"holds 2 agents: give one, such as .*seed-0/agent"):
        agent_in(tmp_path)
    other, own = tmp_path / "other", {"mode": None, "checkpoint": ""}
    other.mkdir()
    (other / "contest.json").write_text(json.dumps({**own, "name": "mine:act"}))
    with pytest.raises(UserError, match="mine:act saved none; `retro-agents contest report"):
        agent_in(other)
    (other / "contest.json").write_text(json.dumps({**own, "name": "random"}))
    assert agent_in(other) == "random"
    (other / "contest.json").write_text("{}")
    with pytest.raises(UserError, match=r"contest\.json is damaged: it lacks checkpoint"):
        agent_in(other)


def test_a_level_that_is_meant_twice_is_played_once():
    assert list(map(str, playable_levels(f"{LEVEL},{LEVEL}"))) == [str(LEVEL)]


@pytest.fixture
def learned(tmp_path):
    """learned(levels): a checkpoint that says no more than where its agent learned."""

    def folder(levels):
        config = {"run": {"levels": levels}}
        return str(save_checkpoint(tmp_path, agent="ppo2", config=config, tensors={}))

    return folder


@pytest.mark.parametrize(
    ("levels", "judged_on"),
    [
        ("bramble-train", "bramble-test"),
        ("BrambleWood.Act1", "bramble-test"),
        ("remote", "bramble-test"),
        ("sonic-train", "sonic-test"),
        ("SonicTheHedgehog-Genesis:GreenHillZone.Act1", "sonic-test"),
    ],
)
def test_an_agent_is_judged_on_the_test_split_of_its_games(learned, levels, judged_on):
    assert held_out(learned(levels)) == judged_on


def test_an_agent_of_fresh_cartridges_is_judged_on_the_free_games_test_split(learned, monkeypatch):
    fresh = "Airstriker-Genesis-v0"  # as if it were one
    monkeypatch.setattr("retro_agents.judging.levels.is_native", fresh.__eq__)
    assert held_out(learned(f"{fresh}:Level1")) == "bramble-test"


@pytest.mark.parametrize("player", ["", *REFERENCES])
def test_a_player_that_learned_nothing_is_judged_on_the_free_games_test_split(player):
    assert playable_levels("", agent=player) == playable_levels("bramble-test")


@pytest.mark.parametrize(
    ("levels", "says"),
    [
        ("procgen:coinrun", "`retro-agents procgen evaluate` judges it"),
        ("gone.csv", "(cannot read levels from gone.csv: No such file or directory): give --lev"),
        ("Nowhere.Act1", "`retro-agents list levels` prints them): give --levels"),
        ("Airstriker-Genesis:Level1", "which has no split for tests: give --levels"),
    ],
)
def test_levels_are_asked_for_where_an_agents_games_have_no_test_split(
    learned, refused, monkeypatch, levels, says
):
    agent = learned(levels)
    monkeypatch.setattr("retro_agents.judging.watch.open_window", lambda *_, **__: (None, None))
    for call, words in ((main, []), (watch, []), (contest, ["--agent", "ppo2", "--checkpoint"])):
        assert says in refused(call, [*words, agent])


def test_a_shipped_agent_is_found_by_its_name_from_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert isinstance(load_agent("rainbow"), RainbowAgent)
    (tmp_path / "rainbow").mkdir()  # of the same name, and no checkpoint
    assert latest_checkpoint("rainbow").parent == PRETRAINED
