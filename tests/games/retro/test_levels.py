"""What `--levels` understands, and how it refuses what it does not."""

import shutil
from contextlib import closing

import pytest
from stable_retro.data import Integrations

from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.integrations import (
    MORE_GAMES,
    OWN_GAMES,
    check_playable,
    file_of,
    full_name,
    games,
    kind_of,
    rom_hash,
    states,
)
from retro_agents.games.retro.levels import Level, parse_level, parse_levels
from retro_agents.games.retro.make import make_vec
from retro_agents.ground.errors import UserError


def test_splits_are_the_contests_and_brambles_can_be_played():
    for family in ("sonic", "bramble"):
        train, test = parse_levels(f"{family}-train"), parse_levels(f"{family}-test")
        assert (len(train), len(test)) == (47, 11)
        assert not set(train) & set(test)
    for level in train + test:
        check_playable(level.game, level.state, scenario="contest")
    assert {level.game for level in parse_levels("sonic-train,sonic-test")} == {
        *("SonicTheHedgehog-Genesis-v0", "SonicTheHedgehog2-Genesis-v0"),
        "SonicAndKnuckles3-Genesis-v0",
    }
    splits = [parse_levels(f"sonic-custom-{name}") for name in ("leaderboard", "final")]
    assert [len(split) for split in splits] == [5, 11]
    levels = {level for split in splits for level in split}
    custom = [game for game in games() if "Custom" in game]
    assert levels == {Level(game, state) for game in custom for state in states(game)}


def test_a_cartridge_that_is_made_while_the_process_runs_is_found(tmp_path, monkeypatch):
    monkeypatch.setattr("retro_agents.games.retro.integrations.OWN_GAMES", tmp_path)
    with pytest.raises(UserError, match="unknown game"):
        full_name("Made")
    (tmp_path / "Made-v0").mkdir()
    (tmp_path / "Made-v0" / "data.json").touch()
    assert full_name("Made") == "Made-v0"
    games.cache_clear()


def test_games_beside_a_csv_or_in_a_named_folder_are_found_by_child_processes_too(
    tmp_path, monkeypatch, own_games
):
    made = tmp_path / "BrambleDash77-Genesis-v0"
    shutil.copytree(OWN_GAMES / "BrambleDash-Genesis-v0", made)
    (tmp_path / "two.csv").write_text(f"game,state\n{made.name},BrambleWood.Act1\n")
    monkeypatch.setenv(MORE_GAMES, "")
    monkeypatch.chdir(tmp_path)
    config = EnvConfig(image_height=42, image_width=42, backend="emulator")
    with closing(make_vec("two.csv", config, num_envs=1)) as envs:
        assert envs.reset()[1]["level"][0] == f"{made.name}:BrambleWood.Act1"
    shutil.copytree(tmp_path, tmp_path / "a:b")
    with pytest.raises(UserError, match="expected games in a folder without ':' in its path"):
        parse_levels("a:b/two.csv")
    monkeypatch.setenv(MORE_GAMES, ".")
    games.cache_clear()
    assert parse_levels(f"{made.name}:BrambleWood.Act1") == parse_levels("two.csv")
    monkeypatch.setenv(MORE_GAMES, "")
    games.cache_clear()
    with pytest.raises(UserError, match=f"a CSV beside its folder, or name .* in {MORE_GAMES}"):
        parse_levels(f"{made.name}:BrambleWood.Act1")


def test_levels_are_separated_by_commas_and_a_missing_scenario_names_others():
    game = "SonicTheHedgehog-Genesis-v0"
    assert full_name("SonicTheHedgehog-Genesis") == game  # as in 2018
    spec = f"{game}:GreenHillZone.Act1, {game.removesuffix('-v0')}:MarbleZone.Act2"
    found = [str(level) for level in parse_levels(spec)]
    assert found == [f"{game}:GreenHillZone.Act1", f"{game}:MarbleZone.Act2"]
    train, test = parse_levels("bramble-train"), parse_levels("bramble-test")
    assert parse_levels("bramble-test, bramble-train") == test + train
    assert parse_levels(f"{train[0]},bramble-test") == [train[0], *test]
    with pytest.raises(UserError, match="no scenario 'contst': choose one of scenario"):
        check_playable("Airstriker-Genesis-v0", "Level1", scenario="contst")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("sonic-trian", "nearest: sonic-train"),
        ("SonicTheHedgehg-Genesis-v0:GreenHillZone.Act1", "nearest: SonicTheHedgehog-Genesis-v0"),
        ("SonicTheHedgehog-Genesis:GreenHilZone.Act1", r"nearest: GreenHillZone\.Act1"),
        ("none.csv", "cannot read levels"),
        ("bramble-test,none.csv", "cannot read levels from none.csv"),
        ("Airstriker-Genesis-v0:Start", r"no state 'Start' \(it has Level1\)"),
        ("BrambleDash77-Genesis-v0:BrambleWood.Act1", f"new --seeds 77 --out {OWN_GAMES}`"),
        ("BrambleDash1-Genesis-v0:BrambleWood.Act1", "unknown game"),
        ("BrambleDash007-Genesis-v0:BrambleWood.Act1", "unknown game"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(spec, message):
    with pytest.raises(UserError, match=message) as error:
        parse_levels(spec)
    assert r"\n" not in str(error.value)


def test_a_split_is_not_taken_for_one_level():
    with pytest.raises(UserError, match="bramble-test is a split: give one"):
        parse_level("bramble-test")


@pytest.mark.parametrize(
    "text", ["game,state\n", "\ufeffgame,state\n", "game, state\n", "\ngame ,state \n"]
)
@pytest.mark.parametrize("name", ["mine.csv", "MINE.CSV", "procgen-names.Csv"])
def test_a_csv_is_a_list_of_levels_whatever_mark_or_blank_is_before_a_columns_name(
    tmp_path, name, text
):
    path = tmp_path / name
    path.write_text(f"{text}Airstriker-Genesis-v0, Level1\n", encoding="utf-8")
    level = Level("Airstriker-Genesis-v0", "Level1")
    assert parse_levels(str(path)) == [level]
    assert parse_levels(f"{level}, {path},{path}") == [level] * 3
    path.rename(path := tmp_path / "a,b.csv")
    assert parse_levels(str(path)) == [level]


LACKS = r"mine\.csv, line 3 lacks its game or state"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "level\nAirstriker-Genesis-v0:Level1\n",
            "1 rows with the columns level: expected",
        ),
        ("game,state\n", "0 rows with the columns game,state:"),
        ("", "0 rows with the columns .none.:"),
        ("game,state\nAirstriker-Genesis-v0,Level9\n", r"mine\.csv: Airstriker.*nearest: Level1"),
        ("game,state\nAirstriker-Genesis-v0,Level1\nAirstriker-Genesis-v0\n", LACKS),
        ("game,state\nAirstriker-Genesis-v0,Level1\nAirstriker-Genesis-v0, \n", LACKS),
        ("game,state\nAirstriker-Genesis-v0,Level1\n,Level1\n", LACKS),
        ("game,state\n" + "x" * 200_000 + ",Level1\n", "cannot read levels"),
    ],
    ids=[
        "columns",
        "no rows",
        "nothing",
        "unknown",
        "no state",
        "blank state",
        "no game",
        "too long",
    ],
)
def test_a_csv_with_a_mistake_is_refused_in_one_line(tmp_path, text, message):
    (tmp_path / "mine.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        parse_levels(str(tmp_path / "mine.csv"))


def test_own_games_hide_games_of_the_same_name(copied):
    own = copied("Airstriker-Genesis-v0", "Airstriker-Genesis-v0", "data.json")
    (own / "Mine.state").touch()
    assert kind_of(own.name) == Integrations.CUSTOM_ONLY
    assert file_of(own.name, "data.json") == own / "data.json"
    assert states(own.name) == ["Mine"]


def test_a_game_without_its_rom_is_refused_in_one_line_by_a_sweep_too(copied):
    game = copied("Airstriker-Genesis-v0", "Lost-Genesis-v0", "data.json").name
    for ask in (rom_hash, lambda game: check_playable(game, scenario="contest")):
        with pytest.raises(UserError, match="Lost-Genesis-v0 has no ROM: import your own"):
            ask(game)
