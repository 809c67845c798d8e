"""Population-based training on Ray Tune: bad runs continue from the checkpoints of good ones.

Source: Jaderberg et al., arXiv:1711.09846. Every `perturb_every` steps, a run of the worst quarter
loads the checkpoint of a run of the best quarter and continues with its values, each multiplied by
0.8 or 1.2 or, one time in five, drawn anew. Values stay within the range that --pbt gives.
"""

import inspect
import math
import os
import shutil
import signal
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from retro_agents.games.families import make_for
from retro_agents.ground.cluster import handler_kept, ray_on
from retro_agents.ground.errors import UserError
from retro_agents.judging.tables import NOTHING, number, records
from retro_agents.run.agents import find_given, with_this_project
from retro_agents.run.config import flat, replaced, to_dict
from retro_agents.run.fields import fields, flag_of
from retro_agents.run.folder import alone_in
from retro_agents.run.plot import plot_curves
from retro_agents.sweeps.config import SweepConfig, check_same, make_out
from retro_agents.sweeps.grid import WIDE, agent_config, as_number, field_of, publish, words_of

QUANTILE, RESAMPLE = 0.25, 0.2
NAME = "population"
"""Name of the folder in --out that Ray keeps."""
WORST = -1e9
"""Score of a run that has not ended an episode."""
Ranges = dict[str, tuple[float, float]]
KEPT = 4
"""Checkpoints of each run that Ray keeps; other runs copy the last one."""
TRIED = 1_000
"""Number of a range's whole numbers, evenly spaced, that are checked before anything runs."""


def read_ranges(config: SweepConfig) -> Ranges:
    """Field -> (low, high). Raises UserError if a word is not FIELD=LOW:HIGH, if the agent's config
    forbids values of the range, if a run may not change the field, or if the agent does not
    report its checkpoints."""
    base, ranges = agent_config(config), Ranges()
    known, movable = flat(to_dict(base)), fields(base, "learning", but="contest")
    if "on_checkpoint" not in inspect.signature(find_given(config.agent).run).parameters:
        raise UserError(
            f"{config.agent} does not report its checkpoints; give --agent ppo2, trpo, impala, "
            "rainbow or sac"
        )
    for name in ("actors", "num_checkpoints", "track"):
        if known.get(name):
            raise UserError(f"runs of a population take no {flag_of(name)}: leave it out")
    if not base.run.num_envs:
        raise UserError("a population's runs need a number of environments: --flags='--num-envs 8'")
    for word in config.pbt:
        field, ends = field_of(word), word.partition("=")[2].split(":")
        low, high = (as_number(end) for end in ends) if len(ends) == 2 else (math.nan, math.nan)
        if not low < high or field in ranges:
            raise UserError(
                f"--pbt {word!r}: expected FIELD=LOW:HIGH with LOW below HIGH, each field once"
            )
        words = [words_of({field: str(used(x, known.get(field)))}, known) for x in (low, high)]
        if field not in movable:
            raise UserError(
                f"--pbt {field}: runs that load each other's checkpoints must share it; give "
                "one value in --flags, or a --grid"
            )
        for flags in words:
            agent_config(config, flags)
        whole = range(round(low), round(high) + 1, max(1, round(high - low) // TRIED))
        for value in whole if isinstance(known[field], int) else ():
            try:
                replaced(base, **{field: value})
            except UserError as error:
                raise UserError(f"--pbt {field}: {value} may be drawn, but {error}") from None
        ranges[field] = low, high
    return ranges


def used(value: float, like: Any) -> float:
    """A drawn value as a run uses it: rounded if the field holds whole numbers."""
    return round(value) if isinstance(like, int) else float(value)


def clamped(values: Mapping[str, float], ranges: Ranges) -> dict[str, float]:
    """The values, each clipped to its range."""
    return {name: min(max(values[name], low), high) for name, (low, high) in ranges.items()}


def begin(run_dir: Path, given: Any) -> bool:
    """Restore a run's folder from one of Ray's checkpoints, its own or another run's -> whether
    there is a run to resume. given: the checkpoint, or None at the start of a run."""
    shutil.rmtree(run_dir, ignore_errors=True)
    if given is not None:
        given.to_directory(str(run_dir))
    return given is not None


def train(values: Mapping[str, float], config: SweepConfig, out: Path) -> None:
    """Train one run of the population, in one of Ray's processes."""
    from ray import tune

    run_dir = out / "runs" / tune.get_context().get_trial_id()
    resumes = begin(run_dir, tune.get_checkpoint())
    known = flat(to_dict(agent_config(config)))
    point = {name: str(used(value, known[name])) for name, value in values.items()}
    mine = agent_config(config, words_of(point, known))
    member = int(run_dir.name.rpartition("_")[2])  # Ray numbers its trials
    mine = replaced(mine, run_dir=str(run_dir), resume=resumes, seed=mine.run.seed + member)
    mine = replaced(mine, checkpoint_every=config.perturb_every)
    reported = -1

    def report(folder: Path, metrics: dict[str, float]) -> None:
        nonlocal reported
        if metrics["env_steps"] > reported:
            reported = int(metrics["env_steps"])
            score = metrics["mean_return"]
            found = {**metrics, "score": WORST if math.isnan(score) else score}
            tune.report(found, checkpoint=tune.Checkpoint.from_directory(str(folder)))

    envs = make_for(mine)
    try:
        run = find_given(config.agent).run
        run(envs, mine, run_dir, mine.run.init or None, on_checkpoint=report)
    finally:
        envs.close()


def tuner(config: SweepConfig, ranges: Ranges, trainable: Callable[..., None]) -> Any:
    """Ray's tuner of this population. If --out holds one, it is resumed.

    All its runs are active: with fewer cores than runs, each waits for its turn after a report.
    """
    from ray import tune
    from ray.tune.schedulers import PopulationBasedTraining

    place = config.out.resolve()
    whole: Any = tune.with_parameters(trainable, config=config, out=place)
    if tune.Tuner.can_restore(str(place / NAME)):
        return tune.Tuner.restore(str(place / NAME), whole, resume_errored=True)
    draws = {
        name: tune.loguniform(*ends) if ends[0] * WIDE <= ends[1] and ends[0] > 0.0
        else tune.uniform(*ends)
        for name, ends in ranges.items()
    }  # fmt: skip
    scheduler = PopulationBasedTraining(
        time_attr="env_steps",
        perturbation_interval=1,  # every report comes with a checkpoint
        hyperparam_mutations=draws,
        quantile_fraction=QUANTILE,
        resample_probability=RESAMPLE,
        custom_explore_fn=partial(clamped, ranges=ranges),
    )
    chosen: dict[str, Any] = {"metric": "score", "mode": "max", "num_samples": config.population}
    return tune.Tuner(
        whole,
        param_space=draws,
        tune_config=tune.TuneConfig(**chosen, scheduler=scheduler),
        run_config=tune.RunConfig(
            name=NAME,
            storage_path=str(place),
            # The last report ends a run, so it must not load other weights then.
            stop={"env_steps": agent_config(config).run.timesteps},
            checkpoint_config=tune.CheckpointConfig(num_to_keep=KEPT),
        ),
    )


def run(config: SweepConfig, trainable: Callable[..., None] = train) -> None:
    """Train the population, or resume it, then write result.json, table.md and plot.png.

    Raises UserError for a bad range, or if runs failed."""
    ranges = read_ranges(config)
    make_out(config.out)
    os.environ["RAY_CHDIR_TO_TRIAL_DIR"] = "0"
    project = {"env_vars": with_this_project()}
    elsewhere = f"another process trains the population in {config.out}: wait for its end, stop it"
    with alone_in(config.out, otherwise=f"{elsewhere}, or give another --out"):
        check_same(config, NAME)
        with (
            ray_on(config.ray_address, cpus=config.at_once, runtime_env=project),
            handler_kept(signal.SIGINT),
            warnings.catch_warnings(),  # runs start in processes of their own, and are few
        ):
            warnings.filterwarnings("ignore", "Consider boosting PBT")
            results = tuner(config, ranges, trainable).fit()
    metrics = [one.metrics or {} for one in results]
    report(config, ranges, [one for one in metrics if "score" in one])
    if results.errors:
        raise UserError(
            f"{len(results.errors)} of {len(results)} runs failed ({results.errors[0]}); their "
            f"logs are in {config.out / NAME}; give the same command again"
        )
    if any(one.get("env_steps", 0) < agent_config(config).run.timesteps for one in metrics):
        raise KeyboardInterrupt("repeat the command to resume")  # Ray Tune ends without a message


def report(config: SweepConfig, ranges: Ranges, found: Sequence[Mapping[str, Any]]) -> None:
    """Report the population's runs, the best first, with their final values."""
    known = flat(to_dict(agent_config(config)))
    runs = [
        {
            "run": one["trial_id"],
            "score": one["score"] if one["score"] > WORST else math.nan,
            "env_steps": one["env_steps"],
            "values": {name: used(one["config"][name], known[name]) for name in ranges},
        }
        for one in sorted(found, key=lambda metrics: -metrics["score"])
    ]
    rows = [
        {"run": one["run"], "mean return": number(one["score"]), "steps": number(one["env_steps"])}
        | {n: f"{v:.4g}" if isinstance(v, float) else f"{v:,}" for n, v in one["values"].items()}
        for one in runs
    ]
    publish(config, records(rows) or NOTHING, runs=runs)
    ended = [str(one["run"]) for one in runs if not math.isnan(one["score"])]
    if folders := {name: [config.out / "runs" / name] for name in ended}:
        plot_curves(folders, config.out / "plot.png", title="Return: population")
