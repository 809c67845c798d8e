"""Configs: one frozen dataclass, filled from its defaults, then a preset, a file, and flags."""

import contextlib
import dataclasses
import difflib
import inspect
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import docstring_parser
import msgspec
import tyro
import yaml

from experiment.errors import UserError
from experiment.ranges import bad_value
from experiment.train_config import TrainConfig

ELSEWHERE = {
    "lr": "learning-rate",
    "gpu": "device",
    "cuda": "device",
    "steps": "timesteps",
    "buffer-size": "replay-size",
}
"""What other programs call a flag -> what ours do."""
T = TypeVar("T")
Run = TypeVar("Run", bound=TrainConfig)


def load_config(
    cls: type[T],
    argv: Sequence[str],
    *,
    presets: Path | None,
    command: str,
    defaults: Mapping[str, Any] | None = None,
) -> T:
    """Config of a command: defaults of `cls` <- --preset <- --config <- flags; later ones win.

    cls: a flat dataclass, every field with a default, numbers with a range of `experiment.ranges`
    where not every number will do. argv: the arguments without the program.
    presets: folder of NAME.yaml files, if any. command: how the command is called, for --help.
    defaults: of some fields, instead of those of `cls`.
    UserError: unknown preset, field or flag (names the nearest), unreadable file, bad value.
    """
    preset, file, flags = _split_argv(argv)
    values: dict[str, Any] = {**(defaults or {})}
    if preset is not None:
        values |= _read(_preset_path(preset, presets), what=f"preset {preset!r}")
    if file is not None:
        values |= _read(Path(file), what=f"config file {file}")
    return _with_flags(cls, flags, values=values, presets=presets, command=command)


def parse_command(cls: type[T], argv: Sequence[str] | None = None, *, command: str) -> T:
    """`cls` from a command's arguments alone, where there are no presets; some may be required.

    argv: without the program; None: the program's own. command: how it is called, for --help.
    UserError: unknown, missing or bad arguments.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    if "-h" not in given and "--help" not in given:
        _check_flag_names(cls, given)
    return _one_line(cls, args=given, prog=command)


def load_run_config(
    cls: type[Run], argv: Sequence[str] | None = None, *, presets: Path, command: str
) -> Run:
    """`load_config` of a trainer; without argv, of the program's arguments.

    A resumed run keeps its own config, as far as no flag or file changes it. UserError: also for a
    preset, which is all of a config.
    """
    given = list(sys.argv[1:] if argv is None else argv)
    preset, file, flags = _split_argv(given)
    values = _read(Path(file), what=f"config file {file}") if file is not None else {}
    # Before anything is checked: what does not fit the defaults may fit the run.
    resumes = _last(flags, "--resume", is_switch=True, instead=values.get("resume", False))
    run_dir = _last(flags, "--run-dir", instead=values.get("run_dir", cls.run_dir))
    own = Path(str(run_dir)) / "config.json"
    if not resumes or not own.is_file():
        return load_config(cls, given, presets=presets, command=command)
    if preset is not None:
        raise UserError(
            f"--preset {preset} is for the start of a run: to go on with another setting, give it "
            "as a flag or in a file for --config"
        )
    kept = _read(own, what=str(own))
    if strange := [name for name in kept if name not in _field_names(cls)]:
        raise UserError(
            f"{own.parent} is not a run of {command} (its config.json has the field "
            f"{strange[0]!r}); resume it with the agent that began it"
        )
    return _with_flags(cls, flags, values={**kept, **values}, presets=presets, command=command)


def from_dict(cls: type[T], values: Mapping[str, Any]) -> T:
    """`cls` from a mapping such as a parsed JSON file. Unknown names and wrong types: UserError.

    Text is taken where it spells a number, because YAML reads 1e-4 as text.
    """
    names = _field_names(cls)
    for name in values:
        if name not in names:
            raise UserError(f"unknown field {name!r} for {cls.__name__}; {_nearest(name, names)}")
    try:
        return msgspec.convert(dict(values), cls, strict=False, dec_hook=_decode_hook)
    except (msgspec.ValidationError, ValueError) as error:
        text, _, path = str(error).replace("`", "").partition(" - at $.")
        name = path.partition("[")[0]
        if name in values:
            raise UserError(bad_value(cls, text, name, values[name])) from None
        raise UserError(f"bad value for {cls.__name__}: {text}") from None


def to_dict(config: Any) -> dict[str, Any]:
    """A dataclass as a dictionary of what JSON can hold; `from_dict` reads it back."""
    result: dict[str, Any] = msgspec.to_builtins(config, enc_hook=_encode_hook)
    return result


def subset(config: Any, cls: type[T]) -> T:
    """`cls` filled from the fields of the same name in `config`; its other fields keep defaults."""
    names = _field_names(cls)
    shared = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    return cls(**{name: value for name, value in shared.items() if name in names})


def preset_names(presets: Path | None) -> list[str]:
    """Names of the presets in a folder, sorted; none without a folder."""
    return sorted(path.stem for path in presets.glob("*.yaml")) if presets else []


def nearest_text(name: str, known: Iterable[str]) -> str:
    """'did you mean X?' when a known name is close to `name`, else 'expected one of …'."""
    return _nearest(name, list(known))


def _field_names(cls: Any) -> list[str]:
    return [field.name for field in dataclasses.fields(cls)]


def _nearest(name: str, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"expected one of: {', '.join(known) or '(none)'}"


def _split_argv(argv: Sequence[str]) -> tuple[str | None, str | None, list[str]]:
    """argv -> (value of --preset, value of --config, all other arguments)."""
    found: dict[str, str | None] = {"--preset": None, "--config": None}
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        name, equals, value = word.partition("=")
        if name not in found:
            rest.append(word)
            continue
        given = value if equals else next(words, None)
        if given is None or (not equals and given.startswith("--")):
            raise UserError(f"{name} needs a value; see --help")
        found[name] = given
    return found["--preset"], found["--config"], rest


def _last(flags: Sequence[str], flag: str, *, instead: Any, is_switch: bool = False) -> Any:
    """What the last of a flag's mentions says; `instead` where there is none."""
    for index in range(len(flags) - 1, -1, -1):
        name, equals, value = flags[index].partition("=")
        name = name.replace("_", "-")
        if is_switch and name in (flag, f"--no-{flag[2:]}"):
            return name == flag
        if name == flag and (equals or index + 1 < len(flags)):
            return value if equals else flags[index + 1]
    return instead


def _preset_path(name: str, presets: Path | None) -> Path:
    names = preset_names(presets)
    if presets is None or name not in names:
        raise UserError(f"unknown preset {name!r}; {_nearest(name, names)}")
    return presets / f"{name}.yaml"


def _read(path: Path, *, what: str) -> dict[str, Any]:
    """The mapping in a YAML or JSON file. {} for an empty file."""
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"cannot read {what}: {error.strerror}") from None
    except (ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise UserError(f"{what} is neither valid YAML nor JSON: {reason}") from None
    if values is None:
        return {}
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise UserError(f"{what} must hold one mapping of field names to values")
    return values


def _check_flag_names(cls: type, flags: Sequence[str]) -> None:
    """UserError for the first --flag that is no field, before tyro explains it over ten lines."""
    known = ["--preset", "--config", "--help"]
    for field in dataclasses.fields(cls):
        flag = "--" + field.name.replace("_", "-")
        known += [flag, "--no-" + flag[2:]] if field.type in (bool, "bool") else [flag]
    for word in flags:
        flag = word.partition("=")[0].replace("_", "-")
        if flag.startswith("--") and flag not in known:
            raise UserError(f"unknown flag {word.partition('=')[0]}; {_nearest_flag(flag, known)}")


def _nearest_flag(flag: str, known: Sequence[str]) -> str:
    """What to say of a flag that is none: it is another's name elsewhere, or words of one, or
    written like one."""
    ours = f"--{ELSEWHERE.get(flag[2:])}"
    words = set(flag[2:].split("-"))
    close = [ours] if ours in known else []
    close += [other for other in known if words <= set(other[2:].split("-"))]
    close += difflib.get_close_matches(flag, known, n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}?" if close else "see --help"


def _with_flags(
    cls: type[T],
    flags: list[str],
    *,
    values: Mapping[str, Any],
    presets: Path | None,
    command: str,
) -> T:
    """`cls` from values, then flags."""
    base = from_dict(cls, values)
    if "-h" not in flags and "--help" not in flags:
        _check_flag_names(cls, flags)
    description = (
        f"{inspect.getdoc(cls) or cls.__name__}\n\n--config FILE reads a YAML or JSON file; "
        "flags win over it."
    )
    if presets is not None:
        names = ", ".join(preset_names(presets)) or "none yet"
        description += f"\n--preset NAME starts from a preset ({names}); the file wins over it."
    return _one_line(cls, args=flags, default=base, prog=command, description=description)


def _one_line(cls: type[T], **options: Any) -> T:
    """`tyro.cli` with ranges, and a UserError instead of a box of ten lines."""
    complaint = io.StringIO()
    shown: Any = cls
    if {"-h", "--help"} & set(options["args"]):
        shown = _texts_joined(cls)
        if "default" in options:
            options["default"] = shown(**vars(options["default"]))
    try:
        with contextlib.redirect_stderr(complaint):
            found = tyro.cli(shown, **options)
    except SystemExit as stop:
        if not stop.code:
            raise  # --help
        raise UserError(_first_paragraph(complaint.getvalue())) from None
    return from_dict(cls, to_dict(found))  # tyro knows no ranges


def _texts_joined(cls: type) -> type:
    """The same dataclass, whose help breaks texts where the terminal ends, and not also where the
    lines of the source do."""
    texts = {
        text.arg_name: " ".join((text.description or "").split())
        for owner in reversed(cls.__mro__)
        if dataclasses.is_dataclass(owner)
        for text in docstring_parser.parse_from_object(owner).params
    }
    hints = get_type_hints(cls, include_extras=True)
    fields = []
    for field in dataclasses.fields(cls):
        kind = hints[field.name]
        if text := texts.get(field.name):
            kind = Annotated[kind, tyro.conf.arg(help=text)]
        default = dataclasses.field(default=field.default)
        if field.default_factory is not dataclasses.MISSING:
            default = dataclasses.field(default_factory=field.default_factory)
        fields.append((field.name, kind, default))
    return dataclasses.make_dataclass(
        cls.__name__, fields, bases=(cls,), frozen=True, namespace={"__doc__": cls.__doc__}
    )


def _first_paragraph(box: str) -> str:
    """The sentence inside tyro's drawn box, on one line; without Unicode also its title is ruled
    off."""
    lines: list[str] = []
    for line in box.splitlines()[1:]:
        text = line.strip("│╭╮╰╯ ")
        if text.strip("─-"):
            lines.append(text)
        elif lines:
            break
    return " ".join(lines) + "; see --help"


def _decode_hook(kind: type, value: Any) -> Any:
    if kind is Path and isinstance(value, str):
        return Path(value)
    raise ValueError(f"expected {kind.__name__}, got {value!r}")


def _encode_hook(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"a config cannot hold a {type(value).__name__}")
