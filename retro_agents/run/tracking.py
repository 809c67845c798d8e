"""Sends a run's metrics to a service besides its own files: wandb, trackio, MLflow, or your own.

--track package.module:begin names a function of yours: begin(run_dir, config, options, resumes)
returns a Tracker. A resumed run continues the service's same run. What wandb and MLflow keep on
the disk is in the run's folder; trackio has one of its own, TRACKIO_DIR.
"""

import importlib
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Protocol, cast

from retro_agents.ground.errors import UserError
from retro_agents.ground.files import write_text
from retro_agents.ground.names import find_here_too

PROJECT = "retro-contest-agents"
OPTIONS = ("project", "entity", "group", "tags", "mode")
"""What --track-with can say; each service takes some of it."""
Options = Mapping[str, str]


class Tracker(Protocol):
    """Where metrics go."""

    def log(self, values: Mapping[str, float], *, step: int) -> object:
        """Take numbers by name, measured up to this agent step."""

    def finish(self) -> object:
        """The run has ended, or was interrupted."""


def read_options(text: str) -> dict[str, str]:
    """Words KEY=VALUE -> options. Raises UserError if a word has another form."""
    options: dict[str, str] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if name not in OPTIONS or not value or name in options:
            raise UserError(
                f"--track-with {word!r}: expected KEY=VALUE, each key once, of {', '.join(OPTIONS)}"
            )
        options[name] = value
    return options


def begin(
    name: str,
    run_dir: Path,
    *,
    config: Mapping[str, Any],
    options: str = "",
    resumes: bool = False,
) -> Tracker:
    """Begins a run of the service, or resumes the one of this folder. Raises UserError if it does
    not begin, such as without a login."""
    given = read_options(options)
    try:
        if (make := SERVICES.get(name)) is None:
            find_here_too()
            make = resolve_name(name)
        return cast(Tracker, make(run_dir, dict(config), given, resumes))
    except UserError:
        raise
    except ModuleNotFoundError as error:
        if name in SERVICES:
            raise
        raise UserError(f"--track {name}: {error}") from None
    except Exception as error:  # each has classes of its own
        reason = " ".join(str(error).split())
        advice = "log in to it, or give --track ''" if name in SERVICES else "see --track"
        raise UserError(f"{name} does not begin ({reason}): {advice}") from None


def identity(run_dir: Path, service: str, *, resumes: bool) -> str:
    """The name by which a service finds the run again, kept in the run's folder."""
    path = run_dir / f"{service}-id.txt"
    if not resumes or not path.is_file():
        write_text(path, secrets.token_hex(8))
    return path.read_text(encoding="utf-8")


def taken(service: str, options: Options, *names: str) -> dict[str, Any]:
    """The options that a service takes, with its tags as a list. Raises UserError for others."""
    for name in options:
        if name not in names:
            raise UserError(f"--track-with {name}: {service} takes only {', '.join(names)}")
    given: dict[str, Any] = {"project": PROJECT, **options}
    if "tags" in given:
        given["tags"] = given["tags"].split(",")
    return given


def wandb(run_dir: Path, config: dict[str, Any], options: Options, resumes: bool) -> Tracker:
    """A run of Weights & Biases: its module logs."""
    module = importlib.import_module("wandb")
    module.init(
        **taken("wandb", options, *OPTIONS),
        name=run_dir.name,
        config=config,
        resume="allow" if resumes else "never",
        id=identity(run_dir, "wandb", resumes=resumes),
        dir=str(run_dir),
    )
    return cast(Tracker, module)


def trackio(run_dir: Path, config: dict[str, Any], options: Options, resumes: bool) -> Tracker:
    """A run of trackio, whose interface is wandb's, but which finds a run by its name alone."""
    module = importlib.import_module("trackio")
    resume = "allow" if resumes else "never"
    given = taken("trackio", options, "project", "group")
    name = f"{run_dir.name}-{identity(run_dir, 'trackio', resumes=resumes)}"
    module.init(**given, name=name, config=config, resume=resume)
    return cast(Tracker, module)


class MLflow:
    """A run of MLflow, in the run's folder unless MLFLOW_TRACKING_URI names a server."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def log(self, values: Mapping[str, float], *, step: int) -> None:
        """As Tracker's."""
        self.module.log_metrics(dict(values), step=step)

    def finish(self) -> None:
        """As Tracker's."""
        self.module.end_run()


def mlflow(run_dir: Path, config: dict[str, Any], options: Options, resumes: bool) -> Tracker:
    """A run of MLflow."""
    module = importlib.import_module("mlflow")
    given = taken("mlflow", options, "project", "group", "tags")
    if "MLFLOW_TRACKING_URI" not in os.environ:
        module.set_tracking_uri(f"sqlite:///{(run_dir / 'mlflow.db').absolute()}")
    module.set_experiment(given["project"])
    path = run_dir / "mlflow-id.txt"
    if resumes and path.is_file():
        module.start_run(run_id=path.read_text(encoding="utf-8"))
        return MLflow(module)
    tags = dict.fromkeys(given.get("tags", ()), "") | {"group": given.get("group", "")}
    begun = module.start_run(run_name=run_dir.name, tags=tags)
    write_text(path, begun.info.run_id)
    values: dict[str, Any] = {}
    for name, value in config.items():
        inner = isinstance(value, dict)
        values |= {f"{name}.{key}": one for key, one in value.items()} if inner else {name: value}
    module.log_params(values)
    return MLflow(module)


SERVICES: dict[str, Callable[..., Tracker]] = {"wandb": wandb, "trackio": trackio, "mlflow": mlflow}
