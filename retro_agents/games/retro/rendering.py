"""Gymnasium's metadata about these environments' pictures."""

from typing import Any

METADATA: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 15}
