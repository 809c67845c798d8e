import errno
import importlib
import signal
import sys

import pytest

from retro_agents.ground.errors import Signalled, UserError, command

FILES = "no more files may be opened (ulimit -n): raise that limit, or give fewer --num-envs"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (UserError("no such level"), 2, "error: no such level\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (KeyboardInterrupt("--resume goes on"), 130, "interrupted; --resume goes on\n"),
        (Signalled(number=signal.SIGTERM), 143, "interrupted\n"),
        (KeyError("our own bug"), None, ""),  # keeps its traceback
        (OSError(errno.EMFILE, "Too many open files"), 2, f"error: {FILES}\n"),
        (PermissionError(errno.EACCES, "No", "/x"), 2, "error: /x: No; give another place"),
        (OSError(errno.ENAMETOOLONG, "Too long", "x"), 2, "error: x: Too long; give another"),
        (PermissionError(errno.EPERM, "No", "a\nb"), 2, "error: a\\nb: No; give another place"),
        (MemoryError(), 2, "error: no memory is left for this process"),
        (RuntimeError("can't start new thread"), 2, "error: no memory is left for this process"),
        (ImportError("x.so: failed to map segment"), 2, "error: no memory is left"),
    ],
    ids=repr,
)
def test_a_user_error_or_an_interrupt_is_one_line_and_a_code(capsys, error, code, said):
    @command
    def main():
        raise error

    with pytest.raises(SystemExit if code else KeyError) as stop:
        main()
    assert not code or stop.value.code == code
    written = capsys.readouterr().err
    assert written.startswith(said) and written.count("\n") == bool(said)


@pytest.mark.parametrize(
    ("name", "words", "module", "extra"),
    [
        ("retro_agents.run.plot", ["{run}"], "matplotlib.figure", "report"),
        ("retro_agents.judging.play", ["BrambleWood.Act1"], "pygame", "play"),
    ],
)
def test_a_module_of_an_extra_that_is_missing_is_named_with_it(
    name, words, module, extra, tmp_path, monkeypatch, refused
):
    (tmp_path / "metrics.csv").write_text("step,loss\n1,2.0\n")
    words = [word.format(run=tmp_path) for word in words]
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setattr(sys, "argv", [name, *words])
    said = refused(importlib.import_module(name).main)
    assert f"{module.partition('.')[0]} is not installed" in said and f"[{extra}]" in said


def test_what_an_error_quotes_cannot_break_its_line():
    assert str(UserError("no file 'a\nb\x1b[2J'")) == r"no file 'a\nb\x1b[2J'"
