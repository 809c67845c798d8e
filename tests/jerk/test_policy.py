import numpy as np
import pytest
import torch

from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.embedding import FrameEmbedder
from jerk.policy import taken_policy
from lsh_memory import EpisodicMemory, MemoryConfig
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import replaced
from tests.agents.tiny import images, untrained

CONFIG = replaced(JerkConfig(), image_height=36, image_width=36, policy_replays=0.5)


def take(folder, config):
    return taken_policy(load_checkpoint(folder), config, device="cpu")


def bar(*columns):
    obs = np.full((len(columns), 4, 36, 36), 30, np.uint8)
    for row, column in enumerate(columns):
        obs[row, :, :, column : column + 5] = 220
    return obs


def test_embeddings_have_length_one_and_do_not_depend_on_the_batch():
    embed = FrameEmbedder(CONFIG)
    whole = embed(images(5))
    assert whole.shape == (5, 128) and whole.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(whole, axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(embed(images(5)[2:3])[0], whole[2], atol=1e-5)


def test_what_looks_alike_is_embedded_nearby():
    for config in (CONFIG, replaced(CONFIG, colour="rgb", frame_stack=1)):
        obs = bar(5, 6, 9, 20)
        obs = obs[:, :3] if config.env.colour == "rgb" else obs
        here, near, further, far = FrameEmbedder(config)(obs)
        distances = [np.linalg.norm(here - other) for other in (near, further, far)]
        assert 0.0 < distances[0] < distances[1] < distances[2]
    moved = bar(9)
    moved[:, 0] = bar(5)[:, 0]  # four frames ago it was elsewhere
    assert np.linalg.norm(FrameEmbedder(CONFIG)(moved) - FrameEmbedder(CONFIG)(bar(9))) > 0.1
    blank = np.zeros((1, 4, 36, 36), np.uint8)
    assert np.isfinite(FrameEmbedder(CONFIG)(blank)).all()


def test_a_policy_comes_back_as_it_was_and_computes_in_fp32(tmp_path):
    for agent in (untrained(name, precision="bf16") for name in ("rainbow", "ppo2")):
        agent.save(tmp_path / agent.name)
        taken = take(tmp_path / agent.name, CONFIG)
        assert type(taken.actor) is type(agent)
        assert taken.actor.config.computing.precision == "fp32"
        assert taken.config["computing"]["precision"] == "bf16"
        came, again = agent.net.state_dict(), taken.actor.net.state_dict()
        assert all(torch.equal(again[name], weights) for name, weights in came.items())
    es = untrained("es")
    es.save(tmp_path / "es")
    same = take(tmp_path / "es", CONFIG).actor
    np.testing.assert_array_equal(same.act(images(8), play="best"), es.act(images(8), play="best"))


def test_what_cannot_play_for_jerk_is_refused_in_one_line(tmp_path):
    for name, saved in {
        "seven": untrained("rainbow"),
        "ten": untrained("rainbow", actions=10),
        "recurrent": untrained("ppo2", recurrent="gru", sequence_steps=2),
        "jerk": JerkAgent(replaced(CONFIG, policy_replays=0.0)),
        "memory": EpisodicMemory(MemoryConfig(features=4, actions=7)),
        "tally": find("tally").build({"image_height": 36, "image_width": 36}),
    }.items():
        saved.save(tmp_path / name)
    for name, changes, words in (
        ("seven", {"image_height": 40}, "--image-height 36"),
        ("seven", {"frame_skip": 6}, "--frame-skip 4"),
        ("ten", {}, "--actions 10"),
        ("recurrent", {}, "recurrent"),
        ("jerk", {}, "no policy"),
        ("memory", {}, "no policy"),
        ("tally", {}, "no policy"),  # which has no scores
    ):
        with pytest.raises(UserError, match=words):
            take(tmp_path / name, replaced(CONFIG, **changes))
    wider = replaced(CONFIG, actions=10)  # than the policy's
    assert take(tmp_path / "seven", wider).actor.config.env.actions == 7
