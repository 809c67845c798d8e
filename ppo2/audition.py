"""Which of several trained nets suits a level best: each plays the first episodes, one goes on."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ppo2.learner import sample_actions
from ppo2.training import Training
from retro_env import RetroVectorEnv


def best_of(
    candidates: Sequence[str], training: Training, envs: RetroVectorEnv, obs: NDArray[np.uint8]
) -> NDArray[np.uint8]:
    """Leave `training` with the checkpoint of the highest mean return -> the observations then.

    Each plays `init_episodes` episodes in turn, drawing actions from its policy; these steps and
    episodes count like all others. With many environments the episodes under way at a change are
    counted for the net that ends them. Where the run's steps end before all have played, the best
    so far goes on. One candidate, or none: nothing to do.
    """
    if len(candidates) < 2:
        return obs
    means, everyone, config = [], slice(0, training.num_envs), training.config
    for candidate in candidates:
        training.start_from(candidate)
        training.state.zero_()
        returns: list[float] = []
        while len(returns) < config.init_episodes and training.env_steps < config.timesteps:
            before = len(training.ended)
            obs, rewards, terminated, truncated, infos = envs.step(draw(training, obs))
            training.count(rewards, terminated, truncated, infos, everyone)
            ended = training.group.gather([e["r"] for _, _, e in training.ended[before:]])
            returns += [value for values in ended for value in values]
        means.append(float(np.mean(returns)) if returns else -np.inf)
    training.start_from(candidates[int(np.argmax(means))])
    training.state.zero_()
    training.begin()
    return obs


def draw(training: Training, obs: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Actions [N] from the policy, remembered nowhere."""
    log_probs, _, training.state = training.agent.evaluate(
        torch.from_numpy(obs).to(training.device),
        state=training.state,
        starts=torch.from_numpy(training.starts).to(training.device),
        noise=training.noise,
    )
    uniforms = torch.tensor([rng.random() for rng in training.rngs], device=training.device)
    return sample_actions(log_probs, uniforms).cpu().numpy()
