from ppo2.agent import PPO2Agent
from steady.config import SteadyConfig


class SteadyAgent(PPO2Agent):
    name, config_type = "steady", SteadyConfig


build, load = SteadyAgent.build, SteadyAgent.load
