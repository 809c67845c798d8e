"""A run's folder: config.json, metrics.csv, episodes.csv, checkpoints/."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, final

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import (
    complete_checkpoints,
    make_folder,
    step_of,
    unwritable,
    wait_for_lock,
    write_json,
)
from retro_agents.ground.progress import Progress
from retro_agents.run.config import to_dict
from retro_agents.run.metrics import EpisodeLog, Metrics

RESUME = "resume it: --resume, and no --preset"
"""What else can be done where a folder already holds a run."""


@final
class RunFolder:
    """Where one run keeps its files. Make one with `create`, or go on in one with `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"

    @classmethod
    def create(cls, path: Path | str, config: Any, *, instead: str = RESUME) -> "RunFolder":
        """Make the folder and write config.json (of a dataclass or a dictionary).

        instead: said of a run that is there and can be resumed. Raises UserError if the folder
        cannot be written, or already holds a run (nothing is overwritten).
        """
        run = cls(Path(path))
        run.check_free(instead=instead)
        make_folder(run.checkpoints)
        run.write_config(config)
        return run

    def check_free(self, *, instead: str = RESUME) -> None:
        """Raise UserError if the folder already holds a run."""
        if (self.path / "config.json").exists() or (self.path / "metrics.csv").exists():
            if not self.has_checkpoint:
                instead = "delete this one, which saved no checkpoint"
            raise UserError(
                f"run folder {self.path} already holds a run; give another --run-dir, or {instead}"
            )

    @classmethod
    def open(cls, path: Path | str) -> "RunFolder":
        """A run that exists. Raises UserError if there is none, or it cannot be written."""
        run = cls(Path(path))
        if (run.path / "meta.json").is_file():
            raise UserError(f"{path} is a checkpoint: give its run's folder to --run-dir")
        if not (run.path / "config.json").is_file():
            raise UserError(
                f"{path} is not a run folder (no config.json); start one without --resume"
            )
        make_folder(run.checkpoints)
        make_folder(run.path)
        return run

    @property
    def has_checkpoint(self) -> bool:
        """Whether there is something to go on from."""
        return bool(complete_checkpoints(self.checkpoints))

    def check_newest(self, env_steps: int) -> None:
        """Raise UserError if somebody has saved a later checkpoint than the one resumed from."""
        later = [
            path for path in complete_checkpoints(self.checkpoints) if step_of(path) > env_steps
        ]
        if later:
            raise UserError(
                f"{self.path} has reached {later[-1].name} meanwhile: repeat the command"
            )

    def write_config(self, config: Any) -> None:
        """Write a dataclass or a dictionary into config.json, as a run starts or resumes.

        Raises UserError if it cannot be written.
        """
        values = config if isinstance(config, dict) else to_dict(config)
        if "run" in values:  # resume is said of one start, and no setting
            values = {**values, "run": {**values["run"], "resume": False}}
        write_json(self.path / "config.json", values)


class Reports(NamedTuple):
    """What a run writes and shows."""

    folder: RunFolder
    metrics: Metrics
    episodes: EpisodeLog
    progress: Progress


@contextmanager
def alone_in(folder: Path, *, otherwise: str = "") -> Iterator[None]:
    """Keep other processes from writing to a run. Raises UserError if one does; otherwise: its
    text."""
    held = os.open(folder, os.O_RDONLY)
    try:
        wait_for_lock(
            held,
            otherwise=otherwise
            or f"another process writes to the run in {folder}: wait for its end, stop it, "
            "or give another --run-dir",
        )
        yield
    finally:
        os.close(held)


@contextmanager
def reports(run_dir: Path | str, config: Any, name: str, *, env_steps: int) -> Iterator[Reports]:
    """The folder of a run that starts, or resumes after `env_steps`. Errors are RunFolder's."""
    resume, timesteps = config.run.resume, config.run.timesteps
    path, start = Path(run_dir), env_steps if resume else None
    if resume:
        RunFolder.open(path)
    else:
        RunFolder(path).check_free()
        make_folder(path)
    with alone_in(path):
        folder = RunFolder.open(path) if resume else RunFolder.create(path, config)
        folder.check_newest(env_steps)  # before the tables are cut to that
        with (
            EpisodeLog(folder.path, resume_step=start) as episodes,
            Metrics(
                folder.path,
                resume_step=start,
                track=config.run.track,
                config=to_dict(config),
                rollout=episodes.rollout,
            ) as metrics,
            Progress(timesteps, name, start=env_steps) as progress,
        ):
            if resume:
                folder.write_config(config)
            yield Reports(folder, metrics, episodes, progress)
            nothing = "" if resume or episodes.rollout() else "no episode has ended yet; "
    print(f"{name}: {nothing}the run is in {folder.path}", file=sys.stderr)


@contextmanager
def interruptible(
    path: Path | str, *, rank: int = 0, size: int = 1, hint: str = ""
) -> Iterator[Callable[[], bool]]:
    """-> whether Ctrl-C was pressed, or SIGTERM came, as from a cluster whose time is up: then the
    run's loop is to end and to save a checkpoint. The second time it ends the run at once.

    rank, size: of a run of many processes the first one is told so, and the others, which are deaf
    to it, end as that one does. SIGTERM ends all of them at once.

    hint: of what to do with the checkpoint, where --resume does not go on from it.
    Raises KeyboardInterrupt in the end, which says how to resume the run.
    """
    pressed: list[int] = []

    def press(number: int, _: object) -> None:
        if rank:
            return
        if pressed:
            raise KeyboardInterrupt
        pressed.append(number)
        print("\ninterrupted: saving a checkpoint (press again to stop at once)", file=sys.stderr)

    usual: dict[int, Any] = {
        signal.SIGINT: signal.default_int_handler,
        signal.SIGTERM: signal.SIG_DFL,
    }
    told: list[int] = list(usual) if size == 1 else [signal.SIGINT]
    if threading.current_thread() is not threading.main_thread():
        told = []
    told = [number for number in told if signal.getsignal(number) is usual[number]]
    for number in told:
        signal.signal(number, press)
    try:
        yield lambda: bool(pressed)
        if pressed:
            raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not RunFolder(Path(path)).has_checkpoint:
            raise
        resumes = f"--run-dir {quote(str(path))} --resume resumes from the last checkpoint"
        raise KeyboardInterrupt(hint or resumes) from None
    finally:
        for number in told:
            signal.signal(number, usual[number])


def numbered_folder(parent: Path | str, name: str) -> Path:
    """Make and return the first free folder parent/name-001, -002, …; never an existing one."""
    parent = Path(parent)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        for number in range(1, 100_000):
            folder = parent / f"{name}-{number:03d}"
            with suppress(FileExistsError):
                folder.mkdir()
                return folder
    except OSError as error:
        raise unwritable(parent, error) from None
    raise UserError(f"{parent} already holds 99999 folders {name}-NNN; give another folder")
