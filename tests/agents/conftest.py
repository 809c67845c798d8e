"""A tiny run of each agent, for all tests that only read it."""

from functools import cache

import pytest

from tests.agents.tiny import train


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """Agent's name -> the trained agent, and its run's folder."""

    @cache
    def run_of(agent):
        folder = tmp_path_factory.mktemp(agent)
        return train(agent, folder, "--run-dir", folder), folder

    return run_of
