# PYTHON_ARGCOMPLETE_OK
"""Make the leaderboard's page of its files: `retro-agents leaderboard page`."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from retro_agents.contest.leaderboard.entry import FILE, ORACLE, Entry, read_entry
from retro_agents.contest.leaderboard.references import is_reference
from retro_agents.contest.leaderboard.result import AGAIN, Result, folder_of, read_result
from retro_agents.contest.leaderboard.result import FILE as RESULT
from retro_agents.contest.leaderboard.score import BOARD
from retro_agents.contest.leaderboard.season import SEEDS, Season, current_season
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import write_text
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
"""Whose entries have no name in the tables."""
NOTES = (
    "- **mean return**: over all acts and seeds, learning included; an act pays 10,000 at most.",
    "- **blind**: the entry was there when the season opened, so it cannot have seen the acts.",
    "- **steps/s**: a run's steps divided by its time, which includes the server's. **memory**: of "
    "its largest process. Machines differ.",
    f"- **who**: entries without a name are by the {OURS}.",
    "- The oracle sees the game's variables: it is a reference, not an entry.",
)


@dataclasses.dataclass(frozen=True)
class PageConfig:
    """Write the leaderboard's tables as Markdown."""

    board: Path = BOARD
    """The leaderboard's folder."""
    out: Path | None = None
    """The file to write; default: page.md in that folder."""


def row(entry: Entry, result: Result, season: Season) -> list[str]:
    """An entry's row."""
    facts, runs = entry.facts, [cost for act in result.measured.costs.values() for cost in act]
    speed = entry.steps * len(runs) / (sum(cost.seconds for cost in runs) or 1)
    memory = max((cost.memory for cost in runs), default=0)
    before = facts.pretraining
    blind = season.facts.entries.get(entry.name) == entry.sha256
    return [
        entry.name,
        facts.what,
        "" if facts.who == OURS else facts.who,
        f"{result.score:,.0f}",
        interval_text((result.low, result.high)),
        f"{result.finished:.0%}",
        "–" if facts.agent == ORACLE else "yes" if blind else "no",
        f"{before.steps:,} steps on {before.levels}; {before.hardware}" if before else "none",
        "–" if is_reference(entry) else number(speed),
        f"{memory:,} MiB" if memory else "–",
        facts.licence,
    ]


def page(board: Path, season: Season) -> str:
    """The page: a table per track and machine, and one of all acts. Raises UserError if an entry
    or the game has changed since it was scored."""
    found: list[tuple[Entry, Result]] = []
    for path in sorted(board.glob(f"entries/*/{FILE}")):
        entry = read_entry(path.parent)
        if not (folder_of(board, season, entry.name) / RESULT).exists():
            continue
        result = read_result(board, season, entry.name)
        for what, now in (("entry", entry.sha256), ("game", season.engine)):
            if result.inputs.get(what) != now:
                raise UserError(f"the {what} has changed since {entry.name} was scored: {AGAIN}")
        found.append((entry, result))
    found.sort(key=lambda one: -one[1].score)
    lines = [
        "# BrambleDash, unseen acts",
        "",
        f"Season {season.number}, opened on {season.facts.opened}: {len(season.acts)} acts, "
        f"{SEEDS} seeds each.",
        "",
    ]
    for steps, track in TRACKS.items():
        for machine, what in MACHINES.items():
            rows = [
                row(entry, result, season)
                for entry, result in found
                if (entry.facts.steps, entry.facts.machine) == (steps, machine)
            ]
            if rows:
                lines += [f"## {track}, {what}", "", table(COLUMNS, rows, left=3), ""]
    if not found:
        return "\n".join([*lines, NOTHING]) + "\n"
    acts = [
        [act, *(f"{result.acts[act].score:,.0f}" for _, result in found)] for act in season.acts
    ]
    head = ["act", *(entry.name for entry, _ in found)]
    lines += ["## By act", "", table(head, acts), "", *NOTES]
    return "\n".join(lines) + "\n"


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Write the page."""
    config = parse_command(PageConfig, argv, command="retro-agents leaderboard page")
    out = config.out or config.board / "page.md"
    write_text(out, page(config.board, current_season(config.board)))
    print(out)


if __name__ == "__main__":
    main()
