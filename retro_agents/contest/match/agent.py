"""The player in a contest: a reference player, an agent package (adapting or frozen), or a user's
own function; its facts and its config."""

import contextlib
import dataclasses
import importlib
import importlib.util
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, final

from retro_agents.contract.policy import Play
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError
from retro_agents.ground.files import file_hash
from retro_agents.ground.names import find_here_too, nearest_text
from retro_agents.judging.policies import contest_settings
from retro_agents.run import agents as package
from retro_agents.run.checkpoint import agent_of, latest_checkpoint, load_checkpoint
from retro_agents.run.command_line import check_needs, load_config
from retro_agents.run.config import flat, read_file, replaced, to_dict
from retro_agents.run.fields import fields, flag_of, sections
from retro_agents.run.settings import RunSettings

Mode = Literal["adapt", "frozen"]
"""What a package's agent does: keep learning, or play as its checkpoint says."""


@final
@dataclasses.dataclass(frozen=True)
class Agent:
    """The player of a level, the same for all levels and seeds.

    name: one of REFERENCES, a package, or package.module:function. mode: for packages only.
    checkpoint: its folder. flags: the agent's own command line, for an agent that adapts. play: as
    for `Policy.act`, for an agent that does not.
    """

    name: str
    checkpoint: str = ""
    mode: Mode = "adapt"
    device: str = "auto"
    flags: tuple[str, ...] = ()
    play: Play | None = None

    def facts(self) -> dict[str, Any]:
        """The agent's part of result.json. Its hashes and settings tell agents apart.

        settings: for an adapting agent, all values that its flags, files and checkpoint resolve to.
        """
        facts = dataclasses.asdict(self)
        facts["flags"] = list(self.flags)
        facts["checkpoint_sha256"] = facts["code_sha256"] = facts["settings"] = None
        facts["files_sha256"] = {}
        if not is_package(self.name):
            facts["mode"] = None
        elif self.mode == "adapt":
            config = make_config(self, timesteps=1, seed=0, run_dir=Path())
            settings = json.loads(json.dumps(flat(to_dict(config)))).items()  # as they are kept
            decided = fields(RunSettings, "contest")
            facts["settings"] = {name: value for name, value in settings if name not in decided}
            facts["files_sha256"] = hashes_of(config)
        if self.checkpoint:
            # meta.json names the SHA-256 of every other file.
            facts["checkpoint_sha256"] = file_hash(Path(self.checkpoint) / "meta.json")
        if ":" in self.name:
            facts["code_sha256"] = file_hash(module_file(self.name))
        return facts

    def command(self, meet: Path, level: str, *, steps: int, seed: int, run_dir: Path) -> list[str]:
        """The module and flags of its process, which ends when the starting one does. Arguments as
        for `player.play`."""
        words = ["retro_agents.contest.player", "--leash", "--dir", str(meet), "--level", level]
        words += ["--agent", self.name, "--mode", self.mode, "--device", self.device]
        words += ["--timesteps", str(steps), "--seed", str(seed), "--run-dir", str(run_dir)]
        words += ["--checkpoint", self.checkpoint] if self.checkpoint else []
        words += ["--play", self.play] if self.play else []
        return [*words, "--", *self.flags]


def hashes_of(config: Any) -> dict[str, str]:
    """SHA-256 of the other checkpoints and files that an agent's config names, by field. Raises
    UserError if a checkpoint is not there."""
    values, found = flat(to_dict(config)), {}
    for name in fields(config, "checkpoint", "file", but="contest"):
        if (path := Path(values[name])).is_file():
            found[name] = path
        elif values[name] and name in fields(config, "checkpoint"):
            found[name] = latest_checkpoint(path) / "meta.json"
    return {name: file_hash(path) for name, path in found.items()}


def split_flags(argv: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """argv -> (flags before --, flags after it, which are the agent's own). Raises UserError if
    these name the agent."""
    words = list(argv)
    at = words.index("--") if "--" in words else len(words)
    own = tuple(words[at + 1 :])
    if any(word.partition("=")[0] == "--agent" for word in own):
        raise UserError("--agent stands after --, where the agent's own flags are: give it before")
    return words[:at], own


def resolve(agent: Agent) -> Agent:
    """The agent of a command line with its checkpoint found. Raises UserError if anything that can
    be checked before it plays is wrong."""
    name, checkpoint, mode, flags = agent.name, agent.checkpoint, agent.mode, agent.flags
    if not is_package(name):
        own = {"--checkpoint": checkpoint, "--play": agent.play, "settings after --": flags}
        own["--mode frozen"] = mode if mode == "frozen" else None
        if given := [what for what, value in own.items() if value]:
            raise UserError(f"{name} takes no {given[0]}: only agent packages do")
        if ":" in name:
            find_function(name)
        return agent
    if checkpoint:
        agent = dataclasses.replace(agent, checkpoint=str(latest_checkpoint(checkpoint)))
    if mode == "adapt":
        check_start(agent, make_config(agent, timesteps=1, seed=0, run_dir=Path()))
    elif flags:
        raise UserError(f"--mode {mode} takes no settings ({flags[0]}): only adapt does")
    elif not checkpoint:
        raise UserError(f"--mode {mode} needs --checkpoint DIR; only adapt can do without one")
    elif (saved_by := agent_of(Path(agent.checkpoint))) != name:
        raise UserError(f"{checkpoint} is a checkpoint of {saved_by!r}: give --agent {saved_by}")
    return agent


def check_start(agent: Agent, config: Any) -> None:
    """Raises UserError if an adapting package's net cannot take the weights of its checkpoint."""
    saved = Path(agent.checkpoint)
    if not agent.checkpoint or "net" not in sections(config) or agent_of(saved) != agent.name:
        return
    theirs, ours = read_file(saved / "config.json", what=str(saved)), flat(to_dict(config))
    if all(theirs.get(name, ours[name]) == ours[name] for name in fields(config, "shape")):
        return
    from retro_agents.nets.net_agent import NetAgent  # torch takes seconds to import

    untrained = package.find_given(agent.name).build(to_dict(config))
    try:
        if isinstance(untrained, NetAgent):
            untrained.load_weights(load_checkpoint(saved))
    except UserError as error:
        words = {flag.partition("=")[0] for flag in agent.flags} & {"--preset", "--config"}
        instead = "".join(f", or leave out {word} there" for word in sorted(words))
        raise UserError(f"{error} after --{instead}") from None


def make_config(agent: Agent, *, timesteps: int, seed: int, run_dir: Path) -> Any:
    """An adapting package's config: checkpoint's <- --preset or --config <- flags <- contest's.

    With a preset or a file, or a checkpoint of another agent, the package's defaults replace the
    checkpoint's values. Raises UserError if a flag is wrong or is set by the contest.
    """
    found = package.find_given(agent.name)
    if agent.flags and not agent.flags[0].startswith("-"):
        raise UserError(
            f"{agent.flags[0]!r} after -- is no flag: give the agent's flags, such as --preset NAME"
        )
    words = [flag.partition("=")[0] for flag in agent.flags]
    given = {word[2:].replace("-", "_") for word in words if word.startswith("--")}
    for name in fields(found.Config, "contest", "rules"):
        if {name, f"no_{name}"} & given:
            raise UserError(f"{flag_of(name)} after -- is set by the contest: leave it out")
    argv = ["--init", agent.checkpoint, *agent.flags]
    own = bool(agent.checkpoint) and not given & {"preset", "config"}
    own = own and agent_of(Path(agent.checkpoint)) == agent.name
    if own:
        argv = ["--config", f"{agent.checkpoint}/config.json", *argv]
    command = f"… --agent {agent.name} --"
    config: Any = load_config(found.Config, argv, presets=found.PRESETS, command=command)
    settings = RunSettings(
        levels="remote",
        timesteps=timesteps,
        num_envs=1,
        rotate_every=0,
        run_dir=str(run_dir / "training"),
        init=agent.checkpoint,
        seed=seed,
        device=agent.device,
        checkpoint_every=0,  # only the last
    )
    decided, usual = fields(found.Config, "contest"), flat(to_dict(found.Config()))
    once = {n: usual[n] for n in fields(found.Config, "once") if own or n in decided}
    values = {n: value for n, value in (to_dict(settings) | once).items() if n not in given}
    return check_needs(replaced(config, **values, env=to_dict(contest_settings(config.env))))


def is_package(name: str) -> bool:
    """Whether `name` is an agent package. Raises UserError if it names no player at all."""
    if name in REFERENCES or ":" in name:
        return False
    if package.is_package(name):
        package.find_given(name)  # so that its checkpoints can be loaded
        return True
    known = [*REFERENCES, *filter(package.is_package, package.AGENTS)]
    meant = module_named(name)
    here = name.endswith(".py") or Path(f"{meant.replace('.', '/')}.py").is_file()
    own = meant if here else "package.module"
    raise UserError(
        f"no agent {name!r}; {nearest_text(name, known)} (or {own}:function, for one of your own)"
    )


def find_function(name: str) -> Callable[[Any], object]:
    """The function that package.module:function names. Raises UserError if there is none."""
    module_name, _, attribute = name.partition(":")
    find_here_too()
    path = module_file(name)
    try:
        function = getattr(importlib.import_module(module_name), attribute, None)
    except Exception as error:
        raise UserError(
            f"{path} cannot be imported: {type(error).__name__}: {error}; repair it, or install "
            "what it imports"
        ) from error
    if not callable(function):
        raise UserError(f"{path} has no function {attribute!r}: give package.module:function")
    return function


def module_named(path: str) -> str:
    """The module in a file that a user names: ./players/fox.py -> players.fox."""
    return path.removeprefix("./").removesuffix(".py").replace("/", ".")


def module_file(name: str) -> Path:
    """The file of the module in package.module:function. Raises UserError if there is none."""
    module, _, function = name.partition(":")
    meant, spec = module_named(module), None
    with contextlib.suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(meant)
    if spec is None or spec.origin is None or not Path(spec.origin).is_file():  # such as built-in
        raise UserError(
            f"there is no source file of module {module!r}: give package.module:function, "
            "and run where Python finds it"
        )
    if meant != module:
        raise UserError(f"no module is named {module!r}; did you mean '{meant}:{function}'?")
    return Path(spec.origin)
