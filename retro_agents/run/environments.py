"""Separate virtual environments for packages that cannot be installed beside this project:
runs/peers/NAME holds the versions pinned in a file NAME.txt."""

import hashlib
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from retro_agents.ground.errors import UserError
from retro_agents.ground.requirements import IN_CHECKOUT, ROOT

CACHE = (ROOT if IN_CHECKOUT else Path.cwd()) / "runs" / "peers"


def python_of(file: Path, *, with_torch: bool = True) -> Path:
    """The Python of the environment that a file pins, which is made first if missing, outdated, or
    of another Python than this one.

    torch is this environment's build, found at TORCH_INDEX_URL if that is set.
    Raises UserError if it cannot be made, or if pip fails.
    """
    torch = [f"torch=={version('torch')}"] if with_torch else []
    stated = file.read_bytes() + "".join(torch).encode()
    wanted = hashlib.sha256(stated).hexdigest()
    folder = CACHE / file.stem
    python, stamp = folder / "bin" / "python", folder / "installed"
    own = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}"
    there = python.exists() and own.is_dir()  # not after an upgrade of the system's Python
    if there and stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making {folder}: this takes some minutes", file=sys.stderr)
    venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)]
    index = os.environ.get("TORCH_INDEX_URL")
    extra = ["--extra-index-url", index] if index else []
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *extra]
    # torch is installed first: it needs a newer setuptools than old packages are built with.
    steps: list[tuple[list[str], dict[str, str]]] = [(venv, {})]
    steps += [([*pip, *torch], {})] if torch else []
    steps += [([*pip, "--requirement", str(file)], {"PIP_CONSTRAINT": str(file)})]
    for words, pinned in steps:
        if subprocess.run(words, check=False, env={**os.environ, **pinned}).returncode:
            raise UserError(
                f"{folder} could not be made; see the output of venv or pip above, then try again"
            )
    stamp.write_text(wanted, encoding="utf-8")
    return python
