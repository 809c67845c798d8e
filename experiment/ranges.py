"""Types of a config's numbers by their range, which `from_dict`, `load_config` and `check` keep."""

import dataclasses
import sys
from typing import Annotated, Any

import msgspec

from experiment.errors import UserError

LARGEST = sys.float_info.max

Count = Annotated[int, msgspec.Meta(ge=1)]
"""1, 2, …"""
Natural = Annotated[int, msgspec.Meta(ge=0)]
"""0, 1, 2, …; 0 mostly means never, or none."""
Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
"""0, 1, 2, … as far as every generator takes it."""
Positive = Annotated[float, msgspec.Meta(gt=0.0, le=LARGEST)]
"""Above 0, and finite."""
NonNegative = Annotated[float, msgspec.Meta(ge=0.0, le=LARGEST)]
"""0 or above, and finite."""
Finite = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
"""Any number but inf and nan."""
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
"""A part or a chance: from 0 to 1."""
Momentum = Annotated[float, msgspec.Meta(ge=0.0, lt=1.0)]
"""What is kept of a running sum: from 0 to below 1."""
Growth = Annotated[float, msgspec.Meta(ge=1.0, le=LARGEST)]
"""A factor that does not shrink: 1 or above, and finite."""
Decay = Annotated[float, msgspec.Meta(gt=0.0, le=1.0)]
"""A factor that does not grow: above 0, up to 1."""


def check(config: Any) -> None:
    """UserError: a field of a dataclass has not its type or range. For those made in Python."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):  # a section, which has checked itself
            continue
        try:
            msgspec.convert(value, field.type)
        except msgspec.ValidationError as error:
            reason, _, _ = str(error).replace("`", "").partition(" - at $")
            raise UserError(bad_value(type(config), reason, field.name, value)) from None


def bad_value(cls: type, reason: str, name: str, value: Any) -> str:
    """What is said of a field's value that will not do."""
    metadata = next(f.metadata for f in dataclasses.fields(cls) if f.name == name)
    flag = metadata.get("metavar", "--" + name.replace("_", "-"))
    return f"bad value for {cls.__name__}: {reason}, in field {name}, not {value!r} ({flag})"
