"""PPO2's flags and presets."""

import json

import pytest

from ppo2.config import PPO2Config
from ppo2.train import parse
from retro_agents.ground.errors import UserError
from retro_agents.nets.actor_critic import make_actor_critic
from tests.agents.tiny import untrained
from trpo.train import parse as parse_trpo


def said_to(*words):
    with pytest.raises(UserError) as error:
        parse(list(words))
    assert r"\n" not in str(error.value)
    return str(error.value)


def test_a_whole_number_given_in_python_is_a_float_where_that_is_meant():
    assert isinstance(PPO2Config(kl_penalty=1).kl_penalty, float)


PROCGEN = "--levels procgen:coinrun,maze,heist"
OTHERS = "it is for platform games"
REFUSED = [
    (f"{PROCGEN} --num-timesteps 1", "flag --num-timesteps; did you mean '--timesteps'?"),
    (f"{PROCGEN} --batch-size 1", "num_envs x rollout_steps / --minibatches rows"),
    (f"{PROCGEN} --use_sequential_levels 1", "EnvPool draws levels at random, never in order"),
    ("--rnd 1 --gamma 1", "gamma 1: "),
    ("--rnd 1 --rnd-values two --rnd-gamma 1", "rnd_gamma 1: "),
    (f"{PROCGEN} --novelty 1", "which Procgen lacks"),
    (f"{PROCGEN} --detour-after 9", "--detour-after is for platform games, with an action B"),
    (f"{PROCGEN} --sight-every 1000 --sight-episodes 34", "3 games need one each"),
    (f"{PROCGEN} --image-height=36", f"unknown flag --image-height; {OTHERS}"),
    (f"{PROCGEN} --frame_skip=4", f"unknown flag --frame-skip; {OTHERS}"),
    (f"{PROCGEN} --no-backtracking", f"unknown flag --no-backtracking; {OTHERS}"),
    ("--num-levels 1", "--num-levels; it is for Procgen (--levels procgen:GAME)"),
    ("--timeouts 1", "--timeouts; it is for Procgen (--levels procgen:GAME)"),
    ("--use-backgrounds", "did you mean '--backgrounds'"),
]


@pytest.mark.parametrize(("flags", "said"), REFUSED)
def test_what_it_does_not_take_is_answered_in_one_line(flags, said):
    assert said in said_to(*flags.split())


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


@pytest.mark.parametrize(
    ("agent", "flags"),
    [("ppo2", {}), ("trpo", {}), ("trpo", {"critic": "untrained", "update": "penalty"})],
)
@pytest.mark.parametrize(("initialisation", "wide"), [("xavier", False), ("xavier-all", True)])
def test_xavier_weights_reach_the_outputs_where_all_are_asked_for(
    agent, flags, initialisation, wide
):
    net = untrained(agent, hidden=32, initialisation=initialisation, **flags).net
    head = getattr(net, "head", net)
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
