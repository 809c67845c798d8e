"""The course's experiments beside ours: plays what its sweeps have trained, in its unit and in raw
returns.

python -m lab.studies.course runs/levels --out lab/studies/results/course/levels.json \
    --plot docs/results/course-levels.png
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.studies.procgen_pages import GROUPED_BY, by_number, theirs_of
from retro_agents.contract.envs import VectorEnv, row_seeds
from retro_agents.contract.policy import Policy
from retro_agents.experience.return_scale import ReturnScale
from retro_agents.games.procgen.config import ProcgenConfig
from retro_agents.games.procgen.games import normalised_scores, parse_games
from retro_agents.games.procgen.levels import level_sets
from retro_agents.games.procgen.vector import make_vec
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.ranges import Count, Seed
from retro_agents.ground.results import read_result, write_result
from retro_agents.ground.seeding import aside
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import Checkpoint, load_agent, load_checkpoint
from retro_agents.run.config import flat, parse_command, positional
from retro_agents.run.distributed import Group
from retro_agents.run.plot import picture

GAMMA = 0.99
"""Of the course's reward scale."""
SETS = ("train", "test")
ROWS = 32
"""Environments of one of its evaluations, an episode of each."""


@dataclass(frozen=True)
class CourseConfig:
    """Evaluate the newest checkpoint of each run of some sweeps on one Procgen game."""

    sweeps: tuple[Path, ...] = positional("SWEEP")
    """Folders of sweeps."""
    evaluations: Count = 5
    """Evaluations on either set of levels, of 32 episodes each."""
    seed: Seed = 0
    """Seeds the levels drawn and the agent's actions."""
    out: Path = Path("course.json")
    """What to write."""
    plot: Path | None = None
    """A picture of the returns and of theirs, in the course's unit."""


def evaluate(policy: Policy, envs: VectorEnv, *, seed: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """One episode of each environment -> the returns [N], raw and in the course's unit.

    That is the sum of rewards, each over the running deviation of the discounted sum of rewards, as
    `ReturnScale` takes it, anew at every step and from nothing in each evaluation. The reward of
    the step that ends an episode is left out. Source: NielsFuglsang/02456-Deep-Learning,
    src/experiment.py (`evaluate`) and src/utils.py (`VecNormalize`).
    """
    scale, alone = ReturnScale(envs.num_envs, gamma=GAMMA), Group()
    obs, _ = envs.reset(seed=seed)
    starts, playing = np.ones((2, envs.num_envs), bool)
    raw, scaled = np.zeros((2, envs.num_envs))
    while playing.any():
        actions = policy.act(obs, starts=starts, explore=True)
        obs, rewards, terminated, truncated, _ = envs.step(actions)
        starts = terminated | truncated
        unit = scale(rewards[None], starts[None], alone)[0]
        raw[playing] += rewards[playing]
        playing &= ~starts
        scaled[playing] += unit[playing]
    return raw, scaled


def method(agent: str, config: dict[str, Any]) -> str:
    """How an agent learns, in the words of the course's table."""
    if agent != "trpo":
        return agent.upper().replace("2", "")
    if config["update"] == "natural":
        return f"TRPO, KL {config['max_kl']:g}"
    trained = "" if config["critic"] == "untrained" else ", critic trained"
    return f"penalty {config['penalty']:g}{trained}"


def about(saved: Checkpoint) -> dict[str, Any]:
    """What a run is told apart by."""
    config = flat(saved.config)
    return {
        "method": method(saved.agent, config),
        "encoder": config["encoder"],
        "hidden": config["hidden"],
        "num_levels": config["num_levels"],
        "seed": config["seed"],
        "timesteps": config["timesteps"],
    }


def game_of(saved: Checkpoint, config: Any) -> str:
    """The one game of a run. UserError: it is of none, or of several."""
    games = parse_games(config.run.levels) if isinstance(config.env, ProcgenConfig) else ()
    if len(games) != 1:
        raise UserError(f"{saved.folder} is not on one Procgen game: give the course's sweeps")
    return games[0]


def played(saved: Checkpoint, config: CourseConfig) -> dict[str, Any]:
    """A run's row: `about`, and of either set of levels the mean of each evaluation."""
    known: Any = saved.config_as(find(saved.agent).Config)
    game, row = game_of(saved, known), about(saved)
    policy = load_agent(saved.folder, device=str(prepare_device("cpu", threads=1)))
    plain = known.env.with_raw_rewards()
    for name, settings in level_sets(plain, test_levels="all").items():
        raw, scaled = [], []
        for seed in row_seeds(config.seed, config.evaluations):
            envs = make_vec(game, num_envs=ROWS, config=settings, seed=seed)
            with closing(envs), aside(seed):
                returns = evaluate(policy, envs, seed=seed)
            raw.append(float(returns[0].mean()))
            scaled.append(float(returns[1].mean()))
        normalised = normalised_scores(float(np.mean(raw)), game, settings.distribution_mode)
        row[name] = {"raw": raw, "course": scaled, "normalised": normalised["paper"]}
    return row


def runs_in(sweep: Path) -> Iterator[Checkpoint]:
    """The newest checkpoints of a sweep's complete runs. UserError: there is none."""
    complete = [path for path in sorted(sweep.glob("*/*.json")) if "levels" in read_result(path)]
    if not complete:
        raise UserError(
            f"{sweep} holds no complete run: expected a folder of python -m retro_agents.sweeps"
        )
    for path in complete:
        yield load_checkpoint(path.with_suffix(""))


def varied(rows: Sequence[dict[str, Any]]) -> str:
    """What the runs differ in. UserError: it is more than one thing."""
    fields = [name for name in GROUPED_BY if len({row[name] for row in rows}) > 1]
    if len(fields) > 1:
        raise UserError(f"runs that differ in {' and '.join(fields)} make no picture: give fewer")
    return fields[0] if fields else "num_levels"


def draw(rows: Sequence[dict[str, Any]], out: Path) -> None:
    """Returns in the course's unit over what the runs differ in, and theirs."""
    field = varied(rows)
    values = sorted({row[field] for row in rows}, key=by_number)
    numeric = field == "num_levels" and min(values) > 0
    places = values if numeric else range(len(values))
    several = len(rows) > len(values)
    title = "return in the course's unit" + " ± 2 σ over seeds" * several
    with picture(out, x=field, y=title) as axes:
        for name, colour in zip(SETS, ("C3", "C0"), strict=True):
            own = [[fmean(r[name]["course"]) for r in rows if r[field] == v] for v in values]
            means = [fmean(seeds) for seeds in own]
            spread = [2.0 * stdev(seeds) if len(seeds) > 1 else math.nan for seeds in own]
            style = {"color": colour, "marker": "o"}
            axes.errorbar(places, means, yerr=spread, label=f"{name} levels", capsize=3, **style)
            found = [theirs_of({**rows[0], field: value}) for value in values]
            if any(found):
                # A gap in a line of names, and none in one of numbers.
                kept = [(at, r) for at, r in zip(places, found, strict=True) if r or not numeric]
                told = [row[name] if row else math.nan for _, row in kept]
                label = f"theirs, {name} levels"
                axes.plot([at for at, _ in kept], told, "--", label=label, **style, alpha=0.5)
        if numeric:
            axes.set_xscale("log")
        else:
            axes.set_xticks(places, [str(value).replace(" ", "\n") for value in values])


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play what the command line names."""
    config = parse_command(CourseConfig, argv, command="python -m lab.studies.course")
    rows, runs = [], [saved for sweep in config.sweeps for saved in runs_in(sweep)]
    if config.plot:
        varied([about(saved) for saved in runs])  # before hours of play
    for saved in runs:
        rows.append(played(saved, config))
        ends = {name: np.mean(rows[-1][name]["raw"]) for name in SETS}
        print({**about(saved), **{name: f"{mean:.2f}" for name, mean in ends.items()}}, flush=True)
    content = {"episodes": config.evaluations * ROWS, "rows": rows}
    write_result(config.out, content, module="lab.studies.course")
    print(config.out)
    if config.plot:
        draw(rows, config.plot)
        print(config.plot)


if __name__ == "__main__":
    main()
