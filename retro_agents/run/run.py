"""The frame of every training loop: how a run starts or resumes, what is due, and how it ends."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from math import nan
from pathlib import Path
from statistics import fmean
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, final

from numpy.typing import NDArray

from retro_agents.contract.envs import VectorEnv
from retro_agents.contract.policy import OnCheckpoint
from retro_agents.ground.errors import UserError
from retro_agents.run.folder import Reports, interruptible, reports

EndedEpisode = tuple[int, int, dict[str, Any]]
"""Agent steps of the run when it ended, the number of its environment, and what `EpisodeLog` takes
of it."""
NOTHING: Mapping[str, float] = MappingProxyType({})


class RunState(Protocol):
    """All that changes during a run, and how it is saved and restored: what the `Training` of each
    agent is."""

    name: ClassVar[str]
    """The agent's package."""
    config: Any
    agent: Any
    recent_returns: Sequence[float] = ()
    """Of the last hundred episodes."""
    rank: int = 0
    """Of this process, among those that carry out the run together; the first one writes."""
    size: int = 1
    """How many they are."""

    def any(self, here: bool) -> bool:
        """Whether it is true in any process."""
        return here

    @property
    def env_steps(self) -> int:
        """Agent steps taken, of all processes."""

    @property
    def clock(self) -> int:
        """What intervals are measured by: agent steps that were learned from (of ES:
        generations)."""
        return self.env_steps

    @property
    def checkpoint_every(self) -> int:
        """Of the clock, between checkpoints."""
        return int(self.config.run.checkpoint_every)

    def start(self, init: Path | str | None, envs: Any) -> NDArray | None:
        """Begin a new run, from a checkpoint if one is given -> the first observations; None where
        what plays resets its environments itself."""

    def restore(self, run_dir: Path | str, envs: Any) -> NDArray | None:
        """Become what the run's last checkpoint holds -> the observations to act on; None as in
        `start`. Raises UserError if a run of this config cannot resume from it."""

    def save(self, run_dir: Path | str, envs: Any) -> None:
        """Write a checkpoint from which `restore` resumes exactly. Every process calls this."""


@final
class Run:
    """A run: made, it has started or resumed; entered, it owns its folder and hears Ctrl-C.

    with Run(training, envs, run_dir, init) as run:
        while run.goes_on():
            ...  # play and learn
            run.after(episodes, values)

    At the end it saves the last checkpoint.
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
        """envs: None where actors elsewhere play. run_dir: where config, metrics, episodes and
        checkpoints go; with config.run.resume the run that is there is resumed. init: a checkpoint
        to start from. judge: gives metrics of an evaluation that is due. on_checkpoint: called by
        the first process after each checkpoint."""
        self.training, self.envs, self.folder = training, envs, Path(run_dir)
        self.judge, self.on_checkpoint = judge, on_checkpoint
        resumes = training.config.run.resume
        self.obs: Any = training.restore(run_dir, envs) if resumes else training.start(init, envs)
        """The observations to act on first; None where what plays has its own."""
        self.saved_steps = training.env_steps if resumes else None
        """Agent steps of the last checkpoint."""
        self.clock = training.clock
        """The training's, when `after` was called last."""
        self.reports: Reports | None = None
        """Of the first process alone."""

    def __enter__(self) -> Self:
        training = self.training
        with ExitStack() as stack:
            if training.rank == 0:
                steps = training.env_steps
                own = reports(self.folder, training.config, training.name, env_steps=steps)
                self.reports = stack.enter_context(own)
            stop = interruptible(self.folder, rank=training.rank, size=training.size)
            self.interrupted = stack.enter_context(stop)
            stack.push(self._end)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def _end(self, _: Any, error: BaseException | None, __: Any) -> None:
        """Save the last checkpoint; also where the actors are gone: what was learned is here."""
        if error is None or (self.envs is None and isinstance(error, UserError)):
            if self.reports is not None:
                self.reports.progress.update(self.training.env_steps)
            self.save()

    def goes_on(self) -> bool:
        """Whether agent steps are left, and nobody has asked the run to stop."""
        left = self.training.env_steps < self.training.config.run.timesteps
        return left and not self.training.any(self.interrupted())

    def due(self, every: int) -> bool:
        """Whether the training's clock has reached or passed a multiple of `every` since `after`
        was called last; never where `every` is 0."""
        return every > 0 and self.training.clock // every > self.clock // every

    def after(
        self,
        episodes: Iterable[EndedEpisode] = (),
        values: Mapping[str, float] = NOTHING,
        *,
        timing: Mapping[str, float] = NOTHING,
        **others: float,
    ) -> None:
        """Report what was played and learned; judge the agent and save a checkpoint where due.

        values: metrics; with those of the judge a row, if there are any. others: for that row too.
        timing: for timing.csv.
        """
        if self.reports is not None:
            for episode in episodes:
                self.reports.episodes.log(*episode)
            if row := {**values, **self.judge(self)}:
                steps = self.training.env_steps
                self.reports.metrics.log(steps, {**row, **others}, timing=timing)
                self.reports.progress.update(steps, row)
        if self.due(self.training.checkpoint_every):
            self.save()
        self.clock = self.training.clock

    def show(self, env_steps: int) -> None:
        """Show how far the run is, between two calls of `after`."""
        if self.reports is not None:
            self.reports.progress.at(env_steps)

    def save(self) -> None:
        """Save a checkpoint, unless the last one is of this very step."""
        training = self.training
        if self.saved_steps == training.env_steps:
            return
        training.save(self.folder, self.envs)
        self.saved_steps = training.env_steps
        if self.on_checkpoint is not None and training.rank == 0:
            recent = training.recent_returns
            mean = fmean(recent) if recent else nan
            self.on_checkpoint(self.folder, {"env_steps": training.env_steps, "mean_return": mean})
