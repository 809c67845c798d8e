"""What a replay takes over from another run's checkpoint, and whether it may."""

from typing import Any

from envs.contract import EnvSettings
from experience.episodes import check_played_alike, episodes_of
from experience.replay import Replay
from experiment.checkpoint import Checkpoint
from experiment.config import flat
from experiment.errors import UserError


def check_made_alike(saved: Checkpoint, ours: EnvSettings, *, instead: str, **also: Any) -> None:
    """UserError: transitions of a checkpoint were made otherwise than this run makes them.

    also: further fields that must be alike, with this run's values. instead: what else to do.
    """
    made, spec = flat(saved.config), ours.spec()
    if "frame_skip" in made:  # Procgen's settings have none
        also["frame_skip"] = spec.frame_skip
    for name, value in {**spec.rewards, **also}.items():
        theirs = made[name]
        if theirs != value:
            flag = name.replace("_", "-")
            give = f"--{flag} {theirs}"
            if isinstance(theirs, bool):
                give = f"--{flag}" if theirs else f"--no-{flag}"
            raise UserError(
                f"{saved.folder} remembers transitions of {name} {theirs}, this run makes them "
                f"of {value}; give {give}, or {instead}"
            )


def seed_replay(replay: Replay, saved: Checkpoint, count: int, *, ours: EnvSettings) -> int:
    """Put the newest `count` transitions of a checkpoint into a replay that is empty -> how many.

    They are those of its recorded episodes, else of its replay; none where it has neither.
    UserError: they were made otherwise than this run makes them, or do not fit.
    """
    episodes, spec = episodes_of(saved), ours.spec()
    check_played_alike(
        episodes,
        action_names=spec.action_names,
        frame_skip=spec.frame_skip,
        source=saved.folder,
    )
    try:
        if count and episodes:
            return replay.seed_episodes(episodes, count, ours.learning_rewards)
        if count and "frames" in saved.arrays:
            check_made_alike(saved, ours, instead="--init-replay 0 for the weights alone")
            return replay.seed(saved.arrays, count)
    except ValueError as error:
        raise UserError(f"cannot seed the replay from {saved.folder}: {error}") from None
    return 0
