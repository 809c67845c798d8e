import os
import signal
from pathlib import Path

import numpy as np
import pytest
import torch

from ppo2.agent import PPO2Agent
from ppo2.clone import CloneConfig, Lessons, Student, action_weights, clone, cloning_losses, main
from ppo2.demonstrations import of_episodes
from retro_agents.experience.episodes import Episode, write_episodes
from retro_agents.ground.errors import UserError
from retro_agents.run import provenance
from retro_agents.run.checkpoint import load_agent
from retro_agents.run.config import replaced, to_dict
from retro_agents.run.folder import alone_in
from retro_agents.run.metrics import read_columns
from tests.conftest import HOLE, JUMP, LENGTH, RIGHT
from tests.runs import play

NAMES = ("LEFT", "RIGHT", "LEFT DOWN", "RIGHT DOWN", "DOWN", "DOWN B", "B")
QUICK = replaced(
    CloneConfig(),
    image_height=36,
    image_width=36,
    encoder="data-efficient",
    hidden=32,
    updates=150,
    batch_size=32,
    learning_rate=2e-3,
    device="cpu",
)


def picture(position):
    frame = np.full((1, 36, 36), 30, np.uint8)
    frame[:, :, 4 * position : 4 * position + 4] = 220
    return frame


def good(position):
    """What to do in the corridor."""
    return JUMP if position + 1 == HOLE else RIGHT


def demonstrated(**changes):
    """An episode of the corridor that reaches its end."""
    actions = np.array([good(position) for position in range(LENGTH)], np.uint8)
    frames = np.stack([picture(position) for position in range(LENGTH + 1)])
    fields = {"action_names": NAMES, "frame_skip": 4, "frames": frames, **changes}
    return Episode("corridor", actions, np.ones(LENGTH), True, **fields)


class Guide:
    """An expert of the corridor, which knows nothing of its first place."""

    def actions(self, envs):
        known = [good(p) if p > 0 else -1 for p in envs.position]
        return np.array(known)


def test_a_policy_cloned_from_recorded_episodes_does_what_they_did(corridor, tmp_path):
    write_episodes(tmp_path / "shown", [demonstrated(), demonstrated()])
    config = replaced(QUICK, demonstrations=str(tmp_path / "shown"), run_dir=str(tmp_path / "run"))
    agent = clone(config)
    assert play(agent, corridor(1)) == LENGTH
    rows = read_columns(tmp_path / "run/metrics.csv")
    assert rows["accuracy"][-1] == 1.0 and rows["value_loss"][-1] < 0.05
    again = load_agent(tmp_path / "run")
    assert again.config.run.levels == demonstrated().level
    images = corridor(2).reset()[0]
    assert (
        again.act(images, play="best") == agent.act(images, play="best")
    ).all() and again.config.env == QUICK.env


def test_a_policy_learns_beside_an_expert(corridor, tmp_path):
    config = replaced(
        QUICK, expert=True, steps=2_000, updates=300, expert_share=0.5, run_dir=str(tmp_path)
    )
    lessons = Lessons(config, corridor(4), Guide())
    agent = clone(config, lessons)
    envs = corridor(1)
    envs.reset()
    envs.position[:] = 1  # beyond where nobody said anything
    envs._restart = lambda env: None
    for position in range(1, LENGTH - 1):
        obs = np.stack([picture(max(1, position - back))[0] for back in (3, 2, 1, 0)])[None]
        assert agent.act(obs, play="best")[0] == good(position)
    assert lessons.demonstrations.full
    rows = read_columns(tmp_path / "metrics.csv")
    assert rows["steps"][-1] == 2_000 and rows["agreement"][-1] > 0.9


def test_the_same_seed_clones_the_same_policy(corridor, tmp_path):
    nets = []
    for name in "ab":
        config = replaced(QUICK, expert=True, steps=400, updates=20, run_dir=str(tmp_path / name))
        nets.append(clone(config, Lessons(config, corridor(2), Guide())).net.state_dict())
    assert all(torch.equal(nets[0][name], nets[1][name]) for name in nets[0])


def test_init_goes_on_with_a_net_in_another_folder(tmp_path):
    write_episodes(tmp_path / "shown", [demonstrated()])
    run = str(tmp_path / "a")
    first = replaced(QUICK, demonstrations=str(tmp_path / "shown"), run_dir=run)
    clone(first)
    with pytest.raises(UserError, match=f"already holds a run; .* --init {run}") as refused:
        clone(first)
    assert "--resume" not in str(refused.value)  # which cloning has not
    clone(replaced(first, init=run, updates=1, run_dir=str(tmp_path / "b")))
    assert read_columns(tmp_path / "b/metrics.csv")["accuracy"][0] == 1.0


@pytest.mark.parametrize("part", [{"noisy": True}, {"recurrent": "gru", "sequence_steps": 2}])
def test_init_from_a_net_with_memory_or_noise_is_refused(tmp_path, part):
    PPO2Agent.build(to_dict(replaced(QUICK.agent(), **part))).save(tmp_path)
    with pytest.raises(UserError, match="memory or noise, which a clone has not: give another"):
        Student(replaced(QUICK, init=str(tmp_path)))


@pytest.mark.parametrize("expert", [False, True])
def test_ctrl_c_saves_the_policy_so_far(corridor, tmp_path, expert, monkeypatch, capsys):
    write_episodes(tmp_path / "shown", [demonstrated()])
    source = {"expert": True} if expert else {"demonstrations": str(tmp_path / "shown")}
    config = replaced(QUICK, **source, steps=400, run_dir=str(tmp_path / "my run"))
    learn, trained, folder = Student.update, [], Path(config.run_dir)
    monkeypatch.setattr("retro_agents.ground.files.PATIENCE", 0.0)

    def update(student, demonstrations):
        if student.updates == 6:
            with pytest.raises(UserError, match="another process writes"), alone_in(folder):
                pass
            os.kill(os.getpid(), signal.SIGINT)
        trained[:] = [student]
        return learn(student, demonstrations)

    monkeypatch.setattr(Student, "update", update)
    with pytest.raises(KeyboardInterrupt, match=f"--init '{config.run_dir}' and another"):
        clone(config, Lessons(config, corridor(2), Guide()) if expert else None)
    assert "saving a checkpoint" in capsys.readouterr().err
    assert trained[0].updates == 7
    weights = load_agent(config.run_dir).net.state_dict()
    assert all(torch.equal(weights[k], v) for k, v in trained[0].agent.net.state_dict().items())
    assert read_columns(tmp_path / "my run/metrics.csv")["accuracy"].shape == (1,)
    (start,) = provenance.read(tmp_path / "my run")
    assert start["agent"] == "ppo2" and start["ended"]


def test_ctrl_c_while_much_is_played_ends_after_that_step(corridor, tmp_path, monkeypatch):
    config = replaced(QUICK, expert=True, steps=4_000, updates=2, run_dir=str(tmp_path / "run"))
    real, steps = Lessons.play, []

    def press(lessons, student):
        real(lessons, student)
        steps.append(student.updates)
        if len(steps) == 5:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Lessons, "play", press)
    with pytest.raises(KeyboardInterrupt, match="its policy is saved"):
        clone(config, Lessons(config, corridor(2), Guide()))
    assert steps == [0, 1, 1, 1, 1]


def test_losses_are_those_of_the_known_rows_alone():
    logits = torch.tensor([[1.0, 0.0, -1.0], [0.0, 2.0, 0.0], [3.0, 0.0, 0.0]])
    actions, values = torch.tensor([0, -1, 2]), torch.tensor([1.0, 2.0, 3.0])
    returns = torch.tensor([0.5, torch.nan, 5.0])
    weights = torch.tensor([1.0, 1.0, 0.5])
    entropy, errors = cloning_losses(logits, values, actions, returns, weights=weights)
    probs = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(1, keepdims=True)
    assert float(entropy) == pytest.approx(-(np.log(probs[0, 0]) + 0.5 * np.log(probs[2, 2])) / 2)
    assert float(errors) == pytest.approx((0.5**2 + 2.0**2) / 2 / 2)
    unknown = torch.full((3,), -1), torch.full((3,), torch.nan)
    nothing = cloning_losses(logits, values, *unknown, weights=weights)
    assert [float(loss) for loss in nothing] == [0.0, 0.0]


def test_rare_actions_count_for_more_and_all_steps_for_one_on_average():
    counts = np.array([90, 10, 0])
    weights = action_weights(counts, balance=0.5).double().numpy()
    assert weights[1] / weights[0] == pytest.approx(3.0)  # a ninth as frequent
    assert (weights * counts).sum() / 100 == pytest.approx(1.0)
    assert np.isfinite(weights).all()
    assert action_weights(counts, balance=0.0).tolist() == [1.0, 1.0, 1.0]
    assert action_weights(np.zeros(3, int), balance=0.5).tolist() == [1.0, 1.0, 1.0]


def test_a_step_goes_against_the_gradient_of_both_losses_at_a_rate_that_falls_to_0(monkeypatch):
    config = replaced(QUICK, updates=4, learning_rate=0.4, balance=0.5, value_weight=0.7)
    shown = of_episodes([demonstrated(), demonstrated()], config.env, gamma=0.9)
    student = Student(config)
    student.updates, net = 3, student.agent.net
    student.optimiser = torch.optim.SGD(net.parameters(), lr=1.0)
    before = [weights.detach().clone() for weights in net.parameters()]
    drawn = shown.sample(32, np.random.default_rng(1))
    monkeypatch.setattr(shown, "sample", lambda *_: drawn)
    images, actions, returns = map(torch.from_numpy, drawn)
    starts = torch.ones(32, dtype=torch.bool)
    logits, values, _ = net(images, state=torch.zeros(32, 0), starts=starts)
    weights = action_weights(shown.counts, balance=0.5)
    policy, value = cloning_losses(logits, values, actions, returns, weights=weights)
    gradients = torch.autograd.grad(policy + 0.7 * value, list(net.parameters()))
    student.update(shown)
    for was, gradient, now in zip(before, gradients, net.parameters(), strict=True):
        torch.testing.assert_close(was - now.detach(), 0.1 * gradient, rtol=1e-3, atol=1e-6)


def test_the_expert_plays_all_at_first_and_its_share_at_the_end(corridor):
    lessons = Lessons(
        replaced(QUICK, expert=True, steps=80, expert_share=0.2), corridor(2), Guide()
    )
    shares = []
    for lessons.demonstrations.filled in (0, 20, 40):
        shares.append(lessons.share())
    assert shares == pytest.approx([1.0, 0.6, 0.2])


def test_what_cannot_be_learned_from_is_refused(tmp_path):
    write_episodes(tmp_path / "blind", [demonstrated(frames=None)])
    write_episodes(tmp_path / "other", [demonstrated(frame_skip=2)])
    write_episodes(tmp_path / "unnamed", [demonstrated(action_names=NAMES[:1])])
    for source, complaint in (
        (tmp_path / "blind", "1 recorded episodes, 0 of them with frames"),
        (tmp_path / "other", "frame_skip 2"),
        (tmp_path / "unnamed", "of an episode with 1 actions: it is damaged"),
        ("rainbow/pretrained", "holds no recorded episodes: `retro-agents record"),
    ):
        config = replaced(QUICK, demonstrations=str(source), run_dir=str(tmp_path / "run"))
        with pytest.raises(UserError, match=complaint):
            clone(config)


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "give either --demonstrations FOLDER or --expert"),
        (["--demonstrations", ","], "--demonstrations , names no folder"),
        (["--demonstrations", "x", "--steps", "5"], "--steps has no effect without --expert"),
        (["--demonstrations", "x", "--num-envs", "3"], "--num-envs has no effect without"),
        (["--demonstrations", "x", "--expert-share", "0.3"], "--expert-share has no effect"),
        (["--expert", "--levels", "bramble-test"], "BrambleWood.Act3 is held out"),
        (["--expert", "--levels", "sonic-train"], "no expert for Sonic"),
        (["--expert", "--levels", "procgen:coinrun"], "no expert for Procgen"),
        (["--expert", "--actions", "10"], "seven actions"),
    ],
)
def test_what_cannot_be_cloned_is_refused_in_a_line(refused, tmp_path, flags, complaint):
    assert complaint in refused(main, [*flags, "--run-dir", str(tmp_path / "run")])
