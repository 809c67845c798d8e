"""The message when nothing can run: Python is too old, or lacks our packages.

Such a Python reads this file too, so its syntax must be that of 3.6.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The checkout, or the folder of the installed packages."""
IN_CHECKOUT = (ROOT / "scripts" / "install").is_file()


def check() -> None:
    """Exits with one line and code 2 unless this Python can run the project."""
    old = sys.version_info < (3, 11)
    if not old and find_spec("msgspec") and find_spec("numpy"):
        return
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    what = "is too old: 3.11 or newer is needed" if old else "lacks the packages needed"
    venv = ROOT / ".venv"
    if not IN_CHECKOUT:
        how = "install all of it: pip install retro-contest-agents"
    elif not (venv / "bin" / "python").exists():
        how = ".venv is missing: run scripts/install, which makes it"
    elif Path(sys.prefix).resolve() == venv.resolve():
        how = ".venv is not complete: run scripts/install"
    elif sys.prefix != sys.base_prefix:  # another environment, such as a leaderboard entry's
        how = f"install them there: {sys.executable} -m pip install {ROOT}"
    else:
        how = ".venv is not active: source .venv/bin/activate, then run this again"
    print(f"error: {python} {what}; {how}", file=sys.stderr)
    raise SystemExit(2)
