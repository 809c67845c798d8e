"""The studies that lie beside this file as NAME.yaml."""

from pathlib import Path

import msgspec
import yaml

from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest_text
from retro_agents.sweeps.study import Study, find, references

HERE = Path(__file__).parent


def names() -> list[str]:
    """The studies that come with the project."""
    return sorted(path.stem for path in HERE.glob("*.yaml"))


def read(name: str) -> Study:
    """A study by its name, or from a file. UserError: there is none, or it has a mistake."""
    if not name.endswith(".yaml") and name not in names():
        raise UserError(f"no study {name!r}; {nearest_text(name, names())} (or a FILE.yaml)")
    path = Path(name) if name.endswith(".yaml") else HERE / f"{name}.yaml"
    try:
        study = msgspec.convert(yaml.safe_load(path.read_text(encoding="utf-8")), Study)
    except (OSError, yaml.YAMLError, ValueError) as error:
        raise UserError(f"cannot read study {path}: {' '.join(str(error).split())}") from None
    for kind in study.kinds.values():
        find(study, references(kind))
    find(study, [one for pair in study.compare for one in pair])
    return study
