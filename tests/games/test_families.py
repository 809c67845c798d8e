import pytest

from retro_agents.games.families import level_names, of_procgen
from retro_agents.games.retro.levels import parse_levels
from retro_agents.ground.errors import UserError


@pytest.mark.parametrize(
    ("levels", "games"),
    [
        ("procgen:coinrun,maze", ["coinrun", "maze"]),
        ("Procgen:CoinRun", ["coinrun"]),
        ("procgen:coinrun, PROCGEN:maze", ["coinrun", "maze"]),
    ],
)
def test_procgens_games_are_named_in_any_case(levels, games):
    assert of_procgen(levels)
    assert level_names(levels) == [f"procgen:{game}" for game in games]


@pytest.mark.parametrize(
    ("levels", "said"),
    [
        ("coinrun", "did you mean 'procgen:coinrun'"),
        ("StarPilt", "did you mean 'procgen:starpilot'"),
        ("bramble-train,coinrun", "did you mean 'procgen:coinrun'"),
        ("procgen", "give procgen:GAME, such as procgen:coinrun"),
        ("procgen-maze", "give procgen:GAME"),
        ("bramble-train,procgen:coinrun", "cannot be mixed"),
        ("procgen:coinrun,bramble-train", "cannot be mixed"),
        ("procgen:coinrun,BrambleWood.Act1", "cannot be mixed"),
        ("procgen:coinrun,coinrum", "did you mean 'coinrun'"),
    ],
)
def test_levels_that_are_half_procgens_are_refused(levels, said):
    with pytest.raises(UserError, match=said) as error:
        level_names(levels)
    assert r"\n" not in str(error.value)


def test_other_levels_are_not_taken_for_procgens(monkeypatch):
    splits = "bramble-train", "BrambleWood.Act1", "runs/coinrun.csv", "procgen.csv"
    for levels in (*splits, "", None):
        assert not of_procgen(levels)
    with pytest.raises(UserError, match="Procgen:coinrun is a Procgen game, not possible here"):
        parse_levels("bramble-train,Procgen:coinrun")
    monkeypatch.setattr("retro_agents.games.families.split_names", lambda: ["mine"])
    assert not of_procgen("mine")  # a split may be called nearly as a game
    monkeypatch.setattr("retro_agents.games.families.split_names", list)
    with pytest.raises(UserError, match="procgen:miner"):
        of_procgen("mine")
