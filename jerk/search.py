"""The search: the purpose of each episode, the player of each step, and what is learned."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jerk import slots
from jerk.agent import JerkAgent
from jerk.episode import Plan, SearchEpisode
from jerk.explorer import Rhythm, Rng
from jerk.learner import (
    Bout,
    BoutPlayer,
    Shares,
    draw_player,
    exploit_probability,
    explore,
    furthest_point,
    is_kept,
    mutate,
)
from jerk.recovery import GIVE_UP_STEPS
from jerk.sequence import StoredSequence
from retro_agents.experience.advantages import returns_to_go

MEMORY_DISTANCE = 0.5
"""Remembered steps at a larger distance do not count (2: opposite)."""
GAMMA = 0.99
"""Discount per agent step of the returns that the memory stores."""
JUMP_SHARE = 0.3
"""Probability of a jump at a step that memory, policy and rule leave open; exploration jumps about
as often."""


class Search:
    """The search of an agent, with what its episodes share: settings, memories, randomness."""

    def __init__(self, agent: JerkAgent, rng: Rng) -> None:
        self.agent, self.rng = agent, rng
        self.config, self.moves, self.sequences = agent.config, agent.moves, agent.sequences
        self.counts: Counter[str] = Counter(accepted=0, improved=0)
        """Number of episodes of each kind, and their results, for metrics."""

    def begin(self, level: str, *, env_steps: int) -> SearchEpisode:
        """Choose the purpose of an episode on that level. If the policy may play, it plays the
        first one alone, unless it has a share of exploration."""
        config, rng, best = self.config, self.rng, self.sequences.best(level)
        episode = SearchEpisode(level, rhythm=Rhythm.drawn(rng) if config.rhythm else None)
        if best is None:
            if config.policy_replays > 0.0 and not config.policy_share:
                episode.bout = Bout(steps_left=-1, player="policy")
        elif rng.random() < exploit_probability(config, env_steps, best=best.mean):
            episode.kind, episode.plan = "replay", Plan.of(best)
            if config.slots:
                done = env_steps / max(1, config.run.timesteps)
                chosen = slots.choose(best.slots, best.actions, rng, done=done, moves=self.moves)
                episode.plan.actions = slots.applied(best.actions, best.slots, chosen)
                episode.plan.chosen = chosen
        elif config.mutate:
            choices = self.agent.spec.actions
            actions, intact = mutate(
                best.improved(), rng, config=config, best=best.mean, choices=choices
            )
            expected = None if best.gained is None else best.gained[:intact]
            episode.kind, episode.plan = "mutant", Plan(best, actions, intact, expected=expected)
        self.counts[episode.kind] += 1
        return episode

    def actions(
        self, episodes: Sequence[SearchEpisode], obs: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """The next actions [N] of N episodes; obs uint8 [N,C,H,W], from which the episodes keep
        what they need.

        The memory or the policy chooses where the rule leaves it to them, the policy also where the
        memory has no similar step. If neither does, the action is a step or a jump to the right.
        """
        agent = self.agent
        embeddings: Any = None if agent.embedder is None else agent.embedder(obs)
        if embeddings is not None:
            for episode, row in zip(episodes, embeddings.astype(np.float16), strict=True):
                episode.embeddings.append(row)
        if self.config.keeps_runs:
            for episode, image in zip(episodes, obs, strict=True):
                episode.frames.append(image[-agent.spec.channels :].copy())
        shares = self.shares()
        planned = [self.next_action(episode, shares) for episode in episodes]
        asked = [row for row, (_, who) in enumerate(planned) if who == "memory"]
        found = {row: action for row, (action, _) in enumerate(planned) if action is not None}
        found |= self.by_memory(asked, embeddings)
        left = [row for row in range(len(episodes)) if row not in found]
        found |= self.by_policy(left, obs, episodes)
        for row in left:
            if row not in found:
                jumps = self.rng.random() < JUMP_SHARE
                found[row] = self.moves.right_jump if jumps else self.moves.right
        return np.array([found[row] for row in range(len(episodes))], np.int64)

    def shares(self) -> Shares:
        """The policy's share in replays, and the memory's, which is 0 while the memory is empty."""
        config, memory = self.config, self.agent.memory
        share = config.memory_share if memory is not None and len(memory) else 0.0
        return Shares(policy=config.policy_replays, memory=share)

    def next_action(self, episode: SearchEpisode, shares: Shares) -> tuple[int | None, BoutPlayer]:
        """The plan's next action or, after the plan, one of exploration (or waiting) -> an action,
        or None if the policy or the memory chooses it; and who chooses it."""
        config, rng, moves = self.config, self.rng, self.moves
        if config.recover:
            self.recover(episode)
        waits = episode.kind == "replay" and not config.go_on
        if config.leave_after and episode.idle >= config.leave_after and not waits:
            episode.plan.miss()
            episode.plan.give_up()
        if (action := episode.plan.next_action()) is not None:
            return action, "rule"
        if waits:
            return moves.wait, "rule"
        if episode.kind != "replay":
            shares = shares._replace(policy=config.policy_share * (1.0 - shares.memory))
        if (rhythm := episode.rhythm) is not None:
            if episode.bout.steps_left == 0:
                episode.bout = Bout(steps_left=-1, player=draw_player(rng, shares))
            if episode.bout.player != "rule" and not (config.scripts and rhythm.stuck):
                return None, episode.bout.player
            return rhythm.next_action(rng, moves=moves, scripts=config.scripts), "rule"
        # The return that a replay has reached is not given up by turning back.
        turns = episode.kind != "replay"
        action, episode.bout = explore(
            episode.bout, rng, moves=moves, config=config, shares=shares, turns=turns
        )
        return action, episode.bout.player

    def recover(self, episode: SearchEpisode) -> None:
        """If an episode has diverged, continue it as another sequence did from a similar place, or
        give up its plan."""
        plan, jump = episode.plan, self.moves.right_jump
        if not plan.is_lost(episode.gained):
            return
        found = self.sequences.nearest(episode.level, episode.place(jump=jump), jump=jump)
        if found is not None:
            plan.follow(*found)
        elif plan.off > GIVE_UP_STEPS:
            plan.give_up()

    def by_memory(self, rows: list[int], embeddings: Any) -> dict[int, int]:
        """The memory's actions, for rows that have near neighbours."""
        memory = self.agent.memory
        if not rows or memory is None or not len(memory):
            return {}
        find = memory.best_actions if self.config.memory_best else memory.valued_actions
        actions = find(
            embeddings[rows], self.config.memory_neighbours, within=MEMORY_DISTANCE
        ).tolist()
        found = {row: action for row, action in zip(rows, actions, strict=True) if action >= 0}
        self.counts["asked"] += len(rows)
        self.counts["answered"] += len(found)
        return found

    def by_policy(
        self, rows: list[int], obs: NDArray[np.uint8], episodes: Sequence[SearchEpisode]
    ) -> dict[int, int]:
        """The policy's actions in these rows, if it may play: the one still held, or a new one."""
        policy, config = self.agent.policy, self.config
        if policy is None or not (config.policy_share or config.policy_replays):
            return {}
        for row, episode in enumerate(episodes):
            episode.holding = max(0, episode.holding - 1) if row in rows else 0
        found = {row: episodes[row].actions[-1] for row in rows if episodes[row].holding}
        if new := [row for row in rows if row not in found]:
            found |= zip(new, policy.actor.act(obs[new], play="draw").tolist(), strict=True)
            for row in new:
                episodes[row].holding = config.policy_hold
        return found

    def end(self, episode: SearchEpisode, *, cut: bool) -> StoredSequence | None:
        """Learn from an ended episode -> the sequence that its actions became, if any.
        cut: it ended because the level changed, not because of its actions.

        A replay adds a return to its sequence: its own if it waits for the end (as published),
        otherwise its plan's. A run may become a new sequence if it got further than the part that
        it shares with its source; a replay only if it got further than the best.
        """
        config, level, plan = self.config, episode.level, episode.plan
        source, before = plan.source, self.sequences.best(level)
        best = before.mean if before is not None else 0.0
        if (memory := self.agent.memory) is not None:
            embeddings = np.stack(episode.embeddings).astype(np.float32)
            returns = returns_to_go(episode.rewards, gamma=GAMMA)
            memory.add_batch(embeddings, episode.actions, returns)
        if episode.kind == "replay" and source is not None and not cut:
            self.judge(episode, source)
        length, value = furthest_point(episode.rewards)
        waited = episode.kind == "replay" and not config.go_on
        known = source is not None and (plan.departed is None or length <= plan.departed)
        ratio = 1.0 if episode.kind == "replay" else config.keep_ratio
        if waited or known or not is_kept(value, best, ratio=ratio):
            return None
        rewards = np.array(episode.rewards[:length], np.float32) if config.recover else None
        actions, latest = np.array(episode.actions[:length], np.uint8), config.latest_returns
        kept = self.sequences.add(level, actions, value, rewards=rewards, latest=latest)
        if kept is not None:
            self.counts["accepted"] += episode.kind == "mutant"
            new_best = before is not None and self.sequences.best(level) is kept is not before
            self.counts["improved"] += new_best
        return kept

    def judge(self, episode: SearchEpisode, source: StoredSequence) -> None:
        """Add an ended replay's return to its sequence, and count how far it got in the slots; a
        failure outside all slots opens a new one."""
        config, plan, sums = self.config, episode.plan, np.cumsum(episode.rewards)
        value = float(sums[: plan.departed].max(initial=0.0))
        if config.recover:
            value = max(0.0, float(sums.max()))
        elif not config.go_on:
            value = float(sums[-1])
        source.add_return(value, latest=config.latest_returns)
        if not config.slots:
            return
        reached, length = plan.reached(), len(source.actions)
        slots.judge(source.slots, plan.chosen, reached)
        source.ends.append(reached)
        if slot := slots.opened(source.slots, reached, length=length, ends=source.ends):
            source.slots.append(slot)
