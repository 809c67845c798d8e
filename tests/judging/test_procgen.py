import json
import shutil
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from ppo2.train import parse, run
from retro_agents.contract.episodes import Random
from retro_agents.games.families import make_for
from retro_agents.games.procgen.games import SCORES
from retro_agents.ground.errors import UserError
from retro_agents.judging.procgen import EvaluateConfig, main, player, score
from retro_agents.judging.sight import PLAYS
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.folder import alone_in
from retro_agents.run.metrics import read_columns
from tests.runs import but_for_config, latest_checkpoint

QUICK = [
    *("--preset", "procgen-easy", "--levels", "procgen:bigfish,bossfight", "--num-levels", "9"),
    *("--num-envs", "4", "--rollout-steps", "32", "--encoder", "data-efficient", "--widths", ""),
    *("--hidden", "16", "--timesteps", "256", "--minibatches", "2", "--epochs", "1"),
    *("--device", "cpu", "--precision", "fp32", "--microbatches", "1", "--torch-threads", "1"),
    *("--checkpoint-every", "128"),
    *("--recurrent", "gru", "--recurrent-hidden", "8", "--sequence-steps", "16"),
    *("--learning-rate-schedule", "constant"),
]
JUDGED = [
    *("--evaluate-every", "128", "--evaluate-episodes", "2"),
    *("--sight-every", "128", "--sight-episodes", "2"),
]


def learned(folder, *flags):
    config = parse([*QUICK, "--run-dir", str(folder), *flags])
    envs = make_for(config)
    run(envs, config, folder)
    envs.close()
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    return learned(tmp_path_factory.mktemp("run") / "a", *JUDGED)


def weights(folder: Path):
    folder = latest_checkpoint(folder)
    return {name: (folder / name).read_bytes() for name in ("net.safetensors", "state.msgpack")}


def test_evaluation_leaves_no_trace_in_the_run(finished, tmp_path):
    without = learned(tmp_path / "b")
    assert weights(finished) == weights(without)
    assert (finished / "episodes.csv").read_bytes() == (without / "episodes.csv").read_bytes()
    ours, plain = (read_columns(folder / "metrics.csv") for folder in (finished, without))
    assert np.isfinite(ours["train_return"]).all() and np.isfinite(ours["test_std"]).all()
    for name in PLAYS:
        assert np.isfinite(ours[f"sight/{name}"]).all()
    for kind in ("train", "test"):
        games = [ours[f"{kind}_return/{game}"] for game in ("bigfish", "bossfight")]
        np.testing.assert_allclose(np.mean(games, axis=0), ours[f"{kind}_return"])
        assert np.isfinite(ours[f"{kind}_normalised_repository"]).all()
    for name, column in plain.items():
        np.testing.assert_array_equal(ours[name], column)


def test_a_run_that_was_stopped_goes_on_exactly(finished, tmp_path):
    folder = learned(tmp_path / "c", *JUDGED, "--timesteps", "128")
    config = parse(["--run-dir", str(folder), "--resume", "--timesteps", "256"])
    run(make_for(config), config, folder)
    assert but_for_config(folder) == but_for_config(finished)


@pytest.mark.parametrize("policy", ["trained", "untrained", "random"])
def test_a_run_is_evaluated_on_both_sets(finished, tmp_path, policy, capsys):
    main([str(finished), "--episodes", "2", "--policy", policy, "--out", str(tmp_path / policy)])
    result = json.loads((tmp_path / policy / "result.json").read_text())
    assert result["policy"] == policy and result["env_steps"] == 256
    assert result["test_levels"]["start"] == 1_000_000
    for name, rows in result["sets"].items():
        told = [row.get("apart", {}).get("episodes") for row in rows.values()]
        assert told == ([2, 2] if name == "test" else [None, None])
    for games in result["sets"].values():
        assert list(games) == ["bigfish", "bossfight"]
        for game, row in games.items():
            assert len(row["returns"]) == 2
            assert row["mean"] == pytest.approx(np.mean(row["returns"]))
            low, high, *_ = SCORES[game]
            assert row["normalised"]["paper"] == pytest.approx((row["mean"] - low) / (high - low))
    assert "bossfight" in capsys.readouterr().out


def test_test_levels_that_begin_like_a_training_level_are_told(tmp_path, monkeypatch, capsys):
    run = learned(tmp_path / "a", "--levels", "procgen:maze", "--timesteps", "0")
    ends = [(0.0, 3), (10.0, 1_000_000)]  # of nine training levels, the first is one
    played = [{"r": r, "l": 3, "finished": r > 0, "level": f"maze:{seed}"} for r, seed in ends]
    monkeypatch.setattr("retro_agents.judging.procgen.evaluate", lambda *_, **__: {"maze": played})
    main([str(run), "--out", str(tmp_path / "out"), "--policy", "random", "--levels", "test"])
    result = json.loads((tmp_path / "out/result.json").read_text())["sets"]["test"]["maze"]
    assert (result["mean"], result["apart"]["mean"], result["apart"]["episodes"]) == (5.0, 10.0, 1)
    said = "maze: 1 of 2 test levels begin like a training level; mean return of the others: 10.00"
    assert said in capsys.readouterr().out


def test_each_set_is_scored_in_its_own_mode(tmp_path, monkeypatch):
    flags = ["--levels", "procgen:coinrun", "--distribution-mode", "exploration"]
    run = learned(tmp_path / "a", *flags, "--num-levels", "0", "--timesteps", "0")
    played = {"procgen:coinrun": [{"r": 10.0, "l": 3, "finished": True, "level": "coinrun:5"}]}
    monkeypatch.setattr("retro_agents.judging.procgen.evaluate", lambda *_, **__: played)
    main([str(run), "--out", str(tmp_path), "--policy", "random"])
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["sets"]["train"]["coinrun"]["normalised"]["paper"] is None  # has no range
    assert result["sets"]["test"]["coinrun"]["normalised"]["paper"] == 1.0
    assert result["mode"] == "exploration" and result["test_levels"]["mode"] == "hard"


@pytest.mark.parametrize(
    ("game", "ends"),
    [("coinrun", (0.0, 10.0)), ("starpilot", (0.0, 68.531)), ("fruitbot", (-58.531, 68.531))],
)
def test_an_interval_has_only_possible_returns(game, ends):
    episodes = [{"r": r, "finished": False, "l": 1} for r in (0.0, 10.0)]
    assert score(episodes, game, "easy")["interval"] == pytest.approx(ends, abs=1e-3)


def test_an_agent_that_does_not_play_is_not_loaded(finished, tmp_path, monkeypatch):
    monkeypatch.delattr("retro_agents.judging.procgen.load_agent")
    main([str(finished), "--episodes", "1", "--policy", "random", "--out", str(tmp_path)])
    assert json.loads((tmp_path / "result.json").read_text())["train_seed"] == 0


@pytest.mark.usefixtures("without_libgl")
def test_a_missing_library_of_the_system_is_one_line(finished, tmp_path, refused):
    said = refused(main, [str(finished), "--out", str(tmp_path / "out")])
    assert said.startswith("error: EnvPool does not start: libGL.so.1")
    assert "apt-get install libgl1" in said and not (tmp_path / "out").exists()


def test_films_are_written(finished, tmp_path):
    main([str(finished), "--episodes", "1", "--levels", "test", "--video", "--out", str(tmp_path)])
    films = sorted(path.name for path in tmp_path.glob("*.mp4"))
    assert films == ["bigfish-test.mp4", "bossfight-test.mp4"]


def test_a_run_on_other_levels_is_refused(trained):
    with pytest.raises(UserError, match=r"retro-agents evaluate"):
        main.__wrapped__([str(trained("ppo2")[1])])


@pytest.fixture
def quickly(finished, tmp_path, monkeypatch):
    """An evaluation of a copy of the finished run, in which nobody plays."""
    folder = tmp_path / "a"
    shutil.copytree(finished, folder)

    def evaluate(policy, levels, settings, *, episodes, seed, play):
        mean = settings.start_level / 1_000_000 + seed
        ended = {"r": mean, "l": 3, "finished": True}
        return {
            f"procgen:{game}": [{**ended, "level": f"{game}:5"}] * episodes
            for game in ("bigfish", "bossfight")
        }

    monkeypatch.setattr("retro_agents.judging.procgen.evaluate", evaluate)
    return folder, lambda *flags: main([str(folder), "--policy", "random", *flags])


def test_films_are_of_the_levels_of_their_set_and_in_the_way_that_was_played(quickly, monkeypatch):
    folder, _ = quickly
    made = Mock(side_effect=lambda policy, game, settings, path, **_: path)
    monkeypatch.setattr("retro_agents.judging.procgen.film", made)
    main([str(folder), "--video", "--play", "best", "--seed", "3"])
    told = [(call.args[3].stem, call.args[2].start_level) for call in made.call_args_list]
    games, first = ("bigfish", "bossfight"), {"train": 0, "test": 1_000_000}
    assert told == [(f"{game}-{name}", level) for name, level in first.items() for game in games]
    ways = [(call.kwargs["way"], call.kwargs["seed"]) for call in made.call_args_list]
    assert ways == [("best", 3)] * 4


def test_an_untrained_player_has_fresh_weights_of_its_seed(finished):
    saved = load_checkpoint(finished)
    policies = ("trained", "untrained", "untrained")
    players = [player(EvaluateConfig(finished, policy=policy), saved) for policy in policies]
    trained, one, other = (each.net.state_dict() for each in players)
    assert all(torch.equal(one[name], other[name]) for name in one)
    assert not all(torch.equal(one[name], trained[name]) for name in one)


def test_evaluations_of_other_sets_levels_episodes_and_seeds_are_all_kept(quickly):
    folder, judge = quickly
    ways = [[], ["--levels", "train"], ["--levels", "test"], ["--test-levels", "all"],
            ["--episodes", "2"], ["--seed", "1"]]  # fmt: skip
    for flags in ways:
        judge(*flags)
    found = {path.parent.name: path for path in folder.glob("evaluations/*/result.json")}
    step = latest_checkpoint(folder).name
    endings = ["", "-train", "-test", "-all", "-2-episodes", "-seed-1"]
    assert set(found) == {f"{step}-random{ending}" for ending in endings}
    judge("--levels", "test", "train")  # the same again
    assert len(list(folder.glob("evaluations/*"))) == len(endings)


def test_an_evaluation_of_no_levels_is_refused(quickly, refused):
    folder, judge = quickly
    assert "--levels needs a value" in refused(judge, "--levels")
    said = refused(judge, "--levels", "train", "--test-levels", "unseen")
    assert "--test-levels has no effect without --levels test" in said
    assert not (folder / "evaluations").exists()


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ({"levels": ["test"], "seed": 1}, "other levels, seed"),
        ({"checkpoint_sha256": "another"}, "other checkpoint_sha256"),
        ({"sight": True}, "other sight"),
    ],
)
def test_a_result_of_another_evaluation_is_not_written_over(
    before, said, quickly, tmp_path, refused
):
    _, judge = quickly
    flags, path = ["--out", str(tmp_path), "--levels", "train"], tmp_path / "result.json"
    judge(*flags)
    path.write_text(json.dumps(json.loads(path.read_text()) | before))
    stored = path.read_bytes()
    assert said in refused(judge, *flags)
    assert path.read_bytes() == stored


def test_a_second_evaluation_in_a_folder_is_refused(quickly, tmp_path, monkeypatch, refused):
    _, judge = quickly
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)
    with alone_in(tmp_path):
        said = refused(judge, "--out", str(tmp_path))
    assert f"another evaluation writes to {tmp_path}" in said
    assert not (tmp_path / "result.json").exists()


def test_what_was_played_is_shown_even_if_it_cannot_be_stored(quickly, monkeypatch, capsys):
    folder, _ = quickly
    full = Mock(side_effect=UserError("full disk"))
    monkeypatch.setattr("retro_agents.judging.procgen.write_result", full)
    with pytest.raises(UserError, match="full disk"):
        main.__wrapped__([str(folder), "--policy", "random"])
    assert "bossfight" in capsys.readouterr().out


def test_where_nothing_can_be_written_nobody_plays(quickly, monkeypatch, refused):
    _, judge = quickly
    monkeypatch.setattr(
        "retro_agents.judging.procgen.evaluate", lambda *_, **__: pytest.fail("played")
    )
    assert "/dev/null" in refused(judge, "--out", "/dev/null/out")


def test_help_names_the_sets(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "--levels [{train,test} ...]" in " ".join(capsys.readouterr().out.split())


class Looks(Random):
    """DOWN at pictures whose sum is even, else UP, where it is told so."""

    def act(self, obs, *, play=None, starts=None):
        assert play == "draw:2"
        return np.where(obs.sum(axis=(1, 2, 3)) % 2, 5, 3)


def test_sight_is_told_beside_the_returns(finished, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("retro_agents.judging.procgen.player", lambda *_: Looks(15, seed=0))
    flags = ["--levels", "test", "--episodes", "4", "--play", "draw:2"]
    main([str(finished), *flags, "--episodes", "1", "--out", str(tmp_path / "plain")])
    main([str(finished), *flags, "--sight", "--out", str(tmp_path)])
    sets = json.loads((tmp_path / "result.json").read_text())["sets"]
    for game in ("bigfish", "bossfight"):
        row = sets["test"][game]
        assert set(row["sight"]) == {"shuffled", "blind"}
        assert all(len(one["returns"]) == 4 for one in (row, *row["sight"].values()))
        assert row["steps"] != row["sight"]["blind"]["steps"]
    said = capsys.readouterr().out
    assert "shuffled" in said and "…" not in said and "nan" not in said
