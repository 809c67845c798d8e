"""Reward and end of an episode, frame by frame.

stable-retro evaluates a scenario in `data.update_ram()`, which copies the console's whole memory
twice into freshly mapped pages: a quarter of an emulated frame's time. `data.lookup_value` reads
live memory. Scenarios that have only variables are therefore evaluated here, from live values, by
stable-retro's rules. Scenarios with scripts use stable-retro, because a script may read anything;
so do the few with nested conditions, or with a reward for time.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from retro_agents.ground.errors import UserError

# stable-retro's operations on (value, reference); an absent or unknown one passes the value on.
OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "equal": lambda value, reference: int(value == reference),
    "negative-equal": lambda value, reference: int(value == -reference),
    "not-equal": lambda value, reference: int(value != reference),
    "less-than": lambda value, reference: int(value < reference),
    "greater-than": lambda value, reference: int(value > reference),
    "less-or-equal": lambda value, reference: int(value <= reference),
    "greater-or-equal": lambda value, reference: int(value >= reference),
    "nonzero": lambda value, reference: int(value != 0),
    "zero": lambda value, reference: int(value == 0),
    "negative": lambda value, reference: int(value < 0),
    "positive": lambda value, reference: int(value > 0),
    "sign": lambda value, reference: (value > 0) - (value < 0),
}


def make_scenario(spec: dict[str, Any], data: Any) -> "Scenario":
    """The fastest exact evaluation of `spec`, the parsed scenario file that `data` has loaded.

    Raises UserError if it is built otherwise, or names a variable that the game lacks."""
    try:
        keys = {*spec, *spec.get("reward", {}), *spec.get("done", {})}
        if keys & {"scripts", "script", "rewards", "nodes", "time"}:
            return ScriptedScenario(data)
        scenario = VariableScenario(spec, data.lookup_value)
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(
            f"the scenario is not built as stable-retro's are ({error}): compare it with another"
        ) from None
    if unknown := [name for name in scenario.names if name not in data.list_variables()]:
        raise UserError(f"the scenario names {unknown[0]!r}, which data.json lacks: add it there")
    return scenario


class ScriptedScenario:
    """stable-retro's own evaluation, once per frame."""

    def __init__(self, data: Any) -> None:
        self.data = data

    def reset(self) -> None:
        """Restart the scripts at the first frame."""
        self.data.reset()
        self.data.update_ram()

    def update(self) -> tuple[float, bool]:
        """(reward of this frame, end)."""
        self.data.update_ram()
        return self.data.current_reward(), self.data.is_done()


class Term:
    """One variable's part of a scenario: a measurement, and the reference to compare it with."""

    def __init__(self, name: str, spec: dict[str, Any], *, measurement: str) -> None:
        self.name = name
        self.is_delta = spec.get("measurement", measurement) == "delta"
        self.operation = OPERATIONS.get(spec.get("op", ""), lambda value, _: value)
        self.reference = int(spec.get("reference", 0))
        # Single precision, as in the emulator's library, so that sums agree to the last bit.
        self.reward = np.float32(spec.get("reward", 0))
        self.penalty = np.float32(spec.get("penalty", 0))

    def measure(self, now: dict[str, int], before: dict[str, int]) -> int:
        """The operation's value for this frame."""
        value = now[self.name] - before[self.name] if self.is_delta else now[self.name]
        return self.operation(value, self.reference)

    def score(self, measured: int) -> np.float32:
        """measured × reward above zero, measured × penalty below."""
        return np.float32(measured) * (self.reward if measured > 0 else self.penalty)


class VariableScenario:
    """Rewards and ends that depend only on named variables, read from live memory."""

    def __init__(self, spec: dict[str, Any], lookup: Callable[[str], int]) -> None:
        reward, done = (spec.get(part, {}).get("variables", {}) for part in ("reward", "done"))
        self.rewards = [Term(name, s, measurement="delta") for name, s in reward.items()]
        self.ends = [Term(name, s, measurement="absolute") for name, s in done.items()]
        self.join = all if spec.get("done", {}).get("condition") == "all" else any
        self.lookup = lookup
        self.names = sorted({*reward, *done})
        self.before: dict[str, int] = {}

    def reset(self) -> None:
        """Start to measure differences at the first frame."""
        self.before = {name: self.lookup(name) for name in self.names}

    def update(self) -> tuple[float, bool]:
        """(reward of this frame, end)."""
        lookup, before = self.lookup, self.before
        now = {name: lookup(name) for name in self.names}
        self.before = now
        done = self.join([term.measure(now, before) > 0 for term in self.ends])
        reward = np.float32(0.0)
        for term in self.rewards:
            measured = term.measure(now, before)
            if measured:
                reward = reward + term.score(measured)
        return float(reward), done


Scenario = ScriptedScenario | VariableScenario
"""An emulator calls `reset` at the start state's first frame, and `update` after each frame."""
