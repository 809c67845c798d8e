"""A fresh cartridge from another seed."""

import json
from pathlib import Path

import pytest

from cartridge import build_states
from cartridge.levels import fresh, oracle
from cartridge.levels.check import problems
from cartridge.levels.generator import SEED, all_acts, make_act
from cartridge.levels.splits import level_names
from experiment.errors import UserError
from retro_env.config import SEVEN


def test_without_the_compiler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fresh, "which", lambda name: None)
    with pytest.raises(UserError, match="install gcc-m68k-linux-gnu"):
        list(fresh.make(7, out=tmp_path))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seed", [SEED, -1])
def test_seed_of_the_acts_that_agents_train_on_is_refused(tmp_path: Path, seed: int) -> None:
    with pytest.raises(UserError, match=f"not {SEED}, not {seed}"):
        list(fresh.make(seed, out=tmp_path))


def test_a_taken_folder_is_left_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(fresh, "which", lambda name: "/usr/bin/" + name)
    (tmp_path / "BrambleDash7-Genesis-v0").mkdir()
    with pytest.raises(UserError, match="choose another seed or folder"):
        list(fresh.make(7, out=tmp_path))


def test_a_place_that_cannot_be_written_is_refused_before_the_search(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(fresh, "which", lambda name: "/usr/bin/" + name)
    monkeypatch.setattr(fresh, "finishable", lambda seed: pytest.fail("searched"))
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot write .*a writable place"):
        list(fresh.make(7, out=tmp_path / "file"))


def test_an_act_that_cannot_be_finished_gets_another_layout(
    host_compiler: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tried = []

    def stuck_once(simulator: object, act: object) -> list[int]:
        tried.append(act)
        if len(tried) == 1:
            raise UserError("stuck")
        return [1]

    monkeypatch.setattr(oracle, "plan", stuck_once)
    act, actions = fresh._finishable(0, 1, 7)
    assert (act, actions) == (make_act(0, 1, 7, layout=1), [1])
    assert tried[0] == make_act(0, 1, 7, layout=0)


def test_a_seed_without_any_way_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(simulator: object, act: object) -> list[int]:
        raise UserError("stuck")

    monkeypatch.setattr(oracle, "plan", stuck)
    monkeypatch.setattr(fresh, "LAYOUTS", 2)
    with pytest.raises(UserError, match=r"BrambleWood\.Act1: none of 2 layouts of seed 7"):
        fresh._finishable(0, 1, 7)


def test_a_cartridge_says_its_acts(tmp_path: Path) -> None:
    folder = tmp_path / "BrambleDash7-Genesis-v0"
    folder.mkdir()
    layouts = [3, *[0] * 57]
    (folder / fresh.ACTS).write_text(json.dumps({"seed": 7, "layouts": layouts}))
    acts = fresh.acts_of(folder.name, integration=tmp_path)
    assert acts[0] == make_act(0, 1, 7, layout=3) and acts[57] == make_act(13, 1, 7, layout=0)
    assert fresh.acts_of("BrambleDash-Genesis-v0") == all_acts()


def test_a_game_that_does_not_say_its_acts_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no .*acts\.json: expected a game that"):
        fresh.acts_of("Nowhere-Genesis-v0", integration=tmp_path)


def test_acts_of_another_seed_can_be_finished(host_compiler: None) -> None:
    act, actions = fresh._finishable(11, 2, 99)
    assert problems(act) == []
    assert len(actions) > 100


@pytest.mark.slow
@pytest.mark.usefixtures("host_compiler", "console_compiler")
def test_fresh_cartridge_has_states_and_can_be_finished(tmp_path: Path) -> None:
    written = list(fresh.make(7, out=tmp_path))
    folder = tmp_path / "BrambleDash7-Genesis-v0"
    assert written[-1].read_text().count("BrambleDash7-Genesis-v0,") == len(level_names())
    assert {path.stem for path in folder.glob("*.state")} == set(level_names())
    actions = oracle.read_proof(level_names()[0], folder=folder / "proofs")
    env = build_states.boot(folder.name, integration=tmp_path)
    build_states.start_act(env, 1)
    build_states.step(env)
    infos = [build_states.step(env, *SEVEN[action].split()) for action in actions for _ in range(4)]
    env.close()
    assert infos[-1]["level_end_bonus"] == 1 and infos[-1]["lives"] == 3
