"""Mistakes with the commands: one line, exit code 2, nothing written."""

import sys

import pytest

from retro_agents.command import main
from retro_agents.games.retro.references import REFERENCES
from tests.runs import ROOT

BOARD = f"--board {ROOT / 'leaderboard'}"
TRAIN = "jerk --preset baseline --levels BrambleWood.Act1 --timesteps 9 --run-dir new"
MISTAKES = {
    "": [
        ("evalute ppo2", "unknown command 'retro-agents evalute'; did you mean 'evaluate'?"),
        ("contest rnu", "unknown command 'retro-agents contest rnu'; did you mean 'run'?"),
        ("train pp2", "unknown agent 'pp2'; did you mean 'ppo2'?"),
        ("train fox", "unknown agent 'fox'; pip install -e fox makes it known"),
        ("help trian", "did you mean 'train'"),
        ("procgen nothing", "expected one of: evaluate, table, play"),
    ],
    "new-agent": [
        ("", "required: NAME"),
        ("fox owl", "'owl' belongs to no flag; see --help"),
        ("3fox", "lower-case letters"),
        ("Fox", "lower-case letters"),
        ("red-fox", "lower-case letters"),
        ("fox_", "lower-case letters"),
        ("x" * 300, "lower-case letters"),
        ("é", "lower-case letters"),
        ("__init__", "lower-case letters"),
        ("fox/../owl", "lower-case letters"),
        ("import", "lower-case letters"),
        ("torch", "Python package 'torch' already"),
        ("jerk", "Python package 'jerk' already"),
        ("pillow", "Python package 'pillow' already"),  # a distribution, whose module is PIL
        ("folder", "folder is there already"),
        ("--name fox", "unknown flag --name"),
    ],
    "choose-play": [
        ("", "required: AGENT"),
        ("none-such", "no such folder"),
        ("random", "no checkpoint at random"),
        ("folder", "no checkpoint"),
        ("ppo2 --ways greedy", "draw:T with a temperature T"),
        ("ppo2 --ways draw,,best", "draw:T with a temperature T"),
        ("ppo2 --ways draw:0", "draw:T with a temperature T"),
        ("ppo2 --levels none-such", "none-such"),
        ("ppo2 --levels procgen:coinrun", "procgen:coinrun is not of the games"),
        ("ppo2 --episodes 0", "--episodes 0"),
        ("ppo2 --out folder/x --device cuda:9", "cuda:9"),
        ("ppo2 --out full", "full exists"),
        ("ppo2 --way best", "did you mean '--ways'"),
    ],
    "compare": [
        ("", "required: ENTRY"),
        ("random", "two entries"),
        ("random random", "two entries"),
        ("random jerk-hybri", "did you mean 'jerk-hybrid'"),
        ("random file", "there is no contest, run or evaluation file"),
        ("random ppo2", "it is an agent: compare what `retro-agents evaluate ppo2` stores"),
        ("random bad.json", "not a contest's result"),
        ("random judged", "holds no returns of levels"),
        ("random empty", "holds no returns of levels"),
        ("random,jerk-hybrid folder", "join only run folders"),
        ("random run", "run/config.json is neither valid"),
        ("random jerk-hybrid --plot x.txt", ".png"),
        ("random jerk-hybrid --plot file/x.png", "give a folder"),
        ("random jerk-hybrid --out folder", "cannot write folder"),
        ("random jerk-hybrid --pot x", "did you mean '--plot'"),
    ],
    "sweep": [
        ("--search gamma", "FIELD=LOW:HIGH"),
        ("--search gamma=0.9:0.1", "FIELD=LOW:HIGH"),
        ("--search gamma=nan:1", "FIELD=LOW:HIGH"),
        ("--search gamma=0.9,0.9", "FIELD=LOW:HIGH"),
        ("--search hidden=1:inf", "FIELD=LOW:HIGH"),
        ("--search hidden=0:9", "hidden"),
        ("--search hidden=0.4:40", "hidden"),
        ("--search gamma=0.1:0.2 gamma=0.3:0.4", "each field once"),
        ("--search gamma=0.1:0.9 --grid hidden=1,2", "give one of --grid"),
        ("--search gama=0.1:0.9", "did you mean 'gamma'"),
        ("--search gamma=0.1:9", "from 0 to 1"),
        ("--search seed=1,2", "the sweep itself sets that"),
        ("--search gamma=0.1:0.9 --flags=--gamma=0.5", "the sweep itself sets that"),
        ("--search dueling=true,false --agent rainbow --flags=--no-dueling", "itself sets that"),
        ("--search gamma=0.1:0.9 --cell 1", "--cell is for a --grid"),
        ("--search gamma=0.1:0.9 --trials 0", "--trials 0"),
        ("--search gamma=0.1:0.9 --engine slurm", "runs on this machine"),
        ("--search gamma=0.1:0.9 --agent ppo3", "did you mean 'ppo2'"),
        ("--search gamma=0.1:0.9 --seeds 2", "no effect without --grid"),
        ("--trials 5", "no effect without --search"),
        ("--plan course-beta", "no plan 'course-beta'; give a FILE.yaml"),
        ("ppo2", "an agent is named by --agent ppo2"),
    ],
    "leaderboard": [
        ("scor", "did you mean 'score'"),
        ("score", "required: ENTRY"),
        ("score file", "leaderboard has no season"),
        (f"score folder {BOARD}", "folder/entry.json"),
        (f"score folder {BOARD} --workers 0", "--workers 0"),
        (f"check file {BOARD}", "file/entry.json"),
        ("check --board folder", "folder has no season"),
        ("check --bord folder", "did you mean '--board'"),
        (f"page {BOARD} --out folder", "cannot write folder"),
        ("page x", "'x' belongs to no flag"),
        ("page --board file", "file has no season"),
        ("open --acts 15", "14 or fewer"),
        ("open --acts 0", "--acts 0"),
    ],
    "studio": [
        ("none-such", "none-such cannot be listed"),
        ("file", "file cannot be listed"),
        ("a b", "'b' belongs to no flag"),
        ("--port 70000", "from 0 to 65535"),
        ("--port -1", "from 0 to 65535"),
        ("--port x", "from 0 to 65535"),
        ("--port", "--port needs a value"),
        ("--prt 3", "did you mean '--port'"),
        ("--host 0.0.0.0", "unknown flag --host"),
        ("--browser yes", "yes cannot be listed"),
    ],
    "train": [
        (f"{TRAIN} --track wandb2", "bad --track 'wandb2'; expected wandb, trackio, mlflow"),
        (f"{TRAIN} --track json", "PACKAGE.MODULE:FUNCTION"),
        (f"{TRAIN} --track :begin", "PACKAGE.MODULE:FUNCTION"),
        (f"{TRAIN} --track none_such:begin", "No module named 'none_such'"),
        (f"{TRAIN} --track json:begin", "no attribute 'begin'"),
        (f"{TRAIN} --track json:loads", "json:loads does not begin"),
        (f"{TRAIN} --track", "--track needs a value"),
        (f"{TRAIN} --track-with project=x", "no effect without --track"),
        (f"{TRAIN} --track json:loads --track-with project", "KEY=VALUE"),
        (f"{TRAIN} --track json:loads --track-with projct=x", "KEY=VALUE"),
        (f"{TRAIN} --track json:loads --track-with tags=", "KEY=VALUE"),
        ("jerq", "did you mean 'jerk'"),
    ],
    "evaluate": [
        ("nowhere", "checkpoint"),
        ("a b", "'b' belongs to no flag; see --help"),
        ("several", "it holds runs, which `retro-agents list runs --of several` lists"),
        ("mine:play", "only `retro-agents contest run` plays a function"),
        ("runs/a-13:30", "there is no such folder"),
        ("random --episodes 0", "--episodes 0: expected a whole number"),
        ("random --out file/below", "give a writable place"),
        *((f"{name} --play best", "leave out --play") for name in REFERENCES),
        ("ppo2 --device gpu", "unknown device"),
        ("random --levels procgen:coinrun", "retro-agents procgen evaluate RUN"),
        ("random --levels SonicTheHedgehog-Genesis:GreenHillZone.Act1", "ROM"),
        ("random --sight --video", "makes no films"),
        ("random --sight", "random has no net"),
        ("rainbow --sight --episodes 1", "give --episodes 2 or more"),
        ("rainbow --sight --levels RustCavern.Act2 --episodes 17", "17 episodes make one row here"),
        ("ppo2 --explore", "--play draw"),
    ],
    "watch": [
        ("ppo2", "not set; `retro-agents evaluate ppo2 --video` films episodes instead"),
        ("ppo2 --explore", "--play draw"),
        ("random --play best", "random has no other way to play"),
        ("run-and-jump --levels none", "unknown levels 'none'"),  # before a window would open
        ("none --levels bramble-test", "no checkpoint at none"),
    ],
    "play": [
        ("BrambleWood.Act1", "no display: "),
        ("LEVEL --scale x", "--scale: invalid int value: 'x'; see --help"),
        ("LEVEL --scale 0", "--scale must be 1 or more, not 0"),
        ("LEVEL --scale=-1", "--scale must be 1 or more, not -1"),
        ("LEVEL --backend wasm", "--backend: invalid choice: 'wasm'"),
    ],
    "film": [
        ("", "required: RECORDING.bk2"),
        ("bad.json --scale 0", "--scale must be 1 or more, not 0"),
        ("bad.json --out file", "cannot write file/"),
        ("none.bk2", "none.bk2 does not exist"),
    ],
    "plot": [
        ("", "required: RUN"),
        ("curve --out c.xyz", "a name that ends in .png"),
        ("curve --out folder", "a name that ends in .png"),
        ("curve --window 0", "--window 0"),
        ("curve --window=-3", "--window -3"),
        ("curve --column level", "'level' is text"),
        ("curve again --label a", "2 runs but 1 labels"),
    ],
    "procgen play": [("procgen:coinrun,maze", "coinrun,maze is more than one game: give one")],
    "procgen evaluate": [
        ("runs/a --episodes 67", "--episodes 67 cannot be divided evenly"),
        ("runs/a --sight --policy random", "leave out --sight"),
        ("runs/a --sight --episodes 1", "--sight shows the frames of other episodes"),
        ("runs/a --play best --policy random", "leave out --play"),
        ("ppo2 --explore", "--play draw"),
    ],
    "demonstrate": [
        ("bad.json --out new", "bad.json is not a .bk2 recording"),
        ("none.bk2 --out new", "none.bk2 is no file"),
        ("", "required: "),
    ],
    "record": [
        ("expert --out new --levels bramble-test", "BrambleWood.Act3 is held out"),
        ("expert --out new --play best", "an expert has no other way to play"),
        ("no-such-run --out new", "no checkpoint at no-such-run"),
        ("expert --out .", "exists: give another --out"),
        ("expert --out /proc/x/y", "cannot write /proc/x/y"),
        ("ppo2 --explore", "--play draw"),
    ],
    "contest report": [
        ("", "required: DIR"),
        ("folder --out new", "give a folder that `retro-agents contest run` wrote"),
    ],
    "contest serve": [
        ("BrambleDash-Genesis-v0 Nowhere.Act1 --dir new", "no state"),
        ("BrambleDash-Genesis-v0 RustCavern.Act2 --dir new --timesteps 0", "timesteps"),
        ("BrambleDash-Genesis-v0 RustCavern.Act2 --dir new --wall-clock late", "length of time"),
    ],
    "train rainbow": [("--levels bramble-test --v-max 1e39", "--v-max 1e+39: expected a finite")],
    "train impala": [
        ("--levels bramble-test --rho-bar 1e39", "--rho-bar 1e+39: expected a finite")
    ],
    "contest run": [
        ("--agent rainbo", "did you mean 'rainbow'"),
        ("--agent json", "no agent 'json'"),
        ("--agent mine.py", "(or mine:function, for one of your own)"),
        ("--agent nowhere.at.all:play", "no source file"),
        ("--agent time:sleep", "no source file of module 'time'"),
        ("--agent tests.contest.example_agent:pray", "no function 'pray'"),
        ("--agent random --checkpoint x", "takes no --checkpoint"),
        ("--agent random --mode frozen --play best", "takes no --play"),
        ("--agent random --mode frozen", "takes no --mode frozen"),
        ("--agent random -- --hidden 3", "takes no settings"),
        ("--agent rainbow --mode frozen", "frozen needs --checkpoint DIR"),
        ("--agent rainbow --checkpoint /nowhere", "no checkpoint"),
        ("--agent rainbow -- --num-envs 3", "set by the contest"),
        ("--agent rainbow -- --num_envs=3", "set by the contest"),
        ("--agent rainbow -- --frame-skip 8", "set by the contest"),
        ("--agent rainbow -- --sight-every 5000", "set by the contest"),
        ("--agent impala -- --preset fast --actors 1", "set by the contest"),
        ("--agent rainbow -- --actors=1", "--actors after -- is set by the contest"),
        ("--agent jerk -- --record", "--record after -- is set by the contest"),
        ("--agent rainbow -- --ray-address auto", "set by the contest"),
        ("--agent rainbow -- --backend emulator", "set by the contest"),
        ("--agent rainbow -- --hiden 3", "did you mean '--hidden'"),
        ("--agent random --levels BrambleDash-Genesis-v0:No.Act1", "no state"),
        ("--agent random --levels procgen:coinrun", "retro-agents procgen evaluate RUN"),
        ("--agent random --workers 0", "--workers 0: expected a whole number"),
        ("--agent random --wall-clock soon", "length of time"),
    ],
    "list": [
        ("", "required: {levels,splits,agents,presets,runs}"),
        ("level", "expected one of levels"),
        ("presets agents", "'agents' belongs to no flag; see --help"),
        ("runs --of none-such", "no runs in none-such"),
        ("runs --of folder", "no runs in folder"),
        ("presets --of ppo3", "did you mean 'ppo2'"),
        ("levels --of bramble-tst", "nearest: bramble-test"),
        ("levels --of none-such.csv", "cannot read levels"),
        ("agents --of jerk", "leave it out with agents"),
        ("splits --of bramble-test", "leave it out with splits"),
        ("levels --off x", "did you mean '--of'"),
    ],
}

FILES = {
    "file": "",
    "bad.json": "{}",
    "judged/result.json": "{}",
    "empty/result.json": '{"seed": 0, "returns": {"Game:Act": []}}',
    "run/episodes.csv": "step,level,r\n",
    "run/config.json": "{",
    "curve/episodes.csv": "step,level,r\n100,G:S,1\n",
    "several/one/checkpoints/none": "",
    "fox/pyproject.toml": "",
}


@pytest.mark.parametrize(
    ("command", "words", "says"),
    [(command, *mistake) for command, mistakes in MISTAKES.items() for mistake in mistakes],
)
def test_a_mistake_is_one_line(command, words, says, tmp_path, monkeypatch, refused):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [])  # which main replaces
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(name, raising=False)
    for path, text in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "folder").mkdir()
    (tmp_path / "full" / "of").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    assert says in refused(main, [*command.split(), *words.split()])
    assert sorted(tmp_path.rglob("*")) == before
