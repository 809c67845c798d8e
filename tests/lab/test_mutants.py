import os
import signal
import sys
from unittest.mock import Mock

import pytest

import lab.mutants
from lab.mutants import failing, mutants_of, try_out
from tests.runs import program

CODE = '''"""Text."""
FACTOR: float = 1.5
def f(x: int) -> int:
    assert x > 3, f"{x + 1}"
    if not x and x < 2:
        print(x)
    return -x * 2
'''
FAULTS = [
    "FACTOR: float = 3.0",
    "    if (not x or x < 2):",
    "    if (x) and x < 2:",
    "    if not x and (x <= 2):",
    "    if not x and x < 3:",
    "        pass",
    "    return (-x / 2)",
    "    return (x) * 2",
    "    return -x * 3",
]


def test_the_faults_by_hand_fit_the_code():
    assert len(lab.mutants.by_hand()) > 30  # it refuses those that do not


def test_every_place_gets_its_fault_but_for_messages_and_assertions(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.mutants, "ROOT", tmp_path)
    (tmp_path / "fragment.py").write_text(CODE)
    assert [one["to"].rstrip() for one in mutants_of("fragment.py")] == FAULTS


def test_a_fault_is_caught_by_the_first_test_that_fails_and_is_mended(tmp_path, monkeypatch):
    monkeypatch.setattr(lab.mutants, "AREAS", {"fragment.py": ["tests"]})
    (tmp_path / "tests").mkdir()
    (tmp_path / "fragment.py").write_text("def double(x):\n    return 2 * x\n")
    test = "from fragment import double\n\ndef test_it():\n    assert double(0) == 0\n"
    (tmp_path / "tests/test_fragment.py").write_text(test)
    mutant = {"file": "fragment.py", "line": 2, "from": "2 *"}
    tried = [
        try_out({**mutant, "to": new}, tmp_path, number=number, limit_s=60.0)
        for number, new in ((1, "3 *"), (2, "2 +"))
    ]
    assert [(one["caught"], one["by"]) for one in tried] == [
        (False, ""),
        (True, "tests/test_fragment.py::test_it"),
    ]
    assert failing(tmp_path, ["tests"], limit_s=60.0) == ""


def test_an_interruption_ends_the_tests_that_run(tmp_path, monkeypatch):
    says = "#!/bin/sh\necho $$ >pid\nsleep 1\nkill -ALRM $PPID\nsleep 60\n"
    monkeypatch.setattr(sys, "executable", str(program(tmp_path / "sleeper", says)))

    before = signal.signal(signal.SIGALRM, Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        failing(tmp_path, ["tests"], limit_s=60.0)
    signal.signal(signal.SIGALRM, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
