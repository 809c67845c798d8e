"""Whom the page can watch: shipped agents, reference players and checkpoints of runs."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any, final

from retro_agents.games.families import level_names, split_names
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import complete_checkpoints
from retro_agents.run.agents import AGENTS, shipped, with_this_project
from retro_agents.studio.episodes import recording
from retro_agents.studio.games import RECORDING
from retro_agents.studio.index import Index


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
        self._one = asyncio.Lock()

    def known(self) -> list[dict[str, Any]]:
        """All names, with the levels that each learned on: of a run, its newest checkpoint."""
        found = [{"id": name, "levels": "", "agent": name} for name in (*AGENTS, *REFERENCES)]
        found = [one for one in found if one["id"] in REFERENCES or shipped(one["id"])]
        for row in self.index.ask():
            if row.saved is not None:
                name = f"{row.id}@{self.checkpoints(row.id)[-1].name}"
                found.append({"id": name, "levels": row.levels, "agent": row.agent})
        return found

    def checkpoints(self, run: str) -> list[Path]:
        """A run's complete checkpoints, the oldest first. Raises UserError if there are none."""
        found = complete_checkpoints(self.index.run(run) / "checkpoints")
        if not found:
            raise UserError(f"{run} has saved no checkpoint")
        return found

    def found(self, name: str, *, recordings: bool = False) -> Path | str:
        """An agent's checkpoint, or its name if it is none of a run. recordings: it may be one.
        Raises UserError."""
        if name in REFERENCES or (name in AGENTS and shipped(name)):
            return name
        run, at, step = name.rpartition("@")
        if not at:
            raise UserError("there is no such agent here")
        if recordings and step.endswith(RECORDING):
            return recording(self.index.run(run), step)
        for checkpoint in self.checkpoints(run):
            if checkpoint.name == step:
                return checkpoint
        raise UserError(f"{run} has no such checkpoint any more")

    async def onnx(self, name: str, source: Path | str) -> Path:
        """The net of an agent as an ONNX file, made in another process, one at a time. source: from
        `found`. Raises UserError if it has none."""
        stamp = Path(source, "meta.json").stat().st_mtime_ns if isinstance(source, Path) else 0
        target = self.exports / f"{name.encode().hex()[-160:]}-{stamp}.onnx"
        if not target.is_file():
            await self.made("retro_agents.run.export", str(source), "--onnx", str(target))
        return target

    async def made(self, module: str, *words: str) -> None:
        """Run one of the project's commands, one at a time. Raises UserError as it does."""
        async with self._one:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", module, *words),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, **with_this_project()},
            )
            _, said = await process.communicate()
        if process.returncode:
            lines = said.decode("utf-8", "replace").strip().splitlines()
            raise UserError((lines or ["it failed"])[-1].removeprefix("error: "))
