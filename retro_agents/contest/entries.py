"""The entries of a comparison: contests, evaluations and runs, and their scores."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from retro_agents.contest.match.folder import facts_of, read_facts
from retro_agents.contest.match.scores import ContestScores, read_scores
from retro_agents.contest.stored import (
    Evaluation,
    read_evaluation,
    read_stored,
    shipped,
    stored_file,
    there,
)
from retro_agents.games.procgen.games import GAMES
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints, folders_of, step_of, why_no_run
from retro_agents.ground.names import nearest_text
from retro_agents.ground.results import read_result
from retro_agents.ground.statistics import Runs
from retro_agents.judging.score import episode_columns
from retro_agents.run.agents import is_package
from retro_agents.run.agents import shipped as shipped_agent
from retro_agents.run.config import read_file


def runs_of(entry: str, *, last: float = 1.0) -> Runs:
    """The scores of an entry: level -> seed -> mean return; of Procgen, a game and its mode count
    as a level. last: the share of a run's steps whose episodes count. Raises UserError if it has
    none."""
    contest = contest_of(entry)
    evaluations = [] if contest else evaluations_of(entry)
    if last < 1.0 and (contest or evaluations):
        raise UserError(f"--last counts episodes of runs, and {entry} is no run: leave out --last")
    if contest:
        return {row.level: row.by_seed for row in contest.levels}
    if len(evaluations) == 1:
        return evaluations[0].episodes
    if evaluations:
        numbered = enumerate(evaluations)
        return joined([(n if one.seed is None else one.seed, one.means) for n, one in numbered])
    runs: list[tuple[int, Mapping[str, float]]] = []
    for place, folder in enumerate(map(Path, folders_of(entry))):
        if not there(folder / "episodes.csv"):
            if "," in entry:
                only = "join only runs, or only evaluations, by commas"
                raise UserError(f"{entry}: {folder} is not a run; {only}")
            near = (why_no_run(folder) if folder.exists() else "") or nearest_text(entry, shipped())
            if is_package(entry):
                agent = entry if shipped_agent(entry) else "RUN"
                near = f"it is an agent: compare what `retro-agents evaluate {agent}` stores"
            raise UserError(f"there is no contest, run or evaluation {folder}; {near}")
        config = read_file(folder / "config.json", what=str(folder / "config.json"))
        seed = config.get("seed")  # a damaged file tells none
        means = means_of(folder, mode=str(config.get("distribution_mode", "")), last=last)
        runs.append((seed if isinstance(seed, int) else place, means))
    return joined(runs)


def means_of(folder: Path, *, mode: str, last: float) -> dict[str, float]:
    """Level -> the mean return of a run's episodes. mode, last: see `runs_of`. Raises UserError if
    none has ended, or their table is damaged."""
    columns, returns = episode_columns(folder), dict[str, list[float]]()
    if not columns:
        raise UserError(f"{folder}: no episode has ended; let it play longer")
    try:
        rows = [*zip(columns["step"], columns["level"], map(float, columns["r"]), strict=True)]
    except (KeyError, ValueError):
        need = "expected a column level, and a column r of numbers"
        raise UserError(f"{folder}/episodes.csv is damaged: {need}") from None
    first = (1.0 - last) * columns["step"].max() if last < 1.0 else -math.inf
    for _, level, r in (row for row in rows if row[0] > first):
        game = str(level).partition(":")[0]  # of Procgen, whose levels hardly recur
        name = f"{game} {mode}".strip() if game in GAMES else str(level)
        returns.setdefault(name, []).append(r)
    return {level: math.fsum(values) / len(values) for level, values in returns.items()}


def joined(runs: Sequence[tuple[int, Mapping[str, float]]]) -> Runs:
    """Level -> seed -> mean return, from each run's seed and means. A run that is given again is
    one seed, and one whose seed has played some of its levels is another."""
    found: dict[str, dict[int, float]] = {}
    for place, (seed, means) in enumerate(runs):
        if (seed, means) in runs[:place]:
            continue
        own = -1 - place if any(seed in found.get(level, {}) for level in means) else seed
        for level, mean in means.items():
            found.setdefault(level, {})[own] = mean
    return found


def evaluations_of(entry: str) -> list[Evaluation]:
    """The evaluations that an entry joins; none if it has others. Raises UserError if they are no
    seeds of one entry."""
    files = [evaluation_of(one) for one in folders_of(entry)]
    found = [read_evaluation(file) for file in files if file]
    if not found or len(found) < len(files):
        return []
    for place, one in enumerate(found[1:], 1):
        if one.who and one.who in {other.who for other in found[:place]}:
            what = "is of the same agent as another one"
            raise UserError(f"{files[place]} {what}: join evaluations of different runs by commas")
        if one.alike != found[0].alike:
            what = "has other levels, numbers of episodes or ways to play than"
            raise UserError(f"{files[place]} {what} {files[0]}; join like ones by commas")
    return found


def evaluation_of(entry: str) -> Path | None:
    """The result.json of an evaluation, which an entry names or whose folder it is; else None."""
    path = Path(entry)
    if there(path / "result.json") and not there(path / "episodes.csv"):
        return path / "result.json"
    found = read_result(path) if path.suffix == ".json" and there(path) else {}
    return path if {"returns", "sets"} & found.keys() else None


def contest_of(entry: str) -> ContestScores | None:
    """The scores of a contest's folder or stored result; None if the entry is neither."""
    found = known_contest(entry)
    return found[1] if found else None


def known_contest(entry: str) -> tuple[dict[str, Any], ContestScores] | None:
    """Who played a contest, and its scores, see `contest_of`. A folder of a stored result's name is
    meant only if it has scores of its own."""
    if there(path := Path(entry) / "contest.json"):
        who = read_facts(path.parent)
        return who, read_scores(path.parent, planned=facts_of(who, path).planned)
    own = evaluation_of(entry) or there(Path(entry) / "episodes.csv")
    stored = None if own else stored_file(entry)
    return read_stored(stored) if stored else None


def incomplete_of(labels: Mapping[str, str]) -> list[str]:
    """The labels of contests of which runs did not play all their steps. labels: label -> entry."""
    contests = {label: contest_of(entry) for label, entry in labels.items()}
    return [label for label, one in contests.items() if one and one.shortfall]


def single_of(labels: Mapping[str, str]) -> dict[str, str]:
    """Of what the seeds are, by the labels of which an entry is the play of one agent that does not
    learn: an evaluation, or a frozen agent's contest. labels: label -> entry."""
    found: dict[str, str] = {}
    for label, entry in labels.items():
        if contest := known_contest(entry):
            found |= {label: "seeds"} if contest[0].get("mode") == "frozen" else {}
        elif len(evaluations_of(entry)) == 1:
            found[label] = "episodes"
    return found


def budgets(entry: str) -> list[tuple[int, int]]:
    """Of each run of an entry: the steps of its newest checkpoint, and those that it was to have.
    One without a checkpoint counts as whole."""
    found = []
    for folder in map(Path, folders_of(entry)):
        if there(folder / "episodes.csv") and there(config := folder / "config.json"):
            steps = read_file(config, what=str(config)).get("timesteps")
            whole = steps if isinstance(steps, int) else 0  # a damaged file tells none
            saved = complete_checkpoints(folder / "checkpoints")
            found.append((step_of(saved[-1]) if saved else whole, whole))
    return found
