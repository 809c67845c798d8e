"""Shows games that this machine plays: a process for each page that watches one.

A page gets the newest picture once it has shown the one before; those between are dropped, so that
a slow page is never behind, and holds up nobody.
"""

import asyncio
import os
import re
import signal
import struct
import sys
import tempfile
from contextlib import suppress
from typing import Any, final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket, WebSocketDisconnect

from retro_agents.games.families import level_names
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import with_this_project
from retro_agents.studio.agents import Agents
from retro_agents.studio.player import Part, Word

MOST = 4
"""Games at a time."""
MOST_BAD = 50
"""Messages that are no words, after which a page is refused."""
GRACE = 2.0
"""Seconds for a player to end by itself."""
LEVEL = re.compile(r"procgen:[a-z]{1,20}|[A-Za-z0-9_-]{1,100}:[A-Za-z0-9_.-]{1,100}")


def part_of(agents: Agents, asked: Any) -> Part:
    """Who plays where, from an address's query. Raises UserError if it is unknown."""
    level, seed = asked.get("level", ""), asked.get("seed", "0")
    if not LEVEL.fullmatch(level) or level_names(level) != [level]:
        raise UserError("give one level, as GAME:STATE or procgen:GAME")
    if not seed.isdecimal() or int(seed) >= 2**31:
        raise UserError("a seed is a whole number")
    return Part(str(agents.found(asked.get("agent", ""))), level, int(seed))


@final
class Player:
    """A process that plays, and its newest picture."""

    def __init__(self) -> None:
        self.newest = b""
        self.seen = True
        """Whether the page has shown the picture before."""
        self.changed = asyncio.Event()
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  closed by `end`

    async def begin(self, part: Part) -> None:
        """Start it."""
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "retro_agents.studio.player"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
            env={**os.environ, **with_this_project(), "OMP_NUM_THREADS": "1"},
        )
        await self.tell(msgspec.json.encode(part))

    async def tell(self, line: bytes) -> None:
        """Send it a line."""
        assert self.process.stdin is not None
        with suppress(ConnectionError):
            self.process.stdin.write(line + b"\n")
            await self.process.stdin.drain()

    async def watch(self) -> None:
        """Take its pictures, of which the newest is held, until it ends."""
        assert self.process.stdout is not None
        with suppress(asyncio.IncompleteReadError):
            while True:
                (size,) = struct.unpack("<I", await self.process.stdout.readexactly(4))
                self.newest = await self.process.stdout.readexactly(size)
                self.changed.set()

    async def show(self, socket: WebSocket) -> None:
        """Send the page the newest picture whenever it has shown the one before."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            if self.seen and self.newest:
                self.seen, picture, self.newest = False, self.newest, b""
                await socket.send_bytes(picture)

    async def listen(self, socket: WebSocket) -> None:
        """Take the page's words. Raises UserError if too many are none."""
        bad = 0
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text") or message.get("bytes") or b""
            try:
                word = msgspec.json.decode(text, type=Word)
            except (ValueError, RecursionError):  # msgspec's are the first
                bad += 1
                if bad > MOST_BAD:
                    raise UserError("these messages are not the page's") from None
                continue
            if word.do == "seen":
                self.seen = True
                self.changed.set()
            else:
                await self.tell(msgspec.json.encode(word))

    def said(self) -> str:
        """The last line that it printed about an error."""
        self.errors.seek(0)
        lines = self.errors.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1].removeprefix("error: ") if lines else "the game ended"

    async def end(self) -> None:
        """End it, by force if need be."""
        assert self.process.stdin is not None
        self.process.stdin.close()  # its leash
        with suppress(TimeoutError):
            await asyncio.wait_for(self.process.wait(), GRACE)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        await self.process.wait()
        self.errors.close()


@final
class Streams:
    """The games that are shown now."""

    def __init__(self, agents: Agents) -> None:
        self.agents = agents
        self.open = 0

    async def watch(self, socket: WebSocket) -> None:
        """Answer a page that wants to see a game."""
        await socket.accept()
        try:
            if self.open >= MOST:
                raise UserError(f"{MOST} games are shown already: close one of their pages")
            part = await run_in_threadpool(part_of, self.agents, socket.query_params)
            self.open += 1
            try:
                await self.stream(socket, part)
            finally:
                self.open -= 1
        except UserError as error:
            with suppress(RuntimeError, WebSocketDisconnect):
                await socket.send_json({"error": str(error)})
                await socket.close()

    async def stream(self, socket: WebSocket, part: Part) -> None:
        """Show a game until the page is closed. Raises UserError if the game ends by itself."""
        player = Player()
        await player.begin(part)
        watching = asyncio.create_task(player.watch())
        tasks = [watching, *map(asyncio.create_task, (player.show(socket), player.listen(socket)))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if watching in done:
                await player.process.wait()
                raise UserError(player.said())
            for task in done:
                with suppress(WebSocketDisconnect, RuntimeError):
                    task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.shield(player.end())
