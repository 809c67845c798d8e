import pytest

from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.retro.config import EnvConfig
from retro_agents.judging.periodic import summary


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
