"""A remote level is a vector environment too."""

from tests.contest.conftest import start, toy
from tests.games.retro.conftest import closed

__all__ = ["closed", "start", "toy"]
