"""The reference of commands, from their own parsers."""

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from unittest import mock

from retro_agents import command


def parts() -> dict[str, Callable[[], str]]:
    return {"commands.md": reference}


def reference() -> str:
    """A section for every command of `retro-agents`, except the trainers."""
    lines = ["| command | does |", "|---|---|"]
    for name, (_, about) in command.COMMANDS.items():
        anchor = f"retro-agents-{name}".replace(" ", "-")
        lines.append(f"| [`retro-agents {name}`](#{anchor}) | {about} |")
    lines += ["", "## retro-agents train", "", "```", "retro-agents train AGENT [FLAGS]", "```", ""]
    lines.append(
        "It is the same as `python -m AGENT.train`. The options that agents share are under "
        "[settings](settings.md), and those of one agent on [its page](../agents/index.md)."
    )
    for name, (module, _) in command.COMMANDS.items():
        if module:
            lines += ["", *section(name)]
    return "\n".join(lines) + "\n"


def section(name: str) -> list[str]:
    """A heading, and what --help prints."""
    parser = parser_of(name.split())
    parser.formatter_class = partial(argparse.RawDescriptionHelpFormatter, width=100)
    return [f"## retro-agents {name}", "", "```text", parser.format_help().strip(), "```"]


def parser_of(
    words: Sequence[str], main: Callable[[], None] = command.main
) -> argparse.ArgumentParser:
    """The parser that prints the help of these words of `retro-agents`, or of another command."""
    found: list[argparse.ArgumentParser] = []
    keep = mock.patch.object(argparse.ArgumentParser, "print_help", lambda self: found.append(self))
    given = mock.patch.object(sys, "argv", ["command", *words, "--help"])
    with keep, given, suppress(SystemExit):
        main()
    return found[0]
