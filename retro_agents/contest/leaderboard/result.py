"""An entry's result: the scores that its recordings prove, and what was measured besides."""

import hashlib
import tempfile
from array import array
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, final

import msgspec

from retro_agents.contest.leaderboard.entry import Entry
from retro_agents.contest.leaderboard.season import SEEDS, Season
from retro_agents.contest.leaderboard.tape import SUFFIX, Run, read_tape, replay, write_tape
from retro_agents.contract.envs import LARGEST_RETURN
from retro_agents.ground import statistics
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import file_hash, make_folder, unwritable, write_text

FILE = "result.json"
AGAIN = "score the entry anew, with --again if it is unchanged"


@final
class Cost(msgspec.Struct, frozen=True):
    """What a run took. Times in seconds; memory: of its largest process, in MiB."""

    seconds: float
    cpu_seconds: float
    memory: int


@final
class Measured(msgspec.Struct, frozen=True):
    """What no replay can prove."""

    costs: dict[str, list[Cost]]
    """Of each act's runs."""
    hidden: bool
    """Whether the season was kept from the entry."""
    machine: dict[str, Any]
    versions: dict[str, str | None]
    commit: str
    scored: str = ""
    """When, in UTC; older results do not say it."""


@final
class Act(msgspec.Struct, frozen=True):
    """The runs of an act, one per seed, and the SHA-256 of their recording."""

    score: float
    """The mean over seeds."""
    runs: list[Run]
    recording: str


@final
class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of result.json. All but `measured` follows from the recordings."""

    entry: str
    season: int
    steps: int
    """The track, as in entry.json."""
    machine: str
    score: float
    """The mean over acts and seeds."""
    low: float
    high: float
    """Student's t interval of 95 % over the seeds' means."""
    finished: float
    """Share of the episodes that reached the act's end."""
    acts: dict[str, Act]
    inputs: dict[str, str]
    """SHA-256 of the entry, the season and the game."""
    sha256: str
    """Of the inputs and all recordings."""
    measured: Measured


def folder_of(board: Path, season: Season, name: str) -> Path:
    """Where an entry's result and recordings are."""
    return board / "results" / str(season.number) / name


def inputs_of(entry: Entry, season: Season) -> dict[str, str]:
    """SHA-256 of all that a result depends on."""
    return {"entry": entry.sha256, "season": season.sha256, "game": season.engine}


def proved(entry: Entry, season: Season, folder: Path, *, measured: Measured) -> Result:
    """The result that the recordings in a folder prove, by playing them anew. Raises UserError if
    one is missing or damaged, or has another number of steps than the track."""
    acts: dict[str, Act] = {}
    for act in season.acts:
        path = folder / f"{act}{SUFFIX}"
        tapes = read_tape(path)
        if [len(tape) for tape in tapes] != [entry.steps] * SEEDS:
            raise UserError(f"{path} does not hold {SEEDS} runs of {entry.steps:,} steps: {AGAIN}")
        runs = [replay(season, act, tape, seed=seed) for seed, tape in enumerate(tapes)]
        acts[act] = Act(sum(run.score for run in runs) / SEEDS, runs, file_hash(path))
    scores = {act: {k: run.score for k, run in enumerate(one.runs)} for act, one in acts.items()}
    low, high = statistics.t_interval(statistics.seed_means(scores))
    # Nothing beyond is possible; SciPy's versions may differ in the last digits.
    low, high = round(max(low, 0.0), 3), round(min(high, LARGEST_RETURN), 3)
    runs = [run for one in acts.values() for run in one.runs]
    inputs = inputs_of(entry, season)
    text = "\n".join([*inputs.values(), *(one.recording for one in acts.values())])
    return Result(
        entry=entry.name,
        season=season.number,
        steps=entry.facts.steps,
        machine=entry.facts.machine,
        score=statistics.mean(scores),
        low=low,
        high=high,
        finished=sum(run.finished for run in runs) / sum(run.episodes for run in runs),
        acts=acts,
        inputs=inputs,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        measured=measured,
    )


def keep(
    entry: Entry,
    season: Season,
    folder: Path,
    tapes: Mapping[str, Sequence[array]],
    *,
    measured: Measured,
) -> Result:
    """Replace an entry's recordings, and the result that they prove. Raises UserError if the new
    ones cannot be written; then the old ones stay."""
    make_folder(folder)
    try:
        with tempfile.TemporaryDirectory(prefix=".draft-", dir=folder) as draft:
            for act, runs in tapes.items():
                write_tape(Path(draft, f"{act}{SUFFIX}"), runs)
            result = proved(entry, season, Path(draft), measured=measured)
            text = msgspec.json.format(msgspec.json.encode(result), indent=1).decode()
            write_text(Path(draft, FILE), text + "\n")
            for path in (folder / FILE, *folder.glob(f"*{SUFFIX}")):
                path.unlink(missing_ok=True)
            for name in (*(f"{act}{SUFFIX}" for act in tapes), FILE):
                Path(draft, name).rename(folder / name)
    except OSError as error:
        raise unwritable(folder, error) from None
    return result


def read_result(board: Path, season: Season, name: str) -> Result:
    """An entry's result. Raises UserError if there is none in this season, or it is damaged."""
    path = folder_of(board, season, name) / FILE
    try:
        result = msgspec.json.decode(path.read_bytes(), type=Result)
    except OSError:
        raise UserError(
            f"{name} has no result in season {season.number}: `retro-agents leaderboard score` "
            "makes it"
        ) from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged ({error}): {AGAIN}") from None
    if {*result.acts} != {*season.acts}:
        raise UserError(f"{path} has other acts than its season: {AGAIN}")
    return result


def verified(entry: Entry, season: Season, board: Path) -> Result:
    """An entry's result, after its recordings were played anew. Raises UserError if the result says
    anything else than they do, or is of another entry, season or game."""
    folder = folder_of(board, season, entry.name)
    said = read_result(board, season, entry.name)
    for name, value in inputs_of(entry, season).items():
        if said.inputs.get(name) != value:
            raise UserError(f"{folder / FILE}: the {name} has changed since: {AGAIN}")
    found = proved(entry, season, folder, measured=said.measured)
    for name in Result.__struct_fields__:
        if getattr(said, name) != getattr(found, name):
            raise UserError(
                f"{folder / FILE} is not what its recordings show: {name} differs; {AGAIN}"
            )
    return said
