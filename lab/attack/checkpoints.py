"""Attacks on checkpoints: damages, forgeries with right checksums, full disks, kills."""

import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import tempfile
import time
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import msgspec
import numpy as np
import safetensors.numpy

from lab.attack.hostile import changed, harmed, one_line
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.run.agents import AGENTS
from retro_agents.run.checkpoint import (
    latest_checkpoint,
    load_agent,
    load_checkpoint,
    load_to_resume,
    save_checkpoint,
)

MADE = tempfile.TemporaryDirectory(prefix="attack-runs-")


def train(agent: str, folder: Path, *flags: str) -> None:
    """A tiny run of the tests."""
    with contextlib.redirect_stderr(io.StringIO()):
        resolve_name("tests.agents.tiny:train")(agent, folder, "--run-dir", folder, *flags)


@cache
def trained(agent: str) -> Path:
    """The folder of a tiny run, which nobody changes."""
    folder = Path(MADE.name) / agent
    train(agent, folder)
    return folder


def prey(rng: random.Random, folder: Path) -> tuple[str, Path]:
    """An agent, and a copy of its run."""
    agent = rng.choice(AGENTS)
    return agent, Path(shutil.copytree(trained(agent), folder / "run"))


def content(checkpoint: Path) -> dict[str, bytes]:
    """Every file of a checkpoint."""
    return {path.name: path.read_bytes() for path in sorted(checkpoint.iterdir())}


def resume(run: Path) -> Path:
    """What a run would be resumed from."""
    with contextlib.redirect_stderr(io.StringIO()):
        return load_to_resume(run).folder


def damage(rng: random.Random, folder: Path) -> str:
    """Changes files of the newest checkpoint: the one before it must be used, whole."""
    _, run = prey(rng, folder)
    older, newest = complete_checkpoints(run / "checkpoints")[-2:]
    before, good = content(newest), content(older)
    for _ in range(rng.choice([1, 1, 2])):
        path = newest / rng.choice(sorted(before))
        way = rng.randrange(10)
        if way == 0:
            path.unlink(missing_ok=True)
        elif way == 1 and (older / path.name).exists():
            shutil.copy(older / path.name, path)
        else:
            path.write_bytes(harmed(rng, path.read_bytes() if path.exists() else b""))
    same = content(newest) == before
    used = content(resume(run))
    return "" if used == good or (same and used == before) else "a damaged checkpoint was used"


UNWRITABLE = (TypeError, ValueError, RecursionError)
"""Errors of values that JSON or msgpack cannot hold, or only by a writer that nests deeper."""


def forge(rng: random.Random, folder: Path) -> str:
    """Changes what the newest checkpoint holds, under right checksums: loading and resuming it must
    succeed, or be refused in one line."""
    agent, run = prey(rng, folder)
    newest = latest_checkpoint(run)
    name = rng.choice([*sorted(path.name for path in newest.iterdir()), "state.msgpack"])
    forgery = resolve_name("tests.forged:forge")
    data = (newest / name).read_bytes()
    with contextlib.suppress(*UNWRITABLE):
        if name == "meta.json":
            resolve_name("tests.forged:forge_meta")(newest, **changed(rng, json.loads(data)))
        elif name.endswith(".json"):
            forgery(newest, name, json.dumps(changed(rng, json.loads(data))).encode())
        elif name.endswith(".msgpack"):
            state = changed(rng, msgspec.msgpack.decode(data))
            forgery(newest, name, msgspec.msgpack.encode(state))
        elif name.endswith(".safetensors"):
            forgery(newest, name, forged_tensors(rng, data))
        else:
            forgery(newest, name, harmed(rng, data))
    where = f"{agent}, {name}: "
    if failed := one_line(lambda: load_agent(newest)):
        return f"{where}load: {failed}"
    if failed := one_line(lambda: train(agent, run, "--resume")):
        return f"{where}resume: {failed}"
    return ""


def forged_tensors(rng: random.Random, data: bytes) -> bytes:
    """Tensors with one lost, renamed, reshaped, of another type, or not finite; or no tensors."""
    tensors: dict[str, Any] = dict(safetensors.numpy.load(data))
    if not tensors or rng.random() < 0.2:
        return harmed(rng, data)
    name = rng.choice(sorted(tensors))
    ways = (
        lambda t: t.reshape(-1),
        lambda t: np.zeros((0,), t.dtype),
        lambda t: np.concatenate([t.reshape(-1)] * 2),
        lambda t: t.astype(rng.choice(["int8", "float64", "float16", "bool"])),
        lambda t: np.full_like(t, rng.choice([np.nan, np.inf, 1e30])),
    )
    tensor = tensors.pop(name)
    if rng.random() < 0.8:
        with np.errstate(all="ignore"):
            tensors[rng.choice([name, name, "x"])] = rng.choice(ways)(tensor)
    return bytes(safetensors.numpy.save(tensors))


def fill_disk(rng: random.Random, folder: Path) -> str:
    """Saves where no file may become longer than some size: what was saved before stays."""
    _, run = prey(rng, folder)
    before = content(latest_checkpoint(run))
    saved = load_checkpoint(run)
    noise = np.frombuffer(rng.randbytes(rng.randrange(1, 100_000)), np.uint8)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (rng.randrange(1, 30_000), limits[1]))
    try:
        save_checkpoint(
            run / "checkpoints",
            agent=saved.agent,
            config=saved.config,
            counters={"env_steps": saved.counters["env_steps"] + rng.randrange(2)},
            tensors=saved.tensors,
            arrays={"noise": noise},
        )
    except UserError as error:
        if "File too large" not in str(error):
            return str(error)
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        return "" if content(resume(run)) == before else "what was saved before is gone"
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    found = load_checkpoint(run).arrays["noise"]
    return "" if np.array_equal(found, noise) else "other arrays were saved than given"


def kill(rng: random.Random, folder: Path) -> str:
    """Kills a process that saves one checkpoint after another: the last one that it reported as
    saved, or a later one, must be there and whole."""
    noise = np.frombuffer(rng.randbytes(1_000_000), np.uint8)
    said, says = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            for step in range(1, 1_000_000):
                counters = {"env_steps": step // rng.choice([1, 2])}
                save_checkpoint(
                    folder / "run", agent="x", config={}, counters=counters, tensors={},
                    arrays={"noise": noise}, keep=rng.randrange(1, 4),
                )  # fmt: skip
                os.write(says, counters["env_steps"].to_bytes(8, "big"))
        os._exit(1)
    os.close(says)
    first = os.read(said, 8)
    time.sleep(rng.random() * 0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    rest = os.read(said, 1 << 16)
    os.close(said)
    told = int(np.frombuffer(first + rest, ">u8").max())
    saved = load_checkpoint(folder / "run")
    if saved.counters["env_steps"] < told or not np.array_equal(saved.arrays["noise"], noise):
        return f"step {told} was saved, {saved.counters} is there"
    return ""
