"""Playing a generation's episodes: rows claim them one by one, and all rows act in one batch."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from es.config import ESConfig
from es.emulators import Answer, Stage, Start
from es.memory import RECORD, Noise, Plan, Task
from es.net import ESNet, Members
from es.world import World


class Frozen:
    """The frozen layers of K rows, with a memory: what was seen before is not computed again.

    What is missing is computed for all K rows at once, so that the shape, and with it the last bit,
    is always the same.
    """

    def __init__(self, net: ESNet, rows: int, *, size: int) -> None:
        self.net, self.size = net, size
        self.device = next(net.parameters()).device
        blank = torch.zeros(rows, *net.encoder.image, dtype=torch.uint8, device=self.device)
        self.last = torch.zeros_like(net.frozen(blank))
        self.known: OrderedDict[bytes, torch.Tensor] = OrderedDict()
        self.asked = self.found = 0

    @torch.no_grad()
    def __call__(self, obs: NDArray[np.uint8]) -> torch.Tensor:
        """obs uint8 [K,C,H,W] -> what `ESNet.frozen` gives [K,F]."""
        if self.size == 0:
            return self.net.frozen(torch.from_numpy(obs).to(self.device))
        keys = [hashlib.blake2b(image, digest_size=16).digest() for image in obs]
        missing = [row for row, key in enumerate(keys) if key not in self.known]
        self.asked += len(keys)
        self.found += len(keys) - len(missing)
        if missing:
            computed = self.net.frozen(torch.from_numpy(obs).to(self.device))
            for row in missing:
                self.known[keys[row]] = computed[row].clone()
        for row, key in enumerate(keys):
            self.known.move_to_end(key)
            self.last[row] = self.known[key]
        while len(self.known) > max(self.size, len(keys)):
            self.known.popitem(last=False)
        return self.last


@dataclass
class Episode:
    """An episode under way in a row."""

    number: int
    task: Task
    start: Start
    rng: np.random.Generator
    total: float = 0.0
    steps: int = 0


def chance_of(start: Start) -> np.random.Generator:
    """What an episode's actions are drawn from: not what the emulator draws sticky frames from,
    which is `default_rng(start.seed)`."""
    return np.random.default_rng([start.seed, 1])


class Player:
    """This process's rows. `play` is all there is to do with them."""

    def __init__(self, stage: Stage, net: ESNet, config: ESConfig, *, noise: Noise) -> None:
        self.stage, self.net, self.config, self.noise = stage, net, config, noise
        self.members = Members(net, stage.num_envs)
        self.frozen = Frozen(net, stage.num_envs, size=config.feature_cache)
        self.drawn: tuple[tuple[int, int], NDArray[np.float32]] | None = None
        self.rows: list[Episode | None] = [None] * stage.num_envs
        self.numbers: Sequence[int] = ()

    def play(
        self,
        plan: Plan,
        world: World,
        *,
        theta: NDArray[np.float32],
        sigma: float,
        budget: int,
        numbers: Sequence[int] | None = None,
    ) -> tuple[NDArray[np.void], int]:
        """Play what this process can claim of a generation -> (records [N], agent steps taken).

        budget: agent steps after which a stage that is not planned ends; the generation is then
        incomplete, unless it ended by itself. numbers: of the episodes to play; None: all.
        """
        stage, rows = self.stage, self.rows
        world.open()
        self.numbers = range(len(plan)) if numbers is None else numbers
        for row in range(stage.num_envs):
            self.members.put(row, theta)
        records: list[tuple[int, int, float, float, float, bool]] = []
        steps, more = 0, True
        while steps < budget or stage.planned:
            for row in range(stage.num_envs):
                if more and rows[row] is None and stage.free(row):
                    more = self.begin(row, plan, world, theta=theta, sigma=sigma)
            busy = [row for row, episode in enumerate(rows) if episode is not None]
            if not busy and not more:
                break
            answers = stage.step(self.act(), busy)
            steps += stage.num_envs
            world.progress()
            for row, answer in answers.items():
                if self.add(row, answer):
                    records.append(self.finish(row, answer, theta))
        self.rows = [None] * stage.num_envs
        found = np.array(records, RECORD)
        # Steps that were lost with an emulator do not count: the run is as if it had not been.
        return found, int(found["steps"].sum()) if stage.planned else steps

    def begin(
        self, row: int, plan: Plan, world: World, *, theta: NDArray[np.float32], sigma: float
    ) -> bool:
        """Claim an episode for a row; False where none is left."""
        claimed = world.claim()
        if claimed >= len(self.numbers):
            return False
        number = self.numbers[claimed]
        task = plan.task(number)
        seed = plan.episode_seed(task)
        start = Start(plan.slots[task.slot], seed, plan.steps)
        weights = theta
        if task.sign:
            weights = theta + np.float32(task.sign * sigma) * self.noise_of(plan, task)
        self.members.put(row, weights)
        self.stage.begin(row, start)
        self.rows[row] = Episode(number, task, start, chance_of(start))
        return True

    def noise_of(self, plan: Plan, task: Task) -> NDArray[np.float32]:
        """Noise of a task's pair, drawn once for its episodes that follow each other."""
        key = (plan.generation, task.pair)
        if self.drawn is None or self.drawn[0] != key:
            self.drawn = (key, self.noise.whole(*key))
        return self.drawn[1]

    def act(self) -> NDArray[np.int64]:
        """Actions [K] of all rows; those without an episode act by the current policy."""
        config = self.config
        scores = self.members.scores(self.frozen(self.stage.obs)).cpu()
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
        if answer.lost:
            episode.total, episode.steps = 0.0, 0
            episode.rng = chance_of(episode.start)
            return False
        episode.total += answer.reward / self.config.reward_scale
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
