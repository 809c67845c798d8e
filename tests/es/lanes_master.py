"""A run of ES on lanes under mpirun: lanes_master.py RUN_DIR CONFIG.json [PAUSE]."""

import json
import os
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from es.config import ESConfig
from es.master import together
from es.train import run
from retro_agents.run.config import from_dict
from tests.es.lanes import Lanes


def work(world):
    run_dir = Path(sys.argv[1])
    config = from_dict(ESConfig, json.loads(Path(sys.argv[2]).read_text()))
    pause = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
    (run_dir.parent / f"pid-{world.rank}").write_text(str(os.getpid()))
    run(Lanes(config.run.num_envs, pause=pause), config, run_dir, world=world)


if __name__ == "__main__":
    together(work)
