import pickle

import numpy as np
import pytest
import torch

from es.agent import ESAgent
from es.config import ESConfig
from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.nets.blocks import BatchNorm
from retro_agents.nets.encoders import encoder_of, make_encoder
from retro_agents.nets.settings import NetSettings
from retro_agents.nets.transfer import check_encoder, follow, load_encoder
from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint
from retro_agents.run.config import replaced, to_dict

IMAGE = (4, 84, 84)


def checkpoint(folder, *, part="encoder", **config):
    """Saves a net with Nature's encoder as this part of it. config: that made it."""
    encoder = make_encoder("nature", IMAGE).state_dict()
    net = {f"{part}.{key}": value for key, value in encoder.items()}
    counters = {"env_steps": 1}
    save_checkpoint(folder, agent="ppo2", config=config, counters=counters, tensors={"net": net})
    return folder


def test_encoder_takes_the_convolutions_of_a_baselines_file_and_no_net_with_parts(tmp_path):
    shapes = [(8, 8, 4, 32), (4, 4, 32, 64), (3, 3, 64, 64), (3136, 512), (512, 1), (512, 7)]
    rng, file = np.random.default_rng(0), tmp_path / "net.joblib"
    arrays = [rng.random(s, np.float32) for shape in shapes for s in (shape, shape[-1:])]
    file.write_bytes(pickle.dumps(arrays, protocol=4))
    encoder = make_encoder("nature", IMAGE)
    load_encoder(encoder, file, NetSettings())
    got = encoder.convolutions[2].weight.detach().numpy()
    np.testing.assert_array_equal(got, arrays[2].transpose(3, 2, 0, 1))
    config = replaced(PPO2Config(), encoder="nature", encoder_parts="shifted")
    with pytest.raises(UserError, match="--encoder-parts"):
        PPO2Agent(make_actor_critic(config), config).start_from(file)


@pytest.mark.parametrize(
    ("name", "image"), [("data-efficient", IMAGE), ("nature", (1, 84, 84)), ("impala", IMAGE)]
)
def test_another_encoder_is_refused_by_name(tmp_path, name, image):
    source = checkpoint(tmp_path, encoder="nature")
    with pytest.raises(UserError, match="nature") as error:
        load_encoder(make_encoder(name, image), source, NetSettings())
    assert r"\n" not in str(error.value)


def test_parts_without_weights_are_compared_in_any_order():
    parts = ({"encoder_parts": text} for text in ("shifted,attention", " attention, shifted"))
    check_encoder(*parts, source="there")


def test_parts_of_a_searched_net_are_those_of_its_agent(tmp_path):
    flags = {"image_height": 36, "image_width": 36, "hidden": 8, "encoder": "data-efficient"}
    config = replaced(PPO2Config(), encoder_parts="shifted", **flags)
    PPO2Agent(make_actor_critic(config), config).save(tmp_path / "ppo2")
    ESAgent.start(replaced(ESConfig(), **flags), tmp_path / "ppo2").save(tmp_path / "es")
    encoder = make_encoder("data-efficient", (4, 36, 36))
    with pytest.raises(UserError, match="--encoder-parts"):
        load_encoder(encoder, tmp_path / "es", NetSettings())
    load_encoder(encoder, tmp_path / "es", NetSettings(encoder_parts="shifted"))


@pytest.mark.parametrize(
    ("theirs", "ours", "said"),
    [
        (
            {"encoder": "xresnet", "widths": "8:2,8:1"},
            {"widths": "8:1,8:2"},
            "--widths '8:2,8:1', not '8:1,8:2'",
        ),
        ({"encoder": "impala", "widths": "8,8", "pool": True}, {"pool": False}, "give --pool"),
        ({"encoder": "data-efficient"}, {"encoder_parts": "shifted"}, "--encoder-parts"),
        ({"frame_stack": 12}, {"frame_stack": 4, "colour": "rgb"}, "give --colour grey"),
        (
            {"levels": "procgen:coinrun", "frames": "0,-1"},
            {"frames": "0,-3"},
            "other frames than this run's; give --frames 0,-1$",
        ),
        ({"levels": "bramble-train"}, {"levels": "procgen:coinrun"}, "give levels of retro$"),
        ({"levels": "procgen:maze"}, {"levels": "bramble-train"}, "give levels of procgen$"),
        (
            {"recurrent": "none"},
            {"recurrent": "gru", "recurrent_hidden": 8, "sequence_steps": 8},
            "give --recurrent none$",
        ),
        ({}, {"rnd": 0.5, "rnd_values": "two"}, "give --rnd-values one$"),
        (
            {"rnd": 0.5, "rnd_values": "two"},
            {"rnd": 0.0, "rnd_values": "one", "hidden": 9},
            "give --hidden 8$",
        ),
        (
            {"rnd": 0.5, "rnd_values": "two"},
            {"rnd_values": "one", "hidden": 9},
            "give --hidden 8$",
        ),
        ({}, {"noisy": True, "hidden": 9}, "give --hidden 8$"),
        ({"noisy": True}, {"noisy": False}, "give --noisy$"),
    ],
    ids=[
        *("strides", "pool", "parts", "colour", "frames", "retro", "procgen", "effect"),
        *("with rnd", "without rnd", "one value of two", "with noise", "without noise"),
    ],
)
def test_another_net_of_the_same_weights_is_refused_by_its_flag(tmp_path, theirs, ours, said):
    small = {"hidden": 8}
    if "levels" not in theirs:
        small |= {"image_height": 36, "image_width": 36}
    theirs = replaced(PPO2Config(), **theirs, **small)
    ours = replaced(theirs, **ours)
    PPO2Agent.build(to_dict(theirs)).save(tmp_path)
    with pytest.raises(UserError, match=said):
        PPO2Agent.build(to_dict(ours)).load_weights(load_checkpoint(tmp_path))
    if any(name in said for name in ("widths", "parts", "colour", "frames")):
        encoder = encoder_of(ours.net, ours.env.spec().observation_shape)
        with pytest.raises(UserError, match=said.replace("this run's", "this run")):
            load_encoder(encoder, tmp_path, ours.net, env=ours.env)


def test_one_value_function_of_two_is_that_of_the_rewards(tmp_path):
    one = replaced(PPO2Config(), hidden=8, image_height=36, image_width=36)
    two = replaced(one, rnd=0.1, rnd_values="two")
    theirs, ours = PPO2Agent.build(to_dict(two)), PPO2Agent.build(to_dict(one))
    theirs.save(tmp_path)
    ours.start_from(tmp_path)
    for name, weights in ours.net.state_dict().items():
        assert torch.equal(weights, theirs.net.state_dict()[name][: len(weights)])


@pytest.mark.parametrize(
    "made", [{"encoder_parts": 5}, {"widths": [1]}, {"searched": 3}], ids=lambda made: min(made)
)
def test_a_strange_config_is_no_encoders(tmp_path, made):
    with pytest.raises(UserError, match="does not hold what its agent saves"):
        load_encoder(make_encoder("nature", IMAGE), checkpoint(tmp_path, **made), NetSettings())


def test_running_moments_follow_as_weights_do():
    ours, theirs = BatchNorm(2), BatchNorm(2)
    with torch.no_grad():
        theirs.mean.add_(4.0)
        theirs.scale.add_(8.0)
    follow(ours, theirs, rate=0.25)
    assert ours.mean.tolist() == [1.0, 1.0] and ours.scale.tolist() == [3.0, 3.0]


def test_checkpoint_without_an_encoder_is_refused(tmp_path):
    source = checkpoint(tmp_path, part="others")
    with pytest.raises(UserError, match="no net with an encoder"):
        load_encoder(make_encoder("nature", IMAGE), source, NetSettings())
