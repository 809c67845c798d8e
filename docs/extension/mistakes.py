"""The table of mistakes: what the tests give to a trainer, and what it answers."""

import contextlib
import importlib
import io
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.agents.test_mistakes import EVERY, OWN
from tests.agents.tiny import words


def parts() -> dict[str, Callable[[], str]]:
    return {"mistakes.md": table}


def table() -> str:
    """A row for each mistake; those of every trainer are asked of PPO2."""
    lines = ["| trainer | given | answer |", "|---|---|---|"]
    cases = [("any", "ppo2", flags) for flags, _ in EVERY]
    cases += [(agent, agent, flags) for agent, own in OWN.items() for flags, _ in own]
    with tempfile.TemporaryDirectory() as folder:
        for name, agent, flags in cases:
            said = answer(agent, flags, folder=Path(folder) / "run")
            said = re.sub(r"[\d.,]+ GiB are free", "fewer are free", said)
            said = said.replace(f"{folder}/", "").replace("|", "\\|").replace("<", "&lt;")
            lines.append(f"| {name} | `{' '.join(flags)}` | {said} |")
    return "\n".join(dict.fromkeys(lines)) + "\n"


def answer(agent: str, flags: Sequence[str], *, folder: Path) -> str:
    """What the trainer says to these flags; it ends with exit code 2."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        trainer = importlib.import_module(f"{agent}.train")
        trainer.main(words(agent, "--run-dir", folder, *flags))
    match = re.search(r"error: (.*)", said.getvalue())
    assert match, f"{agent} {flags} is no mistake"
    return match[1]
