"""Standard output and standard error that cannot end a program: what is played is worth more than
what is printed about it."""

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, TextIO, final

MOST_READ = 1 << 16
"""Bytes of a process's output in which its last line is looked for."""


@final
class Lasting:
    """A text stream that drops what it cannot write, and remembers the error.

    It cannot write to a pipe that nobody reads, to a full disk, or to a terminal that was closed.
    Characters that its encoding lacks are written as escapes.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.error: OSError | None = None
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        """Writes text, unless something could not be written before. Returns its length."""
        self._try(self.stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Flushes the stream, unless something could not be written before."""
        self._try(self.stream.flush)

    def _try(self, call: Callable[..., object], *words: str) -> None:
        if self.error is None:
            try:
                call(*words)
            except OSError as error:
                self.error = error


def printable(text: str) -> str:
    """Text in which control characters, such as line breaks in the name of a file, are escapes, so
    that it stays one line and says nothing to the terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def last_line(log: IO[bytes], *, otherwise: str = "it said nothing") -> str:
    """The last line that a process wrote, as `printable` has it: at most 1,000 characters.
    otherwise: without one."""
    log.seek(max(0, log.seek(0, os.SEEK_END) - MOST_READ))
    lines = log.read().decode(errors="replace").strip().splitlines()
    return printable((lines or [otherwise])[-1].removeprefix("error: ")[:1000])


@contextmanager
def lasting_output() -> Iterator[None]:
    """Makes standard output and standard error `Lasting`. At the end, if standard output could not
    be written, exits with 1, and says why on stderr unless it was a pipe that nobody reads."""
    if isinstance(sys.stdout, Lasting):  # a command within a command
        yield
        return
    open_missing()
    before = sys.stdout, sys.stderr
    out, err = Lasting(before[0]), Lasting(before[1])
    sys.stdout, sys.stderr = out, err
    try:
        yield
    except SystemExit as stop:
        out.flush()
        if stop.code or out.error is None:
            raise
    finally:
        out.flush()
        if out.error is not None and not isinstance(out.error, BrokenPipeError):
            print(f"error: cannot print: {out.error.strerror}", file=err)
        for stream in (out, err):
            stream.flush()
            if stream.error is not None:  # Python flushes it once more when it exits
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        sys.stdout, sys.stderr = before
    if out.error is not None:
        raise SystemExit(1)


def open_missing() -> None:
    """Opens the null device in place of a standard stream that was closed (`>&-`), so that no other
    file takes its number, and a subprocess its output."""
    for number in range(3):
        with suppress(OSError):
            os.fstat(number)
            continue
        os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115  until the program ends
