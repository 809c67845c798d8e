import json
from dataclasses import replace

import numpy as np
import pytest

from jerk.train import main, run
from rainbow.config import RainbowConfig
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import replaced
from retro_agents.run.folder import RunFolder
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import SMALL, untrained
from tests.jerk.driving import preset_config
from tests.runs import but_for_config

PARTS = {"memory_share": 0.25, "write_replay": True, "torch_threads": 1}
"""What a search may have besides its rules, but for a policy."""


def preset(name, **changes):
    """A tiny run's config; parts: `mutating` with PARTS, and a policy plays if it is given."""
    if name == "parts":
        plays = {"policy_replays": 0.5} if changes.get("policy") else {}
        name, changes = "mutating", {**PARTS, **plays, **changes}
    quick = {
        "timesteps": 600,
        "num_envs": 2,
        "device": "cpu",
        "image_height": 36,
        "image_width": 36,
        "log_every": 50,
        "checkpoint_every": 200,
    }
    return replaced(preset_config(name), **{**quick, **changes})


@pytest.mark.parametrize(
    ("name", "steps", "scale"),
    # A column is worth as much as in a game: less would be taken for standing still.
    [("baseline", 20_000, 1.0), ("mutating", 5_000, 1.0), ("recovering", 5_000, 0.02)],
)
def test_agent_learns_the_course(course, tmp_path, name, steps, scale):
    envs = course(2)
    envs.env_spec = replace(envs.env_spec, reward_scale=scale)
    agent = run(envs, preset(name, timesteps=steps), tmp_path / "run")
    returns = read_columns(tmp_path / "run/episodes.csv")["r"]
    assert returns[:10].mean() < 12.0 and returns[-20:].mean() > 29.0
    envs, played = course(1), []
    obs, _ = envs.reset()
    while len(played) < 2:  # the second episode too: the first observation says that it begins
        obs, _, _, _, infos = envs.step(agent.act(obs))
        played += [float(infos["episode_record"]["r"][0])] if "episode_record" in infos else []
    assert played == [30.0, 30.0]


def test_reward_scale_changes_nothing(course, tmp_path):
    """It is the environments', whatever the config says."""

    class Scaled(course):
        env_spec = replace(course.env_spec, reward_scale=0.25)

        def step_wait(self):
            obs, rewards, *rest = super().step_wait()
            return (obs, rewards * 0.25, *rest)

    run(course(2), preset("mutating"), tmp_path / "plain")
    run(Scaled(2), preset("mutating"), tmp_path / "scaled")
    assert but_for_config(tmp_path / "plain") == but_for_config(tmp_path / "scaled")


def test_other_rewards_than_the_configs_are_refused(course, tmp_path):
    envs = course(2)
    envs.env_spec = replace(envs.env_spec, rewards={"backtracking": True, "reward_scale": 0.01})
    with pytest.raises(UserError, match="have --backtracking, and the config --no-backtracking"):
        run(envs, preset("mutating"), tmp_path)


def test_sequences_are_written_and_a_new_run_starts_from_them(course, tmp_path):
    """The seed's memory kept LEFT only."""
    run(course(2), preset("mutating", timesteps=2000), tmp_path / "run")
    saved = json.loads((tmp_path / "run/sequences.json").read_text())
    assert saved["buttons"][1] == "RIGHT" and saved["frame_skip"] == 4
    table = saved["levels"]["course"]
    assert {1, 6} <= {action for row in table for action in row["actions"]}
    assert table[0]["mean_return"] == 30.0 and len(table) <= 10
    envs = course(1)
    envs.levels = ["remote"]  # in a contest it may have another name
    run(envs, preset("baseline", num_envs=1), tmp_path / "new", init=tmp_path / "run")
    state = load_checkpoint(tmp_path / "new").state
    assert state["counts"]["replay"] > 0 and state["sequences"]["levels"].keys() == {"remote"}
    assert read_columns(tmp_path / "new/metrics.csv")["sequence_return"][0] == 30.0
    envs = course(2)
    envs.levels = ["course", "twin"]  # which begins alike
    config = preset("baseline", timesteps=2)
    run(envs, config, tmp_path / "both", init=tmp_path / "run")
    assert load_checkpoint(tmp_path / "both").state["sequences"]["levels"]["course"]


def test_memory_and_sequences_are_capped_and_metrics_show_them(course, tmp_path, monkeypatch):
    """In the seed, neither was, and nothing was recognised as known."""
    monkeypatch.setattr("jerk.agent.MEMORY_CAPACITY", 30)
    monkeypatch.setattr("jerk.agent.SEQUENCES", 3)
    run(course(2), preset("parts", timesteps=800), tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")
    assert len(saved.arrays["memory-returns"]) == 30
    assert saved.arrays["memory-counts"][0] > 100  # merged
    assert max(len(found) for found in saved.state["sequences"]["levels"].values()) == 3

    columns = read_columns(tmp_path / "run/metrics.csv")
    assert list(columns)[1:4] == ["sequence_return", "sequence_plays", "replays"]
    assert list(columns)[4:7] == ["accepted", "memory", "hit_rate"]
    kept = next(iter(saved.state["sequences"]["levels"].values()))
    best = max((one["returns"] for one in kept), key=np.mean)
    assert columns["sequence_plays"][-1] == len(best) > 1
    assert 0.0 < columns["hit_rate"][-1] <= 1.0 and columns["memory"][-1] == 30
    assert columns["sequence_return"][-1] > 0.0
    begun = sum(columns[kind][-1] for kind in ("replays", "mutants", "explored"))
    assert begun == 2 + len(read_columns(tmp_path / "run/episodes.csv")["r"])


def rainbow_config(**changes):
    quick = {"timesteps": 40, "num_envs": 1, "device": "cpu", "replay_size": 5000}
    return replaced(RainbowConfig(), **{**SMALL, **quick, "reward_scale": 0.5, **changes})


def saved_agent(agent, folder):
    untrained(agent, reward_scale=0.5).save(folder)
    return str(folder)


def test_a_refused_run_begins_no_recording(tmp_path, refused):
    RunFolder.create(tmp_path, {})
    flags = ["--levels", "BrambleWood.Act1", "--timesteps", "10", "--run-dir", str(tmp_path)]
    assert "already holds a run" in refused(main, [*flags, "--record"])
    assert not (tmp_path / "recordings").exists()
