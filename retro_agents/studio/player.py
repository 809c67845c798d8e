"""Plays an agent in a process of its own, for the page: `python -m retro_agents.studio.player`.

Standard input has a line of JSON that says who plays where, then a line for each order; when it
closes, this process ends. Before each step it waits for its turn. Standard output has messages: a
letter, the number of the episode and the length of the rest, if any. P is a picture: a header as
JSON behind its own length, then the screen's length and the screen, then what the net sees. R says
that it waits for its turn, E that the episode is over.
"""

import os
import struct
import threading
import time
from typing import Any, BinaryIO, Literal, final

import msgspec
import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.errors import command
from retro_agents.studio.games import Game, Part, beside, game_of, png
from retro_agents.studio.mind import Looks, thought

MESSAGE = struct.Struct("<cII")
"""A letter, the number of the episode, and the length of what follows."""
LATE = 0.25
"""The longest delay, in seconds, that is made up for; what exceeds it is dropped."""


class Order(msgspec.Struct):
    """An order. turn: make a step. again: begin that episode. look, blind: whether it shows
    where the net looks. speed: times the game's own. action: the one that a person holds; None: the
    agent plays."""

    do: Literal["turn", "again", "speed", "act", "look", "blind"]
    speed: float = 1.0
    action: int | None = None
    episode: int = 0


@final
class Controls:
    def __init__(self) -> None:
        self.looks, self.episode, self.speed = False, 0, 1.0
        self.action: int | None = None
        self._turn, self._changed = False, threading.Condition()
        self._due = time.monotonic()

    def take(self, order: Order) -> None:
        with self._changed:
            self.looks = {"look": True, "blind": False}.get(order.do, self.looks)
            if order.do == "turn":
                self._turn = True
            if order.do == "again":
                self.episode, self._turn = order.episode, False
            if order.do == "speed":
                self.speed = min(max(order.speed, 0.1), 16.0) if order.speed == order.speed else 1.0
            if order.do == "act":
                self.action = order.action
            self._changed.notify()

    def turn(self, episode: int) -> bool:
        """Wait for the next turn. Returns whether there is one in this episode."""
        with self._changed:
            self._changed.wait_for(lambda: self._turn or self.episode != episode)
            self._turn = False
            return self.episode == episode

    def pace(self, per_second: float) -> None:
        """Wait until the next picture is due."""
        self._due = max(self._due + 1 / (per_second * self.speed), time.monotonic() - LATE)
        time.sleep(max(0.0, self._due - time.monotonic()))

    def listen(self, orders: BinaryIO) -> None:
        """Take orders in a thread until there are no more; then this process ends."""

        def take() -> None:
            for line in orders:
                self.take(msgspec.json.decode(line, type=Order))
            os._exit(0)

        threading.Thread(target=take, daemon=True).start()


@final
class Show:
    """Sends messages. header: what is said with each picture."""

    def __init__(self, out: BinaryIO) -> None:
        self._out, self._screen = out, b""
        self.header: dict[str, Any] = {}
        self.seen = b""

    def say(self, letter: bytes, *parts: bytes) -> None:
        """Send a message about the header's episode."""
        body = b"".join(parts)
        self._out.write(MESSAGE.pack(letter, self.header["episode"], len(body)) + body)
        self._out.flush()

    def send(self, screen: NDArray[np.uint8] | None = None) -> None:
        """Send a screen [H,W,3], or the one before, with the newest header."""
        if screen is not None:
            self._screen = png(screen)
        header = msgspec.json.encode(self.header)
        sizes = (struct.pack("<I", len(part)) for part in (header, self._screen))
        self.say(b"P", next(sizes), header, next(sizes), self._screen, self.seen)


def play_episode(game: Game, episode: int, seed: int, show: Show, controls: Controls) -> bool:
    """Play an episode. Returns whether it came to its end."""
    looks = Looks(game.policy)
    obs, total, steps, over = game.reset(seed), 0.0, 0, False
    show.header = {"episode": episode}
    while not over:
        show.say(b"R")
        if not controls.turn(episode):
            return False
        held = controls.action if game.policy is not None else None
        show.seen = png(beside(obs, game.channels))
        action = game.act(obs, steps == 0)
        if held is not None and 0 <= held < len(game.names):
            action = held
        show.header = {
            "episode": episode,
            "step": steps,
            "total": total,
            "action": action,
            "names": game.names,
            "held": held is not None,
            **thought(game.policy, obs),
            **({"looks": looks.at(obs)} if controls.looks else {}),
        }
        obs, reward, over = game.step(action)
        total, steps = total + reward, steps + 1
    show.header |= {"step": steps, "total": total, "over": True}
    show.send()
    show.say(b"E")
    return True


def play(part: Part, show: Show, controls: Controls) -> None:
    """Play episodes until this process ends."""

    def screen(picture: NDArray[np.uint8], per_second: float) -> None:
        controls.pace(per_second)
        show.send(picture)

    with game_of(part, screen) as game:
        while True:
            episode = controls.episode
            if play_episode(game, episode, part.seed + episode, show, controls):
                while controls.turn(episode):
                    pass


@command
def main() -> None:
    """Play what the first line says. What libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    orders: Any = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115  until the end
    part = msgspec.json.decode(orders.readline(), type=Part)
    controls = Controls()
    controls.listen(orders)
    play(part, Show(out), controls)


if __name__ == "__main__":
    main()
