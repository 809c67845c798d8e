import shutil

import pytest


def skip_without(*programs):
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"no {' and no '.join(missing)}")


@pytest.fixture(scope="session")
def console_compiler():
    """Skips what builds a ROM, where it cannot be built."""
    skip_without("m68k-linux-gnu-gcc", "make")
