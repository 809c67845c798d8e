"""Checkpoints: one folder each, written as a draft and renamed, read without running its code.

checkpoints/step-000050000/
    meta.json            format, agent, counters, and size and SHA-256 of every other file
    config.json          the run's resolved config
    <group>.safetensors  tensors by name: weights, optimiser
    <name>.npy.zst       arrays: replay
    state.msgpack        everything else: states of random generators and emulators
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, final

import msgspec
import numpy as np

from retro_agents.ground.arrays import Rows, StoredArray, StoredArrays, describe, write_array
from retro_agents.ground.errors import Damaged, UserError
from retro_agents.ground.files import (
    ASIDE,
    CHECKPOINT,
    FULL,
    complete_checkpoints,
    move_folder,
    remove_folder,
    step_of,
    sync,
    sync_folder,
)
from retro_agents.run.agents import AGENTS, find, is_package, shipped
from retro_agents.run.config import flat, from_dict, to_dict
from retro_agents.run.diverged import diverged, not_finite
from retro_agents.run.fields import fields, flag_with
from retro_agents.run.settings import RunSettings

if TYPE_CHECKING:
    import torch

T = TypeVar("T")
FORMAT = "retro-contest-agents checkpoint"
VERSION = 1
DAMAGED = ".damaged"
TABLES = ("metrics.csv", "episodes.csv")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_FILE = re.compile(r"config\.json|state\.msgpack|[A-Za-z0-9_-]+\.(safetensors|npy\.zst)")


class _File(msgspec.Struct, omit_defaults=True):
    """A file's entry in meta.json; dtype and shape for arrays only."""

    size: int
    sha256: str
    dtype: str | None = None
    shape: list[int] | None = None


class _Meta(msgspec.Struct):
    format: str
    version: int
    agent: str
    counters: dict[str, int]
    files: dict[str, _File]
    tables: dict[str, int] = {}
    """Sizes of the run's tables in bytes at that time; later they only grow."""


@final
@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The contents of a checkpoint folder. `arrays` are read from disk on first use."""

    folder: Path
    agent: str
    config: dict[str, Any]
    counters: dict[str, int]
    tensors: dict[str, dict[str, torch.Tensor]]
    arrays: StoredArrays
    state: dict[str, Any]

    def of(self, agent: str) -> Checkpoint:
        """Itself. Raises UserError if another agent saved it."""
        if self.agent != agent:
            raise UserError(f"{self.folder} is a checkpoint of {self.agent!r}, not of {agent}")
        return self

    def config_as(self, cls: type[T]) -> T:
        """Its config. Raises UserError if another version saved it, with other fields."""
        try:
            return from_dict(cls, self.config)
        except UserError as error:
            reason = str(error).partition(";")[0]
            raise UserError(
                f"{self.folder} was saved by another version of {self.agent} ({reason}): use the "
                "version that saved it"
            ) from None

    def check_run(self, part: str) -> None:
        """Raises UserError if it lacks this part of a run, that is, if it holds an agent alone."""
        if part not in self.state and part not in self.tensors:
            raise UserError(f"{self.folder} is an agent alone, not a run: give it to --init")

    def check_same(self, config: Any) -> None:
        """Raises UserError if a run of that config cannot resume from it: fixed fields differ."""
        before, now = flat(self.config), flat(to_dict(config))
        for name in fields(config, "fixed", "switch"):
            theirs, ours = before[name], now[name]
            switched = name in fields(config, "fixed") or bool(theirs) != bool(ours)
            if theirs != ours and switched:
                raise UserError(
                    f"the saved run has {flag_with(name, theirs)}, not {ours}: resume with the "
                    "same, or start another with --init"
                )


def save_checkpoint(
    folder: Path | str,
    *,
    agent: str,
    config: Any,
    counters: Mapping[str, int] = MappingProxyType({"env_steps": 0}),
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    arrays: Mapping[str, Rows] | None = None,
    state: Mapping[str, Any] | None = None,
    keep: int = 2,
) -> Path:
    """Write a checkpoint into a run's `checkpoints` folder and return its folder.

    agent: the package whose `load` reads it. config: a dataclass or a dictionary.
    counters: must hold env_steps, which names the folder. state: anything that msgpack can hold.
    keep: how many checkpoints remain; older ones are deleted once this one is complete.
    Raises UserError if it cannot be written (a full disk), or if the folder holds a later step;
    what exists stays intact. Raises Diverged if a tensor is not finite.
    """
    folder = Path(folder)
    final_folder = folder / f"step-{counters['env_steps']:09d}"
    draft = folder / f".draft-{final_folder.name}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there, steps = complete_checkpoints(folder), counters["env_steps"]
        later = [path.name for path in there if step_of(path) > steps]
        if later:
            raise UserError(f"{folder} holds a later checkpoint, {later[-1]}; give another folder")
        for left_over in folder.glob(".draft-*"):  # from a run that was killed while saving
            shutil.rmtree(left_over)
        draft.mkdir()
        _write_files(draft, tensors=tensors, arrays=arrays or {}, state=state or {})
        _write_json(draft / "config.json", _kept_settings(config))
        files = {path.name: _synced(path) for path in sorted(draft.iterdir())}
        for name, rows in (arrays or {}).items():
            dtype, shape = describe(rows)
            files[f"{name}.npy.zst"].dtype, files[f"{name}.npy.zst"].shape = dtype.str, list(shape)
        whole = {name: int(count) for name, count in counters.items()}
        tables = [folder.parent / name for name in TABLES if folder.name == "checkpoints"]
        sizes = {path.name: path.stat().st_size for path in tables if path.is_file()}
        meta = _Meta(FORMAT, VERSION, agent, whole, files, sizes)
        _write_json(draft / "meta.json", msgspec.to_builtins(meta))
        _synced(draft / "meta.json")
        _publish(draft, final_folder)
    except OSError as error:
        advice = "free some space there, or " if error.errno in FULL else ""
        raise UserError(
            f"cannot save checkpoint {final_folder}: {error.strerror or error}; "
            f"{advice}save elsewhere (earlier checkpoints are intact)"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    _prune(folder, keep=keep)
    return final_folder


def _kept_settings(config: Any) -> dict[str, Any]:
    """The settings that a checkpoint keeps: all but the run's folder and whether it was resumed."""
    values = dict(config) if isinstance(config, dict) else to_dict(config)
    if "run" in values:
        place = fields(RunSettings, "launch", but="start")
        values["run"] = {name: v for name, v in values["run"].items() if name not in place}
    return values


def load_checkpoint(folder: Path | str) -> Checkpoint:
    """Read a checkpoint, given its folder or a run folder (whose latest one is read).

    Runs no code from it. Raises UserError if there is none, or if it is foreign, cut off or
    damaged.
    """
    folder = latest_checkpoint(folder)
    meta = _read_meta(folder)
    _check_sizes(folder, meta.files)
    tensors, arrays = {}, {}
    for name, facts in meta.files.items():
        path, stem = folder / name, name.split(".")[0]
        if name.endswith(".safetensors"):
            import safetensors.torch  # slow to import

            tensors[stem] = safetensors.torch.load(_read(path, facts))
            if part := not_finite(tensors[stem]):
                raise Damaged(
                    f"{path} holds numbers that are not finite ({part}): the learning that saved "
                    "it had diverged; use another checkpoint"
                )
        elif name.endswith(".npy.zst"):
            shape = tuple(facts.shape or ())
            arrays[stem] = StoredArray(path, np.dtype(facts.dtype), shape, facts.sha256)
    return Checkpoint(
        folder=folder,
        agent=meta.agent,
        config=json.loads(_read(folder / "config.json", meta.files["config.json"])),
        counters=meta.counters,
        tensors=tensors,
        arrays=StoredArrays(arrays),
        state=msgspec.msgpack.decode(_read(folder / "state.msgpack", meta.files["state.msgpack"])),
    )


def load_to_resume(run_dir: Path | str) -> Checkpoint:
    """A run's newest intact checkpoint. Newer ones that are damaged are set aside, with a warning
    on stderr, as for rows that the run's tables have lost.

    Raises UserError if there is none.
    """
    while True:
        folder = latest_checkpoint(run_dir)
        try:
            saved, meta = load_checkpoint(folder), _read_meta(folder)
            for name, facts in meta.files.items():
                if name.endswith(".npy.zst"):  # read later, in pieces
                    _read(folder / name, facts)
            break
        except Damaged as error:
            last = len(complete_checkpoints(folder.parent)) < 2
            if not folder.exists():
                continue  # another process of the run set it aside
            if last:
                raise
            aside = folder.with_name(folder.name + DAMAGED)
            shutil.rmtree(aside, ignore_errors=True)
            with contextlib.suppress(FileNotFoundError):  # as above
                move_folder(folder, aside)
            print(f"warning: {error}; resuming from the one before it", file=sys.stderr)
    for name, size in meta.tables.items():
        path = folder.parents[1] / name
        found = path.stat().st_size if path.is_file() else 0
        if found < size:
            lost = f"{path} is cut: {found} bytes, {size} expected"
            print(f"warning: {lost}; continuing without the missing rows", file=sys.stderr)
    return saved


def latest_checkpoint(path: Path | str) -> Path:
    """The checkpoint folder at `path`, or the latest one of the run folder at `path`, or the one
    that is shipped with the agent of that name.

    Raises UserError if there is none.
    """
    path = Path(path)
    if (path / "meta.json").is_file():
        return path
    for folder in (path / "checkpoints", path):
        complete = complete_checkpoints(folder)
        if complete:
            return complete[-1]
    if (own := shipped(str(path))) is not None:
        return latest_checkpoint(own)
    if (path / "config.json").is_file() and not CHECKPOINT.fullmatch(path.name):
        raise UserError(
            f"the run in {path} has saved no checkpoint: give one that has, or delete that folder "
            "and start the run again"
        )
    reason = "it is a file, not a folder" if path.exists() else "there is no such folder"
    if path.is_dir():
        reason = "it has neither meta.json nor checkpoints/step-…"
    if is_package(str(path)):
        reason = "that agent is shipped without weights"
    raise UserError(
        f"no checkpoint at {path}: {reason}; give a run or checkpoint folder, or the name of "
        f"an agent that is shipped with one ({', '.join(filter(shipped, AGENTS))})"
    )


def file_names(folder: Path) -> list[str]:
    """The names of a checkpoint's files, meta.json first. Raises UserError if it is foreign or
    damaged."""
    meta = _read_meta(folder)
    _check_names(folder, meta.files)
    return ["meta.json", *meta.files]


def agent_of(folder: Path | str) -> str:
    """The package that saved a checkpoint, or a run's latest. Raises UserError if none."""
    return _read_meta(latest_checkpoint(folder)).agent


def load_agent(folder: Path | str, *, device: str = "cpu") -> Any:
    """The agent saved in a checkpoint (or in a run's latest one), ready to `act`.

    Calls `load(folder, device=device)` of the package that the checkpoint names.
    Raises UserError if there is no such package or no intact checkpoint.
    """
    folder = latest_checkpoint(folder)
    try:
        package = find(agent_of(folder))
    except UserError as error:
        raise UserError(f"cannot load {folder}: {error}") from None
    return package.load(folder, device=device)


def _write_files(
    draft: Path,
    *,
    tensors: Mapping[str, Mapping[str, torch.Tensor]],
    arrays: Mapping[str, Rows],
    state: Mapping[str, Any],
) -> None:
    """Write all files but the two JSON files."""
    for name in (*tensors, *arrays):
        if not _NAME.fullmatch(name):
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


def _write_json(path: Path, values: Any) -> None:
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def _synced(path: Path) -> _File:
    """Force a file to disk -> its entry in meta.json."""
    with path.open("rb") as file:
        sync(file.fileno())
        return _File(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _publish(draft: Path, final_folder: Path) -> None:
    """Rename a complete draft, so that a kill at any moment leaves a whole checkpoint."""
    sync_folder(draft)
    if final_folder.exists():
        aside = final_folder.with_name(final_folder.name + ASIDE)
        shutil.rmtree(aside, ignore_errors=True)
        move_folder(final_folder, aside)
    draft.rename(final_folder)
    sync_folder(final_folder.parent)


def _prune(folder: Path, *, keep: int) -> None:
    complete = complete_checkpoints(folder)
    replaced = [path for path in complete if path.name.endswith(ASIDE)]
    kept = [path for path in complete if path not in replaced]
    for path in replaced + kept[: max(len(kept) - keep, 0)]:
        with contextlib.suppress(OSError):
            remove_folder(path)


def _read_meta(folder: Path) -> _Meta:
    try:
        data = (folder / "meta.json").read_bytes()
        found = json.loads(data)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise UserError(f"{folder} is not a checkpoint of this project (foreign meta.json)")
        if found.get("version") != VERSION:
            raise UserError(
                f"checkpoint {folder} has format version {found.get('version')}, "
                f"this program reads version {VERSION}; use the program that wrote it"
            )
        return msgspec.convert(found, _Meta)
    except (OSError, ValueError):
        raise Damaged(f"{folder / 'meta.json'} is damaged; use another checkpoint") from None


def _check_sizes(folder: Path, files: Mapping[str, _File]) -> None:
    _check_names(folder, files)
    for name in files:
        path = folder / name
        if not path.is_file():
            raise Damaged(f"checkpoint {folder} lacks its file {name!r}; use another checkpoint")
        size = path.stat().st_size
        if size != files[name].size:
            raise Damaged(
                f"checkpoint file {path} is cut off: {size} bytes, {files[name].size} expected; "
                "use another checkpoint"
            )


def _check_names(folder: Path, files: Mapping[str, _File]) -> None:
    for name in ("config.json", "state.msgpack"):
        if name not in files:
            raise Damaged(f"checkpoint {folder} lacks its file {name!r}; use another checkpoint")
    for name in files:
        if not _FILE.fullmatch(name):
            raise Damaged(f"checkpoint {folder} names a file {name!r}; use another checkpoint")


def _read(path: Path, facts: _File) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise Damaged(f"cannot read checkpoint file {path}: {error.strerror}") from None
    if hashlib.sha256(data).hexdigest() != facts.sha256:
        raise Damaged(f"checkpoint file {path} is damaged (checksum); use another checkpoint")
    return data
