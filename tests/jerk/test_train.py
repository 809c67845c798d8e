import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import rainbow.train
from experiment.checkpoint import load_agent, load_checkpoint
from experiment.config import load_config
from experiment.errors import UserError
from experiment.metrics import read_columns
from jerk.config import JerkConfig
from jerk.learner import MEMORY, POLICY, RULE
from jerk.memory import Runs
from jerk.policy import FreshPolicy
from jerk.recordings import Recordings
from jerk.saving import start_from
from jerk.train import PRESETS, main, run
from jerk.training import FIRST_UPDATES, Training
from rainbow.agent import RainbowAgent, make_net
from rainbow.config import RainbowConfig
from retro_env import ended_episodes

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
    return dataclasses.replace(config, **{**quick, **changes})


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
        {"policy": "rainbow", "by_success": True},
    ],
    ids=["mutating", "embedding", "full", "trained policy", "by success"],
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
    run(course(2), dataclasses.replace(config, resume=True), tmp_path / "parts")
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
    counters = load_checkpoint(tmp_path / "new").counters
    assert counters["replay"] > 0
    assert read_columns(tmp_path / "new/metrics.csv")["best"][0] == 30.0


def test_checkpoint_of_more_actions_is_refused_in_one_line(course, tmp_path):
    run(course(1), preset("baseline", num_envs=1), tmp_path / "source")
    path = next((tmp_path / "source").glob("checkpoints/*/config.json"))
    ten = dataclasses.replace(preset("baseline", num_envs=1), actions=10)
    run(course(1), ten, tmp_path / "ten")
    with pytest.raises(UserError, match="--actions 10") as error:
        start_from(Training(preset("baseline"), 1), tmp_path / "ten")
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


def test_memory_holds_what_was_seen_before_each_action_and_what_came_after(course, tmp_path):
    """The seed stored observations after the action, rewards so far, and LEFT only."""
    config = preset("hybrid", policy="", policy_share=0.0, learn=False, num_envs=1)
    training, envs = Training(config, 1), course(1)
    obs, _ = envs.reset()
    training.begin(obs, envs.levels)
    seen, actions, rewards, infos = [], [], [], {}
    while "episode" not in infos:
        seen.append(training.agent.embedder(obs)[0])
        actions.append(training.act(obs))
        obs, reward, terminated, _, infos = envs.step(actions[-1])
        rewards.append(float(reward[0]))
        training.add(actions[-1], reward)
    training.end(
        {**{k: v[0] for k, v in infos["episode"].items()}, "env": 0},
        infos["final_obs"][0],
        terminated=bool(terminated[0]),
    )
    to_go = [sum(0.99**k * r for k, r in enumerate(rewards[t:])) for t in range(len(rewards))]
    for vector, action, value in zip(seen, actions, to_go, strict=True):
        near = training.memory.query(vector, k=1)
        assert near.cosines[0] > 0.999
        assert near.actions[0] == action[0] and near.returns[0] == pytest.approx(value, rel=1e-4)
    assert {1, 6} == set(training.memory.storage.actions[: len(training.memory)].tolist())


def test_memory_prefers_near_experience_and_knows_where_it_has_none(course):
    """In the seed, the distance was ignored."""
    training = Training(preset("hybrid", policy="", policy_share=0.0, learn=False), 2)
    rng = np.random.default_rng(0)
    here, far = (v / np.linalg.norm(v) for v in rng.standard_normal((2, 128)))
    near = here + 0.02 * rng.standard_normal(128)
    training.memory.add(near, 3, 5.0)
    for _ in range(3):
        training.memory.add(far + 0.02 * rng.standard_normal(128), 3, 0.0)
        training.memory.add(far + 0.02 * rng.standard_normal(128), 2, 4.0)
    lost = rng.standard_normal(128)
    asked = np.stack([here, far, lost / np.linalg.norm(lost)]).astype(np.float32)
    assert training.remembered(asked).tolist() == [3, 2, POLICY]
    assert (training.counts["asked"], training.counts["answered"]) == (3, 2)


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


def test_policy_learns_while_the_search_goes_on(course, tmp_path):
    config = preset("hybrid", timesteps=1200, update_every=4, learning_rate=3e-3)
    run(course(2), config, tmp_path / "run")
    saved, runs = load_checkpoint(tmp_path / "run"), Runs(config.runs)
    runs.restore(saved.arrays, saved.state["runs"])
    obs, actions, _ = runs.sample(runs.better({}), 500, np.random.default_rng(0), frame_stack=4)
    untrained = FreshPolicy(config).act(obs)
    learned = load_agent(tmp_path / "run").policy.act(obs)
    assert (learned == actions).mean() > (untrained == actions).mean() + 0.15


@pytest.mark.parametrize(
    "flags",
    [
        {"policy": "", "policy_share": 0.0, "learn": False},
        {"memory_share": 0.0},
        {"closed_loop": False, "memory_share": 0.0},
        {"choice": "bound", "change_cost": 2.0, "trial_share": 0.25},
        {"learn": False, "write_replay": False, "policy_share": 0.0},
        {"embed": "policy"},
    ],
    ids=["no policy", "no memory", "open loop", "bound", "no learning", "policy's embedding"],
)
def test_each_part_of_the_hybrid_can_be_switched(course, tmp_path, flags):
    agent = run(course(2), preset("hybrid", timesteps=200, **flags), tmp_path / "run")
    saved = load_checkpoint(tmp_path / "run")
    assert ("memory-returns" in saved.arrays) == (flags.get("memory_share") != 0.0)
    assert ("net" in saved.tensors) == (flags.get("policy") != "")
    assert ("run-frames" in saved.arrays) == (flags.get("write_replay") is not False)
    assert (agent.embedder is None) == (flags.get("closed_loop") is False)


def test_new_run_takes_memory_and_policy_of_another(course, tmp_path):
    source = run(course(2), preset("hybrid"), tmp_path / "source")
    training = Training(preset("hybrid", num_envs=1), 1)
    start_from(training, tmp_path / "source")
    assert len(training.memory) == len(load_checkpoint(tmp_path / "source").arrays["memory-used"])
    for key, value in source.policy.net.state_dict().items():
        assert torch.equal(value, training.agent.policy.net.state_dict()[key])


def rainbow_config(**changes):
    small = {"image_height": 36, "image_width": 36, "hidden": 16, "encoder": "data-efficient"}
    quick = {"timesteps": 40, "num_envs": 1, "device": "cpu", "replay_size": 5000}
    return RainbowConfig(**{**small, **quick, "reward_scale": 0.5, **changes})


def test_rainbow_starts_from_the_best_runs_without_a_net(course, tmp_path):
    run(course(2), preset("hybrid", timesteps=1000), tmp_path / "jerk")
    with pytest.raises(UserError, match=r"--reward-scale 0\.01"):
        rainbow.train.Training(rainbow_config(), 1).start_from(tmp_path / "jerk/replay")
    training = rainbow.train.Training(rainbow_config(reward_scale=0.01), 1)
    fresh = {k: v.clone() for k, v in training.agent.net.state_dict().items()}
    training.start_from(tmp_path / "jerk/replay")
    runs = load_checkpoint(tmp_path / "jerk").arrays["run-lengths"]
    assert training.seeded == sum(runs + 1)
    for key, value in training.agent.net.state_dict().items():
        assert torch.equal(value, fresh[key])
    with pytest.raises(UserError, match="not of rainbow"):
        training.start_from(tmp_path / "jerk")


def test_a_rainbow_behind_jerk_gets_its_net_and_the_best_runs_back(course, tmp_path):
    config = rainbow_config()
    RainbowAgent(make_net(config), config).save(tmp_path / "rainbow")
    flags = {"timesteps": 1000, "learning_rate": 1e-3, "policy": "new"}
    agent = run(course(2), preset("hybrid", **flags), tmp_path / "jerk", init=tmp_path / "rainbow")
    assert isinstance(agent.policy, RainbowAgent)
    learned = load_agent(tmp_path / "jerk/replay")
    assert isinstance(learned, RainbowAgent) and learned.config.reward_scale == 0.5
    for key, value in load_agent(tmp_path / "rainbow").net.state_dict().items():
        assert torch.equal(value, learned.net.state_dict()[key])  # without what was imitated
    rewards = load_checkpoint(tmp_path / "jerk/replay").arrays["rewards"]
    assert set(rewards.tolist()) <= {0.0, 0.5}
    rainbow.train.run(course(1), config, tmp_path / "after", init=tmp_path / "jerk/replay")


def test_runs_of_more_actions_are_refused_by_rainbow_in_one_line(course, tmp_path):
    ten = preset("baseline", write_replay=True, actions=10)
    run(course(2), ten, tmp_path / "ten")
    with pytest.raises(UserError, match="--actions 10") as error:
        rainbow.train.Training(rainbow_config(), 1).start_from(tmp_path / "ten/replay")
    assert "\n" not in str(error.value)


def test_only_the_best_recording_of_a_level_stays(tmp_path):
    (tmp_path / "env-00").mkdir()
    recordings = Recordings(tmp_path, 2)
    for number, value in enumerate((5.0, 3.0, 9.0, 9.0)):
        (tmp_path / f"env-00/G-v0-S-{number:06d}.bk2").touch()
        recordings.ended(0, "G-v0:S", value)
    assert [path.name for path in tmp_path.glob("*/*.bk2")] == ["G-v0-S-000002.bk2"]
    again = Recordings(tmp_path, 2)
    again.restore(recordings.save())
    assert again.save() == recordings.save() and again.best["G-v0:S"][0] == 9.0


def test_command_searches_two_levels_records_and_resumes(tmp_path):
    command = [sys.executable, "-m", "jerk.train", "--run-dir", str(tmp_path / "run")]
    first = [
        *("--preset", "mutating", "--levels", f"{LEVEL},{LEVEL[:-1]}2", "--num-envs", "2"),
        *("--rotate-every", "100", "--timesteps", "400", "--record", "--log-every", "100"),
    ]
    subprocess.run([*command, *first], cwd=ROOT, check=True, capture_output=True)
    resume = ["--resume", "--timesteps", "500"]
    subprocess.run([*command, *resume], cwd=ROOT, check=True, capture_output=True)
    run_dir = tmp_path / "run"
    assert read_columns(run_dir / "metrics.csv")["step"].tolist() == list(range(100, 600, 100))
    sequences = json.loads((run_dir / "sequences.json").read_text())
    assert set(sequences["levels"]) == {LEVEL, f"{LEVEL[:-1]}2"}
    ended = load_checkpoint(run_dir).state["recordings"]["best"]
    kept = [path for path in run_dir.glob("recordings/*/*.bk2") if str(path).endswith(
        tuple(name for _, name in ended.values()))]  # fmt: skip
    assert len(kept) == len(ended) == 2  # besides one of the episode that the end of the run cut
    assert len(list(run_dir.glob("recordings/*/*.bk2"))) <= 4


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


def test_policy_and_memory_explore_as_soon_as_they_know_something(course):
    training = Training(preset("hybrid"), 1)
    start_from(training, None)
    assert training.shares() == (0.0, 0.0)
    training.memory.add(np.ones(128), 1, 1.0)
    training.updates = FIRST_UPDATES
    assert training.shares() == (0.5, 0.25)


def saved_rainbow(folder):
    config = rainbow_config()
    RainbowAgent(make_net(config), config).save(folder)
    return str(folder)


def test_a_named_policy_comes_before_the_one_of_a_run_and_two_are_refused(course, tmp_path):
    run(course(2), preset("hybrid", timesteps=200), tmp_path / "jerk")
    named = saved_rainbow(tmp_path / "rainbow")
    training = Training(preset("hybrid", policy=named), 2)
    start_from(training, tmp_path / "jerk")
    assert isinstance(training.agent.policy, RainbowAgent) and training.policy_knows
    assert len(training.sequences) > 0
    with pytest.raises(UserError, match="both give a policy"):
        start_from(Training(preset("hybrid", policy=named), 2), tmp_path / "rainbow")
    training = Training(preset("hybrid"), 2)
    start_from(training, tmp_path / "rainbow")
    assert isinstance(training.agent.policy, RainbowAgent)


def test_a_policy_that_would_never_play_is_refused(tmp_path):
    with pytest.raises(UserError, match="--learn"):
        start_from(Training(preset("hybrid", learn=False, write_replay=False), 2), None)


def test_runs_for_rainbow_and_other_images_are_no_start(course, tmp_path):
    run(course(2), preset("hybrid"), tmp_path / "run")
    with pytest.raises(UserError, match=r"for rainbow\.train"):
        start_from(Training(preset("hybrid"), 2), tmp_path / "run/replay")
    with pytest.raises(UserError, match="--image-height 36"):
        start_from(Training(preset("hybrid", image_height=40), 2), tmp_path / "run")


def test_runs_of_more_actions_than_the_rainbow_behind_has_are_not_written(tmp_path):
    config = preset("hybrid", policy=saved_rainbow(tmp_path / "rainbow"), actions=10)
    with pytest.raises(UserError, match="--no-write-replay"):
        start_from(Training(config, 2), None)
    start_from(Training(dataclasses.replace(config, write_replay=False), 2), None)


@pytest.mark.parametrize(
    "flags", [{"closed_loop": False}, {"memory_share": 0.0}, {"write_replay": False}]
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


def test_the_policys_first_episode_says_what_is_worth_imitating(course, tmp_path):
    named = saved_rainbow(tmp_path / "rainbow")
    config = preset("hybrid", policy=named, timesteps=400, update_every=4)
    for returned, learns in ((-1.0, True), (99.0, False)):
        training = Training(config, 1)
        start_from(training, None)
        before = {k: v.clone() for k, v in training.agent.policy.net.state_dict().items()}
        envs = course(1)
        obs, _ = envs.reset(seed=0)
        training.begin(obs, envs.levels)
        assert training.plays[0].player == POLICY
        while not training.runs:
            actions = training.act(obs)
            obs, rewards, terminated, _, infos = envs.step(actions)
            training.add(actions, rewards)
            for episode in ended_episodes(infos):
                training.end(episode, infos["final_obs"][0], terminated=bool(terminated[0]))
        assert list(training.policy_returns) == ["course"]
        training.policy_returns["course"] = returned
        training.update()
        after = training.agent.policy.net.state_dict()
        assert any(not torch.equal(before[k], after[k]) for k in before) == learns


def test_a_sequence_without_embeddings_gets_them_at_a_replay(course, tmp_path):
    run(course(2), preset("mutating", timesteps=800), tmp_path / "blind")
    assert not any(
        one["embeddings"]
        for found in load_checkpoint(tmp_path / "blind").state["sequences"]["levels"].values()
        for one in found
    )
    config = preset("mutating", timesteps=800, closed_loop=True, exploit_bias=1.0)
    agent = run(course(2), config, tmp_path / "run", init=tmp_path / "blind")
    best = agent.sequences.best("course")
    assert best.embeddings is not None and best.embeddings.shape == (len(best.actions), 128)


def test_by_success_every_player_explores_and_what_it_brought_is_kept(course, tmp_path):
    named = saved_rainbow(tmp_path / "rainbow")
    config = preset("hybrid", policy=named, timesteps=1500, by_success=True, num_envs=1)
    run(course(1), config, tmp_path / "run")
    gains = load_checkpoint(tmp_path / "run").state["gains"]["course"]
    assert set(gains) == {RULE, POLICY, MEMORY}
    ended = read_columns(tmp_path / "run/episodes.csv")["r"]
    assert 3 < sum(map(len, gains.values())) <= len(ended)
    assert all(0.0 <= gain <= 30.0 for found in gains.values() for gain in found)
    with pytest.raises(UserError, match="by_success"):
        dataclasses.replace(config, policy_share=0.0, memory_share=0.0)
