import json
import os
import signal
import subprocess
import time
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from es.agent import ESAgent
from es.memory import Plan, draw_levels
from es.mpi import Agreed, World
from es.train import parse, run, train_in_world
from es.training import Training, so_far
from retro_agents.contract.envs import row_seeds
from retro_agents.games.families import level_names
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import replaced, to_dict
from retro_agents.run.metrics import read_columns
from tests.conftest import Corridor
from tests.es.lanes import LEVELS, Lanes
from tests.es.mpirun import mpirun, needs_mpirun
from tests.runs import but_for_config

SCRIPT = Path(__file__).parent / "lanes_master.py"


@pytest.mark.parametrize("kind", [Lanes, Corridor])
def test_search_learns_the_corridor(kind, quick, tmp_path):
    """Where rows can begin a level, and where an episode is cut by the end of the run."""
    run(kind(2), replaced(quick, timesteps=5_000, num_envs=2, pairs=8), tmp_path)
    current = read_columns(tmp_path / "metrics.csv")["current"]
    assert current[:3].mean() < 6.0 and current[-3:].mean() > 7.0  # 8 is the end
    assert kind is Lanes or load_checkpoint(tmp_path).counters["env_steps"] == 5_000


def test_processes_share_the_steps_that_are_left(corridor, quick):
    training = Training(replaced(quick, timesteps=100), World())
    training.start(None, corridor(2))
    training.env_steps, training.world = 90, Mock(size=4)
    training.rows.play = Mock(side_effect=InterruptedError)
    with pytest.raises(InterruptedError):
        training.play(training.plan(), Mock())
    assert training.rows.play.call_args.kwargs["budget"] == 3


@pytest.mark.parametrize("differs", [0, 1])
def test_processes_add_up_their_steps_and_must_have_the_same_weights(quick, differs):
    class Two(World):
        def exchange(self, payload, *, may_leave=False):
            head = np.frombuffer(payload[:16], np.int64) + np.array([0, differs])
            return [payload, head.tobytes() + payload[16:]]

    training = Training(quick, Two())
    training.start(None, envs := Lanes(1))
    if differs:
        with pytest.raises(RuntimeError, match="different weights"):
            training.play(training.plan(), Mock())
    else:
        training.play(training.plan(), Mock())
        assert training.env_steps == 2 * envs.stepped


def test_another_process_has_rows_of_its_own_and_saves_nothing(quick, tmp_path):
    world, envs = World(), Lanes(3)
    world.rank, world.size = 1, 2
    training = Training(quick, world)
    training.start(None, envs)
    training.save(tmp_path, envs)
    assert training.rows.first == 3 and not any(tmp_path.iterdir())


def test_the_seed_draws_the_net_its_noise_and_the_levels_of_each_generation(quick):
    drawn = []
    for seed in (0, 1):
        training = Training(replaced(quick, seed=seed), World())
        training.start(None, Lanes(1))
        theta, noise = training.learner.theta.copy(), training.learner.noise.block(0, 0, 0)
        slots = []
        for training.generation in range(12):
            slots += training.plan().slots
        drawn.append((theta, noise, slots))
        assert {*slots} == {0, 1}
    for one, other in zip(*drawn, strict=True):
        assert not np.array_equal(one, other)


def test_an_episode_is_reported_with_the_level_that_was_played(quick, tmp_path):
    envs = Lanes(1)
    run(envs, replaced(quick, timesteps=300, pairs=2), tmp_path)
    played = [LEVELS[start.level] for start in envs.begun]
    assert read_columns(tmp_path / "episodes.csv")["level"].tolist() == played
    assert LEVELS[1] in played  # not only the first


def short(quick, **changes):
    return replaced(quick, timesteps=900, num_envs=2, **changes)


def test_resumed_search_of_another_layer_by_draws_equals_an_uninterrupted_one(quick, tmp_path):
    flags = {"layer": "fc", "draw_actions": True, "levels_per_generation": 0, "evaluate_every": 3}
    config = short(quick, **flags)
    run(Lanes(2), config, tmp_path / "whole")
    run(Lanes(2), replaced(config, timesteps=400), tmp_path / "parts")
    run(Lanes(2), replaced(config, resume=True), tmp_path / "parts")
    assert but_for_config(tmp_path / "whole") == but_for_config(tmp_path / "parts")
    assert len(read_columns(tmp_path / "whole/metrics.csv")["step"]) >= 4


def test_rows_that_cannot_begin_a_level_go_on_in_other_episodes(corridor, quick, tmp_path):
    """Not in those that the run began with, once more."""
    envs, seeds = corridor(2), []
    reset = envs.reset
    envs.reset = lambda *, seed: (seeds.append(seed), reset(seed=seed))[1]
    run(envs, replaced(quick, timesteps=1), tmp_path)
    assert seeds == [row_seeds(quick.run.seed, 2)]
    run(envs, replaced(quick, timesteps=60, resume=True), tmp_path)
    assert len(set(map(tuple, seeds))) == 2 and seeds[-1] != seeds[0]


def test_metrics_are_those_of_the_episodes(quick, tmp_path):
    config = replaced(quick, timesteps=700, levels_per_generation=0, evaluate_every=2)
    run(Lanes(1), config, tmp_path / "run")
    metrics, episodes = (read_columns(tmp_path / f"run/{n}.csv") for n in ("metrics", "episodes"))
    for row, step in enumerate(metrics["step"]):
        own = episodes["step"] == step
        members, levels, returns = (episodes[n][own] for n in ("env", "level", "r"))
        evaluated = returns[members == 0]
        assert evaluated.size == (2 if row % 2 == 0 else 0)
        if evaluated.size:
            assert metrics["current"][row] == pytest.approx(evaluated.mean())
        played, levels = returns[members > 0], levels[members > 0]
        assert metrics["return"][row] == pytest.approx(played.mean())
        assert metrics["best"][row] == played.max()
        spreads = [played[levels == level].std() for level in np.unique(levels)]
        assert len(spreads) == 2 and metrics["spread"][row] == pytest.approx(np.mean(spreads))
    assert len(metrics["step"]) >= 2
    timing = read_columns(tmp_path / "run/timing.csv")
    assert timing["step"].tolist() == metrics["step"].tolist()
    assert (np.diff(timing["seconds"]) > 0).all() and (timing["steps_per_second"] > 0).all()


def test_without_flags_the_shipped_policys_connected_layer_is_searched_on_all_levels():
    config = parse([])
    agent = ESAgent.start(config, config.run.init)
    assert agent.names == ["hidden.weight", "hidden.bias"] and len(agent.theta) == 401_664
    levels = level_names(config.run.levels)
    drawn = draw_levels(0, 5, levels=len(levels), count=config.levels_per_generation)
    plan = Plan(0, 5, pairs=config.pairs, slots=drawn, evaluates=True)
    assert set(plan.turns.tolist()) == set(range(len(level_names("bramble-train"))))


def test_games_of_procgen_are_not_drawn():
    few = ["--levels", "procgen:maze,heist", "--levels-per-generation"]
    with pytest.raises(UserError, match=r"plays all games of Procgen: give 0"):
        parse([*few, "1"])
    assert parse([*few, "2"]).levels_per_generation == 2


def test_what_is_left_of_a_generation_is_reckoned_from_the_episodes_that_have_ended():
    plan = Plan(0, 2, pairs=4, slots=(0, 1), evaluates=True)
    said = so_far(plan, 6, playing=4, seconds=60.0)  # 2 have ended, 8 are left
    assert said == "generation 3: episode 6 of 10, update in 4 min 00 s"


def test_a_run_says_how_far_its_first_generation_is(quick, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("retro_agents.ground.progress.LINE_SECONDS", 0.0)
    run(Lanes(1), replaced(quick, timesteps=1, pairs=2), tmp_path)
    first, *lines = capsys.readouterr().err.splitlines()
    assert first == "es: 0/1 steps, generation 1: episode 1 of 5"
    assert any("episode 5 of 5, update in" in line for line in lines)


def config_file(tmp_path, config):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(to_dict(config)))
    return path


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@needs_mpirun
def test_killed_process_ends_all_and_any_number_resumes_the_run(quick, tmp_path):
    # 64 x 1200 weights and as many biases in the fc layer: five blocks, the update is divided.
    config = short(quick, layer="fc", hidden=1200)
    run(Lanes(2), config, tmp_path / "whole")
    killed = tmp_path / "killed"
    process = subprocess.Popen(
        mpirun(2, SCRIPT, killed, config_file(tmp_path, config), "0.02"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while len(list(killed.glob("checkpoints/step-*/meta.json"))) < 2:
        assert process.poll() is None, "ended before it could be killed"
        time.sleep(0.01)
    pids = [int((tmp_path / f"pid-{rank}").read_text()) for rank in (0, 1)]
    os.kill(pids[1], signal.SIGKILL)
    assert process.wait(120) != 0
    assert not any(alive(pid) for pid in pids)
    assert load_checkpoint(killed).counters["env_steps"] < 900
    run(Lanes(2), replaced(config, resume=True), killed)
    assert but_for_config(killed) == but_for_config(tmp_path / "whole")


def test_every_process_has_environments_of_its_own(monkeypatch):
    """Where rows cannot be reset singly, what they play is decided as they are made."""
    made = []

    def make(config, *, part):
        made.append((config.run.num_envs, part))
        raise UserError("that is enough")

    world = World()
    world.rank, world.size = 1, 3
    monkeypatch.setattr("es.train.make_for", make)
    with pytest.raises(Agreed):
        train_in_world(["--levels", LEVELS[0], "--num-envs", "4"], world)
    assert made == [(12, slice(4, 8))]
