"""Options, cases in processes, medians and ratios."""

import importlib
import json
import sys

import pytest

from lab.benchmarks import cases
from lab.benchmarks.cases import (
    RESULTS,
    benchmark,
    in_own_process,
    median_cases,
    median_row,
    quotient,
    ratio_rows,
)
from retro_agents.ground.errors import UserError

MODULES = [
    "actors", "backends", "contest", "env", "equality", "es", "jerk", "lsh_memory", "ppo2",
    "procgen", "rainbow", "rllib",
]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_every_benchmark_says_its_options(module, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [module, "--help"])
    with pytest.raises(SystemExit) as stop:
        importlib.import_module(f"lab.benchmarks.{module}").main()
    said = capsys.readouterr().out
    assert stop.value.code == 0 and "--repeats" in said
    results = [json.loads(path.read_text()) for path in RESULTS.glob(f"{module}*.json")]
    assert results  # it is published
    if any("backend" in result for result in results):
        assert "--backend {emulator,native}" in said  # so that it can be made again


def test_case_is_the_last_line_that_its_process_prints():
    text = "import os; print('noise'); print('{\"seed\": ' + os.environ['CASE_SEED'] + '}')"
    text += "; import sys; print('noise', file=sys.stderr)"
    assert in_own_process("a", [sys.executable, "-c", text], CASE_SEED="7") == {"seed": 7}


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        ([sys.executable, "-c", "raise SystemExit('no emulator')"], "case a failed: no emulator"),
        (["/no/such/none"], r"case a needs .*none, which is not there"),
    ],
)
def test_failed_case_is_named_with_what_it_said(argv, says):
    with pytest.raises(UserError, match=says):
        in_own_process("a", argv)


def call(monkeypatch, words):
    """Run a benchmark of three cases with those options -> the cases of each repeat."""
    wanted = []

    def measure(found, options):
        wanted.append(found)
        return {case: {"ms": len(wanted) * options.seconds} for case in found}

    monkeypatch.setattr(sys, "argv", ["some", *words.split()])
    main = benchmark(
        *("some", None, ["a-1", "a-2", "b"]),
        here=lambda case, options: {"ms": 10 * options.seconds},
        measure=measure,
        repeats=2,
        seconds=0.5,
        backend=cases.BACKENDS,
    )
    main.__wrapped__()
    return wanted


def test_only_takes_the_cases_that_begin_so(monkeypatch, capsys):
    assert call(monkeypatch, "--only a --seconds 2 --repeats 3") == [["a-1", "a-2"]] * 3
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [{"case": "a-1", "ms": 4.0}, {"case": "a-2", "ms": 4.0}]


def test_one_case_is_measured_in_this_process(monkeypatch, capsys):
    assert call(monkeypatch, "--case a-2 --seconds 3") == []
    assert json.loads(capsys.readouterr().out) == {"ms": 30.0}


def test_whole_result_is_stored_with_its_back_end(monkeypatch, tmp_path):
    monkeypatch.setattr(cases, "RESULTS", tmp_path)
    for words, name in (
        ("--write --only a b", "some.json"),
        ("--write --backend native", "some_native.json"),
    ):
        call(monkeypatch, words)
        result = json.loads((tmp_path / name).read_text())
        assert result["rows"][2] == {"case": "b", "ms": 0.75}
        assert result["command"] == f"python -m lab.benchmarks.some {words}"
        assert result["machine"]["cores"]
        assert result["backend"] == ("native" if "native" in words else "emulator")


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
        ("--case a-2 --write", "leave out --case, or --write"),
        ("--backend wasm", "--backend: invalid choice: 'wasm'"),
    ],
)
def test_options_that_measure_nothing_or_store_a_part_are_refused(words, says, monkeypatch):
    with pytest.raises(UserError, match=says):
        call(monkeypatch, words)


def test_medians_are_taken_case_by_case():
    repeats = [{"a": {"ms": value}, "b": {"ms": 2 * value}} for value in (3.0, 1.0, 9.0)]
    assert median_cases(repeats) == [{"case": "a", "ms": 3.0}, {"case": "b", "ms": 6.0}]


def test_what_was_not_measured_has_no_row():
    assert median_row({"ratio": "a/b"}, [None, None], at_least=2.0) == []
    row = {"ratio": "a/b", "value": 2.0, "all": [1.0, 3.0]}
    assert median_row({"ratio": "a/b"}, [1.0, None, 3.0], at_least=None) == [row]


def test_quotient_takes_the_best_of_each():
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


def test_ratios_are_medians_of_ratios_within_repeats():
    """Each repeat has a load of its own: the ratio of medians would mix them."""
    repeats = [
        {"local": {"rate": local}, "remote": {"rate": remote}}
        for local, remote in ((100.0, 90.0), (1000.0, 800.0), (10.0, 9.5))
    ]
    (row,) = ratio_rows(repeats, [("remote", "local", 0.9), ("remote", "absent", None)])
    assert row == {"ratio": "remote/local", "value": 0.9, "all": [0.9, 0.8, 0.95], "at_least": 0.9}
