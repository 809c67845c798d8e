"""A checkpoint's folder while it is written: its files, and how it takes its place."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from retro_agents.ground.arrays import Rows, write_array
from retro_agents.ground.files import (
    ASIDE,
    complete_checkpoints,
    move_folder,
    remove_folder,
    sync_folder,
)
from retro_agents.run.config import to_dict
from retro_agents.run.diverged import diverged, not_finite
from retro_agents.run.fields import fields
from retro_agents.run.settings import RunSettings

if TYPE_CHECKING:
    import torch

NAME = re.compile(r"[A-Za-z0-9_-]+")
"""Names of groups of tensors, and of arrays."""


def kept_settings(config: Any) -> dict[str, Any]:
    """The settings that a checkpoint keeps: all but the run's folder and whether it was resumed."""
    values = dict(config) if isinstance(config, dict) else to_dict(config)
    if "run" in values:
        place = fields(RunSettings, "launch", but="start")
        values["run"] = {name: v for name, v in values["run"].items() if name not in place}
    return values


def write_files(
    draft: Path,
    *,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    arrays: Mapping[str, Rows],
    state: Mapping[str, Any],
) -> None:
    """Write all files but the two JSON files."""
    for name in (*tensors, *arrays):
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot name a file: letters, digits, - and _ only")
    for name, group in tensors.items():
        import safetensors.torch  # slow to import

        # Copies: safetensors refuses tensors that share memory or are not contiguous.
        plain = {key: t.detach().cpu().contiguous().clone() for key, t in group.items()}
        if part := not_finite(plain):
            raise diverged(f"{name} holds numbers that are not finite ({part})", draft.parent)
        (draft / f"{name}.safetensors").write_bytes(safetensors.torch.save(plain))
    for name, rows in arrays.items():
        with (draft / f"{name}.npy.zst").open("wb") as file:
            write_array(rows, file)
    (draft / "state.msgpack").write_bytes(msgspec.msgpack.encode(dict(state)))


def publish(draft: Path, final_folder: Path) -> None:
    """Rename a complete draft, so that a kill at any moment leaves a whole checkpoint."""
    sync_folder(draft)
    if final_folder.exists():
        aside = final_folder.with_name(final_folder.name + ASIDE)
        shutil.rmtree(aside, ignore_errors=True)
        move_folder(final_folder, aside)
    draft.rename(final_folder)
    sync_folder(final_folder.parent)


def prune(folder: Path, *, keep: int) -> None:
    """Remove all complete checkpoints but the newest `keep`, and those that were replaced."""
    complete = complete_checkpoints(folder)
    replaced = [path for path in complete if path.name.endswith(ASIDE)]
    kept = [path for path in complete if path not in replaced]
    for path in replaced + kept[: max(len(kept) - keep, 0)]:
        with contextlib.suppress(OSError):
            remove_folder(path)
