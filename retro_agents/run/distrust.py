"""What is done about a checkpoint that is damaged, or holds what its agent cannot use."""

import contextlib
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from retro_agents.ground.errors import Damaged, UserError, limit_of, missing_extra
from retro_agents.ground.files import complete_checkpoints, move_folder, unwritable
from retro_agents.run.manifest import damage

DAMAGED = ".damaged"
"""Suffix of the name of a checkpoint that was set aside."""


@contextlib.contextmanager
def reading(folder: Path) -> Iterator[None]:
    """Turns an agent's errors about a checkpoint's contents into Damaged: the checkpoint may come
    from anybody, with any contents under valid checksums. A lack of memory, or of an extra, becomes
    a UserError, because the checkpoint may be good."""
    try:
        yield
    except (UserError, NotImplementedError, OSError):
        raise
    except Exception as error:
        if limit := limit_of(error):
            raise UserError(f"{folder} cannot be used: {limit}") from None
        if missing := missing_extra(error):
            raise UserError(missing) from None
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        text = f"{folder} does not hold what its agent saves ({reason})"
        raise damage(text, folder) from error


def set_aside(error: Damaged) -> None:
    """Renames a damaged checkpoint, so that the one before it is the newest, and says so. Raises
    the error if there is none before it, or UserError if it cannot be renamed."""
    folder = error.folder
    if folder is not None and not folder.exists():
        return  # another process of the run set it aside
    reason = str(error).rpartition("; use ")[0]  # without what is done here
    if folder is None or len(there := complete_checkpoints(folder.parent)) < 2:
        raise damage(reason, folder) if folder and reason else error
    aside = folder.with_name(folder.name + DAMAGED)
    shutil.rmtree(aside, ignore_errors=True)
    try:
        move_folder(folder, aside)
    except FileNotFoundError:  # as above
        return
    except OSError as failed:
        raise unwritable(aside, failed) from None
    print(f"warning: {reason or error}; resuming from {there[-2].name}", file=sys.stderr)
