import subprocess
from types import SimpleNamespace

import pytest

from retro_agents.ground.errors import UserError
from retro_agents.run import environments
from retro_agents.run.environments import python_of


def test_torch_is_installed_apart_from_what_pins_its_setuptools(tmp_path, monkeypatch):
    """torch wants a newer setuptools than old peers are built with."""
    calls, file = [], tmp_path / "old.txt"
    file.write_text("gym==0.23.1\n")

    def run(words, *, env=None, **_):
        calls.append((words, (env or {}).get("PIP_CONSTRAINT")))
        (tmp_path / "old").mkdir(exist_ok=True)
        return SimpleNamespace(returncode=0)

    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    monkeypatch.setattr(environments, "CACHE", tmp_path)
    monkeypatch.setattr(subprocess, "run", run)
    python_of(file)
    _, (first, free), (second, pinned) = calls
    assert first[-1].startswith("torch==") and free is None
    assert "--requirement" in second and pinned.endswith("old.txt")
    assert not any(word.startswith("torch") for word in second)
    calls.clear()
    python_of(file, with_torch=False)  # another environment than the one that is there
    assert [constraint for _, constraint in calls[1:]] == [pinned]


@pytest.mark.parametrize("gone", ["bin/python", "lib/python3.*"])
def test_an_environment_whose_python_is_gone_is_made_anew(gone, tmp_path, monkeypatch):
    calls, file, call = [], tmp_path / "old.txt", subprocess.run
    file.write_text("gym==0.23.1\n")

    def run(words, **named):
        calls.append(words)
        return SimpleNamespace(returncode=0) if "pip" in words else call(words, **named)

    monkeypatch.setattr(environments, "CACHE", tmp_path)
    monkeypatch.setattr(subprocess, "run", run)
    for _ in range(2):
        python_of(file, with_torch=False)
    assert len(calls) == 2  # venv and pip, once
    (path,) = (tmp_path / "old").glob(gone)
    path.rename(path.with_name("other"))
    path.symlink_to("nowhere")
    assert python_of(file, with_torch=False).exists() and len(calls) == 4


def test_an_environment_that_cannot_be_made_is_one_line(tmp_path, monkeypatch):
    (tmp_path / "old.txt").write_text("gym==0.23.1\n")
    monkeypatch.setattr(environments, "CACHE", tmp_path)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(returncode=1))
    with pytest.raises(UserError, match="could not be made"):
        python_of(tmp_path / "old.txt")
