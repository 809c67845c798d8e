"""A run's folder: config.json, provenance.json, metrics.csv, episodes.csv, checkpoints/."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, final

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import (
    all_or_nothing,
    complete_checkpoints,
    folder_for,
    held_by,
    make_folder,
    new_folder,
    step_of,
    wait_for_lock,
    write_json,
    writing,
)
from retro_agents.ground.processes import ENDS, handling
from retro_agents.ground.progress import Progress
from retro_agents.run.config import to_dict
from retro_agents.run.metrics import EpisodeLog, Metrics
from retro_agents.run.provenance import recorded

RESUME = "resume it: --resume, and no --preset"
"""What else a user can do if a folder already holds a run."""
MORE = "give a larger --timesteps"
"""What a user can do about a run that has taken all its steps."""


@final
class RunFolder:
    """Where one run keeps its files. `create` makes a new one, `open` opens one to resume."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, path: Path | str, config: Any, *, instead: str = RESUME) -> "RunFolder":
        """Makes the folder and writes config.json from a dataclass or a dictionary.

        instead: advice for a folder whose run can be resumed. Raises UserError if the folder cannot
        be written, or already holds a run; nothing is overwritten.
        """
        run = cls(Path(path))
        run.check_free(instead=instead)
        make_folder(run.checkpoints)
        run.write_config(config)
        return run

    def check_free(self, *, instead: str = RESUME) -> None:
        """Raises UserError if the folder already holds a run, or anything else of a user's."""
        held = held_by(self.path)
        if held == "a run":
            if not self.has_checkpoint:
                with alone_in(self.path):  # otherwise it runs, and has saved nothing yet
                    instead = "delete this one, which saved no checkpoint"
            raise UserError(
                f"run folder {self.path} already holds a run; give another --run-dir, or {instead}"
            )
        if held:
            raise UserError(f"{self.path} already holds {held}; give another --run-dir")

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """Opens a run to resume. Raises UserError if there is none, or it cannot be written."""
        run = cls(Path(path))
        if not (run.path / "config.json").is_file():
            raise UserError(
                f"{path} is not a run folder (no config.json); start one without --resume"
            )
        make_folder(run.checkpoints)
        make_folder(run.path)
        return run

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint to resume from."""
        return bool(complete_checkpoints(self.checkpoints))

    def check_newest(self, env_steps: int) -> None:
        """Raises UserError if another process has saved a checkpoint of a later step."""
        newest = max(map(step_of, complete_checkpoints(self.checkpoints)), default=0)
        if newest > env_steps:
            raise UserError(f"{self.path} has reached step {newest} meanwhile: repeat the command")

    def write_config(self, config: Any) -> None:
        """Writes a dataclass or a dictionary to config.json. Raises UserError if it cannot."""
        values = config if isinstance(config, dict) else to_dict(config)
        if "run" in values:  # --resume is about one start, and not a setting
            values = {**values, "run": {**values["run"], "resume": False}}
        write_json(self.path / "config.json", values)


class Reports(NamedTuple):
    """The files that a run writes, and its progress on the terminal."""

    metrics: Metrics
    episodes: EpisodeLog
    progress: Progress


@contextmanager
def alone_in(folder: Path, *, otherwise: str = "") -> Iterator[int]:
    """Keeps other processes from writing to a folder. Yields the lock's descriptor. Raises
    UserError if one does: `otherwise`, or what to do about a run."""
    busy = f"another process writes to the run in {folder}: wait for its end, stop it, "
    lock = os.open(folder, os.O_RDONLY)
    try:
        wait_for_lock(lock, otherwise=otherwise or f"{busy}or give another --run-dir")
        yield lock
    finally:
        os.close(lock)


@contextmanager
def claimed(folder: Path, *, made: bool = False) -> Iterator[None]:
    """Makes a folder for this process alone, as `folder_for` does. Raises UserError if it is not
    empty or not writable, or another process writes to it."""
    busy = f"another process writes to {folder}: give another --out"
    with folder_for(folder, made=made), alone_in(folder, otherwise=busy):
        new_folder(folder)
        yield


@contextmanager
def reports(
    run_dir: Path | str,
    config: Any,
    name: str,
    *,
    env_steps: int,
    learns_from: Callable[[], str] = str,
) -> Iterator[Reports]:
    """Opens what a run writes: a new one, or one that is resumed after `env_steps`. Raises
    UserError as `RunFolder` does. learns_from: `RunState.learns_from`, asked at the end."""
    path, new = Path(run_dir), not config.run.resume
    start = None if new else env_steps
    RunFolder(path).check_free() if new else RunFolder.open(path)
    with ExitStack() as opened:
        with folder_for(path):
            opened.enter_context(alone_in(path))
            with all_or_nothing(path) if new else nullcontext():
                folder = RunFolder.create(path, config) if new else RunFolder.open(path)
                folder.check_newest(env_steps)  # before the tables are cut to that
                episodes = opened.enter_context(EpisodeLog(path, resume_step=start))
                metrics = Metrics(
                    path,
                    resume_step=start,
                    track=config.run.track,
                    track_with=config.run.track_with,
                    config=to_dict(config),
                    rollout=episodes.rollout,
                )
                opened.enter_context(metrics)
                opened.enter_context(recorded(path, name, env_steps=env_steps))
        if not new:
            folder.write_config(config)
        with Progress(config.run.timesteps, name, start=env_steps) as progress:
            yield Reports(metrics, episodes, progress)
            remark = "no episode has ended yet; " if new and not episodes.rollout() else ""
            if needs := learns_from():
                remark = f"nothing was learned yet, as the first update needs {needs}: {MORE}; "
            elif env_steps >= config.run.timesteps > 0:
                remark = f"to train it further, {MORE}; "
    print(f"{name}: {remark}the run is in {path}", file=sys.stderr)


@contextmanager
def interruptible(
    path: Path | str, *, rank: int = 0, size: int = 1, hint: str = ""
) -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether the loop should end and save a checkpoint: after Ctrl-C,
    SIGTERM (as from a cluster whose time is up) or SIGHUP (as from a terminal that is closed, which
    sends it twice). A Ctrl-C after that ends the run at once. When it has ended after a signal, a
    KeyboardInterrupt says how to resume.

    rank, size: in a run of several processes only rank 0 reacts to Ctrl-C; the others ignore it and
    stop when rank 0 does. The other signals stop all of them at once, without a checkpoint. hint:
    what to do with the checkpoint if --resume does not apply to it.
    """
    signals: list[int] = []

    def press(number: int, _: object) -> None:
        if rank or (signals and number in ENDS):
            return
        if signals:
            raise KeyboardInterrupt
        signals.append(number)
        text = "\ninterrupted: saving a checkpoint (press again to stop at once)"
        with suppress(RuntimeError):  # the signal has interrupted a write to this very stream
            print(text, file=sys.stderr)

    with handling(press, [signal.SIGINT, *(ENDS if size == 1 else [])]):
        try:
            yield lambda: bool(signals)
            if signals:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            if not RunFolder(Path(path)).has_checkpoint:
                raise
            program = f"{sys.argv[0]} " if sys.argv[0].startswith("retro-agents ") else ""
            advice = f"{program}--run-dir {quote(str(path))} --resume"
            advice += " continues from the last checkpoint"
            raise KeyboardInterrupt(hint or advice) from None


def numbered_folder(parent: Path | str, name: str) -> Path:
    """Makes and returns the first free folder parent/name-001, -002, …; never an existing one."""
    parent = Path(parent)
    with writing(parent):
        parent.mkdir(parents=True, exist_ok=True)
        for number in range(1, 100_000):
            folder = parent / f"{name}-{number:03d}"
            with suppress(FileExistsError):
                folder.mkdir()
                return folder
    raise UserError(f"{parent} already holds 99999 folders {name}-NNN; give another folder")
