# PYTHON_ARGCOMPLETE_OK
"""Make the leaderboard's page of its files: `retro-agents leaderboard page`."""

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

from retro_agents.contest.leaderboard.entry import ORACLE, Entry
from retro_agents.contest.leaderboard.faults import Faults, entries_of
from retro_agents.contest.leaderboard.references import is_reference
from retro_agents.contest.leaderboard.result import AGAIN, Result, folder_of, read_result
from retro_agents.contest.leaderboard.result import FILE as RESULT
from retro_agents.contest.leaderboard.score import BOARD
from retro_agents.contest.leaderboard.season import SEEDS, Season, current_season
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import write_text
from retro_agents.ground.ranges import Count
from retro_agents.judging.score import interval_text
from retro_agents.judging.tables import NOTHING, number, table
from retro_agents.run.command_line import parse_command

TRACKS = {
    0: "No learning",
    50_000: "50,000 steps per act",
    200_000: "200,000 steps per act",
    1_000_000: "1,000,000 steps per act",
}
MACHINES = {"cpu": "one CPU core", "free": "any machine"}
COLUMNS = (
    *("entry", "what", "who", "mean return", "95 % over seeds", "finished", "blind"),
    *("pretraining", "steps/s", "memory", "licence"),
)
OURS = "Retro Contest Agents developers"
"""Whose entries have no name in the tables, where there are no others."""
SEEN = "†"
"""Marks a result of an entry from which nothing was hidden."""
NOTES = (
    "- **mean return**: over all acts and seeds, learning included; an act pays 10,000 at most.",
    "- **blind**: the entry was there when the season opened, so it cannot have seen the acts.",
    "- **steps/s**: a run's steps divided by its time, which includes the server's. **memory**: of "
    "its largest process. Machines differ.",
)
REFERENCE = "- The oracle sees the game's variables: it is a reference, not an entry."
WHO = f"- **who**: entries without a name are by the {OURS}."
WORD = (
    "- **No learning** is what an entry says of itself: nothing measures whether it learns within "
    "a run."
)
HIDDEN = f"- {SEEN}: scored where nothing was hidden from it, so it could have read the acts."


@dataclasses.dataclass(frozen=True)
class PageConfig:
    """Write the leaderboard's tables as Markdown."""

    board: Path = BOARD
    """The leaderboard's folder."""
    out: Path | None = None
    """The file to write; default: page.md in that folder."""
    season: Count | None = None
    """The season's number; default: the newest."""


def plain(text: str) -> str:
    """Text in a Markdown table, of which nothing is markup."""
    return re.sub(r"[][\\`*_~&${}]", r"\\\g<0>", text)


def seen(entry: Entry, result: Result) -> bool:
    """Whether nothing was hidden from an entry while it played."""
    return not (result.measured.hidden or is_reference(entry))


def row(entry: Entry, result: Result, season: Season, *, ours: bool) -> list[str]:
    """An entry's row. ours: all entries are the project's own, whose name is left out."""
    facts, runs = entry.facts, [cost for act in result.measured.costs.values() for cost in act]
    speed = entry.steps * len(runs) / (sum(cost.seconds for cost in runs) or 1)
    memory = max((cost.memory for cost in runs), default=0)
    before = facts.pretraining
    learned = f"{before.steps:,} steps on {before.levels}; {before.hardware}" if before else "none"
    blind = season.facts.entries.get(entry.name) == entry.sha256
    return [
        f"{entry.name} {SEEN}" if seen(entry, result) else entry.name,
        plain(facts.what),
        "" if ours else plain(facts.who),
        f"{result.score:,.0f}",
        interval_text((result.low, result.high)),
        f"{result.finished:.0%}",
        "–" if facts.agent == ORACLE else "yes" if blind else "no",
        plain(learned),
        "–" if is_reference(entry) else number(speed),
        f"{memory:,} MiB" if memory else "–",
        plain(facts.licence),
    ]


def scored(board: Path, season: Season, faults: Faults) -> list[tuple[Entry, Result]]:
    """The entries with a result, the best first. faults: takes those whose result is damaged, or of
    another entry or game than there is now."""
    found: list[tuple[Entry, Result]] = []
    for entry in faults.entries(entries_of(board), board):
        if not (folder_of(board, season, entry.name) / RESULT).exists():
            continue
        with faults.of(entry.name):
            result = read_result(board, season, entry.name)
            for what, now in (("entry", entry.sha256), ("game", season.engine)):
                if result.inputs.get(what) != now:
                    since = f"the {what} has changed since {entry.name} was scored"
                    raise UserError(f"{since}: {AGAIN}")
            found.append((entry, result))
    return sorted(found, key=lambda one: -one[1].score)


def page(season: Season, found: Sequence[tuple[Entry, Result]], *, without: Sequence[str]) -> str:
    """The page: a table per track and machine, and one of all acts. without: names of entries that
    it leaves out."""
    count = f"{len(season.acts)} act{'s' * (len(season.acts) != 1)}"
    lines = [
        "# BrambleDash, unseen acts",
        "",
        f"Season {season.number}, opened on {season.facts.opened}: {count}, {SEEDS} seeds each.",
        "",
    ]
    ours = all(entry.facts.who == OURS for entry, _ in found)
    names = plain(", ".join(without))
    left_out = f"- Left out, since malformed or changed after it was scored: {names}."
    for steps, track in TRACKS.items():
        for machine, what in MACHINES.items():
            rows = [
                row(entry, result, season, ours=ours)
                for entry, result in found
                if (entry.facts.steps, entry.facts.machine) == (steps, machine)
            ]
            if rows:
                lines += [f"## {track}, {what}", "", table(COLUMNS, rows, left=3), ""]
    if not found:
        return "\n".join([*lines, NOTHING, *(["", left_out] if without else [])]) + "\n"
    acts = [
        [act, *(f"{result.acts[act].score:,.0f}" for _, result in found)] for act in season.acts
    ]
    head = ["act", *(entry.name for entry, _ in found)]
    lines += ["## By act", "", table(head, acts), "", *NOTES]
    for note, holds in (
        (WHO, ours),
        (REFERENCE, True),
        (WORD, any(not entry.facts.steps for entry, _ in found)),
        (HIDDEN, any(seen(*one) for one in found)),
        (left_out, without),
    ):
        lines += [note] if holds else []
    return "\n".join(lines) + "\n"


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Write the page."""
    config = parse_command(PageConfig, argv, command="retro-agents leaderboard page")
    board, faults = config.board, Faults()
    season, out = current_season(board, config.season), config.out or board / "page.md"
    found = scored(board, season, faults)
    if not found and out.is_file() and "| --- |" in out.read_text(errors="replace"):
        raise UserError(
            f"no entry has a result in season {season.number}, so {out} stays as it is: score one, "
            "or give --season or --out"
        )
    write_text(out, page(season, found, without=faults.names))
    print(out)
    faults.end(known=len(entries_of(board)))


if __name__ == "__main__":
    main()
