"""A run's folder: config.json, provenance.json, metrics.csv, episodes.csv, checkpoints/."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple, final

from retro_agents.ground.errors import Signalled, UserError
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
from retro_agents.run.provenance import program, recorded

RESUME = "resume it: --resume, and no --preset"
"""What else a user can do if a folder already holds a run."""
MORE = "give a larger --timesteps"
"""What a user can do about a run that has taken all its steps."""

LOCK = ".lock"
"""The file in a run's folder that `alone_on_all_hosts` locks."""
BUSY = (
    "another process writes to the run in {}: wait for its end, stop it, or give another --run-dir"
)


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

    def check_free(self, *, instead: str = RESUME, anew: bool = False) -> None:
        """Raises UserError if the folder already holds a run, or anything else of a user's. anew:
        unless the run has ended and saved no checkpoint, so that it can begin anew."""
        held = held_by(self.path)
        if held == "a run":
            if not self.has_checkpoint:
                # Otherwise it runs, and has saved nothing yet.
                file = (self.path / LOCK).exists()
                elsewhere = alone_on_all_hosts(self.path) if file else nullcontext()
                with alone_in(self.path), elsewhere:
                    if not self.has_checkpoint:  # nor while this waited
                        if anew:
                            return
                        instead = "delete this one, which saved no checkpoint"
            instead = "repeat the command" if anew else instead  # it has saved one meanwhile
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
        if "run" in values:  # these are about one start, and no settings
            run = values["run"]
            starts = dict.fromkeys({"resume", "auto_resume"} & run.keys(), False)
            values = {**values, "run": {**run, **starts}}
        write_json(self.path / "config.json", values)


class Reports(NamedTuple):
    """The files that a run writes, and its progress on the terminal."""

    metrics: Metrics
    episodes: EpisodeLog
    progress: Progress


@contextmanager
def alone_in(folder: Path, *, otherwise: str = "") -> Iterator[int]:
    """Keeps other processes of this machine from writing to a folder. Yields the lock's descriptor.
    Raises UserError if one does: `otherwise`, or what to do about a run."""
    with locked(os.open(folder, os.O_RDONLY), otherwise=otherwise or BUSY.format(folder)) as lock:
        yield lock


@contextmanager
def alone_on_all_hosts(folder: Path) -> Iterator[None]:
    """Keeps processes of other machines from writing to a run, as `alone_in` does here: NFS passes
    locks of files to its server, but not those of folders."""
    with writing(folder):
        lock = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o666)
    with locked(lock, otherwise=BUSY.format(folder)):
        yield


@contextmanager
def locked(descriptor: int, *, otherwise: str) -> Iterator[int]:
    """Locks what was opened, as `wait_for_lock` does, and closes it at the end."""
    try:
        wait_for_lock(descriptor, otherwise=otherwise)
        yield descriptor
    finally:
        os.close(descriptor)


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
    **where: Any,
) -> Iterator[Reports]:
    """Opens what a run writes: a new one, or one that is resumed after `env_steps`. Raises
    UserError as `RunFolder` does. learns_from: `RunState.learns_from`, asked at the end. where: it
    runs, for `recorded`."""
    path, new, anew = Path(run_dir), not config.run.resume, config.run.auto_resume
    RunFolder(path).check_free(anew=anew) if new else RunFolder.open(path)
    with ExitStack() as opened:
        with folder_for(path):
            opened.enter_context(alone_in(path))
            opened.enter_context(alone_on_all_hosts(path))
            new = new and not (anew and held_by(path))  # what saved nothing is resumed at step 0
            start = None if new else env_steps
            with all_or_nothing(path, path / LOCK) if new else nullcontext():
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
                opened.enter_context(recorded(path, name, env_steps=env_steps, **where))
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
    path: Path | str, *, rank: int = 0, hint: str = ""
) -> Iterator[Callable[[], bool]]:
    """Yields a function that says whether the loop should end and save a checkpoint: after Ctrl-C,
    SIGTERM (as from a cluster whose time is up) or SIGHUP (as from a terminal that is closed, which
    sends it twice). A Ctrl-C after that ends the run at once. When it has ended after a signal,
    Signalled says how to resume.

    rank: in a run of several processes only rank 0 reacts; the others ignore these signals and stop
    when rank 0 does. hint: what to do with the checkpoint if --resume does not apply to it.
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

    with handling(press, [signal.SIGINT, *ENDS]):
        try:
            yield lambda: bool(signals)
            if signals:
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            advice = f"{program()} --run-dir {quote(str(path))} --resume continues from the last "
            said = [hint or f"{advice}checkpoint"] * RunFolder(Path(path)).has_checkpoint
            number = signals[0] if signals else signal.SIGINT
            raise Signalled(*said, number=number) from None


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
