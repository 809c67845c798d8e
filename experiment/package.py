"""What an agent's package offers to everybody who knows only its name: one written protocol."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from math import nan
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from experiment.arguments import flag_with
from experiment.config import load_run_config, nearest_text, replaced, to_dict
from experiment.errors import UserError, command

if TYPE_CHECKING:
    from torch import Tensor, nn  # slow to import

C = TypeVar("C")
AGENTS = ("rainbow", "ppo2", "trpo", "impala", "sac", "jerk", "es")
"""Packages named in messages; any other that keeps to the protocol works too."""


Images = NDArray[np.uint8]
Actions = NDArray[np.int64]
Flags = NDArray[np.bool_]


OnCheckpoint = Callable[[Path, dict[str, float]], None]
"""Called with the run's folder, and what it has `reached`."""


def reached(run: Any) -> dict[str, float]:
    """Of a run that counts env_steps and keeps its recent_returns: these steps, and the mean
    return (nan: no episode has ended)."""
    mean = fmean(run.recent_returns) if run.recent_returns else nan
    return {"env_steps": run.env_steps, "mean_return": mean}


class Policy(Protocol):
    """What acts."""

    config: Any

    def act(self, obs: Images, *, explore: bool = False, starts: Flags | None = None) -> Actions:
        """obs uint8 [N,C,H,W] -> actions int64 [N].

        explore: as it does while it learns. starts [N]: rows that begin an episode, for an agent
        that remembers from call to call.
        """
        ...


class Agent(Policy, Protocol):
    """What a package trains, loads or builds."""

    def save(self, folder: Path | str) -> None:
        """Write a checkpoint that the package's `load` reads."""
        ...


class ScoringPolicy(Policy, Protocol):
    """One with a net whose scores others may search, show or draw actions by."""

    logits: bool
    """Whether scores are a policy's logits; else they are expected returns."""

    @property
    def net(self) -> nn.Module:
        """With an `encoder`."""
        ...

    def scores(self, images: Tensor) -> Tensor:
        """Images uint8 [B,C,H,W] -> [B,A], with gradient; larger is better."""
        ...


PARTS = ("Config", "PRESETS", "NOT_INHERITED", "build", "load", "run")


class AgentPackage(Protocol):
    """The names that a package's __init__.py exports: PARTS."""

    Config: type
    """Its frozen dataclass, with the sections `run` and `env`."""
    PRESETS: Path
    """Folder of NAME.yaml files."""
    NOT_INHERITED: Mapping[str, Any]
    """Fields that hold for the run they were given to -> their values in one that starts from its
    checkpoint."""

    def build(
        self,
        config: Mapping[str, Any],
        weights: Mapping[str, Any] | None = None,
        *,
        device: str = "cpu",
    ) -> Agent:
        """The agent of a checkpoint's config and weights (its tensors["net"]); without these an
        untrained one."""
        ...

    def load(self, folder: Path | str, *, device: str = "cpu") -> Agent:
        """The agent in a checkpoint folder. UserError: it is cut off, or another package's."""
        ...

    def run(
        self,
        envs: Any,
        config: Any,
        run_dir: Path | str,
        init: Path | str | None = None,
        *,
        on_checkpoint: OnCheckpoint | None = None,
    ) -> Agent:
        """Its only loop: train on `envs` for config.run.timesteps agent steps.

        on_checkpoint: called after each checkpoint; of the agents that populations train.
        """
        ...


def lazily(homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's __getattr__. homes: module -> the names that the package has from it, imported
    when one is asked for: torch takes seconds."""
    found = {name: module for module, names in homes.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in found:
            raise AttributeError(f"there is no {name!r} here")
        return getattr(importlib.import_module(found[name]), name)

    return get


def parser(
    package: str, config: type[C], presets: Path, *, script: str | None = None
) -> Callable[..., C]:
    """Of `python -m PACKAGE.train`: arguments -> config. A package's __init__.py makes it, where it
    answers --help and a shell's completion at once, before that module imports torch.

    script: a file that is the same command.
    """
    parse = partial(load_run_config, config, presets=presets, command=f"python -m {package}.train")
    asked = {"-h", "--help"} & set(sys.argv) or "_ARGCOMPLETE" in os.environ
    called = sys.argv[0] == "-m" and f"{package}.train" in sys.orig_argv
    if asked and (called or (script and sys.argv[0].endswith(script))):
        command(parse)()
    return parse


def with_this_project() -> dict[str, str]:
    """The environment variables of a process that finds this project where this one does."""
    root = str(Path(__file__).resolve().parents[1])
    return {"PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}


def is_package(name: str) -> bool:
    """Whether an agent package of that name is installed."""
    return home_of(name) is not None


def shipped(name: str) -> Path | None:
    """The checkpoint folder that comes with the package of that name, if one does."""
    home = home_of(name)
    return home / "pretrained" if home and (home / "pretrained").is_dir() else None


def home_of(name: str) -> Path | None:
    """The folder of an agent package, found without importing it; None: there is none."""
    spec = None
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    places = map(Path, (spec.submodule_search_locations or []) if spec else [])
    return next((place for place in places if (place / "agent.py").is_file()), None)


def find(name: str) -> AgentPackage:
    """The package of that name. UserError: there is none, or it lacks a part of the protocol."""
    if not is_package(name):
        known = [agent for agent in AGENTS if is_package(agent)]
        raise UserError(f"no agent {name!r} is installed here; {nearest_text(name, known)}")
    package: Any = importlib.import_module(name)
    if lacking := [part for part in PARTS if not hasattr(package, part)]:
        raise UserError(
            f"the package {name} lacks {', '.join(lacking)}, which its __init__.py must export "
            "(experiment/package.py)"
        )
    return package


def check_alike(theirs: Any, ours: Any, *, source: Path | str, wider: bool = False) -> None:
    """UserError: an agent from `source` sees or does other things than this run.

    theirs, ours: settings of environments (`envs.EnvSettings`). wider: this run may have further
    actions behind theirs.
    """
    most = theirs.spec().actions if wider else None

    def seen_and_done(settings: Any) -> tuple[Any, ...]:
        spec = settings.spec()
        seen = spec.family, spec.observation_shape, spec.steps_back, spec.difference
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
