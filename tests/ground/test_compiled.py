import errno
from unittest.mock import Mock

import numba.core.caching
import pytest

from retro_agents.ground.compiled import compiled


def twice(x):
    return x + x


def test_without_a_place_for_its_cache_a_function_is_compiled_anyway(monkeypatch):
    monkeypatch.setattr(numba.core.caching.CacheImpl, "_locator_classes", [])
    assert compiled()(twice)(3) == 6


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS])
def test_a_cache_that_cannot_be_written_ends_nothing(error, monkeypatch, tmp_path):
    fails = Mock(side_effect=OSError(error, "x"))
    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "save", fails)
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    assert compiled()(twice)(3) == 6


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
def test_a_damaged_cache_begins_anew(kind, monkeypatch, tmp_path):
    """A loss of power may leave files empty."""
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    compiled()(twice)(3)
    (file,) = tmp_path.rglob(f"*.{kind}")
    file.write_bytes(b"")
    assert compiled()(twice)(3) == 6 and file.stat().st_size
    again = compiled()(twice)
    assert again(3) == 6 and again.stats.cache_hits


def test_a_damaged_cache_that_cannot_be_mended_ends_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.core.config, "CACHE_DIR", str(tmp_path))
    compiled()(twice)(3)
    (file,) = tmp_path.rglob("*.nbi")
    file.write_bytes(b"")
    fails = Mock(side_effect=OSError(errno.ENOSPC, "x"))
    monkeypatch.setattr(numba.core.caching.IndexDataCacheFile, "flush", fails)
    assert compiled()(twice)(3) == 6
