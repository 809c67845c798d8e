"""python -m cartridge.sanitize PROGRAM: plays all acts for many frames in a build with sanitizers.

`make -C cartridge sanitized` builds the program and runs this. It plays native episodes of
ppo2/pretrained, parts of proofs followed by random play, and random play. Its counts are stored in
sanitized.json beside this file."""

import gzip
import json
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cartridge.build_states import FOLDER
from cartridge.levels.oracle import read_proof
from cartridge.levels.pack import FILE
from cartridge.levels.splits import level_names
from retro_agents.contract.envs import row_seeds
from retro_agents.games.retro.bramble import GAME
from retro_agents.games.retro.config import SEVEN
from retro_agents.games.retro.engine import pads_of
from retro_agents.games.retro.levels import Level
from retro_agents.games.retro.native import NativeVectorEnv
from retro_agents.ground.errors import Parser, UserError, command
from retro_agents.ground.results import write_result
from retro_agents.judging.policies import load_policy

PLAYER = "ppo2"
PADS = [*map(pads_of, SEVEN)]
"""The pad of each of the contest's actions."""
STEPS = 1_500
"""Agent steps of learned play per act that are recorded for a run."""
PROOFS, RANDOM = 3, 6
"""Episodes of the other kinds per act in a run."""
KINDS = {"random": 0, "proof": 1, "learned": 2}
RESULT = Path(__file__).parent / "sanitized.json"


def proof(level: str, random: np.random.Generator) -> bytes:
    """The pad in each frame of an act's proof, up to a random place or its end."""
    way = bytes(PADS[a] for a in read_proof(level) for _ in range(4))
    return way[: random.integers(len(way) * 4 // 3)]


def learned(seed: int) -> Iterator[tuple[int, bytes]]:
    """For each episode that the agent finishes, with drawn actions under the contest's rules: the
    act's number, and the pad in each frame."""
    agent, config = load_policy(PLAYER, seed=seed)
    rows = [[Level(GAME, name)] for name in level_names()]
    envs = NativeVectorEnv(
        rows,
        config=config,
        seed=row_seeds(seed, len(rows)),
        rotate_every=0,
        record_dir=None,
        threads=1,
    )
    game = envs.parts[0].games.game
    ways = [bytearray() for _ in rows]
    obs, _ = envs.reset()
    for _ in range(STEPS):
        actions = agent.act(obs, play="draw")
        obs, _, terminated, truncated, _ = envs.step(actions)
        for act, way in enumerate(ways):
            pad = PADS[actions[act]]
            first = way[-1] if game["stuck"][act] else pad
            way += bytes([first, *[pad] * (int(game["frames"][act]) - 1)])
            if terminated[act]:
                yield act, bytes(way)
            if terminated[act] or truncated[act]:
                way.clear()
    envs.close()


def episodes(run: int) -> bytes:
    """All episodes of a run, in random order, in the program's format."""
    random = np.random.default_rng(run)
    ways = [("learned", act, way) for act, way in learned(run)]
    for act, level in enumerate(level_names()):
        ways += [("proof", act, proof(level, random)) for _ in range(PROOFS)]
        ways += [("random", act, b"")] * RANDOM
    packed = [
        np.array([act, KINDS[kind], len(way)], "<u4").tobytes() + way for kind, act, way in ways
    ]
    return b"".join(packed[i] for i in random.permutation(len(packed)))


def play(program: Path, frames: int) -> Iterator[Counter[str]]:
    """Run the program until it has played `frames` frames. Yields its counts after each run. Raises
    UserError if it is missing, finds a fault, or ends a recorded episode at another frame."""
    if not program.is_file():
        raise UserError(f"{program} is not a file: run `make -C cartridge sanitized`")
    with tempfile.TemporaryDirectory() as folder:
        pack, played = Path(folder) / "pack", Path(folder) / "episodes"
        pack.write_bytes(gzip.decompress((FOLDER / FILE).read_bytes()))
        counts: Counter[str] = Counter(findings=0)
        while counts["frames"] < max(frames, 1):
            counts["runs"] += 1
            played.write_bytes(episodes(counts["runs"]))
            done = subprocess.run(
                [program.absolute(), pack, played, str(counts["runs"])],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                raise UserError(f"a sanitizer found a fault: {done.stderr[:2000]}")
            counts.update(json.loads(done.stdout))
            yield counts


@command
def main() -> None:
    """Run the program and store the counts."""
    parser = Parser(prog="python -m cartridge.sanitize", description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--frames", type=int, default=10_000_000, help="play until so many")
    options = parser.parse_args()
    for counts in play(options.program, options.frames):
        print(json.dumps(counts), flush=True)
    write_result(RESULT, dict(counts), module="cartridge.sanitize")


if __name__ == "__main__":
    main()
