"""Types of a config's numbers by their range: `from_dict` and `load_config` refuse any other."""

from typing import Annotated

import msgspec

Count = Annotated[int, msgspec.Meta(ge=1)]
"""1, 2, …"""
Natural = Annotated[int, msgspec.Meta(ge=0)]
"""0, 1, 2, …; 0 mostly means never, or none."""
Positive = Annotated[float, msgspec.Meta(gt=0.0)]
"""Above 0."""
NonNegative = Annotated[float, msgspec.Meta(ge=0.0)]
"""0 or above."""
Share = Annotated[float, msgspec.Meta(ge=0.0, le=1.0)]
"""A part or a chance: from 0 to 1."""
