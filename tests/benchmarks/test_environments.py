import subprocess
from types import SimpleNamespace

from benchmarks.peers import environments
from benchmarks.peers.environments import peer_python


def test_torch_is_installed_apart_from_what_pins_its_setuptools(tmp_path, monkeypatch):
    """torch wants a newer setuptools than old peers are built with."""
    calls = []

    def run(words, *, env=None, **_):
        calls.append((words, (env or {}).get("PIP_CONSTRAINT")))
        (tmp_path / "procgen").mkdir(exist_ok=True)
        return SimpleNamespace(returncode=0)

    monkeypatch.delenv("PIP_CONSTRAINT", raising=False)
    monkeypatch.setattr(environments, "CACHE", tmp_path)
    monkeypatch.setattr(environments, "ROOT", tmp_path)
    monkeypatch.setattr(subprocess, "run", run)
    peer_python("procgen")
    _, (first, free), (second, pinned) = calls
    assert first[-1].startswith("torch==") and free is None
    assert "--requirement" in second and pinned.endswith("procgen.txt")
    assert not any(word.startswith("torch") for word in second)
    calls.clear()
    peer_python("procgen", with_torch=False)  # another environment than the one that is there
    assert [constraint for _, constraint in calls[1:]] == [pinned]
