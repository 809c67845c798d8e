"""What is timed alike in every agent: env steps after a warm-up, until the time is over.

Runs in the environments of the peers too, so it imports the standard library only.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

WORKERS = 8
LEVEL = "BrambleDash-Genesis-v0:BrambleWood.Act1"
BATCH_SIZE, STEPS_PER_UPDATE = 32, 4
REPLAY_SIZE, LEARNING_STARTS = 50_000, 2_000
WARM_UP_STEPS = LEARNING_STARTS + 400
"""Agent steps before the clock starts: the replay's first, then 100 updates."""


@dataclass
class Stopwatch:
    """Counts agent steps; the clock runs from `warm_up` steps on, for `seconds`."""

    seconds: float
    warm_up: int = WARM_UP_STEPS
    steps: int = 0
    began: int | None = None
    start: tuple[float, float] = (0.0, 0.0)
    end: tuple[float, float] = (0.0, 0.0)
    cpu: Callable[[], float] = time.process_time
    """CPU seconds used so far."""

    def tick(self, steps: int = WORKERS) -> bool:
        """Count steps; True once the time is over."""
        self.steps += steps
        now = time.perf_counter(), self.cpu()
        if self.began is None:
            if self.steps >= self.warm_up:
                self.began, self.start = self.steps, now
            return False
        self.end = now
        return now[0] - self.start[0] >= self.seconds

    def result(self) -> dict[str, float]:
        """Agent steps per second, and CPU time per step (of this process and its threads, unless
        `cpu` is another's)."""
        assert self.began is not None, f"stopped after {self.steps} of {self.warm_up} steps"
        steps = self.steps - self.began
        wall, cpu = (after - before for before, after in zip(self.start, self.end, strict=True))
        return {"steps_per_second": steps / wall, "cpu_ms_per_step": 1000.0 * cpu / steps}


def cpu_of_family() -> float:
    """CPU time that this process and its descendants have used, of those that live (Linux)."""
    times, children = dict[int, int](), dict[int, list[int]]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            pid = int(path.parent.name)
            times[pid] = int(words[11]) + int(words[12])
            children.setdefault(int(words[1]), []).append(pid)
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return sum(times.get(pid, 0) for pid in found) / os.sysconf("SC_CLK_TCK")


def arguments(description: str | None) -> argparse.Namespace:
    """The options that every peer takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, required=True, help="measured after the warm-up")
    parser.add_argument("--threads", type=int, required=True, help="CPU threads of torch")
    parser.add_argument("--backend", required=True, choices=("emulator", "native"))
    parser.add_argument("--quantiles", type=int, default=200, help="of QR-DQN's head")
    parser.add_argument("--small", action="store_true", help="QR-DQN with laptop's net")
    parser.add_argument("--usual", action="store_true", help="PPO in stable-retro's usual wrappers")
    return parser.parse_args()


def report(row: dict[str, float]) -> None:
    """The one line that the benchmark reads."""
    print(json.dumps(row), flush=True)
