"""Frames between members: ZeroMQ over TCP, encrypted and authenticated by CURVE. [io]

Theory of operation. A peer binds two sockets that only members of the allow-list can connect to: an
inbox (ROUTER) and an ear for multicasts (SUB). It connects one DEALER to the inbox of each member it
sends to, and one PUB to the ears of all of them. That the *listener* binds is what names the sender:
only a CURVE server learns, per message and from libzmq itself, whose key is at the other end. (A SUB
that connects to many publishers cannot tell whose message it has.)

Sending never waits: a full queue refuses and counts, and the sender's actor tries again in its own
time. No message is acknowledged here; a connection that breaks loses what was in flight.

Who shows no key has to make room for others soon (`handshakes`).
A member that sends one message of endlessly many parts, which libzmq would keep, is cut off (`inflow`).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from struct import Struct
from typing import Final, TypeAlias

import msgspec
import trio
import zmq

from mesh.actors.actor import Statistics
from mesh.errors import ConfigError
from mesh.keys.identity import Identity, is_curve_key
from mesh.transport.descriptors import for_disk
from mesh.transport.door import Door, DoorVisit, knock
from mesh.transport.handshakes import HANDSHAKES_MAX, Handshakes
from mesh.transport.inflow import CHECK_S, QUIET_BYTES, QUIET_CHECK_S, Inflow, bytes_on_wire
from mesh.transport.relay import Relay
from mesh.transport.tcp_endpoint import BACKLOG, bind_error, check_address, checked_own_endpoint
from mesh.transport.zap import KEYS_WAITING_MAX, AllowList, require_curve_server
from mesh.transport.zmq_socket import TrioSocket

ZmqSocket: TypeAlias = zmq.Socket[bytes]
# The authenticated sender's peer id, its frames (none if the message had a wrong shape), bytes on the wire.
Received: TypeAlias = tuple[str, list[bytes], int]

FRAME_BYTES_MAX = 16 << 20  # the largest message; who sends a larger one is disconnected by libzmq
FRAMES_MAX = 16  # parts of one message; one of more is dropped and counted
QUEUE_MESSAGES = 1_000  # per connection to send, libzmq's default; a full one refuses
LARGE_FRAME_BYTES = 64 << 10  # from here on frames are not copied, and their bytes are counted
LARGE_BYTES_QUEUED_MAX = 64 << 20  # per peer: queues count messages, so large ones need this bound
SOCKETS_MAX = 8_192  # one DEALER per member; libzmq's default of 1,023 would bound the mesh
EXCESS_BYTES_MAX: Final = 2 * FRAME_BYTES_MAX  # that a connection may bring of a message that is not whole
PIECE_MESSAGES: Final = 8  # worked off between two looks at the time
TURN_S: Final = 0.01  # of a loop that works off messages, before others have theirs: pings, answers of ports
LINGER_MS = 500  # for the last messages to a peer, when one of the two leaves
HEARTBEAT_IVL_MS = 5_000  # finds connections that died without a FIN; members are found dead by SWIM
HEARTBEAT_TIMEOUT_MS = 15_000  # three of them lost
RECONNECT_IVL_MS = 200  # plus as much at random; a peer that starts again is found within half a second
# Doubles up to here while nobody listens. What a gateway asks for while it comes back is answered over these
# connections: at 5 s its answers lacked slots for 2.3 to 3.0 s. A member that is down costs two SYN a second.
RECONNECT_IVL_MAX_MS = 1_000
CONNECT_TIMEOUT_MS = 5_000  # the kernel's is about two minutes

CURVE_BYTES = 64  # what encryption adds to a frame before libzmq checks its size: 33, and some slack

_OPTIONS = {
    zmq.MAXMSGSIZE: FRAME_BYTES_MAX + CURVE_BYTES,
    zmq.SNDHWM: QUEUE_MESSAGES,
    zmq.LINGER: 0,
    zmq.BACKLOG: BACKLOG,
    zmq.RECONNECT_IVL: RECONNECT_IVL_MS,
    zmq.RECONNECT_IVL_MAX: RECONNECT_IVL_MAX_MS,
    zmq.CONNECT_TIMEOUT: CONNECT_TIMEOUT_MS,
    # Queue while there is no connection yet: a first message need not know when the handshake is done.
    zmq.IMMEDIATE: 0,
}
# libzmq 4.3.5 ends the process (`!_io_error`, its issue 4364) if a heartbeat is due on a connection that
# broke while its messages waited for room in a full queue. So heartbeats come from sockets whose queues have
# no end (how much waits in them is up to `Inflow`); the other side goes by their time to live.
_BOUND_OPTIONS = {
    zmq.RCVHWM: 0,
    zmq.HEARTBEAT_IVL: HEARTBEAT_IVL_MS,
    zmq.HEARTBEAT_TIMEOUT: HEARTBEAT_TIMEOUT_MS,
    zmq.HEARTBEAT_TTL: HEARTBEAT_TIMEOUT_MS,
}
# ROUTER_MANDATORY and ROUTER_HANDOVER stay off: nothing is sent by routing id, and with no hand-over a
# connection cannot take the place of another by claiming its routing id.

HANDSHAKE_FAILURES = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
# Number and value of an event, as the monitor of a socket tells it: zmq_socket_monitor(3).
# What pyzmq has for it loads asyncio.
MONITOR_EVENT: Final = Struct("=hi")
MONITORED = HANDSHAKE_FAILURES | zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED


class TransportLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How long a transport bears with connections that come to nothing, and with how many."""

    handshake_ms: int = 5_000  # libzmq's 30 s would let idlers keep six times as many descriptors
    handshakes_max: int = HANDSHAKES_MAX  # at a time; one more turns out the oldest
    keys_waiting_max: int = KEYS_WAITING_MAX
    received_bytes_max: int = 512 << 20  # that wait to be read of one connection; with more it is shut down
    stuck_s: float = 10.0  # a queue that refuses for so long gets a new connection; see `_renew_if_stuck`


class TransportStatistics(Statistics, frozen=True):
    """Traffic since the start; bytes are those of frames, before encryption."""

    messages_sent: int = 0
    bytes_sent: int = 0
    multicasts_sent: int = 0  # one for all receivers
    multicast_bytes_sent: int = 0
    messages_received: int = 0
    bytes_received: int = 0
    sends_refused: int = 0  # to an unknown peer, or its queue was full
    messages_dropped: int = 0  # received, of a peer no longer allowed or with too many parts
    keys_refused: int = 0  # handshakes with a key that is not in the allow-list
    handshakes_failed: int = 0  # before a key was shown: no CURVE, wrong server key, noise
    handshakes_cut: int = 0  # that took their time, to make room
    connections_cut: int = 0  # since a message came that had no end
    visitors_refused: int = 0  # at the door, without a proper question
    visitors_turned_out: int = 0  # at the door, to make room


@dataclass(slots=True)
class _Link:
    """A member that we send to: its endpoints, key, socket, and large messages under way."""

    endpoint: str
    multicast_endpoint: str
    curve_public: bytes
    dealer: ZmqSocket
    large: deque[tuple[zmq.MessageTracker | None, int]] = field(default_factory=deque)  # (done?, bytes)
    large_bytes: int = 0
    refuses_since: float | None = None  # trio's clock; None while the queue takes messages

    def leads_to(self, endpoint: str, multicast_endpoint: str, curve_public: bytes) -> bool:
        return (self.endpoint, self.multicast_endpoint, self.curve_public) == (
            endpoint,
            multicast_endpoint,
            curve_public,
        )


class Transport:
    """The sockets of one peer. Its methods belong to the trio thread; `serve` must run."""

    def __init__(
        self,
        identity: Identity,
        *,
        endpoint: str = "tcp://127.0.0.1:0",
        multicast_endpoint: str = "tcp://127.0.0.1:0",
        door_endpoint: str | None = None,
        relay: Relay | None = None,
        limits: TransportLimits | None = None,
    ) -> None:
        """Bind everything; port 0 takes a free one, and the attributes say which.

        Args:
          relay: of this peer, behind its door.

        Raises:
          ConfigError: an endpoint is malformed or in use. Nothing stays open.
        """
        self._identity = identity
        self._limits = limits or TransportLimits()
        self._context: zmq.Context[ZmqSocket] = zmq.Context()
        self._context.set(zmq.MAX_SOCKETS, SOCKETS_MAX)
        self._links: dict[str, _Link] = {}
        self._ears: dict[str, list[str]] = {}  # multicast endpoint to the peers that claim it
        self._connected_ears: set[str] = set()
        self._contested: list[list[str]] = []
        self._counts = dict.fromkeys(TransportStatistics.__struct_fields__, 0)
        self._is_served = False
        self._door: Door | None = None
        self._relay = relay
        try:
            self._allowed = AllowList(self._context, self._limits.keys_waiting_max)
            self._handshakes = Handshakes(self._limits.handshakes_max)
            held_max = self._limits.received_bytes_max
            self._inflows = [Inflow(EXCESS_BYTES_MAX, held_max) for _ in range(2)]  # of the two sockets
            self._inbox, self.endpoint = self._bound(zmq.ROUTER, endpoint, self._inflows[0])
            self._ear, self.multicast_endpoint = self._bound(zmq.SUB, multicast_endpoint, self._inflows[1])
            self._monitors = [_monitor(each.socket) for each in (self._inbox, self._ear)]
            self._publisher = self._connecting(zmq.PUB)
            if door_endpoint is not None:
                self._door = Door(identity, door_endpoint, relay=relay)
        except ConfigError:
            self.abandon()
            raise
        self.door_endpoint = None if self._door is None else self._door.endpoint

    async def serve(self) -> None:
        """Admit members, until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._allowed.serve)
            for monitor, inflow in zip(self._monitors, self._inflows, strict=True):
                nursery.start_soon(self._follow, monitor, inflow)
            nursery.start_soon(self._cut_endless)
            if self._relay is not None:
                await nursery.start(self._relay.serve)
            if self._door is not None:
                nursery.start_soon(self._door.serve)

    def abandon(self) -> None:
        """Close everything at once, instead of serving."""
        if self._door is not None:
            self._door.close()
        self._context.destroy(0)

    async def aclose(self) -> None:
        """Close everything, after `serve` has ended; waits up to 0.5 s for the last messages to go."""
        with trio.CancelScope(shield=True):
            if self._door is not None:
                self._door.close()
            self._end_monitors()
            for monitor in self._monitors:
                monitor.close(0)
            for peer_id in list(self._links):
                self._links.pop(peer_id).dealer.close(LINGER_MS)
            self._publisher.close(LINGER_MS)
            self._inbox.close(0)
            self._ear.close(0)
            self._allowed.close()
            await trio.to_thread.run_sync(self._context.term)

    def _end_monitors(self) -> None:
        """Have libzmq tell no more of connections, which it waits for room to do with a lock that this takes.

        So there has to be room. What a crowd that comes and goes has it tell after `serve` has ended, when
        nobody reads any more, would keep us here for good.
        """
        for bound, monitor in zip((self._inbox, self._ear), self._monitors, strict=True):
            with suppress(zmq.Again):
                while True:
                    _read_event(monitor.socket)
            bound.socket.disable_monitor()

    def allow(self, curve_public: bytes, peer_id: str) -> None:
        """Let the holder of this CURVE key (Z85) send to us, under this name."""
        self._allowed.allow(curve_public, peer_id)

    def disallow(self, peer_id: str) -> None:
        """Take nothing more from this peer; messages that it sends over an open connection are dropped."""
        self._allowed.disallow(peer_id)
        if self._relay is not None:
            self._relay.evict(peer_id)

    def subscribe(self, topic: bytes) -> None:
        """Hear multicasts with a topic that begins so; b"" hears all."""
        self._ear.socket.setsockopt(zmq.SUBSCRIBE, topic)
        self._ear.wake_reader()

    def connect(self, peer_id: str, endpoint: str, multicast_endpoint: str, curve_public: bytes) -> None:
        """Send to this peer there from now on; returns at once and keeps trying until `disconnect`.

        Called again with the same values it does nothing, with others it connects anew and what was
        queued is lost. Until the handshake is done up to 1,000 messages wait in the queue.

        Raises:
          RemoteProtocolError: an endpoint of the peer's record is not tcp://ADDRESS:PORT, both numeric.
        """
        assert is_curve_key(curve_public), "certificates are checked before keys get here"
        for each in (endpoint, multicast_endpoint):
            check_address(each)
        link = self._links.get(peer_id)
        if link is not None and link.leads_to(endpoint, multicast_endpoint, curve_public):
            return
        self._unlink(peer_id, linger_ms=0)
        dealer = self._connecting(zmq.DEALER)
        dealer.setsockopt(zmq.RCVHWM, 1)  # nothing is sent back over it, and nothing read
        dealer.copy_threshold = 0  # so that the tracker of a large message knows of all its frames
        _connect(dealer, endpoint, curve_public)
        self._links[peer_id] = _Link(endpoint, multicast_endpoint, curve_public, dealer)
        self._ears.setdefault(multicast_endpoint, []).append(peer_id)
        self._connect_publisher(multicast_endpoint)

    def disconnect(self, peer_id: str) -> None:
        """Send no more to this peer; queued messages have `LINGER_MS` to go. An unknown peer is no error."""
        self._unlink(peer_id, LINGER_MS)

    def _unlink(self, peer_id: str, linger_ms: int) -> None:
        link = self._links.pop(peer_id, None)
        if link is None:
            return
        link.dealer.close(linger_ms)
        self._ears[link.multicast_endpoint].remove(peer_id)
        self._connect_publisher(link.multicast_endpoint)

    @property
    def peers(self) -> Set[str]:
        """Those that we are connected to."""
        return self._links.keys()

    def send(self, peer_id: str, frames: bytes | Sequence[bytes]) -> bool:
        """Queue a message; False, and counted, when the peer is unknown or its queue full.

        True means queued, not received.
        """
        parts = (frames,) if isinstance(frames, bytes) else frames
        size = _checked_size(parts)
        link = self._links.get(peer_id)
        if link is None or not _queued(link, parts, size):
            self._counts["sends_refused"] += 1
            if link is not None:
                self._renew_if_stuck(peer_id, link)
            return False
        link.refuses_since = None
        self._counts["messages_sent"] += 1
        self._counts["bytes_sent"] += size
        return True

    def publish(self, topic: bytes, frames: bytes | Sequence[bytes]) -> None:
        """Send to all connected peers that subscribe to the topic; peers that are too slow miss it."""
        parts = (frames,) if isinstance(frames, bytes) else frames
        size = _checked_size(parts)
        self._publisher.send_multipart((topic, *parts), zmq.NOBLOCK)
        for claimants in self._contested:
            for peer_id in claimants:
                self.send(peer_id, parts)
        self._counts["multicasts_sent"] += 1
        self._counts["multicast_bytes_sent"] += size

    async def receive_forever(self, take: Callable[[list[Received]], object]) -> None:
        """Hand in the messages that come, sent and multicast, at least one and at most 256 at a time.

        A multicast comes without its topic. What had a wrong shape comes without frames, to be charged.
        Each sender's messages are in the order it sent them, those sent and those multicast each for
        themselves. While `take` works, others wait in libzmq, as much of a connection as `Inflow` leaves it.
        A call and no queue: another task to be woken for every message costs as much as reading it.
        """
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._pump, self._inbox, take)
            nursery.start_soon(self._pump, self._ear, take)

    async def receive_door(self) -> tuple[DoorVisit, bytes, bytes]:
        """Wait for a stranger's question: the visit to answer, its proven CURVE key (Z85), the frame."""
        assert self._door is not None, "this peer has no door"
        return await self._door.receive()

    def send_door(self, visit: DoorVisit, frame: bytes) -> bool:
        """Answer a stranger; False when it has gone. A stranger waits 5 s at most."""
        return visit.answer(frame)

    async def knock(self, endpoint: str, door_public: bytes, frame: bytes, timeout_s: float) -> bytes:
        """Ask at another peer's door, and return the answer.

        Raises:
          trio.TooSlowError: no answer in time.
          OSError: nobody listens there.
          RemoteProtocolError: who answers is not the holder of that key, or there was no answer.
        """
        with trio.fail_after(timeout_s):
            return await knock(self._identity, endpoint, door_public, frame)

    def observe(self) -> TransportStatistics:
        counted = TransportStatistics(**self._counts)
        door = self._door
        return msgspec.structs.replace(
            counted,
            keys_refused=self._allowed.refused_count,
            handshakes_cut=self._handshakes.n_turned_out,
            connections_cut=sum(inflow.n_cut for inflow in self._inflows),
            visitors_refused=0 if door is None else door.refused_count,
            visitors_turned_out=0 if door is None else door.turned_out_count,
        )

    def _renew_if_stuck(self, peer_id: str, link: _Link) -> None:
        """Connect anew when the queue has refused for 10 s, though its messages are lost.

        libzmq gives a connection up for good when the other side breaks the protocol, as another
        program does that has got the port of a peer that is down; then every send is refused.
        """
        now = trio.current_time()
        if link.refuses_since is None:
            link.refuses_since = now
        elif now - link.refuses_since > self._limits.stuck_s:
            self.disconnect(peer_id)
            self.connect(peer_id, link.endpoint, link.multicast_endpoint, link.curve_public)

    def _connect_publisher(self, multicast_endpoint: str) -> None:
        """Connect to an ear that one peer claims; of a contested one no connection may be made.

        libzmq makes one connection per endpoint, with the key of the first claim. So a peer that
        claims the ear of another (hostile, or new in the place of one that is gone) would take its
        multicasts away; while the claim is contested each claimant gets its own copy in its inbox.
        """
        claimants = self._ears[multicast_endpoint]
        if multicast_endpoint in self._connected_ears:
            self._connected_ears.remove(multicast_endpoint)
            self._publisher.disconnect(multicast_endpoint)
        if len(claimants) == 1:
            self._connected_ears.add(multicast_endpoint)
            _connect(self._publisher, multicast_endpoint, self._links[claimants[0]].curve_public)
        if not claimants:
            del self._ears[multicast_endpoint]
        self._contested = [each for each in self._ears.values() if len(each) > 1]

    def _bound(self, kind: int, endpoint: str, inflow: Inflow) -> tuple[TrioSocket[Received], str]:
        socket = self._socket(kind)
        _allow_ipv6(socket, checked_own_endpoint(endpoint))
        require_curve_server(socket, self._identity.curve_secret)
        for option, value in _BOUND_OPTIONS.items():
            socket.setsockopt(option, value)
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            raise bind_error(endpoint, error.errno) from error
        read = partial(_read_message, inflow=inflow, is_topic_first=kind == zmq.SUB)
        return TrioSocket(socket, read), socket.getsockopt_string(zmq.LAST_ENDPOINT)

    def _connecting(self, kind: int) -> ZmqSocket:
        socket = self._socket(kind)
        socket.setsockopt(zmq.CURVE_PUBLICKEY, self._identity.curve_public)
        socket.setsockopt(zmq.CURVE_SECRETKEY, self._identity.curve_secret)
        return socket

    def _socket(self, kind: int) -> ZmqSocket:
        try:
            with for_disk():  # a member that comes while a crowd has all others must not end this peer
                socket = self._context.socket(kind)
        except zmq.ZMQError as error:
            raise ConfigError("too many open files for the mesh: raise the limit (ulimit -n)") from error
        for option, value in _OPTIONS.items():
            socket.setsockopt(option, value)
        socket.setsockopt(zmq.HANDSHAKE_IVL, self._limits.handshake_ms)
        return socket

    async def _pump(self, socket: TrioSocket[Received], take: Callable[[list[Received]], object]) -> None:
        while True:
            arrived = await socket.receive_batch()
            batch = [each for each in arrived if self._allowed.has(each[0])]
            n_whole = n_bytes = 0
            for _, frames, _ in batch:
                n_whole += bool(frames)
                n_bytes += sum(map(len, frames))
            self._counts["messages_dropped"] += len(arrived) - n_whole
            self._counts["messages_received"] += n_whole
            self._counts["bytes_received"] += n_bytes
            await _hand_over(batch, take)  # `receive_batch` gives the others their turn, too

    async def _follow(self, monitor: TrioSocket[list[bytes]], inflow: Inflow) -> None:
        """Count handshakes that failed, and follow which connections there are."""
        while True:
            for message in await monitor.receive_batch():
                event, value = MONITOR_EVENT.unpack(message[0])
                if event & HANDSHAKE_FAILURES:
                    self._counts["handshakes_failed"] += 1
                else:
                    inflow.note_event(event, value, time.monotonic())
                    self._handshakes.note_event(event, value)

    async def _cut_endless(self) -> None:
        """Shut down connections that bring messages without an end."""
        self._is_served = True
        watch = partial(self._watch_connections, trio.lowlevel.current_trio_token())
        try:
            await trio.to_thread.run_sync(watch, abandon_on_cancel=True, limiter=trio.CapacityLimiter(1))
        finally:
            self._is_served = False

    def _watch_connections(self, token: trio.lowlevel.TrioToken) -> None:
        """Look at the connections, in a thread, until all is over; it waits for no loop that is busy."""
        pause_s, before = CHECK_S, 0
        while self._is_served:
            time.sleep(pause_s)
            looks = [inflow.look(time.monotonic()) for inflow in self._inflows]
            if any(look.has_excess for look in looks):
                with suppress(trio.RunFinishedError):
                    token.run_sync_soon(self._cut_where_idle, idempotent=True)
            received = sum(look.received for look in looks)
            pause_s = QUIET_CHECK_S if abs(received - before) < QUIET_BYTES else CHECK_S
            before = received

    def _cut_where_idle(self) -> None:
        for bound, inflow in zip((self._inbox, self._ear), self._inflows, strict=True):
            if self._is_served and bound.is_idle():
                inflow.cut(time.monotonic())


async def _hand_over(batch: list[Received], take: Callable[[list[Received]], object]) -> None:
    """Have messages worked off; after some milliseconds others have their turn before the next ones."""
    began_s = time.perf_counter()
    for start in range(0, len(batch), PIECE_MESSAGES):
        take(batch[start : start + PIECE_MESSAGES])
        if time.perf_counter() > began_s + TURN_S:
            await trio.lowlevel.checkpoint()
            began_s = time.perf_counter()


def _read_message(socket: ZmqSocket, *, inflow: Inflow, is_topic_first: bool) -> Received:
    """Read a message without its first part (routing id or topic)."""
    part = socket.recv(zmq.NOBLOCK, copy=False)
    sender = str(part.get("User-Id"))  # libzmq has it from our AllowList
    descriptor = int(part.get(zmq.SRCFD))
    n_bytes = bytes_on_wire(len(part)) if is_topic_first else 0  # a routing id does not come over the wire
    frames: list[bytes] = []
    is_too_long = False
    while part.more:
        part = socket.recv(zmq.NOBLOCK, copy=False)
        n_bytes += bytes_on_wire(len(part))
        if len(frames) < FRAMES_MAX:
            frames.append(part.bytes)
        else:
            is_too_long = True
    inflow.note_message(descriptor, n_bytes, time.monotonic())
    return sender, [] if is_too_long else frames, n_bytes


def _queued(link: _Link, parts: Sequence[bytes], size: int) -> bool:
    try:
        if size < LARGE_FRAME_BYTES:
            link.dealer.send_multipart(parts, zmq.NOBLOCK)
            return True
        while link.large and _is_gone(link.large[0][0]):
            link.large_bytes -= link.large.popleft()[1]
        if link.large_bytes + size > LARGE_BYTES_QUEUED_MAX:
            return False
        tracker = link.dealer.send_multipart(parts, zmq.NOBLOCK, copy=False, track=True)
    except zmq.Again:
        return False
    link.large.append((tracker, size))
    link.large_bytes += size
    return True


def _is_gone(tracker: zmq.MessageTracker | None) -> bool:
    return tracker is None or tracker.done


def _checked_size(parts: Sequence[bytes]) -> int:
    assert 0 < len(parts) <= FRAMES_MAX, f"message of {len(parts)} parts"
    size = sum(map(len, parts))
    assert size <= FRAME_BYTES_MAX, f"message of {size} bytes"
    return size


def _connect(socket: ZmqSocket, endpoint: str, curve_public: bytes) -> None:
    _allow_ipv6(socket, endpoint)
    socket.setsockopt(zmq.CURVE_SERVERKEY, curve_public)  # holds for the connects that follow
    socket.connect(endpoint)


def _allow_ipv6(socket: ZmqSocket, endpoint: str) -> None:
    socket.setsockopt(zmq.IPV6, int("[" in endpoint))


def _monitor(socket: ZmqSocket) -> TrioSocket[list[bytes]]:
    return TrioSocket(socket.get_monitor_socket(MONITORED), _read_event)


def _read_event(socket: ZmqSocket) -> list[bytes]:
    return socket.recv_multipart(zmq.NOBLOCK)
