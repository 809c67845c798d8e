"""python -m cartridge.sanitize PROGRAM: all acts, for many frames, in a build with sanitizers.

`make -C cartridge sanitized` builds the program and runs this. It plays proofs, parts of them with
random play behind, and random play; what it counted goes to sanitized.json beside this."""

import gzip
import json
import subprocess
import tempfile
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

import numpy as np

from cartridge.build_states import FOLDER
from cartridge.levels.oracle import read_proof
from cartridge.levels.pack import FILE
from cartridge.levels.splits import level_names
from experiment.errors import UserError, command
from experiment.results import write_result
from retro_env.config import SEVEN
from retro_env.engine import PADS

RUN = 1_000_000
"""Frames of one process; each has its own chances."""
RESULT = Path(__file__).parent / "sanitized.json"


def moves() -> bytes:
    """For each act in order, how many frames its proof has and the pad of each."""
    pads = [sum(PADS[name] for name in held.split()) for held in SEVEN]
    ways = [bytes(pads[a] for a in read_proof(name) for _ in range(4)) for name in level_names()]
    return b"".join(np.uint32(len(way)).tobytes() + way for way in ways)


@command
def main() -> None:
    """Run it and store the counts. UserError: a sanitizer found something."""
    parser = ArgumentParser(prog="python -m cartridge.sanitize", description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--frames", type=int, default=10_000_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = {"pack": gzip.decompress((FOLDER / FILE).read_bytes()), "moves": moves()}
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        arguments = [str(Path(folder) / name) for name in files]
        program = str(options.program.absolute())
        counts: Counter[str] = Counter(findings=0)
        while counts["frames"] < options.frames:
            counts["runs"] += 1
            frames = min(RUN, options.frames - counts["frames"])
            done = subprocess.run(
                [program, *arguments, str(frames), str(counts["runs"])],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise UserError(f"a sanitizer found something, mend it: {done.stderr[:2000]}")
            counts.update(json.loads(done.stdout))
            print(json.dumps(counts), flush=True)
            write_result(RESULT, dict(counts), module="cartridge.sanitize")


if __name__ == "__main__":
    main()
