"""Results as files: those shipped with the project, any contest's, and an evaluation's."""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from retro_agents.contest.match.scores import ContestScores, Played, scores_of
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Finite
from retro_agents.ground.results import read_result
from retro_agents.ground.statistics import Runs

there = os.path.isfile
"""Path.is_file raises OSError for the names of many runs, joined, which are too long for one."""
RESULTS = Path(__file__).parent / "results"
"""Results of contests that are shipped with the project."""


class _Missing(msgspec.Struct):
    level: str
    seed: int


class _Result(msgspec.Struct):
    agent: dict[str, Any]
    jobs: list[dict[str, Any]]
    missing: list[_Missing] = []


_Returns = Annotated[list[Finite], msgspec.Meta(min_length=1)]


class _Evaluation(msgspec.Struct):
    seed: int
    returns: dict[str, _Returns]
    agent: str = ""
    play: str | None = None


class _Game(msgspec.Struct):
    returns: _Returns


class _Sets(msgspec.Struct):
    test: dict[str, _Game]


class _Levels(msgspec.Struct):
    mode: str
    count: int


class _OnProcgen(msgspec.Struct):
    seed: int
    train_seed: int
    checkpoint_sha256: str
    num_levels: int
    policy: str
    test_levels: _Levels
    sets: _Sets
    play: str | None = None


class Evaluation(NamedTuple):
    """An evaluation of one agent."""

    returns: Mapping[str, list[float]]
    """Level -> the return of each episode; of Procgen: game, mode and set of test levels."""
    first: int
    """Seed of the first episode."""
    who: str
    """The agent, or of Procgen its checkpoint."""
    seed: int | None
    """Seed of the training, if it is known."""
    alike: tuple[Any, ...]
    """What evaluations of several seeds have in common."""

    @property
    def means(self) -> dict[str, float]:
        """Level -> the mean return of its episodes."""
        return {level: math.fsum(own) / len(own) for level, own in self.returns.items()}

    @property
    def episodes(self) -> Runs:
        """Level -> seed of an episode -> its return."""
        return {level: dict(enumerate(own, self.first)) for level, own in self.returns.items()}


def shipped() -> list[str]:
    """The names of the shipped results."""
    return sorted(file.stem for file in RESULTS.glob("*.json"))


def stored_file(name: str) -> Path | None:
    """The file of a stored result, given by its path or its shipped name; None if it is none."""
    path = Path(name)
    if path.suffix != ".json":
        return RESULTS / f"{name}.json" if name in shipped() else None
    return path if there(path) else None


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


def read_evaluation(path: Path) -> Evaluation:
    """An evaluation from its result.json: of Procgen its test set. Raises UserError if it is none,
    or one of the test of sight."""
    expected = "give a result of `retro-agents evaluate` without --sight, or of a sweep its runs"
    result = read_result(path, expected=expected)
    try:
        if "sets" in result:
            expected = "let `retro-agents procgen evaluate` play the test levels"
            own = msgspec.convert(result, _OnProcgen)
            tested = own.test_levels
            kind = f"{tested.mode}, {'unseen' if tested.count else 'all'}"
            games = {f"{game} {kind}": one.returns for game, one in own.sets.test.items()}
            counts = {len(returns) for returns in games.values()}
            alike = kind, own.num_levels, own.policy, own.play, counts
            return Evaluation(games, own.seed, own.checkpoint_sha256, own.train_seed, alike)
        found = msgspec.convert(result, _Evaluation)
    except msgspec.ValidationError:
        raise UserError(f"{path} holds no returns of levels: {expected}") from None
    each = {level: len(returns) for level, returns in found.returns.items()}
    return Evaluation(found.returns, found.seed, found.agent, None, (each, found.play))
