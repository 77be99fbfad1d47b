"""Membership actors on a virtual clock and network, all from one seed.

The network loses and delays messages, encodes every one of them, and keeps allow-lists as the real one
does: a message arrives only if its sender was told where the receiver is now and the receiver was told
to let the sender in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from math import inf
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from mesh.actors.actor import Actor, Address, Message, Send
from mesh.actors.codec import encode
from mesh.actors.node import Node, Outgoing
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.config import MeshConfig
from mesh.keys.certificate import Grant
from mesh.keys.decree import POLICY, Decree
from mesh.keys.signing_key import SigningKey
from mesh.membership.doors.knock_schedule import DoorAddress
from mesh.membership.membership import Membership, MembershipStatistics
from mesh.membership.model.members import State
from mesh.membership.model.messages import (
    AddressesTried,
    AnswerDoor,
    Borrow,
    Borrowed,
    ConnectPeer,
    CrawlLicensed,
    DecreePublished,
    DecreesInForce,
    DisconnectPeer,
    DoorKnocked,
    HoldingsRevoked,
    Knock,
    Knocked,
    LendPorts,
    MembershipEnded,
    MembershipRefused,
    MembersSeparated,
    PortsAsked,
    TryAddresses,
)
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import JoinRefused, MemberRecord, PortsLent, Welcomed
from mesh.membership.own.balance import BalanceSettings
from mesh.reach import Reach
from mesh.slot_ranking import WEIGHT_MAX
from mesh.tables.memory_table import MemoryTable
from tests.frames import decode

ROOT = SigningKey.of_secret(b"r" * 32)
CONFIG = MeshConfig(name="test", root_key=ROOT.public.hex(), slot_count=512, analysis_version=6)
DOOR_TIMEOUT_S = 2.0
RELAYED = "relayed"  # begins the addresses that relays lend
TRY_S = 1.0  # until nobody is found where a stranger says that it is


class TrustingCredentials:
    """Takes a record for genuine if it bears the name of its peer."""

    def sign(self, record: MemberRecord) -> MemberRecord:
        return replace(record, signature=record.peer.encode())

    def is_genuine(self, record: MemberRecord) -> bool:
        return record.signature == record.peer.encode()

    def grant_of(self, record: MemberRecord) -> Grant:
        """What stands in the certificate, for ever and any weight if nothing does."""
        if record.certificate:
            return msgspec.msgpack.decode(record.certificate, type=Grant)
        return Grant("a" * 16, weight_max=WEIGHT_MAX)

    def joins_until(self, record: MemberRecord) -> float:
        """The invitation of a peer that is called so has ended."""
        return 0.0 if record.peer.startswith("overdue") else inf


def record_of(peer: str, **changes: Any) -> MemberRecord:
    """A signed record with boring values."""
    record = MemberRecord(
        peer=peer,
        endpoint=f"tcp://{peer}:1",
        multicast=f"tcp://{peer}:2",
        door=f"tcp://{peer}:3",
        gateway="",
        curve_key=f"key of {peer}".encode(),
        signing_key=b"",
        certificate=b"",
        incarnation=0,
        weight=100,
    )
    return TrustingCredentials().sign(replace(record, **changes))


def door_of(peer: str) -> DoorAddress:
    record = record_of(peer)
    return DoorAddress(record.door, record.curve_key)


class Listener(Actor):
    """Stands for the actors that want to know who owns what, and whether they may crawl."""

    name = "controller"

    def __init__(self) -> None:
        self.ownerships: list[Ownership] = []
        self.licences: list[float] = []
        self.policy: tuple[Decree, ...] = ()  # in force

    @property
    def licensed_until(self) -> float:
        return self.licences[-1] if self.licences else inf

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged(ownership):
                self.ownerships.append(ownership)
            case CrawlLicensed(until):
                assert not self.licences or until > self.licences[-1] or self.licences[-1] == inf
                self.licences.append(until)
            case HoldingsRevoked():
                pass
            case DecreesInForce(_, decrees):
                self.policy = decrees
            case _:
                raise AssertionError(f"the controller does not take {message}")
        return []


class Holder(Actor):
    """Stands for the handover."""

    name = "handover"

    def __init__(self) -> None:
        self.revocations: list[float] = []  # when
        self.separated: frozenset[str] = frozenset()

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case OwnershipChanged():
                pass
            case HoldingsRevoked():
                self.revocations.append(now)
            case MembersSeparated(peers):
                assert peers != self.separated
                self.separated = peers
            case _:
                raise AssertionError(f"the handover does not take {message}")
        return []


@dataclass
class Machine:
    """One peer with its network card and its disk."""

    membership: Membership
    listener: Listener
    holder: Holder
    node: Node
    record: MemberRecord
    table: MemoryTable
    doors: tuple[DoorAddress, ...]
    config: MeshConfig
    is_up: bool = True
    connected: dict[str, MemberRecord] = field(default_factory=dict)
    refusal: str = ""
    has_ended: bool = False
    paused_until: float = 0.0
    armed_at: float = -1.0  # the wake that the world has noted
    events: list[Message] = field(default_factory=list)  # what the network port was told
    published: list[DecreePublished] = field(default_factory=list)

    @property
    def ownership(self) -> Ownership | None:
        return self.listener.ownerships[-1] if self.listener.ownerships else None

    def observe(self) -> MembershipStatistics:
        return self.membership.observe()


class World:
    """Machines, the wires between them and the time."""

    def __init__(
        self,
        seed: int,
        *,
        loss: float = 0.0,
        delay_s: tuple[float, float] = (0.001, 0.02),
        settings: SwimSettings | None = None,
        balance: BalanceSettings | None = None,
    ) -> None:
        self.random = Random(seed)
        self.settings = settings
        self.balance = balance
        self.now = 0.0
        self.machines: dict[str, Machine] = {}
        self.loss = loss
        self.delay_s = delay_s
        self.side_of: dict[str, int] = {}  # during a partition
        self.lost: set[tuple[str, str]] = set()  # sender and receiver between whom nothing passes
        self.deaf: set[str] = set()  # whom nobody reaches, and who reach everybody
        self.relay_of: dict[str, str] = {}  # over whom those are reached that are
        self.ports_shift = 0  # added to the ports that relays lend
        self.messages = 0  # that entered the wire
        self._events: list[tuple[float, int, Machine, Address, Message]] = []
        self._sleepers: list[tuple[float, int, Machine]] = []  # by when to wake; some entries are old
        self._numbers = count()
        self._handles: dict[int, Machine] = {}
        self._borrowing: set[str] = set()  # who waits for the answer of a relay

    # --- Machines ----------------------------------------------------------------------------

    def add(
        self,
        peer: str,
        doors: Iterable[DoorAddress] = (),
        *,
        table: MemoryTable | None = None,
        config: MeshConfig = CONFIG,
        reach: Reach = Reach.AUTO,
        is_relay: bool = False,
        **changes: Any,
    ) -> Machine:
        """Start a peer now, or start it again."""
        table = MemoryTable() if table is None else table
        record = record_of(peer, **changes)
        listener, holder = Listener(), Holder()
        membership = Membership(
            record,
            config,
            Random(self.random.random()),
            table,
            TrustingCredentials(),
            tuple(doors),
            self.settings,
            self.balance,
            listeners=("controller", "handover"),
            followers={POLICY: ("controller",)},
            reach=reach,
            lends_ports=is_relay,
        )
        node = Node(peer, [membership, listener, holder])
        self.machines[peer] = Machine(membership, listener, holder, node, record, table, tuple(doors), config)
        self._sleep(self.machines[peer])
        return self.machines[peer]

    def mesh(self, n: int, *, until: float) -> list[Machine]:
        """Start a bootstrap node and n peers that join through it, and let them settle down."""
        self.add("boot", weight=0)
        peers = [self.add(f"peer{i:02}", [door_of("boot")]) for i in range(n)]
        self.run(until)
        return peers

    def crash(self, peer: str) -> None:
        self.machines[peer].is_up = False
        self.relay_of.pop(peer, None)
        for other in [other for other, relay in self.relay_of.items() if relay == peer]:
            del self.relay_of[other]
            lost = Borrowed(self.machines[peer].record.curve_key, None, "it has hung up")
            self._later(0.1, self.machines[other], Address(other, "relay"), lost)

    def restart(self, peer: str, **changes: Any) -> Machine:
        """Start a stopped peer again, with its disk."""
        old = self.machines[peer]
        assert not old.is_up
        kept = {name: getattr(old.record, name) for name in ("weight", "endpoint", "door", "multicast")}
        if kept["endpoint"].startswith(f"tcp://{RELAYED}"):
            kept["endpoint"] = record_of(peer).endpoint  # as it is configured
        return self.add(peer, old.doors, table=old.table, config=old.config, **(kept | changes))

    def pause(self, peer: str, seconds: float) -> None:
        """Hold the process as SIGSTOP does: what is sent to it waits."""
        self.machines[peer].paused_until = self.now + seconds
        self._sleep(self.machines[peer])

    def partition(self, *sides: Iterable[str]) -> None:
        self.side_of = {peer: number for number, side in enumerate(sides) for peer in side}

    def heal(self) -> None:
        self.side_of = {}

    def say(self, peer: str, message: Message) -> None:
        """Hand a local message to the membership of a peer."""
        self._carry_out(
            self.machines[peer],
            self.machines[peer].node.receive(Address(peer, "driver"), "membership", message, self.now),
        )

    # --- What is seen ------------------------------------------------------------------------

    def up(self) -> list[Machine]:
        return [machine for machine in self.machines.values() if machine.is_up]

    def epochs(self) -> set[str]:
        return {machine.observe().epoch for machine in self.up()}

    def states_of(self, peer: str) -> dict[str, State]:
        """What every running machine but `peer` believes of it."""
        rumours = {m.node.peer: m.membership._members.get(peer) for m in self.up() if m.node.peer != peer}
        return {observer: State(rumour.state) for observer, rumour in rumours.items() if rumour}

    def run_until_all_believe(self, peer: str, state: State, *, within: float) -> float:
        """Run until every running machine believes this of a peer; returns the seconds it took."""
        started = self.now
        while self.now < started + within:
            if set(self.states_of(peer).values()) == {state}:
                return self.now - started
            self.run(self.now + 0.1)
        raise AssertionError(f"after {within} s {peer} is believed to be {self.states_of(peer)}")

    # --- The clock ---------------------------------------------------------------------------

    def run(self, until: float) -> None:
        while True:
            sleeper = self._next_sleeper()
            wake_at = self._wake_at(sleeper) if sleeper else inf
            event_at = self._events[0][0] if self._events else inf
            if min(wake_at, event_at) > until:
                self.now = until
                return
            if sleeper is None or event_at <= wake_at:
                at, _, machine, source, message = heappop(self._events)
                self.now = max(self.now, at)
                self._deliver(machine, source, message)
            else:
                self.now = max(self.now, wake_at)
                self._carry_out(sleeper, sleeper.node.wake(self.now))

    def _sleep(self, machine: Machine) -> None:
        wake_at = self._wake_at(machine)
        if wake_at != machine.armed_at:
            machine.armed_at = wake_at
            heappush(self._sleepers, (wake_at, next(self._numbers), machine))

    def _next_sleeper(self) -> Machine | None:
        while self._sleepers:
            at, _, machine = self._sleepers[0]
            if machine.is_up and self.machines[machine.node.peer] is machine and at == machine.armed_at:
                return machine
            heappop(self._sleepers)
        return None

    def _wake_at(self, machine: Machine) -> float:
        return max(machine.node.wake_at(), machine.paused_until)

    def _deliver(self, machine: Machine, source: Address, message: Message) -> None:
        if not machine.is_up:
            return
        if isinstance(message, _GiveUp):
            if self._handles.pop(message.handle, None) is None:
                return
            source, message = Address(machine.node.peer, "door"), Knocked(None)
        if self.now < machine.paused_until:
            self._later(machine.paused_until - self.now, machine, source, message)
            return
        self._carry_out(machine, machine.node.receive(source, "membership", message, self.now))

    def _later(self, seconds: float, machine: Machine, source: Address, message: Message) -> None:
        heappush(self._events, (self.now + seconds, next(self._numbers), machine, source, message))

    # --- The ports ---------------------------------------------------------------------------

    def _carry_out(self, machine: Machine, outgoing: list[Outgoing]) -> None:
        for source, target, message in outgoing:
            if target.peer != machine.node.peer:
                self._transmit(machine, source, target, message)
            else:
                self._order(machine, message)
        self._sleep(machine)

    def _order(self, machine: Machine, message: Message) -> None:
        match message:
            case ConnectPeer(record):
                machine.connected[record.peer] = record
                machine.events.append(message)
            case DisconnectPeer(peer):
                del machine.connected[peer]
                machine.events.append(message)
            case DecreePublished():
                machine.published.append(message)
            case MembershipRefused(reason):
                machine.refusal = reason
            case MembershipEnded():
                machine.has_ended = True
                machine.is_up = False
            case Knock():
                self._knock(machine, message)
            case AnswerDoor(handle, answer):
                stranger = self._handles.pop(handle, None)
                if stranger is not None and self._is_reachable(machine, stranger):
                    self._answer(machine, stranger, answer)
            case TryAddresses(handle, record):
                self._try(machine, handle, record)
            case Borrow():
                self._borrow(machine, message)
            case LendPorts():
                self._lend(machine, message)
            case _:
                raise AssertionError(f"nobody takes {message}")

    def _knock(self, machine: Machine, knock: Knock) -> None:
        handle = next(self._numbers)
        self._handles[handle] = machine
        opener = next(
            (
                m
                for m in self.up()
                if (m.record.door, m.record.curve_key) == (knock.endpoint, knock.server_key)
            ),
            None,
        )
        if opener is not None and self._is_reachable(machine, opener):
            heard = DoorKnocked(handle, machine.record.curve_key, knock.join)
            door = Address(opener.node.peer, "door")
            self._later(self.random.uniform(*self.delay_s), opener, door, heard)
        self._later(DOOR_TIMEOUT_S, machine, Address("", "world"), _GiveUp(handle))

    def _answer(self, opener: Machine, stranger: Machine, answer: Welcomed | JoinRefused) -> None:
        delay_s, record = self.random.uniform(*self.delay_s), opener.record
        if stranger.node.peer in self._borrowing and isinstance(answer, JoinRefused):
            self._borrowing.remove(stranger.node.peer)
            relay = Address(stranger.node.peer, "relay")
            self._later(delay_s, stranger, relay, Borrowed(record.curve_key, None, answer.reason))
        else:
            door = Address(stranger.node.peer, "door")
            self._later(delay_s, stranger, door, Knocked(answer, record.door, record.curve_key))

    def _borrow(self, machine: Machine, borrow: Borrow) -> None:
        handle, peer = next(self._numbers), machine.node.peer
        relay = next((m for m in self.up() if m.record.door == borrow.endpoint), None)
        if relay is None or not self._is_reachable(machine, relay):
            nobody = Borrowed(borrow.server_key, None, "nobody answers")
            self._later(TRY_S, machine, Address(peer, "relay"), nobody)
            return
        self._handles[handle] = machine
        self._borrowing.add(peer)
        asked = PortsAsked(handle, machine.record.curve_key, borrow.borrow)
        delay_s = self.random.uniform(*self.delay_s)
        self._later(delay_s, relay, Address(relay.node.peer, "door"), asked)

    def _lend(self, relay: Machine, order: LendPorts) -> None:
        """Have a peer reached over the relay, by the address of its ports there."""
        peer = self._handles.pop(order.handle)
        name = relay.node.peer
        at = f"tcp://{RELAYED}-{name}-{order.peer}"
        inbox, multicast, door = (f"{at}:{number + self.ports_shift}" for number in (1, 2, 3))
        lent = PortsLent(inbox, multicast, door, b"lease", b"secret")
        self._borrowing.discard(order.peer)
        self.relay_of[order.peer] = name
        peer.record = replace(peer.record, endpoint=lent.endpoint)
        borrowed = Borrowed(relay.record.curve_key, lent)
        self._later(self.random.uniform(*self.delay_s), peer, Address(order.peer, "relay"), borrowed)

    def _hears(self, peer: str) -> bool:
        """Can others connect to it, or to a relay that it has?"""
        return peer not in self.deaf or peer in self.relay_of

    def _try(self, machine: Machine, handle: int, record: MemberRecord) -> None:
        stranger = self.machines[record.peer]
        is_there = stranger.is_up and stranger.record.endpoint == record.endpoint
        if is_there and self._hears(record.peer) and self._is_reachable(machine, stranger):
            failure, delay_s = "", self.random.uniform(*self.delay_s)
        else:
            failure, delay_s = f"nobody answers at {record.endpoint}", TRY_S
        self._later(delay_s, machine, Address(machine.node.peer, "door"), AddressesTried(handle, failure))

    def _transmit(self, machine: Machine, source: Address, target: Address, message: Message) -> None:
        self.messages += 1
        frame = encode(source.actor, target.actor, message)
        receiver = self.machines.get(target.peer)
        contact = machine.connected.get(target.peer)
        if (
            receiver is None
            or contact is None
            or contact.endpoint != receiver.record.endpoint
            or source.peer not in receiver.connected
            or not self._is_reachable(machine, receiver)
            or not self._hears(target.peer)
            or (source.peer, target.peer) in self.lost
            or self.random.random() < self.loss
        ):
            return
        envelope = decode(frame)
        self._later(self.random.uniform(*self.delay_s), receiver, source, envelope.message)

    def _is_reachable(self, one: Machine, other: Machine) -> bool:
        return self.side_of.get(one.node.peer) == self.side_of.get(other.node.peer)


class _GiveUp(Message, frozen=True):
    """The door port's own time-out."""

    handle: int
