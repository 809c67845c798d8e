from dataclasses import dataclass

from ppo2.config import PPO2Config
from retro_agents.ground.ranges import NonNegative
from retro_agents.run.fields import learning
from retro_agents.run.settings import RunSettings


@dataclass(frozen=True)
class SteadyConfig(PPO2Config):
    """Train PPO2 with a policy that stays the same when the image moves."""

    run: RunSettings = RunSettings(run_dir="runs/steady")

    steadiness: NonNegative = learning(0.1, group="Steadiness")
    """Weight of the policy's KL divergence from that for the image moved by two pixels; 0: none."""


Config = SteadyConfig
