# PYTHON_ARGCOMPLETE_OK
"""The console command `retro-agents`: words for every module that a user starts.

Only the module of these words is imported. Each also starts as `python -m MODULE`.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from pkgutil import resolve_name

from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.names import nearest_text
from retro_agents.ground.results import installed

COMMANDS = {
    "train": ("", "train an agent"),
    "new-agent": ("retro_agents.new_agent", "begin an agent of your own"),
    "evaluate": (
        "retro_agents.judging.evaluate",
        "score an agent that does not learn, and film it",
    ),
    "choose-play": ("retro_agents.judging.choose_play", "choose how a trained agent plays"),
    "watch": ("retro_agents.judging.watch", "watch an agent play, in a window"),
    "play": ("retro_agents.judging.play", "play a level yourself, or against an agent"),
    "record": ("retro_agents.judging.record", "record an agent's episodes as demonstrations"),
    "demonstrate": ("retro_agents.judging.demonstrate", "make demonstrations of .bk2 recordings"),
    "film": ("retro_agents.games.retro.video", "make .mp4 films of .bk2 recordings"),
    "compare": ("retro_agents.contest.compare", "compare runs, contests and stored results"),
    "list": ("retro_agents.judging.list", "list levels, splits, agents, presets or runs"),
    "doctor": ("retro_agents.games.retro.doctor", "check what is installed and what is missing"),
    "import-roms": ("retro_agents.games.retro.import_roms", "import your own ROMs"),
    "plot": ("retro_agents.run.plot", "draw the learning curves of runs"),
    "export": ("retro_agents.run.export", "write an agent's net as an ONNX file"),
    "hub": ("retro_agents.run.hub", "push a checkpoint to the Hugging Face Hub, or pull one"),
    "studio": ("retro_agents.studio.__main__", "watch, compare and steer runs on a page"),
    "sweep": ("retro_agents.sweeps.__main__", "train an agent with many settings"),
    "contest run": ("retro_agents.contest.run", "score an agent under the contest's rules"),
    "contest report": ("retro_agents.contest.report.__main__", "compare contests on one page"),
    "contest serve": ("retro_agents.contest.serve", "serve a level to an agent"),
    "contest play": ("retro_agents.contest.player", "let an agent play a level that is served"),
    "leaderboard score": ("retro_agents.contest.leaderboard.score", "score an entry"),
    "leaderboard check": ("retro_agents.contest.leaderboard.check", "check recorded results"),
    "leaderboard page": ("retro_agents.contest.leaderboard.page", "write the tables"),
    "leaderboard open": ("retro_agents.contest.leaderboard.open", "open a season"),
    "procgen evaluate": ("retro_agents.judging.procgen", "score a run on train and test levels"),
    "procgen table": ("retro_agents.judging.procgen_table", "compare evaluations in a table"),
    "procgen play": ("retro_agents.games.procgen.play", "play a game of Procgen at the keyboard"),
}
"""Words of a command -> the module that has its `main`, and what it does."""
HELP = {"-h", "--help"}
COMPLETES = "_ARGCOMPLETE"
"""Set by a shell that asks for completions: the place of the program's name among the line's words,
counted from 1."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Start the command that the first words name. The others are its arguments."""
    words = list(sys.argv[1:] if argv is None else argv)
    if COMPLETES in os.environ:
        words = words_before_cursor()
    if words[:1] == ["--version"]:
        print(f"retro-contest-agents {installed('retro-contest-agents')}")
        return
    if words[:1] == ["help"]:  # `help train ppo2` is `train ppo2 --help`
        words = [*words[1:], "--help"]
    name = ""
    while name not in COMMANDS:
        rows = {key: about for key, (_, about) in COMMANDS.items() if key.startswith(name)}
        word = chosen(words, {key[len(name) :]: about for key, about in rows.items()}, name)
        if not word:
            return
        name += word if name + word in COMMANDS else f"{word} "
    if name == "train":
        train(words)
    else:
        start(COMMANDS[name][0], name, words)


def train(words: list[str]) -> None:
    """Start an agent's trainer. What learns is not imported for help or completions."""
    from retro_agents.run.agents import find_given, is_package, known_agents
    from retro_agents.run.command_line import load_run_config

    agents = dict.fromkeys([*known_agents(), *filter(is_package, words[:1])])
    word = chosen(words, {agent: find_given(agent).about for agent in agents}, "train ")
    if not word:
        return
    package, name = find_given(word), f"train {word}"
    if COMPLETES in os.environ or HELP & set(words):
        asked = [] if COMPLETES in os.environ else words
        load_run_config(
            package.Config, asked, presets=package.PRESETS, command=f"retro-agents {name}"
        )
    start(f"{word}.train", name, words)


def start(module: str, name: str, words: Sequence[str]) -> None:
    """Call a module's `main` as if the module were the program."""
    sys.argv = [f"retro-agents {name}", *([] if COMPLETES in os.environ else words)]
    resolve_name(f"{module}:main")()


def chosen(words: list[str], rows: Mapping[str, str], before: str) -> str:
    """The first of `words`, taken from them; "" if help is printed instead.

    rows: what may come after the words `before` -> what it does. Raises UserError if the word is
    none of these.
    """
    known = list(dict.fromkeys(row.partition(" ")[0] for row in rows))
    if not words and COMPLETES in os.environ:
        complete(known)
    if not words or words[0] in HELP:
        what = "AGENT" if before == "train " else "COMMAND"
        print(f"usage: retro-agents {before}{what} [ARGUMENTS]\n")
        width = max(map(len, rows))
        print(*(f"  {row:{width}}  {about}" for row, about in rows.items()), sep="\n")
        print(f"\nretro-agents {before}{what} --help shows the arguments.")
        return ""
    if words[0] not in known:
        if before == "train " and words[0].startswith("-"):
            agent = next((word for word in words if word in known), "AGENT")
            raise UserError(f"the agent comes first: retro-agents train {agent} {words[0]} …")
        if before == "train ":
            from retro_agents.run.agents import advice_for

            raise UserError(f"unknown agent {words[0]!r}; {advice_for(words[0])}")
        advice = nearest_text(words[0], known)
        raise UserError(f"unknown command 'retro-agents {before}{words[0]}'; {advice}")
    if COMPLETES in os.environ:
        os.environ[COMPLETES] = str(int(os.environ[COMPLETES]) + 1)
    return words.pop(0)


def words_before_cursor() -> list[str]:
    """The complete words behind the program's name in the line that a shell asks about."""
    from argcomplete.lexers import split_line

    line, at = os.environ["COMP_LINE"], int(os.environ["COMP_POINT"])
    return split_line(line, at)[3][int(os.environ[COMPLETES]) :]


def complete(known: Sequence[str]) -> None:
    """Answer the shell which words may come next, and exit."""
    import argcomplete

    parser = Parser(add_help=False)
    parser.add_argument("word", choices=known)
    argcomplete.autocomplete(parser)


if __name__ == "__main__":
    main()
