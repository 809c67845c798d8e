"""Gymnasium's autoreset modes NEXT_STEP and DISABLED, made of a SAME_STEP environment."""

from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorWrapper
from numpy.typing import NDArray

from retro_agents.contract.envs import Infos, Step

FINAL = ("final_obs", "_final_obs")
"""Infos that only SAME_STEP has."""


class Autoreset(VectorWrapper):
    """A SAME_STEP environment that can reset single rows, in the mode NEXT_STEP or DISABLED.

    An ended row's observation is its last one. NEXT_STEP: its next step ignores the action and
    gives the next episode's first observation. DISABLED: the caller resets it, alone with
    options["reset_mask"], or all rows. Infos are arrays of numbers, and lists of names. `render`
    shows an ended row's next episode at once.
    """

    def __init__(self, envs: Any, mode: AutoresetMode) -> None:
        assert envs.resets_rows, "single rows must be reset"
        super().__init__(envs)
        self.envs, self.mode, self.autoreset_mode = envs, mode, mode
        self.metadata = {**envs.metadata, "autoreset_mode": mode}
        self.over = np.zeros(envs.num_envs, bool)
        self.last = dict[int, NDArray[np.uint8]]()
        """Row -> its last observation, if it is over."""

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], Infos]:
        """Begin new episodes, see `contract.envs.VectorEnv`."""
        mask = np.asarray((options or {}).get("reset_mask", np.ones(self.num_envs, bool)))
        obs, infos = self.envs.reset(seed=seed, options=options)
        self.over = self.over & ~mask
        for row in np.flatnonzero(self.over).tolist():
            obs[row] = self.last[row]
        return obs, plain(infos)

    def step(self, actions: NDArray[np.integer]) -> Step:
        """One step. Raises ResetNeeded if a row must be reset first."""
        begin, levels = self.over, list(self.envs.levels)
        if self.mode is AutoresetMode.DISABLED and begin.any():
            rows = np.flatnonzero(begin).tolist()
            raise ResetNeeded(f"rows {rows} have ended: reset them with options['reset_mask']")
        obs, rewards, terminated, truncated, infos = self.envs.step(actions)
        if begin.any():  # these rows have played a step of an episode that begins only now
            first, _ = self.envs.reset(options={"reset_mask": begin, "levels": levels})
            obs[begin], rewards[begin] = first[begin], 0.0
            terminated[begin] = truncated[begin] = False
            if "_episode_record" in infos:
                infos["_episode_record"] &= ~begin
        self.over = terminated | truncated
        for row in np.flatnonzero(self.over).tolist():
            obs[row] = self.last[row] = infos["final_obs"][row]
        return obs, rewards, terminated, truncated, plain(infos)


def plain(infos: Infos) -> Infos:
    """Infos without final observations, and with lists for arrays of names."""

    def value_of(value: Any) -> Any:
        if isinstance(value, dict):
            return plain(value)
        return value.tolist() if value.dtype == object else value

    return {name: value_of(value) for name, value in infos.items() if name not in FINAL}
