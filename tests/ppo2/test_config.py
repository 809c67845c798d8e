"""PPO2's flags and presets."""

import json

import pytest
import torch

from ppo2.config import PPO2Config
from ppo2.train import parse
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import make_actor_critic
from trpo.train import parse as parse_trpo


def said_to(*words):
    with pytest.raises(UserError) as error:
        parse(list(words))
    assert r"\n" not in str(error.value)
    return str(error.value)


def test_a_whole_number_given_in_python_is_a_float_where_that_is_meant():
    assert isinstance(PPO2Config(kl_penalty=1).kl_penalty, float)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("num_timesteps", "did you mean '--timesteps'?"),
        ("batch_size", "a minibatch has num_envs x rollout_steps / --minibatches rows"),
        ("use_sequential_levels", "EnvPool draws levels at random, never in order"),
    ],
)
def test_a_flag_of_another_program_is_answered(name, said):
    expected = f"unknown flag --{name.replace('_', '-')}; {said}"
    assert said_to("--levels", "procgen:coinrun", f"--{name}", "1") == expected


@pytest.mark.parametrize(
    ("flags", "field"), [([], "gamma"), (["--rnd-values", "two"], "rnd_gamma")]
)
def test_a_bonus_without_end_is_refused(flags, field):
    assert f"{field} 1: " in said_to("--rnd", "1", f"--{field}", "1", *flags)


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--novelty", "1"], "which Procgen lacks"),
        (["--detour-after", "9"], "--detour-after is for platform games, with an action B"),
        (["--sight-every", "1000", "--sight-episodes", "34"], "3 games need one each"),
    ],
)
def test_what_procgens_games_cannot_give_is_refused(flags, why):
    assert why in said_to("--levels", "procgen:coinrun,maze,heist", *flags)


def test_a_flag_of_the_other_games_says_so():
    procgen = ["--levels", "procgen:coinrun"]
    for flag in ("--image-height=36", "--frame_skip=4", "--no-backtracking"):
        ours = flag.partition("=")[0].replace("_", "-")
        assert f"unknown flag {ours}; it is for platform games" in said_to(*procgen, flag)
    for flag in ("--num-levels", "--timeouts"):
        assert f"{flag}; it is for Procgen (--levels procgen:GAME)" in said_to(flag, "1")
    assert "did you mean '--backgrounds'" in said_to("--use-backgrounds")


def test_a_field_of_the_other_games_in_a_file_says_so(tmp_path):
    (tmp_path / "a.yaml").write_text("num_levels: 3\n")
    said = said_to("--config", str(tmp_path / "a.yaml"))
    assert "unknown field 'num_levels' for PPO2Config; it is for Procgen" in said


@pytest.mark.parametrize(
    ("preset", "count"), [("procgen-easy", 626_256), ("procgen-competition", 410_352)]
)
def test_nets_have_as_many_parameters_as_the_published_ones(preset, count):
    net = make_actor_critic(parse(["--preset", preset]))
    assert sum(weights.numel() for weights in net.parameters()) == count


@pytest.mark.parametrize(("initialisation", "wide"), [("xavier", False), ("xavier-all", True)])
def test_xavier_weights_reach_the_outputs_where_all_are_asked_for(initialisation, wide):
    flags = ["--encoder", "data-efficient", "--hidden", "32", "--initialisation", initialisation]
    torch.manual_seed(0)
    head = make_actor_critic(parse([*flags, "--levels", "bramble-train"])).head
    for layer in (head.policy, head.value):  # orthogonal ones have 0.01 and 1 a unit
        bound, weights = (6 / (32 + layer.out_features)) ** 0.5, layer.weight.detach()
        assert (float(weights.square().mean()) == pytest.approx(bound**2 / 3, rel=0.2)) == wide


OURS = {
    "total_steps": "timesteps",
    "num_steps": "rollout_steps",
    "num_epochs": "epochs",
    "grad_eps": "gradient_norm",
    "feature_dim": "hidden",
    "lr": "learning_rate",
    "name": "run_dir",
}
"""Names in a file of NielsFuglsang/02456-Deep-Learning, and ours."""
PPO2 = {"eps": "clip", "value_coef": "value_weight", "entropy_coef": "entropy_weight"}


@pytest.mark.parametrize(("parse", "has"), [(parse, PPO2), (parse_trpo, {"beta": "penalty"})])
def test_a_file_with_the_courses_names_is_answered_at_once(parse, has, tmp_path):
    path = tmp_path / "400levels.json"
    path.write_text(json.dumps(dict.fromkeys([*OURS, *has, "batch_size"], 1)))
    with pytest.raises(UserError) as error:
        parse(["--levels", "procgen:starpilot", "--config", str(path)])
    first, *others = str(error.value).split("; ")[1:]
    told = {"total_steps": first}
    told |= {name.strip("'"): text for name, _, text in (one.partition(": ") for one in others)}
    wanted = {name: f"did you mean {ours!r}?" for name, ours in {**OURS, **has}.items()}
    assert wanted.items() <= told.items()
    assert "num_envs x rollout_steps" in told["batch_size"]
