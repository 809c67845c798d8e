"""Results as files: those shipped with the project, any contest's, and an evaluation's."""

from pathlib import Path
from typing import Annotated, Any

import msgspec

from retro_agents.contest.match.scores import ContestScores, Played, scores_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Finite
from retro_agents.ground.results import read_result

RESULTS = Path(__file__).parent / "results"
"""Results of contests that are shipped with the project."""


class _Missing(msgspec.Struct):
    level: str
    seed: int


class _Result(msgspec.Struct):
    agent: dict[str, Any]
    jobs: list[dict[str, Any]]
    missing: list[_Missing] = []


class _Evaluation(msgspec.Struct):
    seed: int
    returns: dict[str, Annotated[list[Finite], msgspec.Meta(min_length=1)]]


def shipped() -> list[str]:
    """The names of the shipped results."""
    return sorted(file.stem for file in RESULTS.glob("*.json"))


def stored_file(name: str) -> Path | None:
    """The file of a stored result, given by its path or its shipped name; None if it is none."""
    path = Path(name)
    if path.suffix != ".json":
        return RESULTS / f"{name}.json" if name in shipped() else None
    return path if path.is_file() else None


def read_stored(path: Path) -> tuple[dict[str, Any], ContestScores]:
    """Who played, and the scores, from a contest's result.json. Raises UserError if it is none."""
    expected = "give the result.json of a contest"
    try:
        result = msgspec.convert(read_result(path, expected=expected), _Result)
        own = {"folder": str(path)}
        played = [msgspec.convert({**job, **own}, Played) for job in result.jobs]
    except msgspec.ValidationError:
        raise UserError(f"{path} is not a contest's result: {expected}") from None
    if not played:
        raise UserError(f"{path} has no level that was played: {expected}")
    return result.agent, scores_of(played, [(one.level, one.seed) for one in result.missing])


def read_evaluation(path: Path) -> dict[str, dict[int, float]]:
    """An evaluation's result.json -> level -> seed of an episode -> its return. Raises UserError if
    it is none, or one of the test of sight."""
    expected = "give a result of `retro-agents evaluate` without --sight, or of a sweep its runs"
    try:
        found = msgspec.convert(read_result(path, expected=expected), _Evaluation)
    except msgspec.ValidationError:
        raise UserError(f"{path} holds no returns of levels: {expected}") from None
    return {level: dict(enumerate(values, found.seed)) for level, values in found.returns.items()}
