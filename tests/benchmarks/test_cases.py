import sys

import pytest

from benchmarks import env
from benchmarks.cases import (
    add_choice,
    add_seconds,
    chosen,
    in_own_process,
    make_parser,
    median_cases,
    median_row,
)
from experiment.errors import UserError


def test_case_is_the_last_line_that_its_process_prints() -> None:
    text = "import os; print('noise'); print('{\"seed\": ' + os.environ['CASE_SEED'] + '}')"
    assert in_own_process("a", [sys.executable, "-c", text], CASE_SEED="7") == {"seed": 7}


def test_failed_case_is_named_with_what_it_said() -> None:
    with pytest.raises(UserError, match="case a failed: no emulator"):
        in_own_process("a", [sys.executable, "-c", "raise SystemExit('no emulator')"])


def test_failed_case_of_the_environment_is_one_line() -> None:
    with pytest.raises(UserError, match="case none failed: error: argument --case"):
        env.measure("none", 0.1)


def read(*words: str) -> list[str]:
    """The cases that those options choose."""
    parser = make_parser("some", None)
    add_choice(parser, ["a-1", "a-2", "b"])
    add_seconds(parser)
    return chosen(["a-1", "a-2", "b"], parser.parse_args(words))


def test_only_takes_the_cases_that_begin_so() -> None:
    assert read("--only", "a", "--seconds", "0.5") == ["a-1", "a-2"]
    assert read("--write") == read("--write", "--only", "a", "b") == ["a-1", "a-2", "b"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--repeats 0", "--repeats: expected a whole number above 0, not '0'; see --help"),
        ("--repeats 1.5", "--repeats: expected a whole number"),
        ("--seconds 0", "--seconds: expected a number above 0"),
        ("--seconds nan", "--seconds: expected a number"),
        ("--only b c", "no case begins with 'c'; cases: a-1, a-2, b"),
        ("--only a --write", "--write stores a whole result"),
    ],
)
def test_options_that_measure_nothing_or_store_a_part_are_refused(words: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        read(*words.split())


def test_medians_are_taken_case_by_case() -> None:
    repeats = [{"a": {"ms": value}, "b": {"ms": 2 * value}} for value in (3.0, 1.0, 9.0)]
    assert median_cases(repeats) == [{"case": "a", "ms": 3.0}, {"case": "b", "ms": 6.0}]


def test_what_was_not_measured_has_no_row() -> None:
    assert median_row({"ratio": "a/b"}, [None, None], at_least=2.0) == []
    row = {"ratio": "a/b", "value": 2.0, "all": [1.0, 3.0]}
    assert median_row({"ratio": "a/b"}, [1.0, None, 3.0], at_least=None) == [row]
