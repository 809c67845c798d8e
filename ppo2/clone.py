# PYTHON_ARGCOMPLETE_OK
"""Learns from demonstrations: trains a policy to imitate recorded episodes or an expert.

python -m ppo2.clone --demonstrations runs/jerk/replay,runs/recorded --run-dir runs/cloned
python -m ppo2.clone --expert --levels bramble-train --run-dir runs/cloned
"""

import dataclasses
import sys
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from ppo2.agent import PPO2Agent
from ppo2.config import PPO2Config
from ppo2.demonstrations import UNKNOWN, Demonstrations, read
from retro_agents.contract.envs import EnvSettings, Expert, VectorEnv, ended_episodes
from retro_agents.games.families import TRAINING, env_settings, expert_of, level_names, make
from retro_agents.ground.device import prepare_device
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.progress import Progress
from retro_agents.ground.ranges import Count, NonNegative, Positive, Seed, Share, check
from retro_agents.ground.seeding import seed_everything
from retro_agents.nets.actor_critic import make_actor_critic, sample_actions
from retro_agents.nets.settings import NetSettings
from retro_agents.run.checkpoint import load_checkpoint
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import to_dict
from retro_agents.run.fields import field, flag_with
from retro_agents.run.folder import RunFolder, alone_in, interruptible
from retro_agents.run.metrics import Metrics
from retro_agents.run.optimiser import AdamW, set_rate
from retro_agents.run.provenance import recorded
from retro_agents.run.settings import RunSettings

SPAN = 20
"""Average number of steps until the player is drawn anew."""
LOG_EVERY = 500
"""Updates between rows of metrics, and between checkpoints."""


@dataclasses.dataclass(frozen=True)
class CloneConfig:
    """Clone a policy from recorded episodes, or from an expert beside which it plays (DAgger).

    Ctrl-C saves the policy so far, from which --init starts; the episodes played are not saved."""

    # What is learned from
    demonstrations: str = ""
    """Folders of recorded episodes, or runs of JERK that left some, separated by commas."""
    expert: bool = False
    """Ask an expert what to do wherever the policy gets (DAgger), if the game has one."""
    levels: str = TRAINING
    """Levels to play with the expert, and their settings, as for a trainer. With --demonstrations
    only their family counts (procgen:GAME): recorded episodes name their own levels."""
    steps: Count = field(300_000, only_with="expert")
    """Agent steps to play with the expert, all of which are kept: 7 kB each at 84x84."""
    num_envs: Count = field(48, only_with="expert")
    """Number of parallel environments that play them."""
    expert_share: Share = field(0.2, only_with="expert")
    """Fraction of the steps that the expert plays at the end; at first it plays all."""

    # Where it goes
    run_dir: str = "runs/cloned"
    """Folder of this run: config, metrics, checkpoints."""
    init: str = ""
    """A checkpoint of PPO2 with the same net to start from."""
    seed: Seed = 0
    """Seed of all random numbers."""
    device: str = "auto"
    """cpu, cuda, cuda:1, or auto: cuda if available."""

    # Learning
    updates: Count = 10_000
    """Steps of Adam. All play with the expert happens during the first half of them."""
    batch_size: Count = 256
    """Agent steps in an update's batch."""
    learning_rate: Positive = 5e-4
    """Adam's learning rate; it falls linearly to 0."""
    weight_decay: NonNegative = 0.0
    """AdamW's weight decay."""
    balance: Share = 0.5
    """Actions are weighted by their frequency to the power of minus this, because a jump is rare,
    but its start matters most. 0: equal weights."""
    value_weight: NonNegative = 0.5
    """Weight of the value loss (half the squared error to the returns)."""
    gamma: Share = 0.99
    """Discount of the returns per agent step."""

    net: NetSettings = NetSettings()
    env: EnvSettings = env_settings()

    def __post_init__(self) -> None:
        check(self)

    def agent(self) -> PPO2Config:
        """The config of the agent that is trained."""
        run = RunSettings(levels=self.levels, num_envs=self.num_envs, seed=self.seed)
        return PPO2Config(run=run, env=self.env, net=self.net, gamma=self.gamma)


def action_weights(counts: NDArray[np.integer], *, balance: float) -> Tensor:
    """Weight of a step by its demonstrated action, [A] -> [A]: frequency^-balance, divided by the
    mean over the steps counted. An action that was never taken counts as taken once."""
    weights = np.maximum(counts, 1) ** -balance
    mean = (weights * counts).sum() / max(1, counts.sum())
    return torch.from_numpy(weights / (mean or 1.0)).float()


def cloning_losses(
    logits: Tensor, values: Tensor, actions: Tensor, returns: Tensor, *, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Means over the rows that have a target, [B,A], [B], [B], [B] -> [], []: cross entropy with
    the actions, where they are known, times their weights [A], and half the squared error to the
    returns, where these are not nan."""
    entropy = F.cross_entropy(
        logits, actions, weight=weights, ignore_index=UNKNOWN, reduction="sum"
    )
    entropy = entropy / (actions != UNKNOWN).sum().clamp(min=1)
    known = ~returns.isnan()
    errors = (values - returns)[known].square().sum() / known.sum().clamp(min=1)
    return entropy, 0.5 * errors


def check_plain(init: str) -> None:
    """Raises UserError if the net to start from has memory or noise, for which there is no flag."""
    if init.endswith(".joblib"):
        return
    saved = load_checkpoint(init).of(PPO2Agent.name)
    if saved.setting("recurrent") != "none" or saved.setting("noisy"):
        raise UserError(
            f"{saved.folder} holds a net with memory or noise, which a clone has not: give another "
            "--init, or leave it out"
        )


class Student:
    """A policy that learns from demonstrations, and plays beside an expert to get more."""

    def __init__(self, config: CloneConfig) -> None:
        seed_everything(config.seed)
        device, own = prepare_device(config.device), config.agent()
        self.config = config
        self.agent = PPO2Agent(make_actor_critic(own), own, device=str(device))
        if config.init:
            check_plain(config.init)
            self.agent.start_from(config.init)
        self.rng = np.random.default_rng(config.seed)
        self.optimiser = AdamW(
            self.agent.net.parameters(),
            lr=config.learning_rate,
            eps=1e-5,
            weight_decay=config.weight_decay,
            fused=True,
        )
        self.updates = 0
        self.agreed: deque[bool] = deque(maxlen=5_000)
        self.returns: deque[float] = deque(maxlen=100)

    def update(self, demonstrations: Demonstrations) -> dict[str, float]:
        """One step of Adam on steps drawn from all demonstrations -> metrics."""
        config, device = self.config, self.agent.device
        set_rate(self.optimiser, config.learning_rate * (1.0 - self.updates / config.updates))
        obs, *targets = demonstrations.sample(config.batch_size, self.rng)
        images = torch.from_numpy(obs).to(device).contiguous(memory_format=torch.channels_last)
        actions, returns = (torch.from_numpy(target).to(device) for target in targets)
        seen = self.agent.outputs(images)
        logits, values = seen["logits"], seen["value"]
        weights = action_weights(demonstrations.counts, balance=config.balance).to(device)
        policy_loss, value_loss = cloning_losses(logits, values, actions, returns, weights=weights)
        self.optimiser.zero_grad()
        (policy_loss + config.value_weight * value_loss).backward()
        self.optimiser.step()
        self.updates += 1
        right = (logits.argmax(dim=1) == actions)[actions != UNKNOWN].float().mean()
        found = {"cross_entropy": policy_loss, "value_loss": value_loss, "accuracy": right}
        return {name: float(value.detach()) for name, value in found.items()}

    def recent_metrics(self) -> dict[str, float]:
        """Metrics of recent lessons: how often the policy's most probable action is the expert's on
        steps that it has not learned from yet, and the returns of both players."""
        found = {"agreement": [*map(float, self.agreed)], "mean_return": [*self.returns]}
        return {name: float(np.mean(values)) for name, values in found.items() if values}


class Lessons:
    """Play in which an expert labels every step with its own action, and plays some of them itself.

    Source: Ross et al., arXiv:1011.0686 (DAgger). Differs: the player is drawn for a span of steps,
    not for each, so that the expert can free a policy that is stuck.
    """

    def __init__(self, config: CloneConfig, envs: VectorEnv, expert: Expert) -> None:
        self.config, self.envs, self.expert = config, envs, expert
        self.obs, _ = envs.reset(seed=config.seed)
        self.led = np.ones(envs.num_envs, bool)
        """Rows that the expert plays."""
        steps = -(-config.steps // envs.num_envs)
        self.demonstrations = Demonstrations(
            envs.num_envs, steps, spec=envs.env_spec, gamma=config.gamma
        )

    def due(self, student: Student) -> bool:
        """Whether to play before the next update."""
        part = 2.0 * student.updates / self.config.updates
        return not self.demonstrations.full and self.demonstrations.size <= part * self.config.steps

    @torch.no_grad()
    def play(self, student: Student) -> None:
        """One step of every row; the policy samples its actions."""
        rng, agent, rows = student.rng, student.agent, self.envs.num_envs
        advice = self.expert.actions(self.envs)
        known = advice != UNKNOWN
        images = torch.from_numpy(self.obs).to(agent.device)
        log_probs = agent.scores(images).log_softmax(dim=1)
        uniforms = torch.from_numpy(rng.random(rows, np.float32)).to(agent.device)
        own = sample_actions(log_probs, uniforms).cpu().numpy()
        drawn = rng.random(rows) < 1.0 / SPAN
        self.led = np.where(drawn, rng.random(rows) < self.share(), self.led)
        actions = np.where(self.led & known, advice, own)
        obs, rewards, terminated, truncated, infos = self.envs.step(actions)
        self.demonstrations.add(self.obs, advice, rewards, terminated | truncated)
        self.obs = obs
        alike = (log_probs.argmax(dim=1).cpu().numpy() == advice)[known]
        student.agreed.extend(alike.tolist())
        student.returns.extend(episode["r"] for episode in ended_episodes(infos))

    def share(self) -> float:
        """Fraction of the steps that the expert plays now."""
        part = self.demonstrations.size / self.config.steps
        return 1.0 - part * (1.0 - self.config.expert_share)


def learned_levels(names: Sequence[str], settings: EnvSettings) -> str:
    """The levels of episodes, as a run names them."""
    if settings.spec().family == "procgen":
        games = dict.fromkeys(name.partition(":")[0] for name in names)
        return f"procgen:{','.join(games)}"
    whole = {*names} == {*level_names(TRAINING)}
    return TRAINING if whole else ",".join(names)


def clone(config: CloneConfig, lessons: Lessons | None = None) -> PPO2Agent:
    """Clone a policy from recorded episodes, or in lessons, and write it to config.run_dir. Ctrl-C
    saves the policy so far, but neither Adam's state nor the episodes played."""
    if lessons is not None:
        demonstrations = lessons.demonstrations
    else:
        demonstrations = read(config.demonstrations, config.env, gamma=config.gamma)
        levels = learned_levels(demonstrations.levels, config.env)
        config = dataclasses.replace(config, levels=levels)
    student, run_dir = Student(config), config.run_dir
    init = flag_with("init", run_dir)
    instead = f"beside it {init}, to start from its policy"
    hint = f"its policy is saved: {init} and another --run-dir start from it"
    folder = RunFolder.create(run_dir, config, instead=instead)
    with (
        alone_in(folder.path),
        recorded(folder.path, "ppo2", env_steps=0),
        Metrics(folder.path, config=to_dict(config)) as metrics,
        Progress(config.updates, "clone", unit="updates") as progress,
        interruptible(run_dir, hint=hint) as interrupted,
    ):
        over = False
        while not over:
            while lessons is not None and lessons.due(student):
                lessons.play(student)
                if interrupted():
                    break
            values = student.update(demonstrations)
            over = student.updates == config.updates or interrupted()
            if over or student.updates % LOG_EVERY == 0:
                values |= {"steps": demonstrations.size, **student.recent_metrics()}
                metrics.log(student.updates, values)
                progress.update(student.updates, values)
                student.agent.save(folder.checkpoints)
    print(f"clone: the policy is in {run_dir}", file=sys.stderr)
    return student.agent


parse = partial(parse_command, CloneConfig, command="python -m ppo2.clone")
"""Arguments of a command line -> its config."""


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Clone the policy that the command line describes."""
    config = parse(argv)
    if bool(config.demonstrations) == config.expert:
        raise UserError(
            "give either --demonstrations FOLDER or --expert; first one, then with --init the other"
        )
    if not config.expert:
        clone(config)
        return
    expert = expert_of(config.levels, config.env)
    envs = make(config.levels, config.env, num_envs=config.num_envs, seed=config.seed)
    with closing(envs):
        clone(config, Lessons(config, envs, expert))


if __name__ == "__main__":
    main()
