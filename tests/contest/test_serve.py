"""The command, in a process of its own, on the cartridge."""

import contextlib
import json
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from retro_agents.contest.wire.client import RemoteEnv
from retro_agents.contest.wire.limits import parse_seconds
from retro_agents.contest.wire.protocol import ServerDisconnectError, TimestepTimeoutError
from retro_agents.games.retro.config import SEVEN, EnvConfig
from retro_agents.games.retro.emulator import BUTTON_NAMES
from retro_agents.games.retro.levels import parse_levels
from retro_agents.games.retro.make import make_env, wrap_agent
from retro_agents.ground.errors import UserError
from tests.runs import ROOT

LEVEL = parse_levels("bramble-test")[0]


def command(folder, *flags):
    words = [sys.executable, "-m", "retro_agents.contest.serve", LEVEL.game, LEVEL.state]
    return [*words, "--dir", str(folder), *flags]


@contextlib.contextmanager
def serving(folder, *flags):
    words = command(folder, "--seed", "5", *flags)
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def remote(folder):
    return wrap_agent(RemoteEnv(folder, level=str(LEVEL)), EnvConfig())


def read_result(folder):
    return json.loads((folder / "result.json").read_text())


@pytest.mark.parametrize("backend", ["native", "emulator"])
def test_cartridge_is_played_through_the_socket_exactly_as_locally(tmp_path, backend):
    folder = tmp_path / "shared"
    flags = [] if backend == "native" else ["--backend", backend]
    with serving(folder, "--timesteps", "120", *flags) as process:
        env, local = remote(folder), make_env(LEVEL, EnvConfig(backend="emulator"))
        try:
            assert np.array_equal(env.reset()[0], local.reset(seed=5)[0])
            for action in np.random.default_rng(0).integers(7, size=120):
                obs, *outcome, info = env.step(int(action))
                expected, *local_outcome, local_info = local.step(int(action))
                assert np.array_equal(obs, expected)
                assert outcome == local_outcome
                assert info.get("episode_record") == local_info.get("episode_record")
                if outcome[1]:
                    assert np.array_equal(env.reset()[0], local.reset()[0])
            with pytest.raises(TimestepTimeoutError):
                env.reset() if outcome[1] else env.step(0)
        finally:
            local.close()
        output = process.communicate()[0]
    assert process.returncode == 0
    assert "all 120 timesteps" in output
    result = read_result(folder)
    assert (result["level"], result["seed"], result["steps"]) == (str(LEVEL), 5, 120)
    assert result["backend"] == backend
    rows = (folder / "monitor.csv").read_text().splitlines()[1:]
    assert sum(int(row.split(",")[1]) for row in rows) == 120
    returns = [float(row.split(",")[0]) for row in rows]
    assert result["mean_return"] == pytest.approx(np.mean(returns))


def test_the_pages_client_plays_to_the_last_step_and_its_numbers_are_the_protocols(tmp_path):
    page = (ROOT / "docs" / "reference" / "protocol.md").read_text()
    (code,) = re.findall(r"```python\n(# client\.py.*?)```", page, re.S)
    (tmp_path / "client.py").write_text(code)
    with serving(tmp_path / "shared", "--timesteps", "60") as server:
        assert "waiting for an agent" in server.stdout.readline()
        words = [sys.executable, "-ISE", "client.py", "shared"]
        said = subprocess.check_output(words, cwd=tmp_path, text=True, timeout=60)
    assert said == "all 60 timesteps are played\n"
    result = read_result(tmp_path / "shared")
    assert result["steps"] == 60 and result["mean_return"] > 300.0  # it runs
    assert f"| button | {' | '.join(BUTTON_NAMES)} |" in page
    actions = [sum(1 << BUTTON_NAMES.index(name) for name in own.split()) for own in SEVEN]
    assert f"are {', '.join(map(str, actions[:-1]))} and {actions[-1]} ({', '.join(SEVEN)})" in page


def test_stopped_server_tells_the_agent_and_completes_its_records(tmp_path):
    folder, results = tmp_path / "shared", tmp_path / "results"
    with serving(folder, "--results", str(results), "--record") as process:
        env = remote(folder)
        env.reset()
        for _ in range(5):
            env.step(1)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(ServerDisconnectError):
            for _ in range(4000):
                env.step(2)
        assert process.wait() == 143
    result = read_result(results)
    assert result["episodes"] == 1
    assert result["steps"] >= 5
    assert "stopped" in result["ended"]
    assert len(list((results / "bk2").glob("*.bk2"))) == 1


def test_server_on_a_leash_does_not_wait_when_its_starter_has_gone(tmp_path):
    words = command(tmp_path / "shared", "--results", str(tmp_path / "results"), "--leash")
    done = subprocess.run(words, stdin=subprocess.DEVNULL, timeout=120, check=False)
    # In order, or by the signal itself if it comes before the server waits.
    assert done.returncode in (143, -signal.SIGTERM)


def test_lengths_of_time_are_read_and_others_refused():
    assert [parse_seconds(text) for text in ("12h", "1.5m", "7s", "8")] == [43200, 90, 7, 8]
    for text in ("", "soon", "-1h", "1d", "nan"):
        with pytest.raises(UserError, match="length of time"):
            parse_seconds(text)
