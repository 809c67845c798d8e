"""Where Rainbow's steps are played: in this process, or in those of actors."""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import final

import numpy as np
from numpy.typing import NDArray

from rainbow.config import RainbowConfig
from rainbow.training import Step, Training
from retro_agents.contract.envs import VectorEnv, ended_episodes
from retro_agents.experience.actors import RayActors, Weights, actor_seed, ray_actors
from retro_agents.games.families import make_for
from retro_agents.run.config import replaced


@final
class LocalSteps:
    """Steps of environments in this process."""

    def __init__(
        self,
        training: Training,
        envs: VectorEnv,
        obs: NDArray[np.uint8] | None = None,
        *,
        first: int = 0,
    ) -> None:
        """obs: to act on; None begins new episodes. first: the number of the first environment."""
        self.training, self.envs, self.first = training, envs, first
        self.begins = obs is None
        if obs is None:
            seed = actor_seed(training.config.run.seed, 0, training.env_steps)
            obs, _ = envs.reset(seed=seed)
        self.obs = obs

    def begin(self) -> None:
        """Starts a step of the environments."""
        training, epsilon = self.training, self.training.epsilon()
        if epsilon is not None:
            epsilon = epsilon[self.first : self.first + len(self.obs)]
        self.actions = training.agent.act(self.obs, play="draw", epsilon=epsilon)
        self.envs.step_async(self.actions)

    def wait(self) -> Step:
        """Waits for that step."""
        newest = self.obs[:, -self.training.replay.frames.shape[1] :]
        self.obs, rewards, terminated, truncated, infos = self.envs.step_wait()
        finals, episodes = infos.get("final_obs", ()), ended_episodes(infos)
        outcome = rewards, terminated, truncated, finals, episodes
        step = Step(newest, self.actions, *outcome, self.first, self.begins)
        self.begins = False
        return step

    def summary(self) -> dict[str, float]:
        """Returns no metrics: playing in this process has none."""
        return {}


@final
class ActorSteps:
    """Steps that actors have played, block by block."""

    def __init__(self, training: Training, actors: RayActors) -> None:
        self.training, self.actors = training, actors
        self.steps: deque[Step] = deque()
        self.weight_updates = {training.env_steps: training.updates}
        """Version of weights -> the updates behind them."""
        self.lag = 0

    def begin(self) -> None:
        """Does nothing: actors play by themselves."""

    def wait(self) -> Step:
        """Returns the next step of a block. When a block is taken, its actor begins another one
        with the current weights, so an actor is at most one block ahead of the learner."""
        if not self.steps:
            training, (actor, version, block, follows) = self.training, self.actors.next()
            self.steps.append(block[0]._replace(begins=block[0].begins or not follows))
            self.steps.extend(block[1:])
            self.lag = training.updates - self.weight_updates[version]
            version = training.env_steps + sum(len(step.actions) for step in block)
            self.weight_updates[version] = training.updates
            self.actors.order(actor, version)
        return self.steps.popleft()

    def summary(self) -> dict[str, float]:
        """Returns how many updates old the last block's weights were, and how often actors died."""
        return {"policy_lag": self.lag, "actor_restarts": self.actors.restarts}


@final
class Actor:
    """A share of the environments, a copy of the net, and a replay of the last steps."""

    def __init__(
        self, config: RainbowConfig, index: int, start: int, *, training_type: type = Training
    ) -> None:
        """See `retro_agents.experience.actors.ray_actors`. training_type: of the run."""
        num_envs = config.run.num_envs
        slots = max(config.env.spec().steps_back) + config.n_step + 4  # the fewest for a replay
        own = replaced(
            config,
            device="cpu",
            torch_threads=1,
            seed=actor_seed(config.run.seed, index, start),
            replay_size=slots * num_envs,
        )
        part = config.acting.share(index, num_envs)
        self.training = training_type(own, num_envs)
        self.local = LocalSteps(self.training, make_for(config, part=part), first=part.start)

    def play(self, weights: Weights | None, version: int) -> list[Step]:
        """Plays a block. version: agent steps of the run before it. The priorities are computed
        with these weights, which are the target net's too."""
        training = self.training
        if weights is not None:
            training.agent.take_arrays(weights)
            training.learner.copy_target()
        training.env_steps = version
        return [self.step() for _ in range(training.config.block_steps)]

    def step(self) -> Step:
        """Plays one step and computes its losses."""
        self.local.begin()
        step = self.local.wait()
        losses = self.training.remember(step)
        self.training.env_steps += len(step.actions)
        return step._replace(losses=losses)


@contextmanager
def playing(
    training: Training, envs: VectorEnv | None, obs: NDArray[np.uint8] | None
) -> Iterator[LocalSteps | ActorSteps]:
    """Yields the source of a run's steps. envs: this process plays them; None: actors play, which
    make their own. obs: see `LocalSteps`."""
    if envs is not None:
        yield LocalSteps(training, envs, obs)
        return
    config: RainbowConfig = training.config
    make = partial(Actor, config, training_type=type(training))
    weights, steps = training.agent.arrays, training.env_steps
    with ray_actors(make, weights, settings=config.acting, version=steps, start=steps) as actors:
        yield ActorSteps(training, actors)
