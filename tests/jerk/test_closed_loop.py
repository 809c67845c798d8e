"""Replays under forced delays: counting steps fails, looking where one is holds."""

import dataclasses

import numpy as np
import pytest

from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.learner import Shares, find_moves
from jerk.play import Play, replay

RIGHT, JUMP, WAIT = 1, 6, 4
CLOSED = JerkConfig(
    image_height=36, image_width=36, closed_loop=True, go_on=True, choice="bound", device="cpu"
)
OPEN = dataclasses.replace(CLOSED, closed_loop=False)
PLAN = np.array(
    [WAIT] * 2  # at 0
    + [RIGHT] * 6 + [JUMP] + [RIGHT] * 3  # over the hole at 7, to 10
    + [WAIT] * 2
    + [RIGHT] * 2 + [JUMP] + [RIGHT] * 6 + [JUMP]  # over 13, 20
    + [WAIT] * 3  # at 20
    + [RIGHT] * 5 + [JUMP] + [RIGHT] * 4,  # over 26, to 30
    np.uint8,
)  # fmt: skip
# The changes of action in order; which of them may come late without a fall at once.
CHANGES = [
    *("walk", "jump", "walk", "wait", "walk", "jump"),
    *("walk", "jump", "wait", "walk", "jump", "walk"),
]
LATE = {
    "on time": (),
    "the first step": (True,),
    "the second walk": (False,) * 4 + (True,),
    "a wait": (False,) * 3 + (True,),
    "both walks": (True,) + (False,) * 3 + (True,),
}


def agent_that_knows_the_way(course, config):
    """It has played the plan once, without a delay."""
    agent = JerkAgent(config)
    see = JerkAgent(CLOSED).embedder
    envs, rows, rewards = course(1), [], []
    obs, _ = envs.reset()
    agent.sequences.starts["course"] = obs[0].copy()
    for action in PLAN:
        rows.append(see(obs)[0].astype(np.float16))
        obs, reward, *_ = envs.step(np.array([action]))
        rewards.append(float(reward[0]))
    assert sum(rewards) == 30.0
    embeddings = np.stack(rows) if config.closed_loop else None
    agent.sequences.add("course", PLAN, 30.0, embeddings=embeddings)
    return agent


def replayed(course, config, late):
    """The return of a replay within a run, and how often it was not where it expected to be."""
    agent = agent_that_knows_the_way(course, config)
    play: Play = replay("course", agent.sequences.best("course"))
    envs, random, moves = course(1, late=late), np.random.default_rng(0), find_moves(7)
    obs, _ = envs.reset()
    moved = 0
    while True:
        seen = agent.embedder(obs)[0] if agent.embedder is not None else None
        expected = play.pointer
        action = play.next_action(random, moves=moves, config=config, shares=Shares(), seen=seen)
        moved += play.pointer != expected + 1
        action = play.fallback if action < 0 else action
        obs, reward, _, _, infos = envs.step(np.array([action]))
        play.add(action, float(reward[0]))
        if "episode" in infos:
            return float(infos["episode"]["r"][0]), moved


def acted(course, config, late):
    """The return of the agent alone, as in an evaluation."""
    agent = agent_that_knows_the_way(course, config)
    envs = course(1, late=late)
    obs, _ = envs.reset()
    while True:
        obs, _, _, _, infos = envs.step(agent.act(obs))
        if "episode" in infos:
            return float(infos["episode"]["r"][0])


def test_the_plan_is_what_its_changes_say():
    names = {RIGHT: "walk", JUMP: "jump", WAIT: "wait"}
    edges = np.flatnonzero(np.diff(PLAN)) + 1
    assert [names[int(PLAN[edge])] for edge in edges] == CHANGES


@pytest.mark.parametrize("late", LATE.values(), ids=LATE.keys())
def test_closed_loop_holds_where_actions_come_late(course, late):
    value, moved = replayed(course, CLOSED, late)
    assert value == 30.0 and (moved > 0) == bool(late)
    assert acted(course, CLOSED, late) == 30.0


@pytest.mark.parametrize("late", LATE.values(), ids=LATE.keys())
def test_open_loop_fails_where_actions_come_late(course, late):
    assert (replayed(course, OPEN, late)[0] == 30.0) == (not late)
    assert (acted(course, OPEN, late) == 30.0) == (not late)


def test_a_replay_that_sees_nothing_it_knows_asks_and_is_left_in_the_end(course):
    agent = agent_that_knows_the_way(course, CLOSED)
    config = dataclasses.replace(CLOSED, lost_steps=5)
    play = replay("course", agent.sequences.best("course"))
    strange = agent.embedder(np.full((1, 4, 36, 36), 99, np.uint8))[0]
    random, moves = np.random.default_rng(0), find_moves(7)
    actions = []
    for _ in range(8):
        action = play.next_action(random, moves=moves, config=config, shares=Shares(), seen=strange)
        actions.append(action)
        play.add(max(action, 0), 0.0)
    assert [action < 0 for action in actions] == [True] * 6 + [False] * 2
    assert play.exploring and play.shared == 0.0
