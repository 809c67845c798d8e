"""The acting side of PPO2: pick actions, be saved, be loaded."""

from pathlib import Path

from ppo2.config import PPO2Config
from retro_agents.nets.baselines import read_baselines
from retro_agents.nets.net_agent import ActorCriticAgent
from retro_agents.nets.transfer import check_parts


class PPO2Agent(ActorCriticAgent[PPO2Config]):
    """Acts as actor-critics do; starts from weights of openai/baselines too."""

    name, config_type = "ppo2", PPO2Config

    def start_from(self, init: Path | str) -> None:
        """Take the weights of another run's checkpoint, or of a file of baselines' PPO2."""
        if not str(init).endswith(".joblib"):
            super().start_from(init)
            return
        check_parts("", self.config.net.encoder_parts, source=init)
        image = self.config.env.spec().observation_shape
        self.take(read_baselines(init, image=image), init)


build, load = PPO2Agent.build, PPO2Agent.load
