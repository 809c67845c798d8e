"""An agent of no substance, whose runs take a moment: its score is 10 times its gamma, and
its seed more."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sweeps.studies import STUDY, TRAINER

CONFIG = """
from dataclasses import dataclass
from pathlib import Path
from retro_agents.contract.envs import EnvSettings
from retro_agents.games.families import TRAINING, env_settings
from retro_agents.ground.ranges import Count, Share
from retro_agents.run.fields import learning, shape
from retro_agents.run.settings import RunSettings

@dataclass(frozen=True)
class Config:
    '''An agent.'''
    run: RunSettings = RunSettings(levels="BrambleWood.Act1", timesteps=40)
    env: EnvSettings = env_settings()
    gamma: Share = learning(0.5)
    '''Discount.'''
    hidden: Count = shape(8)
    '''Units.'''
    pool: bool = False
    '''A switch.'''


"""
RUN = """
import pathlib, sys, time


def run(envs, config, run_dir, init=None, *, on_checkpoint=None):
    raise NotImplementedError


if __name__ == "__main__":
    words = sys.argv[1:]
    given = dict(w[2:].split("=") for w in words if "=" in w)
    folder = pathlib.Path(words[words.index("--run-dir") + 1])
    resumes = "--resume" in words
    with open(folder.parent.parent / "calls.txt", "a") as file:
        print(" ".join(words[2:]), file=file)
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "checkpoints" / "step-000000020"
    kept.mkdir(parents=True, exist_ok=True)
    if resumes:
        score = (kept / "score").read_text()
    else:
        score = str(10 * float(given.get("gamma", 0.5)) + int(words[words.index("--seed") + 1]))
        (kept / "score").write_text(score)
    waits = folder.parent.parent / "waits"
    while waits.exists() and not resumes:
        waits.write_text("waiting")
        time.sleep(0.05)
    rows = "".join(f"{i},0,BrambleWood.Act1,{r},5,0.5,0\\n" for i, r in ((20, 100.0), (40, score)))
    (folder / "episodes.csv").write_text("step,env,level,r,l,progress,finished\\n" + rows)
    ends = {38: "3.0,4.0", 39: "3.0,6.0", 40: "3.0,8.0"}
    rows = "".join(f"{i},{ends.get(i, ',')}\\n" for i in range(1, 41))
    (folder / "metrics.csv").write_text("step,test_return,mean_return\\n" + rows)
"""


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package `toy`, here and for processes that are started."""
    folder = tmp_path / "modules" / "toy"
    (folder / "presets").mkdir(parents=True)
    (folder / "presets" / "long.yaml").write_text("timesteps: 80\n")
    for name, text in (
        ("__init__", "'''An agent.'''"),
        ("config", CONFIG),
        ("agent", "def build(config, weights=None, *, device='cpu'):\n    return None\n"),
        ("train", RUN),
    ):
        (folder / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder.parent))
    monkeypatch.syspath_prepend(str(folder.parent))
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "toy"]:
        del sys.modules[name]


@pytest.fixture
def study(toy):
    """A study, and for processes that are started the module `fake_trainer`."""
    (toy.parent / "fake_trainer.py").write_text(TRAINER)
    return STUDY
