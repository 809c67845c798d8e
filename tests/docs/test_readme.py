"""The README's lines run as they stand, the agent for fewer steps."""

import re

import numpy as np

from tests.runs import ROOT


def test_the_readmes_ten_lines(monkeypatch, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(code.strip().splitlines()) <= 10
    monkeypatch.chdir(tmp_path)  # a shipped agent is found from any folder
    names: dict = {}
    exec(code.replace('-v0")', '-v0", episode_steps=5)'), names)
    names["env"].close()
    assert names["obs"].shape == (4, 84, 84) and names["obs"].dtype == np.uint8
