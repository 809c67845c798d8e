import json

import numpy as np
import onnxruntime
import pytest
import torch

from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.config import to_dict
from retro_agents.run.export import export, main, metadata_of
from tests.agents.tiny import tiny
from tests.runs import ROOT

NETS = {
    "ppo2 gru": ("--recurrent", "gru", "--sequence-steps", "6", "--minibatches", "1"),
    "ppo2 lstm": ("--recurrent", "lstm", "--sequence-steps", "6", "--minibatches", "1"),
    "ppo2 parts": ("--encoder", "impala", "--encoder-parts", "attention,batch-norm,max-pool"),
    "ppo2 two values": ("--rnd", "0.5", "--rnd-values", "two"),
    "trpo": (),
    "sac": (),
    "es": (),
    "rainbow": (),
    "rainbow quantiles": ("--quantiles", "8"),
}
TOLERANCE = 1e-5
"""Largest difference of an output between ONNX Runtime and PyTorch."""


def built(net):
    torch.manual_seed(0)
    name = net.partition(" ")[0]
    agent = find(name).build(to_dict(tiny(name, *NETS[net])))
    if net == "ppo2 parts":  # of which attention begins closed: its one number is 0
        (gamma,) = (each for each in agent.net.parameters() if not each.ndim)
        torch.nn.init.ones_(gamma)
    return agent


@pytest.mark.parametrize("net", NETS)
def test_an_exported_net_computes_what_the_agent_does(net, tmp_path):
    agent, file = built(net), tmp_path / "net.onnx"
    before = [buffer.clone() for buffer in agent.net.buffers()]
    export(agent, file, name=net.partition(" ")[0])
    assert all(map(torch.equal, agent.net.buffers(), before))
    session = onnxruntime.InferenceSession(file)
    images = np.random.default_rng(0).integers(256, size=(4, 60, 4, 36, 36), dtype=np.uint8)
    state = agent.no_state(60).numpy() if agent.recurrent else None
    for rows in images:
        given = {"images": rows} | ({} if state is None else {"state": state})
        with torch.no_grad():
            theirs = agent.outputs(*(torch.from_numpy(each) for each in given.values()))
        ours = dict(zip(theirs, session.run(None, given), strict=True))
        if agent.recurrent:
            no = torch.zeros(len(rows), dtype=torch.bool)
            as_played = agent.evaluate(
                torch.from_numpy(rows), state=torch.from_numpy(state), starts=no
            )
            torch.testing.assert_close(theirs["logits"].log_softmax(dim=1), as_played[0])
        for name, values in theirs.items():
            np.testing.assert_allclose(ours[name], values.numpy(), atol=TOLERANCE)
        state = ours.get("state")


def test_a_file_says_how_its_agent_plays(tmp_path):
    main(["rainbow", "--onnx", str(tmp_path / "rainbow.onnx")])
    found = onnxruntime.InferenceSession(tmp_path / "rainbow.onnx").get_modelmeta()
    said = found.custom_metadata_map
    agent = load_agent("rainbow")
    assert said == metadata_of(agent, name="rainbow")
    assert said["levels"] == agent.config.run.levels != ""
    next(agent.net.parameters()).data += 1.0
    assert said["checksum"] != metadata_of(agent, name="rainbow")["checksum"]
    assert said["play"] == "best" and json.loads(said["frames_back"]) == [3, 2, 1, 0]
    assert str(ROOT).encode() not in (tmp_path / "rainbow.onnx").read_bytes()


def test_an_agent_without_a_net_is_refused(tmp_path, refused):
    find("jerk").build(to_dict(tiny("jerk"))).save(tmp_path)
    said = refused(main, [str(tmp_path), "--onnx", str(tmp_path / "net.onnx")])
    assert said.startswith("error: jerk has no net to export: give")
