"""What cannot be printed ends no command."""

import os
import shlex
import subprocess
import sys

import pytest

from retro_agents.ground.output import last_line
from tests.runs import ROOT

SAYS = r"""
import sys
from pathlib import Path
from retro_agents.ground.errors import command

@command
def main():
    print("\u2192 words" * 9999, flush=True)
    print("\u2192", file=sys.stderr)
    Path(sys.argv[1]).write_text("stored")
    print("more")

main()
"""
FULL = "error: cannot print: No space left on device\n"


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        ("{} | true; exit ${{PIPESTATUS[0]}}", 1, "→\n"),
        ("{} > /dev/full", 1, f"→\n{FULL}"),
        ("{} >&-", 0, "→\n"),
        ("{} > /dev/null 2>&-", 0, ""),
        ("{} > /dev/null 2> /dev/full", 0, ""),
        ("{} <&- >&- 2>&-", 0, ""),
        ("PYTHONIOENCODING=latin-1 {} > /dev/null", 0, "\\u2192\n"),
        ("PYTHONUTF8=0 LC_ALL=C PYTHONCOERCECLOCALE=0 {} > /dev/null", 0, "\\u2192\n"),
    ],
)
def test_what_comes_after_output_that_cannot_be_written_is_done(shell, code, said, tmp_path):
    line = shell.format(shlex.join([sys.executable, "-c", SAYS, str(tmp_path / "file")]))
    env = {"PYTHONUTF8": "1", **os.environ}
    done = subprocess.run(["bash", "-c", line], cwd=ROOT, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (code, said)
    assert (tmp_path / "file").read_text() == "stored"


def test_what_a_process_said_last_is_a_short_line_without_control_characters(tmp_path):
    for said, line in (
        (b"", "it said nothing"),
        (b"begun\nerror: no space\n\n", "no space"),
        (b"\x1b[2J\xff", "\\x1b[2J\ufffd"),
        (b"x" * 10**6, "x" * 1000),
    ):
        (tmp_path / "log").write_bytes(said)
        with (tmp_path / "log").open("rb") as log:
            assert last_line(log) == line
