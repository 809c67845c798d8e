"""What an agent package offers to code that knows only its name: one written protocol.

A checkpoint names its agent, and may come from anybody. So `find` accepts no package merely
because Python finds it, and imports none.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from retro_agents.contract.policy import Agent
from retro_agents.ground.errors import UserError
from retro_agents.ground.names import nearest_text
from retro_agents.ground.requirements import ROOT
from retro_agents.run.config import replaced, to_dict
from retro_agents.run.fields import flag_with

AGENTS = ("rainbow", "ppo2", "trpo", "impala", "sac", "jerk", "es")
"""The packages of this project; any other that follows the protocol works too."""
GROUP = "retro_agents.agents"
"""The entry points by which an installed package says that it is an agent."""


class AgentPackage:
    """The agent package with a name; each of its parts is imported when it is first needed.

    config.py has `Config`, a frozen dataclass with the sections `run` and `env`, whose fields say
    their roles. presets/ holds NAME.yaml files. agent.py has `build` and `load`, train.py `run`.
    """

    def __init__(self, name: str, home: Path) -> None:
        self.name, self.PRESETS = name, home / "presets"

    def part(self, module: str, name: str) -> Any:
        """The object of that name in that module. Raises UserError if the package lacks it."""
        try:
            return getattr(importlib.import_module(f"{self.name}.{module}"), name)
        except AttributeError:
            raise UserError(
                f"the package {self.name} lacks {name} in {self.name}/{module}.py, which every "
                "agent has (CONTRIBUTING.md)"
            ) from None

    @property
    def about(self) -> str:
        """The first line of its docstring."""
        return (importlib.import_module(self.name).__doc__ or "").partition("\n")[0]

    @property
    def Config(self) -> Any:  # noqa: N802  a class
        """Its config class."""
        return self.part("config", "Config")

    @property
    def build(self) -> Callable[..., Agent]:
        """build(config, weights=None, *, device="cpu"): the agent with a checkpoint's config and
        weights (its tensors["net"]); untrained without weights."""
        return self.part("agent", "build")

    @property
    def load(self) -> Callable[..., Agent]:
        """load(folder, *, device="cpu"): the agent in a checkpoint folder. Raises UserError
        if that is damaged or foreign."""
        return self.part("agent", "load")

    @property
    def run(self) -> Callable[..., Agent]:
        """run(envs, config, run_dir, init=None): train on `envs` for config.run.timesteps agent
        steps. Agents that populations train also take on_checkpoint, called after each one."""
        return self.part("train", "run")


def with_this_project() -> dict[str, str]:
    """Environment variables with which another process finds this project's code."""
    if Path(sysconfig.get_path("purelib")).resolve() == ROOT:  # every process finds it there
        return {}
    places = [str(ROOT), os.environ.get("PYTHONPATH")]
    return {"PYTHONPATH": os.pathsep.join(filter(None, places))}


def is_package(name: str) -> bool:
    """Whether Python finds an agent package of that name."""
    return home_of(name) is not None


def shipped(name: str) -> Path | None:
    """The checkpoint folder that is shipped with the package of that name, if any."""
    home = home_of(name)
    return home / "pretrained" if home and (home / "pretrained").is_dir() else None


def home_of(name: str) -> Path | None:
    """The folder of an agent package, found without importing it; None if there is none. A package
    of this project is looked for beside this one, and nowhere else."""
    places = [ROOT / name] if name in AGENTS else _found(name)
    return next((place for place in places if (place / "agent.py").is_file()), None)


def _found(name: str) -> list[Path]:
    """The folders from which Python would import a package; [] if it finds none."""
    spec = None
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    return [*map(Path, (spec.submodule_search_locations or []) if spec else [])]


def find(name: str) -> AgentPackage:
    """The package of that name, which may come from a checkpoint: one of this project, one that an
    installed distribution registers (an entry point of GROUP), or one that this program has
    imported already. Raises UserError if it is none of these, and imports nothing."""
    if name not in AGENTS and name not in sys.modules and name not in _registered():
        raise _unknown(name)
    return _package(name)


def find_given(name: str) -> AgentPackage:
    """The package that the user names, which need not be installed. It is imported, so that `find`
    knows it too. Raises UserError if there is none."""
    package = _package(name)
    importlib.import_module(name)
    return package


def _package(name: str) -> AgentPackage:
    if (home := home_of(name)) is None:
        raise _unknown(name)
    if not any(place.resolve() == home.resolve() for place in _found(name)):
        raise UserError(
            f"a folder {name} hides the agent {name}, which is in {home.parent}: start from "
            "another folder, or rename that one"
        )
    return AgentPackage(name, home)


def known_agents() -> list[str]:
    """The agents that are here: the project's, then those that installed distributions register."""
    return [name for name in dict.fromkeys([*AGENTS, *sorted(_registered())]) if is_package(name)]


def _registered() -> set[str]:
    """Names of the agents that installed distributions register. The current folder is left out,
    since anything may have been unpacked there."""
    places = sys.path
    with contextlib.suppress(OSError):  # the current folder is gone
        here = Path.cwd().resolve()
        places = [place for place in sys.path if Path(place).resolve() != here]
    installed = metadata.distributions(path=places)
    return {point.name for one in installed for point in one.entry_points if point.group == GROUP}


def _unknown(name: str) -> UserError:
    return UserError(f"no agent {name!r} is installed here; {advice_for(name)}")


def advice_for(name: str) -> str:
    """What to do about an agent that is not known: install it, if its project is here."""
    if (Path(name) / "pyproject.toml").is_file():
        return f"pip install -e {name} makes it known"
    return nearest_text(name, known_agents())


def check_alike(theirs: Any, ours: Any, *, source: Path | str, wider: bool = False) -> None:
    """Raises UserError if an agent from `source` has other observations or actions than this run.

    theirs, ours: settings of environments (`envs.EnvSettings`). wider: this run may have further
    actions after theirs.
    """
    most = theirs.spec().actions if wider else None

    def seen_and_done(settings: Any) -> tuple[Any, ...]:
        spec = settings.spec()
        seen = spec.family, spec.observation_shape, spec.steps_back
        return *seen, spec.action_names[:most], spec.frame_skip

    here = seen_and_done(ours)
    if seen_and_done(theirs) == here:
        return
    known = to_dict(ours)
    flags = [
        flag_with(name, value)
        for name, value in to_dict(theirs).items()
        if name in known and seen_and_done(replaced(ours, **{name: value})) != here
    ]
    raise UserError(
        f"{source} was trained with other observations or actions than this run's; give "
        f"{' '.join(flags) or 'levels of ' + theirs.spec().family}"
    )
