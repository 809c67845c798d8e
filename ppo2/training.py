"""A PPO2 run's state: all that changes while `train.run` loops, to be saved and restored."""

from collections import deque
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from experiment.checkpoint import load_checkpoint, save_checkpoint
from experiment.config import subset
from experiment.device import prepare_device
from experiment.distributed import Group
from experiment.errors import UserError
from experiment.optimiser import optimiser_parts, restore_optimiser
from experiment.seeding import (
    generator_state,
    rng_state,
    seed_everything,
    set_generator_state,
    set_rng_state,
)
from ppo2.agent import PPO2Agent, make_net
from ppo2.config import PPO2Config
from ppo2.learner import Learner, explained_variance, generalised_advantages, sample_actions
from ppo2.memory import Rollout
from ppo2.rewards import ReturnScale
from retro_env import EnvConfig, RetroVectorEnv, ended_episodes
from retro_env.vector import worker_seeds


@dataclass
class Training:
    """All that changes during a run: what a checkpoint holds."""

    config: PPO2Config
    num_envs: int
    env_steps: int = 0
    updates: int = 0
    recent_returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    ended: list[tuple[int, int, dict[str, Any]]] = field(default_factory=list)
    """Episodes not yet reported: (env_steps, environment, episode)."""

    def __post_init__(self) -> None:
        config, num_envs = self.config, self.num_envs
        seed_everything(config.seed)
        self.group = Group()
        self.mine = slice(self.group.rank * num_envs, (self.group.rank + 1) * num_envs)
        self.rngs = [np.random.default_rng([config.seed, i]) for i in self.indices()]
        self.device = prepare_device(config.device, threads=config.torch_threads)
        net = make_net(config).to(self.device)
        self.agent = PPO2Agent(net, config, device=str(self.device))
        self.learner = Learner(net, config, device=self.device, group=self.group)
        self.state = self.agent.no_state(num_envs)
        self.starts = np.ones(num_envs, bool)
        self.rollout = Rollout(
            config.rollout_steps,
            num_envs,
            image=subset(config, EnvConfig).observation_shape,
            state_size=self.state.shape[1],
            device=self.device,
        )
        self.return_scale = ReturnScale(num_envs, gamma=config.gamma)
        self.begin()

    def indices(self) -> range:
        """This process's environments, counted over all processes."""
        return range(self.mine.start, self.mine.stop)

    def env_seeds(self) -> int | list[int | None]:
        """Seeds of this process's environments: as in one process alone."""
        if self.group.size == 1:
            return self.config.seed
        return [*worker_seeds(self.config.seed, self.mine.stop)[self.mine]]

    def begin(self) -> None:
        """Draw what a rollout needs, each environment from its own generator."""
        self.began = [generator_state(rng) for rng in self.rngs]
        draws = [rng.random(self.rollout.steps, np.float32) for rng in self.rngs]
        self.uniforms = torch.from_numpy(np.stack(draws, axis=1)).to(self.device)
        self.noise = self.agent.net.draw_noise(self.rngs, self.device)

    def act(self, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
        """obs uint8 [N,C,H,W] -> actions [N]; what the decision rested on is remembered."""
        rollout = self.rollout
        images = rollout.see(obs, self.state, self.starts)
        starts = torch.from_numpy(self.starts).to(self.device)
        log_probs, values, self.state = self.agent.evaluate(
            images, state=self.state, starts=starts, noise=self.noise
        )
        actions = sample_actions(log_probs, self.uniforms[rollout.filled])
        rollout.decide(actions, log_probs.gather(1, actions[:, None]).squeeze(1), values)
        return actions.cpu().numpy()

    def add(
        self,
        rewards: NDArray[np.floating],
        terminated: NDArray[np.bool_],
        truncated: NDArray[np.bool_],
        infos: dict[str, Any],
    ) -> None:
        """Remember what came of the actions."""
        self.env_steps += self.num_envs * self.group.size
        rewards = rewards.copy()
        for episode in ended_episodes(infos):
            env = episode["env"]
            if terminated[env] and not episode["finished"]:
                rewards[env] -= self.config.death_penalty
            self.ended.append((self.env_steps, self.mine.start + env, episode))
        self.rollout.add(rewards, terminated, truncated, infos.get("final_obs", ()))
        self.starts = terminated | truncated

    def learn(self, obs: NDArray[np.uint8]) -> dict[str, float]:
        """Learn from the full rollout, which led to `obs`, and begin another -> metrics."""
        config, rollout = self.config, self.rollout
        ended = rollout.terminated | rollout.truncated
        rewards = rollout.rewards
        if config.normalise_returns:
            rewards = self.return_scale(rewards, ended, self.group)
        values = rollout.values.cpu().numpy()
        advantages = generalised_advantages(
            rewards,
            values,
            rollout.next_values(self.values_of_last(obs), self.values_of_cut()),
            rollout.terminated,
            ended,
            gamma=config.gamma,
            lam=config.lam,
        )
        steps_before = self.env_steps - rollout.steps * self.num_envs * self.group.size
        metrics = self.learner.update(
            rollout.batch(advantages, noise=self.noise),
            self.rngs,
            part=max(0.0, steps_before / config.timesteps),
        )
        seen = self.group.gather((values, advantages + values))
        explained = explained_variance(
            *(np.concatenate(s, axis=1) for s in zip(*seen, strict=True))
        )
        self.updates += 1
        rollout.clear()
        self.begin()
        return {**metrics, "explained_variance": explained, "updates": self.updates}

    def values_of_last(self, obs: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Values [N] of the observations after the rollout."""
        images = torch.from_numpy(obs).to(self.device)
        starts = torch.from_numpy(self.starts).to(self.device)
        _, values, _ = self.agent.evaluate(
            images, state=self.state, starts=starts, noise=self.noise
        )
        return values.cpu().numpy()

    def values_of_cut(self) -> list[float]:
        """Values of the last observations of episodes that were cut, in the rollout's order."""
        finals = self.rollout.finals
        if not finals:
            return []
        states = torch.cat([self.rollout.states[1:], self.state[None]])
        steps, envs = (list(where) for where in zip(*finals, strict=True))
        noise = self.noise and [(inputs[envs], outputs[envs]) for inputs, outputs in self.noise]
        _, values, _ = self.agent.evaluate(
            torch.from_numpy(np.stack(list(finals.values()))).to(self.device),
            state=states[steps, envs],
            starts=torch.zeros(len(finals), dtype=torch.bool, device=self.device),
            noise=noise,
        )
        found: list[float] = values.tolist()
        return found

    def passes(self, every: int) -> bool:
        """Whether the last rollout passed a multiple of `every`; never where it is 0."""
        size = self.rollout.steps * self.num_envs * self.group.size
        return every > 0 and self.env_steps % every < size

    def save(self, run_dir: Path | str, envs: RetroVectorEnv) -> None:
        """Write a checkpoint from which `restore` goes on exactly, in any number of processes."""
        adam, adam_rest = optimiser_parts(self.learner.optimiser)
        finals = [
            (t, self.mine.start + env, image.tobytes())
            for (t, env), image in self.rollout.finals.items()
        ]
        own = {
            "envs": envs.save_states(),
            "rngs": self.began,
            "starts": self.starts.tolist(),
            "state": self.state.tolist(),
            "return_sums": self.return_scale.sums.tolist(),
            "finals": finals,
        }
        everyone = self.group.gather((own, self.rollout.arrays()))
        if not self.group.first:
            return
        arrays = [arrays for _, arrays in everyone]
        save_checkpoint(
            Path(run_dir) / "checkpoints",
            agent="ppo2",
            config=self.config,
            counters={"env_steps": self.env_steps, "updates": self.updates},
            tensors={"net": self.agent.net.state_dict(), "optimiser": adam},
            arrays={name: np.concatenate([a[name] for a in arrays]) for name in arrays[0]},
            state={
                "optimiser": adam_rest,
                "rng": rng_state(),
                "recent_returns": list(self.recent_returns),
                "return_moments": self.return_scale.save(),
                **{name: list(chain(*(state[name] for state, _ in everyone))) for name in own},
            },
        )

    def restore(self, run_dir: Path | str, envs: RetroVectorEnv) -> NDArray[np.uint8]:
        """Be what the last checkpoint of a run was -> the observations to act on."""
        saved = load_checkpoint(run_dir)
        self.agent.load_weights(saved)
        state = saved.state
        if len(state["rngs"]) != self.num_envs * self.group.size:
            raise UserError(
                f"the saved run has {len(state['rngs'])} environments, this one "
                f"{self.num_envs * self.group.size}: resume with the same --num-envs"
            )
        restore_optimiser(self.learner.optimiser, saved.tensors["optimiser"], state["optimiser"])
        self.env_steps, self.updates = saved.counters["env_steps"], saved.counters["updates"]
        self.recent_returns.extend(state["recent_returns"])
        self.return_scale.restore(state["return_moments"], state["return_sums"][self.mine])
        self.starts = np.array(state["starts"][self.mine], bool)
        self.state = torch.tensor(state["state"][self.mine], device=self.device)
        for rng, began in zip(self.rngs, state["rngs"][self.mine], strict=True):
            set_generator_state(rng, began)
        self.begin()
        self.rollout.restore(saved.arrays, state["finals"], self.mine)
        obs = envs.restore_states(state["envs"][self.mine])
        set_rng_state(state["rng"])
        return obs

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint."""
        self.agent.load_weights(load_checkpoint(init))
