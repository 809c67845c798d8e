"""The project's splits: lists of levels for training and for tests."""

from pathlib import Path

SPLITS = Path(__file__).parent / "splits"


def split_names() -> list[str]:
    """Names of the splits."""
    return sorted(path.stem for path in SPLITS.glob("*.csv"))
