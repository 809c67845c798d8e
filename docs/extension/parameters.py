"""Tables of an agent's presets and settings, from its config's fields and its preset files."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from retro_agents.experience.actors import ActorSettings
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.retro.config import EnvConfig
from retro_agents.judging.list import about_preset
from retro_agents.judging.settings import EvaluationSettings
from retro_agents.nets.settings import ComputeSettings, NetSettings
from retro_agents.run.agents import AGENTS, AgentPackage, find_given
from retro_agents.run.config import flat, preset_names, read_file
from retro_agents.run.fields import ROLES, Place, flag_of, kinds
from retro_agents.run.flags import groups, texts
from retro_agents.run.settings import RunSettings

SHARED = {
    "The run": RunSettings,
    "BrambleDash and Sonic": EnvConfig,
    "Procgen": ProcgenConfig,
    "Evaluation while an agent learns": EvaluationSettings,
    "The net": NetSettings,
    "Computing": ComputeSettings,
    "Actors": ActorSettings,
}
"""Title -> section of a config that several agents share."""
HEAD = "| option | default | in presets | role | effect |\n|---|---|---|---|---|"


def parts() -> dict[str, Callable[[], str]]:
    made: dict[str, Callable[[], str]] = {"settings.md": settings, "roles.md": roles}
    for name in AGENTS:
        made[f"{name}-presets.md"] = partial(presets, name)
        made[f"{name}-parameters.md"] = partial(parameters, name)
    return made


def preset_values(package: AgentPackage) -> dict[str, dict[str, Any]]:
    """Preset -> its flat values."""
    files = {name: package.PRESETS / f"{name}.yaml" for name in preset_names(package.PRESETS)}
    return {name: flat(read_file(path, what=str(path))) for name, path in files.items()}


def presets(agent: str) -> str:
    """A table of the agent's presets, and what each of them sets."""
    package = find_given(agent)
    values = preset_values(package)
    lines = ["| preset | for |", "|---|---|"]
    lines += [f"| `{name}` | {about_preset(package.PRESETS / f'{name}.yaml')} |" for name in values]
    for name in values:
        text = (package.PRESETS / f"{name}.yaml").read_text(encoding="utf-8").strip()
        lines += ["", f"<details><summary>What <code>{name}</code> sets</summary>", ""]
        lines += ["```yaml", text, "```", "", "</details>"]
    return "\n".join(lines) + "\n"


def parameters(agent: str) -> str:
    """The agent's own options, in the groups of its help."""
    package = find_given(agent)
    shared = {*SHARED.values()}
    own: dict[str, Place] = {}
    for here in kinds(package.Config).values():
        own |= {name: place for name, place in here.items() if place.owner not in shared}
    own = {name: place for name, place in own.items() if place.says("flag", True)}
    values = preset_values(package)
    lines = [
        f"These are this agent's own options; `retro-agents train {agent} --help` prints all. "
        "[Settings](../reference/settings.md) lists the shared ones and explains the roles.\n"
    ]
    for title, names in groups(own, ()).items():
        if names:
            lines += [f"### {title}", "", HEAD]
            lines += [row(name, own[name], values) for name in names] + [""]
    return "\n".join(lines)


def settings() -> str:
    """The options that agents share, section by section."""
    lines: list[str] = []
    for title, section in SHARED.items():
        users: list[str] = []
        values: dict[str, dict[str, Any]] = {}
        for agent in AGENTS:
            package = find_given(agent)
            if section in {
                place.owner for here in kinds(package.Config).values() for place in here.values()
            }:
                users.append(agent)
                values |= {f"{agent} {k}": v for k, v in preset_values(package).items()}
        lines += [f"## {title}", "", f"{inspect.getdoc(section)}".partition("\n")[0], ""]
        lines += [f"For: {', '.join(users)}.", "", HEAD]
        lines += [
            row(name, place, values)
            for name, place in kinds(section)[""].items()
            if place.says("flag", True)
        ]
        lines.append("")
    return "\n".join(lines)


def roles() -> str:
    """What each role of a field means."""
    lines = ["| role | meaning |", "|---|---|"]
    return "\n".join([*lines, *(f"| {name} | {said} |" for name, said in ROLES.items())]) + "\n"


def row(name: str, place: Place, presets: Mapping[str, Mapping[str, Any]]) -> str:
    """A field's row: its flag, its default, other values in presets, its roles, and its text."""
    default = place.field.default
    used = [values[name] for values in presets.values() if name in values]
    others = dict.fromkeys(filter(None, (shown(value) for value in used if value != default)))
    effect = texts(place.owner).get(name, "").replace("|", "\\|").replace("<", "&lt;")
    roles = ", ".join(place.says("roles", ()))
    return f"| `{flag_of(name)}` | {shown(default)} | {', '.join(others)} | {roles} | {effect} |"


def shown(value: Any) -> str:
    """A value as a command spells it."""
    if value in ("", None, ()) or not isinstance(value, (bool, int, float, str, list, tuple)):
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        value = " ".join(map(str, value))
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"
