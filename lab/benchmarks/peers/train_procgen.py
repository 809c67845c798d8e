"""train-procgen-pytorch's PPO on coinrun. Runs in its own environment.

python lab/benchmarks/peers/train_procgen.py FOLDER ENVS ROLLOUT_STEPS ROLLOUTS

FOLDER is a checkout of joonleesky/train-procgen-pytorch. Its environments, storage, net and agent
are used as they are. Its train.py would need CUDA and read sizes from a file, so what it says comes
here instead, with the values of its preset `easy`; nothing is logged. Its layer `Flatten` refuses
what PyTorch's convolutions give on a CPU today, and is replaced. Rollouts are learned from whole,
in one minibatch.
"""

import sys
from types import SimpleNamespace

import torch

EASY = {
    "epoch": 3,
    "gamma": 0.999,
    "lmbda": 0.95,
    "learning_rate": 5e-4,
    "grad_clip_norm": 0.5,
    "eps_clip": 0.2,
    "value_coef": 0.5,
    "entropy_coef": 0.01,
    "normalize_adv": True,
    "use_gae": True,
}


def main(folder: str, *sizes: str) -> None:
    """Play and learn from so many rollouts."""
    sys.path.insert(0, folder)
    from agents.ppo import PPO
    from common.env.procgen_wrappers import (
        ScaledFloatFrame,
        TransposeFrame,
        VecExtractDictObs,
        VecNormalize,
    )
    from common.model import Flatten, ImpalaModel
    from common.policy import CategoricalPolicy
    from common.storage import Storage
    from procgen import ProcgenEnv

    num_envs, steps, rollouts = map(int, sizes)
    torch.set_num_threads(1)
    Flatten.forward = lambda _, images: images.flatten(1)
    cpu = torch.device("cpu")
    games = ProcgenEnv(num_envs=num_envs, env_name="coinrun", distribution_mode="easy")
    scaled = VecNormalize(VecExtractDictObs(games, "rgb"), ob=False)
    env = ScaledFloatFrame(TransposeFrame(scaled))
    shape = env.observation_space.shape
    model = ImpalaModel(in_channels=shape[0])
    policy = CategoricalPolicy(model, False, env.action_space.n).to(cpu)
    storage = Storage(shape, model.output_dim, steps, num_envs, cpu)
    silent = SimpleNamespace(
        feed=lambda *_: None, write_summary=lambda _: None, dump=lambda: None, logdir="."
    )
    agent = PPO(
        *(env, policy, silent, storage, cpu, 1),
        n_steps=steps,
        n_envs=num_envs,
        mini_batch_per_epoch=1,
        mini_batch_size=steps * num_envs,
        **EASY,
    )
    agent.train(rollouts * steps * num_envs)


if __name__ == "__main__":
    main(*sys.argv[1:])
