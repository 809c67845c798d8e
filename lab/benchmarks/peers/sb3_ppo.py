"""Stable-Baselines3's PPO on this project's level, with PPO2's net and settings.

`--usual`: with the environment that stable-retro's users build by hand (lab.benchmarks.env's),
instead of this project's in Stable-Baselines3's workers.
"""

import functools
from typing import Any

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import SubprocVecEnv, VecFrameStack, VecTransposeImage

from lab.benchmarks.env import usual_env
from lab.benchmarks.peers.stopwatch import LEVEL, WORKERS, arguments, report
from lab.benchmarks.ppo2 import EPOCHS, MINIBATCHES, ROLLOUT_STEPS, Cycles
from retro_agents.games.retro.config import EnvConfig
from retro_agents.games.retro.make import make_env


class StopInTime(BaseCallback):
    """Marks where a rollout begins, and ends learning when the time is over."""

    def __init__(self, cycles: Cycles) -> None:
        super().__init__()
        self.cycles, self.over = cycles, False

    def _on_rollout_start(self) -> None:
        self.over = self.cycles.mark()

    def _on_step(self) -> bool:
        return not self.over


def main() -> None:
    """Learn until the time is over; print one line."""
    options = arguments(__doc__)
    torch.set_num_threads(options.threads)
    ours = functools.partial(make_env, LEVEL, EnvConfig(backend=options.backend))
    make: Any = usual_env if options.usual else ours
    workers = SubprocVecEnv([make] * WORKERS)
    envs: Any = workers
    if options.usual:
        envs = VecTransposeImage(VecFrameStack(workers, n_stack=4))
    cycles = Cycles(options.seconds, [process.pid for process in workers.processes])
    model = PPO(
        "CnnPolicy",
        envs,
        n_steps=ROLLOUT_STEPS,
        batch_size=ROLLOUT_STEPS * WORKERS // MINIBATCHES,
        n_epochs=EPOCHS,
        learning_rate=2e-4,
        clip_range=0.1,
        clip_range_vf=0.1,
        ent_coef=0.01,
        device="cpu",
        seed=0,
    )
    model.learn(10**9, callback=StopInTime(cycles))
    report(cycles.result())
    envs.close()


if __name__ == "__main__":
    main()
