"""Configs: frozen dataclasses, built from plain values and saved as such.

A config may have sections: fields that are dataclasses of their own (the run, the environment).
Flags and files name all fields flat; config.json keeps the sections, and can be read back too.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, get_args

import msgspec
import yaml

from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest
from retro_agents.ground.ranges import bad_value, plain
from retro_agents.run.fields import (
    Place,
    answer,
    flag_of,
    kind_of,
    kinds,
    places,
    required,
    sections,
)
from retro_agents.run.removed import instead

T = TypeVar("T")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
"""A number as text. JSON knows neither .5 nor +1."""


def from_dict(cls: type[T], values: Mapping[str, Any]) -> T:
    """`cls` from a mapping, flat or with sections, such as a parsed JSON file.

    Fields that are not given keep their defaults. Text that spells a number is accepted, because
    YAML reads 1e-4 as text. Raises UserError for unknown names and wrong types.
    """
    return _filled(cls, values, None if required(cls) else cls())


def replaced(config: T, **values: Any) -> T:
    """The config with some fields replaced, in whichever section they are. Raises UserError for
    unknown names and wrong types."""
    return _filled(type(config), values, config)


def to_dict(config: Any) -> dict[str, Any]:
    """A dataclass as a dictionary of JSON values, with sections; `from_dict` reads it."""
    return msgspec.to_builtins(config, enc_hook=_encode_hook)


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of all sections in one flat dictionary."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= value if isinstance(value, Mapping) else {name: value}
    return found


def preset_names(presets: Path | None) -> list[str]:
    """Names of the presets in a folder, sorted; [] without a folder."""
    return sorted(path.stem for path in presets.glob("*.yaml")) if presets else []


def _filled(cls: Any, values: Mapping[str, Any], before: Any) -> Any:
    """`cls` from values, flat or not; missing ones come from `before`, or the defaults."""
    given = flat(values)
    everything = given if before is None else {**flat(to_dict(before)), **given}
    here = places(cls, everything)
    if unknown := [name for name in given if name not in here]:
        first, *others = unknown
        said = [f"unknown field {first!r} for {cls.__name__}; {_instead(first, cls, here)}"]
        said += [f"{name!r}: {_instead(name, cls, here)}" for name in others]
        raise UserError("; ".join(said))
    whole = {}
    for name, part in sections(cls, everything).items():
        mine = {k: value for k, value in given.items() if here[k].owner is part}
        old = getattr(before, name)
        whole[name] = _made(part, mine, old if type(old) is part else None)
    own = {k: value for k, value in given.items() if here[k].owner is cls}
    return _made(cls, own, before, **whole)


def _instead(name: str, cls: Any, here: Mapping[str, Place]) -> str:
    """The advice for an unknown field."""
    if kind := kind_of(name, kinds(cls)):
        return f"it is for {kind}"
    if said := answer(name, here) or instead(name, [*map(flag_of, here), "--preset"]):
        return said
    close = nearest(name, here)
    return f"did you mean {close!r}?" if close else "see --help"


def _made(cls: Any, values: dict[str, Any], before: Any = None, **whole: Any) -> Any:
    """`cls` from its own values; missing ones come from `before` or the defaults."""
    for field in dataclasses.fields(cls):
        if field.name not in values:
            continue
        value, hint = plain(values[field.name]), field.type
        try:
            value = _number(value, hint)
            whole[field.name] = msgspec.convert(value, hint, strict=False, dec_hook=_decode_hook)
        except ValueError:  # msgspec raises a subclass
            flag = field.metadata.get("metavar") or flag_of(field.name)
            raise UserError(bad_value(flag, field, hint, value)) from None
    try:
        return cls(**whole) if before is None else dataclasses.replace(before, **whole)
    except ValueError as error:
        raise UserError(f"bad value for {cls.__name__}: {error}") from None


def _number(value: Any, hint: Any) -> Any:
    """Text as a number where the hint is of one: 1e5 as a whole number too."""
    parts = hint, *get_args(hint)
    kinds = {*parts, *(inner for part in parts for inner in get_args(part))}  # Share | None, too
    if not isinstance(value, str) or not NUMBER.fullmatch(value):
        return value
    if float in kinds:
        return float(value)
    if int not in kinds:  # a text that looks like a number, such as a folder's name
        return value
    whole = "e" in value.lower() and float(value).is_integer()
    return int(float(value)) if whole else value.removeprefix("+")


def once(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """A dictionary of pairs. Raises ValueError if two have the same name, of which the last would
    win unseen."""
    found: dict[Any, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"{name!r} is given twice")
        found[name] = value
    return found


class _Loader(yaml.SafeLoader):
    """Refuses a name that is given twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        names = [key for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        once((self.construct_object(key, deep=True), None) for key in names)
        return super().construct_mapping(node, deep=deep)


def read_yaml(text: str) -> Any:
    """What a text of YAML holds. Raises ValueError or YAMLError if it is bad."""
    try:
        return yaml.load(text, _Loader)
    except (RecursionError, TypeError):  # a list as a name
        raise ValueError("it is nested too deeply, or has names that are no text") from None


def read_file(path: Path, *, what: str) -> dict[str, Any]:
    """The mapping in a YAML or JSON file, flat. {} for an empty file."""
    try:
        text = path.read_text(encoding="utf-8-sig")  # Windows' editors write a mark before it
        if path.suffix.lower() == ".json":
            values = json.loads(text, object_pairs_hook=once)
        else:
            values = read_yaml(text)
        if isinstance(values, dict):
            parts = (v if isinstance(v, dict) else {name: v} for name, v in values.items())
            values = once(pair for part in parts for pair in part.items())
    except OSError as error:
        raise UserError(f"cannot read {what}: {error.strerror}") from None
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{what} is neither valid YAML nor JSON: {reason}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise UserError(f"{what} must hold one mapping of field names to values")
    return values


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"expected {kind.__name__}, got {value!r}")


def _encode_hook(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a config cannot hold a {type(value).__name__}")
