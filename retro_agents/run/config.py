"""Configs: frozen dataclasses, filled from their defaults, then a preset, a file, and flags.

A config may have sections: fields that are dataclasses of their own (the run, the environment).
Flags and files name all fields flat; config.json keeps the sections apart, and reads back too.
"""

import dataclasses
import difflib
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
import yaml

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.ground.names import nearest_text
from retro_agents.ground.ranges import bad_value
from retro_agents.run.command_line import CommandLine, kind_of
from retro_agents.run.fields import (
    NOTHING,
    Place,
    answer,
    fields,
    flag_of,
    flag_with,
    kinds,
    places,
    sections,
)

T = TypeVar("T")


def load_config(
    cls: type[T],
    argv: Sequence[str],
    *,
    presets: Path | None,
    command: str,
    defaults: Mapping[str, Any] = NOTHING,
) -> T:
    """Config of a command: defaults of `cls` <- --preset <- --config <- flags; later ones win.

    argv: the arguments without the program. presets: folder of NAME.yaml files, if any.
    command: as it is called, for --help. defaults: of some fields, instead of those of `cls`.
    Raises UserError for an unknown preset, field or flag (names the nearest), an unreadable file or
    a bad value.
    """
    names = preset_names(presets)
    line = CommandLine(cls, argv, command=command, presets=names, files=True)
    return _loaded(cls, line, presets, defaults=defaults)


def parse_command(
    cls: type[T],
    argv: Sequence[str] | None = None,
    *,
    command: str,
    defaults: Mapping[str, Any] = NOTHING,
) -> T:
    """`cls` from a command's arguments alone, where there are no presets; some may be required.

    argv: without the program; None: the program's own. command: how it is called, for --help.
    defaults: of some fields, instead of those of `cls`. Raises UserError for unknown, missing or
    bad arguments.
    """
    words = sys.argv[1:] if argv is None else argv
    line = CommandLine(cls, words, command=command, presets=(), files=False)
    return _with_flags(cls, line, defaults)


def load_run_config(
    cls: type[T], argv: Sequence[str] | None = None, *, presets: Path, command: str
) -> T:
    """`load_config` of a trainer; without argv, of the program's arguments.

    A resumed run keeps its own config, as far as no flag or file changes it. Raises UserError also
    for a preset, which is all of a config, and for what a run begins with.
    """
    words, names = sys.argv[1:] if argv is None else argv, preset_names(presets)
    line = CommandLine(cls, words, command=command, presets=names, files=True)
    values = _of_file(line)
    # Before anything is checked: what does not fit the defaults may fit the run.
    values |= {name: line.given[name] for name in ("run_dir", "resume") if name in line.given}
    own = Path(str(values.get("run_dir", flat(to_dict(cls())).get("run_dir")))) / "config.json"
    if not values.get("resume") or not own.is_file():
        return _loaded(cls, line, presets)
    if line.preset is not None:
        raise UserError(
            f"--preset {line.preset} is for the start of a run: to go on with another "
            "setting, give it as a flag or in a file for --config"
        )
    kept = read_file(own, what=str(own)) | {"run_dir": str(own.parent)}
    _check_run(kept, own.parent, places(cls, kept), command=command)
    config = _with_flags(cls, line, {**kept, **values})
    now = flat(to_dict(config))
    for name in fields(config, "start"):
        if name in kept and now[name] != kept[name]:
            raise UserError(
                f"{flag_with(name, now[name])} is for the start of a run, and {own.parent} goes "
                "on: leave it out"
            )
    return config


def _check_run(
    kept: Mapping[str, Any], run_dir: Path, here: Mapping[str, Place], *, command: str
) -> None:
    """Raises UserError if a run's config has other fields than this command's: it is another
    agent's."""
    if strange := [name for name in kept if name not in here]:
        if (agent := _owner(run_dir)) and f"python -m {agent}.train" != command:
            goes_on = f"python -m {agent}.train --run-dir {run_dir} --resume"
            raise UserError(f"{run_dir} is a run of {agent}: {goes_on}")
        raise UserError(
            f"{run_dir} is not a run of {command} (its config.json has the field "
            f"{strange[0]!r}); resume it with the agent that began it, as it was then"
        )


def _owner(run_dir: Path) -> str:
    """The agent that saved a run's last checkpoint; "" where that is not known."""
    with suppress(OSError, ValueError, LookupError):
        newest = complete_checkpoints(run_dir / "checkpoints")[-1]
        return str(json.loads((newest / "meta.json").read_text(encoding="utf-8"))["agent"])
    return ""


def from_dict(cls: type[T], values: Mapping[str, Any]) -> T:
    """`cls` from a mapping, flat or with its sections apart, such as a parsed JSON file.

    Fields that are not given keep their defaults. Text is taken where it spells a number, because
    YAML reads 1e-4 as text. Raises UserError for unknown names and wrong types.
    """
    return _filled(cls, values, None if _required(cls) else cls())


def replaced(config: T, **values: Any) -> T:
    """The config with other values of some fields, in whichever section they are. Raises UserError
    for unknown names and wrong types."""
    return _filled(type(config), values, config)


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


def _loaded(
    cls: type[T], line: CommandLine, presets: Path | None, *, defaults: Mapping[str, Any] = NOTHING
) -> T:
    """`cls` from defaults, then the preset and the file that a command line names, then flags."""
    values = dict(defaults)
    if line.preset is not None:
        path = _preset_path(line.preset, presets)
        values |= read_file(path, what=f"preset {line.preset!r}")
        here = places(cls, values | _levels(line))
        strange = [name for name in places(cls, values) if name in values and name not in here]
        if strange:
            raise UserError(
                f"preset {line.preset!r} is not for --levels {line.given['levels']}, which have no "
                f"{strange[0]}: give other levels, or another preset"
            )
    return _with_flags(cls, line, values | _of_file(line))


def _of_file(line: CommandLine) -> dict[str, Any]:
    """The values in the file that --config names."""
    return {} if line.file is None else read_file(Path(line.file), what=f"config file {line.file}")


def _levels(line: CommandLine) -> dict[str, Any]:
    """The flag that decides which fields there are."""
    return {name: value for name, value in line.given.items() if name == "levels"}


def _with_flags(cls: type[T], line: CommandLine, values: Mapping[str, Any]) -> T:
    """`cls` from values, then flags."""
    given, first = line.given, flat(values) | _levels(line)
    here = places(cls, first)
    if line.helps:
        line.help(here, {} if _required(cls) else flat(to_dict(from_dict(cls, first))))
    line.check_kind(here)
    config = from_dict(cls, {**values, **given})
    _check_effects(config, given)
    return config


def _check_effects(config: Any, given: Iterable[str]) -> None:
    """Raises UserError if nothing would read one of the fields that are given as flags."""
    values, here = flat(to_dict(config)), places(config)
    for name in given:
        others, other = here[name].says("only_with", ()), here[name].says("without")
        if others and not any(_is_on(values, one) for one in others):
            flags = " or ".join(map(_flag_for, others))
            flag = _flag_for(f"{name}={values[name]}" if values[name] is False else name)
            raise UserError(f"{flag} has no effect without {flags}: give that too, or leave it out")
        if other and _is_on(values, other):
            raise UserError(f"{flag_of(name)} has no effect with {_flag_for(other)}: leave one out")


def _is_on(values: Mapping[str, Any], condition: str) -> bool:
    """Whether a condition holds, as `fields.field` takes them."""
    name, equals, value = condition.partition("=")
    if equals:
        found = values[name]
        return (f"{found:g}" if isinstance(found, float) else str(found)) == value
    return bool(values[name]) and values[name] != "none"


def _flag_for(condition: str) -> str:
    """The flag that makes a condition hold."""
    name, _, value = condition.partition("=")
    return flag_with(name, False) if value == "False" else f"{flag_of(name)} {value}".strip()


def _required(cls: Any) -> bool:
    return any(place.required for place in places(cls).values())


def _filled(cls: Any, values: Mapping[str, Any], before: Any) -> Any:
    """`cls` with values, flat or not; what is not given is as in `before`, or the defaults."""
    given = flat(values)
    everything = given if before is None else {**flat(to_dict(before)), **given}
    here = places(cls, everything)
    if unknown := [name for name in given if name not in here]:
        said = [_instead(name, cls, here) for name in unknown]
        told = [f"unknown field {unknown[0]!r} for {cls.__name__}; {said[0]}"]
        told += [f"{name!r}: {text}" for name, text in zip(unknown[1:], said[1:], strict=True)]
        raise UserError("; ".join(told))
    whole = {}
    for name, part in sections(cls, everything).items():
        mine = {k: value for k, value in given.items() if here[k].owner is part}
        old = getattr(before, name)
        whole[name] = _made(part, mine, old if type(old) is part else None)
    own = {k: value for k, value in given.items() if here[k].owner is cls}
    return _made(cls, own, before, **whole)


def _instead(name: str, cls: Any, here: Mapping[str, Place]) -> str:
    """What to say of an unknown field."""
    if kind := kind_of(name, kinds(cls)):
        return f"it is for {kind}"
    if said := answer(name, here):
        return said
    close = difflib.get_close_matches(name, here, n=1, cutoff=0.6)
    return f"did you mean {close[0]!r}?" if close else "see --help"


def _made(cls: Any, values: dict[str, Any], before: Any = None, **whole: Any) -> Any:
    """`cls` from its own values; where they are not given, from `before` or the defaults."""
    for field in dataclasses.fields(cls):
        if field.name not in values:
            continue
        value, hint = values[field.name], field.type
        try:
            value = _number(value) if int in (hint, *get_args(hint)) else value
            whole[field.name] = msgspec.convert(value, hint, strict=False, dec_hook=_decode_hook)
        except ValueError:  # msgspec's is one
            flag = field.metadata.get("metavar") or flag_of(field.name)
            raise UserError(bad_value(flag, field, hint, value)) from None
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
