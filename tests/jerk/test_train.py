import json
from pathlib import Path

import numpy as np
import pytest

from experiment.checkpoint import load_agent, load_checkpoint
from experiment.config import load_config, replaced
from experiment.errors import UserError
from experiment.metrics import read_columns
from jerk.config import JerkConfig
from jerk.train import PRESETS, Training, main, run
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig

LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"
ROOT = Path(__file__).parents[2]


def preset(name, **changes):
    config = load_config(JerkConfig, ["--preset", name], presets=PRESETS, command="test")
    quick = {
        "timesteps": 600,
        "num_envs": 2,
        "device": "cpu",
        "image_height": 36,
        "image_width": 36,
        "max_return": 30.0,
        "log_every": 50,
        "checkpoint_every": 200,
        "hidden": 16,
        "update_every": 20,
        "batch_size": 8,
    }
    return replaced(config, **{**quick, **changes})


def whole_run(folder):
    """All that a run leaves, but for the config."""
    saved = load_checkpoint(folder)
    tables = [(folder / name).read_text() for name in ("metrics.csv", "episodes.csv")]
    meta = json.loads((saved.folder / "meta.json").read_text())
    files = {name: file["sha256"] for name, file in meta["files"].items() if name != "config.json"}
    return tables, saved.counters, files


@pytest.mark.parametrize(("name", "steps"), [("baseline", 20_000), ("mutating", 5_000)])
def test_agent_learns_the_course(course, tmp_path, name, steps):
    agent = run(course(2), preset(name, timesteps=steps), tmp_path / "run")
    returns = read_columns(tmp_path / "run/episodes.csv")["r"]
    assert returns[:10].mean() < 12.0 and returns[-20:].mean() > 29.0
    envs, played = course(1), []
    obs, _ = envs.reset()
    while len(played) < 2:  # the second episode too: the first observation says that it begins
        obs, _, _, _, infos = envs.step(agent.act(obs))
        played += [float(infos["episode"]["r"][0])] if "episode" in infos else []
    assert played == [30.0, 30.0]


@pytest.mark.parametrize("name", ["baseline", "mutating", "hybrid"])
def test_same_seed_gives_the_same_run_and_another_seed_another(course, tmp_path, name):
    for folder, seed in (("one", 0), ("two", 0), ("other", 1)):
        run(course(2), preset(name, seed=seed, timesteps=300), tmp_path / folder)
    assert whole_run(tmp_path / "one") == whole_run(tmp_path / "two")
    assert whole_run(tmp_path / "one")[0] != whole_run(tmp_path / "other")[0]


@pytest.mark.parametrize(
    "flags",
    [
        {},
        {"embed": "policy", "memory_share": 0.0},
        {"memory_capacity": 60, "sequences": 2},
        {"policy": "rainbow"},
    ],
    ids=["mutating", "embedding", "full", "trained policy"],
)
def test_interrupted_run_goes_on_exactly(course, tmp_path, flags):
    class Stop(Exception):  # noqa: N818
        pass

    if "policy" in flags:
        flags = {**flags, "policy": saved_rainbow(tmp_path / "rainbow")}
    config = preset("hybrid" if flags else "mutating", **flags)
    run(course(2), config, tmp_path / "whole")
    envs, calls = course(2), []
    step = envs.step_wait

    def step_wait():
        calls.append(0)
        if len(calls) == 150:  # of 300: after the checkpoint at 200 of 600 steps
            raise Stop
        return step()

    envs.step_wait = step_wait
    with pytest.raises(Stop):
        run(envs, config, tmp_path / "parts")
    run(course(2), replaced(config, resume=True), tmp_path / "parts")
    assert whole_run(tmp_path / "whole") == whole_run(tmp_path / "parts")


def test_reward_scale_changes_nothing(course, tmp_path):
    """In the seed, rewards were scaled by 0.01 while the largest return stayed 10000."""

    class Scaled(type(course(1))):
        def step_wait(self):
            obs, rewards, *rest = super().step_wait()
            return (obs, rewards * 0.25, *rest)

    run(course(2), preset("mutating"), tmp_path / "plain")
    run(Scaled(2), preset("mutating", reward_scale=0.25), tmp_path / "scaled")
    assert whole_run(tmp_path / "plain") == whole_run(tmp_path / "scaled")


def test_every_action_can_be_remembered(course, tmp_path):
    """The seed's memory kept LEFT only."""
    run(course(2), preset("mutating", timesteps=2000), tmp_path / "run")
    saved = json.loads((tmp_path / "run/sequences.json").read_text())
    assert saved["buttons"][1] == "RIGHT" and saved["frame_skip"] == 4
    table = saved["levels"]["course"]
    assert {1, 6} <= {action for row in table for action in row["actions"]}
    assert table[0]["mean_return"] == 30.0 and len(table) <= 10


def test_new_run_starts_from_the_sequences_of_another(course, tmp_path):
    run(course(2), preset("mutating", timesteps=2000), tmp_path / "source")
    run(course(1), preset("baseline", num_envs=1), tmp_path / "new", init=tmp_path / "source")
    assert load_checkpoint(tmp_path / "new").state["counts"]["replay"] > 0
    assert read_columns(tmp_path / "new/metrics.csv")["best"][0] == 30.0


def test_checkpoint_of_more_actions_is_refused_in_one_line(course, tmp_path):
    run(course(1), preset("baseline", num_envs=1), tmp_path / "source")
    path = next((tmp_path / "source").glob("checkpoints/*/config.json"))
    ten = replaced(preset("baseline", num_envs=1), actions=10)
    run(course(1), ten, tmp_path / "ten")
    with pytest.raises(UserError, match="--actions 10") as error:
        Training(preset("baseline"), 1).start_from(tmp_path / "ten")
    assert "\n" not in str(error.value) and path.is_file()


def test_saved_agent_acts_alike(course, tmp_path):
    agent = run(course(2), preset("mutating", timesteps=2000), tmp_path / "run")
    agent.save(tmp_path / "alone")
    first, _ = course(3).reset()
    agents = [agent, *(load_agent(tmp_path / name) for name in ("run", "alone"))]
    for _ in range(10):
        actions = [one.act(first) for one in agents]
        np.testing.assert_array_equal(actions[0], actions[1])
        np.testing.assert_array_equal(actions[0], actions[2])


def test_memory_and_sequences_are_capped(course, tmp_path):
    """In the seed, neither was, and nothing was recognised as known."""
    run(course(2), preset("hybrid", memory_capacity=30, sequences=3), tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")
    assert len(saved.arrays["memory-returns"]) == 30
    assert saved.arrays["memory-counts"][0] > 100  # merged
    assert max(len(found) for found in saved.state["sequences"]["levels"].values()) == 3


def test_metrics_show_how_the_search_stands(course, tmp_path):
    run(course(2), preset("hybrid", timesteps=800), tmp_path / "run")
    columns = read_columns(tmp_path / "run/metrics.csv")
    assert list(columns)[1:6] == ["best", "replays", "accepted", "memory", "hit_rate"]
    assert 0.0 < columns["hit_rate"][-1] <= 1.0 and columns["memory"][-1] > 0
    assert np.isfinite(columns["imitation_loss"][-1]) and columns["best"][-1] > 0.0


def rainbow_config(**changes):
    small = {"image_height": 36, "image_width": 36, "hidden": 16, "encoder": "data-efficient"}
    quick = {"timesteps": 40, "num_envs": 1, "device": "cpu", "replay_size": 5000}
    return replaced(RainbowConfig(), **{**small, **quick, "reward_scale": 0.5, **changes})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--levels", "bramble-trian"], "bramble-train"),
        (["--preset", "mutatin"], "mutating"),
        (["--levels", LEVEL, "--init", "/nowhere"], "checkpoint"),
        (["--levels", LEVEL, "--sequences", "0"], "sequences"),
        (["--levels", LEVEL, "--policy-share", "0.5"], "--policy"),
        (["--levels", LEVEL, "--policy-share", "0.7", "--memory-share", "0.7"], "together"),
    ],
)
def test_bad_input_is_one_clear_line(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and words in lines[0]


def saved_rainbow(folder):
    config = rainbow_config()
    RainbowAgent(make_net(config), config).save(folder)
    return str(folder)


@pytest.mark.parametrize(
    "flags",
    [
        *({"closed_loop": False}, {"memory_share": 0.0}, {"write_replay": False}),
        *({"record": True}, {"policy": "runs/other"}),
    ],
)
def test_a_run_goes_on_with_the_parts_that_it_had(course, tmp_path, flags):
    run(course(2), preset("hybrid", timesteps=200), tmp_path / "run")
    config = preset("hybrid", timesteps=300, resume=True, **flags)
    (name,) = flags
    with pytest.raises(UserError, match=name.replace("_", "-")):
        run(course(2), config, tmp_path / "run")


def test_an_agent_without_a_run_is_not_resumed(course, tmp_path):
    run(course(2), preset("baseline", timesteps=200), tmp_path / "run").save(tmp_path / "alone")
    (tmp_path / "alone/config.json").write_text("{}")
    with pytest.raises(UserError, match="--init"):
        run(course(2), preset("baseline", timesteps=300, resume=True), tmp_path / "alone")
