"""The reference players: one definition, the contest's rules, and the difficulty asked for."""

import csv
import statistics
from random import Random
from unittest.mock import Mock

import pytest

from cartridge import build_states
from cartridge.levels import fresh, oracle, references, robust
from cartridge.levels.__main__ import main
from cartridge.levels.generator import all_acts
from cartridge.levels.splits import held_out, level_names
from cartridge.levels.zones import name_of
from retro_agents.games.retro import bramble
from retro_agents.games.retro.references import HOLD, JUMP, PERIOD, REFERENCES, RIGHT
from retro_agents.ground.errors import UserError

ACTS = all_acts()
LEVELS = level_names()
AGENTS = (*REFERENCES, "oracle", "robust-oracle")


@pytest.fixture(scope="module")
def rows():
    with bramble.REFERENCES.open() as file:
        return list(csv.DictReader(file))


def mean(rows, agent):
    """Mean return of a player over the held-out acts."""
    kept = (r for r in rows if r["agent"] == agent and r["level"] in held_out())
    return statistics.mean(float(row["mean_return"]) for row in kept)


def test_every_player_is_measured_on_every_act(rows):
    assert [(r["level"], r["agent"]) for r in rows] == [(n, a) for n in LEVELS for a in AGENTS]
    finished = {r["level"] for r in rows if r["agent"] == "oracle" and r["finished"] == "1"}
    assert finished == set(LEVELS)
    assert all(row["finished"] == "0" for row in rows if row["agent"] == "hold-right")


def test_held_out_acts_are_as_hard_as_asked_for(rows):
    assert 300 <= mean(rows, "random") <= 1500
    assert mean(rows, "run-and-jump") < 4000
    assert mean(rows, "robust-oracle") > 9000
    assert mean(rows, "oracle") > 9800
    stopped = [row for row in rows if row["agent"] == "run-and-jump" and row["level"] in held_out()]
    assert sum(row["kind"] in ("left", "wait", "speed") for row in stopped) >= 5


def test_rows_are_what_measuring_gives(simulator, rows, tmp_path):
    act = ACTS[LEVELS.index("EmberFoundry.Act3")]
    again = [
        references.measure(simulator, act, "hold-right"),
        references.measure(simulator, act, "run-and-jump"),
        references.measure_oracle(simulator, act, oracle.read_proof(name_of(act))),
    ]
    references.write(again, tmp_path / "some.csv")
    with (tmp_path / "some.csv").open() as file:
        written = list(csv.DictReader(file))
    agents = {row["agent"] for row in written}
    assert written == [r for r in rows if r["level"] == name_of(act) and r["agent"] in agents]
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="cannot write"):
        references.write([], tmp_path / "file" / "some.csv")


def test_a_wrong_game_or_folder_is_refused_before_the_search(monkeypatch, tmp_path, refused):
    monkeypatch.setattr(build_states, "INTEGRATION", tmp_path)
    monkeypatch.setattr(robust, "measure_all", lambda *_, **__: pytest.fail("measured"))
    monkeypatch.setattr("sys.argv", ["levels", "references", "Some-Genesis-v0"])
    assert "expected a game that" in refused(main) and not any(tmp_path.iterdir())
    monkeypatch.setattr(fresh, "acts_of", lambda game: ACTS)
    (tmp_path / "Some-Genesis-v0").touch()
    assert "cannot write" in refused(main)


def test_another_cartridge_is_measured_by_its_own_proofs_into_its_own_table(monkeypatch, tmp_path):
    measured = Mock(return_value=iter(()))
    monkeypatch.setattr(build_states, "INTEGRATION", tmp_path)
    monkeypatch.setattr(robust, "measure_all", measured)
    monkeypatch.setattr(fresh, "acts_of", lambda game: ACTS)
    monkeypatch.setattr("sys.argv", ["levels", "references", "Some-Genesis-v0", "--episodes", "9"])
    main()
    proofs = tmp_path / "Some-Genesis-v0" / "proofs"
    measured.assert_called_once_with(ACTS, episodes=9, proofs=proofs)
    assert (tmp_path / "Some-Genesis-v0" / "references.csv").is_file()


def test_episodes_are_the_same_for_blind_and_seeing_players(simulator):
    actions = references.blind_actions("run-and-jump", seed=0)
    steps = iter(actions)
    seeing = references.episode(simulator, LEVELS[3], lambda status: next(steps), Random(5))
    assert seeing == references.blind_episode(simulator, LEVELS[3], actions, Random(5))
    assert actions[: 2 * PERIOD] == ([JUMP] * HOLD + [RIGHT] * (PERIOD - HOLD)) * 2
    assert len(actions) == references.STEP_LIMIT


def test_episodes_are_a_function_of_the_seed_and_keep_their_furthest_point(simulator):
    def play(seed):
        actions = references.blind_actions("random", seed=seed)
        return references.blind_episode(simulator, LEVELS[0], actions, Random(seed))

    assert play(5) == play(5) != play(6)
    actions = [oracle.RIGHT] * 15 + [oracle.LEFT] * 30
    end = references.blind_episode(simulator, LEVELS[0], actions, Random(0))
    assert end.furthest > end.status.x + 50


def test_obstacle_ahead_is_the_one_that_begins_next():
    act = ACTS[0]
    (_, second), (name, third) = act.chunks[1], act.chunks[2]
    assert references.obstacle_at(act, third * 16 - references.AHEAD) == name
    assert references.obstacle_at(act, third * 16 - references.AHEAD - 1) == act.chunks[1][0]
    assert references.obstacle_at(act, 0) == act.chunks[0][0]
    assert second < third
