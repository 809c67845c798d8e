"""The base of agents with a net: saves checkpoints, and builds and loads agents from them."""

import functools
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from retro_agents.contract.policy import Act, Actions, Flags, Images, Play, one_or_many
from retro_agents.ground.device import computes_in_bf16, one_thread
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import ActorCritic, choose, make_actor_critic
from retro_agents.nets.noisy import Noises
from retro_agents.nets.transfer import check_encoder, load_net
from retro_agents.run.checkpoint import Checkpoint, load_checkpoint, save_checkpoint
from retro_agents.run.config import flat, from_dict, to_dict
from retro_agents.run.distrust import reading
from retro_agents.run.fields import NOTHING, fields, flag_with, places, takes_effect

FEW_ROWS = 32
"""Rows from which several threads may pay when acting."""
Net = TypeVar("Net", bound=nn.Module)
Config = TypeVar("Config")


def acting(act: Act) -> Act:
    """Makes an agent's `act` accept a single observation, and use one thread where more do not pay
    (see `NetAgent.acting_threads`)."""

    @one_or_many
    @functools.wraps(act)
    def wrapped(self: Any, obs: Images, **options: Any) -> Actions:
        with self.acting_threads(len(obs)):
            return act(self, obs, **options)

    return cast("Act", wrapped)


class NetAgent(Generic[Net, Config]):
    """A net and the config that shapes it; each agent adds its behaviour."""

    name: ClassVar[str]
    """Name of the agent's package."""
    config_type: ClassVar[type]
    fits: ClassVar[Mapping[str, Any]] = NOTHING
    """Setting of the net's shape -> the saved value that fits a net with another value too."""
    logits: bool
    """Whether scores are a policy's logits; otherwise they are expected returns."""
    recurrent = False
    """Whether the net remembers from one observation to the next."""
    half = False
    """Whether the net acts in bf16."""
    loaded = False
    """Whether it comes from a checkpoint, to play."""
    env_steps = 0
    """Agent steps of the run that wrote that checkpoint."""

    @staticmethod
    def make_net(config: Any) -> nn.Module:
        """An untrained net for that config; torch's generator draws its weights."""
        raise NotImplementedError

    def __init__(self, net: Net, config: Config, *, device: str = "cpu") -> None:
        self.device = torch.device(device)
        # Also where the caller has made float64 torch's default.
        self.net, self.config = net.to(self.device, torch.float32), config

    @classmethod
    def build(
        cls,
        config: Mapping[str, Any],
        weights: Mapping[str, Tensor] | None = None,
        *,
        device: str = "cpu",
    ) -> Self:
        """Builds the agent from a checkpoint's config and weights; without weights, an untrained
        agent."""
        own: Any = from_dict(cls.config_type, config)
        net: Any = cls.make_net(own)
        agent = cls(net, own, device=device)
        if weights is not None:
            agent.net.load_state_dict(weights)
        return agent

    @classmethod
    def load(cls, folder: Path | str, *, device: str = "cpu") -> Self:
        """Loads the agent in a checkpoint folder. Raises UserError if the checkpoint is incomplete,
        or of another agent or version."""
        saved = load_checkpoint(folder).of(cls.name)
        saved.config_as(cls.config_type)  # its UserError names the folder
        agent = cls.build(saved.config, device=device)
        agent.load_weights(saved)
        agent.loaded, agent.env_steps = True, saved.counters["env_steps"]
        return agent

    def acting_threads(self, rows: int) -> AbstractContextManager[None]:
        """The context in which so many rows are acted on: a loaded agent needs one thread for few.
        One that is trained keeps its threads, and so its rounding."""
        few = self.loaded and rows < FEW_ROWS and self.device.type == "cpu"
        return one_thread() if few else nullcontext()

    def autocast(self) -> torch.autocast:
        """The net's precision. An outer autocast around many calls casts the weights once."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.half)

    def how(self, play: Play | None) -> Play:
        """The given way to play; None: the config's."""
        return self.config.net.play if play is None else play  # type: ignore[attr-defined]

    def save(self, folder: Path | str) -> None:
        """Write weights and config, without a run's state, as a checkpoint for `load`."""
        save_checkpoint(
            folder,
            agent=self.name,
            config=self.config,
            counters={"env_steps": self.env_steps},
            tensors={"net": self.net.state_dict()},
        )

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint."""
        saved = load_checkpoint(init)
        with reading(saved.folder):
            self.load_weights(saved)

    def load_weights(self, saved: Checkpoint) -> None:
        """Take a checkpoint's weights. Raises UserError if its agent, its games or its net
        are others."""
        theirs, ours = flat(saved.of(self.name).config), flat(to_dict(self.config))
        configs: list[Any] = [saved.config_as(type(self.config)), self.config]
        specs = [config.env.spec() for config in configs]
        if specs[0].family != specs[1].family:
            raise UserError(
                f"{saved.folder} was trained on other games than this run's; give levels of "
                f"{specs[0].family}"
            )
        check_encoder(theirs, ours, source=saved.folder)
        here = places(self.config)
        shape = {name: theirs[name] for name in fields(self.config, "shape") if name in theirs}
        flags = [
            flag_with(name, value)
            for name, value in shape.items()
            if value not in (ours[name], self.fits.get(name, ours[name]))
            and takes_effect({**ours, **shape}, here[name])
        ]
        self.take(saved.tensors["net"], saved.folder, flags=flags)
        seen, sees = ((spec.channels, spec.steps_back) for spec in specs)
        if seen != sees:  # the weights alone would fit
            raise UserError(
                f"{saved.folder} was trained with other frames than this run's; give "
                f"{' '.join(flags)}"
            )

    def scores(self, images: Tensor) -> Tensor:
        """A policy's logits or expected returns, with gradient. Images uint8 [B,C,H,W] -> [B,A]."""
        raise NotImplementedError

    def outputs(self, images: Tensor) -> dict[str, Tensor]:
        """What an exported net gives for images uint8 [N,C,H,W]: `logits` or `values` [N,A], and of
        a critic `value` [N]. A recurrent net takes and gives its `state` [N,S] too."""
        return {"logits" if self.logits else "values": self.scores(images)}

    def arrays(self) -> dict[str, NDArray]:
        """The net's weights, for `take_arrays` of an agent in another process."""
        return {name: value.cpu().numpy() for name, value in self.net.state_dict().items()}

    def take_arrays(self, weights: Mapping[str, NDArray]) -> None:
        """Take the weights that `arrays` returned."""
        self.net.load_state_dict({name: torch.tensor(rows) for name, rows in weights.items()})

    def take(
        self, weights: Mapping[str, Tensor], source: Path | str, *, flags: Sequence[str] = ()
    ) -> None:
        """Take the weights of a net from `source`. flags: those that make a net of its shape, if
        known. Raises UserError if its shape is another one."""
        same = f"give {' '.join(flags)}" if flags else "use the same settings of the net"
        load_net(self.net, weights, f"{source} holds a net of another shape ({{}}); {same}")


class PolicyAgent(NetAgent[Net, Config]):
    """Acts by a policy without memory."""

    logits = True

    @acting
    @torch.no_grad()
    def act(self, obs: Images, *, play: Play | None = None, starts: Flags | None = None) -> Actions:
        """Chooses actions. obs uint8 [N,C,H,W] -> int64 [N]. play: how; None: as its config says.
        starts: unused, since the policy has no memory."""
        with self.autocast():
            logits = self.scores(torch.from_numpy(obs).to(self.device))
        return choose(logits.log_softmax(dim=1), self.how(play)).cpu().numpy()


class ActorCriticAgent(NetAgent[ActorCritic, Config]):
    """Acts by an actor-critic's policy."""

    logits = True

    @staticmethod
    def make_net(config: Any) -> ActorCritic:
        """As NetAgent's."""
        return make_actor_critic(config)

    def __init__(self, net: ActorCritic, config: Config, *, device: str = "cpu") -> None:
        super().__init__(net, config, device=device)
        precision: str = config.computing.precision  # type: ignore[attr-defined]
        self.half = computes_in_bf16(precision, self.device)
        self.state, self.recurrent = self.no_state(0), net.core is not None

    def no_state(self, rows: int) -> Tensor:
        """A recurrent net's initial state [rows,S]; S is 0 if the net is not recurrent."""
        core = self.net.core
        size = 0 if core is None else core.state_size
        return torch.zeros(rows, size, dtype=torch.float32, device=self.device)

    @torch.no_grad()
    def evaluate(
        self, images: Tensor, *, state: Tensor, starts: Tensor, noise: Noises | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Evaluates images [N,C,H,W] on the device. Returns log-probabilities [N,A], values [N] (or
        [N,V]) and the new state."""
        with self.autocast():
            logits, values, after = self.net(images, state=state, starts=starts, noise=noise)
        return logits.log_softmax(dim=1), values, after

    @acting
    def act(self, obs: Images, *, play: Play | None = None, starts: Flags | None = None) -> Actions:
        """Chooses actions. obs uint8 [N,C,H,W] -> int64 [N]. play: how; None: as its config says.

        starts: rows that begin an episode, for a recurrent net, which has a memory between calls.
        """
        if len(self.state) != len(obs):
            self.state = self.no_state(len(obs))
        begins = torch.from_numpy(np.zeros(len(obs), bool) if starts is None else starts)
        log_probs, _, self.state = self.evaluate(
            torch.from_numpy(obs).to(self.device),
            state=self.state,
            starts=begins.to(self.device),
        )
        return choose(log_probs, self.how(play)).cpu().numpy()

    def outputs(self, images: Tensor, state: Tensor | None = None) -> dict[str, Tensor]:
        """As NetAgent's, with the critic's value, and the state after the images."""
        rows = images.shape[0]  # unlike len(), it stays a variable when the net is exported
        starts = torch.zeros(rows, dtype=torch.bool, device=images.device)
        before = self.no_state(rows) if state is None else state
        logits, value, after = self.net(images, state=before, starts=starts)
        value = value.view(rows, -1)[:, 0]  # the first of several is of the game's rewards
        return {"logits": logits, "value": value} | ({} if state is None else {"state": after})

    def scores(self, images: Tensor) -> Tensor:
        """Logits of a net without memory, with gradient. Images uint8 [B,C,H,W] -> [B,A]."""
        starts = torch.ones(len(images), dtype=torch.bool, device=self.device)
        return self.net(images, state=self.no_state(len(images)), starts=starts)[0]
