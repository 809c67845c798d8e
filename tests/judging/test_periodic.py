from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest

from retro_agents.contract.episodes import Random
from retro_agents.games.families import level_sets
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import GAMES
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.errors import UserError
from retro_agents.judging import periodic
from retro_agents.judging.periodic import evaluated, judged, seen, summary
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.judging.sight import PATIENCE, PLAYS, Sight


def episodes(*returns):
    return [{"r": value} for value in returns]


def test_several_games_have_a_mean_each_and_one_of_their_normalised_scores():
    found = {"procgen:jumper": episodes(3.0, 10.0), "procgen:coinrun": episodes(5.0, 5.0)}
    assert summary("test", found, ProcgenConfig()) == {
        "test_return": 5.75,
        "test_min": 3.0,
        "test_max": 10.0,
        "test_std": pytest.approx(2.586, abs=1e-3),
        "test_return/jumper": 6.5,
        "test_return/coinrun": 5.0,
        "test_normalised_paper": pytest.approx((3.5 / 7 + 0) / 2),
        "test_normalised_repository": pytest.approx((5.5 / 9 + 0) / 2),
    }


def test_one_game_has_no_column_of_its_own_and_none_is_normalised_without_a_range():
    plain = {"train_return", "train_min", "train_max", "train_std"}
    memory = ProcgenConfig(distribution_mode="memory")
    assert set(summary("train", {"procgen:maze": episodes(1.0)}, memory)) == plain
    assert set(summary("train", {"BrambleDash:Act1": episodes(1.0)}, EnvConfig())) == plain


def config_of(levels, env, **asked):
    return SimpleNamespace(
        run=SimpleNamespace(levels=levels, seed=7), env=env, evaluation=SimpleNamespace(**asked)
    )


@pytest.mark.parametrize(
    ("env_steps", "names"), [(20, {"test"}), (30, {"sight"}), (50, set()), (60, {"test", "sight"})]
)
def test_an_evaluation_and_a_test_of_sight_come_each_at_its_own_steps(
    env_steps, names, monkeypatch
):
    for kind, name in (("evaluated", "test"), ("seen", "sight")):
        monkeypatch.setattr(periodic, kind, Mock(return_value={name: 1.0}))
    config = config_of("bramble-train", EnvConfig(), evaluate_every=20, sight_every=30)
    training = SimpleNamespace(agent=None, config=config, env_steps=env_steps)
    run = Mock(training=training, due=lambda every: env_steps % every == 0)
    assert judged(run).keys() == names


def test_each_evaluation_plays_other_levels(monkeypatch):
    play = Mock(return_value={"procgen:coinrun": episodes(1.0)})
    monkeypatch.setattr(periodic, "evaluate", play)
    asked = {"test_levels": "auto", "evaluate_episodes": 2}
    evaluated(Mock(), config_of("procgen:coinrun", ProcgenConfig(), **asked), env_steps=60)
    told = [(call.kwargs["seed"], call.kwargs["episodes"]) for call in play.call_args_list]
    assert told == [(67, 2)] * 2


def test_a_platform_game_is_played_on_the_runs_levels_and_on_those_that_are_named():
    own, env = "BrambleWood.Act1,SnowRidge.Act1", EnvConfig(episode_steps=40)
    assert level_sets(own, env, test_levels="auto") == {"train": (own, env)}
    asked = {"test_levels": "RustCavern.Act1", "evaluate_episodes": 4}
    policy = Random(env.spec().actions)
    found = evaluated(policy, config_of(own, env, **asked), env_steps=60)
    assert {*found} == {
        f"{one}_{what}" for one in ("train", "test") for what in ("return", "min", "max", "std")
    }
    assert 0.0 <= found["test_min"] < found["test_max"] < 2_000.0
    for levels, says in (("unseen", "is for Procgen"), ("RustCavern.Act1x", "nearest: RustCavern")):
        with pytest.raises(UserError, match=says):
            level_sets(own, env, test_levels=levels)
    with pytest.raises(UserError, match="expected auto, unseen, all for Procgen"):
        level_sets("procgen:coinrun", ProcgenConfig(), test_levels="RustCavern.Act1")


def test_an_evaluation_cuts_episodes_without_progress_and_plays_as_the_agent_is_set(monkeypatch):
    play = Mock(return_value=episodes(1.0))
    monkeypatch.setattr(periodic, "play_episodes", play)
    policy, asked = Mock(), {"test_levels": "auto", "evaluate_episodes": 2}
    evaluated(policy, config_of("BrambleWood.Act1", EnvConfig(), **asked), env_steps=60)
    assert play.call_args.kwargs["patience"] == PATIENCE
    play.call_args.args[0]("obs")
    policy.act.assert_called_once_with("obs", play=None)


def test_each_test_of_sight_plays_other_levels_and_cuts_episodes_without_progress(monkeypatch):
    found = Sight(dict.fromkeys(PLAYS, episodes(1.0, 2.0)), 2, np.ones(1))
    play = Mock(return_value=found)
    monkeypatch.setattr(periodic, "measure", play)
    seen(Mock(), config_of("bramble-train", EnvConfig(), sight_episodes=48), env_steps=60)
    assert play.call_args.kwargs == {
        "episodes": 48,
        "seed": 67,
        "play": "draw",
        "patience": PATIENCE,
    }


def test_a_test_of_sight_needs_a_row_for_each_game_and_two_or_more():
    asked = EvaluationSettings(sight_every=10, sight_episodes=6)
    asked.check_levels(f"procgen:{','.join(GAMES[:6])}", ProcgenConfig())
    with pytest.raises(UserError, match="divided among 6 rows, and 7 games need one each"):
        asked.check_levels(f"procgen:{','.join(GAMES[:7])}", ProcgenConfig())
    with pytest.raises(UserError, match="17 cannot be divided evenly among 2 to 16"):
        EvaluationSettings(sight_every=10, sight_episodes=17)
