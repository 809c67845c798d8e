"""The agents that the page can show: shipped ones, reference players and checkpoints of runs."""

import asyncio
import io
import os
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, final

from retro_agents.games.families import level_names
from retro_agents.games.retro.references import REFERENCES
from retro_agents.games.retro.splits import split_names
from retro_agents.ground.errors import UserError
from retro_agents.ground.output import last_line
from retro_agents.run.agents import AGENTS, shipped, with_this_project
from retro_agents.run.checkpoint import agent_of
from retro_agents.studio.episodes import recording, recordings
from retro_agents.studio.files import checkpoints_of
from retro_agents.studio.games import RECORDING
from retro_agents.studio.index import Index
from retro_agents.studio.row import Row
from retro_agents.studio.threads import limited

MOST_RECORDINGS = 50
"""Recordings of a run that are offered."""
LONGEST = 300.0
"""Seconds that making a file for the page may take."""


def playable() -> list[str]:
    """Levels that can be played here: of games whose ROM is there, and Procgen's."""
    from retro_agents.games.procgen.games import GAMES
    from retro_agents.games.retro.integrations import rom_of

    names = dict.fromkeys(level for split in split_names() for level in level_names(split))
    found = {game: rom_of(game) is not None for game in {name.partition(":")[0] for name in names}}
    return [*(n for n in names if found[n.partition(":")[0]]), *(f"procgen:{g}" for g in GAMES)]


@final
class Agents:
    """Names of agents: RUN@CHECKPOINT, or a name such as ppo2. Exports are cached until the end."""

    def __init__(self, index: Index, exports: Path) -> None:
        """exports: a folder for exported nets."""
        self.index, self.exports = index, exports
        self._one, self._planned = asyncio.Lock(), limited(self.planned)

    def known(self) -> list[dict[str, Any]]:
        """All names, with the levels that each learned on: of a run, its newest checkpoint and, if
        it is JERK's, its recordings. Those on a disk that does not answer are left out."""
        found = [{"id": name, "levels": "", "agent": name} for name in (*AGENTS, *REFERENCES)]
        found = [one for one in found if one["id"] in REFERENCES or shipped(one["id"])]
        for row in self.index.ask():
            with suppress(UserError, OSError):
                found += self.of_run(row)
        return found

    def of_run(self, row: Row) -> list[dict[str, Any]]:
        """The names of a run's newest checkpoint and recordings. Raises UserError if its disk does
        not answer."""
        found = []
        if row.saved is not None:
            name = f"{row.id}@{self.checkpoints(row.id)[-1].name}"
            found.append({"id": name, "levels": row.levels, "agent": row.agent})
        if row.agent == "jerk":
            names = (name for name, _ in recordings(self.index.folder(row.id)))
            tapes = islice((name for name in names if name.endswith(RECORDING)), MOST_RECORDINGS)
            about = {"levels": row.levels, "agent": "recording"}
            found += [{"id": f"{row.id}@{tape}", **about} for tape in tapes]
        return found

    def checkpoints(self, run: str) -> list[Path]:
        """A run's complete checkpoints, the oldest first. Raises UserError if there are none."""
        found = checkpoints_of(self.index.folder(run))
        if not found:
            raise UserError(f"{run} has saved no checkpoint")
        return found

    def found(self, name: str, *, recorded: bool = False) -> Path | str:
        """An agent's checkpoint, or its name if it is none of a run. recorded: whether it may be a
        recording. Raises UserError."""
        if name in REFERENCES or (name in AGENTS and shipped(name)):
            return name
        run, at, step = name.rpartition("@")
        if not at:
            raise UserError("there is no such agent here")
        if recorded and step.endswith(RECORDING):
            return recording(self.index.folder(run), step)
        for checkpoint in self.checkpoints(run):
            if checkpoint.name == step:
                return checkpoint
        raise UserError(f"{run} has no such checkpoint any more")

    async def player(self, name: str) -> Path:
        """What an agent plays by, as a file for the page's engine, made in another process: a net
        as ONNX, or sequences as JSON. Raises UserError if it has none."""
        target, words = await self._planned(name)
        if words:
            await self.made(*words)
        return target

    def planned(self, name: str) -> tuple[Path, list[str]]:
        """The file of `player`, and the module that makes it with its arguments; [] if it is there.
        Raises UserError if there is no such agent."""
        source = self.found(name)
        stamp = Path(source, "meta.json").stat().st_mtime_ns if isinstance(source, Path) else 0
        replays = isinstance(source, Path) and agent_of(source) == "jerk"
        suffix = ".json" if replays else ".onnx"
        target = self.exports / f"{name.encode().hex()[-160:]}-{stamp}{suffix}"
        module = "retro_agents.studio.sequences" if replays else "retro_agents.run.export"
        words = [module, str(source), *([] if replays else ["--onnx"]), str(target)]
        return target, [] if target.is_file() else words

    async def made(self, module: str, *words: str) -> None:
        """Run one of the project's commands, one at a time. Raises UserError as it does, or if it
        takes longer than LONGEST."""
        async with self._one:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", module, *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **with_this_project()},
            )
            try:
                _, said = await asyncio.wait_for(process.communicate(), LONGEST)
            except TimeoutError:
                raise UserError(f"this took longer than {LONGEST:.0f} seconds") from None
            finally:
                with suppress(ProcessLookupError, TimeoutError):
                    process.kill()
                    await asyncio.wait_for(process.wait(), 2)
        if process.returncode:
            raise UserError(last_line(io.BytesIO(said), otherwise="it failed"))
