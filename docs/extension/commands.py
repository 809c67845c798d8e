"""The reference of commands, from their own parsers."""

import argparse
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from unittest import mock

from retro_agents import command

HIDDEN = argparse.SUPPRESS


def parts() -> dict[str, Callable[[], str]]:
    return {"commands.md": reference}


def reference() -> str:
    """A section for every command of `retro-agents`, except the trainers."""
    lines = ["| command | does |", "|---|---|"]
    for name, (_, about) in command.COMMANDS.items():
        lines.append(f"| [`retro-agents {name}`](#{anchor(name)}) | {about} |")
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
    """Usage, description, and a row for each argument."""
    parser = parser_of(name.split())
    about = parser.description or ""
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    lines = [f"## retro-agents {name}", "", *paragraphs(about), "```", wrapped(usage), "```", ""]
    for group in parser._action_groups:
        rows = [argument(action) for action in group._group_actions if action.help != HIDDEN]
        rows = [row for row in rows if row]
        if rows:
            if group.title not in ("options", "positional arguments"):
                lines += [f"**{group.title}**", ""]
            lines += ["| argument | meaning |", "|---|---|", *rows, ""]
    return lines


def argument(action: argparse.Action) -> str:
    """A table's row for an argument; "" for --help."""
    if isinstance(action, argparse._HelpAction):
        return ""
    name = ", ".join(action.option_strings) or str(action.metavar or action.dest)
    takes = not isinstance(action, argparse.BooleanOptionalAction) and action.nargs != 0
    if action.option_strings and takes:
        name += f" {action.metavar or (choices(action) or action.dest.upper())}"
    text = " ".join((action.help or "").replace("%%", "%").split())
    text = text.replace("%(default)s", str(action.default))
    return f"| `{name}` | {escaped(text)} |".replace("|` |", "` |")


def choices(action: argparse.Action) -> str:
    return "{" + ",".join(map(str, action.choices)) + "}" if action.choices else ""


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def paragraphs(text: str) -> list[str]:
    """A description as Markdown: an indented or aligned paragraph stays as it is."""
    lines: list[str] = []
    for part in text.strip().split("\n\n"):
        if any(line.startswith("  ") for line in part.splitlines()):
            lines += ["```", part, "```", ""]
        else:
            lines += [escaped(part), ""]
    return lines


def wrapped(usage: str, width: int = 88) -> str:
    """A usage in lines of that width, broken between arguments."""
    lines, line = [], ""
    for word in re.findall(r"\[[^\]]*\]|\S+", usage):
        if line and len(line) + len(word) >= width:
            lines.append(line)
            line = "   "
        line += f" {word}" if line else word
    return "\n".join([*lines, line])


def parser_of(
    words: Sequence[str], main: Callable[[], None] = command.main
) -> argparse.ArgumentParser:
    """The parser that prints the help of these words of `retro-agents`, or of another command."""
    found: list[argparse.ArgumentParser] = []
    keep = mock.patch.object(argparse.ArgumentParser, "print_help", lambda self: found.append(self))
    before = sys.argv
    try:
        sys.argv = ["command", *words, "--help"]
        with keep, suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    return found[0]


def anchor(name: str) -> str:
    return f"retro-agents-{name}".replace(" ", "-")
