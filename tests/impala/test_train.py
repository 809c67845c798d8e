from contextlib import contextmanager

import numpy as np
import pytest
import torch

from impala.actors import playing
from impala.config import ImpalaConfig
from impala.train import parse, run
from impala.training import Training
from retro_agents.games.families import make_for
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.config import replaced
from retro_agents.run.metrics import read_columns
from tests.runs import assert_same_run, play

QUICK = replaced(
    ImpalaConfig(),
    timesteps=240,
    num_envs=2,
    device="cpu",
    torch_threads=1,
    image_height=36,
    image_width=36,
    hidden=32,
    encoder="data-efficient",
    rollout_steps=16,
    batch_size=32,
    checkpoint_every=100,
    learning_rate=1e-3,
    gamma=0.9,
)
RECURRENT = {"recurrent": "lstm", "recurrent_hidden": 32}
REPLAY = {"replay_batches": 3, "replay_proportion": 0.7}


@pytest.mark.parametrize(
    "flags",
    [{}, {"optimiser": "adam", "gradient_norm": 0.5, **REPLAY}, RECURRENT],
    ids=["rmsprop", "adam and replay", "recurrent"],
)
def test_impala_learns_the_corridor(corridor, tmp_path, flags):
    config = replaced(QUICK, timesteps=3200, num_envs=4, batch_size=64, epochs=2, **flags)
    agent = run(corridor(4), replaced(config, checkpoint_every=0), tmp_path / "run")
    assert play(agent, corridor(1)) == 8.0  # the end; random play falls into the hole before 4


def test_untrained_nets_do_not_finish_the_corridor(corridor):
    agents = [Training(replaced(QUICK, seed=seed)).agent for seed in range(3)]
    assert np.mean([play(agent, corridor(1)) for agent in agents]) < 8.0


@pytest.mark.parametrize(
    "flags", [{}, RECURRENT, REPLAY, {"batch_size": 48}], ids=["plain", "lstm", "replay", "waiting"]
)
def test_run_resumed_within_a_block_equals_an_uninterrupted_one(corridor, tmp_path, flags):
    config = replaced(QUICK, timesteps=300, **flags)
    run(corridor(2), config, tmp_path / "whole")
    half = replaced(config, timesteps=150, learning_rate_schedule="0:1,1:0.5")
    run(corridor(2), half, tmp_path / "parts")  # the rate falls as it does in the other
    run(corridor(2), replaced(config, resume=True), tmp_path / "parts")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


def test_batches_of_one_block_are_learned_from_with_ever_older_weights(corridor, tmp_path):
    run(corridor(4), replaced(QUICK, num_envs=4, batch_size=16, timesteps=128), tmp_path)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["updates"].tolist() == [4, 8] and rows["policy_lag"].tolist() == [1.5, 1.5]


def test_remembered_batches_are_learned_from_too(corridor, tmp_path):
    flags = {"replay_batches": 2, "replay_proportion": 2.0}
    run(corridor(2), replaced(QUICK, timesteps=32 * 4, **flags), tmp_path)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["updates"].tolist() == [1, 6, 9, 12][:4]
    assert (rows["policy_lag"] == 0).all()  # of new ones


def test_a_run_begins_with_anothers_weights(corridor, tmp_path):
    source = run(corridor(2), QUICK, tmp_path / "source")
    config = replaced(QUICK, timesteps=0, seed=1)
    begun = run(corridor(2), config, tmp_path / "run", init=tmp_path / "source")
    for one, same in zip(source.net.parameters(), begun.net.parameters(), strict=True):
        assert torch.equal(one, same)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ({"rollout_steps": 32}, "--rollout-steps 16"),
        ({"batch_size": 64}, "--batch-size 32"),
        ({"reward_scale": 0.5}, "--reward-scale 1.0"),
    ],
)
def test_what_a_saved_run_cannot_go_on_with_is_refused(corridor, tmp_path, flags, words):
    run(corridor(2), QUICK, tmp_path)
    with pytest.raises(UserError, match=words):
        run(corridor(2), replaced(QUICK, resume=True, **flags), tmp_path)


@pytest.mark.parametrize("plays", [True, False], ids=["here", "actors"])
def test_other_images_are_refused_where_the_net_would_take_them(corridor, tmp_path, plays):
    config = replaced(QUICK, encoder="impala", widths="4", pool=True, timesteps=64)
    run(corridor(2), config, tmp_path)
    other = replaced(config, image_height=40, resume=True, actors=0 if plays else 1)
    with pytest.raises(UserError, match=r"other observations.*--image-height 36"):
        run(corridor(2) if plays else None, other, tmp_path)


def test_what_was_learned_is_saved_when_the_actors_are_gone(corridor, tmp_path, monkeypatch):
    class Gone:
        """Actors of which nothing is left after four blocks."""

        restarts = 0

        def __init__(self, here):
            self.here, self.order, self.left = here, here.order, 4

        def next(self):
            self.left -= 1
            if self.left < 0:
                raise UserError("Ray is gone; continue with --resume")
            return self.here.next()

    @contextmanager
    def actors(training, *_):
        envs = corridor(2)
        with playing(training, envs, training.begin(envs)) as here:
            yield Gone(here)

    monkeypatch.setattr("impala.actors.playing", actors)
    with pytest.raises(UserError, match="Ray is gone"):
        run(None, replaced(QUICK, checkpoint_every=0), tmp_path)
    assert load_checkpoint(tmp_path).counters == {"env_steps": 128, "updates": 4}


@pytest.mark.parametrize("batch_size", [32, 64, 48])
def test_every_test_that_is_due_is_made(corridor, tmp_path, monkeypatch, batch_size):
    """Also where a block fills no batch."""

    def judged(run):
        return {"sight/seeing": 1.0} if run.due(30) else {}

    monkeypatch.setattr("impala.train.judged", judged)
    run(corridor(2), replaced(QUICK, batch_size=batch_size), tmp_path / "run")
    rows = read_columns(tmp_path / "run" / "metrics.csv")
    tested = rows["step"][~np.isnan(rows["sight/seeing"])]
    assert tested.tolist() == [*range(32, 225, 32), 240]  # a multiple of 30 lies in every block


def test_impala_trains_on_procgen_and_goes_on(tmp_path):
    pytest.importorskip("envpool")
    flags = [
        *("--preset", "procgen", "--levels", "procgen:coinrun,bigfish", "--num-envs", "4"),
        *("--encoder", "nature", "--widths", "4,4,4", "--hidden", "16", "--timesteps", "128"),
        *("--rollout-steps", "8", "--batch-size", "16", "--device", "cpu"),
    ]
    config = parse([*flags, "--run-dir", str(tmp_path)])
    run(make_for(config), config, tmp_path)
    config = parse(["--run-dir", str(tmp_path), "--resume", "--timesteps", "256"])
    run(make_for(config), config, tmp_path)
    assert read_columns(tmp_path / "metrics.csv")["updates"][-1] == 256 / 16
