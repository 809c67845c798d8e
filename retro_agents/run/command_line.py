"""A command's config: from its defaults, then a preset, then a file, then flags."""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from retro_agents.ground.errors import UserError, need
from retro_agents.ground.files import complete_checkpoints
from retro_agents.ground.names import nearest_text
from retro_agents.ground.processes import first_one_speaks
from retro_agents.run.config import flat, from_dict, preset_names, read_file, to_dict
from retro_agents.run.fields import NOTHING, fields, flag_of, flag_with, is_on, places, required
from retro_agents.run.flags import Words

T = TypeVar("T")


def load_config(
    cls: type[T],
    argv: Sequence[str],
    *,
    presets: Path | None,
    command: str,
    defaults: Mapping[str, Any] = NOTHING,
) -> T:
    """Config of a command: defaults of `cls` <- --preset <- --config <- flags; the last one wins.

    argv: the arguments without the program. presets: folder of NAME.yaml files, if any.
    command: its name in --help. defaults: replace those of `cls` for some fields.
    Raises UserError for an unknown preset, field or flag (and names the nearest one), an unreadable
    file or a bad value.
    """
    words = Words(cls, argv, command=command, presets=preset_names(presets), files=True)
    return _loaded(cls, words, presets, defaults=defaults)


def parse_command(
    cls: type[T],
    argv: Sequence[str] | None = None,
    *,
    command: str,
    defaults: Mapping[str, Any] = NOTHING,
) -> T:
    """`cls` from a command's arguments alone, without presets; some fields may be required.

    argv: without the program; None: this program's own. command: its name in --help.
    defaults: replace those of `cls` for some fields. Raises UserError for unknown, missing or bad
    arguments.
    """
    argv = sys.argv[1:] if argv is None else argv
    words = Words(cls, argv, command=command, presets=(), files=False)
    return check_needs(_with_flags(cls, words, defaults))


@first_one_speaks()
def load_run_config(
    cls: type[T], argv: Sequence[str] | None = None, *, presets: Path, command: str
) -> T:
    """`load_config` for a trainer; without argv, of this program's arguments.

    A resumed run keeps its own config, except where flags or a file change it. Raises UserError
    also for a preset, which would replace all of it, and for a field that only a new run may set.
    With auto_resume, a run that has a checkpoint is resumed; the words are those it began with, so
    its preset is among them.
    """
    argv = sys.argv[1:] if argv is None else argv
    words = Words(cls, argv, command=command, presets=preset_names(presets), files=True)
    # Before anything is checked: what contradicts the defaults may suit the run.
    given = {**words.in_file, **words.given}
    run_dir = Path(str(given.get("run_dir", flat(to_dict(cls())).get("run_dir"))))
    own = run_dir / "config.json"
    repeated = given.get("auto_resume") and not given.get("resume")
    if repeated and complete_checkpoints(run_dir / "checkpoints"):
        for words_of in (words.in_file, words.given):
            words_of.pop("auto_resume", None)
        given["resume"] = words.given["resume"] = True
    if not given.get("resume") or not own.is_file():
        return check_needs(_loaded(cls, words, presets))
    if words.preset is not None and not repeated:
        raise UserError(
            f"--preset {words.preset} is for the start of a run: to resume with another setting, "
            "give it as a flag or in a file for --config"
        )
    kept = read_file(own, what=str(own)) | {"run_dir": str(run_dir)}
    here = places(cls, kept)
    if strange := [name for name in kept if name not in here]:
        raise UserError(_not_ours(run_dir, strange[0], command=command))
    others = places(cls, kept | words.in_file | words.levels())
    if strange := [name for name in kept if name not in others]:
        raise UserError(
            f"{run_dir} learned on {kept.get('levels')}, and the given levels are of other games, "
            f"which have no {strange[0]}: leave out --levels, or begin another run"
        )
    changed = _preset(cls, words, presets) | words.in_file
    config = check_needs(_with_flags(cls, words, kept | changed))
    now = flat(to_dict(config))
    for name in fields(config, "start"):
        if name in kept and now[name] != kept[name]:
            raise UserError(
                f"{flag_with(name, now[name])} is for the start of a run; {run_dir} is resumed: "
                "leave it out"
            )
    return config


def _not_ours(run_dir: Path, field: str, *, command: str) -> str:
    """The error for a run with a field that this command's config lacks: another agent's run, which
    its last checkpoint names."""
    with suppress(OSError, ValueError, LookupError):
        newest = complete_checkpoints(run_dir / "checkpoints")[-1]
        agent = json.loads((newest / "meta.json").read_text(encoding="utf-8"))["agent"]
        if f"python -m {agent}.train" != command:
            ours = sys.argv[0].startswith("retro-agents ")
            train = f"retro-agents train {agent}" if ours else f"python -m {agent}.train"
            resume = f"{train} --run-dir {shlex.quote(str(run_dir))} --resume"
            return f"{run_dir} is a run of {agent}: {resume}"
    return (
        f"{run_dir} is not a run of {command} (its config.json has the field {field!r}); resume it "
        "with the agent and version that began it"
    )


def _loaded(
    cls: type[T], words: Words, presets: Path | None, *, defaults: Mapping[str, Any] = NOTHING
) -> T:
    """`cls` from defaults, then the preset and the file that the words name, then flags."""
    values = {**defaults, **_preset(cls, words, presets, defaults=defaults)}
    return _with_flags(cls, words, values | words.in_file)


def _preset(
    cls: type, words: Words, presets: Path | None, *, defaults: Mapping[str, Any] = NOTHING
) -> dict[str, Any]:
    """The values of the preset that the words name; {} without one."""
    if (name := words.preset) is None:
        return {}
    names = preset_names(presets)
    if presets is None or name not in names:
        raise UserError(f"unknown preset {name!r}; {nearest_text(name, names)}")
    found = read_file(presets / f"{name}.yaml", what=f"preset {name!r}")
    values = {**defaults, **found}
    here = places(cls, values | words.levels())
    if strange := [key for key in places(cls, values) if key in values and key not in here]:
        from_dict(cls, words.levels())  # no preset is for levels that the agent cannot play
        raise UserError(
            f"preset {name!r} is not for --levels {words.given['levels']}, which have no "
            f"{strange[0]}: give other levels, or another preset"
        )
    return found


def _with_flags(cls: type[T], words: Words, values: Mapping[str, Any]) -> T:
    """`cls` from values, then flags."""
    first = flat(values) | words.levels()
    here = places(cls, first)
    if words.helps:
        own = {name: place.field.default for name, place in here.items() if not place.required}
        words.help(here, own if required(cls) else flat(to_dict(from_dict(cls, first))))
    words.check_kind(here)
    config = from_dict(cls, {**values, **words.given})
    check_effects(config, words.given)
    return config


def check_needs(config: T) -> T:
    """Returns the config. Raises ModuleNotFoundError, as `need` does, if a field that is on needs a
    missing module."""
    values = flat(to_dict(config))
    for name, place in places(config).items():
        if is_on(values, name):
            modules = (module.format(values[name]) for module in place.says("needs", ()))
            need(*(module for module in modules if ":" not in module))  # which is a user's own
    return config


def check_effects(config: Any, given: Iterable[str]) -> None:
    """Raises UserError if one of the given fields would have no effect."""
    values, here = flat(to_dict(config)), places(config)
    for name in given:
        others, other = here[name].says("only_with", ()), here[name].says("without")
        if others and not any(is_on(values, one) for one in others):
            flags = " or ".join(map(_flag_for, others))
            flag = _flag_for(f"{name}={values[name]}" if values[name] is False else name)
            raise UserError(f"{flag} has no effect without {flags}: give that too, or leave it out")
        if other and is_on(values, other):
            off = flag_with(other, type(values[other])())
            instead = "leave one out" if other in given else f"give {off} too"
            raise UserError(f"{flag_of(name)} has no effect with {_flag_for(other)}: {instead}")


def _flag_for(condition: str) -> str:
    """The flag that makes a condition hold."""
    name, _, value = condition.partition("=")
    return flag_with(name, False) if value == "False" else f"{flag_of(name)} {value}".strip()
