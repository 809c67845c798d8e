"""A search by Optuna: each trial's values are drawn where good ones were found, and runs that fall
behind are stopped.

Source: Bergstra et al., Algorithms for Hyper-Parameter Optimization, NeurIPS 2011 (TPE). A run is
stopped if its best score so far is below the median of the earlier trials at that step.
"""

import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from retro_agents.games.families import check_levels
from retro_agents.ground.cores import free_cores
from retro_agents.ground.errors import UserError
from retro_agents.judging.tables import NOTHING, number, records
from retro_agents.run.config import flat, to_dict
from retro_agents.run.folder import alone_in
from retro_agents.run.metrics import read_columns
from retro_agents.sweeps.config import SweepConfig, check_same, make_out
from retro_agents.sweeps.grid import (
    WIDE,
    agent_config,
    as_number,
    field_of,
    kind_of,
    publish,
    words_of,
)
from retro_agents.sweeps.launcher import LAST, play
from retro_agents.sweeps.study import Cell, Study

EVALUATED, PLAYED = ("train_return",), ("mean_return", "return")
"""Columns of metrics.csv that a search maximises, where the runs evaluate and where not: the first
that they write. ES has the last."""
FIRST = 4
"""Trials before the first is drawn by TPE, and before one is stopped."""
SECONDS = 1.0
"""Time between two looks at a run's metrics."""
Space = dict[str, Any]
"""Field -> Optuna's distribution of its values."""


def read_space(config: SweepConfig) -> Space:
    """FIELD=LOW:HIGH or FIELD=A,B -> field -> distribution; of the logarithm if HIGH is 20 × LOW or
    more. Raises UserError if a word has another form, or the agent's config forbids an end."""
    from optuna import distributions

    known, space = flat(to_dict(agent_config(config))), Space()
    for word in config.search:
        field, text = field_of(word), word.partition("=")[2]
        ends, values = text.split(":"), [one.strip() for one in text.split(",") if one.strip()]
        low, high = (as_number(end) for end in ends) if len(ends) == 2 else (np.nan, np.nan)
        if field in space or not (low < high or len(set(values)) > 1):
            raise UserError(
                f"--search {word!r}: expected FIELD=LOW:HIGH with LOW below HIGH, or FIELD=A,B, "
                "each field once"
            )
        is_wide = low > 0 and high >= WIDE * low
        if len(values) > 1:
            space[field] = distributions.CategoricalDistribution(values)
        elif isinstance(known.get(field), int):
            first, last = round(low), round(high)
            space[field] = distributions.IntDistribution(first, last, log=is_wide and first > 0)
        else:
            space[field] = distributions.FloatDistribution(low, high, log=is_wide)
        for value in values if len(values) > 1 else ends:
            found = agent_config(config, words_of({field: value.strip()}, known))
            check_levels(found.run.levels, found.env)
    return space


def scores(folder: Path, names: Sequence[str]) -> dict[int, float]:
    """Step -> score, as far as a run has come; {} before its first score. names: of its column."""
    with suppress(OSError, UserError, ValueError):
        table = read_columns(folder / "metrics.csv")
        if (name := next((name for name in names if name in table), None)) is None:
            return {}
        there = ~np.isnan(table[name])
        steps = table["step"][there].astype(int).tolist()
        return dict(zip(steps, table[name][there].tolist(), strict=True))
    return {}


def last_score(folder: Path, names: Sequence[str]) -> float:
    """The mean of a run's scores in the last tenth of its steps; its last score if they have none.
    Raises UserError if the run has no score."""
    if not (found := scores(folder, names)):
        raise UserError(f"{folder}/metrics.csv holds no score; give more steps, and another --out")
    end = (1 - LAST) * read_columns(folder / "metrics.csv")["step"].max()
    last = [score for step, score in found.items() if step > end]
    return float(np.mean(last or [*found.values()][-1:]))


def mend(log: Path) -> None:
    """Removes what a kill or a full disk left of Optuna's log: its lock, for which the next search
    would wait, and a line that was cut off, which the next line would continue."""
    log.with_name(f"{log.name}.lock").unlink(missing_ok=True)
    if log.is_file():
        os.truncate(log, log.read_bytes().rfind(b"\n") + 1)


class Search:
    """The trials of one search: drawn by Optuna, trained, and reported to it."""

    def __init__(self, config: SweepConfig, space: Space) -> None:
        import optuna
        from optuna.storages.journal import JournalFileBackend

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self.config, self.space, self.optuna = config, space, optuna
        asked = to_dict(agent_config(config))
        self.known = flat(asked)
        evaluates = asked.get("evaluation", {}).get("evaluate_every", 0)
        self.names = EVALUATED if evaluates else PLAYED
        log = config.out.resolve() / "trials.log"  # its lock is a link to this path
        mend(log)
        backend = JournalFileBackend(str(log))
        self.study = optuna.create_study(
            study_name="search",
            storage=optuna.storages.JournalStorage(backend),
            pruner=optuna.pruners.MedianPruner(n_startup_trials=FIRST),
            direction="maximize",
            load_if_exists=True,
        )
        self.stopping: dict[int, threading.Event] = {}

    def take_up(self) -> None:
        """Queue the trials that an interruption left, with their values and their folders."""
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state == self.optuna.trial.TrialState.RUNNING:
                folder = trial.user_attrs.get("folder", f"trial-{trial.number:03}")
                self.study.tell(trial.number, state=self.optuna.trial.TrialState.FAIL)
                self.study.enqueue_trial(trial.params, user_attrs={"folder": folder})

    def ask(self) -> Any:
        """The next trial. Its values depend only on the trials before it, so an interrupted search
        continues as it would have. Every trial has a seed of its own: otherwise two that are asked
        for at once would get the same values, as would the one after a trial that failed."""
        asked = (trial.user_attrs.get("folder") for trial in self.study.get_trials(deepcopy=False))
        number = len({*asked} - {None})
        self.study.sampler = self.optuna.samplers.TPESampler(seed=number, n_startup_trials=FIRST)
        trial = self.study.ask(self.space)
        if "folder" not in trial.user_attrs:
            trial.set_user_attr("folder", f"trial-{trial.number:03}")
        return trial

    def trials(self) -> list[Any]:
        """All trials but those that failed, or that `take_up` has queued under another number."""
        gone = self.optuna.trial.TrialState.FAIL
        return [one for one in self.study.get_trials(deepcopy=False) if one.state != gone]

    def study_of(self, trial: Any) -> tuple[Study, Cell]:
        """A trial's run, as the only cell of a study."""
        name = trial.user_attrs["folder"]
        words = words_of({field: str(value) for field, value in trial.params.items()}, self.known)
        kind = kind_of(self.config, words, agent_config(self.config, words).run)
        study = Study(seeds=1, kinds={name: kind}, keep=True)
        (cell,) = study.cells(name)
        return study, cell

    def run(self, trial: Any, threads: int) -> float | None:
        """Train a trial's run, and stop it if it falls behind. Returns its `last_score`; None if it
        was stopped."""
        study, cell = self.study_of(trial)
        stopping, reported = self.stopping[trial.number], set[int]()
        out = self.config.out.resolve()
        folder = out / cell.name
        is_behind = False
        with ThreadPoolExecutor(1) as one:
            playing = one.submit(play, study, cell, out, threads=threads, stopping=stopping)
            while not is_behind and wait([playing], timeout=SECONDS).not_done:
                is_behind = self.falls_behind(trial, folder, reported)
            if is_behind:
                stopping.set()
            try:
                playing.result()
            except UserError:
                if not is_behind:
                    raise
        if is_behind:
            return None
        self.falls_behind(trial, folder, reported)
        return last_score(folder, self.names)

    def falls_behind(self, trial: Any, folder: Path, reported: set[int]) -> bool:
        """Report new scores of a run. Returns whether it is to be stopped."""
        for step, score in scores(folder, self.names).items():
            if step not in reported:
                reported.add(step)
                trial.report(score, step)
        return bool(reported) and bool(trial.should_prune())


def run(config: SweepConfig) -> None:
    """Run the search's missing trials, then write the table. Raises UserError if some failed."""
    space = read_space(config)
    make_out(config.out)
    elsewhere = f"another process searches in {config.out}: wait for its end, or stop it"
    with alone_in(config.out, otherwise=elsewhere):
        check_same(config, "search")
        search = Search(config, space)
        search.take_up()
        try:
            failed = work(search)
        finally:
            report(search)
    if failed:
        raise UserError(f"{len(failed)} failed: {'; '.join(failed)}")


def work(search: Search) -> list[str]:
    """Run trials, some at a time, until all have ended. Returns what failed, in words."""
    at_once, states = search.config.at_once, search.optuna.trial.TrialState
    threads = max(1, free_cores() // at_once)
    running, failed = dict[Future[float | None], Any](), list[str]()
    with ThreadPoolExecutor(at_once) as pool:
        try:
            while True:
                begun = sum(one.state != states.WAITING for one in search.trials()) + len(failed)
                while len(running) < at_once and begun < search.config.trials:
                    trial = search.ask()
                    search.stopping[trial.number] = threading.Event()
                    running[pool.submit(search.run, trial, threads)] = trial
                    begun += 1
                if not running:
                    return failed
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    trial = running.pop(future)
                    try:
                        score = future.result()
                        state = states.PRUNED if score is None else states.COMPLETE
                        search.study.tell(trial, score, state)
                        print(f"done: {summary(trial.user_attrs['folder'], trial.params, score)}")
                    except UserError as error:
                        search.study.tell(trial, state=states.FAIL)
                        failed.append(str(error))
        except BaseException:
            for event in search.stopping.values():
                event.set()
            raise


def summary(name: str, values: Mapping[str, Any], score: float | None) -> str:
    """A trial in one line."""
    drawn = ", ".join(f"{field} {shown(value)}" for field, value in values.items())
    return f"{name}: {drawn}: {'stopped early' if score is None else f'return {number(score)}'}"


def shown(value: Any) -> str:
    """A drawn value as text."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def report(search: Search) -> None:
    """Write and print the trials, the best first."""
    pruned = search.optuna.trial.TrialState.PRUNED
    ended: Sequence[Any] = [one for one in search.trials() if one.value is not None]
    ended = sorted(ended, key=lambda one: (one.state == pruned, -one.value))
    rows = [
        {"run": one.user_attrs["folder"], "return": number(one.value)}
        | {"ended": "early" if one.state == pruned else "whole"}
        | {name: shown(value) for name, value in one.params.items()}
        for one in ended
    ]
    runs = [
        {"run": one.user_attrs["folder"], "score": one.value, "whole": one.state != pruned}
        | {"values": one.params}
        for one in ended
    ]
    publish(search.config, records(rows) or NOTHING, runs=runs)
