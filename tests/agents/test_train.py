"""What holds for the runs of every agent: they learn, start from others, are stopped, killed,
prolonged, refused and saved."""

import shutil
import sys
from unittest.mock import DEFAULT, Mock

import numpy as np
import pytest
import torch

from retro_agents.contract.policy import ScoringPolicy
from retro_agents.games.families import make_for
from retro_agents.ground.errors import Diverged, UserError
from retro_agents.judging.sight import PLAYS
from retro_agents.run.agents import find
from retro_agents.run.checkpoint import load_agent, load_checkpoint
from retro_agents.run.config import to_dict
from retro_agents.run.draft import kept_settings
from retro_agents.run.metrics import read_columns
from tests.agents.tiny import AGENTS, main, tiny, train, words
from tests.conftest import Corridor
from tests.runs import FORKS, Stop, assert_same_run, kill_at, play, stopping

LEARNING = {
    "impala": "--timesteps 2240 --hidden 32 --gamma 0.9 --rollout-steps 16 --batch-size 64 "
    "--epochs 2",
    "ppo2": "--timesteps 3840 --hidden 32 --gamma 0.9 --rollout-steps 32 --epochs 4 "
    "--learning-rate 1e-3",
    "rainbow": "--timesteps 1200 --hidden 64 --gamma 0.8 --replay-size 5000 --learning-starts 50 "
    "--target-every 200 --update-every 2 --learning-rate 1e-3",
    "sac": "--timesteps 2100 --hidden 64 --gamma 0.8 --replay-size 5000 --learning-starts 50 "
    "--batch-size 32 --update-every 2 --learning-rate 1e-3 --n-step 3 --prioritised "
    "--temperature 0.1 --temperature-rate 1e-3 --entropy-target 0.3 --target-rate 0.02",
    "trpo": "--timesteps 1920 --hidden 32 --gamma 0.9 --rollout-steps 32 --epochs 4",
}
"""Flags with which an agent learns the corridor in seconds. At a gamma of 0.99, waiting a step
costs Rainbow and SAC too little to tell."""
BTR = (
    "--encoder impala --encoder-parts max-pool,spectral-norm --widths 4,8 --streams separate "
    "--quantiles 8 --munchausen 0.9 --n-step 3"
)
LEARNS = {
    "impala": [
        "",
        "--optimiser adam --gradient-norm 0.5 --replay-batches 3 --replay-proportion 0.7",
        "--recurrent lstm --recurrent-hidden 32",
    ],
    "ppo2": ["", "--recurrent gru --recurrent-hidden 32 --sequence-steps 8"],
    "rainbow": [
        "--atoms 21 --v-min=-1 --v-max 10",
        f"{BTR} --hidden 32 --update-every 4 --timesteps 1000",
    ],
    "sac": [""],
    "trpo": ["--max-kl 0.03", "--update penalty --penalty 0.5"],
}


@pytest.mark.parametrize(("agent", "flags"), [(a, f) for a in LEARNS for f in LEARNS[a]])
def test_agents_learn_the_corridor(agent, flags, tmp_path):
    flags = f"{LEARNING[agent]} --num-envs 4 --checkpoint-every 0 --rotate-every 0 {flags}".split()
    begun = [train(agent, tmp_path / s, *flags, "--timesteps", 0, "--seed", s) for s in "012"]
    assert np.mean([play(one, Corridor(1)) for one in begun]) < 8.0
    trained = train(agent, tmp_path / "run", *flags, envs=Corridor(4))
    assert play(trained, Corridor(1)) == 8.0  # the end; random play falls into the hole before 4
    explained = read_columns(tmp_path / "run/metrics.csv").get("explained_variance", np.ones(9))
    assert explained[-10:].mean() > 0.5


@pytest.mark.parametrize("agent", [*LEARNING, "es"])
def test_a_run_of_no_steps_has_the_weights_that_it_starts_from(agent, trained, tmp_path, capsys):
    source, folder = trained(agent)
    capsys.readouterr()
    begun = train(agent, tmp_path, "--timesteps", "0", "--seed", "1", init=folder)
    assert load_checkpoint(tmp_path).counters["env_steps"] == 0
    assert "nothing was learned yet, as the first update needs" in capsys.readouterr().err
    for one, same in zip(source.net.parameters(), begun.net.parameters(), strict=True):
        assert torch.equal(one, same)


SCHEDULED = [("rainbow", "learning_rate"), ("impala", "learning_rate"), ("ppo2", "learning_rate")]
SCHEDULED += [("impala", "entropy"), ("ppo2", "entropy")]


@pytest.mark.parametrize(("agent", "what"), SCHEDULED)
def test_a_schedule_is_a_factor_on_its_value(agent, what, tmp_path):
    """With a factor of 0, nothing is learned, or the entropy earns nothing; unless it grows."""
    weight = ["--timesteps", "0"] if what == "learning_rate" else ["--entropy-weight", "0"]
    schedule = f"--{what.replace('_', '-')}-schedule"
    nothing = [*train(agent, tmp_path / "nothing", *weight).net.parameters()]
    for points, same in (("0:0,1:0", True), ("0:0,1:1", False)):
        found = train(agent, tmp_path / points, schedule, points).net.parameters()
        assert all(map(torch.equal, found, nothing)) == same


PROCGEN = (
    "--levels procgen:coinrun,bigfish --num-envs 4 --encoder nature --widths 4,4,4 --hidden 16 "
    "--timesteps 128 --device cpu"
)
REMEMBERED = "--learning-starts 60 --replay-size 600 --log-every 64 --update-every 32"
UPDATES = {
    "impala": ("--preset procgen --rollout-steps 8 --batch-size 16", 256 // 16),
    "rainbow": (f"--preset ape-x --n-step 3 --batch-size 8 {REMEMBERED}", (256 - 60) // 32),
    "sac": (f"--preset procgen --batch-size 8 {REMEMBERED}", (256 - 60) // 32),
}


@pytest.mark.parametrize("agent", UPDATES)
def test_a_run_on_procgen_goes_on(agent, tmp_path):
    pytest.importorskip("envpool")
    flags, updates = UPDATES[agent]
    package = find(agent)
    for given in (f"{PROCGEN} {flags}", "--resume --timesteps 256"):
        config = package.part("train", "parse")([*given.split(), "--run-dir", str(tmp_path)])
        package.run(make_for(config), config, tmp_path)
    assert read_columns(tmp_path / "metrics.csv")["updates"][-1] == updates


def train_all(folder):
    for agent in AGENTS:
        if agent != "trpo":  # whose derivatives in forward mode need a part of the compiler
            train(agent, folder / agent)
    sys.exit("torch._dynamo" in sys.modules)


def test_no_run_imports_torchs_compiler(tmp_path):
    """It would cost two seconds of each start."""
    process = FORKS.Process(target=train_all, args=(tmp_path,))
    process.start()
    process.join()
    assert process.exitcode == 0


LOOKERS = ["impala", "ppo2", "rainbow", "sac", "trpo"]
"""Agents that populations train and that are tested while they learn."""


@pytest.mark.parametrize("agent", LOOKERS)
def test_a_run_tells_its_checkpoints_and_is_the_same_with_tests_of_sight(agent, tmp_path):
    tested = ["--sight-every", "20", "--sight-episodes", "2", "--episode-steps", "12"]
    told = []
    tell = lambda _, metrics: told.append(metrics["env_steps"])  # noqa: E731
    find(agent).run(Corridor(2), tiny(agent, *tested), tmp_path / "with", on_checkpoint=tell)
    # Of rollouts of 12 steps, or of steps of 2, those that pass 16, and the end.
    assert told == ([16, 32, 48, 60] if agent in ("rainbow", "sac") else [24, 36, 48, 60])
    train(agent, tmp_path / "without", "--episode-steps", "12")
    ours, plain = (read_columns(tmp_path / name / "metrics.csv") for name in ("with", "without"))
    figures = np.array([ours.pop(f"sight/{play}") for play in PLAYS])
    times = np.isfinite(figures).all(axis=0)
    assert times.sum() == 3 and np.isnan(figures[:, ~times]).all()
    assert {int(step // 20) for step in ours["step"][times]} == {1, 2, 3}
    assert ours.keys() == plain.keys()
    for name, column in plain.items():
        np.testing.assert_array_equal(ours[name], column)
    saved = [load_checkpoint(tmp_path / name) for name in ("with", "without")]
    assert saved[0].state == saved[1].state and saved[0].counters == saved[1].counters
    for group, tensors in saved[0].tensors.items():
        for name, tensor in tensors.items():
            np.testing.assert_array_equal(tensor, saved[1].tensors[group][name])


@pytest.mark.parametrize("agent", [*LOOKERS, "es"])
def test_a_run_whose_learning_diverges_ends_in_one_line(agent, tmp_path):
    flags = ["--learning-rate", "1e30", "--timesteps", "400"]
    flags += ["--gradient-norm", "0"] if agent not in ("es", "sac") else []
    with pytest.raises(Diverged, match=r"^learning has diverged: \S+ is (nan|inf); start .*\Z"):
        train(agent, tmp_path, *flags)
    assert all(load_checkpoint(path) for path in tmp_path.glob("checkpoints/*"))


RECURRENT = "--recurrent lstm --recurrent-hidden 8"
RECURRENT_PPO2 = f"{RECURRENT} --sequence-steps 3"
REPLAY = "--replay-batches 2 --replay-proportion 0.7"
PENALISED = (
    "--kl-penalty 0.2 --kl-aim 1e-9 --normalise rollout --convolution-l2 1e-3 --dropout 0.3 "
    "--augment flip,cutout --rnd 0.1 --rnd-kind impala"
)
VARIANTS = {
    "impala": [
        RECURRENT,
        f"{REPLAY} --batch-size 18",
        "--augment roll --encoder impala --widths 4 --encoder-parts batch-norm,frame-attention",
    ],
    "jerk": ["--preset mutating", "--preset recovering --reward-scale 0.02", "--memory-share 0"],
    "ppo2": [
        RECURRENT_PPO2,
        "--novelty 0.1 --rnd 0.1",
        "--no-normalise-returns --self-imitation 1 --detour-after 2",
        PENALISED,
        "--noisy --rnd 0.1 --rnd-values two --entropy-schedule 0:1,1:0",
    ],
    "rainbow": [
        "--augment flip,rotate --learning-rate-schedule linear",
        "--no-noisy --epsilon-ladder 7 --initial-priorities --log-every 2",
        "--replay-size 40 --update-every 30 --log-every 4",
        BTR,
    ],
    "sac": ["--prioritised --n-step 3"],
    "trpo": ["--update penalty --critic untrained --no-normalise-returns"],
}
"""Flags with which a run has other things to save."""


@pytest.mark.parametrize(
    ("agent", "flags"), [(agent, f) for agent in AGENTS for f in ("", *VARIANTS.get(agent, []))]
)
def test_a_stopped_run_resumes_exactly(agent, flags, tmp_path):
    train(agent, tmp_path / "whole", *flags.split())
    with pytest.raises(Stop):
        envs = stopping(Corridor(2), tmp_path / "parts")
        train(agent, tmp_path / "parts", *flags.split(), envs=envs)
    train(agent, tmp_path / "parts", *flags.split(), "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("agent", AGENTS)
def test_one_command_begins_and_resumes_a_run_and_begins_one_anew_that_saved_nothing(
    agent, tmp_path
):
    longer = ["--timesteps", 420 if agent == "es" else 90]
    begun, same, unsaved = folders = [tmp_path / name for name in ("begun", "same", "unsaved")]
    commands = [words(agent, "--auto-resume", "--run-dir", folder) for folder in folders]
    main(agent, commands[0])
    for copy in (same, unsaved):
        shutil.copytree(begun, copy)
    for later in ("checkpoints", "replay"):  # JERK writes the latter after the first checkpoint
        shutil.rmtree(unsaved / later, ignore_errors=True)
    main(agent, commands[2])
    assert_same_run(unsaved, begun)
    main(agent, [*commands[0], *longer])
    main(agent, ["--resume", "--run-dir", same, *longer])
    assert_same_run(begun, same)


@pytest.mark.parametrize("agent", ["tally", "rainbow"])
def test_a_killed_run_resumes_exactly(agent, tmp_path):
    """By their commands, on levels of the game."""
    longer = ["--timesteps", 300]  # enough to be killed
    killed = tmp_path / "killed"
    main(agent, words(agent, *longer, "--run-dir", tmp_path / "whole"))
    process = FORKS.Process(target=main, args=(agent, words(agent, *longer, "--run-dir", killed)))
    process.start()
    kill_at(60, process.pid, killed, ended=lambda: process.exitcode)
    process.join()
    assert process.exitcode < 0 and load_checkpoint(killed).counters["env_steps"] < longer[1]
    main(agent, ["--run-dir", killed, "--resume"])
    assert_same_run(tmp_path / "whole", killed)


@pytest.mark.parametrize(
    ("agent", "flags"),
    [
        *(("impala", flags) for flags in ("", "--batch-size 18", RECURRENT, REPLAY)),
        *(("ppo2", flags) for flags in ("", RECURRENT_PPO2, "--novelty 0.1 --rnd 0.1", PENALISED)),
        ("ppo2", "--self-imitation 0.5 --self-imitation-size 40 --detour-after 3"),
        ("rainbow", ""),
        ("sac", ""),
        ("trpo", ""),
    ],
)
def test_a_run_that_ended_within_a_rollout_is_prolonged_exactly(agent, flags, tmp_path):
    """As if it had been as long from the start."""
    same = ["--learning-rate-schedule", "constant"] if agent in ("impala", "ppo2") else []
    flags = [*flags.split(), *same, "--checkpoint-every", "0", "--timesteps"]
    train(agent, tmp_path / "whole", *flags, "90")
    train(agent, tmp_path / "parts", *flags, "34")
    train(agent, tmp_path / "parts", *flags, "90", "--resume")
    assert_same_run(tmp_path / "whole", tmp_path / "parts")


IMAGES = "--encoder impala --widths 4 --pool --timesteps 32"
REFUSED = [
    ("es", "", "--layer fc", "--layer head"),
    ("es", "", "--hidden 17", "--hidden 16"),
    ("impala", "", "--rollout-steps 12", "--rollout-steps 6"),
    ("impala", "", "--batch-size 24", "--batch-size 12"),
    ("impala", "", "--optimiser adam", "--optimiser rmsprop"),
    ("impala", "", "--reward-scale 0.5", "--reward-scale"),
    ("impala", IMAGES, "--image-height 40", "other observations.*--image-height 36"),
    ("jerk", "", "--memory-share 0", "--memory-share 0.25"),
    ("jerk", "", "--no-write-replay", "--write-replay"),
    ("jerk", "", "--record", "--no-record"),
    ("jerk", "", "--policy runs/other", "--policy"),
    ("ppo2", "", "--noisy", "the saved run has --no-noisy"),
    ("ppo2", "", "--novelty 0.1", "no --novelty"),
    ("ppo2", "", "--rnd 0.1", "no --rnd"),
    ("ppo2", "", "--detour-after 9", "no --detour-after"),
    ("ppo2", "", "--self-imitation 1", "--self-imitation 0.0"),
    ("ppo2", "--rnd 0.1", "--rnd-kind impala", "--rnd-kind"),
    ("ppo2", "--timesteps 34", "--rollout-steps 4", "5 steps into a rollout of 6, not of 4"),
    ("ppo2", "--timesteps 34", "--rollout-steps 12", "5 steps into a rollout of 6, not of 12"),
    ("ppo2", "", "--reward-scale 0.5", "--reward-scale"),
    ("trpo", "", "--reward-scale 0.5", "--reward-scale"),
    ("ppo2", IMAGES, "--image-height 40", "other observations.*--image-height 36"),
    ("rainbow", "", "--update-every 3", "--update-every 4"),
    ("rainbow", "", "--n-step 9", "--n-step 3"),
    ("rainbow", "", "--v-max 201", "give the same --v-min and --v-max"),
    ("rainbow", "", "--num-envs 1", "other rings"),
    ("rainbow", "", "--reward-scale 0.5", "--reward-scale"),
    ("sac", "", "--n-step 3", "--n-step 1"),
    ("sac", "", "--reward-scale 0.5", "--reward-scale"),
    ("sac", "", "--learning-starts 7", "--learning-starts 10"),
    ("sac", "", "--temperature 0.5", "--temperature"),
    ("trpo", "", "--update penalty", "--update natural"),
]


@pytest.mark.parametrize(("agent", "flags", "other", "said"), REFUSED)
def test_a_run_is_not_resumed_where_it_would_mean_something_else(
    agent, flags, other, said, trained, tmp_path
):
    """Nor is anything changed."""
    folder = tmp_path if flags else trained(agent)[1]
    if flags:
        train(agent, folder, *flags.split())
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    envs = Corridor(1) if "num-envs" in other else None
    with pytest.raises(UserError, match=said):
        train(
            agent, folder, *flags.split(), *other.split(), "--resume", "--timesteps", 900, envs=envs
        )
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize(
    ("agent", "flags"),
    [
        *((agent, "") for agent in AGENTS if agent != "es"),
        ("impala", "--batch-size 24"),
        ("impala", "--replay-batches 9 --batch-size 18"),
    ],
)
def test_a_good_checkpoint_replaces_what_a_damaged_one_left(agent, flags, tmp_path):
    train(agent, tmp_path / "alone", *flags.split())
    shutil.copytree(tmp_path / "alone", tmp_path / "after")
    _, newest = sorted((tmp_path / "alone/checkpoints").glob("step-*"))
    shutil.rmtree(newest)
    envs = Corridor(2)
    once = [KeyError("as of damaged states"), DEFAULT]
    envs.restore_states = Mock(wraps=envs.restore_states, side_effect=once)
    resume = [*flags.split(), "--resume", "--timesteps", "120"]
    train(agent, tmp_path / "alone", *resume)
    train(agent, tmp_path / "after", *resume, envs=envs)
    assert_same_run(tmp_path / "alone", tmp_path / "after")


@pytest.mark.parametrize(
    ("agent", "name"), [("rainbow", "reward_scale"), ("ppo2", "rnd"), ("trpo", "rollout_steps")]
)
def test_a_checkpoint_of_another_version_is_refused_and_stays(agent, name, tmp_path, monkeypatch):
    def older(config):
        settings = kept_settings(config)
        del (settings if name in settings else settings["env"])[name]
        return settings

    with monkeypatch.context() as patch:
        patch.setattr("retro_agents.run.checkpoint.kept_settings", older)
        train(agent, tmp_path)
    before = sorted((tmp_path / "checkpoints").glob("step-*"))
    with pytest.raises(UserError, match="another version"):
        train(agent, tmp_path, "--resume")
    assert sorted((tmp_path / "checkpoints").glob("step-*")) == before


@pytest.mark.parametrize("agent", AGENTS)
def test_a_saved_agent_acts_alike_and_is_built_without_weights(agent, trained, tmp_path):
    one, run_dir = trained(agent)
    one.save(tmp_path)
    saved = load_checkpoint(run_dir)
    agents = [one, *(load_agent(folder) for folder in (run_dir, tmp_path))]
    assert {type(each).__module__ for each in agents} == {f"{agent}.agent"}
    built = find(agent).build(saved.config, saved.tensors.get("net"))
    assert to_dict(built.config) == to_dict(agents[1].config)
    strange = np.random.default_rng(0).integers(256, size=(12, 4, 36, 36), dtype=np.uint8)
    obs = np.concatenate([Corridor(4).reset()[0], strange])
    if isinstance(one, ScoringPolicy):
        agents.append(built)
        scores = [each.scores(torch.from_numpy(obs)) for each in agents]
        assert all(torch.equal(scores[0], others) for others in scores[1:])
    for _ in range(3):
        actions, *others = [each.act(obs, play="best") for each in agents]
        assert actions.shape == (16,) and actions.dtype == np.int64
        assert actions.min() >= 0 and actions.max() < 7
        for same in others:
            np.testing.assert_array_equal(actions, same)
    for scaled in (obs / 255, obs[0].astype(np.float32)):
        with pytest.raises(UserError, match="expected uint8"):
            one.act(scaled)
    for cut in (obs[:, :3], obs[0, :, :30]):
        with pytest.raises(UserError, match=r"expected \[N, 4, 36, 36\]"):
            one.act(cut)
    fresh = find(agent).build(to_dict(tiny(agent)))
    assert fresh.act(obs).shape == (16,) and fresh.act(obs[0]).shape == ()
