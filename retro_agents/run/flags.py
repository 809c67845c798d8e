"""The words of a command: a flag for each field of a config, read by argparse."""

import argparse
import dataclasses
import functools
import inspect
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal, NoReturn, get_args, get_origin

import docstring_parser

from retro_agents.ground.errors import Parser, UserError
from retro_agents.ground.names import nearest
from retro_agents.run.config import read_file
from retro_agents.run.fields import Place, answer, flag_of, flag_with, kind_of, kinds
from retro_agents.run.removed import instead

MOST_USED = "Most used"
LAST = ("The environment", "The machine")
"""Titles of the groups at the end of the help."""
GROUPS = {
    "machine": "The machine",
    "report": "What is saved and shown",
    "start": "What it starts from",
}
"""Role -> the help group of its fields that name no group."""
FILES = {
    "preset": "Start from a preset: {}.",
    "config": "Read a YAML or JSON file; it wins over the preset, and flags over it.",
}
"""Flags of a command that reads presets and files."""
SPLITS = "retro_agents.games.retro.splits:split_names"
"""What completes --levels of every command."""
METAVARS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}


class Words:
    """A command's arguments, read once.

    given: field -> its value, as text or a truth value. in_file: the values in the file that
    --config names. preset: its name, if given. helps: whether help is requested.
    """

    def __init__(
        self, cls: Any, argv: Sequence[str], *, command: str, presets: Sequence[str], files: bool
    ) -> None:
        """cls: the config's class; the flags of all its kinds are known. command: its name in the
        help. presets: names. files: whether it takes --config, and --preset if there are presets.

        Raises UserError for an unknown flag (and names the nearest one), a flag without its value,
        or a value without a flag.
        """
        self.kinds, self.command, self.presets = kinds(cls), command, presets
        self.files = [name for name in FILES if files and (presets or name == "config")]
        self.about = inspect.getdoc(cls) or cls.__name__
        self.helps = any(map(asks_for_help, argv))
        words = _joined([word for word in argv if not asks_for_help(word)])
        here = dict[str, Place]()
        for places in self.kinds.values():
            here = places | here
        if not self.helps:
            _check_names(words, here, self.files)
        parser = self._parser(here, required=not self.helps)
        if "_ARGCOMPLETE" in os.environ:
            _complete(parser, presets)
        known, rest = parser.parse_known_intermixed_args(words)
        if rest and not self.helps:
            flags = any(word.startswith("--") for word in words[: words.index(rest[0])])
            advice = "join several values by commas: A,B" if flags else "see --help"
            for name in ("agent", "of"):
                if not flags and name in here and not here[name].says("metavar"):
                    advice = f"did you mean {flag_with(name, rest[0])}?"
            raise UserError(f"{rest[0]!r} belongs to no flag; {advice}")
        self.given: dict[str, Any] = vars(known)
        self.preset: str | None = self.given.pop("preset", None) if "preset" in self.files else None
        file = self.given.pop("config", None) if self.files else None
        self.in_file = {} if file is None else read_file(Path(file), what=f"config file {file}")

    def levels(self) -> dict[str, Any]:
        """The flag that decides which fields there are, if given."""
        return {name: value for name, value in self.given.items() if name == "levels"}

    def check_kind(self, here: Mapping[str, Place]) -> None:
        """Raises UserError for a flag of another kind of config. here: this kind's fields."""
        for name, value in self.given.items():
            if name not in here:
                flag = flag_with(name, value).partition(" ")[0]
                raise UserError(f"unknown flag {flag}; it is for {kind_of(name, self.kinds)}")

    def help(self, here: Mapping[str, Place], values: Mapping[str, Any]) -> NoReturn:
        """Print the help of these fields' flags, with these values as defaults, and exit."""
        self._parser(here, values=values).print_help()
        raise SystemExit(0)

    def _parser(
        self,
        here: Mapping[str, Place],
        *,
        required: bool = True,
        values: Mapping[str, Any] | None = None,
    ) -> argparse.ArgumentParser:
        """values: the fields' defaults in the help; None: no texts, which are slow to find."""
        usage = f"{self.command} [FLAGS]" if self.files else None
        parser = Parser(
            prog=self.command,
            description=self.about,
            usage=usage,
            allow_abbrev=False,
            argument_default=argparse.SUPPRESS,  # leaves out flags that are not given
        )
        here = {name: place for name, place in here.items() if place.says("flag", True)}
        for title, names in (groups(here, self.files) if self.files else {"": list(here)}).items():
            group = parser.add_argument_group(title) if title else parser
            for name in names:
                if name in self.files:
                    text = FILES[name].format(", ".join(self.presets))
                    group.add_argument(f"--{name}", help=text, metavar=name.upper())
                else:
                    text = "" if values is None else _text(here[name], values.get(name, ""))
                    _add_flag(group, name, here[name], text=text, required=required)
        return parser


def asks_for_help(word: str) -> bool:
    """Whether argparse would take a word for -h or --help."""
    return re.fullmatch(r"--help|-h+", word) is not None


def _joined(argv: Sequence[str]) -> list[str]:
    """The arguments, with - for _ in flags, and negative numbers joined to their flag."""
    words: list[str] = []
    for word in argv:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            words.append(name.replace("_", "-") + equals + value)
        elif words and words[-1].startswith("--") and re.fullmatch(r"-(inf|[\d.].*)", word):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def groups(here: Mapping[str, Place], files: Sequence[str]) -> dict[str, list[str]]:
    """Title -> its flags: those of a field that names a group, and of the fields after it up to the
    next such field; a role may have its own group."""
    found: dict[str, list[str]] = {MOST_USED: [*files]}
    running: dict[Any, str] = {}
    for name, place in here.items():
        first_line = (inspect.getdoc(place.owner) or "").partition("\n")[0].rstrip(".")
        title = running.setdefault(place.owner, first_line)
        if place.says("group"):
            title = running[place.owner] = place.says("group")
        elif place.says("common"):
            title = MOST_USED
        else:
            own = [group for role, group in GROUPS.items() if role in place.says("roles", ())]
            title = (*own, title)[0]
        found.setdefault(title, []).append(name)
    last = {title: found.pop(title) for title in LAST if title in found}
    return {**found, **last}


def _complete(parser: argparse.ArgumentParser, presets: Sequence[str]) -> None:
    """If the shell asks for completions, print them and exit."""
    import argcomplete

    for action in parser._actions:
        options = list(presets if action.dest == "preset" else ())
        if str(action.metavar).startswith("{"):
            options = re.findall(r"[^{},]+", str(action.metavar))
        elif action.dest == "levels":
            options = resolve_name(SPLITS)()
        if options:
            action.completer = lambda options=options, **_: options  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _add_flag(group: Any, name: str, place: Place, *, text: str, required: bool) -> None:
    """Add one field as a flag, or as a positional argument."""
    hint: Any = place.field.type
    options: dict[str, Any] = {"help": text.replace("%", "%%")}
    many = get_origin(hint) in (tuple, list)
    if metavar := place.says("metavar"):
        needed = required and place.required
        counts = ("*" if many else "?") if not needed else "+" if many else None
        shown = _metavar(hint) if get_origin(hint) is Literal else metavar
        group.add_argument(name, metavar=shown, nargs=counts, **options)
    elif hint is bool:
        group.add_argument(flag_of(name), action=argparse.BooleanOptionalAction, **options)
    else:
        options |= {"nargs": "*"} if many else {}
        options |= {"action": "extend"} if many and str in get_args(hint) else {}  # of words
        options |= {"required": required and place.required, "metavar": _metavar(hint)}
        group.add_argument(flag_of(name), **options)


def _metavar(hint: Any) -> str:
    parts = get_args(hint)
    if get_origin(hint) is Literal:
        return "{" + ",".join(map(str, parts)) + "}"
    return METAVARS.get(hint) or (_metavar(parts[0]) if parts else "VALUE")


def _text(place: Place, value: Any) -> str:
    """The help of a field: its text in the source, and its value."""
    shown = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
    said = texts(place.owner).get(place.field.name, "")
    return said + (f" (default: {shown})" if shown not in ("", None) else "")


@functools.cache
def texts(owner: Any) -> dict[str, str]:
    """Field -> its text in the source, on one line."""
    return {
        text.arg_name: " ".join((text.description or "").split())
        for cls in reversed(owner.__mro__)
        if dataclasses.is_dataclass(cls)
        for text in docstring_parser.parse_from_object(cls).params
    }


def _check_names(words: Sequence[str], here: Mapping[str, Place], files: Sequence[str]) -> None:
    """Raises UserError for the first unknown --flag or -flag; it names the nearest one."""
    known = ["--help", *map(flag_of, files)]
    for name, place in here.items():
        if place.says("flag", True) and not place.says("metavar"):
            known += [flag_of(name)]
            known += [flag_of(f"no_{name}")] if place.field.type is bool else []
    for word in words:
        given = word.partition("=")[0]
        flag = f"-{given.replace('_', '-')}" if re.fullmatch(r"-[a-z][\w-]+", given) else given
        if flag.startswith("--") and given not in known:
            raise UserError(f"unknown flag {given}; {_nearest(flag, known, here)}")


def _nearest(flag: str, known: Sequence[str], here: Mapping[str, Place]) -> str:
    """Advice on an unknown flag: another program's name, what replaced it, words of a flag, or a
    similar spelling."""
    name = flag[2:].replace("-", "_")
    if flag in known:  # with a single dash
        return f"did you mean {flag!r}?"
    if said := answer(name, here, spelled=flag_of) or instead(name, known):
        return said
    if f"{flag}s" in known:
        return f"did you mean '{flag}s'?"
    parts = set(flag[2:].split("-"))
    close = [other for other in known if parts <= set(other[2:].split("-"))]
    meant = close[0] if close else nearest(flag, known, cutoff=0.7)
    return f"did you mean {meant!r}?" if meant else "see --help"
