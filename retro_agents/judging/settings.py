"""The settings of evaluations while an agent learns."""

from dataclasses import dataclass

from retro_agents.contract.envs import EnvSettings
from retro_agents.contract.episodes import even_rows
from retro_agents.games.families import level_names, level_sets, of_procgen
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, check
from retro_agents.judging.sight import ROWS
from retro_agents.run.fields import flag_of, report


@dataclass(frozen=True)
class EvaluationSettings:
    """Evaluation during a run, which does not influence the run."""

    evaluate_every: Natural = report(
        0, "once", "contest", group="Evaluation", other_names=("test_worker_interval",)
    )
    """Agent steps between evaluations on training and test levels; 0: none."""
    evaluate_episodes: Count = report(32, group="Evaluation", only_with="evaluate_every")
    """Episodes on each set of levels in an evaluation, spread over the levels in their order; of
    Procgen, of each game."""
    test_levels: str = report("auto", group="Evaluation", only_with="evaluate_every")
    """Levels to test on besides, as for --levels; auto: none. Of Procgen, unseen (other seeds than
    in training), or all; auto: unseen, or all if training is on all."""
    sight_every: Natural = report(0, "once", "contest", group="Evaluation")
    """Agent steps between sight tests on the training levels; 0: none. A test writes the mean
    return on the agent's own frames (sight/seeing), on frames from other moments (sight/shuffled)
    and of actions drawn at its own frequencies (sight/blind)."""
    sight_episodes: Count = report(48, group="Evaluation", only_with="sight_every")
    """Episodes for each of a sight test's three ways to play, spread evenly over the levels."""

    def check_log_every(self, log_every: int) -> None:
        """Raises UserError if metrics are not logged at the steps at which they are computed."""
        for every in ("evaluate_every", "sight_every"):
            if getattr(self, every) % log_every:
                raise UserError(f"{flag_of(every)} must be a multiple of --log-every ({log_every})")

    def check_levels(self, levels: str, settings: EnvSettings) -> None:
        """Raises UserError if an evaluation is requested and has no levels to play."""
        if self.evaluate_every:
            level_sets(levels, settings, test_levels=self.test_levels)
        if self.sight_every and of_procgen(levels):
            rows = even_rows(self.sight_episodes, most=ROWS)
            if rows < (games := len(level_names(levels))):
                raise UserError(
                    f"--sight-episodes {self.sight_episodes} are divided among {rows} rows, "
                    f"and {games} games need one each: give another number, such as 48"
                )

    def __post_init__(self) -> None:
        check(self)
        if even_rows(self.sight_episodes, most=ROWS) < 2:
            raise UserError(
                f"--sight-episodes {self.sight_episodes} cannot be divided evenly among 2 to "
                f"{ROWS} environments: give another number, such as 48"
            )
