"""The fields of a config: how each is declared, what role it has, and where it stands."""

import dataclasses
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

ROLES = {
    "shape": "What the net sees, consists of and can do: a checkpoint fits the same values only.",
    "start": "Where a run begins. A resumed run refuses another value.",
    "fixed": "The state in a checkpoint depends on it. A resumed run refuses another value.",
    "switch": "Like fixed, but only whether it is on: its amount may change.",
    "memory": "How much is remembered, and in which parts. No population changes it.",
    "learning": "How the agent learns. A resumed run and a population may change it.",
    "reward": "What a reward means. Transitions with different values must not be mixed.",
    "rules": "The rules of the game: the contest's, or those of the published results.",
    "machine": "Where and in how many parts something is computed; the results are the same.",
    "report": "What a run saves and shows.",
    "launch": "Set by the caller of a run: its folder, its seed, whether it is resumed.",
    "contest": "Set by the contest for an agent that takes part.",
    "once": "For one run alone. A contest that starts from its checkpoint uses the default.",
    "checkpoint": "Names a checkpoint.",
    "file": "Names a file, or something that is shipped with the project.",
}
"""Role -> what it says about a field. A field may have several."""
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""A default that cannot be changed."""


def field(
    default: Any = dataclasses.MISSING,
    *roles: str,
    group: str = "",
    common: bool = False,
    only_with: str | tuple[str, ...] = (),
    without: str = "",
    other_names: tuple[str, ...] = (),
    answers: Mapping[str, str] = NOTHING,
    metavar: str = "",
    flag: bool = True,
    needs: tuple[str, ...] = (),
) -> Any:
    """A field of a config; the text below it is its help. Without a default it is required.

    roles: of ROLES. group: the title in the help of this field and of those after it. common:
    listed first in the help, among the most used. only_with: the field has an effect only while one
    of these other fields is on, and giving its flag at any other time is an error; each is a name
    or NAME=VALUE, and a field is on unless it is 0, empty, false or "none". without: this
    field has no effect while that other one is on. other_names: names of the field in other
    programs. answers: flags of other programs -> advice to their users. metavar: the name of an
    argument without a flag; a tuple takes one or more. flag: whether the field has a flag; if not,
    the run itself sets it. needs: modules of extras without which the field cannot be on; {} in a
    name stands for the field's value.
    """
    says = dict(locals())
    assert {*roles} <= ROLES.keys(), f"unknown role among {roles}"
    says["only_with"] = (only_with,) if isinstance(only_with, str) else only_with
    return dataclasses.field(default=says.pop("default"), metadata=says)


def _of(role: str) -> Callable[..., Any]:
    """`field` with that role before others."""
    return lambda default, *roles, **options: field(default, role, *roles, **options)


shape, start, fixed, memory = _of("shape"), _of("start"), _of("fixed"), _of("memory")
learning, rules, machine, report = _of("learning"), _of("rules"), _of("machine"), _of("report")


def positional(metavar: str, **roles: Any) -> Any:
    """A field given without a flag; a tuple takes one or more. metavar: its name in the help."""
    return field(metavar=metavar, **roles)


def section(
    class_for: Callable[[Mapping[str, Any]], type],
    *,
    kinds: Mapping[str, Mapping[str, Any]] = NOTHING,
) -> Any:
    """A section whose class depends on the config's flat values, such as a family's settings.

    class_for: flat values -> the class; without values, the default's. kinds: each class's purpose,
    in words -> values that choose it.
    """
    return dataclasses.field(
        default_factory=lambda: class_for({})(), metadata={"class_for": class_for, "kinds": kinds}
    )


class Place(NamedTuple):
    """A field, and the class that declares it: the config or one of its sections."""

    owner: Any
    field: dataclasses.Field[Any]

    def says(self, name: str, otherwise: Any = None) -> Any:
        """The argument of that name with which the field was declared."""
        return self.field.metadata.get(name, otherwise)

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.field.default is self.field.default_factory is dataclasses.MISSING


def sections(config: Any, values: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Field -> class of each section of a config, or of a config's class for these flat values."""
    found: dict[str, Any] = {}
    for one in dataclasses.fields(config):
        kind: Any = one.type
        if not isinstance(config, type):
            kind = type(getattr(config, one.name))
        elif "class_for" in one.metadata:
            kind = one.metadata["class_for"](values)
        if dataclasses.is_dataclass(kind):
            found[one.name] = kind
    return found


def places(config: Any, values: Mapping[str, Any] = NOTHING) -> dict[str, Place]:
    """Name -> place of every field of a config, or of a config's class for these flat values;
    those of sections come first."""
    inner = sections(config, values)
    own = config if isinstance(config, type) else type(config)
    return {
        one.name: Place(owner, one)
        for owner in (*inner.values(), own)
        for one in dataclasses.fields(owner)
        if one.name not in inner
    }


def kinds(cls: Any) -> dict[str, dict[str, Place]]:
    """Kind of the config, in words -> the fields that the class has then; a single kind, "", if no
    section depends on values."""
    found = {
        kind: places(cls, values)
        for one in dataclasses.fields(cls)
        for kind, values in one.metadata.get("kinds", {}).items()
    }
    return found or {"": places(cls)}


def kind_of(name: str, found: Mapping[str, Mapping[str, Place]]) -> str:
    """The first kind of config that has a field of that name, in words; "" if none has."""
    return next((kind for kind, here in found.items() if name in here), "")


def fields(config: Any, *roles: str, but: str = "") -> list[str]:
    """Names of the fields that have one of these roles, but not the role `but`, of a config or of
    its class (with the default's sections)."""
    return [
        name
        for name, place in places(config).items()
        if {*roles} & {*(has := place.says("roles", ()))} and but not in has
    ]


def required(cls: Any) -> bool:
    """Whether a config's class has a field without a default."""
    return any(place.required for place in places(cls).values())


def flag_of(name: str) -> str:
    """A field's flag: --rollout-steps."""
    return "--" + name.replace("_", "-")


def flag_with(name: str, value: Any) -> str:
    """A field's flag with that value, as a command spells it: --hidden 32, --pool, --no-pool."""
    if isinstance(value, bool):
        return flag_of(name if value else f"no_{name}")
    return f"{flag_of(name)} {shlex.quote(str(value))}"


def is_on(values: Mapping[str, Any], condition: str) -> bool:
    """Whether a condition of a field's `only_with` or `without` holds."""
    name, equals, value = condition.partition("=")
    if equals:
        found = values[name]
        return (f"{found:g}" if isinstance(found, float) else str(found)) == value
    return bool(values[name]) and values[name] != "none"


def takes_effect(values: Mapping[str, Any], place: Place) -> bool:
    """Whether a field has an effect beside these flat values of a config, see `field`."""
    others, other = place.says("only_with", ()), place.says("without")
    on = not others or any(is_on(values, one) for one in others)
    return on and not (other and is_on(values, other))


def answer(
    name: str, here: Mapping[str, Place], *, spelled: Callable[[str], str] = lambda name: name
) -> str:
    """Advice for a name from other programs that means one of these fields or replaces it; "" if no
    field knows the name. spelled: a field's name -> the user's spelling of it."""
    for ours, place in here.items():
        if name in place.says("other_names", ()):
            return f"did you mean {spelled(ours)!r}?"
        if name in place.says("answers", {}):
            return str(place.says("answers")[name])
    return ""
