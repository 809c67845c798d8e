from ppo2 import training
from steady.agent import SteadyAgent
from steady.learner import SteadyLearner


class Training(training.Training):
    name, agent_type, learner_type = "steady", SteadyAgent, SteadyLearner
