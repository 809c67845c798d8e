"""The base of vector environments: spaces, and checks of actions and saved states."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.error import InvalidAction
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from retro_agents.contract.envs import EnvSpec, Step
from retro_agents.ground.errors import UserError


class VectorBase(gymnasium.vector.VectorEnv):
    """The parts of `contract.envs.VectorEnv` that Gymnasium defines."""

    workers: Sequence[int] = ()
    """Process ids of the workers, if there are any."""

    def __init__(self, num_envs: int, spec: EnvSpec) -> None:
        self.num_envs, self.env_spec = num_envs, spec
        self.autoreset_mode = AutoresetMode.SAME_STEP
        self.metadata = {"autoreset_mode": self.autoreset_mode}
        shape = spec.observation_shape
        self.single_observation_space = gymnasium.spaces.Box(0, 255, shape, np.uint8)
        self.single_action_space = gymnasium.spaces.Discrete(spec.actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.levels = [""] * num_envs

    def step(self, actions: NDArray[np.integer]) -> Step:
        """Calls `step_async`, then `step_wait`. Ctrl-C closes the environment."""
        whole: Any = self
        try:
            whole.step_async(actions)
            return whole.step_wait()
        except KeyboardInterrupt:  # half a step may be done, and answers may be on their way
            whole.close()
            raise

    def checked(self, actions: NDArray[np.integer], rows: int) -> NDArray[np.int64]:
        """Returns a copy of the actions. Raises InvalidAction if one is out of range, or if they
        are no whole numbers, or not one for each row."""
        given = np.asarray(actions)
        if given.dtype.kind not in "iu":
            raise InvalidAction(f"actions are {given.dtype}: expected whole numbers")
        played = np.array(given, np.int64)
        if played.shape != (rows,):
            raise InvalidAction(
                f"actions {list(played.shape)}: expected [{rows}], one for each row"
            )
        if ((played < 0) | (played >= self.env_spec.actions)).any():
            last = self.env_spec.actions - 1
            raise InvalidAction(f"actions {played.tolist()}: expected 0 to {last} each")
        return played

    def check_states(self, states: list[dict[str, Any]]) -> None:
        """Raises UserError if the states are of another number of environments."""
        if len(states) != self.num_envs:
            raise UserError(
                f"the saved run has {len(states)} environments, this one {self.num_envs}: "
                "resume with the same --num-envs"
            )

    def __getstate__(self) -> Any:
        raise TypeError(
            "this vector environment cannot be copied or pickled: make another, and call its "
            "restore_states with what save_states returns here"
        )

    def send_newest_frames(self) -> None:
        """See `contract.envs.VectorEnv`; these send whole observations."""

    def assert_open(self) -> None:
        """Raises RuntimeError if the environment is closed."""
        if self.closed:
            raise RuntimeError("this vector environment is closed: make another")
