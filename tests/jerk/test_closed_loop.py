"""Replays under forced delays: counting steps fails, looking where one is holds."""

import numpy as np
import pytest

from experiment.config import replaced
from jerk.agent import JerkAgent
from jerk.config import JerkConfig
from jerk.learner import Shares, find_moves
from jerk.memory import Sequence, Sequences
from jerk.play import Plan, Play, finish
from jerk.policy import Policy
from jerk.train import Training
from retro_env.config import SEVEN

RIGHT, JUMP, WAIT = 1, 6, 4
MOVES = find_moves(SEVEN)
CLOSED = replaced(
    JerkConfig(), image_height=36, image_width=36, closed_loop=True, go_on=True, device="cpu"
)
OPEN = replaced(CLOSED, closed_loop=False)
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


def next_action(play, random, *, config, seen):
    """What `play` does now; no other sequence is there to go on with."""
    return play.next_action(
        random, moves=MOVES, config=config, shares=Shares(), sequences=Sequences(1), seen=seen
    )


def replay(level, sequence):
    return Play(level, "replay", Plan.of(sequence))


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
    envs, random = course(1, late=late), np.random.default_rng(0)
    obs, _ = envs.reset()
    moved = 0
    while True:
        seen = agent.embedder(obs)[0] if agent.embedder is not None else None
        expected = play.plan.pointer
        action = next_action(play, random, config=config, seen=seen)[0]
        moved += play.plan.pointer != expected + 1
        obs, reward, _, _, infos = envs.step(np.array([action]))
        play.add(action, float(reward[0]))
        if "episode_record" in infos:
            return float(infos["episode_record"]["r"][0]), moved


def acted(course, config, late):
    """The return of the agent alone, as in an evaluation."""
    agent = agent_that_knows_the_way(course, config)
    envs = course(1, late=late)
    obs, _ = envs.reset()
    while True:
        obs, _, _, _, infos = envs.step(agent.act(obs))
        if "episode_record" in infos:
            return float(infos["episode_record"]["r"][0])


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
    config = replaced(CLOSED, lost_steps=5)
    play = replay("course", agent.sequences.best("course"))
    strange = agent.embedder(np.full((1, 4, 36, 36), 99, np.uint8))[0]
    random = np.random.default_rng(0)
    actions, asked = [], []
    for _ in range(8):
        action, who = next_action(play, random, config=config, seen=strange)
        actions.append(action)
        asked.append(who)
        play.add(action, 0.0)
    assert asked == ["memory"] * 6 + ["rule"] * 2
    assert actions[:6] == PLAN[:6].tolist() and play.plan.departed == 6


def test_a_lost_replay_looks_farther_and_farther():
    """It starts five steps farther on than its window reaches, among steps that all differ."""
    rows = np.eye(60, dtype=np.float16)
    source = Sequence(0, np.arange(60, dtype=np.uint8) % 7, [1.0], rows)
    config = replaced(CLOSED, window=3, match_steps=0.5)
    play, random = replay("course", source), np.random.default_rng(0)
    found = []
    for step in range(12):
        seen = rows[step + 8].astype(np.float32)
        action, who = next_action(play, random, config=config, seen=seen)
        found.append(who == "rule")
        play.add(action, 0.0)
    assert found == [False] * 5 + [True] * 7  # 5 steps lost: the window reaches 3 + 5
    assert play.plan.pointer == 20


@pytest.mark.parametrize("skips", [False, True])
def test_a_sequence_gets_no_embeddings_of_a_replay_that_skipped_steps(course, skips):
    """Its own are dropped while it is replayed, as another emulator's better runs do that."""
    agent = agent_that_knows_the_way(course, CLOSED)
    best = agent.sequences.best("course")
    rows, best.embeddings = best.embeddings, None if not skips else best.embeddings
    play, random = replay("course", best), np.random.default_rng(0)
    for place in (0, 0, *range(len(rows))) if skips else range(len(rows) + 2):
        play.embeddings.append(rows[min(place, len(rows) - 1)])
        seen = play.embeddings[-1].astype(np.float32)
        action = next_action(play, random, config=CLOSED, seen=seen)[0]
        play.add(action, 1.0)
    best.embeddings = None
    finish(play, agent.sequences, config=CLOSED, cut=False)
    assert len(best.returns) == 2
    if skips:
        assert best.embeddings is None
    else:
        np.testing.assert_array_equal(best.embeddings, rows)


def test_a_plan_that_is_thrown_back_again_and_again_is_left():
    rows = np.eye(20, dtype=np.float16)
    plan = Plan.of(Sequence(0, np.zeros(20, np.uint8), [1.0], rows))
    place = steps = 0
    while plan.next_action(rows[place].astype(np.float32), config=CLOSED) is not None:
        place = place - 4 if place == 10 else place + 1
        steps += 1
        assert steps < 200
    assert 20 < steps < 60


def test_a_lost_replay_goes_on_with_its_plan_where_the_memory_has_no_answer(course):
    config = replaced(
        CLOSED, policy="new", policy_share=0.5, learn=True, hidden=16, encoder="data-efficient"
    )
    training = Training(config, 1)
    training.start_from(None)
    training.agent.policy.knows = True
    agent = agent_that_knows_the_way(course, CLOSED)
    training.plays = [replay("course", agent.sequences.best("course"))]
    strange = np.full((1, 4, 36, 36), 99, np.uint8)
    played = []
    for _ in range(12):
        actions = training.agent.explore(training.plays, strange, training.rng)
        training.add(actions, np.zeros(1))
        played.append(int(actions[0]))
    assert played == PLAN[:12].tolist() and training.counts["lost"] == 12


class Strange:
    """An actor that notes whether it was asked."""

    asked = 0

    @classmethod
    def as_policy(cls, *, knows):
        return Policy(cls(), "strange", {}, {}, knows)

    def act(self, obs, *, explore=False):
        self.asked += 1
        return np.full(len(obs), JUMP)


def test_alone_it_goes_on_with_its_plan_where_it_is_lost_and_leaves_it_in_the_end(course):
    agent = agent_that_knows_the_way(course, CLOSED)
    agent.config = replaced(CLOSED, lost_steps=5)
    agent.policy = Strange.as_policy(knows=True)
    first = agent.sequences.starts["course"][None]
    strange = np.full((1, 4, 36, 36), 99, np.uint8)
    played = [int(agent.act(obs)[0]) for obs in (first, *[strange] * 8)]
    assert played == [*PLAN[:7].tolist(), JUMP, JUMP]


def test_alone_it_runs_right_where_its_policy_knows_nothing(course, tmp_path):
    agent = JerkAgent(CLOSED)
    agent.policy = Strange.as_policy(knows=False)
    obs = np.zeros((1, 4, 36, 36), np.uint8)
    assert agent.act(obs).tolist() == [RIGHT] and agent.policy.actor.asked == 0
    agent.policy.knows = True
    assert agent.act(obs).tolist() == [JUMP]


def test_an_episode_on_an_unknown_level_is_not_the_last_ones_sequence(course):
    agent = agent_that_knows_the_way(course, OPEN)
    first, unknown = agent.sequences.starts["course"][None], np.zeros((1, 4, 36, 36), np.uint8)
    assert agent.act(first, starts=np.array([True])).tolist() == [WAIT]
    assert agent.act(unknown, starts=np.array([False])).tolist() == [WAIT]
    assert agent.act(unknown, starts=np.array([True])).tolist() == [RIGHT]
    assert agent.act(first, starts=np.array([True])).tolist() == [WAIT]


def test_a_first_observation_seen_again_within_an_episode_begins_nothing(course):
    agent = agent_that_knows_the_way(course, OPEN)
    agent.sequences.best("course").actions[:4] = [RIGHT, WAIT, JUMP, WAIT]
    first, other = agent.sequences.starts["course"][None], np.zeros((1, 4, 36, 36), np.uint8)
    begins, goes_on = np.array([True]), np.array([False])
    rows = [(first, begins), (other, goes_on), (first, goes_on), (other, goes_on)]
    played = [agent.act(obs, starts=starts).item() for obs, starts in rows]
    assert played == [RIGHT, WAIT, JUMP, WAIT]
