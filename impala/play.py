"""Where blocks of steps are played: in this process, or in an actor's."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, final

import torch

from impala.agent import ImpalaAgent
from impala.config import ImpalaConfig
from impala.memory import Sequences, sequences_of
from retro_agents.contract.envs import VectorEnv
from retro_agents.experience.actors import Actors, Here, Weights, actor_seed, on_ray
from retro_agents.experience.collector import Collector
from retro_agents.experience.saving import restore_run
from retro_agents.games.families import make_for
from retro_agents.nets.actor_critic import make_actor_critic
from retro_agents.run.checkpoint import Checkpoint
from retro_agents.run.config import replaced


class Block(NamedTuple):
    """What a player sends."""

    sequences: Sequences | None
    """None where the run's steps ended within it: then the player keeps them."""
    env_steps: int
    episodes: list[tuple[int, int, dict[str, Any]]]
    """That ended in it: after so many of its steps, environment, episode."""


@final
class Player:
    """Environments, and the policy that plays them."""

    def __init__(
        self, agent: ImpalaAgent, envs: VectorEnv, *, first: int = 0, env_steps: int = 0
    ) -> None:
        """first: number of the first environment, counted over all players. env_steps: of the run
        before, which had actors: they have played what its own seed gives."""
        self.agent, self.envs, self.first = agent, envs, first
        config = agent.config
        self.collector = Collector(
            agent,
            envs.num_envs,
            rollout_steps=config.rollout_steps,
            return_gamma=config.gamma,
            seed=actor_seed(config.run.seed, 0, env_steps),
        )
        self.collector.env_steps = env_steps

    def begin(self) -> "Player":
        """Let every environment begin anew."""
        self.obs, _ = self.envs.reset(seed=self.collector.env_seeds())
        return self

    def go_on(self, saved: Checkpoint) -> "Player":
        """Be what the player of a checkpoint was."""
        self.obs = restore_run(saved, self.collector, self.envs)
        return self

    def play(self, weights: Weights | None, version: int) -> Block:
        """See `retro_agents.experience.actors.Player`."""
        if weights is not None:
            self.agent.take_arrays(weights)
        collector = self.collector
        before = collector.env_steps
        self.obs = collector.play(self.envs, self.obs)
        episodes = [(s - before, self.first + env, e) for s, env, e in collector.ended]
        collector.ended.clear()
        sequences = None
        if collector.rollout.full:
            sequences = sequences_of(
                collector.rollout,
                self.obs,
                starts=collector.starts,
                state=collector.state,
                version=version,
            )
            collector.begin_rollout()
        return Block(sequences, collector.env_steps - before, episodes)


def make_player(config: ImpalaConfig, index: int, begun: int) -> Player:
    """The player of an actor in a process of its own, with its share of the environments."""
    torch.set_num_threads(1)
    part = config.acting.share(index, config.run.num_envs)
    own = replaced(config, device="cpu", seed=actor_seed(config.run.seed, index, begun))
    agent = ImpalaAgent(make_actor_critic(own), own)
    return Player(agent, make_for(config, part=part), first=part.start).begin()


@contextmanager
def playing(
    agent: ImpalaAgent, envs: VectorEnv | None, *, version: int, saved: Checkpoint | None
) -> Iterator[Actors]:
    """What plays for a run, as its config says.

    envs: for a player in this process. version: of the agent's weights. saved: the checkpoint gone
    on from, if the run does.
    """
    begun = 0 if saved is None else saved.counters["env_steps"]
    if saved is not None and (envs is None or "rngs" not in saved.state):
        print("impala: going on with the saved net; new episodes begin", file=sys.stderr)
        saved = None
    if envs is not None:
        if saved is None:
            player = Player(agent, envs, env_steps=begun).begin()
        else:
            player = Player(agent, envs).go_on(saved)
        yield Here(player, version=version)
        return
    with on_ray(
        partial(make_player, agent.config),
        agent.arrays,
        settings=agent.config.acting,
        version=version,
        begun=begun,
        ahead=agent.config.actor_ahead,
    ) as actors:
        yield actors
