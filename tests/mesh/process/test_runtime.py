"""A node under trio: promises and commits on a real table, with a transport and ports of paper."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from math import inf
from pathlib import Path
from typing import ClassVar

import pytest
import trio
import trio.testing

from mesh.actors.actor import EVERYBODY, Actor, Address, Message, Send
from mesh.actors.codec import encode
from mesh.actors.node import Node
from mesh.actors.port import Deliver, DiskFilled, Port
from mesh.errors import LocalProtocolError, RemoteProtocolError, StorageError, StorageFull
from mesh.membership.model.wire_messages import MembersWanted, Ping, PingAnswered, RumoursSpread
from mesh.process.runtime import MeshClock, Runtime
from mesh.tables.lmdb_table import CommitBatch, LmdbTable
from mesh.transport.transport import Received
from peers.crawler.model.wire_messages import LinksAccepted, LinksFound
from peers.gateway.model.wire_messages import StatusWanted
from tests.frames import DECODER, decode
from tests.patience import PATIENCE_S

ME = "me"


class PaperTransport:
    """Remembers what is sent; hands in what a test puts into it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Message]] = []
        self.envelopes: list[int] = []  # messages in each that was sent
        self.published: list[tuple[bytes, Message]] = []
        self.versions: list[int] = []  # of frames sent and published
        self.peers = {"you"}
        self.strangers: set[str] = set()  # whose messages are refused
        self.on_send: Callable[[], None] = lambda: None
        self._arrivals, self._inbox = trio.open_memory_channel[list[Received]](inf)

    def send(self, peer: str, frames: Sequence[bytes]) -> bool:
        if peer in self.strangers:
            return False
        self.on_send()
        self.envelopes.append(len(frames))
        self.sent += [(peer, self._read(frame)) for frame in frames]
        return True

    def publish(self, topic: bytes, frame: bytes) -> None:
        self.published.append((topic, self._read(frame)))

    def _read(self, frame: bytes) -> Message:
        envelope = decode(frame)
        self.versions.append(envelope.version)
        return envelope.message

    async def receive_forever(self, take: Callable[[list[Received]], object]) -> None:
        async for batch in self._inbox:
            take(batch)

    def arrive(self, *frames: bytes, peer: str = "you") -> None:
        self._arrivals.send_nowait([(peer, [frame], len(frame)) for frame in frames])

    def arrive_together(self, frames: list[bytes]) -> None:
        self._arrivals.send_nowait([("you", frames, sum(map(len, frames)))])


class Scribe(Actor):
    """Writes down the number of every link batch and promises to keep it; answers pings without promise."""

    name: ClassVar[str] = "controller"
    remote_messages = frozenset({LinksFound, LinksAccepted, Ping, PingAnswered, RumoursSpread, MembersWanted})

    def __init__(self, table: LmdbTable) -> None:
        self.table = table
        self.heard: list[Message] = []
        self.wake_time = inf
        self.wakes: list[float] = []
        self.on_wake: list[Send] = []
        self.on_ping: list[Send] = []
        self.on_links: list[Send] = []
        self.news: list[Send] = []
        self.n_batches = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self.heard.append(message)
        match message:
            case LinksFound(batch):
                self.table.put(b"batch %d" % batch, b"x")
                self.n_batches += 1
                return [Send(source, LinksAccepted(batch)), *self.on_links]
            case Ping(sequence):
                return self.on_ping or [Send(source, PingAnswered(sequence, ME))]
            case LinksAccepted() | PingAnswered() | DiskFilled():
                return []
            case RumoursSpread():
                raise RemoteProtocolError("who says such things")
            case MembersWanted():
                self.table.put(b"half", b"done")
        raise LocalProtocolError(f"no {type(message).__name__}")  # what it takes it should understand

    def wake(self, now: float) -> list[Send]:
        self.wakes.append(now)
        self.wake_time = inf
        return self.on_wake

    def wake_at(self) -> float:
        return self.wake_time

    def before_commit(self, now: float) -> list[Send]:
        if self.table.has_changes:
            self.table.put(b"count", b"%d" % self.n_batches)
        news, self.news = self.news, []
        return news


class Echo:
    """A port that answers while it is being told; a node must not be entered again by that."""

    name: ClassVar[str] = "echo"

    def __init__(self) -> None:
        self.deliver: Deliver | None = None

    def receive(self, source: Address, message: Message) -> None:
        assert self.deliver is not None
        assert isinstance(message, Ping)
        self.deliver(Address(ME, "echo"), source.actor, PingAnswered(message.sequence, "echo"))

    async def run(self, deliver: Deliver) -> None:
        self.deliver = deliver
        await trio.sleep_forever()


class Bench:
    """A runtime with everything around it."""

    def __init__(self, folder: Path, ports: Iterable[Port] = (), when_full: Iterable[str] = ()) -> None:
        self.table = LmdbTable(folder)
        self.transport = PaperTransport()
        self.scribe = Scribe(self.table)
        node = Node(ME, [self.scribe])
        around = self.table, self.transport, DECODER, ports
        self.runtime = Runtime(node, *around, storage_retry_s=0.01, when_full=when_full)

    def tell(self, message: Message, peer: str = "you") -> None:
        self.runtime.deliver(Address(peer, "controller"), "controller", message)

    def arrive(self, message: Message, target: str = "controller", peer: str = "you") -> None:
        self.transport.arrive(encode("controller", target, message), peer=peer)


@asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[None]:
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            await nursery.start(bench.runtime.run)
            yield
            nursery.cancel_scope.cancel()


async def until(is_so: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_S):
        while not is_so():
            await trio.sleep(0.002)


class Gate:
    """Holds up commits: each waits in its thread until it is let through."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun = 0
        self.written = 0
        self._permits = threading.Semaphore(0)
        self._write = CommitBatch.write
        monkeypatch.setattr(CommitBatch, "write", self._held_write())

    def open(self, commits: int = 1) -> None:
        self._permits.release(commits)

    def _held_write(self) -> Callable[[CommitBatch], None]:
        def write(batch: CommitBatch) -> None:
            self.begun += 1
            assert self._permits.acquire(timeout=PATIENCE_S)
            self._write(batch)
            self.written += 1

        return write


# --- Promises ---


async def test_a_promise_is_held_until_the_commit_and_other_messages_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    bench = Bench(tmp_path)
    async with running(bench):
        bench.arrive(LinksFound(1, ()))
        bench.arrive(Ping(7))
        await until(lambda: gate.begun == 1)
        await trio.sleep(0.05)
        assert bench.transport.sent == [("you", PingAnswered(7, ME))]
        bench.transport.on_send = lambda: sent_after.append(gate.written)
        sent_after: list[int] = []
        gate.open()
        await until(lambda: len(bench.transport.sent) == 2)
        assert bench.transport.sent[1] == ("you", LinksAccepted(1))
        assert sent_after == [1]
        gate.open(10)


async def test_what_comes_during_a_commit_waits_for_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    bench = Bench(tmp_path)
    async with running(bench):
        bench.tell(LinksFound(1, ()))
        await until(lambda: gate.begun == 1)
        for batch in (2, 3, 4):
            bench.tell(LinksFound(batch, ()))
        gate.open()
        await until(lambda: gate.begun == 2)
        assert bench.transport.sent == [("you", LinksAccepted(1))]
        gate.open()
        await until(lambda: len(bench.transport.sent) == 4)
        assert [message for _, message in bench.transport.sent] == [LinksAccepted(n) for n in (1, 2, 3, 4)]
        assert bench.runtime.statistics().commits == 2
        gate.open(10)


async def test_all_that_is_for_one_peer_leaves_with_a_commit_as_one_message(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.scribe.on_links = [Send(Address("you", "controller"), LinksFound(9, ()))]
    bench.scribe.news = [Send(Address("you", "controller"), LinksFound(10, ()))]
    async with running(bench):
        bench.tell(LinksFound(1, ()))
        bench.tell(LinksFound(2, ()))
        bench.tell(LinksFound(1, ()), peer="they")
        await until(lambda: len(bench.transport.sent) == 7)
        theirs = [message for peer, message in bench.transport.sent if peer == "they"]
        ours = [message for peer, message in bench.transport.sent if peer == "you"]
        assert theirs == [LinksAccepted(1)]
        assert ours[:2] == [LinksAccepted(1), LinksFound(9, ())]
        assert ours[-1] == LinksFound(10, ()), "as it is when the commit begins"
        assert sorted(bench.transport.envelopes) == [1, len(ours)]
        assert bench.runtime.statistics().commits == 1


async def test_of_frames_that_came_together_each_is_judged_by_itself(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    frames = [encode("controller", "controller", Ping(1)), b"\xc1", encode("controller", "nobody", Ping(2))]
    frames.append(encode("controller", "controller", Ping(3)))
    async with running(bench):
        bench.transport.arrive_together(frames)
        await until(lambda: len(bench.transport.sent) == 2)
        assert bench.scribe.heard == [Ping(1), Ping(3)]
        assert bench.runtime.statistics().refused == 2
        assert bench.transport.envelopes == [2], "what answers them goes together"


async def test_a_failed_commit_holds_back_promises_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(batch: CommitBatch) -> None:
        raise StorageError("no disk")

    with monkeypatch.context() as broken:
        broken.setattr(CommitBatch, "write", fail)
        bench = Bench(tmp_path)
        bench.scribe.on_links = [Send(Address("you", "controller"), LinksFound(9, ()))]
        async with running(bench):
            bench.tell(LinksFound(1, ()))
            await until(lambda: bool(bench.transport.sent))
            await trio.sleep(0.05)
            assert bench.transport.sent == [("you", LinksFound(9, ()))]
            broken.undo()
            await until(lambda: len(bench.transport.sent) == 2)
            assert bench.transport.sent[1] == ("you", LinksAccepted(1))


async def test_a_promise_without_a_change_needs_no_commit(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.scribe.on_ping = [Send(Address("you", "controller"), LinksAccepted(5))]
    async with running(bench):
        bench.tell(Ping(1))
        await until(lambda: bench.transport.sent == [("you", LinksAccepted(5))])
        assert bench.runtime.statistics().commits == 0


async def test_a_promise_to_an_actor_of_this_peer_comes_back_after_the_commit(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        bench.tell(LinksFound(1, ()), peer=ME)
        assert bench.scribe.heard == [LinksFound(1, ())]
        await until(lambda: len(bench.scribe.heard) == 2)
        assert bench.scribe.heard[1] == LinksAccepted(1)


async def test_ending_makes_a_last_commit_and_keeps_its_promises(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        bench.tell(LinksFound(1, ()))
        assert bench.transport.sent == []
    assert bench.transport.sent == [("you", LinksAccepted(1))]
    bench.table.close()
    assert LmdbTable(tmp_path).get(b"batch 1") == b"x"


async def test_a_commit_has_the_counters_of_the_changes_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[tuple[bytes | None, int]] = []
    write = CommitBatch.write

    def noting_write(batch: CommitBatch) -> None:
        rows = dict(batch._changes.items_unsorted())
        written.append((rows[b"count"], sum(key.startswith(b"batch") for key in rows)))
        write(batch)

    monkeypatch.setattr(CommitBatch, "write", noting_write)
    bench = Bench(tmp_path)
    async with running(bench):
        for batch in (1, 2):
            bench.tell(LinksFound(batch, ()))
        await until(lambda: len(bench.transport.sent) == 2)
        bench.tell(LinksFound(3, ()))
        await until(lambda: len(bench.transport.sent) == 3)
    assert written == [(b"2", 2), (b"3", 1)]


class Culprit:
    """A port whose second message has an actor fail."""

    name: ClassVar[str] = "culprit"

    def receive(self, source: Address, message: Message) -> None:
        raise AssertionError("nobody sends to it")

    async def run(self, deliver: Deliver) -> None:
        deliver(Address("you", "controller"), "controller", LinksFound(1, ()))
        deliver(Address("you", "controller"), "controller", Ping(1))


async def test_after_an_error_nothing_more_is_committed(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [Culprit()])
    bench.scribe.on_ping = [Send(Address(ME, "nobody"), Ping(1))]
    with pytest.raises(BaseExceptionGroup) as caught:
        await bench.runtime.run()
    assert caught.group_contains(LocalProtocolError, match="controller sent Ping to nobody")
    assert bench.transport.sent == []
    bench.table.close()
    assert LmdbTable(tmp_path).get(b"batch 1") is None


# --- A disk that fails ---


async def test_a_commit_that_fails_is_tried_again_and_no_promise_is_lost_or_kept_too_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, failures = CommitBatch.write, 3

    def fails_at_first(batch: CommitBatch) -> None:
        nonlocal failures
        if failures:
            failures -= 1
            raise StorageFull("no space is left")
        write(batch)

    monkeypatch.setattr(CommitBatch, "write", fails_at_first)
    bench = Bench(tmp_path)
    left_when_sent: list[int] = []
    bench.transport.on_send = lambda: left_when_sent.append(failures)
    with caplog.at_level(logging.ERROR):
        async with running(bench):
            bench.tell(LinksFound(1, ()))
            await until(lambda: failures < 3)
            bench.tell(LinksFound(2, ()))
            await until(lambda: len(bench.transport.sent) == 2)
    assert bench.transport.sent == [("you", LinksAccepted(1)), ("you", LinksAccepted(2))]
    assert left_when_sent == [0]
    assert "no space is left" in caplog.text
    bench.table.close()
    assert LmdbTable(tmp_path).get(b"batch 1") == b"x"


async def test_a_table_without_space_is_told_of_until_it_has_some_and_logged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write, has_space = CommitBatch.write, False

    def is_full(batch: CommitBatch) -> None:
        if not has_space:
            raise StorageFull("the disk is full")
        write(batch)

    monkeypatch.setattr(CommitBatch, "write", is_full)
    bench = Bench(tmp_path, when_full=("controller",))
    async with running(bench):
        bench.tell(LinksFound(1, ()))
        await until(lambda: bench.scribe.heard.count(DiskFilled("the disk is full")) >= 3)
        assert bench.runtime.is_disk_full
        has_space = True
        await until(lambda: bench.transport.sent == [("you", LinksAccepted(1))])
        await until(lambda: not bench.runtime.is_disk_full)
    assert caplog.text.count("commit failed") == 1


async def test_a_commit_that_cannot_even_begin_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, failures = LmdbTable.begin_commit, 2

    def fails_at_first(table: LmdbTable) -> CommitBatch | None:
        nonlocal failures
        if failures and table.has_changes:
            failures -= 1
            raise StorageError("no address space")
        return begin(table)

    monkeypatch.setattr(LmdbTable, "begin_commit", fails_at_first)
    bench = Bench(tmp_path)
    async with running(bench):
        bench.tell(LinksFound(1, ()))
        await until(lambda: bench.transport.sent == [("you", LinksAccepted(1))])
    assert failures == 0


# --- Order ---


async def test_handlers_never_nest(tmp_path: Path) -> None:
    echo = Echo()
    bench = Bench(tmp_path, [echo])
    order = Send(Address(ME, "echo"), Ping(1))
    bench.scribe.on_ping = [order, Send(Address("you", "controller"), PingAnswered(9, ME))]
    async with running(bench):
        await until(lambda: echo.deliver is not None)
        bench.transport.on_send = lambda: heard_when_sent.append(list(bench.scribe.heard))
        heard_when_sent: list[list[Message]] = []
        bench.tell(Ping(5))
        # The echo has answered by then, but the actor hears it when all of its sends are out.
        assert heard_when_sent == [[Ping(5)]]
        assert bench.scribe.heard == [Ping(5), PingAnswered(1, "echo")]


async def test_answers_to_what_a_wake_ordered_come_in_their_order(tmp_path: Path) -> None:
    echo = Echo()
    bench = Bench(tmp_path, [echo])
    bench.scribe.on_wake = [Send(Address(ME, "echo"), Ping(number)) for number in range(5)]
    async with running(bench):
        await until(lambda: echo.deliver is not None)
        bench.scribe.wake_time = 0.0
        bench.tell(PingAnswered(1, "you"))  # for the node to ask again when to wake
        await until(lambda: len(bench.scribe.heard) == 6)
        assert bench.scribe.heard[1:] == [PingAnswered(number, "echo") for number in range(5)]


# --- From other peers ---


@pytest.mark.parametrize("target", ["fetcher", "echo", "nobody", "*"])
async def test_a_remote_message_to_a_port_or_to_nobody_is_refused_and_counted(
    tmp_path: Path, target: str, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path, [Echo()])
    async with running(bench):
        bench.arrive(Ping(1), target)
        bench.arrive(Ping(2))
        await until(lambda: bench.transport.sent == [("you", PingAnswered(2, ME))])
        assert bench.runtime.statistics().refused == 1
        assert bench.scribe.heard == [Ping(2)]
    assert "message refused peer=you" in caplog.text


async def test_noise_and_misplaced_messages_are_refused_and_the_rest_of_the_batch_is_heard(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    frames = [b"", b"\xc1", b"\x00" * 100, encode("x", "controller", Ping(3))]
    async with running(bench):
        bench.transport.arrive(*frames)
        await until(lambda: bench.scribe.heard == [Ping(3)])
        assert bench.runtime.statistics().refused == 3


async def test_a_message_its_actor_does_not_take_or_believe_is_refused_and_the_peer_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        bench.arrive(PingAnswered(1, "you"))
        bench.arrive(StatusWanted(1))
        bench.arrive(RumoursSpread(()))
        bench.arrive(Ping(2))
        await until(lambda: len(bench.transport.sent) == 1)
        assert bench.scribe.heard == [PingAnswered(1, "you"), RumoursSpread(()), Ping(2)]
        assert bench.runtime.statistics().refused == 2
    assert "peer=you error=controller takes no StatusWanted from other peers" in caplog.text
    assert "peer=you error=who says such things" in caplog.text


class FalseWitness:
    """A port that says what nobody believes."""

    name: ClassVar[str] = "witness"

    def receive(self, source: Address, message: Message) -> None:
        raise AssertionError("nobody sends to it")

    async def run(self, deliver: Deliver) -> None:
        deliver(Address(ME, self.name), "controller", RumoursSpread(()))


@pytest.mark.parametrize("message", [LinksFound(1, ()), MembersWanted(())])
async def test_a_bug_that_a_remote_message_brings_to_light_ends_the_peer_and_commits_nothing(
    tmp_path: Path, message: Message
) -> None:
    bench = Bench(tmp_path)
    bench.scribe.on_links = [Send(Address(ME, "nobody"), Ping(1))]
    bench.arrive(message)
    with pytest.raises(BaseExceptionGroup) as caught:
        await bench.runtime.run()
    assert caught.group_contains(LocalProtocolError)
    assert bench.runtime.statistics().refused == 0
    bench.table.close()
    table = LmdbTable(tmp_path)
    assert table.get(b"batch 1") is None
    assert table.get(b"half") is None


async def test_what_this_process_says_of_itself_is_nobodys_fault_but_ours(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [FalseWitness()])
    with pytest.raises(BaseExceptionGroup) as caught:
        await bench.runtime.run()
    assert caught.group_contains(RemoteProtocolError)
    assert bench.runtime.statistics().refused == 0


# --- To other peers ---


async def test_what_is_for_everybody_is_published_under_its_actors_name(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.scribe.on_ping = [Send(Address(EVERYBODY, "controller"), PingAnswered(4, ME))]
    async with running(bench):
        bench.tell(Ping(1))
        assert bench.transport.published == [(b"controller", PingAnswered(4, ME))]
        assert bench.scribe.heard == [Ping(1), PingAnswered(4, ME)]


async def test_messages_that_cannot_be_sent_are_counted(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.transport.strangers.add("you")
    async with running(bench):
        bench.tell(Ping(1))
        assert bench.runtime.statistics().lost == 1


# --- Time ---


async def test_an_actor_is_woken_at_its_time(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        for _ in range(3):
            due = bench.runtime.clock.now() + 0.03
            bench.scribe.wake_time = due
            bench.tell(PingAnswered(1, "you"))
            n_wakes = len(bench.scribe.wakes)
            await until(lambda n=n_wakes: len(bench.scribe.wakes) > n)  # type: ignore[misc]
            assert due <= bench.scribe.wakes[-1] < due + 1.0


async def test_a_sooner_time_takes_the_place_of_a_later_one(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        for pause in (3_600.0, 0.02):
            bench.scribe.wake_time = bench.runtime.clock.now() + pause
            bench.tell(PingAnswered(1, "you"))
            await trio.sleep(0)
        await until(lambda: len(bench.scribe.wakes) == 1)


async def test_what_is_due_at_once_is_done_with_the_message(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        bench.scribe.wake_time = -inf
        bench.tell(PingAnswered(1, "you"))
        assert len(bench.scribe.wakes) == 1


def test_the_mesh_clock_never_goes_back_across_restarts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = 2_000_000.0
    monkeypatch.setattr(time, "time", lambda: wall)
    last = 0.0
    for step in (0.0, -500.0, +3.0, -100_000.0, 200_000.0):
        wall += step
        table = LmdbTable(tmp_path)
        clock = MeshClock(table)
        assert clock.now() >= max(last, wall)
        clock.write_down()
        last = float((table.get(b"\x00clock") or b"0").decode())
        assert last <= clock.now()
        table.commit()
        table.close()


@pytest.mark.parametrize("step_s", [3_600.0, -3_600.0, 1e9])
def test_a_step_of_the_wall_clock_is_not_seen_before_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: float
) -> None:
    wall = time.time()
    monkeypatch.setattr(time, "time", lambda: wall)
    table = LmdbTable(tmp_path)
    clock = MeshClock(table)
    before = clock.now()
    wall += step_s
    assert before <= clock.now() < before + PATIENCE_S
    table.close()


async def test_no_time_in_the_table_is_after_where_a_restart_begins(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        for batch in range(3):
            before = bench.runtime.clock.now()
            bench.tell(LinksFound(batch, ()))
            await until(lambda n=batch: len(bench.transport.sent) == n + 1)  # type: ignore[misc]
            assert float((bench.table.get(b"\x00clock") or b"0").decode()) >= before
    bench.table.close()


async def test_an_idle_peer_does_not_write(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    async with running(bench):
        for number in range(5):
            bench.tell(Ping(number))
            await trio.sleep(0.03)
        assert bench.runtime.statistics().commits == 0
