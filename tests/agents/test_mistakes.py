"""A user's mistakes: one line, exit code 2, nothing written."""

import resource
import shutil
import sys

import pytest

from retro_agents.games.families import level_names
from retro_agents.ground.errors import UserError
from retro_agents.run.checkpoint import latest_checkpoint, load_checkpoint
from retro_agents.run.metrics import Metrics
from tests.agents.tiny import AGENTS, LEVEL, main, tiny, train, words


def refused(agent, capsys, *flags):
    """What the command line answers to bad input: one line, exit code 2."""
    return said_to(agent, capsys, words(agent, *flags))


def said_to(agent, capsys, arguments):
    """The same of these arguments alone."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as stop:
        main(agent, arguments)
    said = capsys.readouterr().err.strip()
    assert stop.value.code == 2, said
    assert "\n" not in said and "Traceback" not in said, said
    return said


HUGE = (["--hidden", str(10**10)], "no memory for such a net; give smaller --hidden or --widths")
JUDGED = (["--evaluate-every", "100"], "--evaluate-every is for levels of Procgen")
EVERY = [
    (["--levels", "BrambleDash-Genesis-v0:Nowhere"], "Nowhere"),
    (["--levels", "bramble-trian"], "bramble-train"),
    (["--scenario", "nothing"], "scenario"),
    (["--timestep", "5"], "--timesteps"),
    (["--num-envs", "many"], "many"),
    (["--learning-rate", "-1"], "learning"),
    (["--preset", "none-such"], "none-such"),
    (["--init", "no/such/run"], "no/such/run"),
    (["--device", "tpu"], "device"),
    (["--num-envs", "-2"], "--num-envs -2: expected a whole number"),
    (["--timesteps", "x"], "--timesteps x: expected a whole number of 0 or more, such as"),
]
RND_BY_RUNS = [
    *("--rnd", "0.1", "--recurrent", "gru", "--sequence-steps", "4", "--rollout-steps", "4"),
    *("--minibatches", "3", "--num-envs", "3"),
]
OWN = {
    "es": [
        (["--pairs", "0"], "pairs"),
        (["--sigma", "0"], "--sigma"),
        (["--checkpoint", "here"], "--init"),
    ],
    "impala": [
        (["--actor-ahead", "2"], "no effect without --actors"),
        (["--replay-proportion", "2"], "no effect without --replay-batches"),
        JUDGED,
        HUGE,
        (["--batch-size", "100"], "multiple"),
        (["--c-bar", "2"], "rho_bar"),
        (["--actors", "3"], "--num-envs 2"),
        (["--ray-address", "auto"], "--actors"),
    ],
    "jerk": [
        (["--preset", "baseline", "--scripts", "x"], "no effect without --rhythm"),
        (["--preset", "baseline", "--runs", "2"], "no effect without --write-replay"),
        (["--preset", "mutating", "--policy-hold", "4"], "without --policy-replays"),
        (["--sequences", "0"], "sequences"),
        (["--preset", "baseline", "--policy-replays", "0.5"], "no effect without --go-on"),
        (["--preset", "mutating", "--policy-replays", "0.5"], "give --policy CHECKPOINT"),
        (["--preset", "mutating", "--levels", "procgen:maze"], "is not for --levels procgen:maze"),
        (["--go-on", "--policy-replays", "0.7", "--memory-share", "0.7"], "together"),
        (["--rhythm", "--scripts", "none-such"], "seven-buttons"),
    ],
    "ppo2": [
        (["--rnd-kind", "impala"], "no effect without --rnd"),
        JUDGED,
        HUGE,
        (["--preset", "contst"], "contest"),
        (["--minibatches", "5"], "multiple"),
        (["--sequence-steps", "3"], "recurrent"),
        (["--recurrent", "gru"], "sequence-steps"),
        (["--learning-rate-schedule", "falling"], "schedule"),
        (["--encoder", "nature", "--widths", "8,16"], "three widths"),
        (["--sight-episodes", "17"], "give another number"),
        (RND_BY_RUNS, "--rnd learns"),
    ],
    "rainbow": [
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
        (["--init-encoder", "no/such/run"], "no/such/run"),
        (["--initial-priorities", "--no-prioritised"], "--no-prioritised"),
        (["--actors", "3"], "--num-envs 2"),
        (["--ray-address", "auto"], "--actors"),
        (["--sight-every", "15"], "--sight-every must be a multiple of --log-every (10)"),
        *(
            (["--v-max", "inf"], "--v-m"),
            (["--v-min", "nan"], "--v-m"),
            (["--v-min=-inf"], "--v-m"),
        ),
    ],
    "sac": [
        (["--priority-alpha", "1"], "no effect without --prioritised"),
        JUDGED,
        HUGE,
        (["--replay-size", "7"], "--replay-size"),
        (["--entropy-target", "1.1"], "entropy"),
        (["--temperature", "0"], "temperature"),
    ],
    "trpo": [
        (["--penalty", "3"], "no effect without --update penalty"),
        JUDGED,
        HUGE,
        (["--minibatches", "5"], "multiple"),
        (["--critic", "untrained"], "--update penalty"),
        (["--max-kl", "0"], "--max-kl"),
    ],
}


@pytest.mark.parametrize("agent", [one for one in AGENTS if one != "es"])
def test_more_threads_than_a_machine_has_are_refused(agent, capsys, tmp_path):
    said = refused(agent, capsys, "--run-dir", tmp_path, "--torch-threads", 10**11)
    assert "expected a whole number from 0 to 1024" in said


@pytest.mark.parametrize(
    ("agent", "flags", "said"),
    [(agent, *case) for agent in AGENTS for case in (*EVERY, *OWN.get(agent, []))],
)
def test_bad_input_is_refused_in_one_line(agent, flags, said, capsys, tmp_path):
    assert said in refused(agent, capsys, "--run-dir", tmp_path / "run", *flags)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("agent", ["impala", "rainbow"])
def test_actors_without_ray_are_refused(agent, capsys, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "ray", None)
    assert "[actors]" in refused(agent, capsys, "--run-dir", tmp_path / "run", "--actors", "1")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("agent", AGENTS)
def test_a_folder_that_cannot_be_written_is_refused(agent, capsys):
    assert "/proc/nowhere" in refused(agent, capsys, "--run-dir", "/proc/nowhere")


@pytest.mark.parametrize("agent", AGENTS)
def test_what_is_not_there_cannot_be_resumed(agent, capsys, tmp_path):
    assert "nothing" in refused(agent, capsys, "--run-dir", tmp_path / "nothing", "--resume")


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_without_its_run_is_not_resumed(agent, capsys, tmp_path):
    trained = train(agent, tmp_path / "run", "--run-dir", tmp_path)
    trained.save(tmp_path / "alone")
    (tmp_path / "alone/config.json").write_text((tmp_path / "run/config.json").read_text())
    resume = ["--run-dir", tmp_path / "alone", "--resume", "--timesteps", "900"]
    assert "--init" in said_to(agent, capsys, resume)


@pytest.mark.parametrize(
    ("agent", "flag", "value"),
    [
        ("es", "--layer", "fc"),
        ("rainbow", "--update-every", "3"),
        ("sac", "--learning-starts", "7"),
        ("sac", "--temperature", "0.5"),
        ("impala", "--optimiser", "adam"),
        ("trpo", "--update", "penalty"),
    ],
)
def test_another_optimisers_state_is_not_gone_on_with(agent, flag, value, capsys, tmp_path):
    train(agent, tmp_path)
    resume = ["--run-dir", tmp_path, "--resume", "--timesteps", "900", flag, value]
    assert f"the saved run has {flag}" in said_to(agent, capsys, map(str, resume))


@pytest.mark.parametrize("agent", ["jerk", "sac"])
def test_an_agent_without_weights_of_its_own_is_none_to_begin_with(agent, capsys, tmp_path):
    said = refused(agent, capsys, "--init", agent, "--run-dir", tmp_path / "new")
    assert "that agent is shipped without weights" in said


@pytest.fixture
def cut_off(tmp_path):
    """A checkpoint whose weights were only half written."""
    train("ppo2", tmp_path / "run")
    folder = latest_checkpoint(tmp_path / "run")
    weights = max(folder.iterdir(), key=lambda file: file.stat().st_size)
    weights.write_bytes(weights.read_bytes()[:1000])
    return folder


@pytest.mark.parametrize("agent", AGENTS)
def test_a_cut_off_checkpoint_is_refused(agent, cut_off, capsys, tmp_path):
    said = refused(agent, capsys, "--init", cut_off, "--run-dir", tmp_path / "new")
    assert cut_off.name in said
    assert "damaged" in said or "cut off" in said, said


@pytest.mark.parametrize("agent", ["ppo2", "rainbow", "sac", "trpo"])
def test_a_checkpoint_of_another_net_is_refused(agent, capsys, tmp_path):
    train(agent, tmp_path / "run")
    said = refused(
        agent, capsys, "--init", tmp_path / "run", "--run-dir", tmp_path / "new", "--hidden", "32"
    )
    assert "another shape" in said and "; give --hidden " in said


@pytest.mark.parametrize("agent", AGENTS)
def test_a_run_of_another_agent_is_not_resumed(agent, capsys, tmp_path):
    other = "ppo2" if agent == "rainbow" else "rainbow"
    train(other, tmp_path)
    said = said_to(agent, capsys, ["--run-dir", tmp_path, "--resume"])
    goes_on = f"python -m {other}.train --run-dir {tmp_path} --resume"
    assert f"{tmp_path} is a run of {other}: {goes_on}" in said
    shutil.rmtree(tmp_path / "checkpoints")
    said = said_to(agent, capsys, ["--run-dir", tmp_path, "--resume"])
    assert "resume it with the agent and version that began it" in said


def resumed(agent, capsys, run_dir):
    """What going on with a run says on stderr."""
    capsys.readouterr()
    train(agent, run_dir, "--resume", "--timesteps", "900" if agent == "es" else "90")
    return capsys.readouterr().err


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("harm", ["cut", "changed"])
def test_a_damaged_newest_checkpoint_is_put_aside(agent, harm, capsys, tmp_path):
    train(agent, tmp_path)
    older, newest = sorted((tmp_path / "checkpoints").glob("step-*"))
    largest = max(newest.iterdir(), key=lambda file: file.stat().st_size)
    content = largest.read_bytes()
    largest.write_bytes(content[:-9] if harm == "cut" else content[:-1] + bytes([content[-1] ^ 1]))
    said = resumed(agent, capsys, tmp_path)
    (line,) = [line for line in said.splitlines() if line.startswith("warning")]
    assert largest.name in line and "resuming from the one before it" in line
    assert (tmp_path / "checkpoints" / f"{newest.name}.damaged").is_dir()
    latest = load_checkpoint(tmp_path)
    assert latest.counters["env_steps"] > int(newest.name.removeprefix("step-"))
    for file in (older / "meta.json", *(tmp_path / "checkpoints").glob("step-*/meta.json")):
        file.unlink(missing_ok=True)
    assert "no checkpoint" in said_to(agent, capsys, ["--run-dir", tmp_path, "--resume"])


@pytest.mark.parametrize("agent", AGENTS)
def test_a_cut_table_is_noticed(agent, capsys, tmp_path):
    train(agent, tmp_path)
    assert "warning" not in resumed(agent, capsys, tmp_path)
    table = tmp_path / "metrics.csv"
    table.write_bytes(table.read_bytes()[: table.stat().st_size // 2])
    capsys.readouterr()
    train(agent, tmp_path, "--resume", "--timesteps", "1300" if agent == "es" else "130")
    assert f"warning: {table} is cut" in capsys.readouterr().err


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("table", ["csv", "events"])
def test_a_full_disk_between_checkpoints_is_one_line(agent, table, tmp_path, monkeypatch):
    """Of files that may not become longer than a run's config."""
    if table == "csv":
        monkeypatch.setitem(Metrics.__init__.__kwdefaults__, "tensorboard", False)
    steps = ["--checkpoint-every", "0", "--timesteps", "90000" if agent == "es" else "9000"]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8000, limits[1]))
    try:
        with pytest.raises(UserError, match=r"cannot write .*File too large") as said:
            train(agent, tmp_path, *steps)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "\n" not in str(said.value) and ("tfevents" in str(said.value)) == (table == "events")


@pytest.mark.parametrize("agent", AGENTS)
def test_what_everybody_writes_is_understood(agent, tmp_path):
    config = tiny(agent, "--timesteps", "1e5", "--levels", "BrambleWood.Act1")
    assert config.run.timesteps == 100_000
    assert level_names(config.run.levels) == [LEVEL]
