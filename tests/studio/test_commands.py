"""The commands that a run's page offers to copy."""

import pytest

from retro_agents.studio.commands import NEED_NETS, commands
from tests.studio.runs import make_run


@pytest.mark.parametrize(
    ("levels", "agent", "lacks", "evaluates"),
    [
        ("bramble-train", "ppo2", "", "retro-agents evaluate"),
        ("bramble-train", "jerk", "Export its net", "retro-agents evaluate"),
        ("bramble-train", "", "Resume it", "retro-agents evaluate"),
        *(
            (levels, "ppo2", "Watch it in a window", "retro-agents procgen evaluate")
            for levels in ("procgen:coinrun", "Procgen:CoinRun")
        ),
    ],
)
def test_commands_are_those_that_work(tmp_path, levels, agent, lacks, evaluates):
    run = make_run(tmp_path / "one", levels=levels)
    found = commands(run, agent, "", saved=True)
    others = {"Resume it", "Export its net", "Watch it in a window"}
    assert others - found.keys() == {lacks} - {""}
    assert found["Evaluate it"] == f"{evaluates} {run}"
    assert found["Film it"] == f"{evaluates} {run} --video"
    assert not NEED_NETS & commands(run, agent, "", saved=False).keys()


@pytest.mark.parametrize(
    ("begun", "agent", "shown"),
    [
        ("train.py --seed 1", "ppo2", "python -m ppo2.train --seed 1"),
        ("clone.py --expert", "ppo2", "python -m ppo2.clone --expert"),
        (clone := "python -m ppo2.clone --expert", "ppo2", clone),
        ("master.py --seed 1", "es", "python -m es.master --seed 1"),
        (line := "retro-agents train ppo2 --run-dir 'my run'", "ppo2", line),
        ("echo;\ncurl x | sh", "ppo2", "'echo;' curl x '|' sh"),
        ("'", "ppo2", None),
    ],
)
def test_what_started_a_run_is_one_command(tmp_path, begun, agent, shown):
    found = commands(make_run(tmp_path / "one"), agent, begun, saved=True)
    assert found.get("Started with") == shown
    assert ("Resume it" in found) == ("clone" not in begun)
