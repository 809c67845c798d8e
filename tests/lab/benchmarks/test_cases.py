import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.benchmarks import cases, equality
from lab.benchmarks.cases import (
    RESULTS,
    Options,
    Repeat,
    Row,
    Rows,
    in_own_process,
    median_cases,
    median_row,
    quotient,
    ratio_rows,
    run,
)
from retro_agents.ground.errors import UserError


def test_case_is_the_last_line_that_its_process_prints() -> None:
    text = "import os; print('noise'); print('{\"seed\": ' + os.environ['CASE_SEED'] + '}')"
    assert in_own_process("a", [sys.executable, "-c", text], CASE_SEED="7") == {"seed": 7}


def test_failed_case_is_named_with_what_it_said() -> None:
    with pytest.raises(UserError, match="case a failed: no emulator"):
        in_own_process("a", [sys.executable, "-c", "raise SystemExit('no emulator')"])


def test_a_command_that_is_not_there_is_one_line() -> None:
    with pytest.raises(UserError, match=r"case a needs .*none, which is not there"):
        in_own_process("a", ["/no/such/none"])


def call(monkeypatch: pytest.MonkeyPatch, words: str) -> list[list[str]]:
    """Run a benchmark of three cases with those options -> the cases of each repeat."""
    wanted: list[list[str]] = []

    def measure(found: list[str], options: Options) -> Repeat:
        wanted.append(found)
        return {case: {"ms": len(wanted) * options.seconds} for case in found}

    def here(case: str, options: Options) -> Row:
        return {"ms": 10 * options.seconds}

    def table(repeats: list[Repeat], options: Options) -> Rows:
        return median_cases(repeats)

    monkeypatch.setattr(sys, "argv", ["some", *words.split()])
    names = ["a-1", "a-2", "b"]
    run("some", None, names, table=table, here=here, measure=measure, repeats=2, seconds=0.5)
    return wanted


def test_only_takes_the_cases_that_begin_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "--only a --seconds 2 --repeats 3") == [["a-1", "a-2"]] * 3
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [{"case": "a-1", "ms": 4.0}, {"case": "a-2", "ms": 4.0}]


def test_one_case_is_measured_in_this_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(monkeypatch, "--case a-2 --seconds 3") == []
    assert json.loads(capsys.readouterr().out) == {"ms": 30.0}


def test_one_case_is_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match="leave out --case, or --write"):
        call(monkeypatch, "--case a-2 --write")


def test_whole_result_is_stored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cases, "RESULTS", tmp_path)
    call(monkeypatch, "--write --only a b")
    result: dict[str, Any] = json.loads((tmp_path / "some.json").read_text())
    assert result["rows"][2] == {"case": "b", "ms": 0.75}
    assert result["command"] == "python -m lab.benchmarks.some --write --only a b"
    assert result["machine"]["cores"]


def test_result_names_its_back_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cases, "RESULTS", tmp_path)
    options: Any = {"table": lambda repeats, options: median_cases(repeats), "repeats": 1}
    options["measure"] = lambda wanted, options: {"a": {"ms": 1.0}}
    for words, name in (("--write", "some.json"), ("--write --backend native", "some_native.json")):
        monkeypatch.setattr(sys, "argv", ["some", *words.split()])
        run("some", None, ["a"], **options, backend=cases.BACKENDS)
        result = json.loads((tmp_path / name).read_text())
        assert result["backend"] == ("native" if "native" in words else "emulator")
    monkeypatch.setattr(sys, "argv", ["some", "--backend", "wasm"])
    with pytest.raises(UserError, match="--backend: invalid choice: 'wasm'"):
        run("some", None, ["a"], **options, backend=cases.BACKENDS)


@pytest.mark.parametrize(
    "path", [path for path in RESULTS.glob("*.json") if "backend" in json.loads(path.read_text())]
)
def test_a_stored_result_of_a_back_end_can_be_made_again(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = json.loads(path.read_text())["command"].split()[2]
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    with pytest.raises(SystemExit):
        importlib.import_module(module).main()
    assert "--backend {emulator,native}" in capsys.readouterr().out


@pytest.mark.parametrize("words", ["--only random --write", "--share 2 --write", "--share 0"])
def test_equality_stores_no_part(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["equality", *words.split()])
    with pytest.raises(SystemExit) as stop:
        equality.main()
    assert stop.value.code == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("--repeats 0", "--repeats: expected a number above 0, not 0; see --help"),
        ("--repeats 1.5", "--repeats: invalid int value: '1.5'; see --help"),
        ("--seconds 0", "--seconds: expected a number above 0"),
        ("--seconds nan", "--seconds: expected a number"),
        ("--only b c", "no case begins with 'c'; cases: a-1, a-2, b"),
        ("--only a --write", "--write stores a whole result"),
        ("--case c", "--case: invalid choice: 'c'"),
    ],
)
def test_options_that_measure_nothing_or_store_a_part_are_refused(
    words: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match=says):
        call(monkeypatch, words)


def test_medians_are_taken_case_by_case() -> None:
    repeats = [{"a": {"ms": value}, "b": {"ms": 2 * value}} for value in (3.0, 1.0, 9.0)]
    assert median_cases(repeats) == [{"case": "a", "ms": 3.0}, {"case": "b", "ms": 6.0}]


def test_what_was_not_measured_has_no_row() -> None:
    assert median_row({"ratio": "a/b"}, [None, None], at_least=2.0) == []
    row = {"ratio": "a/b", "value": 2.0, "all": [1.0, 3.0]}
    assert median_row({"ratio": "a/b"}, [1.0, None, 3.0], at_least=None) == [row]


def test_quotient_takes_the_best_of_each() -> None:
    repeat = {
        "ours-1": {"rate": 450.0, "cpu": 2.0},
        "ours-2": {"rate": 900.0, "cpu": 3.0},
        "peer-1": {"rate": 300.0, "cpu": 8.0},
        "peer-2": {"rate": 200.0, "cpu": 9.0},
    }
    assert quotient(repeat, "ours-", "peer-") == 3.0
    assert quotient(repeat, "peer-", "ours-", "cpu", best=min) == 4.0
    assert quotient(repeat, "ours-", "other-") is None
    assert quotient({"a": {"rate": 2.0}, "a_2": {"rate": 6.0}, "b": {"rate": 1.0}}, "a", "b") == 2.0


def test_ratios_are_medians_of_ratios_within_repeats() -> None:
    """Each repeat has a load of its own: the ratio of medians would mix them."""
    repeats = [
        {"local": {"rate": local}, "remote": {"rate": remote}}
        for local, remote in ((100.0, 90.0), (1000.0, 800.0), (10.0, 9.5))
    ]
    (row,) = ratio_rows(repeats, [("a", "remote", "local", 0.9), ("a", "remote", "absent", None)])
    assert row == {
        "ratio": "a/local", "value": 0.9, "all": [0.9, 0.8, 0.95], "at_least": 0.9
    }  # fmt: skip
