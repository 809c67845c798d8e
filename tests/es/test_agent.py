from functools import partial

import numpy as np
import pytest
import torch

from es.agent import ESAgent, load
from es.config import ESConfig
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from retro_agents.ground.errors import UserError
from retro_agents.run.config import replaced
from tests.agents.tiny import images, untrained

ppo2 = partial(untrained, "ppo2")
rainbow = partial(untrained, "rainbow", atoms=5, v_min=-1.0, v_max=3.0)


@pytest.mark.parametrize(
    ("draws", "play", "drawn"),
    [(False, None, False), (True, None, True), (True, "best", False), (False, "draw", True)],
)
def test_actions_are_the_best_or_drawn_from_the_policy(quick, draws, play, drawn):
    torch.manual_seed(0)
    agent = ESAgent.start(replaced(quick, draw_actions=draws))
    agent.theta = agent.theta * np.float32(300.0)  # it would hardly prefer anything
    image = images(1)
    policy = agent.scores(torch.from_numpy(image))[0].softmax(dim=0).detach().numpy()
    assert 0.3 < policy.max() < 0.7
    actions = agent.act(np.repeat(image, 4_000, axis=0), play=play)
    found = np.bincount(actions, minlength=7) / len(actions)
    expected = policy if drawn else np.eye(7)[policy.argmax()]
    np.testing.assert_allclose(found, expected, atol=0.04)  # 5 standard errors


def layers(*names):
    return [f"{name}.{part}" for name in names for part in ("weight", "bias")]


HEADS = {"ppo2": layers("head.policy"), "rainbow": layers("head.advantage", "head.value")}


@pytest.mark.parametrize(
    ("source", "layer", "names"),
    [
        (ppo2(), "head", HEADS["ppo2"]),
        (ppo2(), "fc", layers("hidden")),
        (ppo2(encoder="impala", widths="4,8"), "head", HEADS["ppo2"]),
        (rainbow(), "head", HEADS["rainbow"]),
        (rainbow(), "fc", layers("head.hidden")),
        (rainbow(streams="separate"), "head", HEADS["rainbow"]),
        (rainbow(streams="separate"), "fc", layers("head.hidden", "head.value_hidden")),
        (rainbow(quantiles=4), "fc", layers("head.hidden")),
        (rainbow(dueling=False, distributional=False), "head", HEADS["rainbow"][:2]),
    ],
)
def test_net_of_another_agent_is_searched_as_it_is(quick, tmp_path, source, layer, names):
    source.save(tmp_path / "source")
    start = ESAgent.start(replaced(quick, layer=layer), tmp_path / "source")
    assert start.names == names
    assert start.how("draw") == ("draw" if source.logits else "best")  # values are no policy
    obs = images(6)
    np.testing.assert_array_equal(start.act(obs, play="best"), source.act(obs, play="best"))
    before = {name: tensor.clone() for name, tensor in start.net.state_dict().items()}
    start.theta = start.theta + np.float32(0.1)
    start.save(tmp_path / "searched")
    agent = load(tmp_path / "searched")
    assert type(agent.policy) is type(source) and agent.policy.config == source.config
    obs = torch.from_numpy(obs)
    assert torch.equal(agent.scores(obs), start.scores(obs))
    changed = [n for n, t in agent.net.state_dict().items() if not torch.equal(t, before[n])]
    assert changed == names
    again = ESAgent.start(replaced(quick, layer=layer), tmp_path / "searched")
    assert torch.equal(again.scores(obs), start.scores(obs))
    assert again.config.searched == agent.config.searched


def test_a_net_of_other_games_is_refused_by_what_helps():
    with pytest.raises(UserError, match=r"^ppo2 .* give --init '' for .* run on procgen"):
        ESAgent.start(replaced(ESConfig(), levels="procgen:maze"), "ppo2")


def test_a_searched_net_keeps_its_running_moments(quick, tmp_path):
    source = ppo2(encoder="impala", widths="4", encoder_parts="batch-norm")
    source.save(tmp_path)
    found = ESAgent.start(quick, tmp_path).net.state_dict()
    assert all(torch.equal(found[name], own) for name, own in source.net.state_dict().items())


@pytest.mark.parametrize(
    ("source", "flags", "words"),
    [
        (ppo2(recurrent="gru", sequence_steps=2), {}, "recurrent"),
        (ppo2(image_height=40), {}, "--image-height 40"),
        (ppo2(actions=10), {}, "--actions 10"),
        (rainbow(), {"draw_actions": True}, "draw_actions"),
        (rainbow(quantiles=4), {"layer": "head"}, "--layer fc"),
        (JerkAgent(JerkConfig()), {}, "'jerk'"),
        (untrained("sac"), {"layer": "fc"}, "is of agent 'sac', .* give one of"),
    ],
)
def test_net_that_does_not_fit_is_refused_in_one_line(quick, tmp_path, source, flags, words):
    source.save(tmp_path)
    with pytest.raises(UserError, match=words):
        ESAgent.start(replaced(quick, **flags), tmp_path)
