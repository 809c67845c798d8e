"""The build with sanitizers plays what was recorded, and says where it ends elsewhere."""

import pytest

from cartridge import sanitize
from retro_agents.ground.errors import UserError
from tests.cartridge.conftest import make, skip_without


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The program with sanitizers, built anew."""
    skip_without("clang", "make")
    built = tmp_path_factory.mktemp("sanitized") / "sanitized"
    done = make(built.parent, built)
    if "libclang_rt" in done.stderr:
        pytest.skip("clang's sanitizers are not installed")
    assert done.returncode == 0, done.stderr
    return built


def test_a_program_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(UserError, match="make -C cartridge sanitized"):
        next(sanitize.play(tmp_path / "none", 1))


@pytest.mark.slow
def test_all_kinds_of_play_are_without_a_finding(program, monkeypatch):
    monkeypatch.setattr(sanitize, "STEPS", 200)
    monkeypatch.setattr(sanitize, "PROOFS", 1)
    monkeypatch.setattr(sanitize, "RANDOM", 1)
    (counts,) = sanitize.play(program, 1)
    assert counts["findings"] == 0
    assert min(counts[f"{kind}_frames"] for kind in sanitize.KINDS) > 0
    assert sum(counts[f"{kind}_frames"] for kind in sanitize.KINDS) == counts["frames"]


@pytest.mark.slow
def test_recorded_play_that_ends_elsewhere_is_found(program, monkeypatch):
    monkeypatch.setattr(sanitize, "learned", lambda seed: iter([(0, bytes(100))]))
    monkeypatch.setattr(sanitize, "PROOFS", 0)
    monkeypatch.setattr(sanitize, "RANDOM", 0)
    with pytest.raises(UserError, match="of learned play was over after"):
        next(sanitize.play(program, 1))
