"""What a net makes of an observation, for display."""

import threading
import time
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.contract.policy import ScoringPolicy

CELLS = 12
LOOK_EVERY = 0.3
"""Seconds between two maps of where a net looks."""


def thought(policy: Any, obs: NDArray[np.uint8]) -> dict[str, Any]:
    """What a net without memory makes of an observation: its scores of the actions, whether these
    are logits, and its value if it has one."""
    if not isinstance(policy, ScoringPolicy) or policy.recurrent:
        return {}
    import torch

    with torch.no_grad():
        found = policy.outputs(torch.from_numpy(obs[np.newaxis]).to(policy.device))
    scores, value = found.get("logits", found.get("values")), found.get("value")
    assert scores is not None
    known = {"scores": scores[0].tolist(), "logits": "logits" in found}
    return known | ({} if value is None else {"value": float(value.flatten()[0])})


@final
class Looks:
    """Finds in a thread where a net looks: how its scores change while a part of the image is grey,
    as web/src/nets/saliency.ts does."""

    def __init__(self, policy: Any) -> None:
        self.policy, self.newest = policy, list[float]()
        """A number from 0 to 1 for each of CELLS by CELLS parts; [] if it is not known."""
        self.sees = isinstance(policy, ScoringPolicy) and not policy.recurrent
        self._thread = threading.Thread()

    def at(self, obs: NDArray[np.uint8]) -> list[float]:
        """The newest map; the one of this observation follows later."""
        if self.sees and not self._thread.is_alive():
            self._thread = threading.Thread(target=self._find, args=(obs.copy(),), daemon=True)
            self._thread.start()
        return self.newest

    def _find(self, obs: NDArray[np.uint8]) -> None:
        import torch

        rows = np.repeat(obs[np.newaxis], CELLS**2 + 1, axis=0)
        ends = [np.arange(CELLS + 1) * side // CELLS for side in obs.shape[1:]]
        for cell, row in enumerate(rows[1:]):
            (top, bottom), (left, right) = (
                end[at : at + 2] for end, at in zip(ends, divmod(cell, CELLS), strict=True)
            )
            row[:, top:bottom, left:right] = 128
        with torch.no_grad():
            scores = self.policy.scores(torch.from_numpy(rows).to(self.policy.device))
        changes = (scores[1:] - scores[0]).abs().sum(1)
        self.newest = (changes / changes.max().clamp(min=1e-9)).round(decimals=2).tolist()
        time.sleep(LOOK_EVERY)
