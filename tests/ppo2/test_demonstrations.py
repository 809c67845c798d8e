import numpy as np
import pytest

from ppo2.demonstrations import UNKNOWN, Demonstrations, of_episodes
from retro_agents.contract.envs import EnvSpec
from retro_agents.experience.episodes import Episode
from retro_agents.games.retro.config import SEVEN, EnvConfig
from retro_agents.ground.errors import UserError

SPEC = EnvSpec("test", (3, 2, 2), 3, SEVEN, 4, rewards={})
GAMMA = 0.9


def played(rows=2, steps=12, ends=((0, 4), (1, 6), (0, 9))):
    """Demonstrations, and the observations, actions and raw rewards that went in, [S,N]."""
    rng = np.random.default_rng(0)
    made = Demonstrations(rows, steps, spec=SPEC, gamma=GAMMA)
    stack = np.zeros((rows, 3, 2, 2), np.uint8)
    begins = np.ones(rows, bool)
    seen, said = [], []
    for step in range(steps):
        new = rng.integers(0, 256, (rows, 1, 2, 2), np.uint8)
        stack = np.where(begins[:, None, None, None], new, np.concatenate([stack[:, 1:], new], 1))
        ended = np.array([(row, step) in ends for row in range(rows)])
        actions = rng.integers(-1, 7, rows)
        made.add(stack, actions, rng.random(rows), ended)
        seen.append(stack.copy())
        said.append(actions)
        begins = ended
    return made, np.stack(seen), np.stack(said)


def test_sampled_steps_are_observations_with_what_was_said_of_them():
    made, seen, said = played()
    obs, actions, returns = made.sample(500, np.random.default_rng(1))
    known = {seen[s, n].tobytes(): (s, n) for s in range(12) for n in range(2)}
    places = [known[image.tobytes()] for image in obs]
    assert len(set(places)) == 24
    assert [said[place] for place in places] == actions.tolist()
    scale = made.scale.deviation
    want = [made.returns[n, s] / scale for s, n in places]
    assert want == pytest.approx(returns.tolist(), nan_ok=True)
    assert UNKNOWN in actions


def test_more_steps_than_there_is_memory_for_are_refused():
    with pytest.raises(UserError, match="free; give fewer --steps"):
        Demonstrations(1, 10**11, spec=SPEC, gamma=GAMMA)


def test_nothing_is_drawn_of_what_is_not_there_yet():
    made = Demonstrations(2, 50, spec=SPEC, gamma=GAMMA)
    image = np.full((2, 3, 2, 2), 7, np.uint8)
    made.add(image, np.array([1, 2]), np.ones(2), np.zeros(2, bool))
    assert made.size == 2 and not made.full
    obs, actions, returns = made.sample(50, np.random.default_rng(0))
    assert (obs == 7).all() and set(actions.tolist()) == {1, 2} and np.isnan(returns).all()


def test_returns_are_discounted_sums_within_an_episode_and_unknown_until_it_is_over():
    made, _, _ = played()
    for row, first, end in ((0, 0, 5), (0, 5, 10), (1, 0, 7)):
        rewards = made.rewards[row, first:end].tolist()
        for step in range(first, end):
            powers = [GAMMA**k * r for k, r in enumerate(rewards[step - first :])]
            assert made.returns[row, step] == pytest.approx(sum(powers), rel=1e-5)
    assert np.isnan(made.returns[0, 10:]).all() and np.isnan(made.returns[1, 7:]).all()


def test_recorded_episodes_become_what_the_environment_showed():
    config, rng = EnvConfig(image_height=2, image_width=2), np.random.default_rng(0)
    frames = [rng.integers(0, 256, (steps + 1, 1, 2, 2), np.uint8) for steps in (3, 5)]
    episodes = [
        Episode(
            "a:b", np.arange(len(f) - 1, dtype=np.uint8), np.ones(len(f) - 1), True, SEVEN, 4, f
        )
        for f in frames
    ]
    made = of_episodes(episodes, config, gamma=GAMMA)
    assert made.full and made.size == 8
    assert made.actions.tolist() == [[0, 1, 2, 0, 1, 2, 3, 4]]
    assert not np.isnan(made.returns).any()
    want = {}
    for shown in frames:
        for step in range(len(shown) - 1):
            back = [shown[max(0, step - k), 0] for k in (3, 2, 1, 0)]
            want[np.stack(back).tobytes()] = step
    obs, actions, _ = made.sample(200, np.random.default_rng(1))
    assert [want[image.tobytes()] for image in obs] == actions.tolist()
