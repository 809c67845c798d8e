"""Games that the studio's machine plays for a page."""

import asyncio
import errno
import json
import struct
from contextlib import closing, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import AsyncMock, Mock

import numpy as np
import pytest

from ppo2.agent import PPO2Agent, make_net
from ppo2.train import parse
from retro_agents.games.families import make
from retro_agents.games.retro.config import EnvConfig
from retro_agents.ground.errors import UserError
from retro_agents.judging.demonstrate import replayed
from retro_agents.studio import games, mind, player, stream
from retro_agents.studio.games import Part, beside, other_game
from tests.runs import soon
from tests.studio.conftest import TOKEN, processes
from tests.studio.runs import make_recording, make_run

connect = pytest.importorskip("websockets.sync.client").connect
GAME = {"agent": "run-and-jump", "level": "BrambleDash-Genesis-v0:BrambleWood.Act1"}


def watching(client, *, token=TOKEN, origin="", **asked):
    """A page that watches a game."""
    query = "&".join(f"{name}={value}" for name, value in asked.items())
    return connect(
        f"ws://{client.host}/api/stream?{query}",
        origin=origin or f"http://{client.host}",
        additional_headers={"Cookie": f"studio-{client.port}={token}"},
        open_timeout=60,
    )


def headers(message):
    """The header of each game in a message; {} of one without a new picture."""
    found = []
    while message:
        (whole,) = struct.unpack("<I", message[:4])
        (size,) = struct.unpack("<I", message[4:8]) if whole else (0,)
        found.append(json.loads(message[8 : 8 + size] or b"{}"))
        message = message[4 + whole :]
    return found


def shown(page):
    """Show what was received, and receive the next pictures."""
    page.send('{"do": "seen"}')
    return headers(page.recv(60))


@pytest.fixture
def client(studio, tmp_path):
    return studio(tmp_path)


def test_an_emulator_is_shown_and_ends_with_its_page(client):
    before = processes()
    with watching(client, **GAME) as slow, watching(client, **GAME) as quick:
        first = slow.recv(60)
        # On a busy machine the first picture may be of a later step.
        assert b"\x89PNG" in first and (begun := headers(first)[0]["step"]) < 10
        quick.send('{"do": "speed", "speed": 16}')
        while shown(quick)[0]["step"] < 30:  # and the slow one shows nothing
            pass
        assert shown(slow)[0]["step"] > begun + 1  # those between were dropped
        slow.send('{"do": "act", "action": 0}')
        while not shown(slow)[0]["held"]:
            pass
        assert processes() > before
    assert soon(lambda: processes() <= before)


def test_a_thousand_malformed_messages_end_one_page_alone(client):
    harm = '{"do": "harm"}', '{"do": "speed", "speed": "x"}', b'{"do": "\xff"}'
    bad = ["", "{", "[]", "null", *harm]
    with watching(client, **GAME) as page:
        page.recv(60)
        try:
            for number in range(1_000):
                page.send(bad[number % len(bad)])
            while not isinstance(said := page.recv(60), str):
                pass
            assert "not the page's" in said
        except Exception as error:  # closed while these were sent
            assert type(error).__name__.startswith("ConnectionClosed")
    assert client.ask("/")[0] == 200


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"agent": "nobody"}, "no such agent"),
        ({"agent": "../x@step-1"}, "no such run"),
        ({"other": "../x@best.bk2"}, "no such run"),
        ({"level": "../../etc/passwd"}, "give one level"),
        ({"level": "bramble-train"}, "give one level"),
        ({"level": "Nowhere-Genesis-v0:Act1"}, "Nowhere"),
        ({"seed": "x"}, "seed"),
        ({"level": "procgen:coinrun"}, "procgen"),
    ],
)
def test_what_cannot_be_played_is_said_in_a_line(client, asked, said):
    with watching(client, **{**GAME, **asked}) as page:
        assert said in json.loads(page.recv(60))["error"]


@pytest.mark.parametrize("given", [{"token": "wrong"}, {"origin": "http://example.org"}])
def test_others_see_no_game(client, given):
    with pytest.raises(Exception, match="403"):
        watching(client, **GAME, **given)


def test_a_net_shows_what_it_thinks_and_where_it_looks(client):
    with watching(client, **{**GAME, "agent": "ppo2"}) as page:
        page.send('{"do": "look"}')
        while not (found := shown(page)[0]).get("looks"):
            pass
    assert len(found["looks"]) == 144 and max(found["looks"]) == 1
    assert len(found["scores"]) == len(found["names"]) and found["logits"] and "value" in found


@pytest.fixture
def recorded(client, tmp_path):
    """A game of two recordings beside each other."""
    for steps in (30, 12):
        make_recording(make_run(tmp_path / f"{steps}") / "best.bk2", steps=steps)
    client.rows(lambda rows: len(rows) == 2)
    return {"agent": "30@best.bk2", "other": "12@best.bk2"}


def test_two_games_are_in_step_until_both_have_ended(client, recorded, tmp_path):
    with watching(client, **recorded) as page:
        page.send('{"do": "speed", "speed": 16}')
        ended: list[dict[str, Any]] = [{}, {}]
        found = headers(page.recv(60))
        while not all(ended):
            assert len({one["step"] for one in found if one and not one.get("over")}) < 2
            ended = [one if one.get("over") else old for one, old in zip(found, ended, strict=True)]
            found = found if all(ended) else shown(page)
        rules = EnvConfig().with_raw_rewards()
        played = [replayed(tmp_path / f"{steps}" / "best.bk2", rules) for steps in (30, 12)]
        for one, episode in zip(ended, played, strict=True):
            assert one["step"] == len(episode.actions)
            assert one["total"] == pytest.approx(episode.rewards.sum())
        page.send('{"do": "again"}')
        ((episode, _),) = {(one["episode"], one["step"]) for one in shown(page)}
        assert episode == 1


def test_a_single_step_is_one_of_each_game(client, recorded):
    with watching(client, **recorded) as page:
        page.send('{"do": "pause"}')
        for step in range(4):
            page.send('{"do": "step"}')
            now: set[int] = set()
            while step not in now:
                now = {one["step"] for one in shown(page) if one}
                assert now in ({step}, {step - 1})  # the last frames of the one before


def test_a_recording_that_cannot_be_played_there_is_refused(client, recorded, tmp_path):
    make_recording(tmp_path / "30" / "begun.bk2", steps=0)  # as a run leaves its last episode
    for asked, said in (
        ({**recorded, **GAME, "agent": "30@best.bk2"}, "recorded on BrambleDash"),
        ({"agent": "30@../12/best.bk2"}, "no such recording"),
        ({"agent": "30@begun.bk2"}, "begun.bk2 ends before any button was pressed"),
    ):
        with watching(client, **asked) as page:
            assert said in json.loads(page.recv(60))["error"]


def test_a_game_that_cannot_begin_leaves_no_other_behind(client, monkeypatch):
    before, begins = processes(), stream.Player.begin

    async def begin(self, part):
        if len(processes()) > len(before):
            raise OSError(errno.ENOMEM, "Cannot allocate memory")
        await begins(self, part)

    monkeypatch.setattr(stream.Player, "begin", begin)
    with watching(client, **GAME, other="ppo2") as page:
        assert "Cannot allocate" in json.loads(page.recv(60))["error"]
    assert soon(lambda: processes() <= before)


def test_procgen_is_shown_too(client, tmp_path):
    pytest.importorskip("envpool")
    config = parse(["--levels", "procgen:coinrun"])
    run = make_run(tmp_path / "run", levels="procgen:coinrun")
    PPO2Agent(make_net(config), config).save(run / "checkpoints")
    client.rows(len)
    with watching(client, agent="run@step-000000000", level="procgen:coinrun") as page:
        (found,) = headers(page.recv(60))
    assert (len(found["names"]), "value" in found) == (15, True)


def test_the_last_screen_of_procgen_is_of_the_level_that_ended():
    pytest.importorskip("envpool")
    part, screens = Part("", "procgen:bigfish"), list[Any]()
    env = parse(["--levels", part.level]).env
    twin: Any = make(part.level, env.with_raw_rewards(), num_envs=1, seed=0)
    policy: Any = None
    with closing(twin), other_game(part, policy, env, lambda *one: screens.append(one[0])) as game:
        game.reset(0), twin.reset(seed=0)
        over, infos = False, dict[str, Any]()
        while not over:
            obs, _, over = game.step(0)
            infos = twin.step(np.array([0]))[-1]
        final = infos["final_obs"][0]
    assert np.array_equal(obs, final)
    assert np.array_equal(screens[-1], beside(final[-game.channels :], game.channels))


def test_every_episode_has_a_seed_of_its_own(monkeypatch):
    controls, seeds = player.Controls(), list[int]()

    def episode(game, number, seed, show, controls):
        seeds.append(seed)
        controls.episode += 1  # as the page asks for another
        if len(seeds) == 3:
            raise EOFError
        return False

    monkeypatch.setattr(player, "play_episode", episode)
    monkeypatch.setattr(player, "game_of", lambda *_: nullcontext())
    with pytest.raises(EOFError):
        player.play(Part("", "", seed=7), Mock(), controls)
    assert seeds == [7, 8, 9]


def test_points_are_the_games_whatever_the_agent_learned_from(monkeypatch):
    made = Mock(side_effect=UserError("enough"))
    monkeypatch.setattr(games, "make_env", made)
    settings = EnvConfig(reward_scale=0.01)
    with pytest.raises(UserError), games.retro_game(Part("", "Act1"), Mock(), settings, Mock()):
        pass
    raw = replace(settings.with_raw_rewards(), backend="emulator")
    made.assert_called_once_with("Act1", raw)


def test_games_have_room_as_soon_as_others_have_ended():
    asked = [Part("", "")]

    async def watched(count):
        streams, socket = stream.Streams(Mock()), AsyncMock()
        streams._parts, streams.stream = AsyncMock(return_value=asked * count), AsyncMock()
        for _ in range(stream.MOST + 1):  # one after the other
            await streams.watch(socket)
        return [call.args[0]["error"] for call in socket.send_json.call_args_list]

    assert asyncio.run(watched(stream.MOST)) == []
    too_many = asyncio.run(watched(stream.MOST + 1))
    assert too_many == ["0 games of 4 are shown already: close their pages"] * 5


def test_keys_are_pressed_in_the_first_game_alone():
    players: Any = [AsyncMock(), AsyncMock()]
    stage = stream.Stage(players)
    for order in (player.Order("act", action=1), player.Order("speed", speed=2.0)):
        asyncio.run(stage.tell(order))
    told = [[call.args[0].do for call in one.tell.call_args_list] for one in players]
    assert told == [["act", "speed"], ["speed"]]


def test_a_net_looks_where_grey_changes_its_scores(monkeypatch):
    class Corner:
        """Its first score is the pixel in the upper right corner."""

        config: Any = None
        net: Any = None
        logits, recurrent, device = True, False, "cpu"
        act = outputs = staticmethod(Mock())

        def scores(self, images):
            return images[:, 0, 0, -1:].float()

    monkeypatch.setattr(mind, "LOOK_EVERY", 0.0)
    looks = mind.Looks(Corner())
    looks.at(np.zeros((1, 36, 48), np.uint8))
    assert looks.sees and soon(lambda: looks.newest)
    assert np.flatnonzero(looks.newest).tolist() == [mind.CELLS - 1]
