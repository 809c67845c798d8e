"""What a user sees when something they gave us is wrong: one line, exit code 2."""

import functools
import sys
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


class UserError(Exception):
    """A mistake in what the user gave. Its text is one line: what, expected, what to do."""


def command(main: Callable[P, None]) -> Callable[P, None]:
    """Wrap a `main`: a UserError becomes one line on stderr, exit code 2 (Ctrl-C: 130, and what
    the KeyboardInterrupt says)."""

    @functools.wraps(main)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            main(*args, **kwargs)
        except UserError as error:
            print(f"error: {error}", file=sys.stderr)
            raise SystemExit(2) from None
        except KeyboardInterrupt as stop:
            print("; ".join(["interrupted", *map(str, stop.args)]), file=sys.stderr)
            raise SystemExit(130) from None

    return wrapped
