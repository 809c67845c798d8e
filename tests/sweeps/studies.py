"""A trainer of no substance, and a study of it: two levels, what needs what."""

import msgspec

from retro_agents.sweeps.study import Study

TRAINER = """
import os, pathlib, sys
words = sys.argv[1:]
folder = pathlib.Path(words[words.index("--run-dir") + 1])
with open(folder.parent / "calls.txt", "a") as file:
    print(" ".join(words), file=file)
folder.mkdir(parents=True, exist_ok="--resume" in words)
(folder / "threads").write_text(os.environ["OMP_NUM_THREADS"])
levels = ["G:A"] if "--resume" in words else words[words.index("--levels") + 1].split(",")
rows = [f"{i},0,{level},{10.0 * i + len(level)},5,0.5,0" for level in levels for i in (1, 2)]
rows = ["step,env,level,r,l,progress,finished", *rows, ""]
(folder / "episodes.csv").write_text("\\n".join(rows))
metrics = "step,entropy,current\\n" + "".join(f"{i},{i / 10},{i if i % 5 == 0 else ''}\\n"
                                            for i in range(1, 21))
(folder / "metrics.csv").write_text(metrics)
if "--stop" in words and "--resume" not in words:
    (folder / "checkpoints" / "step-000000001").mkdir(parents=True)
    sys.exit("stopped")
if "--fail" in words:
    sys.exit("no disk")
(folder / "checkpoints" / "step-000000002").mkdir(parents=True)
"""
GAME = "BrambleDash-Genesis-v0"
STUDY = msgspec.convert(
    {
        "levels": f"{GAME}:RustCavern.Act2,{GAME}:SkyIsles.Act2",
        "seeds": 2,
        "steps": 20,
        "kinds": {
            "before": {"run": "fake_trainer", "together": True, "seeds": 1, "last": ["entropy"]},
            "group/plain": {"run": "fake_trainer", "flags": "--a 1"},
            "group/after": {"run": "fake_trainer", "flags": ["--init <before>/x", "--b <start>"]},
            "group/curved": {"run": "fake_trainer", "curve": ["current"]},
        },
        "inputs": {"start": "runs"},
        "compare": [["group/after", "group/plain"]],
    },
    Study,
)
"""One run before, from which another kind begins."""


def calls(folder):
    """The command line of each run that was begun there."""
    return (folder / "calls.txt").read_text().splitlines()


def changed(study, kind="", **fields):
    """The study with other values, or with other values of one kind."""
    if kind:
        fields = {
            "kinds": study.kinds | {kind: msgspec.structs.replace(study.kinds[kind], **fields)}
        }
    return msgspec.structs.replace(study, **fields)
