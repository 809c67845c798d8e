import sys

import pytest

from benchmarks.cases import in_own_process, median_cases, median_row
from experiment.errors import UserError


def test_case_is_the_last_line_that_its_process_prints() -> None:
    text = "import os; print('noise'); print('{\"seed\": ' + os.environ['CASE_SEED'] + '}')"
    assert in_own_process("a", [sys.executable, "-c", text], CASE_SEED="7") == {"seed": 7}


def test_failed_case_is_named_with_what_it_said() -> None:
    with pytest.raises(UserError, match="case a failed: no emulator"):
        in_own_process("a", [sys.executable, "-c", "raise SystemExit('no emulator')"])


def test_medians_are_taken_case_by_case() -> None:
    repeats = [{"a": {"ms": value}, "b": {"ms": 2 * value}} for value in (3.0, 1.0, 9.0)]
    assert median_cases(repeats) == [{"case": "a", "ms": 3.0}, {"case": "b", "ms": 6.0}]


def test_what_was_not_measured_has_no_row() -> None:
    assert median_row({"ratio": "a/b"}, [None, None], at_least=2.0) == []
    row = {"ratio": "a/b", "value": 2.0, "all": [1.0, 3.0]}
    assert median_row({"ratio": "a/b"}, [1.0, None, 3.0], at_least=None) == [row]
