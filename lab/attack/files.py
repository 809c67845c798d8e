"""Attacks with files that a user may be given: archives of ROMs, and configs."""

import io
import json
import random
import zipfile
from pathlib import Path

import yaml

from lab.attack.hostile import changed, harmed, one_line
from retro_agents.games.retro.rom_library import Library, import_files
from retro_agents.run.agents import AGENTS, find
from retro_agents.run.command_line import load_config
from retro_agents.run.config import flat, to_dict

NAMES = ("rom.md", "a\nb", "\x1b[2J", "x" * 300, "../../up", "\u202egnp.exe", "")


def archive(rng: random.Random, folder: Path) -> str:
    """Imports ROMs of a hostile archive: it must print lines, of printable characters alone, which
    cannot control a terminal."""
    data = rng.choice([b"", b"NES\x1a" + bytes(99), b"7z\xbc\xaf", rng.randbytes(9000)])
    for _ in range(rng.randrange(4)):
        packed = io.BytesIO()
        way = rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
        with zipfile.ZipFile(packed, "w", way) as opened:
            for number in range(rng.randrange(1, 4)):
                opened.writestr(f"{number}{rng.choice(NAMES)}", data)
        data = packed.getvalue()
    if rng.random() < 0.7:
        data = harmed(rng, data)
    if rng.random() < 0.3:  # a heading, padding, a copier's header
        rom = bytearray(rng.randbytes(0x8000))
        rom[0x100:0x104] = b"SEGA"
        data = harmed(rng, bytes(rng.choice([0, 512])) + bytes(rom) * rng.choice([1, 2]))
    (folder / "file").write_bytes(data)
    lines: list[str] = []
    library = Library(wanted={})
    failed = one_line(lambda: lines.extend(map(str, import_files(library, [folder]))))
    if failed:
        return failed
    return "" if lines and all(map(str.isprintable, lines)) else f"no line, or unprintable: {lines}"


def config(rng: random.Random, folder: Path) -> str:
    """Reads a hostile config: it must be accepted, or refused in one line."""
    package = find(rng.choice(AGENTS))
    values = flat(to_dict(package.Config()))
    for _ in range(rng.randrange(1, 4)):
        values = changed(rng, values)
    suffix = rng.choice([".yaml", ".json"])
    try:
        text = json.dumps(values) if suffix == ".json" else yaml.safe_dump(values)
    except (TypeError, ValueError, RecursionError, yaml.YAMLError):
        text = rng.choice(["[" * 9999, "a: &a [*a]", "{", "\0", "a: " + "[" * 2000, "- " * 3000])
    data = text.encode()
    path = folder / f"config{suffix}"
    path.write_bytes(harmed(rng, data) if rng.random() < 0.3 else data)
    words = ["--config", str(path)]
    return one_line(lambda: load_config(package.Config, words, presets=package.PRESETS, command=""))
