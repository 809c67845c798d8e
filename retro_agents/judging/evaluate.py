# PYTHON_ARGCOMPLETE_OK
"""Play a trained agent that no longer learns: its score, its films, and a test of sight.

retro-agents evaluate ppo2 --video
retro-agents evaluate runs/rainbow --levels bramble-test --episodes 5 --whole
retro-agents evaluate rainbow --sight
"""

import contextlib
import dataclasses
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np
from rich.console import Console

from retro_agents.contract.envs import CONTEST_RETURNS, EnvSpec
from retro_agents.contract.policy import FORMER_FLAGS, Play, Policy
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.contest_env import FRAMES_PER_SECOND
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.make import backend_of, make_env
from retro_agents.games.retro.references import REFERENCES
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import folder_for, held_by
from retro_agents.ground.processes import stopped_in_order
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.results import read_result, store
from retro_agents.ground.statistics import t_interval
from retro_agents.judging.film import PATIENCE, Moment, end_of, film, keep_best, play_episode
from retro_agents.judging.levels import held_out, playable_levels
from retro_agents.judging.policies import check_play, load_policy
from retro_agents.judging.score import Episode, Score, score, score_table, shown_names
from retro_agents.judging.sight import PLAYS
from retro_agents.judging.sight_report import WAYS, check_testable, sight_of, sight_table, verdict
from retro_agents.run.command_line import parse_command
from retro_agents.run.fields import field, positional
from retro_agents.run.folder import alone_in, numbered_folder

SIGHT_EPISODES = 5
"""Default episodes per level of a test of sight."""


@dataclasses.dataclass(frozen=True)
class EvaluateConfig:
    """Play episodes under the contest's rules, without learning, and score them."""

    agent: str = positional("AGENT", needs=("scipy",))
    """A checkpoint, run folder or contest folder, a shipped agent's name (ppo2), or random,
    hold-right, run-and-jump."""
    levels: str = ""
    """Levels (RustCavern.Act2; GAME:STATE for one of no split) and splits, which are lists of
    levels (bramble-test), separated by commas; or a CSV with the columns game,state; default: the
    first level of the test split of the agent's game (bramble-test), with --sight all of them."""
    episodes: Count | None = None
    """Episodes per level, each with its own sticky actions; default: 1, with --sight 5."""
    seed: Seed = 0
    """Seed of the first episode's sticky actions; each later episode uses the next seed."""
    whole: bool = False
    """Keep playing after 20 seconds without progress, up to the contest's limit of 300 seconds."""
    play: Play | None = field(None, answers=FORMER_FLAGS)
    """How actions are chosen: best (greedy), draw (as while it learns), draw:T (sampled at the
    temperature T), or epsilon:E (greedy, but random with probability E); default: as the agent's
    checkpoint says."""
    sight: bool = False
    """Test whether the agent uses what it sees: compare its returns on its own frames, on frames
    from other moments, and blind (actions drawn at random, each as often as the agent chose it).
    The test is run twice: acting as while it learns, and greedily."""
    video: bool = field(False, needs=("imageio", "imageio_ffmpeg"))
    """Save each level's best episode as a .bk2 recording and as an .mp4 film that shows the
    actions, the return, and what the agent expects of each action."""
    out: Path | None = None
    """Folder for result.json and the videos; default: the next of runs/evaluation-001, -002, …"""
    backend: Literal["native", "emulator"] = "native"
    """How BrambleDash is played: natively or in the emulator; other games are always emulated."""
    device: str = "cpu"
    """Device of the net: cpu, cuda, cuda:1, auto."""


class Found(NamedTuple):
    """What an evaluation found."""

    result: dict[str, Any]
    """For result.json."""
    shown: Sequence[Any]
    """What is printed once that is stored: tables and text."""
    error: BaseException | None = None
    """What is raised in the end: why a film could not be made or a level not played, or Ctrl-C."""


@contextlib.contextmanager
def made_out(out: Path | None) -> Iterator[Path]:
    """Yields the output folder, which is alone for this evaluation. Removes it if nothing came of
    it. Raises UserError if it cannot be written, or holds an evaluation."""
    given, out = out, out or numbered_folder("runs", "evaluation")
    busy = f"another evaluation writes to {out}: give another --out"
    with folder_for(out, made=given is None), alone_in(out, otherwise=busy):
        if held := held_by(out):
            raise UserError(f"{out} already holds {held}; give another --out")
        yield out


def agent_in(contest: Path) -> str:
    """The agent that played in a contest's folder; if it learned there, as it was at the end.

    Raises UserError if there are several, or none was saved.
    """
    expected = "give a folder that the contest wrote"
    shown = f"`retro-agents contest report {contest}` shows what was played"
    facts = read_result(contest / "contest.json", expected=expected)
    if lacking := {"name", "mode", "checkpoint"} - facts.keys():
        raise UserError(f"{contest}/contest.json is damaged: it lacks {min(lacking)}")
    saved = sorted(contest.glob("*/seed-*/agent"))
    learned = [str(path) for path in saved if path.parent.name[len("seed-") :].isdecimal()]
    adapts = facts["mode"] == "adapt"
    start = [str(facts["checkpoint"])] if facts["checkpoint"] and not adapts else []
    found = learned or start
    if not found and facts["name"] in REFERENCES:
        return str(facts["name"])
    if len(found) != 1:
        which = f"give one, such as {found[0]}" if found else f"{facts['name']} saved none; {shown}"
        raise UserError(f"{contest} holds {len(found)} agents: {which}")
    return found[0]


def play_level(
    policy: Policy,
    level: Level,
    settings: EnvConfig,
    *,
    episodes: int,
    seed: int = 0,
    play: Play | None = None,
    record_dir: Path | None = None,
    patience: int = 0,
    on_step: Callable[[int, int], None] | None = None,
) -> tuple[list[Episode], list[Moment]]:
    """Play the episodes of one level in turn. Also returns the moments of the best episode if there
    is a record_dir, which gets one .bk2 for each episode. patience: as for `play_episode`.
    on_step(episodes before, steps of this one): for showing progress."""
    plain = settings.with_raw_rewards()
    played: list[Episode] = []
    shown: list[Moment] = []
    with contextlib.closing(make_env(level, plain, record_dir=record_dir)) as env:
        for number in range(episodes):
            before = max((episode.r for episode in played), default=-np.inf)
            seen: list[Moment] = []
            episode = play_episode(
                policy,
                env,
                seed=seed + number,
                play=play,
                patience=patience,
                on_step=None if on_step is None else partial(on_step, number),
                on_moment=None if record_dir is None else seen.append,
            )
            played.append(episode)
            shown = seen if episode.r > before else shown
    return played, shown


def film_best(
    path: Path, played: Sequence[Episode], seen: Sequence[Moment], spec: EnvSpec, agent: str
) -> Path:
    """Film the best of a level's episodes, of which these are the moments -> `path`."""
    best_of = f": best of {len(played)}" if len(played) > 1 else ""
    shown = {f"{agent}, {path.stem}{best_of}": seen}
    ends = dict.fromkeys(shown, end_of(max(played, key=lambda episode: episode.r)))
    return film(path, shown, spec.action_names, frame_skip=spec.frame_skip, ends=ends)


def evaluate_levels(
    policy: Policy, levels: Sequence[Level], settings: EnvConfig, config: EvaluateConfig, out: Path
) -> Found:
    """Play the levels in turn, and score them."""
    names = shown_names(map(str, levels))
    rows: list[Score] = []
    every: list[Episode] = []
    returns: dict[str, list[float]] = {}
    error: BaseException | None = None
    spec, second = settings.spec(), FRAMES_PER_SECOND // settings.frame_skip
    longest, episodes = settings.episode_steps // second, config.episodes or 1
    total = longest * episodes * len(levels)
    with Progress(total, "evaluate", unit="seconds of play") as progress:

        def show(episode: int, step: int) -> None:
            progress.update((len(every) + episode) * longest + step // second)

        try:
            for level in levels:
                name = names[str(level)].replace(":", "-")
                recordings = out / f".{name}" if config.video else None
                if recordings is not None:  # left over from an evaluation that was stopped
                    shutil.rmtree(recordings, ignore_errors=True)
                played, seen = play_level(
                    policy,
                    level,
                    settings,
                    episodes=episodes,
                    seed=config.seed,
                    play=config.play,
                    record_dir=recordings,
                    patience=0 if config.whole else PATIENCE * second,
                    on_step=show,
                )
                rows.append(score(name, played))
                every += played
                returns[str(level)] = [episode.r for episode in played]
                so_far = fmean(row.mean for row in rows)
                progress.update(len(every) * longest, {"mean return": so_far})
                if recordings is not None:
                    keep_best(recordings, returns[str(level)], out / f"{name}.bk2")
                    try:
                        print(film_best(out / f"{name}.mp4", played, seen, spec, config.agent))
                    except (UserError, OSError) as unfilmed:  # the scores are worth more
                        error = error or unfilmed
        except (Exception, KeyboardInterrupt, SystemExit) as stop:  # the levels before count
            shutil.rmtree(out / f".{name}", ignore_errors=True)
            if not rows:
                raise
            stored = f"{len(rows)} of {len(levels)} levels are in {out / 'result.json'}"
            error = KeyboardInterrupt(stored) if isinstance(stop, KeyboardInterrupt) else stop
    if len(rows) > 1:  # the levels are given, not sampled: only episodes vary
        means = np.mean([*returns.values()], axis=0)
        low, high = t_interval(means, within=CONTEST_RETURNS)
        count = "all" if len(rows) == len(levels) else f"{len(rows)} of {len(levels)}"
        rows.append(dataclasses.replace(score(f"{count} levels", every), low=low, high=high))
    way = f", --play {config.play}" if config.play else ""
    table = score_table(rows, title=f"{config.agent}{way}")
    scores = [*map(dataclasses.asdict, rows)]
    return Found({"scores": scores, "returns": returns}, (table,), error)


def evaluate_sight(
    policy: Policy, levels: Sequence[Level], settings: EnvConfig, config: EvaluateConfig
) -> Found:
    """Test whether the agent uses what it sees."""
    episodes, total = config.episodes or SIGHT_EPISODES, len(WAYS) * len(PLAYS)
    second, done = FRAMES_PER_SECOND // settings.frame_skip, count(1)
    with Progress(total, "sight", unit="plays") as progress:
        found = sight_of(
            policy,
            [*map(str, levels)],
            settings,
            episodes=episodes,
            seed=config.seed,
            patience=0 if config.whole else PATIENCE * second,
            on_play=lambda: progress.update(next(done)),
        )
    title = f"{config.agent}, {len(levels)} levels × {episodes} episodes; gain: what seeing adds"
    shown = sight_table(found, title=title), verdict(found, config.agent)
    return Found({"episodes": episodes, "sight": found}, shown)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Evaluate the agent that the command line names."""
    config = parse_command(EvaluateConfig, argv, command="retro-agents evaluate")
    if config.sight and config.video:
        raise UserError("--sight makes no films: leave out --video, or --sight")
    if config.sight and config.play:
        raise UserError("--sight tests both ways of acting: leave out --play")
    folder = Path(config.agent)
    name = agent_in(folder) if (folder / "contest.json").is_file() else config.agent
    spec = config.levels or held_out(name)
    levels = playable_levels(spec, agent=name)
    levels = levels if config.levels or config.sight else levels[:1]
    check_play(name, config.play)
    policy, settings = load_policy(name, seed=config.seed, device=config.device)
    settings = dataclasses.replace(settings, backend=config.backend)
    played_by = {backend_of([level], settings) for level in levels}
    if config.sight:
        episodes = config.episodes or SIGHT_EPISODES
        check_testable(policy, config.agent, levels=len(levels), episodes=episodes)
    with stopped_in_order(), made_out(config.out) as out:  # before anything is played
        if config.sight:
            found = evaluate_sight(policy, levels, settings, config)
        else:
            found = evaluate_levels(policy, levels, settings, config, out)
            if not config.levels and config.episodes is None:
                more = f"One level, one episode: for a score give --levels {spec} --episodes 4."
                found = found._replace(shown=(*found.shown, more))
        result = {
            "agent": config.agent,
            "seed": config.seed,
            "play": config.play,
            "backend": "+".join(sorted(played_by)),
            **found.result,
        }
        try:
            store(out / "result.json", result)
        finally:  # a full disk must not cost what was played
            for one in found.shown:
                (print if isinstance(one, str) else Console().print)(one)
    print(out / "result.json")
    if found.error is not None:
        raise found.error


if __name__ == "__main__":
    main()
