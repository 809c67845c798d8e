"""Writes what a JERK checkpoint plays on each level as JSON, for the page's own engine:
`python -m retro_agents.studio.sequences CHECKPOINT FILE`."""

import sys
from pathlib import Path
from typing import Any

import msgspec

from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import write_text
from retro_agents.run.checkpoint import load_agent

FRAME_SKIP = 4
"""Frames for which the page's engine holds an agent's action."""


def sequences(source: str) -> dict[str, Any]:
    """The names of the actions, and the best sequence of each level. Raises UserError if it plays
    otherwise."""
    agent: Any = load_agent(source)  # of JERK
    if agent.policy is not None or agent.spec.frame_skip != FRAME_SKIP:
        raise UserError("this JERK also plays by a net, or in steps of another length: see Live")
    best = {level: agent.sequences.best(level) for level in agent.sequences.levels}
    levels = {level: one.improved().tolist() for level, one in best.items() if one is not None}
    return {"names": agent.spec.action_names, "levels": levels}


@command
def main() -> None:
    source, target = sys.argv[1:]
    write_text(Path(target), msgspec.json.encode(sequences(source)).decode())


if __name__ == "__main__":
    main()
