"""A fresh cartridge from another seed."""

import gzip
import json
from functools import partial

import numpy as np
import pytest

import web.acts
from cartridge import build_states
from cartridge.levels import fresh, oracle
from cartridge.levels.__main__ import main
from cartridge.levels.check import problems
from cartridge.levels.generator import SEED, all_acts, make_act
from cartridge.levels.splits import level_names
from cartridge.levels.zones import PLACES
from retro_agents.contract.envs import row_seeds
from retro_agents.games.retro.config import SEVEN, EnvConfig
from retro_agents.games.retro.levels import parse_level, parse_levels
from retro_agents.games.retro.make import make_env, make_vec
from retro_agents.ground.errors import UserError


def test_cartridges_without_a_compiler_are_learned_on_side_by_side(
    monkeypatch, tmp_path, capsys, own_games
):
    monkeypatch.setattr(fresh, "which", lambda name: None)
    monkeypatch.setattr(fresh, "finishable", lambda seed: ((act, [1]) for act in all_acts(seed)))
    monkeypatch.setattr("sys.argv", ["levels", "new", "--seeds", "8-9", "--out", str(tmp_path)])
    main()
    assert "only without an emulator" in capsys.readouterr().out
    own_games([str(tmp_path)])
    settings = EnvConfig(frame_stack=1)
    levels = parse_levels(str(tmp_path / "bramble-8-9.csv"))
    assert len(levels) == 2 * len(level_names())
    mixed = [levels[0], levels[60], parse_level("BrambleWood.Act1")]
    envs = make_vec(mixed, num_envs=3, config=settings, seed=1)
    obs, infos = envs.reset()
    assert sorted(infos["level"]) == sorted(map(str, mixed))
    together = [envs.step(np.ones(3, int))[0] for _ in range(40)]
    for row, level in enumerate(infos["level"]):
        alone = make_env(level, settings)
        assert np.array_equal(alone.reset(seed=row_seeds(1, 3)[row])[0], obs[row])
        assert all(np.array_equal(alone.step(1)[0], each[row]) for each in together)
    saved = envs.save_states()
    assert np.array_equal(envs.restore_states(saved), together[-1])
    with pytest.raises(UserError, match="only without an emulator"):
        make_env(levels[0], EnvConfig(backend="emulator"))
    for level, others in ((levels[0], ()), (mixed[-1], levels[:1])):
        with pytest.raises(UserError, match="no states"):
            make_env(level, settings, record_dir=tmp_path / "bk2", others=others)
    envs.close()


def test_an_installed_package_makes_cartridges_without_a_rom(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(fresh, "which", lambda name: name)
    monkeypatch.setattr(fresh, "CARTRIDGE", tmp_path)  # where no Makefile is
    monkeypatch.setattr(fresh, "finishable", first_alone)
    monkeypatch.setattr(fresh.pack, "pack", partial(fresh.pack.pack, art=False))  # art is slow
    monkeypatch.setattr("sys.argv", ["levels", "new", "--seed", "8", "--out", str(tmp_path)])
    main()
    assert "only without an emulator: a ROM needs a checkout" in capsys.readouterr().out
    assert (tmp_path / fresh.game_of(8) / fresh.pack.FILE).is_file()


@pytest.mark.parametrize(
    ("seed", "out", "complaint"),
    [
        (SEED, "new", f"--seed {SEED}: expected 0 or more, of at most 18 digits, and not {SEED}"),
        (-1, "new", "--seed -1: expected 0 or more"),
        (10**250, "new", "expected 0 or more, of at most 18 digits"),
        (7, "", "choose another seed or folder"),
        (7, "BrambleDash7-Genesis-v0/file", r"cannot write .*it is a file"),
    ],
)
def test_a_wrong_seed_or_place_is_refused_before_the_search(
    monkeypatch, tmp_path, seed, out, complaint
):
    monkeypatch.setattr(fresh, "finishable", lambda seed: pytest.fail("searched"))
    taken = tmp_path / "BrambleDash7-Genesis-v0"
    taken.mkdir()
    (taken / "file").touch()
    with pytest.raises(UserError, match=complaint):
        list(fresh.make_all([seed], out=tmp_path / out))


@pytest.mark.parametrize(
    ("words", "says"),
    [("--seeds 5-2 --out x", "--seeds 5-2: expected a number"), ("--out x", "required: --seed")],
)
def test_seeds_that_are_none_are_one_line(words, says, monkeypatch, refused):
    monkeypatch.setattr("sys.argv", ["cartridge.levels", "new", *words.split()])
    assert says in refused(main)


def test_training_acts_are_not_packed_as_new_ones(monkeypatch, refused):
    monkeypatch.setattr(fresh, "finishable", lambda seed: pytest.fail("searched"))
    for seeds in (["1001", str(SEED)], ["--", "-3"]):
        said = refused(web.acts.main, seeds)
        assert "expected 0 or more, of at most 18 digits, and not" in said


def first_alone(seed):
    return [(make_act(0, 1, seed), [1])]


def test_new_acts_for_the_page_are_packed_without_the_art(monkeypatch, tmp_path):
    monkeypatch.setattr(web.acts, "FOLDER", tmp_path)
    monkeypatch.setattr(fresh, "finishable", first_alone)
    web.acts.main(["8"])
    packed = gzip.decompress((tmp_path / "8.pack").read_bytes())
    assert packed == fresh.pack.pack([act for act, _ in first_alone(8)], art=False)


def test_what_was_stopped_is_made_whole_by_the_same_command(monkeypatch, tmp_path):
    searched, written = [], []

    def write(folder, acts):
        written.append(folder)
        if len(written) == 2:
            raise KeyboardInterrupt
        (folder / "acts.pack").touch()
        return folder / "acts.pack"

    monkeypatch.setattr(fresh, "which", lambda name: None)
    monkeypatch.setattr(fresh, "finishable", lambda seed: searched.append(seed) or first_alone(7))
    monkeypatch.setattr(fresh.pack, "write", write)
    with pytest.raises(KeyboardInterrupt):
        list(fresh.make_all([7, 8, 9], out=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [fresh.game_of(7)]
    assert all(path.exists() for path in fresh.make_all([7, 8, 9], out=tmp_path))
    assert searched == [7, 8, 8, 9]
    assert (tmp_path / "bramble-7-9.csv").read_text().count(",BrambleWood.Act1\n") == 3


def test_what_another_process_has_made_meanwhile_stays(monkeypatch, tmp_path):
    def write(folder, acts):
        (tmp_path / fresh.game_of(7) / "theirs").mkdir(parents=True)
        (folder / "acts.pack").touch()
        return folder / "acts.pack"

    monkeypatch.setattr(fresh, "which", lambda name: None)
    monkeypatch.setattr(fresh, "finishable", first_alone)
    monkeypatch.setattr(fresh.pack, "write", write)
    with pytest.raises(UserError, match="run this again"):
        list(fresh.make_all([7], out=tmp_path))
    assert [path.name for path in (tmp_path / fresh.game_of(7)).iterdir()] == ["theirs"]


def test_an_act_that_cannot_be_finished_gets_another_layout(monkeypatch):
    tried = []

    def stuck_once(simulator, act):
        tried.append(act)
        if len(tried) in (1, 3, 4):
            raise UserError("stuck")
        return [1]

    monkeypatch.setattr(oracle, "plan", stuck_once)
    monkeypatch.setattr(fresh, "LAYOUTS", 2)
    act, actions = fresh.finishable_act(0, 1, 7)
    assert (act, actions) == (make_act(0, 1, 7, layout=1), [1])
    assert tried[0] == make_act(0, 1, 7, layout=0)
    with pytest.raises(UserError, match=r"BrambleWood\.Act1: none of 2 layouts of seed 7"):
        fresh.finishable_act(0, 1, 7)


def test_a_cartridge_says_its_acts(tmp_path, monkeypatch):
    monkeypatch.setattr(fresh, "folder_of", tmp_path.joinpath)
    folder = tmp_path / "BrambleDash7-Genesis-v0"
    folder.mkdir()
    layouts = [3, *[0] * 57]
    record = {"seed": 7, "layouts": layouts}
    (folder / fresh.ACTS).write_text(json.dumps(record))
    with pytest.raises(UserError, match=r"made by another version of the level generator"):
        fresh.acts_of(folder.name)
    acts = [make_act(*place, 7, layout=k) for place, k in zip(PLACES, layouts, strict=True)]
    (folder / fresh.ACTS).write_text(json.dumps(record | {"sha256": fresh.hash_of(acts)}))
    assert fresh.acts_of(folder.name) == acts
    assert fresh.acts_of("BrambleDash-Genesis-v0") == all_acts()
    with pytest.raises(UserError, match=r"no .*acts\.json: expected a game that"):
        fresh.acts_of("Nowhere-Genesis-v0")


def test_acts_of_another_seed_can_be_finished():
    act, actions = fresh.finishable_act(11, 2, 99)
    assert problems(act) == []
    assert len(actions) > 100


@pytest.mark.slow
@pytest.mark.usefixtures("console_compiler")
def test_fresh_cartridge_has_states_and_can_be_finished(monkeypatch, tmp_path):
    def first_searched(seed):
        yield fresh.finishable_act(0, 1, seed)
        yield from ((act, [1]) for act in all_acts(seed)[1:])

    monkeypatch.setattr(fresh, "finishable", first_searched)
    out = tmp_path / "a b"  # make cannot handle spaces
    written = list(fresh.make_all([7], out=out))
    folder = out / "BrambleDash7-Genesis-v0"
    files = {fresh.ACTS, fresh.pack.FILE, "metadata.json", "proofs", "rom.md", "rom.sha", "src"}
    found = {path.name for path in folder.iterdir() if path.suffix != ".state"}
    assert found == {*fresh.KEPT, *files}
    assert written[-1].read_text().count("BrambleDash7-Genesis-v0,") == len(level_names())
    assert {path.stem for path in folder.glob("*.state")} == set(level_names())
    actions = oracle.read_proof(level_names()[0], folder=folder / "proofs")
    env = build_states.boot(folder.name, integration=out)
    build_states.start_act(env, 1)
    build_states.step(env)
    infos = [build_states.step(env, *SEVEN[action].split()) for action in actions for _ in range(4)]
    env.close()
    assert infos[-1]["level_end_bonus"] == 1 and infos[-1]["lives"] == 3
