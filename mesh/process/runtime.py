"""A node under trio: the one place where its time, its messages and its commits are real. [io]

Theory of operation
===================
Everything happens on one thread. A frame from the transport, an answer of a port or the passing of
time is handed to the node, and what leaves the node is carried out at once: orders to ports,
frames to peers. Two things wait:

* A *promise* (`Message.is_promise`) waits for the commit of the table that contains what the actors
  wrote before they made it, and with it goes what waits for company (`mesh.actors.departures`): all that is
  for one peer as one message. Commits run in a worker thread, one after the other.
* What a port delivers while the node is busy waits its turn, so handlers never nest.

What another peer sends is refused and counted when it breaks the protocol, before or by the actor it is for,
and changes nothing. All other errors are ours: they end the process, and nothing more is committed.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from math import inf
from typing import Final, Protocol, TypeAlias

import trio

from mesh.actors.actor import EVERYBODY, Address, Message, Statistics
from mesh.actors.codec import Decoder, encode
from mesh.actors.conduct import Offence
from mesh.actors.departures import Departures, envelopes
from mesh.actors.node import Node, Outgoing
from mesh.actors.port import DiskFilled, Port
from mesh.actors.versions import Versions
from mesh.actors.watchdog import Watchdog
from mesh.errors import LocalProtocolError, RemoteProtocolError, StorageError, StorageFull
from mesh.tables.lmdb_table import LmdbTable
from mesh.transport.transport import Received

COMMIT_PAUSE_S: Final = 0.02  # between commits: at most 50 a second, so that each carries a group
STORAGE_RETRY_S: Final = 5.0  # before a commit that failed is tried again
_CLOCK_KEY: Final = b"\x00clock"

# How a message is handed to the node: source, actor, message, time; what leaves the node.
_Hand: TypeAlias = Callable[[Address, str, Message, float], list[Outgoing]]

logger = logging.getLogger(__name__)


class RuntimeStatistics(Statistics, frozen=True):
    """Counts since the start."""

    refused: int  # frames and messages from other peers that broke the protocol
    lost: int  # messages to peers that are unknown or do not keep up; their senders repeat them
    commits: int
    behind: int  # gauge: members heard that speak only an older version of the protocol


class Wire(Protocol):
    """The carrier of frames to and from other peers; see `transport.Transport`."""

    @property
    def peers(self) -> Set[str]:
        """Return the peers that receive published frames."""

    def send(self, peer_id: str, frames: Sequence[bytes], /) -> bool: ...

    def publish(self, topic: bytes, frames: bytes, /) -> None: ...

    async def receive_forever(self, take: Callable[[list[Received]], object]) -> None: ...


class MeshClock:
    """Seconds since the epoch that never go back, neither by a step of the wall clock nor by a restart."""

    def __init__(self, table: LmdbTable) -> None:
        self._table = table
        stored = table.get(_CLOCK_KEY)
        self._start = max(time.time(), float(stored.decode()) if stored else 0.0)
        self._started = time.monotonic()

    def now(self) -> float:
        return self._start + time.monotonic() - self._started

    def write_down(self) -> None:
        """Put the time into every commit: no time in the table is later than where a restart begins."""
        self._table.put(_CLOCK_KEY, repr(self.now()).encode())


class Runtime:
    """Drives one node until it is stopped."""

    def __init__(
        self,
        node: Node,
        table: LmdbTable,
        wire: Wire,
        decoder: Decoder,
        ports: Iterable[Port],
        *,
        storage_retry_s: float = STORAGE_RETRY_S,
        when_full: Iterable[str] = (),
    ) -> None:
        """Put the parts together.

        Args:
          when_full: actors that hear `DiskFilled` as long as the table has no space for a commit.
        """
        self._refused = self._lost = self._commits = 0
        self._node = node
        node.send_at_once(self._send)
        self._table = table
        self._wire = wire
        self._decode = decoder.decode
        self._versions = Versions()
        self._storage_retry_s = storage_retry_s
        self._when_full = tuple(when_full)
        self._failed: StorageError | None = None  # of the last commit, if that failed
        self._ports = {port.name: port for port in ports}
        self.clock = MeshClock(table)
        self.watchdog = Watchdog()
        self._waiting: deque[tuple[_Hand, Address, str, Message]] = deque()
        self._is_delivering = False
        self._unsent: list[Outgoing] = []  # to others, when the turn ends or all of an envelope was handed in
        self._is_gathering = False
        self._departures = Departures()
        self._commit_alarm = trio.CancelScope()  # ends the wait for the next commit
        self._commit_armed_at = inf  # when it does, by our clock
        self._armed_at = inf  # when `_alarm` goes off, by our clock
        self._alarm = trio.CancelScope()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Drive the node until cancelled; ports and a last commit then finish the work that was begun.

        After an error nothing more is committed: a handler may have stopped half way.

        Raises:
          StorageError: the last commit failed; what was promised before is durable all the same.
        """
        with self.watchdog:
            await self._drive(task_status)

    async def _drive(self, task_status: trio.TaskStatus[None]) -> None:
        try:
            async with trio.open_nursery() as nursery:
                for port in self._ports.values():
                    nursery.start_soon(port.run, self.deliver)
                nursery.start_soon(self._keep_time)
                nursery.start_soon(self._commit_forever)
                nursery.start_soon(self._wire.receive_forever, self._receive_batch)
                task_status.started()
        except BaseException as error:
            if _is_cancellation(error):
                with trio.CancelScope(shield=True):
                    await self._commit()
            raise

    def deliver(self, source: Address, actor: str, message: Message) -> None:
        """Hand a message of this process to an actor, after those that are already waiting."""
        self._hand_in(self._node.receive, source, actor, message)

    def statistics(self) -> RuntimeStatistics:
        return RuntimeStatistics(self._refused, self._lost, self._commits, self._versions.n_behind)

    @property
    def is_disk_full(self) -> bool:
        """Has the table no space for a commit?"""
        return isinstance(self._failed, StorageFull)

    def observe(self) -> dict[str, Statistics]:
        """Return the statistics of each actor, by actor name."""
        return self._node.observe()

    def _hand_in(self, hand: _Hand, source: Address, actor: str, message: Message) -> None:
        self._waiting.append((hand, source, actor, message))
        if not self._is_delivering:
            self._work_off()

    def _work_off(self) -> None:
        self._is_delivering = True
        try:
            while self._waiting:
                hand, source, actor, message = self._waiting.popleft()
                now = self.clock.now()
                self._carry_out(hand(source, actor, message, now))
                self.watchdog.note(f"{actor} {type(message).__name__}", self.clock.now() - now)
                self._wake_if_due(now)
        finally:
            self._is_delivering = False
        for line in self._node.conduct.take_news():
            logger.warning("%s", line)
        self._node.wake_at()  # which asks for news, too
        if self._node.has_news or self._table.has_changes:
            self._departures.note_changes(self.clock.now())
        self._arm_commit()

    def _receive_frame(self, peer: str, frames: list[bytes], n_bytes: int) -> None:
        """Hand the frames of another peer to the actors they are for; any fault of one is counted."""
        conduct, now = self._node.conduct, self.clock.now()
        if not conduct.admits_bytes(peer, n_bytes, now, n_messages=len(frames)):
            return
        with self._gathering():  # what answers them goes in one, too
            for frame in frames:
                try:
                    envelope = self._decode(frame)
                except RemoteProtocolError as error:
                    conduct.note(peer, Offence.UNREADABLE, now)
                    self._refuse(peer, error)
                    continue
                self._versions.note(peer, envelope.spoken)
                source = Address(peer, envelope.source)
                self._hand_in(self._receive_remote, source, envelope.target, envelope.message)

    def _receive_remote(self, source: Address, actor: str, message: Message, now: float) -> list[Outgoing]:
        try:
            return self._node.receive_remote(source, actor, message, now)
        except RemoteProtocolError as error:
            self._refuse(source.peer, error)
            return []

    def _refuse(self, peer: str, error: RemoteProtocolError) -> None:
        self._refused += 1
        logger.warning("message refused peer=%s error=%s", peer, error)

    def _carry_out(self, outgoing: list[Outgoing]) -> None:
        for item in outgoing:
            if item.message.is_promise or item.message.waits_for_company:
                self._departures.add(item, self.clock.now())
            else:
                self._send(item)
        if self._unsent and not self._is_gathering:
            self._let_go()

    def _send(self, item: Outgoing) -> None:
        source, target, message = item
        if target.peer == self._node.peer:
            port = self._ports.get(target.actor)
            if port is None:
                raise LocalProtocolError(f"{source.actor} sent {type(message).__name__} to {target.actor}")
            port.receive(source, message)
        elif target.peer == EVERYBODY:
            frame = encode(source.actor, target.actor, message, self._versions.with_all(self._wire.peers))
            self._wire.publish(target.actor.encode(), frame)
        else:
            self._unsent.append(item)

    def _let_go(self) -> None:
        """Send all that a turn has for others: for each peer as one message, if it fits."""
        unsent, self._unsent = self._unsent, []
        if len(unsent) > 1:
            self._send_all(unsent)
            return
        (source, target, message) = unsent[0]  # as `_send_to` would, for what there is most of the time
        frame = encode(source.actor, target.actor, message, self._versions.with_peer(target.peer))
        if not self._wire.send(target.peer, [frame]):
            self._lost += 1

    def _send_all(self, items: Iterable[Outgoing]) -> None:
        by_peer: dict[str, list[Outgoing]] = defaultdict(list)
        for item in items:
            by_peer[item.target.peer].append(item)
        for peer, some in by_peer.items():
            self._send_to(peer, some)

    def _send_to(self, peer: str, items: Iterable[Outgoing]) -> None:
        """Send messages to another peer, together if they fit into one."""
        version = self._versions.with_peer(peer)
        frames = (encode(source.actor, target.actor, message, version) for source, target, message in items)
        for envelope in envelopes((frame, len(frame)) for frame in frames):
            if not self._wire.send(peer, envelope):
                self._lost += len(envelope)

    def _wake_if_due(self, now: float) -> None:
        wake_at = self._node.wake_at()
        if wake_at <= now:
            self._wake_node()
            wake_at = self._node.wake_at()
        # Later, too: what was to be waited for is mostly there in time, and to wake for nothing costs more.
        if wake_at != self._armed_at:
            self._arm(wake_at)

    async def _keep_time(self) -> None:
        while True:
            # Its deadline is moved while it waits: a task that would be woken to wait anew costs more.
            with trio.CancelScope() as self._alarm:
                self._arm(self._node.wake_at())
                await trio.sleep_forever()
            self._wake()

    def _arm(self, at: float) -> None:
        self._armed_at = at
        self._alarm.deadline = trio.current_time() + at - self.clock.now()

    def _wake(self) -> None:
        self._is_delivering = True
        try:
            self._wake_node()
        finally:
            self._is_delivering = False
        self._work_off()

    def _wake_node(self) -> None:
        now = self.clock.now()
        due = self._node.due(now)
        self._carry_out(self._node.wake(now))
        self.watchdog.note(f"wake of {', '.join(due)}", self.clock.now() - now)

    def _receive_batch(self, batch: list[Received]) -> None:
        for peer, frames, n_bytes in batch:
            self._receive_frame(peer, frames, n_bytes)

    # --- commits ---

    async def _commit_forever(self) -> None:
        while True:
            with trio.CancelScope() as self._commit_alarm:
                self._commit_armed_at = inf
                self._arm_commit()
                await trio.sleep_forever()
            try:
                await self._commit()
                self._failed = None
            except StorageError as error:
                self._note_failed(error)
                self._departures.note_changes(self.clock.now())
                await trio.sleep(self._storage_retry_s)
            await trio.sleep(COMMIT_PAUSE_S)

    def _arm_commit(self) -> None:
        """Have the next commit wait until it is due, where that is another time than before."""
        due_s = self._departures.due_s
        if due_s != self._commit_armed_at:
            self._commit_armed_at = due_s
            self._commit_alarm.deadline = trio.current_time() + due_s - self.clock.now()

    def _note_failed(self, error: StorageError) -> None:
        """Log once that commits fail; on a full disk stop work that would only make more wait for one."""
        if self._failed is None:
            logger.error("commit failed, will be tried again error=%s", error)
        self._failed = error
        if self.is_disk_full:
            for actor in self._when_full:
                self.deliver(Address(self._node.peer, "runtime"), actor, DiskFilled(str(error)))

    async def _commit(self) -> None:
        """Make all changes so far durable, then let out all that is held; only promises need that."""
        now = self.clock.now()
        self._carry_out(self._node.before_commit(now))
        self._wake_if_due(now)
        if self._table.has_changes:
            self.clock.write_down()
        batch = self._table.begin_commit()
        held = self._departures.take(now)
        if batch is not None:
            try:
                await trio.to_thread.run_sync(batch.write)
            except BaseException:
                self._table.abandon_commit(batch)
                self._departures.put_back(held)
                self._let_out([item for item in held if not item.message.is_promise])
                raise
            self._table.finish_commit(batch)
            self._commits += 1
        self._let_out(held)

    def _let_out(self, held: Iterable[Outgoing]) -> None:
        """Send all that was held: messages for one peer as one, if they fit."""
        with self._gathering():
            for item in held:
                source, target, message = item
                if target.peer != self._node.peer:
                    self._unsent.append(item)
                elif self._node.has_actor(target.actor):
                    self.deliver(source, target.actor, message)
                else:
                    self._send(item)

    @contextmanager
    def _gathering(self) -> Iterator[None]:
        """Hold all that is for others meanwhile, and send it as one message for each of them."""
        self._is_gathering = True
        try:
            yield
        finally:
            self._is_gathering = False
        if self._unsent:
            self._let_go()


def _is_cancellation(error: BaseException) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return all(map(_is_cancellation, error.exceptions))
    return isinstance(error, trio.Cancelled)
