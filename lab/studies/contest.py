"""The contest as a kind of a study: the agent and its judge in processes of their own.

python -m lab.studies.contest --levels bramble-test --timesteps 50000 -- --preset recovering

The episodes are the judge's; that which the end of the run cuts is left out. What each was for is
the agent's word, where it says so.
"""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from retro_agents.contest.match.agents import split_flags
from retro_agents.contest.match.folder import job_folders
from retro_agents.contest.run import main as run
from retro_agents.games.families import level_names
from retro_agents.ground.errors import command
from retro_agents.ground.ranges import Count, Seed
from retro_agents.judging.score import episode_columns
from retro_agents.run.config import parse_command
from retro_agents.run.metrics import EpisodeLog

TRAINING = "training"
"""An agent's run, in its job's folder."""


@dataclasses.dataclass(frozen=True)
class ContestConfig:
    """Play a contest with one seed. Flags after -- are the agent's own."""

    agent: str = "jerk"
    """As `retro_agents.contest.run` takes it."""
    levels: str = "bramble-test"
    """Splits and GAME:STATE with commas between, or a CSV with columns game,state."""
    timesteps: Count = 50_000
    """Agent steps on each level."""
    seed: Seed = 0
    """Of the contest."""
    backend: Literal["native", "emulator"] = "native"
    """What plays BrambleDash: its own code, or the emulator."""
    run_dir: Path = Path("runs/contest")
    """Its episodes.csv goes here, and the contest's folder."""


def played(job: Path) -> Iterator[dict[str, Any]]:
    """The judge's whole episodes of a job, each with what it was for."""
    judged, own = episode_columns(job), {}
    if (job / TRAINING / "episodes.csv").is_file():
        own = episode_columns(job / TRAINING)
    for row in range(len(judged.get("r", ()))):
        if judged["complete"][row]:
            kind = {"kind": str(own["kind"][row])} if "kind" in own else {}
            yield {name: values[row] for name, values in judged.items()} | kind


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play as the command line says, and gather the episodes."""
    own, flags = split_flags(sys.argv[1:] if argv is None else argv)
    config = parse_command(ContestConfig, own, command="python -m lab.studies.contest")
    out = config.run_dir / "contest"
    words = ["--agent", config.agent, "--levels", ",".join(level_names(config.levels))]
    words += ["--timesteps", str(config.timesteps), "--backend", config.backend, "--no-record"]
    words += ["--seeds", "1", "--first-seed", str(config.seed), "--out", str(out)]
    run([*words, "--", *flags])
    with EpisodeLog(config.run_dir) as log:
        for job in job_folders(out):
            for episode in played(job):
                log.log(episode["step"], 0, episode)


if __name__ == "__main__":
    main()
