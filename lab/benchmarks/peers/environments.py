"""The peers' own virtual environments."""

from pathlib import Path

from retro_agents.run.environments import python_of


def requirements(name: str) -> Path:
    """The file of a peer's pinned packages."""
    return Path(__file__).parent / f"{name}.txt"


def peer_python(name: str, *, with_torch: bool = True) -> Path:
    """The Python of a peer's environment, see `python_of`."""
    return python_of(requirements(name), with_torch=with_torch)
