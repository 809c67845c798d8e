"""What an agent's config says of evaluation."""

from dataclasses import dataclass
from typing import Literal

from experiment.ranges import Count, Natural, check


@dataclass(frozen=True)
class EvaluationSettings:
    """Evaluation during a run (levels of Procgen)."""

    # What is played
    evaluate_every: Natural = 0
    """Agent steps between evaluations on training and test levels, which leave no trace in the run;
    0: none."""
    evaluate_episodes: Count = 32
    """Episodes of each game on either."""
    test_levels: Literal["auto", "unseen", "all"] = "auto"
    """Test levels that no training level can be, or all there are; auto: unseen, or all where
    training is on all."""

    def __post_init__(self) -> None:
        check(self)
