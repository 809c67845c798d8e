"""Checkpoints: one folder each, written as a draft and renamed, read without running its code.

checkpoints/step-000050000/
    meta.json            format, agent, counters, and size and SHA-256 of every other file
    config.json          the run's resolved config
    <group>.safetensors  tensors by name: weights, optimiser
    <name>.npy.zst       arrays: replay
    state.msgpack        everything else: states of random generators and emulators
"""

from __future__ import annotations

import dataclasses
import functools
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

from retro_agents.ground.arrays import Rows, StoredArray, StoredArrays
from retro_agents.ground.errors import Damaged, UserError, limit_of
from retro_agents.ground.files import CHECKPOINT, FULL, complete_checkpoints, step_of, why_no_run
from retro_agents.ground.names import nearest
from retro_agents.run.agents import AGENTS, find, is_package, shipped
from retro_agents.run.config import flat, from_dict, to_dict
from retro_agents.run.distrust import reading, set_aside
from retro_agents.run.diverged import not_finite
from retro_agents.run.draft import kept_settings, prune, publish, write_files
from retro_agents.run.fields import fields, flag_with
from retro_agents.run.manifest import (
    NAME,
    check_sizes,
    damage,
    read_bytes,
    read_manifest,
    write_json,
    write_manifest,
)

if TYPE_CHECKING:
    import torch

    from retro_agents.contract.policy import Agent

T = TypeVar("T")
TABLES = ("metrics.csv", "episodes.csv")
NO_AGENT = "episodes"
"""The agent's name in a folder that holds only recorded episodes."""


@final
@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The contents of a checkpoint folder. `arrays` are read from disk at each access."""

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

    def state_as(self, cls: type[T]) -> T:
        """The part of its state that a msgspec.Struct names. Raises Damaged if it has other
        types."""
        try:
            return msgspec.convert(self.state, cls)
        except msgspec.ValidationError as error:
            text = f"{self.folder} does not hold what its agent saves ({error})"
            raise damage(text, self.folder) from None

    def check_run(self, part: str) -> None:
        """Raises Damaged if it lacks this part of a run, that is, if it holds an agent alone."""
        if part not in self.state and part not in self.tensors:
            text = f"{self.folder} is an agent alone, not a run: give it to --init"
            raise Damaged(text, self.folder)

    def check_arrays(self) -> None:
        """Raises Damaged if the file of an array is damaged, which `load_checkpoint` leaves to the
        time when the array is read."""
        for name in self.arrays:
            next(self.arrays.pieces(name), None)  # its first piece: after the file's checksum

    def setting(self, name: str) -> Any:
        """A value of its config. Raises UserError if another version saved it, without that."""
        values = flat(self.config)
        if values and name not in values:
            raise UserError(
                f"{self.folder} was saved by another version of {self.agent} (without "
                f"{name!r}): use the version that saved it"
            )
        return values[name]

    def check_same(self, config: Any) -> None:
        """Raises UserError if a run of that config cannot resume from it: fixed fields differ."""
        now = flat(to_dict(config))
        for name in fields(config, "fixed", "switch"):
            theirs, ours = self.setting(name), now[name]
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
        if later := [path.name for path in there if step_of(path) > steps]:
            raise UserError(f"{folder} holds a later checkpoint, {later[-1]}; give another folder")
        for left_over in folder.glob(".draft-*"):  # from a run that was killed while saving
            shutil.rmtree(left_over)
        draft.mkdir()
        write_files(draft, tensors=tensors, arrays=arrays or {}, state=state or {})
        write_json(draft / "config.json", kept_settings(config))
        tables = [folder.parent / name for name in TABLES if folder.name == "checkpoints"]
        write_manifest(
            draft,
            agent=agent,
            counters=counters,
            arrays=arrays or {},
            tables={path.name: path.stat().st_size for path in tables if path.is_file()},
        )
        publish(draft, final_folder)
    except OSError as error:
        advice = "free some space there, or " if error.errno in FULL else ""
        raise UserError(
            f"cannot save checkpoint {final_folder}: {error.strerror or error}; "
            f"{advice}save elsewhere (earlier checkpoints are intact)"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    prune(folder, keep=keep)
    return final_folder


def load_checkpoint(folder: Path | str) -> Checkpoint:
    """Read a checkpoint, given its folder or a run folder (whose latest one is read).

    Runs no code from it. Raises UserError if there is none, or if it is foreign, cut off or
    damaged.
    """
    folder = latest_checkpoint(folder)
    manifest = read_manifest(folder)
    check_sizes(folder, manifest)
    read = functools.partial(read_bytes, folder, manifest=manifest)
    tensors, arrays = {}, {}
    for name, facts in manifest.files.items():
        path, stem = folder / name, name.split(".")[0]
        if name.endswith(".safetensors"):
            tensors[stem] = _tensors(path, read(name))
        elif facts.dtype is not None:
            shape = tuple(facts.shape or ())
            with reading(folder):  # NumPy may have no such dtype
                arrays[stem] = StoredArray(path, np.dtype(facts.dtype), shape, facts.sha256)
    try:
        config = msgspec.convert(json.loads(read("config.json")), dict[str, Any])
        state = msgspec.msgpack.decode(read("state.msgpack"), type=dict[str, Any])
    except (ValueError, RecursionError, MemoryError):
        text = f"config.json or state.msgpack in {folder} is not what a checkpoint holds"
        raise damage(text, folder) from None
    whole = StoredArrays(arrays)
    return Checkpoint(folder, manifest.agent, config, manifest.counters, tensors, whole, state)


def _tensors(path: Path, data: bytes) -> dict[str, torch.Tensor]:
    """The tensors in a .safetensors file's bytes. Raises Damaged if there are none, or if one is
    not finite."""
    import safetensors.torch  # slow to import

    try:
        found: dict[str, torch.Tensor] = safetensors.torch.load(data)
    except Exception as error:  # the library has several kinds, and others of Python's
        if limit := limit_of(error):
            raise UserError(f"{path} cannot be read: {limit}") from None
        reason = str(error).partition("\n")[0]
        raise damage(f"{path} holds no tensors ({reason})", path.parent) from None
    if part := not_finite(found):
        raise damage(
            f"{path} holds numbers that are not finite ({part}): the learning that saved it had "
            "diverged",
            path.parent,
        )
    return found


def load_to_resume(run_dir: Path | str) -> Checkpoint:
    """A run's newest intact checkpoint. Newer ones that are damaged are set aside. Warns on stderr
    of these, and of rows that the run's tables have lost.

    Raises UserError if there is none.
    """
    if (Path(run_dir) / NAME).is_file():
        raise UserError(f"{run_dir} is a checkpoint: give its run's folder to --run-dir")
    if not any((Path(run_dir) / name).exists() for name in ("config.json", "checkpoints")):
        path = Path(run_dir)
        close = nearest(path.name, [one.parent.name for one in path.parent.glob("*/checkpoints")])
        meant = f"did you mean {path.with_name(close)}? Or " if close else ""
        raise UserError(
            f"there is no run in {run_dir} to resume: {meant}leave out --resume to begin one"
        )
    while True:
        try:
            saved = load_checkpoint(run_dir)
            meta = read_manifest(saved.folder)
            saved.check_arrays()
            break
        except Damaged as error:
            set_aside(error)
    for name in TABLES:
        path, size = saved.folder.parents[1] / name, meta.tables.get(name, 0)
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
        if complete := complete_checkpoints(folder):
            return complete[-1]
    if (own := shipped(str(path))) is not None:
        return latest_checkpoint(own)
    if (path / "config.json").is_file() and not CHECKPOINT.fullmatch(path.name):
        raise UserError(
            f"the run in {path} has saved no checkpoint: give one that has, or wait for its first; "
            "if it has ended, delete that folder and start the run again"
        )
    reason = why_no_run(path) or "it has neither meta.json nor checkpoints/step-…"
    if is_package(str(path)):
        reason = "that agent is shipped without weights"
    if re.fullmatch(r"[\w.]+:[A-Za-z_]\w*", str(path)) and not path.exists():
        reason = "only `retro-agents contest run` plays a function, and levels go to --levels"
    named = [agent for agent in AGENTS if shipped(agent)]
    meant = nearest(str(path), named)
    raise UserError(
        f"no checkpoint at {path}: {reason}; "
        + (f"did you mean {meant!r}? Or " if meant else "")
        + "give a run or checkpoint folder, or the name of "
        f"an agent that is shipped with one ({', '.join(named)})"
    )


def file_names(folder: Path) -> list[str]:
    """The names of a checkpoint's files, meta.json first. Raises UserError if it is foreign or
    damaged."""
    return [NAME, *read_manifest(folder).files]


def agent_of(folder: Path | str) -> str:
    """The package that saved a checkpoint, or a run's latest. Raises UserError if none."""
    return read_manifest(latest_checkpoint(folder)).agent


def load_agent(folder: Path | str, *, device: str = "cpu") -> Agent:
    """The agent saved in a checkpoint (or in a run's latest one), ready to `act`.

    Calls `load(folder, device=device)` of the package that the checkpoint names. device: cpu, cuda,
    cuda:N or auto. Raises UserError if there is no such package, device or intact checkpoint.
    """
    folder = latest_checkpoint(folder)
    try:
        if (name := agent_of(folder)) == NO_AGENT:
            raise UserError("it holds recorded episodes; give an agent that learned from them")
        package = find(name)
    except UserError as error:
        raise UserError(f"cannot load {folder}: {error}") from None
    if device != "cpu":
        from retro_agents.ground.device import prepare_device  # torch takes seconds to import

        device = str(prepare_device(device))  # that there is none is no fault of the checkpoint
    with reading(folder):
        return package.load(folder, device=device)
