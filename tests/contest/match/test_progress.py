"""What a contest shows while it runs."""

import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from contest.match.progress import JobsProgress


class Terminal(io.StringIO):
    """Text that was shown in a terminal."""

    def isatty(self) -> bool:
        return True


def job(folder: Path, words: str = "") -> Any:
    """A job with some steps, whose agent's last line was `words`."""
    folder.mkdir()
    result = {"steps": 5, "seconds": 1.0, "mean_return": 7.0, "episodes": 1}
    (folder / "result.json").write_text(json.dumps(result))
    return SimpleNamespace(name="A, seed 0", folder=folder, last_line=lambda side: words)


def test_last_words_of_a_crashed_agent_are_shown_as_they_are(tmp_path: Path) -> None:
    shown = Terminal()
    crashed = job(tmp_path / "a", words="KeyError: '[/red]'")
    with JobsProgress(1, 0, steps=10, stream=shown) as progress:
        progress.begin(crashed)
        progress.end(crashed, "crashed")
    assert "KeyError: '[/red]'" in shown.getvalue()


def test_levels_of_two_games_may_have_the_same_name(tmp_path: Path) -> None:
    jobs = [job(tmp_path / game) for game in ("a", "b")]
    with JobsProgress(2, 0, steps=10, stream=Terminal()) as progress:
        for one in jobs:
            progress.begin(one)
        for one in jobs:
            progress.end(one, "complete")
        assert (progress.over, progress.tasks) == (2, {})
