# PYTHON_ARGCOMPLETE_OK
"""Writes an agent's net as an ONNX file, which many programs run without PyTorch.

retro-agents export ppo2 --onnx ppo2.onnx
"""

import dataclasses
import hashlib
import json
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from retro_agents.contract.policy import ScoringPolicy
from retro_agents.ground.errors import UserError, command
from retro_agents.ground.files import drafted
from retro_agents.ground.results import installed
from retro_agents.run.agents import AGENTS
from retro_agents.run.checkpoint import agent_of, load_agent
from retro_agents.run.command_line import parse_command
from retro_agents.run.config import flat, to_dict
from retro_agents.run.fields import field, positional

if TYPE_CHECKING:
    from torch import Tensor, nn  # slow to import


@dataclasses.dataclass(frozen=True)
class ExportConfig:
    """Write an agent's net as an ONNX file. Input `images` uint8 [N,C,H,W]; outputs `logits` or
    `values` [N,actions], and `value` [N] of a critic. A recurrent net also takes and gives `state`,
    which is zero where an episode begins. The file's metadata says what the images and actions are,
    and whether to draw from the logits."""

    agent: str = positional("AGENT")
    """A checkpoint, a run folder, or a shipped agent's name (ppo2)."""
    onnx: str = field()
    """The file to write."""


def export(agent: Any, path: Path | str, *, name: str) -> None:
    """Write the net of an agent on the CPU, in fp32. name: its package.

    Raises UserError if the agent has no net, the net has a part that ONNX lacks, or the file cannot
    be written.
    """
    if not isinstance(agent, ScoringPolicy):
        known = ", ".join(one for one in AGENTS if one != "jerk")
        raise UserError(f"{name} has no net to export: give an agent of {known}")
    import onnx  # both are slow to import
    import torch

    module, inputs = graph_of(agent)
    with torch.no_grad():  # a batch norm's moments move with gradients
        outputs = list(agent.outputs(**inputs))
    batch = torch.export.Dim("n")
    with drafted(Path(path)) as draft, quiet(), torch.no_grad():
        try:
            program = torch.onnx.export(
                module,
                tuple(inputs.values()),
                input_names=list(inputs),
                output_names=["new_state" if one == "state" else one for one in outputs],
                dynamic_shapes=tuple({0: batch} for _ in inputs),
                dynamo=True,
                external_data=False,
                verbose=False,
            )
        except torch.onnx.errors.OnnxExporterError as error:
            reason = str(error.__cause__ or error).strip().partition("\n")[0]
            raise UserError(
                f"the net has a part that ONNX lacks ({reason}): export a net without that part"
            ) from None
        assert program is not None
        model = program.model_proto
        onnx.helper.set_model_props(model, metadata_of(agent, name=name))
        graph = model.graph
        values = graph.input, graph.output, graph.value_info, graph.initializer
        parts: list[Any] = [graph, *graph.node, *(one for group in values for one in group)]
        for part in parts:
            del part.metadata_props[:]  # paths of this machine
        onnx.save(model, draft)


def graph_of(agent: Any) -> "tuple[nn.Module, dict[str, Tensor]]":
    """A module that computes the agent's `outputs`, and an example of its inputs."""
    import torch

    class Graph(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = agent.net

        def forward(self, images: "Tensor", state: "Tensor | None" = None) -> "tuple[Tensor, ...]":
            given = () if state is None else (state,)
            return tuple(agent.outputs(images, *given).values())

    images = torch.zeros(2, *agent.config.env.spec().observation_shape, dtype=torch.uint8)
    state = {"state": agent.no_state(2)} if agent.recurrent else {}
    return Graph().eval(), {"images": images, **state}


def metadata_of(agent: Any, *, name: str) -> dict[str, str]:
    """What a program needs to play as the agent does; values other than text are JSON.

    actions: the buttons of each action. frames_back: the age of each frame in the images, in agent
    steps, the oldest first. play: how to choose actions, a `Play`. checksum: SHA-256 of the
    weights' names and values.
    """
    spec, config = agent.config.env.spec(), flat(to_dict(agent.config))
    digest = hashlib.sha256()
    for key, weights in sorted(agent.arrays().items()):
        digest.update(key.encode() + weights.tobytes())
    found = {
        "agent": name,
        "family": spec.family,
        "actions": spec.action_names,
        "image": spec.observation_shape,
        "frames_back": spec.steps_back,
        "channels": spec.channels,
        "frame_skip": spec.frame_skip,
        "play": agent.how(None),
        "levels": config["levels"],
        "checksum": digest.hexdigest(),
        "made_by": f"retro-contest-agents {installed('retro-contest-agents')}",
    }
    return {key: one if isinstance(one, str) else json.dumps(one) for key, one in found.items()}


@contextmanager
def quiet() -> Iterator[None]:
    """Hide what PyTorch's exporter says of packages and of itself."""
    log = logging.getLogger("torch.onnx")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(before)


@command
def main(argv: Sequence[str] | None = None) -> None:
    """Write the file that the command line asks for."""
    config = parse_command(ExportConfig, argv, command="retro-agents export")
    agent = load_agent(config.agent)
    export(agent, config.onnx, name=agent_of(config.agent))
    print(f"{config.onnx}: {Path(config.onnx).stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
