"""Small nets of every kind, and what ONNX Runtime computes with them, for the page's tests.

python -m tests.web.nets     # writes web/tests/nets/
"""

import json

import numpy as np
import onnxruntime
import torch

from retro_agents.run.agents import find
from retro_agents.run.config import to_dict
from retro_agents.run.export import export
from tests.agents.tiny import tiny
from tests.runs import ROOT

FOLDER = ROOT / "web" / "tests" / "nets"
CORE = ["--recurrent-hidden", "8", "--sequence-steps", "6", "--minibatches", "1"]
SMALL = ["--widths", "4,4,4"]
NETS = {
    "gru": ("ppo2", "--recurrent", "gru", *CORE),
    "lstm": ("ppo2", "--recurrent", "lstm", *CORE),
    "quantiles": ("rainbow", "--quantiles", "4"),
    "impala": ("ppo2", "--encoder", "impala", *SMALL, "--encoder-parts", "squeeze-excite"),
    "group-norm": ("ppo2", "--encoder", "impala", *SMALL, "--encoder-parts", "group-norm"),
    "mobilenet": ("ppo2", "--encoder", "mobilenet", *SMALL),
    "xresnet": ("ppo2", "--encoder", "xresnet", *SMALL),
    "trpo": ("trpo",),
}
ROWS = 3


def write() -> None:
    """Write each net and its outputs for the same made-up images and state."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    images = (np.arange(ROWS * 4 * 36 * 36) * 2654435761 >> 7).astype(np.uint8)
    for name, (agent, *flags) in NETS.items():
        built = find(agent).build(to_dict(tiny(agent, *flags)))
        export(built, FOLDER / f"{name}.onnx", name=agent)
        given = {"images": images.reshape(ROWS, 4, 36, 36)}
        if built.recurrent:
            given["state"] = np.full_like(built.no_state(ROWS).numpy(), 0.25)
        session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx")
        outputs = {
            output.name: values.ravel().tolist()
            for output, values in zip(session.get_outputs(), session.run(None, given), strict=True)
        }
        (FOLDER / f"{name}.json").write_text(json.dumps(outputs) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write()
