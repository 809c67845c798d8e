"""The README's lines and the notebook's cells run as they stand, the agent for fewer steps."""

import json
import re

import numpy as np
import pytest

from tests.runs import ROOT


def run(code, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)  # a shipped agent is found from any folder
    names: dict = {}
    exec(code, names)
    for env in ("env", "envs"):
        if hasattr(names.get(env), "close"):
            names[env].close()
    return names


def test_the_readmes_ten_lines(monkeypatch, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(code.strip().splitlines()) <= 10
    names = run(code.replace('-v0")', '-v0", episode_steps=5)'), monkeypatch, tmp_path)
    assert names["obs"].shape == (4, 84, 84) and names["obs"].dtype == np.uint8


def test_the_lines_that_show_the_contract(monkeypatch, tmp_path):
    (code,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "retro_agents/contract/README.md").read_text(), re.S
    )
    assert run(code, monkeypatch, tmp_path)["rewards"].shape == (8,)


def test_the_notebooks_cells(monkeypatch, tmp_path):
    pytest.importorskip("stable_baselines3")
    cells = json.loads((ROOT / "docs/library.ipynb").read_text())["cells"]
    cells = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(cell["outputs"] for cell in cells)
    code = "\n".join("".join(cell["source"]) for cell in cells).replace("range(60)", "range(5)")
    assert run(code, monkeypatch, tmp_path)["model"].num_timesteps == 64
