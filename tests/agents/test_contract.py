"""What every agent package offers: a folder with an agent.py at the top of the repository."""

import dataclasses
import importlib
import inspect
import json
from contextlib import contextmanager
from typing import Any

import pytest

from retro_agents.contract.envs import EnvSettings
from retro_agents.experience.actors import ActorSettings
from retro_agents.games.families import env_settings
from retro_agents.ground.errors import UserError
from retro_agents.run.agents import AGENTS as NAMED
from retro_agents.run.agents import find, is_package
from retro_agents.run.checkpoint import load_checkpoint, save_checkpoint
from retro_agents.run.command_line import load_config
from retro_agents.run.config import flat, from_dict, preset_names, replaced, to_dict
from retro_agents.run.fields import ROLES, fields, flag_of, places, sections
from retro_agents.run.flags import texts
from retro_agents.run.settings import RunSettings
from tests.agents.tiny import AGENTS, ROOT, tiny
from tests.conftest import Corridor


def test_agents_are_found():
    assert set(NAMED) <= set(AGENTS) and all(map(is_package, AGENTS))
    assert not is_package("retro_agents") and not is_package("no_such_package")


@pytest.mark.parametrize("agent", AGENTS)
def test_package_has_the_six_files(agent):
    for name in ("README.md", "config.py", "agent.py", "learner.py", "train.py"):
        assert (ROOT / agent / name).is_file(), name
    remembers_as_others_do = agent in ("ppo2", "rainbow", "sac", "trpo")
    assert (ROOT / agent / "memory.py").is_file() != remembers_as_others_do


@pytest.mark.parametrize("agent", AGENTS)
def test_package_keeps_to_the_protocol(agent):
    package = find(agent)
    build, load = (package.part("agent", name) for name in ("build", "load"))
    assert list(inspect.signature(build).parameters) == ["config", "weights", "device"]
    assert list(inspect.signature(load).parameters) == ["folder", "device"]
    assert list(inspect.signature(package.run).parameters)[:4] == [
        "envs",
        "config",
        "run_dir",
        "init",
    ]
    assert package.PRESETS.is_dir()


@pytest.mark.parametrize("agent", AGENTS)
def test_config_has_the_two_sections_and_repeats_none_of_their_fields(agent):
    config = find(agent).Config()
    assert config.__dataclass_params__.frozen
    assert isinstance(config.run, RunSettings) and isinstance(config.env, EnvSettings)
    assert config.env == env_settings().default_factory()
    names = [f.name for part in (config, config.run, config.env) for f in dataclasses.fields(part)]
    assert len(names) == len(set(names))


def configs(agent):
    """An agent's default config, and the one for Procgen where it can play that."""
    config = find(agent).Config()
    others = agent not in ("es", "jerk")
    return [config, *[replaced(config, levels="procgen:coinrun") for _ in range(others)]]


@pytest.mark.parametrize("agent", AGENTS)
def test_every_field_has_a_role_and_says_what_it_is(agent):
    for config in configs(agent):
        assert fields(config, *ROLES) == list(places(config))
        for name, place in places(config).items():
            assert texts(place.owner).get(name), f"{name} is not explained"


@pytest.mark.parametrize("agent", AGENTS)
def test_what_other_programs_call_a_field_is_answered_with_it(agent):
    package = find(agent)
    for config in configs(agent):
        for name, place in places(config).items():
            for other in {*place.says("other_names")} - places(config).keys():
                words = ["--levels", config.run.levels, f"--{other}", "1"]
                with pytest.raises(UserError, match=f"did you mean '{flag_of(name)}'"):
                    load_config(package.Config, words, presets=package.PRESETS, command="")


@pytest.mark.parametrize("agent", AGENTS)
def test_what_a_field_is_read_with_are_fields_beside_it(agent):
    here = places(find(agent).Config)
    for place in here.values():
        others = (*place.says("only_with", ()), place.says("without", ""))
        assert {other.partition("=")[0] for other in others if other} <= here.keys()


@pytest.mark.parametrize("agent", AGENTS)
def test_every_preset_loads(agent):
    package = find(agent)
    for name in preset_names(package.PRESETS):
        config = load_config(
            package.Config, ["--preset", name], presets=package.PRESETS, command=""
        )
        assert from_dict(package.Config, to_dict(config)) == config


@pytest.mark.parametrize("agent", AGENTS)
def test_a_config_reads_back_nested_and_flat(agent):
    config = replaced(tiny(agent), timesteps=7, frame_skip=3)
    stored = json.loads(json.dumps(to_dict(config)))
    assert stored["run"]["timesteps"] == 7 and stored["env"]["frame_skip"] == 3
    assert from_dict(find(agent).Config, stored) == config
    assert from_dict(find(agent).Config, flat(stored)) == config


@pytest.mark.parametrize("agent", AGENTS)
def test_a_checkpoint_of_another_version_is_named(agent, tmp_path):
    config = {**to_dict(tiny(agent)), "lost": 1}
    save_checkpoint(tmp_path, agent=agent, config=config, tensors={})
    said = rf"{tmp_path}/step-0+ was saved by another version of {agent} \(unknown field 'lost'"
    with pytest.raises(UserError, match=said):
        find(agent).load(tmp_path)


@pytest.mark.parametrize("agent", AGENTS)
def test_a_config_and_each_of_its_sections_refuse_a_value_of_another_kind(agent):
    config = tiny(agent)
    for part in [config, *(getattr(config, name) for name in sections(config))]:
        name = next(one.name for one in dataclasses.fields(part) if one.name not in sections(part))
        with pytest.raises(UserError, match=name):
            dataclasses.replace(part, **{name: object()})


def test_environments_that_cannot_be_shared_evenly_are_refused():
    ActorSettings(actors=2).check_share(4)
    ActorSettings().check_share(3)
    for number in (0, 3):
        with pytest.raises(UserError, match="a multiple of 2"):
            ActorSettings(actors=2).check_share(number)


def extended(agent):
    """A `Training` of another name, with an agent and a learner of its own."""
    training: Any = importlib.import_module(f"{agent}.training").Training
    own = type("Own", (training.agent_type,), {"name": "own"})
    learner = type("Learner", (training.learner_type,), {})

    class Extended(training):
        name, agent_type, learner_type = "own", own, learner

        def save(self, *given, **named):
            assert type(self.learner) is learner
            super().save(*given, **named)

    return Extended


@pytest.mark.parametrize("agent", ["impala", "ppo2", "rainbow", "sac", "trpo"])
def test_a_run_trains_and_resumes_what_extends_its_agent(agent, tmp_path):
    training, run = extended(agent), find(agent).run
    for more in ({}, {"timesteps": 80, "resume": True}):
        config = replaced(tiny(agent), **more)
        found = run(Corridor(2), config, tmp_path, training_type=training)
        assert type(found) is training.agent_type
    assert load_checkpoint(tmp_path).agent == "own"


@pytest.mark.parametrize("agent", ["impala", "rainbow"])
def test_actors_have_the_agent_of_their_run(agent, monkeypatch):
    training, actors = extended(agent), importlib.import_module(f"{agent}.actors")
    made: list[Any] = []

    @contextmanager
    def here(make, *_, **__):
        yield made.append(make(0, 0))

    monkeypatch.setattr(actors, "ray_actors", here)
    monkeypatch.setattr(actors, "make_for", lambda *_, **__: Corridor(2))
    config = tiny(agent, "--actors", "1")
    with actors.playing(training(config, *[2] * (agent == "rainbow")), None, None):
        (actor,) = made
        assert type(getattr(actor, "training", actor).agent) is training.agent_type
