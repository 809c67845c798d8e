"""Actors: each plays environments with a copy of a policy; one learner takes their blocks.

They are processes of Ray, or one actor is in the learner's own process; the learner's loop is the
same. Ray starts a dead actor again, which plays its block anew: a block reaches the learner once.
"""

import logging
import os
import secrets
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.cluster import ray_on
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Natural, check
from retro_agents.run.fields import learning, machine

Weights = Mapping[str, NDArray]
RESTARTS = 100
"""Deaths of one actor that a run survives."""
PATIENCE = 60
"""Seconds until a run whose actors do not begin says so."""


@dataclass(frozen=True)
class ActorSettings:
    """A section of an agent's config."""

    actors: Natural = learning(0, "once", "contest", group="Actors")
    """Processes of Ray that play, each with its share of the environments and a copy of the policy;
    0: this process plays."""
    ray_address: str = machine("", "once", "contest", group="Actors")
    """The Ray cluster where they run: auto, or host:port; empty: this machine."""

    def __post_init__(self) -> None:
        check(self)
        if self.ray_address and not self.actors:
            raise UserError(
                "--ray-address is where actors run: give --actors too, or --ray-address ''"
            )

    def check_share(self, num_envs: int) -> None:
        """UserError: so many environments cannot be shared evenly."""
        if self.actors and (num_envs % self.actors or not num_envs):
            raise UserError(
                f"--num-envs {num_envs} cannot be shared by {self.actors} actors: give a number of "
                f"environments that is a multiple of {self.actors}"
            )

    def share(self, index: int, num_envs: int) -> slice:
        """The environments of an actor."""
        share = num_envs // self.actors
        return slice(index * share, (index + 1) * share)


def actor_seed(seed: int, index: int, start: int) -> int:
    """The seed of an actor. The first one of a new run draws as an actor in the learner's process
    would. All others draw otherwise, and so do those that start later: `start` differs then."""
    if not index and not start:
        return seed
    return int(np.random.SeedSequence([seed, index, start]).generate_state(1)[0])


class Actor(Protocol):
    """What plays."""

    def play(self, weights: Weights | None, version: int) -> Any:
        """Play the next block with these weights, of that version; None: with its own."""
        ...


class ActorBlock(NamedTuple):
    """A block, and the actor that played it."""

    actor: int
    version: int
    """Of the weights that it was played with."""
    block: Any
    follows: bool = True
    """It continues where its actor's block before it, if it has one, ended."""


class Actors(Protocol):
    """Where blocks come from."""

    restarts: int
    """Times that an actor died and was started again."""

    def next(self) -> ActorBlock:
        """Wait for a block."""
        ...

    def order(self, actor: int, version: int) -> None:
        """Let that actor play one more block, with the weights as they are now."""
        ...


A = TypeVar("A", bound=Actor)


@final
class LocalActor(Generic[A]):
    """An actor in this process, which has the learner's own weights. It plays when it is asked."""

    restarts = 0

    def __init__(self, actor: A, *, version: int) -> None:
        self.actor, self.version = actor, version

    def next(self) -> ActorBlock:
        """Play a block."""
        return ActorBlock(0, self.version, self.actor.play(None, self.version))

    def order(self, actor: int, version: int) -> None:
        """See `Actors`."""
        self.version = version


class Process(NamedTuple):
    """A life of an actor."""

    pid: int
    drawn: int
    """By chance: on another machine a process may have the same number."""


class _RayActor:
    """A process of Ray. Its actor is made with the first block, so that an error is the run's."""

    def __init__(self, make: Callable[[int, int], Actor], index: int, start: int) -> None:
        import ray

        self.make, self.index, self.start = make, index, start
        if ray.get_runtime_context().was_current_actor_reconstructed:
            self.start = secrets.randbits(32)  # it must not play the same again
        self.actor: Actor | None = None
        self.process, self.played = Process(os.getpid(), secrets.randbits(62)), 0

    def play(self, weights: Weights, version: int) -> tuple[Process, int, Any]:
        """-> the process, its block's number from 1 on, and the block."""
        self.actor = self.actor or self.make(self.index, self.start)
        block = self.actor.play(weights, version)
        self.played += 1
        return self.process, self.played, block


@final
class RayActors:
    """Actors in processes of Ray.

    Each has `ahead` + 1 blocks ordered that are not learned from yet. So it waits where the learner
    is behind, and a block's weights are as old as that. An actor's blocks come in the order in
    which it played them, though Ray's news of them may not.
    """

    def __init__(
        self,
        make: Callable[[int, int], Actor],
        weights: Callable[[], Weights],
        *,
        count: int,
        ahead: int,
        version: int,
        start: int,
    ) -> None:
        import ray

        self.ray, self.weights = ray, weights
        self.restarts, self.processes = 0, dict[int, Process]()
        self.dead = set[Process]()
        self.early: dict[int, dict[int, ActorBlock]] = {}
        """Of each actor's process, blocks by their numbers that came before earlier ones."""
        self.given: dict[int, int] = {}
        """The number of its last block that was due."""
        self.due: deque[ActorBlock] = deque()
        remote: Any = ray.remote(_RayActor)
        process = remote.options(num_cpus=1, max_restarts=RESTARTS, max_task_retries=RESTARTS)
        self.actors = [process.remote(make, index, start) for index in range(count)]
        self.stored: tuple[int, Any] = (-1, None)
        self.ordered: dict[Any, tuple[int, int]] = {}
        """What is on its way, the oldest first: actor and version of each."""
        for index in range(count):
            for _ in range(ahead + 1):
                self.order(index, version)

    def next(self) -> ActorBlock:
        """The oldest block that is there. UserError: an actor's own, or it died too often, or Ray's
        node process did."""
        while not self.due:
            self.fetch()
        return self.due.popleft()

    def fetch(self) -> None:
        """Wait for a block; it is due where those that its actor played before it were, or none is
        on its way."""
        with self.failures():
            ready = self.wait()
        index, version = self.ordered.pop(ready)
        with self.failures(index):
            process, number, block = self.ray.get(ready)
        if process in self.dead:  # Ray's store had it; the next life has begun, and plays one more
            self.order(index, self.stored[0])
            return
        if self.processes.get(index) != process:  # what an older one still lacks is played anew
            if index in self.processes:
                self.restarts += 1
                self.dead.add(self.processes[index])
            while self.early.setdefault(index, {}):
                self.give(index)
            self.processes[index], self.given[index] = process, 0
        early = self.early[index]
        early[number] = ActorBlock(index, version, block)
        # Of an order that a process had played when it died, Ray's store may have the old block: it
        # is given in place of the one played anew, whose number then never comes.
        last = all(index != actor for actor, _ in self.ordered.values())
        while early and (last or min(early) == self.given[index] + 1):
            self.give(index)

    def wait(self) -> Any:
        """For the first of the blocks on their way. Says so once where no actor begins."""
        seconds = None if self.processes else PATIENCE
        ready, _ = self.ray.wait([*self.ordered], num_returns=1, timeout=seconds)
        if not ready:
            print(
                f"no block has come for {PATIENCE} s: perhaps other runs have the cluster's CPUs",
                file=sys.stderr,
            )
            ready, _ = self.ray.wait([*self.ordered], num_returns=1)
        return ready[0]

    @contextmanager
    def failures(self, index: int = 0) -> Iterator[None]:
        """What goes wrong with Ray, or with that actor, is one line."""
        known = self.ray.exceptions
        try:
            yield
        except known.RayTaskError as error:  # before OSError, which it may be too
            if isinstance(error.cause, UserError):
                raise error.cause from None
            if isinstance(error.cause, OSError):
                raise UserError(f"actor {index}: {error.cause}") from None
            raise
        except known.RayActorError as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"actor {index} is gone ({reason}); it may lack memory: give fewer --num-envs"
            ) from None
        except (OSError, known.RayError) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(f"Ray is gone ({reason}); go on with --resume") from None

    def give(self, index: int) -> None:
        """Let the earliest block of an actor that has come be due."""
        number, before = min(self.early[index]), self.given[index]
        played = self.early[index].pop(number)
        self.due.append(played._replace(follows=0 < before == number - 1))
        self.given[index] = number

    def order(self, actor: int, version: int) -> None:
        """See `Actors`. Weights of a version are put into Ray's store once."""
        with self.failures(actor):
            if self.stored[0] != version:
                self.stored = version, self.ray.put(self.weights())
            call = self.actors[actor].play.remote(self.stored[1], version)
        self.ordered[call] = actor, version


@contextmanager
def ray_actors(
    make: Callable[[int, int], Actor],
    weights: Callable[[], Weights],
    *,
    settings: ActorSettings,
    version: int,
    start: int,
    ahead: int = 0,
) -> Iterator[RayActors]:
    """Actors, for as long as they are needed.

    make(index, start): an actor; start: agent steps of the run before its actors started, or a
    number drawn for one that died. weights: gives the learner's. version: of these now. ahead:
    blocks that an actor may play before another is ordered. Raises UserError if there is no
    cluster, or too small a one.
    """
    count = settings.actors
    with ray_on(settings.ray_address, cpus=count, logging_level=logging.ERROR) as ray:
        cores = int(ray.cluster_resources().get("CPU", 0))
        if cores < count:
            raise UserError(f"the Ray cluster has {cores} CPUs: give --actors {cores} or fewer")
        yield RayActors(make, weights, count=count, ahead=ahead, version=version, start=start)
