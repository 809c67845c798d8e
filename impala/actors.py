"""Where IMPALA's blocks of steps are played: in this process, or in those of actors."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import final

import numpy as np
import torch
from numpy.typing import NDArray

from impala.agent import ImpalaAgent
from impala.config import ImpalaConfig
from impala.memory import Block, sequences_of
from impala.training import Training, make_collector
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.actors import Actors, LocalActor, Weights, actor_seed, ray_actors
from retro_agents.experience.collector import Collector
from retro_agents.games.families import make_for
from retro_agents.run.config import replaced


@final
class Actor:
    """Environments, and the policy that plays them."""

    def __init__(
        self,
        agent: ImpalaAgent,
        envs: VectorEnv,
        collector: Collector,
        obs: NDArray[np.uint8],
        *,
        first: int = 0,
    ) -> None:
        """obs: to act on. first: number of the first environment, counted over all actors."""
        self.agent, self.envs, self.collector, self.obs = agent, envs, collector, obs
        self.first = first

    def play(self, weights: Weights | None, version: int) -> Block:
        """See `retro_agents.experience.actors.Actor`."""
        if weights is not None:
            self.agent.take_arrays(weights)
        collector = self.collector
        before = collector.env_steps
        self.obs = collector.play(self.envs, self.obs)
        episodes = [(s - before, self.first + env, e) for s, env, e in collector.episodes]
        collector.episodes.clear()
        sequences = None
        if collector.rollout.full:
            sequences = sequences_of(
                collector.rollout, self.obs, starts=collector.starts, version=version
            )
            collector.begin_rollout()
        return Block(sequences, collector.env_steps - before, episodes)


def make_actor(
    config: ImpalaConfig, index: int, start: int, *, agent_type: type[ImpalaAgent] = ImpalaAgent
) -> Actor:
    """Makes an actor for a process of its own, with its share of the environments. agent_type: of
    the run."""
    torch.set_num_threads(1)
    part = config.acting.share(index, config.run.num_envs)
    own = replaced(config, device="cpu", seed=actor_seed(config.run.seed, index, start))
    agent = agent_type(agent_type.make_net(own), own)
    envs = make_for(config, part=part)
    collector = make_collector(agent, envs.num_envs)
    obs, _ = envs.reset(seed=collector.env_seeds())
    return Actor(agent, envs, collector, obs, first=part.start)


@contextmanager
def playing(
    training: Training, envs: VectorEnv | None, obs: NDArray[np.uint8] | None
) -> Iterator[Actors]:
    """Yields what plays for a run. envs, obs: of this process, see `Training.start`; None if actors
    play, which make their own."""
    agent, version = training.agent, training.updates
    if envs is not None and obs is not None:
        assert training.collector is not None, "Training.start made one"
        yield LocalActor(Actor(agent, envs, training.collector, obs), version=version)
        return
    config: ImpalaConfig = agent.config
    with ray_actors(
        partial(make_actor, config, agent_type=type(agent)),
        agent.arrays,
        settings=config.acting,
        version=version,
        start=training.env_steps,
        ahead=config.actor_ahead,
    ) as actors:
        yield actors
