"""The faults of a simulated mesh and their times: drawn from a seed, plain data.

A plan names peers by number, so that it can be made before there are any keys. Most faults last for a while
and end by themselves; at `FaultPlan.healed_s` everything that still lasts is ended. A plan never asks for
what cannot be promised: with R copies of everything at most one disk is lost or damaged for good, at a time
when nothing else is wrong, and none when R is 1.

The kinds are those of Jepsen's nemeses, of FoundationDB's simulation (swizzle-clogging), and of the list of
faults that the mesh has to bear.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from simulations.world.chance import random_of

if TYPE_CHECKING:
    from random import Random

Link: TypeAlias = tuple[int, int]  # from, to

# Each fault plan has a few kinds of fault, not all: a fault that hides another is absent in other plans.
# Source: Groce et al. 2012, "Swarm Testing".
KINDS_MAX: Final = 4
FIRST_FAULT_S: Final = 5.0  # after the first seeds were given
CALM_S: Final = 45.0  # around the loss of a disk: for what is missing to be copied again
PEERS_ADDED_MAX: Final = 6


class Fault(msgspec.Struct, frozen=True, tag=True):
    """Something that goes wrong; the text of `str` is for the transcript."""


class Crash(Fault, frozen=True):
    """The process is killed, maybe in the middle of its work, and comes back on its disk."""

    peer: int
    down_s: float
    sends: int  # it still does before it dies
    is_power_loss: bool  # what no disk had promised is gone too

    def __str__(self) -> str:
        what = "loses power" if self.is_power_loss else "is killed"
        when = f" after {self.sends} more sends" if self.sends else ""
        return f"p{self.peer} {what}{when}, down for {self.down_s:.1f} s"


class Restart(Fault, frozen=True):
    """The process says goodbye, ends and comes back."""

    peer: int
    down_s: float

    def __str__(self) -> str:
        return f"p{self.peer} is stopped for {self.down_s:.1f} s"


class Wipe(Fault, frozen=True):
    """The machine comes back with an empty disk, under the same key."""

    peer: int
    down_s: float

    def __str__(self) -> str:
        return f"p{self.peer} loses its disk, down for {self.down_s:.1f} s"


class Vanish(Fault, frozen=True):
    """The machine never comes back."""

    peer: int

    def __str__(self) -> str:
        return f"p{self.peer} is gone for good"


class Flip(Fault, frozen=True):
    """Bits change in the archive of one peer."""

    peer: int
    places: tuple[float, ...]  # as shares of the archive

    def __str__(self) -> str:
        return f"{len(self.places)} bits flip in the archive of p{self.peer}"


class Pause(Fault, frozen=True):
    """The process stands still (SIGSTOP, a virtual machine that is moved) and goes on."""

    peer: int
    for_s: float

    def __str__(self) -> str:
        return f"p{self.peer} stands still for {self.for_s:.1f} s"


class Cut(Fault, frozen=True):
    """Frames of some links are lost: a partition, be it in one direction only."""

    links: tuple[Link, ...]
    for_s: float
    shape: str  # for people

    def __str__(self) -> str:
        return f"the network is cut for {self.for_s:.1f} s: {self.shape}"


class Clog(Fault, frozen=True):
    """Frames of some links are held back; those of each link come when that link's time is over."""

    links: tuple[Link, ...]
    begins: tuple[float, ...]  # of each link, in seconds from now
    ends: tuple[float, ...]

    def __str__(self) -> str:
        return f"{len(self.links)} links clog one by one, until {max(self.ends):.1f} s from now"


class Weather(Fault, frozen=True):
    """The whole network is bad."""

    loss: float
    repetition: float
    delay_min_s: float
    delay_mean_s: float
    for_s: float

    def __str__(self) -> str:
        return (
            f"for {self.for_s:.1f} s {self.loss:.0%} of the frames are lost,"
            f" {self.repetition:.0%} come twice, they take {1_000 * self.delay_mean_s:.0f} ms"
        )


class SlowDisk(Fault, frozen=True):
    """Everything that a peer writes takes much longer."""

    peer: int
    factor: float
    for_s: float

    def __str__(self) -> str:
        return f"the disk of p{self.peer} is {self.factor:.0f} times slower for {self.for_s:.1f} s"


class FullDisk(Fault, frozen=True):
    """Nothing can be appended to the archive of a peer."""

    peer: int
    for_s: float

    def __str__(self) -> str:
        return f"the disk of p{self.peer} is full for {self.for_s:.1f} s"


class StepClock(Fault, frozen=True):
    """Somebody sets the wall clock of a machine."""

    peer: int
    by_s: float

    def __str__(self) -> str:
        return f"the wall clock of p{self.peer} is set by {self.by_s:+.0f} s"


class Join(Fault, frozen=True):
    """A new peer, with a new key, joins the mesh."""

    peer: int

    def __str__(self) -> str:
        return f"p{self.peer} joins"


class Leave(Fault, frozen=True):
    """A peer gives everything away and leaves for good."""

    peer: int

    def __str__(self) -> str:
        return f"p{self.peer} begins to leave"


class Drain(Fault, frozen=True):
    """A peer gives its slots away, and takes its share again later."""

    peer: int
    for_s: float

    def __str__(self) -> str:
        return f"p{self.peer} is drained for {self.for_s:.1f} s"


class Skew(Fault, frozen=True):
    """From now on a peer speaks the protocol of a later version."""

    peer: int

    def __str__(self) -> str:
        return f"p{self.peer} speaks another version"


# They happen to one machine, and only while it runs.
FaultOfRunning: TypeAlias = (
    Crash | Restart | Wipe | Vanish | Flip | Pause | SlowDisk | FullDisk | Leave | Drain | Skew
)
AnyFault: TypeAlias = FaultOfRunning | Cut | Clog | Weather | StepClock | Join


class Planned(msgspec.Struct, frozen=True):
    """A fault and when it begins, in seconds from when the first seeds were given."""

    at_s: float
    fault: AnyFault


class FaultPlan(msgspec.Struct, frozen=True):
    """All that a run is made of, beside its seed."""

    seed: int
    peers: int  # at the beginning
    replicas: int
    slots: int
    pages: int
    hosts: int
    delay_s: float  # between two fetches from a host
    wall_offsets_s: tuple[float, ...]  # of the clocks of the peers, those that join later too
    drifts: tuple[float, ...]
    faults: tuple[Planned, ...]  # by time
    healed_s: float


def plan_of(seed: int, peers: int) -> FaultPlan:
    """Draw the plan of a run; the same for the same arguments."""
    random = random_of(seed, f"faults for {peers} peers")
    replicas = random.choices((2, 3, 1), (0.8, 0.15, 0.05))[0]
    faults, healed_s = _Draw(random, peers, replicas).faults()
    clocks = peers + PEERS_ADDED_MAX
    hosts = random.randint(8, 30)
    return FaultPlan(
        seed=seed,
        peers=peers,
        replicas=replicas,
        slots=random.choice((64, 256, 1_024)),
        pages=hosts * random.randint(3, 8),
        hosts=hosts,
        delay_s=random.choice((0.5, 1.0, 2.0)),
        wall_offsets_s=tuple(random.choice((0.0, 0.0, random.uniform(-30, 30))) for _ in range(clocks)),
        drifts=tuple(random.choice((0.0, random.uniform(-0.02, 0.02))) for _ in range(clocks)),
        faults=tuple(sorted(faults, key=lambda planned: planned.at_s)),
        healed_s=healed_s,
    )


class _Draw:
    """Draws the faults of one plan."""

    def __init__(self, random: Random, peers: int, replicas: int) -> None:
        self._random = random
        self._replicas = replicas
        self._peers = list(range(peers))  # that are members, as far as the plan decides
        self._next_peer = peers
        self._last_peer = peers + PEERS_ADDED_MAX
        self._kinds: dict[str, Callable[[], AnyFault | None]] = {
            "crash": self._crash,
            "restart": self._restart,
            "pause": self._pause,
            "partition": self._partition,
            "one way": self._one_way,
            "bridge": self._bridge,
            "clog": self._clog,
            "weather": self._weather,
            "slow disk": self._slow_disk,
            "full disk": self._full_disk,
            "clock": self._step_clock,
            "storm": self._storm,
            "drain": self._drain,
            "skew": self._skew,
        }

    def faults(self) -> tuple[list[Planned], float]:
        """All faults, and when everything is healed."""
        random = self._random
        chosen = random.sample(sorted(self._kinds), random.randint(1, KINDS_MAX))
        pause_s = random.choice((6.0, 10.0, 20.0))
        begin_s = FIRST_FAULT_S
        end_s = begin_s + random.uniform(40.0, 120.0)
        planned: list[Planned] = []
        loses_disk = self._replicas > 1 and random.random() < 0.3
        is_lost_first = random.random() < 0.5
        if loses_disk and is_lost_first:
            at_s = begin_s + random.uniform(0.0, 40.0)
            planned.append(Planned(at_s, self._lost_disk()))
            begin_s, end_s = at_s + CALM_S, end_s + at_s + CALM_S
        at_s = begin_s + random.expovariate(1 / pause_s)
        while at_s < end_s:
            fault = self._kinds[random.choice(chosen)]()
            if fault is not None:
                planned.append(Planned(at_s, fault))
            at_s += random.expovariate(1 / pause_s)
        if loses_disk and not is_lost_first:
            # The run waits until nothing is missing any more before it loses the disk: see `fault_run`.
            planned.append(Planned(end_s + CALM_S, self._lost_disk()))
        return planned, end_s

    def _any(self) -> int:
        return self._random.choice(self._peers)

    def _for_s(self) -> float:
        """Half of the faults are short, which a mesh should hardly notice, half are long."""
        random = self._random
        return random.uniform(0.2, 5.0) if random.random() < 0.5 else random.uniform(5.0, 60.0)

    def _lost_disk(self) -> AnyFault:
        random = self._random
        peer = self._any()
        kind = random.choice((Wipe, Vanish, Flip))
        if kind is Vanish and len(self._peers) > 3:
            self._peers.remove(peer)
            return Vanish(peer)
        if kind is Flip:
            return Flip(peer, tuple(random.random() for _ in range(random.randint(1, 8))))
        return Wipe(peer, self._for_s())

    def _crash(self) -> AnyFault:
        random = self._random
        sends = random.choice((0, random.randint(1, 60)))
        return Crash(self._any(), self._for_s(), sends, is_power_loss=random.random() < 0.5)

    def _restart(self) -> AnyFault:
        return Restart(self._any(), self._for_s())

    def _pause(self) -> AnyFault:
        return Pause(self._any(), self._for_s())

    def _partition(self) -> AnyFault:
        """Halves, or one against all, both ways."""
        peers = self._shuffled()
        size = 1 if self._random.random() < 0.4 else self._random.randint(1, len(peers) - 1)
        one, other = sorted(peers[:size]), sorted(peers[size:])
        links = tuple((a, b) for a, b in permutations(sorted(peers), 2) if (a in one) != (b in one))
        return Cut(links, self._for_s(), f"{_names(one)} | {_names(other)}")

    def _one_way(self) -> AnyFault:
        """Somebody is deaf, somebody is mute, or one does not hear one other."""
        peers = self._shuffled()
        victim, *others = peers
        kind = self._random.choice(("deaf", "mute", "one"))
        if kind == "deaf":
            return Cut(tuple((other, victim) for other in others), self._for_s(), f"p{victim} hears nobody")
        if kind == "mute":
            return Cut(tuple((victim, other) for other in others), self._for_s(), f"nobody hears p{victim}")
        return Cut(((victim, others[0]),), self._for_s(), f"p{others[0]} does not hear p{victim}")

    def _bridge(self) -> AnyFault:
        """Two halves with one peer that reaches both, or a ring in which each reaches its neighbours."""
        peers = self._shuffled()
        half = len(peers) // 2
        if self._random.random() < 0.5:
            bridge, one, other = peers[0], peers[1 : half + 1], peers[half + 1 :]
            links = [(a, b) for a, b in permutations(peers[1:], 2) if (a in one) != (b in one)]
            return Cut(tuple(links), self._for_s(), f"{_names(one)} | {_names(other)}, over p{bridge}")
        # Each sees itself and the next ones on both sides: a majority, each another one.
        reach = (len(peers) // 2 + 1) // 2
        places = {peer: place for place, peer in enumerate(peers)}
        n = len(peers)
        links = [(a, b) for a, b in permutations(peers, 2) if reach < (places[a] - places[b]) % n < n - reach]
        return Cut(tuple(links), self._for_s(), f"a ring {_names(peers)}, each hears {reach} on both sides")

    def _clog(self) -> AnyFault:
        """Some links, one after the other, unclogged in another order (swizzle-clog)."""
        random = self._random
        peers = self._shuffled()[: random.randint(2, len(self._peers))]
        links = list(permutations(peers, 2))
        random.shuffle(links)
        links = links[: random.randint(1, len(links))]
        over_s = self._for_s()
        begins = sorted(random.uniform(0.0, over_s) for _ in links)
        last_s = over_s + self._for_s()
        ends = tuple(random.uniform(begin_s, last_s) for begin_s in begins)
        return Clog(tuple(links), tuple(begins), ends)

    def _weather(self) -> AnyFault:
        random = self._random
        is_slow = random.random() < 0.4
        return Weather(
            loss=random.choice((0.0, 0.05, 0.3)),
            repetition=random.choice((0.0, 0.1, 0.5)),
            delay_min_s=0.25 if is_slow else 0.001,
            delay_mean_s=0.5 if is_slow else 0.02,
            for_s=self._for_s(),
        )

    def _slow_disk(self) -> AnyFault:
        return SlowDisk(self._any(), self._random.choice((10.0, 100.0)), self._for_s())

    def _full_disk(self) -> AnyFault:
        return FullDisk(self._any(), self._for_s())

    def _step_clock(self) -> AnyFault:
        """Seen at the next start, which is now or whenever another fault brings it."""
        return StepClock(self._any(), self._random.choice((-3_600.0, 3_600.0, -1.5, 1.5)))

    def _storm(self) -> AnyFault | None:
        """Ten of these a minute are a storm: peers come and go."""
        if self._random.random() < 0.6 and self._next_peer < self._last_peer:
            self._peers.append(self._next_peer)
            self._next_peer += 1
            return Join(self._next_peer - 1)
        if len(self._peers) <= 3:
            return None
        peer = self._any()
        self._peers.remove(peer)
        return Leave(peer)

    def _drain(self) -> AnyFault:
        return Drain(self._any(), self._for_s())

    def _skew(self) -> AnyFault:
        return Skew(self._any())

    def _shuffled(self) -> list[int]:
        return self._random.sample(self._peers, len(self._peers))


def _names(peers: list[int]) -> str:
    return " ".join(f"p{peer}" for peer in peers)
