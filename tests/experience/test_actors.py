import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from retro_agents.experience.actors import ActorSettings, LocalActor, _RayActor, ray_actors
from retro_agents.ground.cluster import patiently
from retro_agents.ground.errors import UserError
from tests.experience.counting_actors import Counter, mistaken
from tests.runs import KILLS, ROOT


@contextmanager
def counters(settings, *, ahead=1):
    """-> a function that takes a block and orders another, the blocks taken so far, and the actors.
    The weights are the number of these blocks."""
    taken = []

    def take():
        played = actors.next()
        assert (played.block.pop("large") == played.block["number"] % 256).all()
        taken.append(played)
        actors.order(played.actor, len(taken))
        return played

    weights = lambda: {"w": np.array([len(taken)])}  # noqa: E731
    with ray_actors(Counter, weights, settings=settings, version=0, start=0, ahead=ahead) as actors:
        yield take, taken, actors


@pytest.mark.parametrize("ahead", [0, 2])
def test_weights_are_as_old_as_the_blocks_that_an_actor_is_ahead(ahead, ray_address):
    settings = ActorSettings(actors=1, ray_address=ray_address)
    with counters(settings, ahead=ahead) as (take, _, actors):
        for number in range(6):
            played = take()
            assert played.block["number"] == number + 1
            assert played.version == played.block["weight"] == max(0, number - ahead)
    assert actors.restarts == 0


def test_an_actor_here_has_the_newest_weights():
    here = LocalActor(Counter(0, 0), version=3)
    assert [here.next().version, here.next().block["number"]] == [3, 2]
    here.order(0, 7)
    assert here.next().version == 7


def test_an_actors_process_is_in_the_runs_folder_where_its_machine_has_that(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for name in ("run", "none"):
        _RayActor(Counter, 0, 0, tmp_path / name)
        assert Path.cwd() == tmp_path / "run"


def check_lives(taken, *, deaths):
    """No block is lost, comes twice or before an earlier one. A restarted actor has another seed
    than before, and its first block does not claim to follow the last."""
    lives: dict[tuple, list] = {}
    for played in taken:
        lives.setdefault(played.block["name"], []).append(played)
    for life in lives.values():
        assert [one.block["number"] for one in life] == [*range(1, len(life) + 1)]
        assert [one.follows for one in life] == [False] + [True] * (len(life) - 1)
    assert len(lives) == deaths + len({index for index, *_ in lives})
    assert len({(index, start) for index, start, _ in lives}) == len(lives)


@pytest.mark.timeout(300 * KILLS)
def test_an_actor_that_is_killed_is_started_again_and_no_block_comes_twice(ray_address):
    with counters(ActorSettings(actors=2, ray_address=ray_address)) as (take, taken, actors):
        while {played.actor for played in taken} != {0, 1}:
            take()
        for number in range(KILLS):
            pid = [one.block["name"][2] for one in taken if one.actor == number % 2][-1]
            os.kill(pid, signal.SIGKILL)
            while len({one.block["name"] for one in taken}) < 3 + number:
                take()
        assert actors.restarts == KILLS and len(actors.ordered) == 4
    check_lives(taken, deaths=KILLS)


def kill_nodes():
    """Ray's node process of the machine where an actor is; then another machine joins."""
    from ray.cluster_utils import Cluster

    arguments = {"num_cpus": 0, "include_dashboard": False}
    cluster = patiently(partial(Cluster, True, head_node_args=arguments))
    add = partial(patiently, partial(cluster.add_node, num_cpus=1))
    node = add()
    with counters(ActorSettings(actors=1, ray_address=cluster.address)) as (take, taken, actors):
        for number in range(KILLS):
            began = len(taken)
            while actors.restarts < number or len(taken) < began + 5:
                take()
            node.kill_raylet(check_alive=False)
            cluster.remove_node(node, allow_graceful=False)
            node = add()
        while actors.restarts < KILLS:
            take()
    check_lives(taken, deaths=KILLS)
    cluster.shutdown()


@pytest.mark.slow
@pytest.mark.timeout(300 * KILLS)
def test_a_run_goes_on_when_an_actors_machine_is_lost():
    """In a process of its own: Ray does not go from one cluster to another."""
    pytest.importorskip("ray")
    quick = {"RAY_health_check_period_ms": "500"}  # by which Ray finds out that one is gone
    command = [sys.executable, "-c", KILL_NODES]
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **quick})


KILL_NODES = "from tests.experience.test_actors import kill_nodes; kill_nodes()"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (UserError("no such level"), "^no such level$"),
        (FileNotFoundError(2, "No such file", "videos"), "^actor 0: .*No such file: 'videos'$"),
    ],
)
def test_an_actors_mistake_is_the_runs_and_no_end_of_ray(error, said, ray_address):
    settings = ActorSettings(actors=1, ray_address=ray_address)
    with (
        pytest.raises(UserError, match=said),
        ray_actors(partial(mistaken, error), dict, settings=settings, version=0, start=0) as actors,
    ):
        actors.next()


def but(ray, **changes):
    """Ray with some of its calls changed."""
    names = ("wait", "get", "put", "exceptions")
    return SimpleNamespace(**{name: getattr(ray, name) for name in names} | changes)


@pytest.mark.parametrize("call", ["wait", "get", "put", "a broken connection"])
def test_the_end_of_ray_is_one_line_whenever_it_comes(call, ray_address):
    def gone(*_, **__):
        if call.startswith("a"):
            raise OSError("Connection reset by peer")
        raise actors.ray.exceptions.LocalRayletDiedError

    with counters(ActorSettings(actors=1, ray_address=ray_address)) as (take, _, actors):
        take()
        actors.ray = but(actors.ray, **{"wait" if call.startswith("a") else call: gone})
        with pytest.raises(UserError, match=r"^Ray is gone .*continue with --resume$"):
            take()


def test_actors_that_do_not_begin_are_told_of(ray_address, monkeypatch, capsys):
    monkeypatch.setattr("retro_agents.experience.actors.PATIENCE", 0)
    with counters(ActorSettings(actors=1, ray_address=ray_address)) as (take, *_):
        take()
        assert capsys.readouterr().err.startswith("no block has come for 0 s: perhaps other runs")
        take()
        assert not capsys.readouterr().err


def test_a_cluster_that_is_not_there_or_too_small_is_named(ray_address):
    for actors, address, words in ((5, ray_address, "4 CPUs"), (1, "127.0.0.1:1", "127.0.0.1:1")):
        settings = ActorSettings(actors=actors, ray_address=address)
        with pytest.raises(UserError, match=words), counters(settings):
            pass
    with pytest.raises(UserError, match="--actors"):
        ActorSettings(ray_address="auto")
