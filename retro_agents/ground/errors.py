"""What a user sees when something they gave us is wrong: one line, exit code 2."""

import argparse
import functools
import os
import select
import sys
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec

from retro_agents.ground.requirements import IN_CHECKOUT

P = ParamSpec("P")

EXTRAS = {
    "envpool": "procgen",
    "mpi4py": "es",
    "pygame": "play",
    "imageio": "report",
    "imageio_ffmpeg": "report",
    "jinja2": "report",
    "matplotlib": "report",
    "argcomplete": "completion",
    "sb3_contrib": "benchmarks",
    "stable_baselines3": "benchmarks",
    "wandb": "wandb",
    "trackio": "trackio",
    "huggingface_hub": "hub",
    "ray": "actors",
}
"""Modules that not everybody installs -> the extra in pyproject.toml that brings them."""
NOT_INSTALLED = {"hub", "trackio", "wandb"}
"""Extras that scripts/install leaves out; with --dev it brings all others."""


class UserError(Exception):
    """A mistake in what the user gave. Its text is one line: what, expected, what to do."""


class Damaged(UserError):  # noqa: N818
    """A checkpoint that was cut off, or changed since."""


class Parser(argparse.ArgumentParser):
    """argparse, whose complaint is a UserError, and which keeps the lines of a description."""

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
    """Wrap a `main`: a UserError, or a module of an extra that is not installed, becomes one line
    on stderr, exit code 2 (Ctrl-C: 130, and what the KeyboardInterrupt says; where nobody reads on,
    as in `| head`: 1, without a word)."""

    @functools.wraps(main)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            try:
                main(*args, **kwargs)
            finally:
                sys.stdout.flush()
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        except ModuleNotFoundError as error:
            module = (error.name or "").partition(".")[0]
            if module not in EXTRAS:
                raise
            extra = EXTRAS[module]
            script = f"scripts/install{' --dev' if extra == 'actors' else ''}, or "
            script = script if IN_CHECKOUT and extra not in NOT_INSTALLED else ""
            run = f"{script}pip install 'retro-contest-agents[{extra}]'"
            print(f"error: {module} is not installed: run {run}", file=sys.stderr)
            raise SystemExit(2) from None
        except KeyboardInterrupt as stop:
            print("; ".join(["interrupted", *map(str, stop.args)]), file=sys.stderr)
            raise SystemExit(130) from None
        except BrokenPipeError:
            if not _nobody_reads():
                raise
            # For what Python flushes in the end.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(1) from None

    return wrapped


def _nobody_reads() -> bool:
    """Whether the other end of standard output is gone."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(event & select.POLLERR for _, event in poll.poll(0))
