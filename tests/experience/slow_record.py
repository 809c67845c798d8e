"""Everything that happened in scripted environments, to hold the replay against."""

from dataclasses import dataclass

import numpy as np
import pytest

from retro_agents.experience.replay import Replay

STACK, N_STEP, GAMMA = 3, 3, 0.9


def numbers_of(images):
    """Which frames they are: each is 2×2 pixels, whose bytes are its number."""
    return np.frombuffer(images.tobytes(), np.uint32).tolist()


@dataclass
class Step:
    obs: list[int]
    action: int
    reward: float
    end: str


class World:
    """Scripted environments that keep the whole past, written for clearness only."""

    def __init__(self, num_envs, lengths, ends=("terminated", "truncated")):
        self.rng = np.random.default_rng(0)
        self.count = 1
        self.lengths, self.ends = lengths, ends
        self.episodes: list[list[list[Step]]] = [[[]] for _ in range(num_envs)]
        self.finals: dict[int, list[int]] = {}  # newest frame of an episode's last obs -> final obs
        self.obs = [self.fresh() for _ in range(num_envs)]

    def fresh(self):
        self.count += 1
        return [self.count] * STACK

    def following(self, obs):
        self.count += 1
        return [*obs[1:], self.count]

    def images(self, rows):
        return np.array(rows, np.uint32).view(np.uint8).reshape(-1, STACK, 2, 2)

    def step(self, replay):
        envs = range(len(self.obs))
        actions = self.rng.integers(7, size=len(self.obs))
        rewards = self.rng.normal(size=len(self.obs)).astype(np.float32)
        reached = [self.following(obs) for obs in self.obs]
        before, flags = list(self.obs), []
        for e in envs:
            episode = self.episodes[e][-1]
            turn = len(self.episodes[e]) + e
            over = len(episode) + 1 == self.lengths[turn % len(self.lengths)]
            end = self.ends[turn % len(self.ends)] if over else ""
            episode.append(Step(before[e], int(actions[e]), float(rewards[e]), end))
            flags.append(end)
            if over:
                self.finals[before[e][-1]] = reached[e]
                self.episodes[e].append([])
            self.obs[e] = self.fresh() if over else reached[e]
        return replay.add(
            self.images(before),
            actions,
            rewards,
            np.array([f == "terminated" for f in flags]),
            np.array([f == "truncated" for f in flags]),
            self.images(reached),
        )

    def cut(self, replay, envs):
        """Begin new episodes there, whatever is under way."""
        for e in envs:
            if episode := self.episodes[e][-1]:
                last = episode.pop()
                if episode:
                    episode[-1].end = "truncated"
                    self.finals[episode[-1].obs[-1]] = last.obs
                self.episodes[e].append([])
            self.obs[e] = self.fresh()
        replay.cut(np.array(envs))

    def expected(self):
        """Newest frame of obs -> (obs, action, return, next_obs, discount), if it is complete."""
        table = {}
        for e, episodes in enumerate(self.episodes):
            for episode in episodes:
                for t, step in enumerate(episode):
                    total, k = 0.0, 0
                    while k < N_STEP and t + k < len(episode):
                        total += GAMMA**k * episode[t + k].reward
                        k += 1
                        if episode[t + k - 1].end:
                            break
                    last = episode[t + k - 1]
                    if last.end:
                        following = self.finals[last.obs[-1]]
                    elif t + k < len(episode):
                        following = episode[t + k].obs
                    elif k == N_STEP and episode is episodes[-1]:
                        following = self.obs[e]
                    else:
                        continue
                    discount = 0.0 if last.end == "terminated" else GAMMA**k
                    table[step.obs[-1]] = (step.obs, step.action, total, following, discount)
        return table


def make_replay(capacity, num_envs, **options):
    return Replay(
        capacity,
        num_envs,
        frame_shape=(1, 2, 2),
        steps_back=range(STACK)[::-1],
        n_step=N_STEP,
        gamma=GAMMA,
        alpha=0.5,
        **options,
    )


def played(replay, steps, *world):
    """The world in which the environments of a replay have played so many steps."""
    made = World(replay.num_envs, *world)
    for _ in range(steps):
        made.step(replay)
    return made


def drawable(replay):
    return np.flatnonzero(replay.tree.leaves)


def assert_all_drawable_are_right(replay, world):
    """Check each transition that could be drawn; return the newest frames of their observations."""
    indices = drawable(replay)
    batch = replay.gather(indices, np.ones(len(indices), np.float32))
    expected = world.expected()
    seen = set()
    for row in range(len(indices)):
        obs = numbers_of(batch.obs[row])
        want_obs, action, total, following, discount = expected[obs[-1]]
        assert obs == want_obs
        assert batch.actions[row] == action
        assert batch.returns[row] == pytest.approx(total, abs=1e-5)
        assert batch.discounts[row] == pytest.approx(discount, abs=1e-6)
        assert numbers_of(batch.next_obs[row]) == following
        seen.add(obs[-1])
    return seen
