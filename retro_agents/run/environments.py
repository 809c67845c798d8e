"""Virtual environments of their own, for what cannot be installed beside this project:
runs/peers/NAME has what a file NAME.txt pins."""

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
    """The Python of the environment that a file pins, made first where it is missing or outdated.

    torch is the very build of this environment, found where TORCH_INDEX_URL says, if it is set.
    UserError: it could not be made, or pip could not install.
    """
    torch = [f"torch=={version('torch')}"] if with_torch else []
    stated = file.read_bytes() + "".join(torch).encode()
    wanted = hashlib.sha256(stated).hexdigest()
    folder = CACHE / file.stem
    python, stamp = folder / "bin" / "python", folder / "installed"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    print(f"making {folder}: this takes some minutes", file=sys.stderr)
    venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(folder)]
    index = os.environ.get("TORCH_INDEX_URL")
    extra = ["--extra-index-url", index] if index else []
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", *extra]
    # torch by itself: it wants another setuptools than what old packages are built with.
    steps: list[tuple[list[str], dict[str, str]]] = [(venv, {})]
    steps += [([*pip, *torch], {})] if torch else []
    steps += [([*pip, "--requirement", str(file)], {"PIP_CONSTRAINT": str(file)})]
    for words, pinned in steps:
        if subprocess.run(words, check=False, env={**os.environ, **pinned}).returncode:
            raise UserError(
                f"{folder} could not be made; what venv or pip said is above, then try again"
            )
    stamp.write_text(wanted, encoding="utf-8")
    return python
