"""What a look at a net's stages shows."""

import torch

from lab.activations import main, stages
from retro_agents.nets.encoders import Encoder


def test_a_stage_is_told_by_its_size_its_spread_and_its_zeros():
    images = torch.tensor([[[[1.0, -1.0]]], [[[3.0, -1.0]]]])
    (row, _) = stages(Encoder([torch.nn.ReLU()], (1, 1, 2)), images)
    assert list(row.values()) == ["ReLU", "1 × 1 × 2", "1.581", "0.707", "50 %"]


def test_the_command_looks_at_any_net_with_an_encoder(capsys):
    flags = "--levels BrambleWood.Act1 --num-envs 2 --encoder data-efficient"
    main(["rainbow", *flags.split()])
    assert "| PixelConv | 32 × 16 × 16 |" in capsys.readouterr().out


def test_an_agent_without_a_net_is_refused(refused):
    words = "jerk --preset baseline --levels BrambleWood.Act1"
    assert "jerk has no net" in refused(main, words.split())
