"""Plays a generation's episodes: rows claim them one by one, and all rows act in one batch."""

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from es.agent import ESAgent, fill
from es.memory import RECORD, Noise, Plan
from es.mpi import World
from retro_agents.contract.envs import VectorEnv, ended_episodes, row_seeds
from retro_agents.contract.policy import ScoringPolicy


class Part(nn.Module):
    """Replaces a frozen layer: passes on its part of the frozen layers' outputs."""

    def __init__(self, part: slice) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor, noise: object = None) -> Tensor:
        return x[:, self.part]


class Members:
    """K rows that act in one batch, each with its own searched layers.

    The frozen layers are computed once for all rows, always in that shape, so that a row's result
    depends only on its own weights and observation: PyTorch's sums in other shapes differ in the
    last bit. The layers behind them are copied for each row: for so few rows, a loop is faster than
    `torch.func.vmap`.
    """

    def __init__(self, agent: ESAgent, rows: int) -> None:
        self.net, self.names, self.device = agent.net, agent.names, agent.device
        self.hidden: list[str] = []
        if agent.config.layer == "head":
            self.hidden = [name for name, _ in agent.net.named_modules() if name.endswith("hidden")]
        blank = np.zeros((rows, *agent.net.encoder.image), np.uint8)
        width = self.frozen(blank).shape[1] // max(len(self.hidden), 1)
        self.behind = [self.copy_of(agent.policy, width) for _ in range(rows)]

    def copy_of(self, policy: ScoringPolicy, width: int) -> ScoringPolicy:
        """The same agent with its own net, whose input is the output of `frozen`."""
        behind: Any = copy.copy(policy)
        behind.net = copy.deepcopy(policy.net, {id(self.net.encoder): Part(slice(None))})
        for number, name in enumerate(self.hidden):
            behind.net.set_submodule(name, Part(slice(number * width, (number + 1) * width)))
        return behind

    @torch.no_grad()
    def frozen(self, obs: NDArray[np.uint8]) -> Tensor:
        """obs uint8 [K,C,H,W] -> outputs of the frozen layers [K,F]: the encoder's features, or, if
        only the last layers are searched, those of each hidden layer."""
        features: Tensor = self.net.encoder(torch.from_numpy(obs).to(self.device))
        layers = [self.net.get_submodule(name) for name in self.hidden]
        return torch.cat([layer(features) for layer in layers], dim=1) if layers else features

    def put(self, row: int, theta: NDArray[np.float32]) -> None:
        """Give a row the searched weights [D]."""
        fill(self.behind[row].net, self.names, theta)

    @torch.no_grad()
    def scores(self, obs: NDArray[np.uint8]) -> Tensor:
        """obs uint8 [K,C,H,W], one for each row -> scores [K,A]."""
        units = self.frozen(obs)
        each = [row.scores(units[n : n + 1]) for n, row in enumerate(self.behind)]
        return torch.cat(each).cpu()


@dataclass
class RowEpisode:
    """A row's current episode. number: of its task in the plan."""

    number: int
    rng: np.random.Generator
    total: float = 0.0
    steps: int = 0


def action_rng(seed: int) -> np.random.Generator:
    """The generator of an episode's actions. It differs from `default_rng(seed)`, which is the
    environment's."""
    return np.random.default_rng([seed, 1])


class Rows:
    """The rows of this process's environments. Callers need only `play`.

    If the environment can reset single rows, each begins the level that it claims, with the
    episode's own seed, and rows without an episode stand still. Otherwise episodes follow each
    other in any order, and all rows always step.
    """

    def __init__(
        self,
        envs: VectorEnv,
        agent: ESAgent,
        *,
        noise: Noise,
        levels: Sequence[str],
        first: int = 0,
    ) -> None:
        """first: rows of the processes before this one, which have other seeds."""
        self.envs, self.agent, self.levels, self.first = envs, agent, levels, first
        self.noise = lru_cache(maxsize=1)(noise.whole)  # computed once for a pair's two episodes
        self.resets_rows, self.actions = envs.resets_rows, envs.env_spec.actions
        self.members = Members(agent, envs.num_envs)
        self.episodes: list[RowEpisode | None] = [None] * envs.num_envs
        self.reset(agent.config.run.seed)

    def reset(self, seed: int) -> None:
        """Reset all rows, so that each stands at the beginning of an episode."""
        count = len(self.episodes)
        seeds: list[int | None] = [*row_seeds(seed, self.first + count)[self.first :]]
        self.obs, _ = self.envs.reset(seed=seeds)
        self.fresh = set(range(len(self.episodes)))
        """Rows that stand at a beginning."""
        self.begun = 0
        """Episodes of the generation up to the one that was claimed last."""

    def play(
        self,
        plan: Plan,
        world: World,
        *,
        theta: NDArray[np.float32],
        budget: int,
        on_step: Callable[[int], None] = lambda begun: None,
    ) -> tuple[NDArray[np.void], int]:
        """Play what this process can claim of a generation -> (records [N], agent steps taken).

        theta: the weights without noise, [D]. budget: agent steps after which play ends if the
        environment cannot reset single rows; the generation may then be incomplete.
        on_step: takes, after each step, the number of episodes that all processes had begun when
        this one last claimed one.
        """
        records: list[tuple[Any, ...]] = []
        claims, steps = world.claims(len(plan)), 0
        for row in range(len(self.episodes)):
            self.members.put(row, theta)
        self.begin(plan, claims, theta=theta)
        while any(self.episodes) and (self.resets_rows or steps < budget):
            ended = self.step()
            steps += len(self.episodes)
            world.progress()
            on_step(self.begun)
            for row, report in ended.items():
                if episode := self.episodes[row]:
                    played = episode.number, episode.steps, episode.total
                    records.append((*played, report["r"], report["progress"], report["finished"]))
                    self.episodes[row] = None
                    self.members.put(row, theta)
            self.fresh |= ended.keys()
            if ended:
                self.begin(plan, claims, theta=theta)
        self.episodes = [None] * len(self.episodes)
        whole = np.array(records, RECORD)
        return whole, int(whole["steps"].sum()) if self.resets_rows else steps

    def begin(self, plan: Plan, claims: Iterator[int], *, theta: NDArray[np.float32]) -> None:
        """Claim an episode for each fresh row, as long as any are left, and reset these rows."""
        seeds: list[int | None] = [None] * len(self.episodes)
        names: list[str | None] = [None] * len(self.episodes)
        for row, number in zip(sorted(self.fresh), claims, strict=False):
            task, self.begun = plan.task(number), number + 1
            seed = plan.episode_seed(task)
            if task.sign:
                noise = self.noise(plan.generation, task.pair)
                scale = np.float32(task.sign * self.agent.config.sigma)
                self.members.put(row, theta + scale * noise)
            self.episodes[row] = RowEpisode(number, action_rng(seed))
            seeds[row], names[row] = seed, self.levels[plan.slots[task.slot]]
        mask = np.array([name is not None for name in names])
        if self.resets_rows and mask.any():
            options = {"reset_mask": mask, "levels": names}
            self.obs, _ = self.envs.reset(seed=seeds, options=options)

    def step(self) -> dict[int, dict[str, Any]]:
        """Step the rows that have an episode, or else all -> the environment's report of each ended
        episode, by row."""
        rows = [row for row, one in enumerate(self.episodes) if one or not self.resets_rows]
        actions, parts = self.act(), [slice(row, row + 1) for row in rows]
        for part in parts:
            self.envs.step_async(actions[part], part)
        ended: dict[int, dict[str, Any]] = {}
        for row, part in zip(rows, parts, strict=True):
            obs, rewards, _, _, infos = self.envs.step_wait(part)
            self.obs[row] = obs[0]
            ended |= {episode["env"]: episode for episode in ended_episodes(infos)}
            if episode := self.episodes[row]:
                episode.total += float(rewards[0]) / self.envs.env_spec.reward_scale
                episode.steps += 1
        self.fresh -= set(rows)
        return ended

    def act(self) -> NDArray[np.int64]:
        """Actions [K] of all rows; rows without an episode act by the current policy."""
        scores = self.members.scores(self.obs)
        actions = scores.argmax(dim=1).numpy()
        if self.agent.config.draw_actions:
            bounds = scores.double().softmax(dim=1).cumsum(dim=1).numpy()
            for row, episode in enumerate(self.episodes):
                if episode:
                    _, which = episode.rng.random(2)
                    actions[row] = min(int((bounds[row] <= which).sum()), self.actions - 1)
        return actions
