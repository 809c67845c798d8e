"""The course's experiments beside ours: plays what its sweeps have trained, in its unit and in raw
returns.

python -m lab.studies.course runs/levels --out lab/studies/results/course/levels.json \
    --plot docs/results/course-levels.png
"""

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.studies.procgen_pages import GROUPED_BY, grouped, theirs_of
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
from retro_agents.judging.tables import decimal
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import Checkpoint, load_agent, load_checkpoint
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import flat
from retro_agents.run.distributed import Group
from retro_agents.run.fields import positional
from retro_agents.sweeps.grid import draw_lines, two_sigma

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


def about(saved: Checkpoint) -> dict[str, Any]:
    """What tells a run apart; its method in the words of the course's table."""
    config = flat(saved.config)
    if saved.agent != "trpo":
        method = saved.agent.upper().replace("2", "")
    elif config["update"] == "natural":
        method = f"TRPO, KL {config['max_kl']:g}"
    else:
        trained = "" if config["critic"] == "untrained" else ", critic trained"
        method = f"penalty {config['penalty']:g}{trained}"
    return {"method": method, **{name: config[name] for name in (*GROUPED_BY[1:], "seed")}}


def played(saved: Checkpoint, config: CourseConfig) -> dict[str, Any]:
    """A run's row: `about`, and of either set of levels the mean of each evaluation. Raises
    UserError if the run is not on one Procgen game."""
    known: Any = saved.config_as(find(saved.agent).Config)
    games = parse_games(known.run.levels) if isinstance(known.env, ProcgenConfig) else ()
    if len(games) != 1:
        raise UserError(f"{saved.folder} is not on one Procgen game: give the course's sweeps")
    row, plain = about(saved), known.env.with_raw_rewards()
    policy = load_agent(saved.folder, device=str(prepare_device("cpu", threads=1)))
    for name, settings in level_sets(plain, test_levels="all").items():
        returns = []
        for seed in row_seeds(config.seed, config.evaluations):
            envs = make_vec(games[0], num_envs=ROWS, config=settings, seed=seed)
            with closing(envs), aside(seed):
                returns.append(np.mean(evaluate(policy, envs, seed=seed), axis=1))
        raw, scaled = np.transpose(returns).tolist()
        normalised = normalised_scores(float(np.mean(raw)), games[0], settings.distribution_mode)
        row[name] = {"raw": raw, "course": scaled, "normalised": normalised["paper"]}
    return row


def runs_in(sweep: Path) -> list[Checkpoint]:
    """The newest checkpoints of a sweep's complete runs. Raises UserError if there is none."""
    complete = [path for path in sorted(sweep.glob("*/*.json")) if "levels" in read_result(path)]
    if not complete:
        raise UserError(f"{sweep} holds no complete run: expected a folder of `retro-agents sweep`")
    return [load_checkpoint(path.with_suffix("")) for path in complete]


def varied(rows: Sequence[Mapping[str, Any]]) -> str:
    """What the runs differ in. Raises UserError if it is more than one thing."""
    fields = [name for name in GROUPED_BY if len({row[name] for row in rows}) > 1]
    if len(fields) > 1:
        raise UserError(f"runs that differ in {' and '.join(fields)} make no picture: give fewer")
    return fields[0] if fields else "num_levels"


def draw(rows: Sequence[Mapping[str, Any]], out: Path) -> None:
    """Returns in the course's unit over what the runs differ in, and theirs."""
    field, lines = varied(rows), dict[str, dict[str, tuple[float, float]]]()
    for (value,), alike in grouped(rows, [field]).items():
        for name in SETS:
            own = [fmean(row[name]["course"]) for row in alike]
            lines.setdefault(f"{name} levels", {})[str(value)] = fmean(own), two_sigma(own)
            if theirs := theirs_of(alike[0]):
                line = lines.setdefault(f"theirs, {name} levels", {})
                line[str(value)] = theirs[name], math.nan
    draw_lines(lines, out, x=field, y="return in the course's unit ± 2 σ over seeds")


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Play what the command line names."""
    config = parse_command(CourseConfig, argv, command="python -m lab.studies.course")
    rows, runs = [], [saved for sweep in config.sweeps for saved in runs_in(sweep)]
    if config.plot:
        varied([about(saved) for saved in runs])  # before hours of play
    for saved in runs:
        rows.append(played(saved, config))
        ends = {name: decimal(fmean(rows[-1][name]["raw"]), 2) for name in SETS}
        print({**about(saved), **ends}, flush=True)
    content = {"episodes": config.evaluations * ROWS, "rows": rows}
    write_result(config.out, content, module="lab.studies.course")
    print(config.out)
    if config.plot:
        draw(rows, config.plot)
        print(config.plot)


if __name__ == "__main__":
    main()
