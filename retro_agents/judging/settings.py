"""What an agent's config says of evaluation."""

from dataclasses import dataclass
from typing import Literal

from retro_agents.contract.envs import EnvSettings
from retro_agents.contract.episodes import even_rows
from retro_agents.games.families import level_names, level_sets, of_procgen
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Count, Natural, check
from retro_agents.judging.sight import ROWS
from retro_agents.run.fields import report


@dataclass(frozen=True)
class EvaluationSettings:
    """Evaluation during a run, which leaves no trace in it."""

    evaluate_every: Natural = report(0, group="Evaluation", other_names=("test_worker_interval",))
    """Agent steps between evaluations on training and test levels (of Procgen); 0: none."""
    evaluate_episodes: Count = report(32, only_with="evaluate_every")
    """Episodes of each game on either."""
    test_levels: Literal["auto", "unseen", "all"] = report("auto", only_with="evaluate_every")
    """Test levels that no training level can be, or all there are; auto: unseen, or all where
    training is on all."""
    sight_every: Natural = report(0, "once", "contest")
    """Agent steps between tests of sight on the training levels: mean return by its own pictures
    (sight/seeing), by those of other moments (sight/shuffled) and by independent draws of its own
    action frequencies (sight/blind); 0: none."""
    sight_episodes: Count = report(48, only_with="sight_every")
    """Episodes of each of the three, on the levels in turn."""

    def check_log_every(self, log_every: int) -> None:
        """UserError: metrics are not written where something is to be in them."""
        for every in ("evaluate_every", "sight_every"):
            if getattr(self, every) % log_every:
                flag = "--" + every.replace("_", "-")
                raise UserError(f"{flag} must be a multiple of --log-every ({log_every})")

    def check_levels(self, levels: str, settings: EnvSettings) -> None:
        """UserError: an evaluation is asked for, and there is nothing to be judged on."""
        if self.evaluate_every:
            level_sets(levels, settings, test_levels=self.test_levels)
        if self.sight_every and of_procgen(levels):
            rows = even_rows(self.sight_episodes, most=ROWS)
            if rows < (games := len(level_names(levels))):
                raise UserError(
                    f"--sight-episodes {self.sight_episodes} are dealt out to {rows} environments, "
                    f"and {games} games need one each: give another number, such as 48"
                )

    def __post_init__(self) -> None:
        check(self)
        if even_rows(self.sight_episodes, most=ROWS) < 2:
            raise UserError(
                f"--sight-episodes {self.sight_episodes} cannot be dealt out evenly to 2 to {ROWS} "
                "environments: give another number, such as 48"
            )
