"""The ROM, its states and its reward, against the source and against slow arithmetic."""

import gzip
import re
import struct
import subprocess

import numpy as np
import pytest
import stable_retro

from cartridge import build_states
from cartridge.levels.cells import Cell
from cartridge.levels.generator import all_acts
from cartridge.levels.splits import level_names
from retro_agents.games.retro.bramble import GAME
from tests.cartridge.conftest import make

NAMES = level_names()


@pytest.fixture
def env():
    """The game at its title; tests go to the act they need."""
    game = build_states.boot()
    yield game
    game.close()


@pytest.fixture(scope="module")
def rebuilt(console_compiler, tmp_path_factory):
    """A folder with rom.md and rom.elf, compiled anew."""
    folder = tmp_path_factory.mktemp("rom")
    make(folder, folder / "rom.md", ROM=folder / "rom.md").check_returncode()
    return folder


def scripted(frame):
    """A lively run: right, with jumps, rolls and some ways back."""
    if frame % 200 > 170:
        return ["LEFT"]
    buttons = ["RIGHT"]
    if frame % 70 < 25:
        buttons.append("B")
    if frame % 110 > 90:
        buttons.append("DOWN")
    return buttons


def test_committed_rom_equals_a_rebuild(rebuilt):
    version = subprocess.run(["m68k-linux-gnu-gcc", "-dumpversion"], capture_output=True, text=True)
    if version.stdout.split(".")[0].strip() != "12":
        pytest.skip("the committed ROM was built with gcc 12")
    assert (rebuilt / "rom.md").read_bytes() == (build_states.FOLDER / "rom.md").read_bytes()


def test_no_word_is_read_at_an_odd_address(rebuilt):
    listing = subprocess.run(
        ["m68k-linux-gnu-objdump", "-d", rebuilt / "rom.elf"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    words = r"\t(?:(?:move|add|sub|cmp|and|or|tst|clr|not|neg)[iaq]?[wl]|(?:mul|div)[su]w) .*"
    odd = r"(?:@\(-?\d*[13579]\)|\bff[0-9a-f]{3}[13579bdf]\b).*"
    for line in ("\tmovew %a0@(5),%d0", "\tmulsw %a0@(-3),%d0", "\ttstw ff0123 <ram>"):
        assert re.search(words + odd, line)
    assert len(re.findall(words, listing)) > 1_000
    assert re.findall(words + odd, listing) == []


def test_header_checksum_is_the_sum_of_the_words_behind_it():
    rom = (build_states.FOLDER / "rom.md").read_bytes()
    assert rom[0x100:0x110] == b"SEGA MEGA DRIVE "
    assert struct.unpack(">I", rom[0x1A4:0x1A8])[0] == len(rom) - 1
    words = np.frombuffer(rom[0x200:], ">u2").astype(np.int64)
    assert struct.unpack(">H", rom[0x18E:0x190])[0] == words.sum() % 65536


def test_states_equal_rebuilt_states_and_begin_at_the_start_of_their_act(env):
    assert {p.stem for p in build_states.FOLDER.glob("*.state")} == set(NAMES)
    for name, state in build_states.act_states(env):
        saved = gzip.decompress((build_states.FOLDER / f"{name}.state").read_bytes())
        assert saved == state, name
    acts = set()
    for name in NAMES:
        env.em.set_state(gzip.decompress((build_states.FOLDER / f"{name}.state").read_bytes()))
        info = build_states.step(env)
        assert info["x"] == info["start_x"] and info["lives"] == 3 and info["frame_counter"] < 4
        zero = ("contest_score", "progress", "level_end_bonus", "rings")
        assert not any(info[name] for name in zero)
        acts.add((info["zone"], info["act"]))
    assert len(acts) == len(NAMES)


def test_every_frame_is_one_step_of_the_game_without_lag(env):
    for number in range(1, len(NAMES) + 1):
        before = build_states.start_act(env, number)
        for frame in range(150):
            info = build_states.step(env, *scripted(frame))
            if info["mode"] != 1:
                break
            assert info["lag"] == 0
            assert info["frame_counter"] == before["frame_counter"] + 1
            before = info


@pytest.mark.parametrize("number", (2, 35))
def test_same_inputs_give_the_same_memory(env, number):
    build_states.start_act(env, number)
    state = env.em.get_state()
    trajectories = []
    for _ in range(2):
        env.em.set_state(state)
        frames = []
        for frame in range(300):
            build_states.step(env, *scripted(frame))
            if frame % 50 == 49:
                frames.append(build_states.clean(env.em.get_state()))
        trajectories.append((frames, env.em.get_screen().tobytes()))
    assert trajectories[0] == trajectories[1]
    assert len(set(trajectories[0][0])) == 6


def test_a_pit_costs_a_life_and_a_lost_game_leads_to_the_title(env):
    assert build_states.step(env)["mode"] == 0
    infos = [build_states.step(env, *(("START",) if i == 0 else ())) for i in range(60)]
    assert (infos[-1]["mode"], infos[-1]["zone"], infos[-1]["act"]) == (1, 1, 1)
    number, x = next((n, x) for n, act in enumerate(all_acts(), start=1) for x in pits(act))
    build_states.start_act(env, number, x=x - 8)
    env.data.set_value("lives", 1)
    infos = [build_states.step(env, "RIGHT") for _ in range(300)]
    assert (infos[-1]["mode"], infos[-1]["lives"]) == (0, 3)
    info = build_states.start_act(env, number, x=x - 8)
    for _ in range(120):
        info = build_states.step(env, "RIGHT")
        if info["mode"] == 2:
            break
    assert info["mode"] == 2 and info["lives"] == 2
    score = info["contest_score"]
    info = build_states.step(env)
    assert info["contest_score"] == score
    for _ in range(150):
        info = build_states.step(env)
    assert info["mode"] == 1 and info["lives"] == 2 and info["x"] == info["start_x"]


def pits(act):
    """Left edges of the columns without ground, pixels."""
    empty = [all(cell is Cell.EMPTY for cell in column) for column in act.columns]
    return [16 * i for i in range(1, act.width) if empty[i] and not empty[i - 1]]


def test_end_latches_with_progress_and_bonus(env):
    end = build_states.start_act(env, 1)["end_x"]
    build_states.start_act(env, 1, x=end - 30)
    for _ in range(60):
        info = build_states.step(env, "RIGHT")
        if info["level_end_bonus"]:
            break
    frames = info["frame_counter"]
    assert info["x"] >= end and info["progress"] == end - info["start_x"]
    assert info["contest_score"] == 36000 + (18000 - frames) * 4000 // 18000
    for _ in range(200):
        later = build_states.step(env, "LEFT")
    assert later["level_end_bonus"] == 1 and later["contest_score"] == info["contest_score"]
    assert later["frame_counter"] == frames


@pytest.mark.parametrize("scenario", ["contest", "scenario"])
def test_reward_is_the_contests(scenario):
    stable_retro.data.Integrations.add_custom_path(str(build_states.INTEGRATION))
    game = stable_retro.make(
        GAME,
        state=NAMES[0],
        scenario=scenario,
        inttype=stable_retro.data.Integrations.ALL,
        render_mode="rgb_array",
    )
    for _ in range(2):
        game.reset()
        check_rewards(game)
    game.close()


def check_rewards(game):
    """Rewards of a run there, back and there again, against 9000 times the progress made."""
    total, lowest = 0.0, 0.0
    for frame in range(240):
        held = "LEFT" if 60 <= frame < 160 else "RIGHT"
        _, reward, done, _, info = game.step(np.array([b == held for b in game.buttons], np.int8))
        assert not done
        total += reward
        lowest = min(lowest, reward)
        progress = (info["x"] - info["start_x"]) / (info["end_x"] - info["start_x"])
        assert total == pytest.approx(9000 * min(max(progress, 0), 1), abs=0.25)
    assert lowest < 0 < total
