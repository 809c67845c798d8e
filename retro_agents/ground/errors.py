"""Errors of the user: one line on stderr, and exit code 2."""

import argparse
import errno
import functools
import os
import signal
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn, ParamSpec

from retro_agents.ground.output import lasting_output, printable
from retro_agents.ground.requirements import IN_CHECKOUT

P = ParamSpec("P")

EXTRAS = {
    **dict.fromkeys(("cv2", "numba", "safetensors", "scipy", "tensorboard", "torch"), "agents"),
    **dict.fromkeys(("stable_retro", "vcdiff_decoder"), "retro"),
    **dict.fromkeys(("imageio", "imageio_ffmpeg", "jinja2", "matplotlib"), "report"),
    **dict.fromkeys(("sb3_contrib", "stable_baselines3"), "benchmarks"),
    **dict.fromkeys(("onnx", "onnxruntime", "onnxscript"), "onnx"),
    **dict.fromkeys(("starlette", "uvicorn", "websockets"), "studio"),
    "envpool": "procgen",
    "mpi4py": "es",
    "pygame": "play",
    "argcomplete": "completion",
    "datasketch": "lsh",
    "wandb": "wandb",
    "mlflow": "mlflow",
    "trackio": "trackio",
    "huggingface_hub": "hub",
    "ray": "actors",
    "optuna": "search",
}
"""Optional modules, and the extra in pyproject.toml that installs each."""
NOT_INSTALLED = {"hub", "mlflow", "trackio", "wandb"}
"""Extras that scripts/install never installs; --dev installs all others."""


class UserError(Exception):
    """A mistake of the user. Its text is one line: what is wrong, what is expected, what to do.
    Control characters in what it quotes, such as a line break in a file's name, are escaped."""

    def __str__(self) -> str:
        return printable(super().__str__())


class Damaged(UserError):  # noqa: N818
    """A checkpoint is incomplete, or was changed after it was written. folder: the checkpoint's."""

    def __init__(self, text: str, folder: Path | None = None) -> None:
        super().__init__(text)
        self.folder = folder


class Signalled(KeyboardInterrupt):
    """A signal ends the command. number: the signal's."""

    def __init__(self, *said: str, number: int = signal.SIGINT) -> None:
        super().__init__(*said)
        self.number = number


class Diverged(UserError):  # noqa: N818
    """Learning has diverged: losses or weights are not finite."""


def need(*modules: str) -> None:
    """Raises ModuleNotFoundError, which `command` prints as a line, if one of these modules is not
    installed. Call it before long work that needs them only at its end."""
    for name in modules:
        there = sys.modules[name] if name in sys.modules else find_spec(name)
        if there is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def installs(extra: str) -> str:
    """The command that installs an extra."""
    script = f"scripts/install{' --dev' if extra == 'actors' else ''}, or "
    script = script if IN_CHECKOUT and extra not in NOT_INSTALLED else ""
    return f"{script}pip install 'retro-contest-agents[{extra}]'"


def missing_extra(error: Exception) -> str | None:
    """Returns a line about the extra whose missing module the error comes from, or None."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    module = (name or "").partition(".")[0]
    if module not in EXTRAS:
        return None
    return f"{module} is not installed: run {installs(EXTRAS[module])}"


MEMORY = (
    *("cannot allocate memory", "can't allocate memory", "not enough memory", "out of memory"),
    *("failed to map segment", "can't start new thread", "insufficient memory"),
)
"""Parts of the messages of libraries that could not allocate memory."""


REFUSED = {errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}
"""Errors of paths that this user may not look into, or that no file system takes."""


def limit_of(error: Exception) -> str | None:
    """Returns a line about a limit of the system that the error comes from, or None."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        return "no more files may be opened (ulimit -n): raise that limit, or give fewer --num-envs"
    if isinstance(error, OSError) and error.errno in REFUSED and error.filename:
        return f"{error.filename}: {error.strerror}; give another place, or change that one"
    text = " ".join(str(error).split())
    if isinstance(error, MemoryError) or any(words in text.lower() for words in MEMORY):
        return (
            f"no memory is left for this process, here or by a limit such as ulimit -v ({text}): "
            "raise the limit, or ask for less"
        )
    return None


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises UserError, and keeps the line breaks of a description."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=argparse.RawDescriptionHelpFormatter, **settings)

    def error(self, message: str) -> NoReturn:
        message = message.removeprefix("argument ")
        flag, _, reason = message.partition(": ")
        if reason == "expected one argument":
            message = f"{flag} needs a value"
        elif reason.startswith("ignored explicit argument"):
            message = f"{flag.partition('/')[0]} takes no value"
        raise UserError(f"{message}; see --help")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse has it; but a shell that asks for completions is answered."""
        if "_ARGCOMPLETE" in os.environ:
            import argcomplete

            argcomplete.autocomplete(self)
        return super().parse_args(args, namespace)


def command(main: Callable[P, object]) -> Callable[P, None]:
    """Wraps a `main`. A UserError, or a missing module of an extra, becomes one line on stderr and
    exit code 2. Ctrl-C prints the KeyboardInterrupt's text and exits with 130, and SIGTERM with 143
    (`Signalled`). Output that cannot be printed does not end the command, see
    `lasting_output`."""

    @functools.wraps(main)
    @lasting_output()
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            main(*args, **kwargs)
        except Exception as error:
            known = isinstance(error, UserError)
            line = str(error) if known else missing_extra(error) or limit_of(error)
            if line is None:
                raise
            print(f"error: {printable(line)}", file=sys.stderr)
            raise SystemExit(2) from None
        except KeyboardInterrupt as stop:
            print("; ".join(["interrupted", *map(str, stop.args)]), file=sys.stderr)
            number = stop.number if isinstance(stop, Signalled) else signal.SIGINT
            raise SystemExit(128 + number) from None

    return wrapped
