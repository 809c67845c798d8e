"""Files that are whole or not there, whenever their writer is killed."""

import json
import os
from pathlib import Path
from typing import Any

from experiment.errors import UserError


def replace_text(path: Path, text: str) -> None:
    """Let a file hold this text: written beside, synced, renamed. Errors: OSError."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def write_text(path: Path, text: str) -> None:
    """The same in a folder that is made if need be. Errors: UserError (it cannot be written)."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_text(path, text)
    except OSError as error:
        reason = error.strerror or str(error)
        raise UserError(f"cannot write {path}: {reason}; give a writable place") from None


def write_json(path: Path, content: Any) -> None:
    """The same as indented JSON; what JSON has no word for, as nan, is an error (ValueError)."""
    write_text(path, json.dumps(content, indent=2, allow_nan=False) + "\n")
