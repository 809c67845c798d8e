"""Shows games that this machine plays: a process for each, which ends with its page.

A page gets the newest picture of each game once it has shown those before; those between are
dropped, so that a slow page is never behind, and holds up nobody. The games of a page take their
turns together, so that all have made the same number of steps.
"""

import asyncio
import os
import re
import signal
import struct
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, final

import msgspec
from starlette.websockets import WebSocket, WebSocketDisconnect

from retro_agents.games.families import level_names
from retro_agents.games.retro.recordings import read_recording
from retro_agents.ground.errors import UserError
from retro_agents.ground.output import last_line
from retro_agents.judging.demonstrate import level_of
from retro_agents.run.agents import with_this_project
from retro_agents.studio.agents import Agents
from retro_agents.studio.files import reason_of
from retro_agents.studio.games import RECORDING, Part
from retro_agents.studio.player import MESSAGE, Order
from retro_agents.studio.threads import limited

MOST = 4
"""Games at a time."""
MOST_BAD = 50
"""Malformed messages, after which a page is refused."""
GRACE = 2.0
"""Seconds for a player to end by itself."""
LEVEL = re.compile(r"procgen:[a-z]{1,20}|[A-Za-z0-9_-]{1,100}:[A-Za-z0-9_.-]{1,100}")


class Word(msgspec.Struct, forbid_unknown_fields=True):
    """What the page asks for. seen: it has shown the newest pictures; the others as in `Order`."""

    do: Literal["seen", "pause", "go", "step", "speed", "act", "again", "look", "blind"]
    speed: float = 1.0
    action: int | None = None


def parts_of(agents: Agents, asked: Any) -> list[Part]:
    """Who plays where, from an address's query: `agent`, and beside it `other`. Raises UserError if
    one is unknown, or if a recording is of another level than the one that is asked for."""
    names = [asked.get("agent", ""), *filter(None, [asked.get("other", "")])]
    sources = [agents.found(name, recorded=True) for name in names]
    level, seed = asked.get("level", ""), asked.get("seed", "0")
    for name, source in zip(names, sources, strict=True):
        if isinstance(source, Path) and source.suffix == RECORDING:
            own = str(level_of(read_recording(source), source))
            if level not in ("", own):
                raise UserError(f"{name} was recorded on {own}: choose that level")
            level = own
    if not LEVEL.fullmatch(level) or level_names(level) != [level]:
        raise UserError("give one level, as GAME:STATE or procgen:GAME")
    if not seed.isdecimal() or int(seed) >= 2**31:
        raise UserError("a seed is a whole number below 2,147,483,648")
    return [Part(str(source), level, int(seed)) for source in sources]


@final
class Player:
    """A process that plays, and what it has said of the newest turn."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by `end`
        self.process: Any = None
        self.begin_episode()

    def begin_turn(self) -> None:
        """Forget the turn before. newest: a picture that was not sent; drawn: whether there is one
        of this turn."""
        self.newest, self.drawn, self.waits = b"", False, False

    def begin_episode(self) -> None:
        self.begin_turn()
        self.over = False

    async def begin(self, part: Part) -> None:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "retro_agents.studio.player"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
            env={**os.environ, **with_this_project(), "OMP_NUM_THREADS": "1"},
        )
        await self.tell(part)

    async def tell(self, what: Part | Order) -> None:
        with suppress(ConnectionError):
            self.process.stdin.write(msgspec.json.encode(what) + b"\n")
            await self.process.stdin.drain()

    async def hear(self) -> tuple[bytes, int, bytes]:
        """Its next message: a letter, the episode's number, and the rest. Raises
        IncompleteReadError once it has ended."""
        letter, episode, size = MESSAGE.unpack(await self.process.stdout.readexactly(MESSAGE.size))
        return letter, episode, await self.process.stdout.readexactly(size)

    async def end(self) -> None:
        """End it, by force if need be."""
        self.errors.close()
        if self.process is None:
            return
        self.process.stdin.close()  # its leash
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), GRACE)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()


@final
class Stage:
    """The games of a page, which take their turns by one clock. An episode ends once all games have
    ended; a single game begins its next episode."""

    def __init__(self, players: list[Player]) -> None:
        self.players = players
        self.paused = self.single = False
        self.episode = 0
        self.seen, self.changed = True, asyncio.Event()
        """Whether the page has shown the pictures before."""

    async def tell(self, order: Order) -> None:
        """Send an order to all players; key presses go to the first alone."""
        for player in self.players[: 1 if order.do == "act" else None]:
            await player.tell(order)

    async def watch(self, player: Player) -> None:
        """Take a player's messages until it ends. Those of an episode before are dropped."""
        with suppress(asyncio.IncompleteReadError):
            while True:
                letter, episode, picture = await player.hear()
                if episode != self.episode:
                    continue
                if letter == b"P":
                    player.newest, player.drawn = picture, True
                    self.changed.set()
                    continue
                player.waits, player.over = True, letter == b"E"
                self.changed.set()
                await self.advance()

    async def advance(self) -> None:
        """Give the next turn if every game waits for it, and the page has not paused them."""
        playing = [player for player in self.players if not player.over]
        if not all(player.waits for player in playing) or (self.paused and not self.single):
            return
        if playing:
            self.single = False
            for player in playing:
                player.begin_turn()
            for player in playing:
                await player.tell(Order("turn"))
        elif len(self.players) == 1:
            self.single = False
            await self.again()

    async def again(self) -> None:
        self.episode += 1
        for player in self.players:
            player.begin_episode()
        await self.tell(Order("again", episode=self.episode))

    def pictures(self) -> bytes:
        """The newest picture of each game behind its length, which is 0 if it was sent before; b""
        if there is none, or if a game has not drawn this turn yet."""
        found = [player.newest for player in self.players]
        if not any(found) or not all(player.drawn or player.over for player in self.players):
            return b""
        for player in self.players:
            player.newest = b""
        return b"".join(struct.pack("<I", len(picture)) + picture for picture in found)

    async def show(self, socket: WebSocket) -> None:
        """Send the page the newest pictures whenever it has shown those before."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            if self.seen and (pictures := self.pictures()):
                self.seen = False
                await socket.send_bytes(pictures)

    async def listen(self, socket: WebSocket) -> None:
        """Take the page's words. Raises UserError if too many are malformed."""
        bad = 0
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text") or message.get("bytes") or b""
            try:
                await self.take(msgspec.json.decode(text, type=Word))
            except (ValueError, RecursionError):  # msgspec's are the first
                bad += 1
                if bad > MOST_BAD:
                    raise UserError("these messages are not the page's") from None

    async def take(self, word: Word) -> None:
        if word.do == "seen":
            self.seen = True
            self.changed.set()
        elif word.do == "again":
            await self.again()
        elif word.do == "pause" or word.do == "step" or word.do == "go":
            self.paused = word.do != "go"
            self.single = word.do == "step"
            await self.advance()
        else:
            await self.tell(Order(word.do, word.speed, word.action))


@final
class Streams:
    """The games that are shown now."""

    def __init__(self, agents: Agents) -> None:
        self.agents, self.open = agents, 0
        self._parts = limited(parts_of)

    async def watch(self, socket: WebSocket) -> None:
        """Answer a page that wants to see a game."""
        await socket.accept()
        try:
            parts = await self._parts(self.agents, socket.query_params)
            if self.open + len(parts) > MOST:
                raise UserError(f"{self.open} games of {MOST} are shown already: close their pages")
            self.open += len(parts)
            try:
                await self.stream(socket, parts)
            finally:
                self.open -= len(parts)
        except (UserError, OSError) as error:
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.send_json({"error": reason_of(error)})
                await socket.close()

    async def stream(self, socket: WebSocket, parts: list[Part]) -> None:
        """Show games until the page is closed. Raises UserError if one ends by itself."""
        stage = Stage([Player() for _ in parts])
        tasks = list[asyncio.Task[None]]()
        try:
            for player, part in zip(stage.players, parts, strict=True):
                await player.begin(part)
            watching = [asyncio.create_task(stage.watch(player)) for player in stage.players]
            others = stage.show(socket), stage.listen(socket)
            tasks += [*watching, *map(asyncio.create_task, others)]
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for player, task in zip(stage.players, watching, strict=True):
                if task in done:
                    await player.process.wait()
                    raise UserError(last_line(player.errors, otherwise="the game ended"))
            for task in done:
                with suppress(WebSocketDisconnect, RuntimeError):
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.shield(asyncio.gather(*(player.end() for player in stage.players)))
