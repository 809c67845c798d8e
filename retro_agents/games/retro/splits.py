"""The splits that come with the project: lists of levels to learn on and to be judged on."""

from pathlib import Path

SPLITS = Path(__file__).parent / "splits"


def split_names() -> list[str]:
    """Names of the splits."""
    return sorted(path.stem for path in SPLITS.glob("*.csv"))
