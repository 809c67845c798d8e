"""Every agent package plays a remote level in each mode, and goes on from what it wrote."""

import pytest

import jerk.train
from rainbow.agent import RainbowAgent
from retro_agents.contest.match.agent import Agent, resolve
from retro_agents.contest.player import play as playing
from retro_agents.contest.wire.protocol import TimestepTimeoutError
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.metrics import read_columns
from tests.jerk.conftest import Course
from tests.jerk.test_train import preset

STEPS = 40
IMAGE = ("--image-height", "36", "--image-width", "36")
FLAGS = {
    "rainbow": (*IMAGE, "--hidden", "16", "--learning-starts", "20"),
    "ppo2": (*IMAGE, "--hidden", "16", "--rollout-steps", "8", "--minibatches", "2"),
    "trpo": (*IMAGE, "--hidden", "16", "--rollout-steps", "8", "--minibatches", "2"),
    "impala": (*IMAGE, "--hidden", "16", "--rollout-steps", "8", "--batch-size", "16"),
    "sac": (*IMAGE, "--hidden", "16", "--learning-starts", "20"),
    "es": (*IMAGE, "--hidden", "16", "--pairs", "2"),
    "jerk": IMAGE,
}


@pytest.fixture
def contest(start, toy, tmp_path):
    """Let an agent play the toy's whole contest -> the folder of what it wrote."""

    def run(name, mode, checkpoint, play=None):
        server = start(toy(length=7), timesteps=STEPS)
        adapts = mode == "adapt" and checkpoint is None
        flags = FLAGS[name] if adapts else ()
        agent = resolve(Agent(name, str(checkpoint or ""), mode, "cpu", flags, play))
        out = tmp_path / f"{name}-{mode}-{play}{'-again' if checkpoint else ''}"
        playing(agent, server.folder, level="toy", timesteps=STEPS, seed=0, run_dir=out)
        assert isinstance(server.ended(), TimestepTimeoutError)
        assert server.result()["steps"] == STEPS
        assert server.result()["episodes"] == -(-STEPS // 7)
        return out

    return run


def test_taken_run_folder_is_refused_before_the_level_is_connected_to(tmp_path, monkeypatch):
    monkeypatch.setattr(f"{playing.__module__}.RemoteVectorEnv", lambda *_, **__: pytest.fail())
    agent = resolve(Agent("rainbow", "", "adapt", "cpu", FLAGS["rainbow"]))
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "config.json").write_text("{}")
    with pytest.raises(UserError, match="already holds a run"):
        playing(agent, tmp_path, level="toy", timesteps=STEPS, seed=0, run_dir=tmp_path)


@pytest.mark.parametrize("name", list(FLAGS))
def test_package_adapts_and_what_it_wrote_plays_in_every_mode(name, contest):
    learned = contest(name, "adapt", None) / "agent"
    contest(name, "frozen", learned)
    if name == "jerk":  # it has no chance but that of learning
        with pytest.raises(UserError, match="has no policy for --play draw"):
            contest(name, "frozen", learned, play="draw")
    else:
        contest(name, "frozen", learned, play="draw")
    again = contest(name, "adapt", learned) / "agent"
    assert load_agent(again).config.env.image_height == 36, "settings are the checkpoint's"


def test_the_hybrid_brings_its_policy_and_its_memory_along(contest, tmp_path):
    rainbow = contest("rainbow", "adapt", None) / "agent"
    before = tmp_path / "before"
    flags = {"policy": str(rainbow), "num_envs": 1, "timesteps": 300, "log_every": 10}
    jerk.train.run(Course(1), preset("parts", **flags), before)
    rainbow.rename(tmp_path / "elsewhere")  # its net is in the checkpoint, with what it learned
    out = contest("jerk", "adapt", before)
    remembered = [read_columns(run / "metrics.csv")["memory"] for run in (before, out / "training")]
    assert remembered[1][0] >= remembered[0][-1] > 0
    assert isinstance(load_agent(out / "agent").policy.actor, RainbowAgent)
