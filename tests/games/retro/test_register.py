"""Gymnasium's own ways: registered levels, and every wrapper it has, one by one, on both kinds."""

import shutil
from functools import partial
from itertools import chain
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium import wrappers
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.wrappers import vector
from PIL import Image

from retro_agents.games.retro import register
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import make_env, make_vec
from retro_agents.games.retro.splits import split_names
from retro_agents.ground.errors import UserError

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(pkg_resources|invalid escape|Overwriting|possible render_modes|autoreset mode)"
)
ID = "retro_agents:BrambleDash/BrambleWood.Act3-v0"
SMALL = {"image_height": 20, "image_width": 24, "episode_steps": 6, "render_mode": "rgb_array"}
BOX, SEVEN = gymnasium.spaces.Box(0, 1, (4, 20, 24), np.float32), gymnasium.spaces.Discrete(7)


def given(*args, **options):
    """Wraps an environment with these arguments."""
    return lambda wrapper, env: wrapper(env, *args, **options)


PLAIN = "FlattenObservation HumanRendering NormalizeObservation NormalizeReward NumpyToTorch"
ALONE = "AddRenderObservation Autoreset OrderEnforcing PassiveEnvChecker RenderCollection"
"""Those that need nothing but the environment."""
BOTH = {
    **dict.fromkeys([*PLAIN.split(), "RecordEpisodeStatistics"], given()),
    "ArrayConversion": given(np, np),
    "ClipReward": given(-1, 1),
    "DtypeObservation": given(np.float32),
    "RecordVideo": given("films", episode_trigger=lambda _: True),
    "RescaleObservation": given(np.float32(0), np.float32(1)),
    "ReshapeObservation": given((2, 2, 20, 24)),
    "TransformReward": given(lambda reward: reward / 100),
}
SINGLE = {
    **BOTH,
    **dict.fromkeys(ALONE.split(), given()),
    "AddWhiteNoise": given(0.1),
    "DelayObservation": given(1),
    "DiscretizeObservation": given(2, multidiscrete=True),
    "FrameStackObservation": given(2),
    "MaxAndSkipObservation": given(2),
    "ObstructView": given(0.1, 4),
    "RepeatAction": given(2),
    "StickyAction": given(0.5),
    "TimeAwareObservation": lambda w, env: w(wrappers.TimeLimit(env, 9), flatten=False),
    "TimeLimit": given(3),
    "TransformAction": given(lambda action: 6 - action, SEVEN),
    "TransformObservation": given(lambda o: np.float32(o / 255), BOX),
}
MANY = {
    **BOTH,
    "DictInfoToList": given(),
    "TransformAction": given(lambda actions: 6 - actions),
    "TransformObservation": given(lambda o: np.float32(o / 255), single_observation_space=BOX),
    "VectorizeTransformAction": given(
        wrappers.TransformAction, func=lambda a: 6 - a, action_space=SEVEN
    ),
    "VectorizeTransformObservation": given(wrappers.DtypeObservation, dtype=np.float32),
    "VectorizeTransformReward": given(wrappers.ClipReward, max_reward=1),
}
NOT = {
    *("ClipAction", "RescaleAction", "DiscretizeAction", "FilterObservation"),
    *("GrayscaleObservation", "ResizeObservation"),
    *("AtariPreprocessing", "JaxToNumpy", "JaxToTorch"),
}
"""Wrappers that do not apply, as docs/environments/retro.md says."""
OBSERVATIONS = {name for name in MANY if "Observation" in name}
REFUSED = {
    "SameStep": {"ArrayConversion", "NumpyToTorch", *OBSERVATIONS},
    "NextStep": {"DictInfoToList"},
    "Disabled": {"DictInfoToList", "NormalizeObservation"},
}
"""Autoreset mode -> wrappers that Gymnasium refuses in it, or that fail at our infos."""


def test_every_wrapper_is_tried_or_said_not_to_apply():
    assert {*SINGLE, *NOT} == {*wrappers.__all__, "HumanRendering"} - {"vector"}
    assert {*MANY, *(NOT & {*vector.__all__})} == {*vector.__all__}


@pytest.fixture(autouse=True)
def no_window(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


@pytest.mark.parametrize("name", SINGLE)
def test_a_wrapper_works_beyond_an_episodes_end(name):
    env = SINGLE[name](getattr(wrappers, name), gymnasium.make(ID, **SMALL))
    obs, _ = env.reset(seed=1)
    env.action_space.seed(0)
    ends = 0
    while ends < 2:
        assert name == "NumpyToTorch" or obs in env.observation_space
        obs, _, terminated, truncated, info = env.step(env.action_space.sample())
        if terminated or truncated:
            ends += 1
            if name != "TimeLimit":
                assert info["episode_record"]["l"] == SMALL["episode_steps"]
            if name == "RecordEpisodeStatistics":
                assert info["episode"]["l"] == SMALL["episode_steps"]
                score = info["episode_record"]["r"]
                assert score and info["episode"]["r"] * 100 == pytest.approx(score)
            if name != "Autoreset":
                obs, _ = env.reset()
    env.close()
    assert name != "RecordVideo" or len(list(Path("films").glob("*.mp4"))) >= 2


@pytest.mark.parametrize(
    ("mode", "name"),
    [(mode, name) for mode in REFUSED for name in MANY if name not in REFUSED[mode]],
)
def test_a_wrapper_of_vector_environments_works_beyond_episodes_ends(mode, name):
    made = gymnasium.make_vec(ID, num_envs=2, autoreset_mode=mode, **SMALL)
    env = MANY[name](getattr(vector, name), made)
    env.reset(seed=1)
    env.action_space.seed(0)
    ends = 0
    for _ in range(2 * SMALL["episode_steps"] + 1):
        obs, _, terminated, truncated, infos = env.step(env.action_space.sample())
        assert obs.shape == env.observation_space.shape
        if name == "DictInfoToList":
            ends += sum("episode_record" in info for info in infos)
            continue
        ended = terminated | truncated
        ends += int(ended.sum())
        assert ("episode_record" in infos) == bool(ended.any())
        if ended.any():
            assert {*infos["episode_record"]["l"][ended].tolist()} == {SMALL["episode_steps"]}
        if name == "RecordEpisodeStatistics" and "episode" in infos:
            assert set(infos["episode"]["l"]) == {SMALL["episode_steps"]}
        if mode == "Disabled" and ended.any():
            env.reset(options={"reset_mask": np.asarray(ended)})
    env.close()
    assert ends == 4
    assert name != "RecordVideo" or list(Path("films").glob("*.mp4"))


@pytest.mark.parametrize(
    ("mode", "name"), [(mode, name) for mode, names in REFUSED.items() for name in sorted(names)]
)
def test_a_wrapper_is_refused_in_a_mode_that_the_guide_leaves_out(mode, name):
    env = gymnasium.make_vec(ID, num_envs=2, autoreset_mode=mode, **SMALL)
    with pytest.raises((ValueError, BufferError, AssertionError)):
        MANY[name](getattr(vector, name), env).reset(seed=1)
    env.close()


def test_a_level_is_made_by_name_as_make_env_makes_it():
    own = EnvConfig(reward_scale=0.01, backtracking=False)
    named, made = gymnasium.make(ID), make_env("BrambleWood.Act3", own)
    np.testing.assert_array_equal(named.reset(seed=5)[0], made.reset(seed=5)[0])
    for action in np.random.default_rng(0).integers(7, size=60):
        np.testing.assert_equal(named.step(action), made.step(action))


def test_pictures_are_drawn_as_the_render_mode_says():
    env = gymnasium.make(ID, **SMALL)
    first, _ = env.reset(seed=5)
    assert np.array(Image.fromarray(env.render())).shape == (224, 320, 3)
    with_none = gymnasium.make(ID, image_height=20, image_width=24, disable_env_checker=True)
    obs, info = with_none.reset(seed=5)
    assert with_none.render_mode is None and with_none.unwrapped.render() is None
    np.testing.assert_array_equal(obs, first)
    assert info["level"] == "BrambleDash-Genesis-v0:BrambleWood.Act3"
    frames = gymnasium.make(ID, **SMALL | {"render_mode": "rgb_array_list"})
    frames.reset()
    frames.step(1)
    assert len(frames.render()) == 2


def test_every_level_of_the_splits_is_registered():
    names = {name for name in gymnasium.registry if "/" in name}
    assert {"BrambleDash/BrambleWood.Act1-v0", "SonicTheHedgehog/GreenHillZone.Act2-v0"} <= names
    assert sum(name.startswith("BrambleDash/") for name in names) == 58 + 2  # splits
    assert split_names() == sorted(chain(*register.FAMILIES.values()))


@pytest.mark.filterwarnings("ignore:.*Overriding")  # those that are registered already
@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("mine", "game,state"),
        ("bramble-my own", "game,state"),
        ("bramble-mine", "\ufeffgame,state"),
    ],
)
def test_a_users_own_list_among_the_splits_is_no_error(monkeypatch, name, head):
    names = {*gymnasium.registry}
    splits = shutil.copytree(register.SPLITS, Path("splits"))
    (splits / f"{name}.csv").write_text(f"{head}\n{GAME},BrambleWood.Act3\n")
    monkeypatch.setattr(register, "SPLITS", splits)
    register.register_levels()
    assert names == {*gymnasium.registry}


def test_a_split_is_one_name_and_its_levels_are_drawn_by_the_seed():
    env = gymnasium.make("retro_agents:BrambleDash/test-v0", **SMALL)
    seeds = [3, *[None] * 9]
    levels = [[env.reset(seed=seed)[1]["level"] for seed in seeds] for _ in range(2)]
    assert levels[0] == levels[1] and len(set(levels[0])) > 3
    assert env.reset(options={"level": levels[0][2]})[1]["level"] == levels[0][2]
    assert env.step(1)[-1]["level"] == levels[0][2]
    envs = gymnasium.make_vec("retro_agents:BrambleDash/test-v0", num_envs=11, **SMALL)
    assert len(set(envs.reset()[1]["level"])) == 11


@pytest.mark.parametrize(
    "levels",
    [
        "two.csv",
        Path("two.csv"),
        ["BrambleWood.Act1", Level("BrambleDash9-Genesis", "BrambleWood.Act3")],
    ],
)
def test_levels_of_two_cartridges_are_drawn_by_the_seed(levels, copied):
    files = ("data.json", "contest.json", "bramble.wasm", "game.pack")
    other = copied(GAME, "BrambleDash9-Genesis-v0", *files).name
    both = {f"{GAME}:BrambleWood.Act1", f"{other}:BrambleWood.Act3"}
    rows = [level.replace(":", ",") for level in both]
    Path("two.csv").write_text("\n".join(["game,state", *rows]))
    env = gymnasium.make(ID, levels=levels, **SMALL)
    assert {env.reset(seed=seed)[1]["level"] for seed in range(8)} == both
    assert env.step(1)[-1]["level"] in both
    for make in (make_vec, partial(gymnasium.make_vec, ID)):
        assert {*make(levels=levels, num_envs=2).reset()[1]["level"]} == both


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_named_vector_is_wrapped_in_both_of_gymnasiums_modes(mode):
    envs = gymnasium.make_vec(
        ID, num_envs=2, vectorization_mode=mode, wrappers=[wrappers.FlattenObservation], **SMALL
    )
    assert envs.reset(seed=1)[0].shape == (2, 4 * 20 * 24)
    envs.close()


@pytest.mark.filterwarnings("error")
def test_a_window_is_opened_for_the_render_mode_human():
    env = gymnasium.make(ID, **SMALL | {"render_mode": "human"})
    env.reset()
    env.step(1)
    assert env.render_mode == "human" and env.render() is None
    env.close()


def test_a_window_without_a_display_is_refused(monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UserError, match=r"no display: .* render_mode=\"rgb_array\" opens no"):
        gymnasium.make(ID, **SMALL | {"render_mode": "human"})


@pytest.mark.parametrize(
    ("backend", "skip", "speed"), [("native", 4, 15), ("native", 1, 60), ("emulator", 1, 60)]
)
def test_pictures_come_as_fast_as_the_game(backend, skip, speed):
    settings = {"frame_skip": skip, "backend": backend}
    env = gymnasium.make(ID, **settings)
    envs = gymnasium.make_vec(ID, num_envs=1, **settings)
    assert env.metadata["render_fps"] == envs.metadata["render_fps"] == speed
    env.close()
    envs.close()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"frame_stac": 2}, (TypeError, "expected levels, .*frame_stack")),
        ({"frame_stack": 0}, (UserError, "from 1 to 256")),
        ({"render_mode": "ansi"}, (ValueError, "rgb_array")),
    ],
)
def test_settings_that_are_none_are_said(settings, says):
    for make in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(says[0], match=says[1]):
            make(ID, **settings)


def test_steps_at_the_wrong_time_or_of_no_action_say_what_is_wrong(bramble):
    level, config = bramble
    for env, one in ((make_env(level, config), 1), (make_vec([level], num_envs=2), None)):
        action = np.array([1, 1]) if one is None else one
        with pytest.raises(ResetNeeded, match=r"call reset\(\)"):
            env.step(action)
        env.reset()
        for bad in (-1, 7):
            with pytest.raises(InvalidAction, match="expected 0 to 6"):
                env.step(action * 0 + bad)
        env.step(action)
        env.close()
        for use in (lambda env=env, action=action: env.step(action), env.reset):
            with pytest.raises((ResetNeeded, RuntimeError), match="is closed: make another"):
                use()


def test_actions_that_are_no_whole_numbers_are_refused(either, closed):
    level, config = either
    env, envs = closed(make_env(level, config)), closed(make_vec([level], config, num_envs=1))
    env.reset()
    with pytest.raises(TypeError):
        env.step(1.5)
    envs.reset()
    with pytest.raises(InvalidAction, match="float64: expected whole numbers"):
        envs.step(np.array([1.5]))
    env.step(np.int64(1))
    envs.step([1])


def test_true_is_the_action_1(either, closed):
    env, plays = closed(make_env(*either)), []
    for action in (1, True):
        env.reset(seed=0)
        plays.append([env.step(action)[1] for _ in range(12)])
    assert plays[0] == plays[1] and any(plays[0])


def test_options_and_seeds_that_reset_does_not_have_are_said(either, closed):
    level, config = either
    env, envs = closed(make_env(level, config)), closed(make_vec([level], config, num_envs=2))
    with pytest.raises(ValueError, match="unknown option 'levels' of reset; expected level"):
        env.reset(options={"levels": [str(level)]})
    with pytest.raises(ValueError, match="unknown option 'level' of reset; expected reset_mask or"):
        envs.reset(options={"level": str(level)})
    with pytest.raises(ValueError, match=r"seed 1\.5: expected a whole number"):
        envs.reset(seed=1.5)
    envs.reset()
    for wrong in (1, [1], [[1, 1]]):
        with pytest.raises(InvalidAction, match=r"expected \[2\], one for each row"):
            envs.step(wrong)
    with pytest.raises(UserError, match="rotate_every -1"):
        make_vec([level], config, num_envs=2, rotate_every=-1)


def test_a_split_is_made_again_from_its_spec_and_needs_levels():
    env = gymnasium.make("retro_agents:BrambleDash/train-v0")
    gymnasium.make_vec(env.spec, num_envs=2)
    assert gymnasium.make(env.spec).get_wrapper_attr("levels") == env.get_wrapper_attr("levels")
    with pytest.raises(UserError, match="no levels"):
        gymnasium.make(env.spec, levels=[])


def test_a_refused_render_mode_leaves_no_emulator_open():
    settings = {**SMALL, "backend": "emulator"}
    with pytest.raises(ValueError, match="render_mode") as refused:
        gymnasium.make(ID, **{**settings, "render_mode": "ansi"})
    gymnasium.make(ID, **settings).close()  # while the error keeps what it came from
    assert refused.tb is not None
