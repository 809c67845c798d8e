"""Vector environments: the contract that agents train on, and how one is made."""

import experiment  # noqa: F401  (says what is missing before anything else is imported)
from envs.contract import (
    EnvSettings,
    EnvSpec,
    Expert,
    VectorEnv,
    ended_episodes,
    row_seeds,
    saved_states,
)
from envs.families import (
    HELD_OUT,
    TRAINING,
    check_levels,
    env_settings,
    expert_of,
    level_names,
    levels_with,
    make,
    make_for,
    train,
)
from envs.settings import EvaluationSettings

__all__ = [
    "HELD_OUT",
    "TRAINING",
    "EnvSettings",
    "EnvSpec",
    "EvaluationSettings",
    "Expert",
    "VectorEnv",
    "check_levels",
    "ended_episodes",
    "env_settings",
    "expert_of",
    "level_names",
    "levels_with",
    "make",
    "make_for",
    "row_seeds",
    "saved_states",
    "train",
]
