"""What `--levels` understands, and how it refuses what it does not."""

import pytest
from stable_retro.data import Integrations

from retro_agents.games.retro.integrations import (
    add_custom_folders,
    check_playable,
    file_of,
    full_name,
    games,
    states,
)
from retro_agents.games.retro.levels import Level, parse_levels
from retro_agents.ground.errors import UserError


def test_sonic_splits_are_the_contests():
    train, test = parse_levels("sonic-train"), parse_levels("sonic-test")
    assert (len(train), len(test)) == (47, 11)
    assert not set(train) & set(test)
    assert {level.game for level in train + test} == {
        "SonicTheHedgehog-Genesis-v0",
        "SonicTheHedgehog2-Genesis-v0",
        "SonicAndKnuckles3-Genesis-v0",
    }


def test_custom_splits_are_all_custom_levels_that_stable_retro_brings():
    splits = [parse_levels(f"sonic-custom-{name}") for name in ("leaderboard", "final")]
    assert [len(split) for split in splits] == [5, 11]
    levels = {level for split in splits for level in split}
    custom = [game for game in games() if "Custom" in game]
    assert levels == {Level(game, state) for game in custom for state in states(game)}


def test_bramble_splits_can_be_played_as_they_are():
    train, test = parse_levels("bramble-train"), parse_levels("bramble-test")
    assert train
    assert test
    assert not set(train) & set(test)
    for level in train + test:
        check_playable(level.game, level.state, scenario="contest")


def test_names_of_2018_mean_todays_games():
    assert full_name("SonicTheHedgehog-Genesis") == "SonicTheHedgehog-Genesis-v0"
    assert parse_levels("Airstriker-Genesis:Level1") == [Level("Airstriker-Genesis-v0", "Level1")]


def test_several_levels_are_separated_by_commas():
    game = "SonicTheHedgehog-Genesis-v0"
    spec = f"{game}:GreenHillZone.Act1, {game}:MarbleZone.Act2"
    assert [str(level) for level in parse_levels(spec)] == [
        f"{game}:GreenHillZone.Act1",
        f"{game}:MarbleZone.Act2",
    ]


def test_a_split_stands_among_others_for_its_levels():
    train, test = parse_levels("bramble-train"), parse_levels("bramble-test")
    assert parse_levels("bramble-test, bramble-train") == test + train
    assert parse_levels(f"{train[0]},bramble-test") == [train[0], *test]


def test_a_csv_file_is_a_list_of_levels(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("game,state\nAirstriker-Genesis-v0,Level1\n")
    assert parse_levels(str(path)) == [Level("Airstriker-Genesis-v0", "Level1")]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sonic-trian", "nearest: sonic-train"),
        ("SonicTheHedgehg-Genesis-v0:GreenHillZone.Act1", "nearest: SonicTheHedgehog-Genesis-v0"),
        ("SonicTheHedgehog-Genesis:GreenHilZone.Act1", r"nearest: GreenHillZone\.Act1"),
        ("none.csv", "cannot read levels"),
        ("BrambleDash77-Genesis-v0:BrambleWood.Act1", "cartridge.levels new --seeds 77 --out"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(spec, message):
    with pytest.raises(UserError, match=message) as error:
        parse_levels(spec)
    assert "\n" not in str(error.value)


def test_a_csv_without_the_columns_is_refused(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("level\nAirstriker-Genesis-v0:Level1\n")
    with pytest.raises(UserError, match="columns game,state"):
        parse_levels(str(path))


@pytest.mark.parametrize("text", ["\ufeffgame,state\n", "game, state\n"])
def test_a_mark_or_a_blank_before_a_columns_name_is_passed_over(tmp_path, text):
    path = tmp_path / "mine.csv"
    path.write_text(f"{text}Airstriker-Genesis-v0, Level1\n", encoding="utf-8")
    assert parse_levels(str(path)) == [Level("Airstriker-Genesis-v0", "Level1")]


@pytest.mark.parametrize("row", ["Airstriker-Genesis-v0", "Airstriker-Genesis-v0, ", ",Level1"])
def test_a_row_that_lacks_something_is_named_by_its_line(tmp_path, row):
    path = tmp_path / "mine.csv"
    path.write_text(f"game,state\nAirstriker-Genesis-v0,Level1\n{row}\n")
    with pytest.raises(UserError, match=r"mine\.csv, line 3 lacks its game or state"):
        parse_levels(str(path))


def test_a_csv_that_cannot_be_parsed_is_one_line(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("game,state\n" + "x" * 200_000 + ",Level1\n")
    with pytest.raises(UserError, match="cannot read levels"):
        parse_levels(str(path))


def test_a_missing_scenario_names_the_ones_there_are():
    with pytest.raises(UserError, match="no scenario 'contst': choose one of scenario"):
        check_playable("Airstriker-Genesis-v0", "Level1", scenario="contst")


@pytest.fixture
def own_airstriker(tmp_path):
    """A custom folder with a game that has the name of one in stable-retro's wheel."""
    game = tmp_path / "Airstriker-Genesis-v0"
    game.mkdir()
    for name in ("data.json", "Mine.state"):
        (game / name).touch()
    add_custom_folders([str(tmp_path)])
    yield game
    Integrations.clear_custom_paths()
    games.cache_clear()


def test_own_games_hide_games_of_the_same_name(own_airstriker):
    assert games()[own_airstriker.name] == Integrations.CUSTOM_ONLY
    assert file_of(own_airstriker.name, "data.json") == str(own_airstriker / "data.json")
    assert states(own_airstriker.name) == ["Mine"]
