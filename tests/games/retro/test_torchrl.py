"""TorchRL takes the environments as they are. It is not among what scripts/install installs."""

import gymnasium
import pytest

pytest.importorskip("torchrl", exc_type=ImportError)


@pytest.mark.parametrize("many", [False, True])
def test_it_plays_one_or_many(many):
    from torchrl.envs.libs.gym import GymEnv, GymWrapper

    name = "BrambleDash/train-v0"
    made = GymWrapper(gymnasium.make_vec(name, num_envs=3)) if many else GymEnv(name)
    played = made.rollout(20, break_when_any_done=False)
    assert played.batch_size == ((3, 20) if many else (20,))
    assert {"observation", "action", "terminated"} <= set(played.keys())
    made.close()
