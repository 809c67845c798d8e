"""meta.json of a checkpoint: what its folder holds, under checksums, its own included."""

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from retro_agents.ground.arrays import Rows, describe
from retro_agents.ground.errors import Damaged, UserError, limit_of
from retro_agents.ground.files import complete_checkpoints, sync

NAME = "meta.json"
FORMAT = "retro-contest-agents checkpoint"
VERSION = 2
MOST_BYTES = 1 << 20
"""Largest meta.json that is read; one has about a kilobyte."""
FILE = re.compile(r"config\.json|state\.msgpack|[A-Za-z0-9_-]+\.(safetensors|npy\.zst)")
"""Names of the files that a checkpoint may hold, besides meta.json."""
CHECKSUM = re.compile(rb'(?<="checksum": ")[0-9a-f]{64}(?=")')

Whole = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class File(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True):
    """A file's entry; dtype and shape for arrays only."""

    size: Whole
    sha256: Sha256
    dtype: Annotated[str, Meta(pattern="^[<>|=][biufcSUV][0-9]+$")] | None = None
    shape: Annotated[list[Whole], Meta(max_length=16)] | None = None


class Head(msgspec.Struct):
    """What every version of meta.json begins with."""

    format: str
    version: int


class Manifest(Head, forbid_unknown_fields=True):
    """The content of meta.json."""

    agent: Annotated[str, Meta(max_length=200)]
    counters: Annotated[dict[str, Whole], Meta(max_length=1000)]
    files: Annotated[dict[str, File], Meta(max_length=1000)]
    tables: Annotated[dict[str, Whole], Meta(max_length=100)] = {}
    """Sizes of the run's tables in bytes at that time; later they only grow."""
    checksum: str = ""
    """The SHA-256 of this file without it."""


def damage(text: str, folder: Path) -> Damaged:
    """The error for a damaged checkpoint, with what to use instead of it."""
    there = complete_checkpoints(folder.parent)
    before = there[: there.index(folder)] if folder in there else []
    only = there == [folder] and folder.parent.name == "checkpoints"
    other = "another run: this one has no other checkpoint" if only else "another checkpoint"
    instead = f"the one before it, {before[-1]}" if before else other
    return Damaged(f"{text}; use {instead}", folder)


def checksum(data: bytes) -> bytes:
    """The checksum of meta.json's bytes, whichever they hold."""
    return hashlib.sha256(CHECKSUM.sub(b"", data)).hexdigest().encode()


def write_manifest(
    folder: Path,
    *,
    agent: str,
    counters: Mapping[str, int],
    arrays: Mapping[str, Rows],
    tables: Mapping[str, int],
) -> None:
    """Writes meta.json of a folder whose other files are complete, and forces all to the disk."""
    files = {path.name: entry(path) for path in sorted(folder.iterdir())}
    for name, rows in arrays.items():
        dtype, shape = describe(rows)
        files[f"{name}.npy.zst"].dtype, files[f"{name}.npy.zst"].shape = dtype.str, list(shape)
    whole = {name: int(count) for name, count in counters.items()}
    manifest = Manifest(FORMAT, VERSION, agent, whole, files, dict(tables), "0" * 64)
    write_json(folder / NAME, msgspec.to_builtins(manifest))
    insert_checksum(folder / NAME)
    entry(folder / NAME)  # forces it to the disk


def insert_checksum(path: Path) -> None:
    """Writes the checksum into a meta.json."""
    data = path.read_bytes()
    path.write_bytes(CHECKSUM.sub(checksum(data), data))


def write_json(path: Path, values: Any) -> None:
    """Writes indented JSON into a draft."""
    path.write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")


def entry(path: Path) -> File:
    """Forces a file to the disk. Returns its entry."""
    with path.open("rb") as file:
        sync(file.fileno())
        return File(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def read_manifest(folder: Path) -> Manifest:
    """Reads and checks meta.json. Raises UserError if it is foreign or may not be opened, and
    Damaged if it is damaged or names files that no checkpoint has."""
    path = folder / NAME
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        found = CHECKSUM.search(data)
        if len(data) > MOST_BYTES or found is None or found[0] != checksum(data):
            raise ValueError("checksum")
        head = msgspec.json.decode(data, type=Head)
        if head.format != FORMAT:
            raise UserError(f"{folder} is not a checkpoint of this project (foreign {NAME})")
        if head.version != VERSION:
            raise UserError(
                f"checkpoint {folder} has format version {head.version}, this program reads "
                f"version {VERSION}; use the program that wrote it"
            )
        manifest = msgspec.json.decode(data, type=Manifest)
    except (OSError, ValueError, RecursionError) as error:
        if limit := limit_of(error):
            raise UserError(f"{path} cannot be read: {limit}") from None
        raise damage(f"{path} is damaged, or not this project's", folder) from None
    check(folder, manifest)
    return manifest


def check(folder: Path, manifest: Manifest) -> None:
    """Raises Damaged unless a manifest names what every checkpoint has, and nothing else."""
    if "env_steps" not in manifest.counters:
        raise damage(f"checkpoint {folder} counts no env_steps", folder)
    for name in ("config.json", "state.msgpack"):
        if name not in manifest.files:
            raise damage(f"checkpoint {folder} lacks its file {name!r}", folder)
    for name, facts in manifest.files.items():
        array = name.endswith(".npy.zst")
        described = facts.dtype is not None and facts.shape is not None
        if not FILE.fullmatch(name) or described != array:
            raise damage(f"meta.json of checkpoint {folder} has a bad entry for {name!r}", folder)


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Raises Damaged if a file is missing, or has another size."""
    for name, facts in manifest.files.items():
        path = folder / name
        if not path.is_file():
            raise damage(f"checkpoint {folder} lacks its file {name!r}", folder)
        if (size := path.stat().st_size) != facts.size:
            text = f"checkpoint file {path} is cut off: {size} bytes, {facts.size} expected"
            raise damage(text, folder)


def read_bytes(folder: Path, name: str, manifest: Manifest) -> bytes:
    """The content of a file. Raises UserError if it may not be opened, and Damaged if it cannot be
    read, or was changed."""
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError as error:
        if limit := limit_of(error):
            raise UserError(f"{path} cannot be read: {limit}") from None
        raise Damaged(f"cannot read checkpoint file {path}: {error.strerror}", folder) from None
    if hashlib.sha256(data).hexdigest() != manifest.files[name].sha256:
        raise damage(f"checkpoint file {path} is damaged (checksum)", folder)
    return data
