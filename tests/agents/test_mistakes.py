"""A user's mistakes: one line, exit code 2, nothing written."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from retro_agents.run.agents import find
from retro_agents.run.checkpoint import latest_checkpoint
from retro_agents.run.fields import flag_of, kinds
from retro_agents.run.removed import REMOVED
from tests.agents.tiny import AGENTS, main, words

HUGE = (["--hidden", str(10**10)], "no memory for such a net; give smaller --hidden or --widths")
JUDGED = (["--evaluate-every", "100", "--test-levels", "all"], "--test-levels all is for Procgen")
THREADS = (["--torch-threads", str(10**11)], "expected a whole number from 0 to 1024")
EVERY = [
    (["--levels", "BrambleDash-Genesis-v0:Nowhere"], "Nowhere"),
    (["--levels", "bramble-trian"], "bramble-train"),
    (["--scenario", "nothing"], "scenario"),
    (["--timestep", "5"], "--timesteps"),
    (["--level", "bramble-train"], "did you mean '--levels'?"),
    (["--learning-rate", "-1"], "learning"),
    (["--init", "no/such/run"], "no/such/run"),
    (["--device", "tpu"], "device"),
    (["--num-envs", str(10**8)], "no memory for 100,000,000 environments"),
    (["--image-height", str(10**6), "--image-width", str(10**6)], "no memory for"),
    (["--frame-stack", str(10**9)], "expected a whole number from 1 to 256"),
]
RND_BY_RUNS = [
    *("--rnd", "0.1", "--recurrent", "gru", "--sequence-steps", "4", "--rollout-steps", "4"),
    *("--minibatches", "3", "--num-envs", "3"),
]
OWN = {
    "es": [
        (["--sigma-decay", "1"], "no gain was measured"),
        (["--pairs", "0"], "pairs"),
        (["--sigma", "0"], "--sigma"),
        (["--checkpoint", "here"], "--init"),
        (["--init", "ppo2", "--hidden", "8"], "--hidden has no effect with --init: leave one out"),
    ],
    "impala": [
        (["--accumulate", "1"], "--microbatches"),
        (["--actor-ahead", "2"], "no effect without --actors"),
        (["--replay-proportion", "2"], "no effect without --replay-batches"),
        JUDGED,
        HUGE,
        (["--batch-size", "100"], "multiple"),
        (["--replay-batches", str(10**9)], "no memory for 1,000,000,001 batches of"),
        (["--optimiser-epsilon", "0"], "--optimiser-epsilon 0.0: expected a finite number above 0"),
        (["--c-bar", "2"], "rho_bar"),
        (["--actors", "3"], "--num-envs 2"),
        (["--ray-address", "auto"], "--actors"),
    ],
    "jerk": [
        (["--truncate", "1"], "--cut-share"),
        (["--init", "jerk"], "that agent is shipped without weights"),
        THREADS,
        (["--preset", "baseline", "--scripts", "x"], "no effect without --rhythm"),
        (["--preset", "baseline", "--recover"], "add --go-on to it"),
        (["--preset", "baseline", "--runs", "2"], "no effect without --write-replay"),
        (
            ["--preset", "mutating", "--policy-hold", "4"],
            "without --policy-share or --policy-replays",
        ),
        (["--sequences", "0"], "sequences"),
        (["--preset", "baseline", "--policy-replays", "0.5"], "no effect without --go-on"),
        (["--preset", "mutating", "--policy-replays", "0.5"], "give --policy CHECKPOINT"),
        (["--preset", "entry", "--policy", ""], "give --policy CHECKPOINT"),
        (["--preset", "mutating", "--learn-every", "8"], "give --policy CHECKPOINT"),
        (["--preset", "baseline", "--cut-share", "0.2"], "no effect without --mutate"),
        (["--preset", "mutating", "--levels", "procgen:maze"], "JERK plays only platform games"),
        (["--go-on", "--policy-replays", "0.7", "--memory-share", "0.7"], "together"),
        (["--rhythm", "--scripts", "none-such"], "seven-buttons"),
    ],
    "ppo2": [
        (["--brightness", "1"], "--augment jitter"),
        (["--accumulate", "1"], "--microbatches"),
        (["--serial", "1"], "--preset serial"),
        THREADS,
        (["--rnd-kind", "impala"], "no effect without --rnd"),
        (["--init", "ppo2", "--initialisation", "xavier-all"], "no effect with --init"),
        JUDGED,
        HUGE,
        (["--minibatches", "5"], "multiple"),
        (["--sequence-steps", "3"], "recurrent"),
        (["--recurrent", "gru"], "sequence-steps"),
        (["--learning-rate-schedule", "falling"], "schedule"),
        (["--encoder", "nature", "--widths", "8,16"], "three widths"),
        (["--preset", "adapt", "--encoder", "data-efficient"], "give --widths '' --no-pool"),
        (["--sight-episodes", "17"], "give another number"),
        (RND_BY_RUNS, "--rnd learns"),
        (["--adam-epsilon", "0"], "--adam-epsilon 0.0: expected a finite number above 0"),
        (["--self-imitation-size", "9"], "no effect without --self-imitation"),
        (
            ["--self-imitation=1", "--recurrent=gru", "--sequence-steps=3"],
            "give --self-imitation 0, or leave out --recurrent",
        ),
        (["--self-imitation", "1", "--self-imitation-size", "9"], "too short for"),
        (
            ["--num-envs", "1", "--rollout-steps", "4", "--minibatches", "4"],
            "of a single step is 0; give fewer --minibatches",
        ),
        (
            ["--num-envs=1", "--rollout-steps=1", "--minibatches=1", "--normalise=rollout"],
            "a rollout of one step",
        ),
    ],
    "rainbow": [
        (["--freeze-encoder-updates", "1"], "--init-encoder"),
        (["--no-prioritised", "--priority-alpha", "0.6"], "no effect without --prioritised"),
        (["--no-noisy", "--sigma0", "0.1"], "no effect without --noisy"),
        (["--no-dueling", "--streams", "separate"], "no effect without --dueling"),
        (["--actors", "2", "--num-envs", "0"], "environments that is a multiple of 2"),
        (["--block-steps", "4"], "no effect without --actors"),
        (["--epsilon-ladder", "7"], "no effect without --no-noisy"),
        (["--quantiles", "8", "--v-max", "9"], "no effect with --quantiles"),
        (["--no-distributional", "--atoms", "9"], "no effect without --distributional"),
        (["--quantiles", "8", "--no-distributional"], "give --quantiles 0"),
        (["--munchausen", "0.9"], "give --quantiles 8"),
        (["--munchausen-temperature", "1"], "no effect without --munchausen"),
        (
            ["--quantiles", "8", "--munchausen", "0.9", "--no-double"],
            "no effect without --munchausen 0: ",
        ),
        (["--init-shrink", "0.5"], "no effect without --init"),
        JUDGED,
        HUGE,
        (["--levels", "sonic-test"], "import"),
        (["--preset", "ape-x"], "'ape-x' is not for --levels BrambleDash"),
        (["--replay-size", "7"], "--replay-size"),
        (["--replay-size", str(10**9)], "no memory for a replay of 1,000,000,000 steps"),
        (["--adam-epsilon", "0"], "--adam-epsilon 0.0: expected a finite number above 0"),
        (["--init-encoder", "no/such/run"], "no/such/run"),
        (["--initial-priorities", "--no-prioritised"], "--no-prioritised"),
        (["--actors", "3"], "--num-envs 2"),
        (["--ray-address", "auto"], "--actors"),
        (["--sight-every", "15"], "--sight-every must be a multiple of --log-every (10)"),
        (["--v-max", "inf"], "--v-m"),
        (["--v-min", "nan"], "--v-m"),
        (["--v-min=-inf"], "--v-m"),
    ],
    "sac": [
        (["--init", "sac"], "that agent is shipped without weights"),
        (["--priority-alpha", "1"], "no effect without --prioritised"),
        JUDGED,
        HUGE,
        (["--replay-size", "7"], "--replay-size"),
        (["--adam-epsilon", "0"], "--adam-epsilon 0.0: expected a finite number above 0"),
        (["--entropy-target", "1.1"], "entropy"),
        (["--temperature", "0"], "temperature"),
    ],
    "trpo": [
        (["--piece", "1"], "no gain was measured"),
        THREADS,
        (["--penalty", "3"], "no effect without --update penalty"),
        JUDGED,
        HUGE,
        (["--minibatches", "5"], "multiple"),
        (["--num-envs", "0"], "give one or more of each"),
        (["--critic", "untrained"], "--update penalty"),
        (["--encoder", "impala", "--encoder-parts", "batch-norm"], "--update penalty"),
        (["--adam-epsilon", "0"], "--adam-epsilon 0.0: expected a finite number above 0"),
        (["--max-kl", "0"], "--max-kl"),
    ],
}


def test_what_is_said_of_removed_flags_holds():
    known = [{flag_of(n) for k in kinds(find(a).Config).values() for n in k} for a in AGENTS]
    for name, advice in REMOVED.items():
        named = set(re.findall(r"--[a-z-]+", advice)) - {"--preset"}
        assert any(named <= flags and flag_of(name) not in flags for flags in known), name


@pytest.mark.parametrize(
    ("agent", "flags", "said"),
    [(agent, *case) for agent in AGENTS for case in (*EVERY, *OWN.get(agent, []))],
)
def test_bad_input_is_refused_in_one_line(agent, flags, said, refused, tmp_path):
    assert said in refused(main, agent, words(agent, "--run-dir", tmp_path / "run", *flags))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("agent", ["impala", "rainbow"])
def test_actors_without_ray_are_refused(agent, refused, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    flags = words(agent, "--run-dir", tmp_path / "run", "--actors", "1")
    assert "[actors]" in refused(main, agent, flags)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_no_run_of_its_own_is_not_resumed(agent, trained, refused, tmp_path, monkeypatch):
    """Nothing, a run of another agent, and an agent that was saved without its run."""
    resume = ["--run-dir", tmp_path / "run", "--resume", "--timesteps", 900]
    assert "to resume: leave out --resume to begin one" in refused(main, agent, resume)
    one, run_dir = trained(agent)
    one.save(tmp_path / "run")
    shutil.copy(run_dir / "config.json", tmp_path / "run")
    assert "is an agent alone, not a run: give it to --init" in refused(main, agent, resume)
    other = "ppo2" if agent == "rainbow" else "rainbow"
    _, run_dir = trained(other)
    said = refused(main, agent, ["--run-dir", run_dir, "--resume"])
    assert f"is a run of {other}: python -m {other}.train --run-dir {run_dir} --resume" in said
    monkeypatch.setattr(sys, "argv", [f"retro-agents train {agent}"])
    said = refused(main, agent, ["--run-dir", run_dir, "--resume"])
    assert f"is a run of {other}: retro-agents train {other} --run-dir {run_dir} --resume" in said


@pytest.mark.parametrize("agent", ["ppo2", "rainbow", "sac", "trpo"])
def test_a_checkpoint_of_another_net_is_refused(agent, trained, refused, tmp_path):
    other = ["--init", trained(agent)[1], "--hidden", 32]
    said = refused(main, agent, words(agent, "--run-dir", tmp_path / "new", *other))
    assert "another shape" in said and "; give --hidden " in said


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_does_not_begin_with_a_damaged_checkpoint(agent, trained, refused, tmp_path):
    newest = latest_checkpoint(trained(agent)[1])
    newest = Path(shutil.copytree(newest, tmp_path / newest.name))
    largest = max(newest.iterdir(), key=lambda file: file.stat().st_size)
    content = largest.read_bytes()
    largest.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    begin = words(agent, "--init", newest, "--run-dir", tmp_path / "new")
    assert f"{newest.name}/{largest.name} is damaged" in refused(main, agent, begin)
