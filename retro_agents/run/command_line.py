"""The arguments of a command: a flag for each field of a config, read by argparse."""

import argparse
import dataclasses
import difflib
import functools
import inspect
import os
import re
import shlex
from collections.abc import Callable, Container, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import docstring_parser

from retro_agents.ground.errors import Parser, UserError
from retro_agents.ground.names import named

ELSEWHERE = {
    "env-name": "levels",
    "env-id": "levels",
    "env": "levels",
    "test-worker-interval": "evaluate-every",
    "video-dir": "out",
    "exp-name": "run-dir",
    "name": "run-dir",
    "checkpoint": "init",
    "param-name": "preset",
    "num-timesteps": "timesteps",
    "total-timesteps": "timesteps",
    "total-steps": "timesteps",
    "gpu-device": "device",
    "n-envs": "num-envs",
    "num-processes": "num-envs",
    "n-steps": "rollout-steps",
    "num-steps": "rollout-steps",
    "nsteps": "rollout-steps",
    "unroll-length": "rollout-steps",
    "rollout-fragment-length": "rollout-steps",
    "train-batch-size": "batch-size",
    "num-workers": "actors",
    "num-actors": "actors",
    "epoch": "epochs",
    "num-epochs": "epochs",
    "update-epochs": "epochs",
    "ppo-epoch": "epochs",
    "num-sgd-iter": "epochs",
    "mini-batch-per-epoch": "minibatches",
    "num-minibatches": "minibatches",
    "lmbda": "lam",
    "gae-lambda": "lam",
    "lambda": "lam",
    "eps-clip": "clip",
    "clip-param": "clip",
    "clip-coef": "clip",
    "eps": "clip",
    "grad-clip-norm": "gradient-norm",
    "max-grad-norm": "gradient-norm",
    "grad-eps": "gradient-norm",
    "grad-clip": "gradient-norm",
    "value-coef": "value-weight",
    "vf-coef": "value-weight",
    "vf-loss-coeff": "value-weight",
    "vf-clip-param": "value-clip-range",
    "kl-coeff": "kl-penalty",
    "kl-target": "kl-aim",
    "beta": "penalty",
    "entropy-coef": "entropy-weight",
    "ent-coef": "entropy-weight",
    "feature-dim": "hidden",
    "architecture": "encoder",
    "normalize-adv": "normalise",
    "normalize-rew": "normalise-returns",
    "norm-adv": "normalise",
    "anneal-lr": "learning-rate-schedule",
    "num-checkpoints": "checkpoint-every",
    "rand-seed": "seed",
    "use-backgrounds": "backgrounds",
    "use-monochrome-assets": "monochrome",
    "use-generated-assets": "generated-assets",
    "paint-vel-info": "velocity-info",
    "center-agent": "centre-agent",
    "lr": "learning-rate",
    "gpu": "device",
    "cuda": "device",
    "steps": "timesteps",
    "buffer-size": "replay-size",
}
"""What other programs call a flag -> what ours do."""
REFUSED = {
    **dict.fromkeys(
        ("sequential-levels", "use-sequential-levels"),
        "EnvPool draws levels at random and cannot play them in order",
    ),
    **dict.fromkeys(
        ("batch-size", "mini-batch-size"),
        "a rollout is cut into --minibatches: num_envs x rollout_steps / rows of one",
    ),
    "policy": "it is the command: python -m ppo2.train, python -m trpo.train",
    "log-level": "what is logged goes into the run's folder, and has no levels",
    **dict.fromkeys(
        ("preset", "config"),
        "trainers take it, and `retro-agents contest run` passes it on after --",
    ),
    "render-mode": "nothing is shown while it learns; --video-every films episodes",
}
"""What other programs have and ours do not -> why."""
MOST_USED = (
    *("levels", "timesteps", "num_envs", "run_dir", "resume", "init", "preset", "config", "seed"),
    *("device", "rotate_every", "learning_rate"),
)
"""Fields that a trainer's help shows first."""
BEFORE = ("Most used", "What is played", "Where it goes")
AFTER = ("The environment", "The machine")
"""Titles of a trainer's help; between these stand those that say how it learns."""
SPLIT_NAMES = "retro_agents.games.families:split_names"
"""What completes --levels."""
KINDS = {int: "INT", float: "FLOAT", str: "TEXT", Path: "PATH"}


class _Parser(Parser):
    """Knows whole names only, and leaves out what is not given."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, argument_default=argparse.SUPPRESS, **options)


def flag_with(name: str, value: Any) -> str:
    """A field's flag with that value, as a command spells it: --hidden 32, --pool, --no-pool."""
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag} {shlex.quote(str(value))}"


def words_of(argv: Sequence[str]) -> list[str]:
    """The arguments, flags with - for _, and numbers below zero joined to their flag."""
    words: list[str] = []
    for word in argv:
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            words.append(name.replace("_", "-") + equals + value)
        elif words and words[-1].startswith("--") and re.fullmatch(r"-(inf|[\d.].*)", word):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


def read_first(words: Sequence[str]) -> dict[str, Any]:
    """What is given of the flags that decide how all others are read."""
    parser = _Parser(add_help=False)
    for flag in ("--preset", "--config", "--levels", "--run-dir"):
        parser.add_argument(flag)
    parser.add_argument("--resume", action=argparse.BooleanOptionalAction)
    return vars(parser.parse_known_args(words)[0])


def read_flags(
    words: Sequence[str],
    owners: Mapping[str, Any],
    *,
    command: str,
    about: str,
    defaults: Mapping[str, Any],
    files: bool,
    presets: Sequence[str],
    apart: Callable[[], Mapping[str, str]],
) -> dict[str, Any]:
    """Field -> what is given for it, as text or a truth value. --help prints and exits.

    owners: field -> the dataclass that has it, with a text for each. command: as it is called.
    about: what help says first. files: whether --config is a flag too, and --preset where there
    are presets. apart: fields that other levels would bring -> what they are for.
    UserError: an unknown flag (names the nearest), one without its value, or a value too many.
    """
    owners = {name: owner for name, owner in owners.items() if not _hidden(owner, name)}
    others = [*["preset"][: len(presets)], "config"] if files else []
    if not {"-h", "--help"} & set(words):
        _check_names(words, owners, others, apart)
    parser = _Parser(
        prog=command,
        description=about,
        usage=f"{command} [FLAGS]" if files else None,
    )
    texts = {
        "preset": f"Start from a preset: {', '.join(presets)}.",
        "config": "Read a YAML or JSON file; it wins over the preset, and flags over it.",
    }
    for title, names in (_groups(owners, others) if files else {"": list(owners)}).items():
        group = parser.add_argument_group(title) if title else parser
        for name in names:
            if name in others:
                group.add_argument(f"--{name}", help=texts[name], metavar=name.upper())
            else:
                _add_flag(group, owners[name], name, default=defaults.get(name, ""))
    if "_ARGCOMPLETE" in os.environ:
        _complete(parser, {"preset": presets})
    known, rest = parser.parse_known_intermixed_args(words)
    if rest:
        raise UserError(f"{rest[0]!r} belongs to no flag; join several values with commas: A,B")
    given = vars(known)
    return {name: value for name, value in given.items() if name not in others}


def _groups(owners: Mapping[str, Any], others: Sequence[str]) -> dict[str, list[str]]:
    """Title -> the flags below it, by the comments between the fields of a trainer's config."""
    found: dict[str, list[str]] = {title: [] for title in BEFORE}
    found[BEFORE[0]] = [name for name in MOST_USED if name in owners or name in others]
    for name, owner in owners.items():
        if name not in MOST_USED:
            found.setdefault(_titles(owner)[name], []).append(name)
    own = [title for title in found if title not in (*BEFORE, *AFTER)]
    return {title: found[title] for title in (*BEFORE, *own, *AFTER) if found.get(title)}


def _complete(parser: argparse.ArgumentParser, choices: dict[str, Sequence[str]]) -> None:
    """Answer the shell that asks how a word goes on, and exit."""
    import argcomplete

    choices = {"levels": named(SPLIT_NAMES)(), "init": [], **choices}
    for action in parser._actions:
        options = choices.get(action.dest) or re.findall(r"[^{},]+", str(action.metavar))
        if action.dest in choices or str(action.metavar).startswith("{"):
            action.completer = lambda options=options, **_: options  # type: ignore[attr-defined]
    argcomplete.autocomplete(parser)


def _hidden(owner: Any, name: str) -> bool:
    return any(f.name == name and "hidden" in f.metadata for f in dataclasses.fields(owner))


def _add_flag(group: Any, owner: Any, name: str, *, default: Any) -> None:
    """One field as a flag, or as what is given without one."""
    (field,) = (f for f in dataclasses.fields(owner) if f.name == name)
    hint = get_type_hints(owner)[name]
    shown = " ".join(map(str, default)) if isinstance(default, (list, tuple)) else default
    text = _texts(owner).get(name, "") + (f" (default: {shown})" if shown not in ("", None) else "")
    options: dict[str, Any] = {"help": text.replace("%", "%%")}
    many = get_origin(hint) in (tuple, list)
    if "metavar" in field.metadata:
        metavar = field.metadata["metavar"]
        group.add_argument(name, metavar=metavar, nargs="+" if many else None, **options)
    elif hint is bool:
        flag = "--" + name.replace("_", "-")
        group.add_argument(flag, action=argparse.BooleanOptionalAction, **options)
    else:
        missing = field.default is field.default_factory is dataclasses.MISSING
        options |= {"nargs": "*"} if many else {}
        options |= {"action": "extend"} if many and str in get_args(hint) else {}  # of words
        options |= {"required": missing, "metavar": _metavar(hint)}
        group.add_argument("--" + name.replace("_", "-"), **options)


def _metavar(hint: Any) -> str:
    if get_origin(hint) in (tuple, list):
        hint = get_args(hint)[0]
    if get_origin(hint) is Literal:
        return "{" + ",".join(map(str, get_args(hint))) + "}"
    return next((KINDS[kind] for kind in get_args(hint) or (hint,) if kind in KINDS), "VALUE")


@functools.cache
def _texts(owner: Any) -> dict[str, str]:
    """Field -> what the source says below it, on one line."""
    return {
        text.arg_name: " ".join((text.description or "").split())
        for cls in reversed(owner.__mro__)
        if dataclasses.is_dataclass(cls)
        for text in docstring_parser.parse_from_object(cls).params
    }


@functools.cache
def _titles(owner: Any) -> dict[str, str]:
    """Field -> the comment of one line above it, or above a field before it; else the class's."""
    found, title = {}, (inspect.getdoc(owner) or "").partition("\n")[0].rstrip(".")
    for line in inspect.getsource(owner).splitlines():
        if comment := re.fullmatch(r"    # (.+)", line):
            title = comment[1]
            if title not in (*BEFORE, *AFTER):
                title = f"How it learns: {title[0].lower()}{title[1:]}"
        elif field := re.match(r"    (\w+): ", line):
            found[field[1]] = title
    return found


def _check_names(
    words: Sequence[str],
    owners: Mapping[str, Any],
    others: Sequence[str],
    apart: Callable[[], Mapping[str, str]],
) -> None:
    """UserError for the first --flag that is none; it names the nearest one."""
    known = ["--help", *(f"--{name}" for name in others)]
    for name, owner in owners.items():
        flag = name.replace("_", "-")
        known += (
            [f"--{flag}", f"--no-{flag}"] if get_type_hints(owner)[name] is bool else [f"--{flag}"]
        )
    for word in words:
        flag = word.partition("=")[0]
        if flag.startswith("--") and flag not in known:
            raise UserError(f"unknown flag {flag}; {_nearest(flag, known, apart())}")


def _nearest(flag: str, known: Sequence[str], apart: Mapping[str, str]) -> str:
    """What to say of a flag that is none: it is another's name elsewhere, or one of other levels,
    or words of one, or written like one."""
    if (name := flag[2:]) in REFUSED:
        return REFUSED[name]
    ours = f"--{ELSEWHERE.get(name, name)}"
    if kind := apart.get(ours[2:].removeprefix("no-").replace("-", "_")):
        return f"{'it' if ours == flag else ours} is for {kind}"
    if name in ELSEWHERE:
        return did_you_mean(ours, known)
    parts = set(name.split("-"))
    close = [other for other in known if parts <= set(other[2:].split("-"))]
    close += difflib.get_close_matches(flag, known, n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}?" if close else "see --help"


def did_you_mean(ours: str, known: Container[str]) -> str:
    """What to say of another program's name for `ours`."""
    return f"did you mean {ours!r}?" if ours in known else f"it is {ours!r}, which is not here"
