"""Which way to play is chosen, by a policy whose ways differ by more than chance."""

import json
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.errors import UserError
from retro_agents.judging.choose_play import chosen, leads, main, returns_of
from retro_agents.judging.sight import PATIENCE
from retro_agents.run.checkpoint import load_agent, load_checkpoint
from retro_agents.run.config import replaced

LEVELS = "BrambleWood.Act1,RustCavern.Act1"
RIGHT = 1


class Walker:
    """Goes right by its best action, and stands still when it draws."""

    def act(self, obs, *, play, starts):
        return np.full(len(obs), RIGHT if play == "best" else 0)


def test_the_way_that_earns_most_is_chosen():
    settings = EnvConfig(episode_steps=40).with_raw_rewards()
    options = {"episodes": 3, "seed": 0}
    found = {
        way: returns_of(Walker(), LEVELS, settings, play=way, **options) for way in ("draw", "best")
    }
    assert all(returns.shape == (2, 3) for returns in found.values())
    assert (found["draw"] == 0).all() and (found["best"] > 0).all()
    assert np.ptp(found["best"].mean(axis=1)) > 0  # a row is a level
    assert chosen(found) == "best"
    alone = returns_of(Walker(), "BrambleWood.Act1", settings, play="best", **options)
    assert np.allclose(alone.mean(), found["best"][0].mean(), rtol=0.2)


def test_an_episode_ends_after_20_seconds_without_progress():
    waits = Mock(act=Mock(side_effect=lambda obs, **_: np.zeros(len(obs), np.int64)))
    options = {"episodes": 1, "seed": 0, "play": "best"}
    returns_of(waits, "BrambleWood.Act1", EnvConfig().with_raw_rewards(), **options)
    assert waits.act.call_count == PATIENCE == 20 * 15


def test_a_way_leads_if_it_surely_earns_more_on_the_same_levels():
    one = np.array([[10.0], [500.0], [9_000.0]])
    assert leads(one + 5.0, one, ways=2) and not leads(one, one + 5.0, ways=2)
    assert not leads(one + np.array([[50.0], [-60.0], [20.0]]), one, ways=2)
    episodes = np.array([[6.0, 7.0, 8.0]]), np.array([[5.0, 6.0, 7.1]])  # of one level
    assert leads(*episodes, ways=2)


def test_of_equal_ways_the_best_rarely_leads_another():
    rng = np.random.default_rng(0)
    claims = 0
    for _ in range(300):
        ways = dict(enumerate(rng.normal(size=(6, 20, 1))))
        best = ways.pop(chosen(ways))
        claims += any(leads(best, other, ways=6) for other in ways.values())
    assert claims / 300 < 0.07  # without regard to the choice a third


def test_equal_ways_leave_the_first():
    returns = {"draw": np.array([[1.0, 3.0]]), "best": np.array([[2.0, 2.0]])}
    assert chosen(returns) == "draw"


@pytest.mark.parametrize("order", ["best,draw", "draw,best"])
def test_the_new_checkpoint_plays_so_and_the_old_one_as_before(
    order, trained, tmp_path, monkeypatch, capsys
):
    returns = {"best": np.array([[4.0], [5.0]]), "draw": np.array([[4.0], [4.5]])}
    asked, drawn = [], set()

    def played(agent, levels, settings, *, episodes, seed, play):
        asked.append((levels, episodes, seed, play))
        drawn.add(torch.rand(1).item())
        return returns[play]

    monkeypatch.setattr("retro_agents.judging.choose_play.returns_of", played)
    (old, agent), out = trained("ppo2"), tmp_path / "chosen"
    main([str(agent), "--ways", order, "--episodes", "5", "--seed", "7", "--out", str(out)])
    assert asked == [(old.config.run.levels, 5, 7, way) for way in order.split(",")]
    assert len(drawn) == 1  # each way has the same random numbers, whatever came before
    old, new = (load_agent(folder) for folder in (agent, out))
    assert (old.config.net.play, new.config.net.play) == ("draw", "best")
    assert load_checkpoint(out).counters["env_steps"] == old.env_steps > 0
    before, after = old.arrays(), new.arrays()
    assert before.keys() == after.keys()
    assert all((before[name] == after[name]).all() for name in before)
    result = json.loads((out / "result.json").read_text())
    assert all(0 <= way["low"] <= way["high"] <= 10_000 for way in result["ways"].values())
    assert result["chosen"] == "best" and result["ways"]["best"]["mean"] == 4.5
    said = capsys.readouterr().out
    assert "plays by best, before by draw." in said
    assert "That best earns more than draw is not shown." in said  # 0 and 0.5 points on two levels


@pytest.mark.parametrize("fails", ["ppo2.agent.PPO2Agent.save", f"{main.__module__}.store"])
def test_what_was_played_is_shown_even_if_it_cannot_be_stored(
    fails, trained, tmp_path, monkeypatch, capsys
):
    _, agent = trained("ppo2")
    monkeypatch.setattr(f"{main.__module__}.returns_of", lambda *_, **__: np.array([[900.0]]))
    monkeypatch.setattr(fails, Mock(side_effect=UserError("full disk")))
    with pytest.raises(UserError, match="full disk"):
        main.__wrapped__([str(agent), "--out", str(tmp_path / "out")])
    assert "900" in capsys.readouterr().out


def test_levels_are_asked_for_where_a_checkpoint_does_not_say_them(trained, tmp_path, refused):
    agent = load_agent(trained("ppo2")[1])
    agent.config = replaced(agent.config, levels="remote")
    agent.save(tmp_path / "agent")
    said = refused(main, [str(tmp_path / "agent"), "--out", str(tmp_path / "chosen")])
    assert "agent does not say on which levels it learned: give --levels" in said
    assert not (tmp_path / "chosen").exists()
