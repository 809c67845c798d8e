"""The competition entry's comparisons, made anew: what runs on Procgen earn, with where they come
from.

python -m lab.studies.entry PPO2=runs/table/ppo2-bigfish IMPALA=runs/table/impala-bigfish \
    --out lab/studies/results/entry/agents.json
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.games.procgen.games import parse_games
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.ranges import Natural
from retro_agents.ground.results import write_result
from retro_agents.ground.statistics import t_interval
from retro_agents.judging.procgen_table import evaluation, newest_evaluations, read_run
from retro_agents.run.config import parse_command, positional
from retro_agents.run.metrics import read_columns

LAST = 0.1
"""Part of a run's steps at whose end it is judged while it learns."""


@dataclass(frozen=True)
class EntryConfig:
    """Store what runs on one Procgen game each have earned."""

    runs: tuple[str, ...] = positional("LABEL=RUN")
    """A row's name, and a run folder or one of its evaluations."""
    until: Natural = 0
    """Judge runs by their first so many steps, and by no evaluation; 0: by all."""
    out: Path = Path("entry.json")
    """What to write."""


def rows(label: str, folder: Path, *, until: int = 0) -> list[dict[str, Any]]:
    """A run's row, or one for each game of an evaluation. UserError: the folder holds neither, the
    run is not on one Procgen game, or no episode has ended in time."""
    if (folder / "result.json").exists():
        result = evaluation(folder / "result.json")
        games = result["sets"].get("test", {})
        return [{"label": label, "game": game, **frozen(result, game)} for game in games]
    config, episodes = read_run(folder)
    games = parse_games(config["run"]["levels"])
    if len(games) != 1:
        raise UserError(f"{folder} is not on one Procgen game")
    rounds = read_columns(folder / "metrics.csv").get("step", np.zeros(0))
    steps = int(max((step for step in rounds if not until or step <= until), default=0))
    ended = episodes["step"]
    mine = episodes["r"][(ended > (1.0 - LAST) * steps) & (ended <= steps)]
    if len(mine) < 2:
        raise UserError(f"in {folder} too few episodes ended in the last tenth of its steps")
    row = {
        "label": label,
        "game": games[0],
        "seed": config["run"]["seed"],
        "env_steps": steps,
        "learning": float(mine.mean()),
        "learning_error": float(mine.std(ddof=1) / math.sqrt(len(mine))),
    }
    found = [] if until else newest_evaluations(folder)
    for result in sorted(found, key=lambda one: bool(one.get("sight"))):
        if games[0] in result["sets"].get("test", {}):
            row |= frozen(result, games[0])
    return [row]


def frozen(result: dict[str, Any], game: str) -> dict[str, Any]:
    """What an evaluation says of a game: the mean return, its 95 % interval over episodes, and
    where sight was tested the means by pictures of other moments and blind."""
    own = result["sets"]["test"][game]
    returns = own["returns"]
    told = {name: play["mean"] for name, play in own.get("sight", {}).items()}
    kept = {"frozen": own["mean"], "interval": list(t_interval(returns)), "episodes": len(returns)}
    return kept | told


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Store what the command line names."""
    config = parse_command(EntryConfig, argv, command="python -m lab.studies.entry")
    found = []
    for word in config.runs:
        label, given, folder = word.partition("=")
        if not (label and given and folder):
            raise UserError(f"{word}: expected LABEL=RUN, such as PPO2=runs/coinrun")
        found += rows(label, Path(folder), until=config.until)
    write_result(config.out, {"rows": found}, module="lab.studies.entry")
    print(config.out)


if __name__ == "__main__":
    main()
