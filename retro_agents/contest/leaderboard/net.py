"""Lets an exported net play a served level: `python -m retro_agents.contest.leaderboard.net FILE`.

ONNX Runtime computes it. How it looks and acts is in the file's metadata (`retro-agents export`).
"""

import contextlib
import json
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contest.wire.protocol import LIMITS
from retro_agents.contest.wire.remote_vec import RemoteVectorEnv
from retro_agents.contract.policy import Play, parse_play
from retro_agents.games.retro.config import ACTIONS, EnvConfig
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.judging.policies import contest_settings
from retro_agents.judging.score import steps_of


@final
class Net:
    """A policy in an ONNX file. Raises UserError if the file is none, or plays other games."""

    def __init__(self, path: Path, *, seed: int) -> None:
        import onnxruntime  # slow to import

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        providers = onnxruntime.get_available_providers()
        try:
            self.session: Any = onnxruntime.InferenceSession(path, options, providers=providers)
        except Exception as error:  # of a module of its own, without a common class
            raise UserError(f"{path} is no ONNX file: {str(error)[:200]!r}") from None
        self.config = config_of(self.session.get_modelmeta().custom_metadata_map, path)
        self.play: Play = self.session.get_modelmeta().custom_metadata_map["play"]
        self.random = np.random.default_rng(seed)
        self.state: NDArray[np.float32] | None = None

    def act(
        self,
        obs: NDArray[np.uint8],
        *,
        play: Play | None = None,
        starts: NDArray[np.bool_] | None = None,
    ) -> NDArray[np.int64]:
        """As `contract.policy.Policy.act`."""
        given: dict[str, Any] = {"images": obs}
        for one in self.session.get_inputs():
            if one.name == "state":
                if self.state is None:
                    self.state = np.zeros((len(obs), *one.shape[1:]), np.float32)
                if starts is not None:
                    self.state[starts] = 0
                given["state"] = self.state
        names = [one.name for one in self.session.get_outputs()]
        found = dict(zip(names, self.session.run(None, given), strict=True))
        self.state = found.get("new_state")
        scores = found["logits"] if "logits" in found else found["values"]
        how = play or self.play
        if how == "draw" and "logits" not in found:  # with a noise that the file lacks
            how = "best"
        return self.chosen(scores.astype(np.float64), *parse_play(how))

    def chosen(self, scores: NDArray[np.float64], kind: str, amount: float) -> NDArray[np.int64]:
        """The actions by their scores [N,A], see `parse_play`."""
        if kind == "draw":
            noise = self.random.gumbel(size=scores.shape)
            return (scores / amount + noise).argmax(axis=1)
        drawn = self.random.integers(scores.shape[1], size=len(scores))
        return np.where(self.random.random(len(scores)) < amount, drawn, scores.argmax(axis=1))


def config_of(said: dict[str, str], path: Path) -> EnvConfig:
    """The observations that a net takes. Raises UserError if the contest has none such, or another
    frame skip."""
    try:
        names, (_, height, width) = json.loads(said["actions"]), json.loads(said["image"])
        ages, channels = json.loads(said["frames_back"]), int(said["channels"])
        if said["family"] != "retro" or ages != list(range(len(ages)))[::-1]:
            raise ValueError
        actions: Any = next(count for count, held in ACTIONS.items() if list(held) == names)
        parse_play(said["play"])
        frame_skip = int(said["frame_skip"])
    except (KeyError, ValueError, TypeError, StopIteration):
        raise UserError(
            f"{path} lacks the metadata of a net for these games: write it with "
            "`retro-agents export`"
        ) from None
    return contest_settings(
        EnvConfig(
            actions=actions,
            frame_skip=frame_skip,
            image_height=height,
            image_width=width,
            frame_stack=len(ages),
            colour="grey" if channels == 1 else "rgb",
        )
    )


@command
def main() -> None:
    """Play the level of the server in --dir until its limits are reached."""
    parser = Parser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--dir", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args()
    net = Net(words.file, seed=words.seed)
    with (
        contextlib.suppress(*LIMITS),
        contextlib.closing(RemoteVectorEnv(words.dir, config=net.config)) as envs,
    ):
        for _ in steps_of(net, envs):
            pass


if __name__ == "__main__":
    main()
