"""The acting side of PPO2: pick actions, be saved, be loaded."""

from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from experiment.checkpoint import load_checkpoint
from experiment.device import computes_in_bf16
from experiment.package import Actions, Flags, Images
from nets.actor_critic import ActorCritic, sample_actions
from nets.baselines import read_baselines
from nets.encoders import make_encoder, parse_parts, parse_widths
from nets.heads import ActorCriticHead
from nets.initialise import initialiser
from nets.net_agent import NetAgent
from nets.noisy import Noises, NoisyLinear, PlainLinear
from nets.recurrent import RecurrentCore
from ppo2.config import PPO2Config


def make_net(config: PPO2Config) -> ActorCritic:
    """An untrained net for that config, its weights drawn from torch's generator.

    But for xavier-all the heads are orthogonal as in openai/baselines, ppo2, the policy nearly
    uniform.
    """
    spec = config.env.spec()
    encoder = make_encoder(
        config.encoder,
        spec.observation_shape,
        widths=parse_widths(config.widths),
        pool=config.pool,
        parts=parse_parts(config.encoder_parts, config.encoder),
    )
    initialise = initialiser(config.initialisation)
    if config.initialisation != "default" or config.encoder in ("nature", "data-efficient"):
        initialise(encoder)
    linear = partial(NoisyLinear, sigma0=config.sigma0) if config.noisy else PlainLinear
    hidden = linear(encoder.features, config.hidden)
    initialise(hidden)
    core, features = None, config.hidden
    if config.recurrent != "none":
        core = RecurrentCore(config.recurrent, config.hidden, hidden=config.recurrent_hidden)
        features = core.features
    head = ActorCriticHead(features, actions=spec.actions, noisy=config.noisy, sigma0=config.sigma0)
    if config.initialisation == "xavier-all":
        initialise(head)
    return ActorCritic(encoder, hidden=hidden, core=core, head=head)


class PPO2Agent(NetAgent[ActorCritic, PPO2Config]):
    """Acts by the most probable action; exploring, by a draw from the policy."""

    name, config_type = "ppo2", PPO2Config
    same = "encoder, hidden, recurrent, noisy, actions, image and stack"
    make_net = staticmethod(make_net)
    logits = True

    def __init__(self, net: ActorCritic, config: PPO2Config, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
        self.half = computes_in_bf16(config.precision, self.device)
        self.state = self.no_state(0)

    def autocast(self) -> torch.autocast:
        """The net's precision. Within an outer one, weights are cast once: for many calls."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def no_state(self, rows: int) -> Tensor:
        """What a recurrent net remembers of nothing, [rows,S]; S is 0 without one."""
        core = self.net.core
        return torch.zeros(rows, 0 if core is None else core.state_size, device=self.device)

    @torch.no_grad()
    def evaluate(
        self, images: Tensor, *, state: Tensor, starts: Tensor, noise: Noises = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Images [N,C,H,W] on the device -> log-probabilities [N,A], values [N], new state."""
        with self.autocast():
            logits, values, after = self.net(images, noise=noise, state=state, starts=starts)
        return logits.log_softmax(dim=1), values, after

    def act(self, obs: Images, *, explore: bool = False, starts: Flags | None = None) -> Actions:
        """obs uint8 [N,C,H,W] -> actions int64 [N]. explore: draw them from the policy, and the
        noise of noisy layers anew (while it learns, that stays for a rollout).

        starts: rows that begin an episode, for a recurrent net, which remembers between calls.
        """
        if len(self.state) != len(obs):
            self.state = self.no_state(len(obs))
        begins = torch.from_numpy(np.zeros(len(obs), bool) if starts is None else starts)
        log_probs, _, self.state = self.evaluate(
            torch.from_numpy(obs).to(self.device),
            state=self.state,
            starts=begins.to(self.device),
            noise=self.fresh_noise(len(obs)) if explore else None,
        )
        if explore:
            actions = sample_actions(log_probs, torch.rand(len(obs), device=self.device))
        else:
            actions = log_probs.argmax(dim=1)
        return actions.cpu().numpy()

    def draw_noise(self, rngs: list[np.random.Generator]) -> Noises:
        """A draw from each generator; None without noisy layers."""
        return self.net.draw_noise(rngs, self.device)

    def fresh_noise(self, rows: int) -> Noises:
        """Noise for each row, of torch's generator; None without noisy layers."""
        if not self.config.noisy:
            return None
        seeds = torch.randint(2**62, (rows,)).tolist()
        return self.draw_noise([np.random.default_rng(seed) for seed in seeds])

    def scores(self, images: Tensor) -> Tensor:
        """Logits [B,A] of images uint8 [B,C,H,W], of a net without memory, with gradient."""
        starts = torch.ones(len(images), dtype=torch.bool, device=self.device)
        logits: Tensor = self.net(images, state=self.no_state(len(images)), starts=starts)[0]
        return logits

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint, or of a file of baselines' PPO2."""
        if not str(init).endswith(".joblib"):
            self.load_weights(load_checkpoint(init))
            return
        image = self.config.env.spec().observation_shape
        self.take(read_baselines(init, image=image), init)


build, load = PPO2Agent.build, PPO2Agent.load
