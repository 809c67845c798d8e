import numpy as np
import pytest

from impala.train import run
from impala.training import Training
from retro_agents.ground.errors import UserError
from retro_agents.ground.seeding import rng_state
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import tiny, train
from tests.conftest import Corridor


def test_batches_of_one_block_are_learned_from_with_ever_older_weights(tmp_path):
    flags = ["--num-envs", "4", "--batch-size", "6", "--timesteps", "48"]
    train("impala", tmp_path, *flags, envs=Corridor(4))
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["updates"].tolist() == [4, 8] and rows["policy_lag"].tolist() == [1.5, 1.5]


def test_no_episode_is_reported_once_more_by_a_later_block(tmp_path):
    train("impala", tmp_path, "--timesteps", "240")
    episodes = read_columns(tmp_path / "episodes.csv")
    ends = [*zip(episodes["step"], episodes["env"], strict=True)]
    assert len({*ends}) == len(ends) > 4


def test_the_rate_is_that_of_the_part_of_the_run_before_a_block(tmp_path):
    flags = ["--learning-rate-schedule", "linear", "--timesteps", "48"]
    train("impala", tmp_path, *flags)  # blocks of 12 steps
    rows = read_columns(tmp_path / "metrics.csv")
    np.testing.assert_allclose(rows["learning_rate"], [1e-3, 7.5e-4, 5e-4, 2.5e-4])


def test_remembered_batches_are_learned_from_too(tmp_path):
    flags = ["--replay-batches", "2", "--replay-proportion", "2", "--timesteps", "48"]
    train("impala", tmp_path, *flags)
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["updates"].tolist() == [1, 6, 9, 12]
    assert (rows["policy_lag"] == 0).all()  # of new ones


def test_other_images_are_refused_where_the_net_would_take_them_and_actors_play(tmp_path):
    flags = ["--encoder", "impala", "--widths", "4", "--pool"]
    train("impala", tmp_path, *flags)
    other = tiny("impala", *flags, "--image-height", "40", "--resume", "--actors", "1")
    with pytest.raises(UserError, match=r"other observations.*--image-height 36"):
        run(None, other, tmp_path)


@pytest.mark.parametrize("batch_size", [12, 24, 18])
def test_every_test_that_is_due_is_made(tmp_path, monkeypatch, batch_size):
    """Also where a block fills no batch, and none more where a run ends within a block."""

    def judged(run):
        return {"sight/seeing": 1.0} if run.due(11) else {}

    monkeypatch.setattr("impala.train.judged", judged)
    train("impala", tmp_path, "--batch-size", batch_size, "--timesteps", 34)
    train("impala", tmp_path, "--batch-size", batch_size, "--resume")
    rows = read_columns(tmp_path / "metrics.csv")
    tested = rows["step"][~np.isnan(rows["sight/seeing"])]
    assert tested.tolist() == [12, 24, 36, 48, 60]  # a multiple of 11 lies in every block


def test_torchs_draws_go_on_where_a_run_with_actors_is_resumed(tmp_path):
    train("impala", tmp_path)
    saved = load_checkpoint(tmp_path)
    Training(tiny("impala", "--resume", "--actors", "1")).restore(saved, None)
    assert rng_state() == saved.state["rng"]
