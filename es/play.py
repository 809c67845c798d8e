"""Playing a generation's episodes: rows claim them one by one, and all rows act in one batch."""

import copy
import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from es.agent import ESAgent, Policy, fill, is_hidden
from es.emulators import Answer, Stage, Start
from es.memory import RECORD, Noise, Plan, Task
from es.mpi import World


class Part(nn.Module):
    """Stands where a frozen layer was: hands on its part of what the frozen layers gave."""

    def __init__(self, part: slice) -> None:
        super().__init__()
        self.part = part

    def forward(self, x: Tensor, noise: object = None) -> Tensor:
        return x[:, self.part]


class Members:
    """K rows that act in one batch, each with searched layers of its own.

    The frozen layers are computed once for all rows, always in that shape, so that a row's result
    depends on nothing but its own weights and observation: PyTorch's sums of other shapes differ in
    the last bit. What was seen before is remembered instead. The layers behind are copied for each
    row: for so few rows one after the other is faster than `torch.func.vmap` over all.
    """

    def __init__(self, agent: ESAgent, rows: int) -> None:
        self.net, self.names, self.device = agent.net, agent.names, agent.device
        self.size = agent.config.feature_cache
        self.hidden: list[str] = []
        if agent.config.layer == "head":
            self.hidden = [name for name, _ in agent.net.named_modules() if is_hidden(name)]
        blank = torch.zeros(rows, *agent.net.encoder.image, dtype=torch.uint8)
        self.units = torch.zeros_like(self.frozen(blank.to(self.device)))
        self.behind = [self.copy_of(agent.policy) for _ in range(rows)]
        self.known: OrderedDict[bytes, Tensor] = OrderedDict()
        self.asked = self.found = 0

    def copy_of(self, policy: Policy) -> Policy:
        """The same agent with a net of its own, which takes what `frozen` gives."""
        behind = copy.copy(policy)
        behind.net = copy.deepcopy(policy.net, {id(self.net.encoder): Part(slice(None))})
        width = self.units.shape[1] // max(len(self.hidden), 1)
        for number, name in enumerate(self.hidden):
            behind.net.set_submodule(name, Part(slice(number * width, (number + 1) * width)))
        return behind

    @torch.no_grad()
    def frozen(self, images: Tensor) -> Tensor:
        """Images uint8 [K,C,H,W] -> what no search changes [K,F]: the encoder's features, or where
        only the last layers are searched what each hidden one makes of them."""
        features: Tensor = self.net.encoder(images)
        layers = [self.net.get_submodule(name) for name in self.hidden]
        return torch.cat([layer(features) for layer in layers], dim=1) if layers else features

    def put(self, row: int, theta: NDArray[np.float32]) -> None:
        """Let a row have the searched weights [D]."""
        fill(self.behind[row].net, self.names, theta)

    @torch.no_grad()
    def scores(self, obs: NDArray[np.uint8]) -> Tensor:
        """obs uint8 [K,C,H,W], one of each row -> scores [K,A]."""
        units = self.remembered(obs) if self.size else self.frozen(self.images(obs))
        each = [row.scores(units[n : n + 1]) for n, row in enumerate(self.behind)]
        return torch.cat(each).cpu()

    def images(self, obs: NDArray[np.uint8]) -> Tensor:
        """On the device."""
        return torch.from_numpy(obs).to(self.device)

    def remembered(self, obs: NDArray[np.uint8]) -> Tensor:
        """As `frozen`, computed only where an observation is new."""
        keys = [hashlib.blake2b(image, digest_size=16).digest() for image in obs]
        missing = [row for row, key in enumerate(keys) if key not in self.known]
        self.asked += len(keys)
        self.found += len(keys) - len(missing)
        if missing:
            computed = self.frozen(self.images(obs))
            for row in missing:
                self.known[keys[row]] = computed[row].clone()
        for row, key in enumerate(keys):
            self.known.move_to_end(key)
            self.units[row] = self.known[key]
        while len(self.known) > max(self.size, len(keys)):
            self.known.popitem(last=False)
        return self.units


@dataclass
class Episode:
    """An episode under way in a row."""

    number: int
    task: Task
    rng: np.random.Generator
    total: float = 0.0
    steps: int = 0


def chance_of(start: Start) -> np.random.Generator:
    """What an episode's actions are drawn from: not what the emulator draws sticky frames from,
    which is `default_rng(start.seed)`."""
    return np.random.default_rng([start.seed, 1])


class Player:
    """This process's rows. `play` is all there is to do with them."""

    def __init__(self, stage: Stage, agent: ESAgent, *, noise: Noise) -> None:
        self.stage, self.agent, self.noise = stage, agent, noise
        self.members = Members(agent, stage.num_envs)
        self.drawn: tuple[tuple[int, int], NDArray[np.float32]] | None = None
        self.rows: list[Episode | None] = [None] * stage.num_envs

    def play(
        self, plan: Plan, world: World, *, theta: NDArray[np.float32], sigma: float, budget: int
    ) -> tuple[NDArray[np.void], int]:
        """Play what this process can claim of a generation -> (records [N], agent steps taken).

        budget: agent steps after which a stage that is not planned ends; the generation is then
        incomplete, unless it ended by itself.
        """
        stage, rows = self.stage, self.rows
        for row in range(stage.num_envs):
            self.members.put(row, theta)
        records: list[tuple[int, int, float, float, float, bool]] = []
        claims, steps = world.claims(len(plan)), 0
        while steps < budget or stage.planned:
            for row in range(stage.num_envs):
                if rows[row] is None and stage.free(row):
                    self.begin(row, plan, claims, theta=theta, sigma=sigma)
            busy = [row for row, episode in enumerate(rows) if episode is not None]
            if not busy:
                break
            answers = stage.step(self.act(), busy)
            steps += stage.num_envs
            world.progress()
            for row, answer in answers.items():
                if self.add(row, answer):
                    records.append(self.finish(row, answer, theta))
        self.rows = [None] * stage.num_envs
        found = np.array(records, RECORD)
        return found, int(found["steps"].sum()) if stage.planned else steps

    def begin(
        self,
        row: int,
        plan: Plan,
        claims: Iterator[int],
        *,
        theta: NDArray[np.float32],
        sigma: float,
    ) -> None:
        """Claim an episode for a row, if one is left."""
        number = next(claims, None)
        if number is None:
            return
        task = plan.task(number)
        seed = plan.episode_seed(task)
        start = Start(plan.slots[task.slot], seed, plan.steps)
        weights = theta
        if task.sign:
            weights = theta + np.float32(task.sign * sigma) * self.noise_of(plan, task)
        self.members.put(row, weights)
        self.stage.begin(row, start)
        self.rows[row] = Episode(number, task, chance_of(start))

    def noise_of(self, plan: Plan, task: Task) -> NDArray[np.float32]:
        """Noise of a task's pair, drawn once for its episodes that follow each other."""
        key = (plan.generation, task.pair)
        if self.drawn is None or self.drawn[0] != key:
            self.drawn = (key, self.noise.whole(*key))
        return self.drawn[1]

    def act(self) -> NDArray[np.int64]:
        """Actions [K] of all rows; those without an episode act by the current policy."""
        config = self.agent.config
        scores = self.members.scores(self.stage.obs)
        actions = scores.argmax(dim=1).numpy()
        if not config.draw_actions and config.action_noise == 0.0:
            return actions
        bounds = scores.double().softmax(dim=1).cumsum(dim=1).numpy()
        for row, episode in enumerate(self.rows):
            if episode is None:
                continue
            draw, which = episode.rng.random(2)
            noisy = episode.task.sign != 0  # the current policy is evaluated without noise
            if noisy and draw < config.action_noise:
                actions[row] = int(which * config.actions)
            elif config.draw_actions:
                actions[row] = min(int((bounds[row] <= which).sum()), config.actions - 1)
        return actions

    def add(self, row: int, answer: Answer) -> bool:
        """Count a step of a row; whether its episode is over."""
        episode = self.rows[row]
        if episode is None:
            return False
        episode.total += answer.reward / self.agent.config.reward_scale
        episode.steps += 1
        return answer.episode is not None

    def finish(
        self, row: int, answer: Answer, theta: NDArray[np.float32]
    ) -> tuple[int, int, float, float, float, bool]:
        """An episode's record; the row goes on with the current policy."""
        episode, ended = self.rows[row], answer.episode
        assert episode is not None and ended is not None
        self.rows[row] = None
        self.members.put(row, theta)
        return (
            episode.number,
            episode.steps,
            episode.total,
            ended["r"],
            ended["progress"],
            ended["finished"],
        )
