"""A contest's folder: the jobs in it, and the contest that it belongs to."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec

from retro_agents.contest.wire.limits import Limits
from retro_agents.games.retro.integrations import more_places
from retro_agents.games.retro.levels import Level
from retro_agents.ground import results
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import held_by, move_folder, write_json

SAME = ("name", "mode", "play", "checkpoint_sha256", "code_sha256", *Limits.__dataclass_fields__)
"""Keys of contest.json that may not change within a folder, besides the agent's settings."""


class Facts(msgspec.Struct):
    """What a comparison needs of contest.json."""

    name: str = ""
    mode: str | None = None
    play: str | None = None
    timesteps: Annotated[int, msgspec.Meta(ge=0, le=2**53)] = 0
    planned: list[tuple[str, int]] = []
    checkpoint: str = ""
    checkpoint_sha256: str | None = None
    flags: list[str] = []
    games: list[str] = []


def job_folder(out: Path, level: Level, seed: int) -> Path:
    """Where a job's files go."""
    return out / f"{level.game}-{level.state}" / f"seed-{seed}"


def read_result(folder: Path) -> dict[str, Any] | None:
    """A job's result.json; None where there is none."""
    with contextlib.suppress(UserError):
        return results.read_result(folder / "result.json")
    return None


def read_facts(out: Path) -> dict[str, Any]:
    """Read contest.json: who played, and what. Raises UserError if it is missing or damaged."""
    return results.read_result(
        out / "contest.json", expected="give a folder that `retro-agents contest run` wrote"
    )


def facts_of(read: dict[str, Any], path: Path) -> Facts:
    """What a comparison needs of contest.json. Raises UserError if the file is damaged."""
    try:
        return msgspec.convert(read, Facts)
    except msgspec.ValidationError as error:
        raise UserError(f"{path} is damaged ({error}): move it away") from None


def is_over(folder: Path) -> bool:
    """Whether a job need not be played again: complete, or crashed after its first step."""
    result = read_result(folder)
    if result is None or result.get("status") is None:
        return False
    return result["status"] == "complete" or result.get("steps", 0) > 0


def job_folders(out: Path) -> list[Path]:
    """The folders of all jobs that have a result; those that were set aside are left out."""
    folders = [path.parent for path in sorted(out.glob("*/seed-*/result.json"))]
    return [folder for folder in folders if folder.name.removeprefix("seed-").isdecimal()]


def set_aside(folder: Path) -> None:
    """Rename an interrupted job's folder to NAME.interrupted-1, -2, …: its records are kept."""
    if not folder.exists():
        return
    number = 1
    while (target := folder.with_name(f"{folder.name}.interrupted-{number}")).exists():
        number += 1
    move_folder(folder, target)


def claim_folder(out: Path, facts: dict[str, Any], planned: Sequence[tuple[str, int]]) -> None:
    """Write a folder's contest.json. Raises UserError if it holds something else, or a contest with
    another agent, limits or ROM, of which a job is over; if none is, its jobs are set aside.

    planned: the levels and seeds to be played, which contest.json lists too, as it does the folders
    of games that are not the project's own, where films find them.
    """
    begun, before = job_folders(out), dict[str, Any]()
    if not begun and (held := held_by(out)) not in ("a contest", ""):
        raise UserError(f"{out} already holds {held}; give another --out")
    if begun:
        try:
            before = read_facts(out)
            other = difference(out, before, facts)
        except UserError as error:
            before, other = {}, str(error)
        if other and any(is_over(folder) for folder in begun):
            raise UserError(other)
        if other:
            for folder in begun:
                set_aside(folder)
            for name in ("table.md", "result.json"):  # of these jobs
                (out / name).unlink(missing_ok=True)
        else:
            facts["roms"] = {**before.get("roms", {}), **facts["roms"]}
    places = [*dict.fromkeys([*before.get("games", []), *map(str, more_places())])]
    write_json(out / "contest.json", {**facts, "planned": planned, "games": places})


def difference(out: Path, before: dict[str, Any], facts: dict[str, Any]) -> str:
    """How a folder's contest differs from the one with these facts; "" if it does not."""
    was, now = before.get("settings") or {}, facts["settings"] or {}
    pairs = [(name, before.get(name), facts[name]) for name in SAME]
    pairs += [(name, was.get(name), now.get(name)) for name in {**was, **now}]
    for name, old, new in pairs:
        if old != new and name == "code_sha256":
            return f"{out} holds a contest of other code of {facts['name']}: give another --out"
        if old != new:
            return (
                f"{out} holds a contest with {name} {old}, not {new}: "
                "give the same, or another --out"
            )
    for name, old in before.get("files_sha256", {}).items():
        if facts["files_sha256"].get(name, old) != old:
            return f"{out} holds a contest with different contents of {name}: give another --out"
    for game, played in before.get("roms", {}).items():
        if facts["roms"].get(game, played) != played:
            return f"{out} was played with another ROM of {game}: give another --out"
    return ""
