"""Types of a config's numbers by range, which `from_dict`, `load_config` and `check` enforce."""

import dataclasses
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from retro_agents.ground.errors import UserError

LARGEST = 3e38
"""Torch computes in single precision, and refuses larger numbers."""

Count = Annotated[int, Meta(ge=1, description="a whole number of 1 or more")]
Natural = Annotated[int, Meta(ge=0, description="a whole number of 0 or more")]
"""0, 1, 2, …; 0 usually means never, or none."""
Threads = Annotated[int, Meta(ge=0, le=1024, description="a whole number from 0 to 1024")]
"""Threads of a CPU; 0 usually means that PyTorch decides."""
Seed = Annotated[int, Meta(ge=0, le=2**63 - 1, description="a whole number from 0 to 2^63 - 1")]
"""0, 1, 2, … up to the largest seed that every generator accepts."""
Positive = Annotated[float, Meta(gt=0.0, le=LARGEST, description="a finite number above 0")]
NonNegative = Annotated[float, Meta(ge=0.0, le=LARGEST, description="a finite number of 0 or more")]
Finite = Annotated[float, Meta(ge=-LARGEST, le=LARGEST, description="a finite number")]
Share = Annotated[float, Meta(ge=0.0, le=1.0, description="a number from 0 to 1")]
"""A share or a probability: from 0 to 1."""
Part = Annotated[float, Meta(gt=0.0, le=1.0, description="a number above 0 and at most 1")]
Momentum = Annotated[float, Meta(ge=0.0, lt=1.0, description="a number from 0 to below 1")]
"""The weight of the past in a running sum: from 0 to below 1."""
WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text, in quotes"}


def plain(value: Any) -> Any:
    """NumPy's numbers, such as those of `np.linspace`, as Python's; other values as they are."""
    return value.item() if getattr(value, "shape", None) == () else value


def check(config: Any) -> None:
    """Checks a dataclass made in Python, and makes its numbers `plain`, and floats where these are
    meant. Raises UserError if a field has a wrong type or range."""
    for field in dataclasses.fields(config):
        value = plain(getattr(config, field.name))
        if dataclasses.is_dataclass(value):  # a section has checked itself
            continue
        try:
            meant = msgspec.convert(value, field.type)
        except msgspec.ValidationError:
            raise UserError(bad_value(field.name, field, field.type, repr(value))) from None
        object.__setattr__(config, field.name, meant)


def bad_value(name: str, field: dataclasses.Field, hint: Any, value: Any) -> str:
    """Returns the message about a field's invalid value. name: of the field, or of its flag."""
    plain = isinstance(value, str) and value.strip() and value.isprintable()
    counts = type(field.default) is int and field.default and get_origin(hint) is not Literal
    example = f", such as {field.default}" if counts else ""
    return f"{name} {value if plain else repr(value)}: expected {expected(hint)}{example}"


def expected(hint: Any) -> str:
    """Describes a type to the user."""
    kind, parts = get_origin(hint), get_args(hint)
    if kind is Annotated:
        return str(parts[1].description)
    if kind is Literal:
        return "one of " + ", ".join(map(str, parts))
    if kind in (Union, UnionType):
        return " or ".join(expected(part) for part in parts if part is not NoneType)
    if kind in (tuple, list):
        return f"a list whose entries are each {expected(parts[0])}"
    return WORDS.get(hint, f"a {hint.__name__.lower()}")
