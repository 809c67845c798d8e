"""The wire protocol of 2018: messages on a Unix socket, screens in a file, nothing evaluated.

Both sides share one folder: the socket `sock`, and `ob`, the raw bytes of the last screen. A
message is JSON {"type", "content"} followed by a form feed. The server's first message describes
the channels; after that it answers each of the client's requests once.
"""

import re
from typing import Any, ClassVar

import msgspec
import numpy as np

SOCKET = "sock"
SCREEN = "ob"
END = b"\f"
EPISODE_STEPS = 4500
"""Where a server that does not send it is assumed to truncate an episode."""
LONGEST_REASON = 500
SERVER_GONE = 3
"""Exit code of an agent's side whose server ended for another reason than a limit."""


class GymRemoteError(RuntimeError):
    """An error between the two sides. ID: its number on the wire, which is its place in ERRORS."""

    ID: ClassVar[int] = 0


class TimestepTimeoutError(TimeoutError, GymRemoteError):
    """All timesteps are played."""

    ID = 1


class WallClockTimeoutError(TimeoutError, GymRemoteError):
    """The time is up, or the client took too long for one step."""

    ID = 2


class ClientDisconnectError(BrokenPipeError, GymRemoteError):
    """The agent's side has gone."""

    ID = 3


class ServerDisconnectError(BrokenPipeError, GymRemoteError):
    """The environment's side has gone."""

    ID = 4


class ResetError(GymRemoteError):
    """A reset in mid-episode, or a step without a reset."""

    ID = 5


ERRORS: tuple[type[GymRemoteError], ...] = (
    GymRemoteError,
    TimestepTimeoutError,
    WallClockTimeoutError,
    ClientDisconnectError,
    ServerDisconnectError,
    ResetError,
)
LIMITS = (TimestepTimeoutError, WallClockTimeoutError)
"""How a run ends that was played to a limit."""


class Envelope(msgspec.Struct):
    """Any message. The last three fields are an extension: the 2018 protocol has only `done`.

    wants_ends: the client asks for terminated and truncated with each answer.
    """

    type: str
    content: msgspec.Raw = msgspec.Raw(b"null")
    wants_ends: bool = False
    terminated: bool | None = None
    truncated: bool | None = None


class Request(msgspec.Struct):
    """Content of a client's update: the buttons as one number, lowest bit first, or a reset."""

    ac: int | None = None
    reset: bool = False


class Answer(msgspec.Struct):
    """Content of a server's update; the screen is in the shared file."""

    reward: float
    done: bool


class Trouble(msgspec.Struct):
    """Content of a close or exception message."""

    reason: str | None = None
    exception: int | None = None


def trouble(error: GymRemoteError) -> dict[str, Any]:
    """Content of a close or exception message for `error`."""
    return {"reason": str(error)[:LONGEST_REASON], "exception": error.ID}


class Malformed(GymRemoteError):  # noqa: N818  an answer to it, not a failure
    """A message that the protocol does not allow; its text says why."""


def decode(data: bytes | msgspec.Raw, kind: Any) -> Any:
    """Decode JSON as `kind`. Raises Malformed."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Malformed(str(error)[:LONGEST_REASON]) from None


def read_trouble(content: bytes | msgspec.Raw) -> GymRemoteError:
    """The exception that a server's close or exception message stands for."""
    try:
        found: Trouble = decode(content, Trouble)
    except Malformed as error:
        return GymRemoteError(f"the server gave a reason that cannot be read: {error}")
    number = ServerDisconnectError.ID if found.exception is None else found.exception
    kind = ERRORS[number] if 0 <= number < len(ERRORS) else GymRemoteError
    return kind((found.reason or "the server gave no reason")[:LONGEST_REASON])


def encode(kind: str, content: Any, **beside: Any) -> bytes:
    """A complete message."""
    return msgspec.json.encode({"type": kind, "content": content, **beside}) + END


def describe(*, buttons: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Content of the description: {channel: [type, shape, annotations]}.

    The shapes are Python expressions, because the 2018 client evaluates them.
    """
    return {
        "ac": ["int_fold", f"{[2] * buttons},", {"n": str(buttons), "type": "MultiBinary"}],
        "ob": ["np", f'{shape}, dtype("|u1")', {"type": "Box", "shape": str(shape)}],
        "reward": ["float", None, {}],
        "done": ["bool", None, {}],
        "reset": ["bool", None, {}],
    }


_FOLDS = re.compile(r"\[(2(?:, 2){0,62})\],?")
_SHAPE = re.compile(r'\((\d{1,4}), (\d{1,4}), (\d{1,4})\), dtype\("(?:\|u1|uint8)"\)')


def read_description(data: bytes | msgspec.Raw) -> tuple[int, tuple[int, int, int]]:
    """Description's content -> (buttons, screen's [H, W, 3]). Raises Malformed."""
    channels = decode(data, dict[str, tuple[str, str | None, dict[str, str]]])
    for name in ("ac", "ob", "reward", "done", "reset"):
        if name not in channels:
            raise Malformed(f"no channel {name!r} in the description")
    folds = _FOLDS.fullmatch(channels["ac"][1] or "")
    extent = _SHAPE.fullmatch(channels["ob"][1] or "")
    if channels["ac"][0] != "int_fold" or folds is None:
        raise Malformed("channel 'ac' is not a row of buttons")
    if channels["ob"][0] != "np" or extent is None:
        raise Malformed("channel 'ob' is not a uint8 screen")
    height, width, colours = (int(size) for size in extent.groups())
    if min(height, width, colours) < 1:
        raise Malformed("channel 'ob' is empty")
    return folds.group(1).count("2"), (height, width, colours)


def unfold(number: int, buttons: int) -> np.ndarray:
    """The buttons that `fold` packed into a number, int8 [buttons]."""
    return np.array([number >> i & 1 for i in range(buttons)], np.int8)
