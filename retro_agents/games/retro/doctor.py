"""Check what is installed, which ROMs are imported, and what is missing.

Prints one line per fact; the exit code is 1 if something that every command needs is missing.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal

from filelock import lock_descriptor

from retro_agents.games.retro.integrations import file_of, games, is_native, rom_of
from retro_agents.games.retro.levels import parse_levels
from retro_agents.games.retro.splits import split_names
from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import EXTRAS, Parser, UserError, command, installs
from retro_agents.ground.files import unwritable
from retro_agents.ground.requirements import IN_CHECKOUT
from retro_agents.ground.results import installed
from retro_agents.ground.window import has_display

PACKAGES = {
    **dict.fromkeys(("gymnasium", "numpy", "wasmtime"), ""),
    **dict.fromkeys(("torch", "numba", "opencv-python-headless"), "agents"),
    "stable-retro": "retro",
}
"""Packages, and the extra that brings each."""
TRY_OUT = (
    "from retro_agents import make_env, EnvConfig; "
    "env = make_env('Airstriker-Genesis-v0:Level1', EnvConfig(scenario='scenario')); "
    "env.reset(); env.step(0); env.close()"
)
TRY_PROCGEN = (
    "from retro_agents.games.families import make, settings_class; levels = 'procgen:coinrun'; "
    "env = make(levels, settings_class({'levels': levels})(), num_envs=1); "
    "env.reset(); env.step([4])"
)


HIDES = "retro_agents.contest.leaderboard.confine:can_hide"
"""Whether an entry can be kept from files, as MODULE:NAME; imported on demand."""
DRIVER = Path("/proc/driver/nvidia/version")
"""Its first line names the version of NVIDIA's driver on Linux."""
Status = Literal["ok", "optional", "missing"]


@dataclass(frozen=True)
class Fact:
    """One line of the report. status: ok, missing but optional, or missing and required."""

    topic: str
    status: Status
    text: str


def package_facts() -> Iterator[Fact]:
    """Versions of the installed packages."""
    yield Fact("python", "ok", f"{platform.python_version()} on {platform.machine()}")
    where = sys.prefix if sys.prefix != sys.base_prefix else "none is active"
    yield Fact("venv", "ok" if sys.prefix != sys.base_prefix else "optional", where)
    for name, extra in PACKAGES.items():
        version = installed(name)
        text = f"{name} {version}" if version else f"{name}: run {installs(extra or 'all')}"
        otherwise: Status = "optional" if extra and not IN_CHECKOUT else "missing"
        yield Fact("package", "ok" if version else otherwise, text)


def lacks(module: str) -> str:
    """What brings a module of an extra; "" if it is there."""
    return "" if find_spec(module) else f"run {installs(EXTRAS[module])}"


def tried(topic: str, code: str, otherwise: Status, fine: str) -> Fact:
    """Runs code in a process of its own, to see whether an environment starts and steps. otherwise:
    the status if it does not; fine: the text if it does."""
    try:
        argv = [sys.executable, "-c", code]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return Fact(topic, otherwise, "does not answer within 60 s")
    if done.returncode == 0:
        return Fact(topic, "ok", fine)
    last = (done.stderr.strip().splitlines() or ["no message"])[-1].rpartition("Error: ")[2]
    return Fact(topic, otherwise, f"does not start: {last}")


def procgen_fact() -> Fact:
    """Whether the games of Procgen can be played."""
    if lacking := lacks("envpool"):
        return Fact("procgen", "optional", f"no games: {lacking}")
    return tried("procgen", TRY_PROCGEN, "optional", "16 games, on EnvPool")


def rom_fact() -> Fact:
    """The games that have a ROM."""
    there = sorted(game for game in games() if rom_of(game))
    return Fact("roms", "ok", ", ".join(there)) if there else Fact("roms", "missing", "none")


def split_fact(name: str) -> Fact:
    """The number of a split's playable levels, and the reason for the others."""
    try:
        levels = parse_levels(name)
    except UserError as error:
        return Fact("levels", "missing", f"{name}: {error}")
    played = {level.game for level in levels}
    without = sorted(game for game in played if not (rom_of(game) or is_native(game)))
    unscored = sorted({lv.game for lv in levels if not file_of(lv.game, "contest.json").exists()})
    playable = sum(level.game not in {*without, *unscored} for level in levels)
    text = f"{name}: {playable} of {len(levels)} playable"
    if without:
        those = without[0] if len(without) == 1 else f"{len(without)} games"
        text += f"; no ROM for {those}: `retro-agents import-roms DIR`"
    if unscored:
        text += f"; no contest scenario for {', '.join(unscored)}"
    if playable == len(levels):
        return Fact("levels", "ok", text)
    return Fact("levels", "missing" if name.startswith("bramble") else "optional", text)


def film_fact() -> Fact:
    """Whether films can be written."""
    if lacking := lacks("imageio_ffmpeg"):
        return Fact("ffmpeg", "optional", f"no films: {lacking}")
    try:
        import imageio_ffmpeg

        return Fact("ffmpeg", "ok", f"version {imageio_ffmpeg.get_ffmpeg_version()}")
    except (ImportError, OSError, RuntimeError, subprocess.SubprocessError) as error:
        return Fact("ffmpeg", "optional", f"no films: {error}")


def display_fact() -> Fact:
    """Whether a window can open."""
    if lacking := lacks("pygame"):
        return Fact("display", "optional", f"no window: {lacking}")
    if has_display():
        return Fact("display", "ok", "there: `retro-agents play` can open a window")
    return Fact("display", "optional", "none: all commands work but play and watch")


def isolation_fact() -> Fact:
    """Whether the leaderboard can score entries that nobody trusts."""
    if resolve_name(HIDES)():
        return Fact("isolation", "ok", "user namespaces keep leaderboard entries from files")
    advice = "as root, sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 may allow them"
    text = "no user namespaces, so `leaderboard score` needs --trust"
    return Fact("isolation", "optional", f"{text}; {advice}" if sys.platform == "linux" else text)


def folder_fact() -> Fact:
    """Whether runs can be written and locked in the current folder, and its free space."""
    try:
        here = Path.cwd()
        with tempfile.TemporaryDirectory(dir=here) as folder:
            lock = os.open(folder, os.O_RDONLY)
            try:
                locked = lock_descriptor(lock, blocking=False)
            except OSError:
                locked = False
            finally:
                os.close(lock)
    except OSError as error:
        return Fact("folder", "optional", f"{unwritable(Path(), error)}")
    free = f"{shutil.disk_usage(here).free / 2**30:,.1f} GiB free"
    if locked:
        return Fact("folder", "ok", f"{here} can be written and locked; {free}")
    text = f"{here} has no locks: let no two commands write to one run there; {free}"
    return Fact("folder", "optional", text)


def compute_facts() -> Iterator[Fact]:
    """Cores and accelerators."""
    yield Fact("cpu", "ok", f"{free_cores()} cores")
    for topic, module, what in (
        ("mpi", "mpi4py", "ES can train over processes"),
        ("ray", "ray", "actors, populations and sweeps over machines"),
    ):
        lacking = lacks(module)
        yield Fact(topic, "optional" if lacking else "ok", f"none: {lacking}" if lacking else what)
    try:
        import torch
    except (ImportError, OSError, ValueError) as error:  # it, or a library of CUDA's, is missing
        yield Fact("torch", "optional", f"no nets: {error}")
        return
    if torch.cuda.is_available():
        names = map(torch.cuda.get_device_name, range(torch.cuda.device_count()))
        yield Fact("cuda", "ok", f"{', '.join(names)}; PyTorch's CUDA is {torch.version.cuda}")
    else:
        built = f"is for CUDA {torch.version.cuda}" if torch.version.cuda else "has no CUDA"
        driver = DRIVER.read_text().partition("\n")[0] if DRIVER.exists() else "none from NVIDIA"
        why = f"PyTorch {built}; driver: {driver}"
        yield Fact("cuda", "optional", f"not available: training runs on the CPU ({why})")


def facts() -> list[Fact]:
    """All facts, in the order of the report."""
    lines, splits = [*package_facts()], split_names()
    if installed("stable-retro"):
        steps = "starts, and steps the game that stable-retro brings"
        lines += [tried("emulator", TRY_OUT, "missing", steps), rom_fact()]
    else:
        splits = [name for name in splits if name.startswith("bramble")]
    lines += [procgen_fact()]
    lines += [split_fact(name) for name in splits]
    return [*lines, display_fact(), film_fact(), folder_fact(), isolation_fact(), *compute_facts()]


@command
def main() -> None:
    """The command line."""
    parser = Parser(prog="retro-agents doctor", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON list instead of lines")
    arguments = parser.parse_args()
    report = facts()
    if arguments.json:
        print(json.dumps([asdict(fact) for fact in report], indent=1))
    else:
        for fact in report:
            print(f"{fact.status:9}{fact.topic:10}{fact.text}")
    if any(fact.status == "missing" for fact in report):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
