"""Actors: each plays environments with a copy of a policy; one learner takes their blocks.

They are processes of Ray, or one actor is in the learner's own process; the learner's loop is the
same. A dead process is replaced by another, which plays the blocks that it owed: each reaches
the learner once.
"""

import logging
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from retro_agents.ground.cluster import ray_on
from retro_agents.ground.errors import UserError
from retro_agents.ground.ranges import Natural, check
from retro_agents.run.fields import learning, machine

Weights = Mapping[str, NDArray]
RESTARTS = 100
"""Deaths of actors that a run survives."""
PATIENCE = 60
"""Seconds until a run whose actors do not begin says so."""


@dataclass(frozen=True)
class ActorSettings:
    """Processes that play while this one learns."""

    actors: Natural = learning(0, "once", "contest", group="Actors", needs=("ray",))
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
        """Raise UserError if so many environments cannot be shared evenly."""
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

    def order(self, actor: int, version: int) -> None:
        """Let that actor play one more block, with the weights as they are now."""


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


class _RayActor:
    """A process of Ray, in the run's working folder where its machine has that: a cluster's are in
    that of `ray start`. Its actor is made with the first block, so that an error is the run's."""

    def __init__(
        self, make: Callable[[int, int], Actor], index: int, start: int, folder: Path
    ) -> None:
        with suppress(OSError):
            os.chdir(folder)
        self.make, self.index, self.start = make, index, start
        self.actor: Actor | None = None

    def play(self, weights: Weights, version: int) -> Any:
        """The next block."""
        self.actor = self.actor or self.make(self.index, self.start)
        return self.actor.play(weights, version)


@final
class RayActors:
    """Actors in processes of Ray.

    Each actor has orders for `ahead` + 1 blocks, which its process plays, and `next` takes, in
    turn. So a process waits if the learner is behind, and plays a block with the weights of the
    moment when it was ordered. If the process dies, the blocks that it finished are still taken.
    Then another takes its place and plays the orders that are left: no block is taken twice.
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

        self.ray, self.make, self.weights = ray, make, weights
        self.restarts, self.started = 0, False
        self.stored: tuple[int, Any] = (-1, None)
        self.ordered: dict[Any, tuple[int, int]] = {}
        """Orders, the oldest first: actor and version of each."""
        self.follows = [False] * count
        """Whether the next block of an actor continues its last one."""
        self.processes = [self.begin(index, start) for index in range(count)]
        for index in range(count):
            for _ in range(ahead + 1):
                self.order(index, version)

    def begin(self, index: int, start: int) -> Any:
        """A process of Ray for an actor."""
        remote: Any = self.ray.remote(_RayActor)
        return remote.options(num_cpus=1).remote(self.make, index, start, Path.cwd())

    def order(self, actor: int, version: int) -> None:
        """See `Actors`. Weights of a version are put into Ray's store once."""
        with self.failures(actor):
            if self.stored[0] != version:
                self.stored = version, self.ray.put(self.weights())
            call = self.processes[actor].play.remote(self.stored[1], version)
        self.ordered[call] = actor, version

    def next(self) -> ActorBlock:
        """Wait for the oldest block that is there. Raises UserError if an actor raised one or died
        too often, or if Ray is gone."""
        while True:
            with self.failures():
                call = self.wait()
            index, version = self.ordered[call]
            with self.failures(index):
                try:
                    block = self.ray.get(call)
                except self.dead() as error:
                    broken = isinstance(error, self.ray.exceptions.RayActorError)
                    if self.restarts == RESTARTS or (broken and error.actor_init_failed):
                        raise
                    self.restart(index)
                    continue
            del self.ordered[call]
            self.started, follows = True, self.follows[index]
            self.follows[index] = True
            return ActorBlock(index, version, block, follows)

    def wait(self) -> Any:
        """The oldest order that is played, among the next of each actor. Says so once if no actor
        starts."""
        orders: dict[int, Any] = {}
        for call, (index, _) in self.ordered.items():
            orders.setdefault(index, call)
        calls, seconds = [*orders.values()], None if self.started else PATIENCE
        ready, _ = self.ray.wait(calls, num_returns=1, timeout=seconds)
        if not ready:
            print(
                f"no block has come for {PATIENCE} s: perhaps other runs have the cluster's CPUs",
                file=sys.stderr,
            )
            ready, _ = self.ray.wait(calls, num_returns=1)
        return ready[0]

    def dead(self) -> Any:
        """The errors that Ray raises for a block whose process, or its machine, is gone."""
        known = self.ray.exceptions
        return known.RayActorError, known.ObjectLostError, known.OutOfMemoryError

    def restart(self, index: int) -> None:
        """Let another process play an actor's orders, with new draws."""
        self.ray.kill(self.processes[index])  # it may only be out of reach
        self.restarts += 1
        self.follows[index] = False
        self.processes[index] = self.begin(index, secrets.randbits(32))
        for call, (actor, _) in [*self.ordered.items()]:
            if actor == index:
                del self.ordered[call]
                self.order(index, self.stored[0])

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
            raise UserError(f"Ray is gone ({reason}); continue with --resume") from None


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
