"""Configs: frozen dataclasses, filled from their defaults, then a preset, a file, and flags.

A config may have sections: fields that are dataclasses of their own (the run, the environment).
Flags and files name all fields flat; config.json keeps the sections apart, and reads back too.
"""

import dataclasses
import difflib
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec
import yaml

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.ground.ranges import bad_value
from retro_agents.run.command_line import (
    ELSEWHERE,
    REFUSED,
    did_you_mean,
    read_first,
    read_flags,
    words_of,
)

T = TypeVar("T")
BEGINNING = ("init", "init_encoder", "init_replay", "init_shrink", "seed")
"""Fields of what a run begins with: it does not go on with another."""


def section(
    class_for: Callable[[Mapping[str, Any]], type],
    *,
    kinds: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Any:
    """A section whose class depends on the config's flat values, such as a family's settings.

    class_for: flat values -> the class; without values, that of the default. kinds: what each class
    is for, in words -> values that choose it.
    """
    return dataclasses.field(
        default_factory=lambda: class_for({})(), metadata={"class_for": class_for, "kinds": kinds}
    )


def hidden(default: Any) -> Any:
    """A field that is no flag: the run writes it into its config."""
    return dataclasses.field(default=default, metadata={"hidden": True})


def only_with(default: Any, *others: str, without: str = "") -> Any:
    """A field that is read only where one of the others is on, and `without` is off; given as a
    flag elsewhere, it is refused. others, without: names of fields (on: neither 0, empty, false nor
    none), or NAME=VALUE."""
    metadata = {"only_with": others, "only_without": without}
    return dataclasses.field(default=default, metadata=metadata)


def positional(metavar: str) -> Any:
    """A field given without a flag; a tuple takes one or more. metavar: as help shows it."""
    return dataclasses.field(metadata={"metavar": metavar})


def load_config(
    cls: type[T],
    argv: Sequence[str],
    *,
    presets: Path | None,
    command: str,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> T:
    """Config of a command: defaults of `cls` <- --preset <- --config <- flags; later ones win.

    argv: the arguments without the program. presets: folder of NAME.yaml files, if any.
    command: as it is called, for --help. defaults: of some fields, instead of those of `cls`.
    UserError: unknown preset, field or flag (names the nearest), unreadable file, bad value.
    """
    words = words_of(argv)
    given = read_first(words)
    values = dict(defaults)
    if "preset" in given:
        name = given["preset"]
        values |= read_file(_preset_path(name, presets), what=f"preset {name!r}")
        _check_family(cls, values, given.get("levels"), preset=name)
    if "config" in given:
        values |= read_file(Path(given["config"]), what=f"config file {given['config']}")
    return _with_flags(cls, words, values=values, presets=presets, command=command, files=True)


def parse_command(
    cls: type[T],
    argv: Sequence[str] | None = None,
    *,
    command: str,
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> T:
    """`cls` from a command's arguments alone, where there are no presets; some may be required.

    argv: without the program; None: the program's own. command: how it is called, for --help.
    defaults: of some fields, instead of those of `cls`. UserError: unknown, missing or bad
    arguments.
    """
    words = words_of(sys.argv[1:] if argv is None else argv)
    return _with_flags(cls, words, values=defaults, presets=None, command=command, files=False)


def load_run_config(
    cls: type[T], argv: Sequence[str] | None = None, *, presets: Path, command: str
) -> T:
    """`load_config` of a trainer; without argv, of the program's arguments.

    A resumed run keeps its own config, as far as no flag or file changes it. UserError: also for a
    preset, which is all of a config.
    """
    words = words_of(sys.argv[1:] if argv is None else argv)
    given = read_first(words)
    file = given.get("config")
    values = read_file(Path(file), what=f"config file {file}") if file is not None else {}
    # Before anything is checked: what does not fit the defaults may fit the run.
    resumes = given.get("resume", values.get("resume", False))
    run_dir = given.get("run_dir", values.get("run_dir", flat(to_dict(cls())).get("run_dir")))
    own = Path(str(run_dir)) / "config.json"
    if not resumes or not own.is_file():
        return load_config(cls, words, presets=presets, command=command)
    if "preset" in given:
        raise UserError(
            f"--preset {given['preset']} is for the start of a run: to go on with another setting, "
            "give it as a flag or in a file for --config"
        )
    kept = read_file(own, what=str(own))
    names = _classes(cls, kept)
    if strange := [name for name in kept if name not in names]:
        if (agent := _owner(own.parent)) and f"python -m {agent}.train" != command:
            goes_on = f"python -m {agent}.train --run-dir {own.parent} --resume"
            raise UserError(f"{own.parent} is a run of {agent}: {goes_on}")
        raise UserError(
            f"{own.parent} is not a run of {command} (its config.json has the field "
            f"{strange[0]!r}); resume it with the agent that began it, as it was then"
        )
    kept["run_dir"] = str(own.parent)
    values = {**kept, **values}
    config = _with_flags(cls, words, values=values, presets=presets, command=command, files=True)
    now = flat(to_dict(config))
    for name in BEGINNING:
        if name in kept and now[name] != kept[name]:
            flag = "--" + name.replace("_", "-")
            goes_on = f"is for the start of a run, and {own.parent} goes on: leave it out"
            raise UserError(f"{flag} {now[name]} {goes_on}")
    return config


def _owner(run_dir: Path) -> str:
    """The agent that saved a run's last checkpoint; "" where that is not known."""
    with suppress(OSError, ValueError, LookupError):
        newest = complete_checkpoints(run_dir / "checkpoints")[-1]
        return str(json.loads((newest / "meta.json").read_text(encoding="utf-8"))["agent"])
    return ""


def from_dict(cls: type[T], values: Mapping[str, Any]) -> T:
    """`cls` from a mapping, flat or with its sections apart, such as a parsed JSON file.

    Fields that are not given keep their defaults. Text is taken where it spells a number, because
    YAML reads 1e-4 as text. Unknown names and wrong types: UserError.
    """
    return _made(cls, dict(values)) if _required(cls) else _filled(cls(), values)


def replaced(config: T, **values: Any) -> T:
    """The config with other values of some fields, in whichever section they are.

    UserError: unknown names, wrong types.
    """
    return _filled(config, values)


def to_dict(config: Any) -> dict[str, Any]:
    """A dataclass as a dictionary of what JSON can hold, sections apart; `from_dict` reads it."""
    return msgspec.to_builtins(config, enc_hook=_encode_hook)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same values with those of all sections side by side."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= value if isinstance(value, Mapping) else {name: value}
    return found


def preset_names(presets: Path | None) -> list[str]:
    """Names of the presets in a folder, sorted; none without a folder."""
    return sorted(path.stem for path in presets.glob("*.yaml")) if presets else []


def nearest_text(name: str, known: Iterable[str]) -> str:
    """'did you mean X?' when a known name is close to `name`, else 'expected one of …'."""
    known = list(known)
    elsewhere = name.replace("_", "-")
    if elsewhere in REFUSED:
        return REFUSED[elsewhere]
    if elsewhere in ELSEWHERE:
        return did_you_mean(ELSEWHERE[elsewhere].replace("-", "_"), [*known, "preset", "config"])
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else f"expected one of: {', '.join(known)}"


def _with_flags(
    cls: type[T],
    words: list[str],
    *,
    values: Mapping[str, Any],
    presets: Path | None,
    command: str,
    files: bool,
) -> T:
    """`cls` from values, then flags. files: whether --preset and --config are among these."""
    first = flat(values) | {k: v for k, v in read_first(words).items() if k == "levels"}
    owners = _classes(cls, first)
    shown = not _required(cls) and {"-h", "--help"} & set(words)
    given = read_flags(
        words,
        owners,
        command=command,
        about=inspect.getdoc(cls) or cls.__name__,
        defaults=flat(to_dict(_filled(cls(), first))) if shown else {},
        files=files,
        presets=preset_names(presets),
        apart=lambda: _apart(cls, owners),
    )
    config = from_dict(cls, {**values, **given})
    _check_effects(config, given)
    return config


def _check_family(cls: type, values: Mapping[str, Any], levels: str | None, *, preset: str) -> None:
    """UserError: a preset's fields are of another family of environments than those levels."""
    here = _classes(cls, values if levels is None else {**values, "levels": levels})
    strange = [name for name in _classes(cls, values) if name in values and name not in here]
    if strange:
        raise UserError(
            f"preset {preset!r} is not for --levels {levels}, which have no {strange[0]}: give "
            "other levels, or another preset"
        )


def _check_effects(config: Any, given: Iterable[str]) -> None:
    """UserError: nothing would read one of the fields that are given as flags."""
    values = flat(to_dict(config))
    owners = _classes(type(config), values)
    for name in given:
        (field,) = (f for f in dataclasses.fields(owners[name]) if f.name == name)
        others = field.metadata.get("only_with", ())
        if others and not any(_is_on(values, other) for other in others):
            flags = " or ".join(map(_flag_of, others))
            flag = _flag_of(f"{name}={values[name]}" if values[name] is False else name)
            raise UserError(f"{flag} has no effect without {flags}: give that too, or leave it out")
        if (other := field.metadata.get("only_without")) and _is_on(values, other):
            raise UserError(f"{_flag_of(name)} has no effect with {_flag_of(other)}: leave one out")


def _is_on(values: Mapping[str, Any], other: str) -> bool:
    name, equals, value = other.partition("=")
    if equals:
        found = values[name]
        return (f"{found:g}" if isinstance(found, float) else str(found)) == value
    return bool(values[name]) and values[name] != "none"


def _flag_of(other: str) -> str:
    """What turns a field on, for `only_with`."""
    name, _, value = other.replace("_", "-").partition("=")
    return f"--no-{name}" if value == "False" else f"--{name} {value}".strip()


def _required(cls: Any) -> bool:
    return any(
        f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
        for f in dataclasses.fields(cls)
    )


def _sections(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Field -> class of each section, for these flat values."""
    found: dict[str, Any] = {}
    for field in dataclasses.fields(cls):
        if "class_for" in field.metadata:
            found[field.name] = field.metadata["class_for"](values)
        elif dataclasses.is_dataclass(field.type):
            found[field.name] = field.type
    return found


def _classes(cls: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """Field -> the class that has it, `cls` or a section's, for these flat values."""
    sections = _sections(cls, values)
    found: dict[str, Any] = {}
    for owner in (*sections.values(), cls):
        found |= {f.name: owner for f in dataclasses.fields(owner) if f.name not in sections}
    return found


def _apart(cls: Any, owners: Mapping[str, Any]) -> dict[str, str]:
    """Field -> what it is for, of those that a section of another class would have."""
    found: dict[str, str] = {}
    for field in dataclasses.fields(cls):
        for kind, values in field.metadata.get("kinds", {}).items():
            others = dataclasses.fields(field.metadata["class_for"](values))
            found |= {other.name: kind for other in others if other.name not in owners}
    return found


def _filled(config: T, values: Mapping[str, Any]) -> T:
    """The config with values, flat or not, instead of its own."""
    cls: Any = type(config)
    given = flat(values)
    everything = {**flat(to_dict(config)), **given}
    owners = _classes(cls, everything)
    if unknown := [name for name in given if name not in owners]:
        apart = _apart(cls, owners)
        why = [
            f"it is for {apart[name]}" if name in apart else nearest_text(name, owners)
            for name in unknown
        ]
        told = [f"unknown field {unknown[0]!r} for {cls.__name__}; {why[0]}"]
        told += [f"{name!r}: {text}" for name, text in zip(unknown[1:], why[1:], strict=True)]
        raise UserError("; ".join(told))
    whole = {}
    for name, part in _sections(cls, everything).items():
        before = getattr(config, name)
        mine = {k: value for k, value in given.items() if owners[k] is part}
        whole[name] = _made(part, mine, before if type(before) is part else None)
    own = {k: value for k, value in given.items() if owners[k] is cls}
    return _made(cls, own, config, **whole)


def _made(cls: Any, values: dict[str, Any], before: Any = None, **whole: Any) -> Any:
    """`cls` from its own values; where they are not given, from `before` or the defaults."""
    hints = get_type_hints(cls, include_extras=True)
    fields = {field.name: field for field in dataclasses.fields(cls)}
    if unknown := [name for name in values if name not in hints]:
        raise UserError(
            f"unknown field {unknown[0]!r} for {cls.__name__}; {nearest_text(unknown[0], hints)}"
        )
    for name, value in values.items():
        try:
            value = _number(value) if int in (hints[name], *get_args(hints[name])) else value
            whole[name] = msgspec.convert(value, hints[name], strict=False, dec_hook=_decode_hook)
        except ValueError:  # msgspec's is one
            flag = fields[name].metadata.get("metavar", "--" + name.replace("_", "-"))
            raise UserError(bad_value(flag, fields[name], hints[name], value)) from None
    try:
        return cls(**whole) if before is None else dataclasses.replace(before, **whole)
    except ValueError as error:
        raise UserError(f"bad value for {cls.__name__}: {error}") from None


def _number(value: Any) -> Any:
    """1e5, as text, is a whole number too."""
    if isinstance(value, str) and re.fullmatch(r"[\d.]+[eE]\+?\d+", value):
        with suppress(ValueError, OverflowError):
            return int(float(value)) if float(value).is_integer() else value
    return value


def _preset_path(name: str, presets: Path | None) -> Path:
    names = preset_names(presets)
    if presets is None or name not in names:
        raise UserError(f"unknown preset {name!r}; {nearest_text(name, names)}")
    return presets / f"{name}.yaml"


def read_file(path: Path, *, what: str) -> dict[str, Any]:
    """The mapping in a YAML or JSON file, flat. {} for an empty file."""
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"cannot read {what}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{what} is neither valid YAML nor JSON: {reason}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise UserError(f"{what} must hold one mapping of field names to values")
    return flat(values)


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"expected {kind.__name__}, got {value!r}")


def _encode_hook(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a config cannot hold a {type(value).__name__}")
