"""A store that a policy switches on: how it is used while the mesh has its faults, and judged then.

Each store declares in one class which parts of the policy switch it on, where its rows are, what is done with
it and what is judged. What holds of the rows of every store, that each is the same at all of its team and
nowhere else, is judged here for all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final, Protocol

from mesh.actors.actor import Actor, Address, Message
from mesh.actors.ownership import Ownership
from mesh.config import MeshConfig
from mesh.keys.decree import Decree
from mesh.tables.table import Table, TableSection
from peers.handover.item_store import slot_in
from peers.policy.rules import Rule
from peers.storage.archive.memory_archive import MemoryArchive
from simulations.webs.web import Served, SyntheticWeb
from simulations.world.chance import random_of
from simulations.world.members import Members
from simulations.world.world import World

ROWS_MAX: Final = 1_000_000
# From when something was told to a peer until it is in a commit, be its disk a hundred times slower.
DURABLE_S: Final = 5.0
# From when something is in a commit until others have it: so long nothing else happens beside a lost disk.
COPIED_S: Final = 45.0
LIE_PAUSE_S: Final = 4.0  # mean, between two lies about a store
TICKETS: Final = 1 << 40  # each use has as many of its own, behind those of others


class UsedDisk(Protocol):
    """The data of a machine that survive its process."""

    @property
    def table(self) -> Table: ...

    @property
    def archive(self) -> MemoryArchive: ...


class UsedMachine(Protocol):
    """The `machine.Machine` of a run, as far as stores see it."""

    name: str
    peer: str
    changed_s: float
    lost_disk_s: float

    @property
    def disk(self) -> UsedDisk: ...

    @property
    def config(self) -> MeshConfig: ...

    @property
    def is_running(self) -> bool: ...

    @property
    def ownership(self) -> Ownership | None: ...

    def order(self, message: Message) -> None: ...

    def publish(self, decree: Decree) -> None: ...

    def local_time(self) -> float: ...

    def wall_time(self) -> float: ...


class UsedWatch(Protocol):
    """The `watch.Watch` of a run, likewise."""

    stored: dict[str, float]
    acknowledged: dict[str, dict[bytes, None]]

    @property
    def last(self) -> Mapping[str, object]:
        """The last answer to a request for each page."""

    @property
    def machines(self) -> Sequence[UsedMachine]: ...

    def violate(self, sentence: str) -> None: ...


class UsedUsers(Protocol):
    """The `users.Users` of a run, likewise."""

    found: dict[str, bool]

    def search_in_past(self, machine: UsedMachine, urls: Mapping[str, str], span: str) -> None: ...


class UsedRun(Protocol):
    """The run in which stores are used."""

    world: World
    members: Members

    @property
    def seed(self) -> int: ...

    @property
    def watch(self) -> UsedWatch: ...

    @property
    def users(self) -> UsedUsers: ...

    @property
    def web(self) -> SyntheticWeb: ...

    @property
    def has_liar(self) -> bool: ...

    @property
    def liar(self) -> UsedMachine | None: ...

    @property
    def is_archive_damaged(self) -> bool:
        """Has some disk changed data that were written to it?"""

    @property
    def hidden(self) -> Container[str]:
        """URLs that are taken down."""

    def is_told_by_liar(self, url: str, body: bytes | None = None) -> bool:
        """Has the liar read a version of a page while it lied, so that it may have told another text of it?

        Args:
          body: of the version; None for any.
        """

    def is_look(self, url: str) -> bool:
        """Is a page asked for only to see whether its site shows a proof?"""

    def tell(self, line: str) -> None:
        """Put a line into the transcript."""

    def legislate(self) -> None:
        """Publish the policy anew, with the rules that uses have by now."""

    def running(self) -> Sequence[UsedMachine]:
        """The members that run."""

    def some_gateway(self) -> UsedMachine | None:
        """A member that runs, if there is any."""


class StoreUse:
    """One store. All that people do is drawn from the seed, by chances of its own.

    Attributes:
      switches: fields of a policy that switch it on.
      rows: section of a peer's table with its rows, by slot and name; none for a store without.
      questions: messages of gateways to the store, which gateways are answered.
      chance: tells what is drawn here from what others draw.
    """

    switches: ClassVar[Mapping[str, object]] = {}
    rows: ClassVar[bytes] = b""
    questions: ClassVar[tuple[type[Message], ...]] = ()
    chance: ClassVar[str] = ""

    def __init__(self, run: UsedRun) -> None:
        self._run, self._world, self._random = run, run.world, random_of(run.seed, self.chance)

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules of the policy that are its own, which come first."""
        return ()

    def decree(self) -> None:
        """Publish a decree of its own, beside the policy, before anything is crawled."""

    def begin(self, until: float) -> None:
        """Begin to use it, and go on until a time, when all is healed."""

    def lie(self, machine: UsedMachine, until: float) -> None:
        """Have a member that lies begin to do so about this store, and go on until a time."""

    def twisted(self, message: Message) -> Message:
        """Return the message that a lying member sends instead of one of its node; asked while it lies."""
        return message

    def end_faults(self) -> None:
        """There are no faults from now on."""

    def lacking(self) -> list[str]:
        """Name all that the faults have kept from being done, and that has to be before the end."""
        return []

    def insist(self) -> None:
        """Do once more all that is lacking."""

    def told(self, machine: UsedMachine, message: Message) -> bool:
        """Take an answer of a gateway; False when it is none to this use."""
        return False

    def requested(self, machine: UsedMachine, url: str, served: Served) -> bool:
        """Take note of a request; True when it was for no page of the web, but of this use's own."""
        return False

    def is_over(self, machines: Sequence[UsedMachine]) -> bool:
        """Has all that is done with it come to its end?"""
        return True

    def wrong(self, machines: Sequence[UsedMachine]) -> Iterator[str]:
        """Judge the mesh at rest: yield a sentence for each wrong that is found."""
        yield from ()

    # --- For those that declare one

    def act_now_and_then(self, act: Callable[[], None], pause_s: float, until: float) -> None:
        """Do something, and again after each pause, up to a time. Args: pause_s: in the mean."""
        if self._world.now < until:
            act()
            at_s = self._world.now + self._random.expovariate(1 / pause_s)
            self._world.plan(at_s, lambda: self.act_now_and_then(act, pause_s, until))

    def lie_now_and_then(
        self,
        machine: UsedMachine,
        lies: Callable[[Ownership], Iterable[tuple[str, str, Message]]],
        until: float,
    ) -> None:
        """Have a member send others lies, up to a time.

        Args:
          lies: makes up messages, each behind the peer and the actor that it is for.
        """

        def lie() -> None:
            ownership = machine.ownership
            if machine.is_running and ownership is not None:
                for peer, actor, message in lies(ownership):
                    if peer != machine.peer and peer in self._run.members.peers:
                        source = "searcher" if isinstance(message, self.questions) else actor
                        target = Address(peer, actor)
                        self._world.repeat(Address(machine.peer, source), target, message)

        self.act_now_and_then(lie, LIE_PAUSE_S, until)

    @contextmanager
    def lying(self, twisted: Callable[[Message], Message]) -> Iterator[None]:
        """Have the member that lies, if any, answer something else than its node while the context lasts.

        So what a mesh at rest tells is judged beside a liar, when it is known who has what.
        """
        liar = self._run.liar
        if liar is None:
            yield
            return
        before = self._world.twist(liar.peer, lambda source, target, message: twisted(message))
        yield
        self._world.twist(liar.peer, before)

    def confirm_later(self, machine: UsedMachine, note: Callable[[], None]) -> None:
        """Call `note` once something that a machine was just told is durable there, if nothing happens to it.

        Nor may its disk be lost before others have it; what is uncertain is never noted.
        """
        told_s = self._world.now

        def look() -> None:
            if machine.is_running and machine.changed_s < told_s:
                self._world.plan(told_s + COPIED_S, look_again)

        def look_again() -> None:
            if all(each.lost_disk_s < told_s for each in self._run.watch.machines):
                note()

        self._world.plan(told_s + DURABLE_S, look)

    def actor(self, machine: UsedMachine, name: str) -> Actor:
        """Return an actor of a peer that runs."""
        return self._world.node(machine.peer).actor(name)


def rows_of(machine: UsedMachine, section: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a store on the disk of a machine; the slot is in front of the name."""
    yield from TableSection(machine.disk.table, section).scan(b"", limit=ROWS_MAX)


def ownership_of(machines: Sequence[UsedMachine]) -> Ownership:
    """Return the ownership of a mesh at rest."""
    ownership = machines[0].ownership
    assert ownership is not None, "who is at rest has joined"
    return ownership


def all_rows(machines: Sequence[UsedMachine], section: bytes) -> dict[bytes, bytes]:
    """Return all rows that anybody has; which value, where they differ, is of no matter: that is judged."""
    return {key: value for machine in machines for key, value in rows_of(machine, section)}


def unequal_rows(machines: Sequence[UsedMachine], section: bytes) -> Iterator[str]:
    """Judge that each row of a store is the same at all of its team, and nowhere else."""
    ownership = ownership_of(machines)
    copies: dict[bytes, dict[str, bytes]] = defaultdict(dict)  # by key and peer
    for machine in machines:
        for key, value in rows_of(machine, section):
            copies[key][machine.peer] = value
    for key, values in copies.items():
        if set(values) != set(ownership.team_of(slot_in(key))) or len(set(values.values())) > 1:
            yield f"a row of {section!r} is not the same at all of its team: {key.hex()} {values}"
