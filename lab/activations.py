"""What the stages of a net give for images of a game: untrained, or trained with --init.

python -m lab.activations impala --preset procgen --levels procgen:bigfish --encoder-parts strided
"""

import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from retro_agents.contract.envs import VectorEnv
from retro_agents.games.families import make_for
from retro_agents.ground.errors import UserError, command
from retro_agents.judging.tables import decimal, records
from retro_agents.run.agents import find_given
from retro_agents.run.config import to_dict

STEPS, EVERY = 64, 4
"""Steps of random play, and between the images that are kept."""


def images_of(envs: VectorEnv, *, seed: int) -> Tensor:
    """Images uint8 [B,C,H,W] of random play."""
    rng, found = np.random.default_rng(seed), []
    obs, _ = envs.reset(seed=seed)
    for step in range(STEPS):
        obs, *_ = envs.step(rng.integers(envs.env_spec.actions, size=envs.num_envs))
        if step % EVERY == 0:
            found.append(obs.copy())
    return torch.from_numpy(np.concatenate(found))


@torch.no_grad()
def stages(encoder: nn.Module, images: Tensor) -> list[dict[str, str]]:
    """A row for each layer of an encoder's convolutions: its output's shape, root of its mean
    square, deviation between images (the mean over features), and share of zeros."""
    rows, x = [], images
    for layer in encoder.convolutions:  # type: ignore[union-attr]
        x = layer(x)
        rows.append({
            "layer": type(layer).__name__,
            "output": " × ".join(map(str, x.shape[1:])),
            "root mean square": decimal(float(x.square().mean().sqrt()), 3),
            "deviation between images": decimal(float(x.flatten(1).std(dim=0).mean()), 3),
            "zeros": f"{100 * float((x == 0).float().mean()):.0f} %",
        })  # fmt: skip
    return rows


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Print the table of the agent and the flags that the command line gives."""
    agent, *flags = [*(sys.argv[1:] if argv is None else argv), ""]
    if not agent or agent.startswith("-"):
        raise UserError("give an agent and its trainer's flags, such as impala --preset procgen")
    package = find_given(agent)
    config: Any = package.part("train", "parse")(flags[:-1])
    torch.manual_seed(config.run.seed)
    made: Any = package.build(to_dict(config))
    if not hasattr(made, "net"):
        raise UserError(f"{agent} has no net; give an agent that learns one, such as impala")
    if config.run.init:
        made.start_from(config.run.init)
    with closing(make_for(config)) as envs:
        print(records(stages(made.net.encoder, images_of(envs, seed=config.run.seed))))


if __name__ == "__main__":
    main()
