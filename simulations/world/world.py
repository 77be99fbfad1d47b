"""Many peers in one thread under a virtual clock: the second driver of `mesh.actors.node.Node`.

Theory of operation
===================
One heap holds what is going to happen as (time, sequence number, what to do); the loop takes the
earliest, sets the clock to its time and does it. The sequence number breaks ties in the order of
sending, so one seed gives one run. These things happen:

* a frame arrives at a peer: it was encoded when it was sent (once, however many receive it), and the first of
  each kind are decoded for every receiver, so what cannot cross a wire fails here as it would live;
* a port answers: a virtual port takes an order at once and says after how long which answer comes;
* a peer's table commits: promises (`Message.is_promise`) that its actors made wait for this, as the
  runtime makes them wait for the disk;
* a peer wakes. Nobody asks all peers for the time on every event: after a peer has done something its
  next wake goes on the heap if it is earlier than the one that waits there. An entry that has become
  too early finds nothing due and is put back at the right time; one that is no longer the peer's
  entry is skipped;
* something the experiment has planned: mostly a fault.

A peer sees the time of its own clock (`clock`), which the world asks whenever it hands something in. What is
to happen to a *paused* peer (SIGSTOP) is held back until it goes on, what is to arrive over a *clogged* link
until that is unclogged; both then happen at once, in order. A peer with a *fuse* is killed in the middle of
its work: after so many more sends, be it between two that one handler wanted.

`digest` is a hash over every message in the order of delivery: time, source, target and bytes, or of those
between a peer and its ports the kind. What actors of one peer say to each other is not in it;
it follows from the rest.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from struct import Struct
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import xxhash

from mesh.actors.actor import EVERYBODY, Address, Message
from mesh.actors.codec import Decoder, encode
from mesh.actors.departures import Departures, envelopes
from mesh.actors.node import Node, Outgoing
from mesh.errors import LocalProtocolError, RemoteProtocolError
from peers.wire_tags import WIRE_TAGS
from simulations.world.hardware import LIMITLESS, Hardware
from simulations.world.network import Network

COMMIT_S: Final = 0.02  # as `mesh.process.runtime` pauses between commits

# A peer with so much to do without the clock moving is in a loop: its `wake_at` does not follow its `wake`.
TURNS_AT_ONCE_MAX: Final = 10_000


# What cannot cross a wire is seen by then, as it would be live; of who may send anything all is decoded.
READ_FRAMES: Final = 1_000


class PortAnswer(NamedTuple):
    """The message of a virtual port, and its delay."""

    delay_s: float  # from the order to the answer
    target: Address  # an actor of the port's own peer, or of one that it can reach
    message: Message


class VirtualPort(Protocol):
    """The twin of a live port: same name, same messages, virtual time."""

    name: str

    def receive(self, source: Address, message: Message, now: float) -> Iterable[PortAnswer]:
        """Take an order and return the answers that will come of it."""


class Clock(Protocol):
    """A peer's own time."""

    def start(self, now: float) -> None:
        """The peer starts now, by the time of the world."""

    def local(self, now: float, least: float) -> float:
        """The time on the clock at a time of the world, and `least` at least; never goes back."""

    def world(self, local: float) -> float:
        """The time of the world at which the clock shows this."""

    def commit(self, now: float) -> None:
        """A commit is made now, which keeps the time."""


class CommittedTable(Protocol):
    """A table that knows which changes are durable, for peers that may crash."""

    @property
    def has_changes(self) -> bool:
        """Was anything written since the last commit?"""

    def commit(self) -> None:
        """All that was written so far survives a crash."""

    def revert(self) -> None:
        """Back to the last commit: the state that a crash leaves behind."""


@dataclass(slots=True)
class MessageTally:
    """How often and how large; of one kind of message."""

    messages: int = 0
    bytes: int = 0

    def count(self, n_bytes: int) -> None:
        self.messages += 1
        self.bytes += n_bytes


@dataclass(slots=True)
class Traffic:
    """Counts by kind of messages that crossed wires, else envelopes; a multicast counts for each receiver."""

    sent: dict[str, MessageTally] = field(default_factory=dict)
    envelopes: int = 0  # each with the messages that left together for one receiver
    repeated: int = 0  # envelopes brought twice by the network
    delivered: int = 0  # envelopes, as those lost and refused
    lost: int = 0  # by the network, or sent to a peer that is down or unknown
    refused: int = 0  # with a frame of another version, or for an actor that does not take it from others

    def total(self) -> MessageTally:
        """All envelopes, and their bytes."""
        return MessageTally(self.envelopes, sum(kind.bytes for kind in self.sent.values()))


# What is sent instead of a message from one address to another; None for nothing.
Twist: TypeAlias = Callable[[Address, Address, Message], Message | None]


class _Frame(NamedTuple):
    """An encoded message between two peers."""

    source: Address
    target: Address
    kind: str
    content: bytes
    message: Message | None = None  # in it; None if its receiver is to find out


_Event: TypeAlias = tuple[Callable[..., None], tuple[Any, ...]]


@dataclass(slots=True)
class _Peer:
    """A node, and the state that the driver keeps for it."""

    node: Node
    ports: Mapping[str, VirtualPort]
    table: CommittedTable | None
    clock: Clock | None
    hardware: Hardware
    departures: Departures
    commit_at: float = inf  # of its valid entry on the heap, if its disk was as fast as others
    wake_at: float = inf  # of its valid entry on the heap, by its own clock
    wakes: set[float] = field(default_factory=set)  # of all its entries there, some of them no more valid
    # What its ports have answered without delay: port, target, message.
    at_once: deque[tuple[Address, Address, Message]] = field(default_factory=deque)
    unsent: list[Outgoing] = field(default_factory=list)  # to others, with the end of the event
    is_at_work: bool = False  # an event is handed in
    is_up: bool = True
    commit_factor: float = 1.0  # how much longer its disk takes
    held: list[_Event] | None = None  # while it is paused: what waits
    fuse: int | None = None  # sends until it dies
    last_words: Callable[[], None] | None = None  # what kills it then


class World:
    """Drives nodes, the network between them and their ports, from one heap of events."""

    def __init__(
        self,
        network: Network,
        *,
        commit_s: float = COMMIT_S,
        start_s: float = 0.0,
        read_frames: int = READ_FRAMES,
    ) -> None:
        """Make a world without peers.

        Args:
          network: decides on delay and loss.
          commit_s: from a promise to the commit that lets it out.
          start_s: what the clock shows first, in seconds of the mesh clock.
          read_frames: of each kind of message so many are decoded where they arrive, and all that the
            event which reaches that number has for the same peer.
        """
        self.now = start_s
        self.traffic = Traffic()
        self.n_events = 0  # that have happened; entries of the heap that were valid no more are none
        self._network = network
        self._commit_s = commit_s
        self._read_frames = read_frames
        self._peers: dict[str, _Peer] = {}  # in the order of joining, which is the order of multicasts
        self._events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._sequence = 0
        self._hash = xxhash.xxh3_128()
        self._names: dict[Address, bytes] = {}
        self._clogs: dict[tuple[str, str], list[_Event]] = {}
        self._distrusted: set[str] = set()  # who may send what no honest peer would
        self._skews: dict[str, Callable[[bytes], bytes]] = {}
        self._twists: dict[str, Twist] = {}

    @property
    def digest(self) -> str:
        """Hash over every message delivered so far; equal exactly when two runs were the same."""
        return self._hash.hexdigest()

    @property
    def in_flight(self) -> int:
        """Envelopes on their way, those that are held back too."""
        held = [event for peer in self._peers.values() for event in peer.held or ()]
        held += [event for events in self._clogs.values() for event in events]
        on_their_way = sum(act == self._arrive for _, _, act, _ in self._events)
        return on_their_way + sum(act == self._arrive for act, _ in held)

    @property
    def unbalanced(self) -> int:
        """Envelopes that were sent, but are neither on their way nor delivered, lost or refused: none."""
        traffic = self.traffic
        ended = traffic.delivered + traffic.lost + traffic.refused
        return traffic.total().messages + traffic.repeated - ended - self.in_flight

    def add_peer(
        self,
        node: Node,
        ports: Sequence[VirtualPort],
        table: CommittedTable | None = None,
        clock: Clock | None = None,
        hardware: Hardware = LIMITLESS,
    ) -> None:
        """Let a peer take part from now on; with `table` it may crash. A crashed one may come again."""
        before = self._peers.get(node.peer)
        assert before is None or not before.is_up, f"peer {node.peer} is there already"
        by_name = {port.name: port for port in ports}
        peer = _Peer(node, by_name, table, clock, hardware, Departures(self._commit_s))
        self._peers[node.peer] = peer
        if clock is not None:
            clock.start(self.now)
        self._settle(peer)

    # --- Faults ---

    def crash(self, name: str) -> None:
        """Kill a peer: its memory, its promises and all that its ports were doing are gone.

        Frames on their way to it are lost. What its ports had made durable is their own affair.
        """
        peer = self._peers[name]
        assert peer.table is not None, "a peer without a table that commits cannot crash"
        held, peer.held = peer.held, None
        self.traffic.lost += sum(act == self._arrive for act, _ in held or ())
        peer.is_up = False
        peer.at_once.clear()
        peer.departures.clear()
        peer.table.revert()

    def stop(self, name: str) -> None:
        """End a peer as its driver does that has time to: with a last commit, and the promises of that."""
        peer = self._peers[name]
        if peer.is_up and peer.held is None:
            self._commit(peer, peer.commit_at)
        if peer.is_up:
            self.crash(name)

    def light_fuse(self, name: str, sends: int, last_words: Callable[[], None]) -> None:
        """Have a peer die after so many more sends; `last_words` is then called and has to `crash` it."""
        peer = self._peers[name]
        peer.fuse, peer.last_words = sends, last_words

    def put_out_fuse(self, name: str) -> None:
        self._peers[name].fuse = None

    def pause(self, name: str) -> None:
        """Stop a process, as SIGSTOP does: it sees nothing until `resume`, which brings it everything."""
        peer = self._peers[name]
        if peer.held is None:
            peer.held = []

    def resume(self, name: str) -> None:
        peer = self._peers[name]
        held, peer.held = peer.held, None
        for act, arguments in held or ():
            self._push(self.now, act, *arguments)

    def clog(self, source: str, target: str) -> None:
        """Hold back the messages that arrive from one peer at the other, until `unclog`."""
        self._clogs.setdefault((source, target), [])

    def unclog(self, source: str, target: str) -> None:
        for act, arguments in self._clogs.pop((source, target), []):
            self._push(self.now, act, *arguments)

    def slow_disk(self, name: str, factor: float) -> None:
        """Let the commits of a peer take so much longer; 1 for a healthy disk."""
        self._peers[name].commit_factor = factor

    def skew(self, name: str, of_another_version: Callable[[bytes], bytes]) -> None:
        """Let a peer speak another version: its frames are changed so, and may then be refused."""
        self._skews[name] = of_another_version

    def transmit(self, source: str, target: str, frame: bytes) -> None:
        """Send bytes of which no peer of this version knows anything."""
        addresses = Address(source, "tomorrow"), Address(target, "tomorrow")
        self._launch([_Frame(*addresses, "Unknown", frame)], is_multicast=False)

    def is_up(self, name: str) -> bool:
        return self._peers[name].is_up

    def is_running(self, name: str) -> bool:
        """Is it up, and not paused?"""
        peer = self._peers[name]
        return peer.is_up and peer.held is None

    def passes(self, source: str, target: str) -> bool:
        """Do frames get through from one peer to the other?"""
        return self._network.reaches(source, target) and (source, target) not in self._clogs

    def is_connected(self, one: str, other: str) -> bool:
        """Do frames get through in both directions?"""
        return self.passes(one, other) and self.passes(other, one)

    def local_time(self, name: str) -> float:
        """Return the time on the clock of a peer."""
        return self._now_of(self._peers[name])

    def node(self, name: str) -> Node:
        """The node of a peer, for a look at its statistics."""
        return self._peers[name].node

    def deliver(self, source: Address, target: Address, message: Message) -> None:
        """Hand a message to an actor now, as one of the peer's ports would."""
        peer = self._peers[target.peer]
        assert peer.is_up, f"peer {target.peer} is down"
        self._hand_in(peer, source, target.actor, message)
        self._settle(peer)

    def distrust(self, peer: str) -> None:
        """Let a peer send messages that no peer of our version would send; the refused ones are counted."""
        self._distrusted.add(peer)

    def forge(self, peer: str, target: Address, message: Message) -> None:
        """Send something in the name of a peer that its node does not send."""
        self.repeat(Address(peer, target.actor), target, message)

    def twist(self, peer: str, twist: Twist) -> Twist:
        """Have messages of a peer to single others replaced; return the twist in force before."""
        before = self._twists.get(peer, lambda source, target, message: message)
        self._twists[peer] = twist
        return before

    def repeat(self, source: Address, target: Address, message: Message) -> None:
        """Send something again in the name of an actor that has sent it before."""
        frame = _Frame(source, target, type(message).__name__, self._pack(source, target, message))
        self._launch([frame], is_multicast=False)

    def plan(self, at: float, action: Callable[[], None]) -> None:
        """Have something done at a time of the virtual clock: a fault, a measurement."""
        self._push(max(at, self.now), action)

    def run(self, until: float) -> None:
        """Let the time pass up to and including `until`."""
        events = self._events
        while events and events[0][0] <= until:
            at, _, act, arguments = heappop(events)
            self.now = at
            self.n_events += 1
            act(*arguments)
        self.now = max(self.now, until)

    def _push(self, at: float, act: Callable[..., None], *arguments: Any) -> None:
        self._sequence += 1
        heappush(self._events, (at, self._sequence, act, arguments))

    def _now_of(self, peer: _Peer, least: float = -inf) -> float:
        return self.now if peer.clock is None else peer.clock.local(self.now, least)

    def _hand_in(self, peer: _Peer, source: Address, actor: str, message: Message) -> None:
        outgoing = peer.node.receive(source, actor, message, self._now_of(peer))
        if outgoing:
            self._carry_out(peer, outgoing)

    def _has_died(self, peer: _Peer) -> bool:
        """Let the fuse burn by one send."""
        if peer.is_up and peer.fuse is not None:
            peer.fuse -= 1
            if peer.fuse < 0:
                peer.fuse = None
                assert peer.last_words is not None
                peer.last_words()
        return not peer.is_up

    def _carry_out(self, peer: _Peer, outgoing: list[Outgoing]) -> None:
        """Carry out the wishes of the actors of a peer."""
        for item in outgoing:
            if item.message.is_promise or item.message.waits_for_company:
                peer.departures.add(item, self.now)
            else:
                self._send(peer, item)

    def _let_go(self, peer: _Peer) -> None:
        """Send all that an event has for others: for each peer as one message, if it fits into it."""
        unsent, peer.unsent = peer.unsent, []
        if len(unsent) == 1:
            self._transmit(unsent)
            return
        by_peer: dict[str, list[Outgoing]] = defaultdict(list)
        for item in unsent:
            by_peer[item.target.peer].append(item)
        for items in by_peer.values():
            self._transmit(items)

    def _settle(self, peer: _Peer) -> bool:
        """After an event of a peer: do all that is due without the clock moving, see when it is next due.

        Returns:
          Was anything due?
        """
        if peer.is_at_work:
            return True  # its own port has handed something in: who is at work does the rest
        peer.is_at_work = True
        node, at, n_turns = peer.node, inf, 0
        while peer.is_up:
            if peer.at_once:
                self._take_answer(peer, *peer.at_once.popleft())
            else:
                at, now = node.wake_at(), self.now if peer.clock is None else self._now_of(peer)
                if at > now:
                    break
                outgoing = node.wake(now)
                if outgoing:
                    self._carry_out(peer, outgoing)
            n_turns += 1
            if n_turns == TURNS_AT_ONCE_MAX:
                raise LocalProtocolError(
                    f"peer {node.peer} has something to do at {self.now} again and again"
                )
        peer.is_at_work = False
        if peer.unsent:
            self._let_go(peer)
        if not peer.is_up:
            return True
        if node.has_news or (peer.table is not None and peer.table.has_changes):
            peer.departures.note_changes(self.now)
        if peer.departures.due_s < peer.commit_at:
            self._schedule_commit(peer, peer.departures.due_s)
        if at < peer.wake_at:
            self._schedule_wake(peer, at)
        return n_turns > 0

    def _schedule_commit(self, peer: _Peer, commit_at: float) -> None:
        peer.commit_at = commit_at
        slower_s = self._commit_s * (peer.commit_factor - 1.0)
        at_s = commit_at + slower_s
        if peer.hardware is not LIMITLESS:
            at_s = max(at_s, peer.hardware.sync_from())
        self._push(at_s, self._commit, peer, commit_at)

    def _send(self, peer: _Peer, item: Outgoing) -> None:
        if (peer.fuse is not None or not peer.is_up) and self._has_died(peer):
            return
        source, target, message = item
        if target.peer == peer.node.peer:
            self._order(peer, source, target, message)
            return
        if target.peer != EVERYBODY:
            peer.unsent.append(item)
            return
        frame = self._framed(source, target, message, type(message).__name__)
        for name, other in self._peers.items():
            if other is not peer and other.node.has_actor(
                target.actor
            ):  # it subscribes to what its actors take
                self._launch([frame._replace(target=Address(name, target.actor))], is_multicast=True)

    def _transmit(self, items: Iterable[Outgoing]) -> None:
        """Send messages of one peer to another, as one message if they fit into it."""
        frames = []
        for source, target, message in items:
            twist = self._twists.get(source.peer) if self._twists else None
            said = message if twist is None else twist(source, target, message)
            if said is not None:
                frame = self._framed(source, target, said, type(message).__name__)
                frames.append((frame, len(frame.content)))
        for envelope in envelopes(frames):
            self._launch(envelope, is_multicast=False)

    def _launch(self, frames: list[_Frame], *, is_multicast: bool) -> None:
        traffic = self.traffic
        for frame in frames:
            tally = traffic.sent.get(frame.kind)
            if tally is None:
                tally = traffic.sent[frame.kind] = MessageTally()
            tally.count(len(frame.content))
        traffic.envelopes += 1
        source, target = frames[0].source.peer, frames[0].target.peer
        network, now = self._network, self.now
        at = network.arrival(source, target, is_multicast=is_multicast, now=now)
        if at is None:
            traffic.lost += 1
            return
        self._push(at, self._arrive, source, target, frames)
        again = network.repetition(source, target, is_multicast=is_multicast, now=now)
        if again is not None:
            traffic.repeated += 1
            self._push(again, self._arrive, source, target, frames)

    def _arrive(self, source: str, target: str, frames: list[_Frame]) -> None:
        if self._clogs:
            clog = self._clogs.get((source, target))
            if clog is not None:
                clog.append((self._arrive, (source, target, frames)))
                return
        peer = self._peers.get(target)
        if peer is not None and peer.held is not None:
            peer.held.append((self._arrive, (source, target, frames)))
            return
        n_bytes = 0
        for frame in frames:
            self._note(frame.source, frame.target, frame.content)
            n_bytes += len(frame.content)
        if peer is None or not peer.is_up:
            self.traffic.lost += 1
            return
        conduct = peer.node.conduct
        if not conduct.admits_bytes(source, n_bytes, self._now_of(peer), n_messages=len(frames)):
            self.traffic.refused += 1
            return
        is_taken = True
        for frame in frames:
            if peer.is_up and not self._take(peer, frame):
                is_taken = False
        self.traffic.refused += not is_taken
        self.traffic.delivered += is_taken
        self._settle(peer)

    def _take(self, peer: _Peer, frame: _Frame) -> bool:
        """Hand in a message of another peer; return False when it was refused."""
        source, actor, message = frame.source, frame.target.actor, frame.message
        try:
            if message is None:
                actor, message = self._unpack(frame.content)
            outgoing = peer.node.receive_remote(source, actor, message, self._now_of(peer))
        except RemoteProtocolError:
            if source.peer not in self._skews and source.peer not in self._distrusted:
                raise  # a peer of our version has sent it: a bug
            return False
        if outgoing:
            self._carry_out(peer, outgoing)
        return True

    def _order(self, peer: _Peer, source: Address, target: Address, message: Message) -> None:
        port = peer.ports.get(target.actor)
        if port is None:
            raise LocalProtocolError(f"{source} sent {message!r} to {target.actor}, which is nobody")
        self._note_local(source, target, message)
        for delay_s, whom, answer in port.receive(source, message, self._now_of(peer)):
            if delay_s <= 0.0 and whom.peer == target.peer:
                peer.at_once.append((target, whom, answer))
            else:
                self._push(self.now + delay_s, self._answer, peer, target, whom, answer)

    def _answer(self, asked: _Peer, source: Address, target: Address, message: Message) -> None:
        peer = asked
        if target.peer != source.peer:  # the port is the twin of a server: its counterpart there speaks
            peer = self._peers[target.peer]
        if not peer.is_up or not asked.is_up:
            return
        if peer.held is not None:
            peer.held.append((self._answer, (asked, source, target, message)))
            return
        if peer is not asked:
            source = Address(target.peer, source.actor)
        self._take_answer(peer, source, target, message)
        self._settle(peer)

    def _take_answer(self, peer: _Peer, source: Address, target: Address, message: Message) -> None:
        if not peer.node.has_actor(target.actor):  # a port that reminds itself, or its counterpart
            self._order(peer, source, target, message)
            return
        self._note_local(source, target, message)
        self._hand_in(peer, source, target.actor, message)

    def _commit(self, peer: _Peer, at: float) -> None:
        if not peer.is_up or peer.commit_at != at:
            self.n_events -= 1
            return
        if peer.held is not None:
            peer.held.append((self._commit, (peer, at)))
            return
        if peer.clock is not None:
            peer.clock.commit(self.now)
        outgoing = peer.node.before_commit(self._now_of(peer))
        if outgoing:
            self._carry_out(peer, outgoing)
        if peer.table is not None:
            peer.table.commit()
        if peer.hardware is not LIMITLESS:
            peer.hardware.sync(self.now)
        peer.commit_at = inf
        for item in peer.departures.take(self.now):
            if item.target.peer != peer.node.peer:
                if peer.fuse is None or not self._has_died(peer):
                    peer.unsent.append(item)
            elif not peer.node.has_actor(item.target.actor):
                self._send(peer, item)
            elif peer.is_up:
                self._hand_in(peer, item.source, item.target.actor, item.message)
        self._settle(peer)

    def _schedule_wake(self, peer: _Peer, at: float) -> None:
        """Put the next wake on the heap, by the time of the world."""
        peer.wake_at = at
        if at == inf:
            return
        if at not in peer.wakes:
            peer.wakes.add(at)
            world_at = at if peer.clock is None else max(peer.clock.world(at), self.now)
            self._push(world_at, self._wake, peer, at)

    def _wake(self, peer: _Peer, at: float) -> None:
        peer.wakes.discard(at)
        if peer.wake_at != at or not peer.is_up:
            self.n_events -= 1
            return
        if peer.held is not None:
            peer.held.append((self._wake, (peer, at)))
            return
        peer.wake_at = inf
        if peer.clock is not None:
            self._now_of(peer, at)
        if not self._settle(peer):  # the reason to wake has gone since
            self.n_events -= 1

    def _framed(self, source: Address, target: Address, message: Message, kind: str) -> _Frame:
        """Encode a message as the version of the peer that says it does."""
        content = self._pack(source, target, message)
        skew = self._skews.get(source.peer) if self._skews else None
        if skew is not None:
            return _Frame(source, target, kind, skew(content))
        tally = self.traffic.sent.get(kind)
        is_read = tally is None or tally.messages < self._read_frames or source.peer in self._distrusted
        return _Frame(source, target, kind, content, None if is_read else message)

    def _pack(self, source: Address, target: Address, message: Message) -> bytes:
        return encode(source.actor, target.actor, message)

    def _unpack(self, frame: bytes) -> tuple[str, Message]:
        """Return the actor that a frame is for, and the message in it."""
        envelope = _decode(frame)
        return envelope.target, envelope.message

    def _note_local(self, source: Address, target: Address, message: Message) -> None:
        self._note(source, target, type(message).__name__.encode())

    def _note(self, source: Address, target: Address, content: bytes) -> None:
        names = self._names
        source_name = names.get(source)
        if source_name is None:
            source_name = names[source] = _name(source)
        target_name = names.get(target)
        if target_name is None:
            target_name = names[target] = _name(target)
        self._hash.update(b"".join((_pack_time(self.now), source_name, target_name, content)))


_pack_time = Struct("<d").pack


_decode = Decoder(WIRE_TAGS.values()).decode


def _name(address: Address) -> bytes:
    """The address in the digest; a length before each part keeps two addresses from looking alike."""
    return b"".join(bytes((len(part),)) + part.encode() for part in address)
