"""An entry: a folder with entry.json and whatever plays. What it is, and the command that plays."""

import contextlib
import dataclasses
import hashlib
import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any, Literal, final, get_type_hints

import msgspec

from retro_agents.contest.match.agent import Agent, is_package, resolve
from retro_agents.contract.policy import Play
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError, need
from retro_agents.ground.files import file_hash
from retro_agents.ground.names import nearest, nearest_text
from retro_agents.ground.ranges import Natural, expected
from retro_agents.run.agents import home_of, known_agents, shipped
from retro_agents.run.flags import asks_for_help

FILE = "entry.json"
HELP = "leaderboard/README.md says what an entry holds"
FROZEN_STEPS = 4_500
"""Steps per act and seed of an entry that does not learn: the longest episode."""
ORACLE = "oracle"
"""The agent of the reference row: a player that sees the game's variables."""
PLAYERS = ("agent", "onnx", "command", "image")
CACHE = "__pycache__"
"""A folder that Python writes: no part of an entry."""
Text = Annotated[
    str,
    msgspec.Meta(
        pattern=r"\A[^\n\r|<>]{1,200}\Z",
        description="one line of 1 to 200 characters, without |, < and >",
    ),
]
"""Text for a cell of the page's table."""


class Pretraining(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an entry had learned before it was entered."""

    levels: Text
    steps: Natural
    hardware: Text


Word = Annotated[str, msgspec.Meta(pattern=r"\A[^\0]*\Z", description="text without zero bytes")]
"""An argument of a program."""


class Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of entry.json."""

    who: Text
    what: Text
    licence: Text
    pretraining: Annotated[
        Pretraining | None, msgspec.Meta(description="levels, steps and hardware in {}, or null")
    ]
    """null: it had learned nothing."""
    steps: Literal[0, 50_000, 200_000, 1_000_000]
    """The track: steps of learning per act; 0: the entry does not learn."""
    machine: Literal["cpu", "free"]
    """The machine that it may use, see `MACHINES`."""
    agent: str = ""
    """An agent of this project: its package, or random, run-and-jump, hold-right."""
    checkpoint: str = ""
    """Where that agent starts: a folder in the entry, or the name of a shipped agent."""
    play: Play | None = None
    """How an agent that does not learn chooses its actions instead."""
    flags: list[str] = []
    """The settings of an agent that learns, as for its trainer. Files that they name are the
    entry's own."""
    onnx: str = ""
    """A net that `retro-agents export` wrote, in the entry."""
    command: list[Word] = []
    """A command that speaks the contest's protocol; it starts in a copy of the entry's folder."""
    image: Annotated[
        str,
        msgspec.Meta(
            pattern=r"\A(|[^-\s]\S*@sha256:[0-9a-f]{64})\Z", description="NAME@sha256:DIGEST"
        ),
    ] = ""
    """A container's image that does so, as NAME@sha256:DIGEST."""


@final
@dataclasses.dataclass(frozen=True)
class Entry:
    """An entry that was read and checked. sha256: see `hash_of`."""

    name: str
    folder: Path
    facts: Facts
    agent: Agent | None
    sha256: str

    @property
    def steps(self) -> int:
        """Steps of a run."""
        return self.facts.steps or FROZEN_STEPS

    @property
    def cpu(self) -> bool:
        """Whether it is held to the limits of the CPU's class."""
        return self.facts.machine == "cpu"


def read_entry(folder: Path, board: Path | None = None) -> Entry:
    """The entry in a folder. Raises UserError if it is malformed, or lacks what it names. board:
    where to look for an entry of a similar name if there is none."""
    path = folder / FILE
    if folder.name == FILE and folder.is_file():
        raise UserError(f"{folder} is an entry's file: give its folder, {folder.parent}")
    facts = read_facts(path, board)
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,39}", folder.resolve().name):
        raise UserError(
            f"{folder.resolve().name}: an entry's folder is named with lower-case letters, digits "
            "and hyphens, 40 at most; rename it"
        )
    given = [name for name in PLAYERS if getattr(facts, name)]
    if len(given) != 1:
        raise UserError(f"{path}: give exactly one of {', '.join(PLAYERS)}; {HELP}")
    if not facts.agent and (facts.checkpoint or facts.play or facts.flags):
        raise UserError(f"{path}: only an agent has checkpoint, play or flags; {HELP}")
    if facts.onnx and facts.steps:
        raise UserError(f"{path}: an ONNX net does not learn, so its steps are 0; {HELP}")
    if facts.onnx:
        need("onnxruntime")
        if not inside(folder, facts.onnx).is_file():
            raise UserError(f"{path}: {facts.onnx} is no file; {HELP}")
    if facts.command and not facts.command[0]:
        raise UserError(f"{path}: command names no program; {HELP}")
    if facts.agent == ORACLE and folder.resolve().name != ORACLE:
        raise UserError(f"{path}: the oracle is a reference, which nobody else enters; {HELP}")
    if any(map(asks_for_help, facts.flags)):
        raise UserError(f"{path}: a flag that asks for help is no setting; {HELP}")
    agent = agent_for(folder, facts) if facts.agent else None
    return Entry(folder.resolve().name, folder, facts, agent, hash_of(folder, agent))


def read_facts(path: Path, board: Path | None) -> Facts:
    """The content of entry.json. Raises UserError if it is malformed. board: see `read_entry`."""
    try:
        facts = msgspec.json.decode(path.read_bytes(), type=Facts)
    except OSError as error:
        known = [one.parent.name for one in board.glob(f"entries/*/{FILE}")] if board else []
        close = nearest(path.parent.name, known)
        advice = f"did you mean {board}/entries/{close}?" if close else HELP
        raise UserError(f"cannot read {path}: {error.strerror}; {advice}") from None
    except msgspec.ValidationError as error:
        raise UserError(f"{path}: {explained(error)}; {HELP}") from None
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        advice = "names and texts need double quotes, with a comma between fields"
        raise UserError(f"{path}: {error}: {advice}; {HELP}") from None
    for owner in filter(None, (facts, facts.pretraining)):
        for name in ("who", "what", "licence", "levels", "hardware"):
            if not getattr(owner, name, "").isprintable():
                raise UserError(f"{path}: {name}: expected printable characters alone; {HELP}")
    return facts


def explained(error: msgspec.ValidationError) -> str:
    """What is wrong with a field of entry.json, and what is expected."""
    what, _, place = str(error).partition(" - at `$")
    names = re.findall(r"\.(\w+)", place)
    if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", what, re.DOTALL):
        owner = Pretraining if names else Facts
        return f"unknown field `{unknown[1]}`; {nearest_text(unknown[1], owner.__struct_fields__)}"
    if not names or what.startswith("Object missing"):
        return str(error)
    hints = get_type_hints(Pretraining if names[1:] else Facts, include_extras=True)
    return f"{'.'.join(names)}: expected {expected(hints[names[-1]])}"


def inside(folder: Path, name: str) -> Path:
    """The path of what an entry names. Raises UserError if it is not there, or not in its
    folder."""
    path = folder / name
    if not path.exists() or not path.resolve().is_relative_to(folder.resolve()):
        raise UserError(f"{folder / FILE}: there is no {name} in the entry's folder; {HELP}")
    return path


def agent_for(folder: Path, facts: Facts) -> Agent | None:
    """The contest's agent of an entry, checked; None for the oracle. Raises UserError."""
    if facts.agent == ORACLE:
        return None
    path, checkpoint = folder / FILE, facts.checkpoint
    if ":" in facts.agent:
        raise UserError(f"{path}: give a function of your own by `command`; {HELP}")
    if facts.agent not in REFERENCES and home_of(facts.agent) is None:
        advice = nearest_text(facts.agent, [*REFERENCES, *known_agents()])
        raise UserError(f"{path}: no agent {facts.agent!r}; {advice}")
    if checkpoint and ((folder / checkpoint).exists() or not shipped(checkpoint)):
        checkpoint = str(inside(folder, checkpoint).resolve())
    for word, after in itertools.pairwise((*facts.flags, "")):
        name, _, value = word.partition("=")
        if name == "--config":
            inside(folder, value or after)
    learns = is_package(facts.agent) and facts.steps > 0
    reference = facts.agent in REFERENCES
    wrong = {
        f"{facts.agent} takes no checkpoint, play or flags": reference
        and (checkpoint or facts.play or facts.flags),
        "play is for an agent whose steps are 0": learns and facts.play,
        "flags are for an agent whose steps are above 0": not learns and facts.flags,
        "an agent whose steps are 0 needs a checkpoint": not (reference or learns or checkpoint),
    }
    for what, holds in wrong.items():
        if holds:
            raise UserError(f"{path}: {what}; {HELP}")
    mode: Any = "adapt" if learns or reference else "frozen"
    device = "cpu" if facts.machine == "cpu" else "auto"
    agent = Agent(facts.agent, checkpoint, mode, device, tuple(facts.flags), facts.play)
    try:
        with contextlib.chdir(folder):  # as it starts
            return resolve(agent)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def hash_of(folder: Path, agent: Agent | None) -> str:
    """SHA-256 of the names and contents of an entry's files, and of the shipped checkpoints that
    its agent starts from. Python's caches are left out, as of the copy that plays. Raises UserError
    if one is a link, or a file that Git usually ignores, or has a line break in its name, by which
    other files could have the same hash."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if CACHE in path.relative_to(folder).parts:
            continue
        if path.is_symlink():
            raise UserError(f"{path} is a link: an entry holds its own files; copy what it names")
        if path.name.startswith("."):
            raise UserError(f"{path} would not reach others: remove it")
        if "\n" in path.name:
            raise UserError(f"{path} has a line break in its name: rename it")
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            digest.update(os.fsencode(f"{name}\n{file_hash(path)}\n"))
    with contextlib.chdir(folder):
        facts = agent.facts() if agent else {}
    used = (facts.get("checkpoint_sha256") or "", *facts.get("files_sha256", {}).values())
    digest.update("".join(used).encode())
    return digest.hexdigest()


def command_of(entry: Entry, home: Path, *, meet: Path, work: Path, seed: int) -> list[str]:
    """The command that plays a run. home: the copy of the entry's folder. meet: the server's
    folder. work: where the entry may write."""
    facts, agent = entry.facts, entry.agent
    if facts.command:
        return facts.command
    if facts.image:
        return container(entry, meet=meet, seed=seed)
    python = [sys.executable, "-P", "-m"]  # -P: no file of an entry is a module of ours
    if facts.onnx:
        net = str(home / facts.onnx)
        return [*python, f"{__package__}.net", net, "--dir", str(meet), "--seed", str(seed)]
    assert agent is not None, "the oracle is no process"
    if agent.checkpoint:
        start, own = Path(agent.checkpoint).resolve(), entry.folder.resolve()
        start = home / start.relative_to(own) if start.is_relative_to(own) else start
        agent = dataclasses.replace(agent, checkpoint=str(start))
    return [*python, *agent.command(meet, "remote", steps=entry.steps, seed=seed, run_dir=work)]


def engine_with(image: str) -> str:
    """The program that runs an image, which is fetched here: it costs no run its time. Raises
    UserError if none can."""
    for engine in filter(None, map(shutil.which, ("docker", "podman"))):
        for words in (("image", "inspect"), ("pull",)):
            if not subprocess.run([engine, *words, image], capture_output=True).returncode:
                return engine
    raise UserError(
        f"neither docker nor podman can fetch {image}: install one, start its engine, or correct "
        "that name"
    )


def environment_for_engine(user: int) -> dict[str, str]:
    """All environment variables of an engine, which finds its images by ours; a container gets
    none of them. user: who starts it. Podman gives a container other users than this one, who owns
    the server's folder, unless it is told to keep it, which root may not."""
    keeps = {"PODMAN_USERNS": "keep-id"} if user else {}
    return {**keeps, **os.environ}


def container(entry: Entry, *, meet: Path, seed: int) -> list[str]:
    """The command that runs an image without a network. Raises UserError if nothing can."""
    engine, stat = engine_with(entry.facts.image), meet.stat()
    limits = ["--cpus", "1", "--memory", "4g"] if entry.cpu else []
    return [
        *(engine, "run", "--rm", "--init", "--network", "none", "--read-only", "--tmpfs", "/tmp"),
        *("--tmpfs", "/runs:mode=1777"),  # where the agent's image (Dockerfile) writes
        *("--cap-drop", "ALL", "--security-opt", "no-new-privileges", *limits),
        *("--name", meet.parent.name, "--user", f"{stat.st_uid}:{stat.st_gid}"),
        *("--volume", f"{meet}:/share", "--env", f"TIMESTEPS={entry.steps}"),
        *("--env", f"SEED={seed}", entry.facts.image),
    ]
