"""The frame of every training loop: how a run starts or resumes, what is due, and how it ends."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from math import isnan, nan
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Protocol, Self, final

from numpy.typing import NDArray

from retro_agents.contract.envs import VectorEnv, check_spec
from retro_agents.contract.policy import OnCheckpoint
from retro_agents.ground.errors import Damaged, Diverged, UserError
from retro_agents.ground.processes import announced, first_one_speaks
from retro_agents.run.checkpoint import Checkpoint, load_to_resume
from retro_agents.run.distrust import reading, set_aside
from retro_agents.run.diverged import check_metrics
from retro_agents.run.fields import NOTHING
from retro_agents.run.folder import Reports, interruptible, reports

EndedEpisode = tuple[int, int, dict[str, Any]]
"""The agent steps of the run by then, the number of the environment, and a dictionary for
`EpisodeLog`."""


class RunState(Protocol):
    """All that changes during a run, and how it is saved and restored. The `Training` of each agent
    is one."""

    name: ClassVar[str]
    """The agent's package."""
    config: Any
    agent: Any
    recent_returns: Sequence[float] = ()
    """Of the last hundred episodes."""
    rank: int = 0
    """The number of this process in a run of several; rank 0 writes the files."""
    size: int = 1
    """The number of processes."""

    def any(self, here: bool) -> bool:
        """Returns whether `here` is true in any process."""
        return here

    @property
    def env_steps(self) -> int:
        """The agent steps that all processes have taken."""

    @property
    def clock(self) -> int:
        """The unit of all intervals: agent steps that were learned from (ES: generations)."""
        return self.env_steps

    @property
    def checkpoint_every(self) -> int:
        """The interval between checkpoints."""
        return int(self.config.run.checkpoint_every)

    @property
    def learns_from(self) -> str:
        """What the first update needs, while it has not been made; otherwise ""."""
        return ""

    def start(self, init: Path | str | None, envs: Any) -> NDArray | None:
        """Starts a new run, from a checkpoint if one is given. Returns the first observations, or
        None if what plays resets the environments itself."""

    def restore(self, saved: Checkpoint, envs: Any) -> NDArray | None:
        """Restores the run from a checkpoint. Returns the observations to act on, or None as
        `start` does. Raises UserError if a run of this config cannot be resumed from it."""

    def save(self, run_dir: Path | str, envs: Any) -> None:
        """Writes a checkpoint for `restore`. Every process calls this."""


def restored(training: RunState, run_dir: Path | str, envs: Any) -> NDArray | None:
    """Restores a run from its newest checkpoint that holds what the agent saves. Returns and raises
    as `RunState.restore` does."""
    while True:
        saved = load_to_resume(run_dir)
        try:
            with reading(saved.folder):
                return training.restore(saved, envs)
        except Damaged as error:
            set_aside(error)


@final
class Run:
    """A run, started or resumed. As a context, it holds the run's folder and handles Ctrl-C.

    with Run(training, envs, run_dir, init) as run:
        while run.goes_on():
            ...  # play and learn
            run.after(episodes, values)

    At its end it saves the last checkpoint.
    """

    def __init__(
        self,
        training: RunState,
        envs: VectorEnv | None,
        run_dir: Path | str,
        init: Path | str | None = None,
        *,
        judge: Callable[["Run"], Mapping[str, float]] = lambda run: NOTHING,
        on_checkpoint: OnCheckpoint | None = None,
    ) -> None:
        """envs: None if actors in other processes play. run_dir: the folder for config, metrics,
        episodes and checkpoints; config.run.resume resumes the run in it. init: a checkpoint to
        start from. judge: returns the metrics of an evaluation that is due. on_checkpoint: called
        after each checkpoint, by rank 0."""
        self.training, self.envs, self.folder = training, envs, Path(run_dir)
        self.judge, self.on_checkpoint = judge, on_checkpoint
        with first_one_speaks():
            if training.size == 1 and announced() > 1:
                raise UserError(
                    f"WORLD_SIZE is {announced()}, but {training.name} trains in one process: "
                    "start it without torchrun, or unset WORLD_SIZE"
                )
        if envs is not None:
            check_spec(envs)
        resumes = training.config.run.resume
        if training.any(resumes) and not resumes:
            raise UserError(
                f"other processes of this run resume it, but {run_dir} holds no checkpoint here: "
                "give one folder that all machines share"
            )
        self.obs: Any = restored(training, run_dir, envs) if resumes else training.start(init, envs)
        """The first observations to act on, or None, see `RunState.start`."""
        self.saved_steps = -1
        """Agent steps of the last checkpoint that this process wrote."""
        self.clock = training.clock
        """The training's clock at the last call of `after`."""
        self.reports: Reports | None = None
        """None except in rank 0."""

    def __enter__(self) -> Self:
        training = self.training
        with ExitStack() as stack:
            if training.rank == 0:
                own = reports(
                    self.folder,
                    training.config,
                    training.name,
                    env_steps=training.env_steps,
                    learns_from=lambda: training.learns_from,
                    device=str(getattr(training.agent, "device", training.config.run.device)),
                    processes=training.size,
                )
                self.reports = stack.enter_context(own)
            stop = interruptible(self.folder, rank=training.rank)
            self.interrupted = stack.enter_context(stop)
            stack.push(self._end)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _end(self, _: Any, error: BaseException | None, __: Any) -> None:
        """Saves the last checkpoint, also if the actors are gone: what was learned is here."""
        gone = self.envs is None and isinstance(error, UserError)
        if error is None or (gone and not isinstance(error, Diverged)):
            if self.reports is not None:  # with the episodes since the last row of metrics
                found = {} if isnan(self.mean_return) else {"mean_return": self.mean_return}
                self.reports.progress.update(self.training.env_steps, found)
            self.save()

    @property
    def mean_return(self) -> float:
        """Of the last hundred episodes; nan before the first."""
        recent = self.training.recent_returns
        return fmean(recent) if recent else nan

    def goes_on(self) -> bool:
        """Returns whether agent steps are left and nobody has stopped the run."""
        left = self.training.env_steps < self.training.config.run.timesteps
        return left and not self.training.any(self.interrupted())

    def due(self, every: int) -> bool:
        """Returns whether the clock has reached or passed a multiple of `every` since the last call
        of `after`; never if `every` is 0."""
        return every > 0 and self.training.clock // every > self.clock // every

    def after(
        self,
        episodes: Iterable[EndedEpisode] = (),
        values: Mapping[str, float] = NOTHING,
        *,
        timing: Mapping[str, float] = NOTHING,
        **others: float,
    ) -> None:
        """Reports a step of the loop, and judges the agent and saves a checkpoint if these are due.

        values: metrics. If there are any, or the judge has some, they become a row. others: more
        numbers for it. timing: for timing.csv. Raises Diverged if a learning metric is not finite.
        """
        if self.reports is not None:
            for episode in episodes:
                self.reports.episodes.log(*episode)
            if row := {**values, **self.judge(self)}:
                steps = self.training.env_steps
                self.reports.metrics.log(steps, {**row, **others}, timing=timing)
                self.reports.progress.update(steps, row)
        check_metrics(values, self.folder / "checkpoints")
        if self.due(self.training.checkpoint_every):
            self.save()
        self.clock = self.training.clock

    def show(self, env_steps: int, doing: str = "") -> None:
        """Shows how far the run is, and in words what it is doing, between two calls of `after`."""
        if self.reports is not None:
            self.reports.progress.at(env_steps, doing)

    def save(self) -> None:
        """Saves a checkpoint, unless this step has one. A resumed run writes its own, even of the
        step that it was resumed from: its config may differ."""
        training = self.training
        if self.saved_steps == training.env_steps:
            return
        training.save(self.folder, self.envs)
        self.saved_steps = training.env_steps
        if self.on_checkpoint is not None and training.rank == 0:
            metrics = {"env_steps": training.env_steps, "mean_return": self.mean_return}
            self.on_checkpoint(self.folder, metrics)
