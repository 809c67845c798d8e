"""A remote level is a vector environment too."""

from tests.contest.conftest import start, toy

__all__ = ["start", "toy"]
