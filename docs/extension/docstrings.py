"""Docstrings are plain text with `code` and indented pictures; autodoc expects reStructuredText."""

import re
from typing import Any


def as_rst(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Replace a docstring's lines by reStructuredText that shows the same."""
    found: list[str] = []
    for paragraph in "\n".join(lines).strip("\n").split("\n\n"):
        rows = paragraph.split("\n")
        if any(re.match(r"\s{2,}|[-+=|]{2}", row) for row in rows):
            found += ["::", "", *(f"   {row}" for row in rows), ""]
        else:
            found += [*map(inline, rows), ""]
    lines[:] = found


def without_ranges(
    app: Any,
    what: str,
    name: str,
    obj: Any,
    options: Any,
    signature: str | None,
    result: str | None,
) -> tuple[str, str | None] | None:
    """A signature in which a number's type leaves out its range, which the settings explain."""
    if signature is None:
        return None
    return re.sub(r"Annotated\[(\w+), msgspec\.Meta\([^)]*\)\]", r"\1", signature), result


def inline(row: str) -> str:
    """A line of prose; what stands in backticks is code."""
    parts = re.split(r"`([^`]+)`", row)
    return "".join(f"``{part}``" if i % 2 else escaped(part) for i, part in enumerate(parts))


def escaped(text: str) -> str:
    return re.sub(r"([*|\\]|_(?=\W|$))", r"\\\1", text)
