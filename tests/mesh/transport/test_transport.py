"""Frames between real sockets on loopback: who gets through, who does not, what happens at a limit."""

from __future__ import annotations

import os
import random
import socket as sockets
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from functools import partial

import pytest
import trio
import zmq
from msgspec.structs import replace

from mesh.errors import ConfigError, RemoteProtocolError
from mesh.keys.identity import PUBLISHED_CURVE_KEYS, Identity
from mesh.transport.inflow import CHECK_S, HANDSHAKE_BYTES
from mesh.transport.tcp_connection import counts_of
from mesh.transport.tcp_endpoint import host_and_port
from mesh.transport.transport import (
    FRAME_BYTES_MAX,
    FRAMES_MAX,
    LARGE_BYTES_QUEUED_MAX,
    QUEUE_MESSAGES,
    Received,
    Transport,
    TransportLimits,
)
from tests.mesh.inbox import Inbox, Message
from tests.patience import PATIENCE_S

BREAKING = """
import sys, time, zmq
from mesh.transport import transport

kind = int(sys.argv[1])
options = dict(transport._OPTIONS) | (transport._BOUND_OPTIONS if kind == zmq.ROUTER else {})
options = {zmq.RCVHWM: 1} | options
if zmq.HEARTBEAT_IVL in options:
    options[zmq.HEARTBEAT_IVL] //= 50
reader = zmq.Context().socket(kind)
for option, value in options.items():
    reader.setsockopt(option, value)
port = reader.bind_to_random_port("tcp://127.0.0.1")
context = zmq.Context()
sender = context.socket(zmq.DEALER)
sender.setsockopt(zmq.LINGER, 0)
sender.connect(f"tcp://127.0.0.1:{port}")
for _ in range(900):
    sender.send(bytes(10_000))
time.sleep(0.5)
sender.close()
context.term()
time.sleep(1.0)
"""
QUIET_S = 0.4  # what was going to arrive on loopback has arrived by then: a handshake takes 15 ms


def name_of(identity: Identity) -> str:
    """An id, such as a mesh's root would draw for the holder of these keys."""
    return identity.signing_public.hex()[:16]


@dataclass
class Peer:
    identity: Identity
    transport: Transport
    inbox: Inbox = field(init=False)

    def __post_init__(self) -> None:
        self.inbox = Inbox(self.transport)

    @property
    def peer_id(self) -> str:
        return name_of(self.identity)

    def allow(self, other: Peer) -> None:
        self.transport.allow(other.identity.curve_public, other.peer_id)

    def connect(self, other: Peer) -> None:
        there = other.transport
        self.transport.connect(
            other.peer_id, there.endpoint, there.multicast_endpoint, other.identity.curve_public
        )

    def send(self, other: Peer, *frames: bytes) -> bool:
        return self.transport.send(other.peer_id, frames)


@asynccontextmanager
async def peers(
    count: int, first_secret: int = 1, limits: TransportLimits | None = None
) -> AsyncIterator[list[Peer]]:
    """Start peers that do not know each other yet."""
    identities = [Identity.of_secret(bytes([first_secret + number]) * 32) for number in range(count)]
    members = [Peer(identity, Transport(identity, limits=limits)) for identity in identities]
    try:
        async with trio.open_nursery() as nursery:
            for member in members:
                member.transport.subscribe(b"")
                nursery.start_soon(member.inbox.serve)
            yield members
            nursery.cancel_scope.cancel()
    finally:
        for member in members:
            await member.transport.aclose()


def introduce(members: list[Peer]) -> None:
    for one in members:
        for other in members:
            if one is not other:
                one.allow(other)
                one.connect(other)


async def received(peer: Peer, count: int) -> list[Message]:
    messages: list[Message] = []
    with trio.fail_after(PATIENCE_S):
        while len(messages) < count:
            messages += await peer.inbox.receive()
    assert len(messages) == count
    return messages


async def hears_nothing(peer: Peer) -> bool:
    with trio.move_on_after(QUIET_S):
        await peer.inbox.receive()
        return False
    return True


async def test_a_crowd_that_goes_while_nobody_reads_any_more_does_not_keep_a_peer_from_ending() -> None:
    transport = Transport(Identity.of_secret(bytes([1]) * 32))
    host, port = host_and_port(transport.endpoint)
    with suppress(TimeoutError):  # libzmq takes nobody more while it waits for room for its events
        for _ in range(4 * QUEUE_MESSAGES):
            sockets.create_connection((host, port), timeout=QUIET_S).close()
    await transport.aclose()


async def until(condition: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_S):
        while not condition():
            await trio.sleep(0.01)


async def multicast_heard_by(sender: Peer, listeners: list[Peer]) -> None:
    """Publish until the subscriptions have reached the publisher, then drain the copies."""
    waiting = {listener.peer_id: listener for listener in listeners}
    with trio.fail_after(PATIENCE_S):
        while waiting:
            sender.transport.publish(b"topic", b"are you there")
            for peer_id, listener in list(waiting.items()):
                with trio.move_on_after(0.05):
                    await listener.inbox.receive()
                    del waiting[peer_id]
        sender.transport.publish(b"topic", b"that was all")
        for listener in listeners:
            while (sender.peer_id, [b"that was all"]) not in await listener.inbox.receive():
                pass


# --- what members may rely on ---


async def test_a_message_carries_its_frames_and_the_authenticated_sender() -> None:
    async with peers(3) as (one, two, three):
        introduce([one, two, three])
        assert one.send(three, b"a", b"", b"c")
        assert two.send(three, b"b")
        assert sorted(await received(three, 2)) == sorted(
            [(one.peer_id, [b"a", b"", b"c"]), (two.peer_id, [b"b"])]
        )


async def test_messages_of_one_sender_arrive_in_order_and_in_batches() -> None:
    async with peers(2) as (one, two):
        introduce([one, two])
        expected = [b"%d" % number for number in range(QUEUE_MESSAGES)]
        assert all(one.send(two, frame) for frame in expected)
        assert [frames[0] for _, frames in await received(two, QUEUE_MESSAGES)] == expected
        assert two.transport.observe().messages_received == QUEUE_MESSAGES
        assert one.transport.observe().messages_sent == QUEUE_MESSAGES


async def test_a_multicast_reaches_all_others_without_its_topic_and_names_its_sender() -> None:
    async with peers(3) as (one, two, three):
        introduce([one, two, three])
        await multicast_heard_by(one, [two, three])
        one.transport.publish(b"topic", [b"x", b"y"])
        assert await received(two, 1) == await received(three, 1) == [(one.peer_id, [b"x", b"y"])]
        assert await hears_nothing(one)


async def test_a_multicast_of_another_topic_is_not_heard() -> None:
    async with peers(2) as (one, two):
        two.transport._ear.socket.setsockopt(zmq.UNSUBSCRIBE, b"")
        two.transport.subscribe(b"search")
        introduce([one, two])
        with trio.fail_after(PATIENCE_S):
            heard: list[Message] = []
            while not heard:
                one.transport.publish(b"news", b"n")
                one.transport.publish(b"search", b"s")
                with trio.move_on_after(0.05):
                    heard = await two.inbox.receive()
        assert {frames[0] for _, frames in heard} == {b"s"}


async def test_the_last_messages_before_closing_arrive() -> None:
    async with peers(1) as (two,):
        async with peers(1, first_secret=9) as (one,):
            introduce([one, two])
            assert one.send(two, b"hello")
            await received(two, 1)
            for number in range(100):
                assert one.send(two, b"%d" % number)
        assert len(await received(two, 100)) == 100


async def test_a_peer_that_starts_again_at_its_endpoint_is_found_again() -> None:
    async with peers(1) as (one,):
        async with peers(1, first_secret=9) as (two,):
            introduce([one, two])
            one.send(two, b"before")
            await received(two, 1)
            endpoints = two.transport.endpoint, two.transport.multicast_endpoint
        again = Transport(two.identity, endpoint=endpoints[0], multicast_endpoint=endpoints[1])
        again.allow(one.identity.curve_public, one.peer_id)
        async with trio.open_nursery() as nursery:
            inbox = Inbox(again)
            nursery.start_soon(inbox.serve)
            with trio.fail_after(PATIENCE_S):
                messages: list[Message] = []
                while not messages:
                    one.transport.send(two.peer_id, b"after")
                    with trio.move_on_after(0.1):
                        messages = await inbox.receive()
            assert messages[0] == (one.peer_id, [b"after"])
            nursery.cancel_scope.cancel()
        await again.aclose()


async def test_a_peer_is_found_again_after_another_program_had_its_port() -> None:
    """libzmq gives up for good on who breaks the protocol."""
    identity = Identity.of_secret(b"d" * 32)
    down = Transport(identity)
    endpoints = down.endpoint, down.multicast_endpoint
    await down.aclose()

    async def talk_http(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 400 Bad Request\r\n\r\n" + bytes(100))

    async with peers(1, limits=TransportLimits(stuck_s=0.1)) as (one,):
        async with trio.open_nursery() as nursery:
            (listener,) = await trio.open_tcp_listeners(host_and_port(endpoints[0])[1], host="127.0.0.1")
            nursery.start_soon(trio.serve_listeners, talk_http, [listener])
            one.transport.connect(name_of(identity), *endpoints, identity.curve_public)
            await until(lambda: not one.transport.send(name_of(identity), b"x"))
            nursery.cancel_scope.cancel()
        back = Peer(identity, Transport(identity, endpoint=endpoints[0], multicast_endpoint=endpoints[1]))
        back.allow(one)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(back.inbox.serve)
            await until(lambda: one.transport.send(name_of(identity), b"found"))
            messages = await received(back, 1)
            assert messages[-1] == (one.peer_id, [b"found"])
            nursery.cancel_scope.cancel()
        await back.transport.aclose()


async def test_a_key_admitted_after_its_first_attempt_gets_through_soon() -> None:
    async with peers(2, limits=TransportLimits(handshake_ms=600_000)) as (one, two):
        one.connect(two)
        one.send(two, b"let me in")
        await until(lambda: two.transport.observe().keys_refused >= 1)
        two.allow(one)
        assert await received(two, 1) == [(one.peer_id, [b"let me in"])]


async def test_a_key_admitted_after_its_handshake_timed_out_gets_through_soon() -> None:
    async with peers(2, limits=TransportLimits(handshake_ms=200)) as (one, two):
        one.connect(two)
        one.send(two, b"let me in")
        await until(lambda: two.transport.observe().keys_refused >= 6)  # three attempts on two sockets
        two.allow(one)
        assert await received(two, 1) == [(one.peer_id, [b"let me in"])]


async def test_the_keys_that_wait_for_admission_are_bounded() -> None:
    """Those forgotten are not shut out: they ask again."""
    async with peers(3, limits=TransportLimits(handshake_ms=300, keys_waiting_max=1)) as (one, two, three):
        for other in (one, two):
            other.connect(three)
            other.send(three, b"x")
        await until(lambda: three.transport.observe().keys_refused >= 4)
        assert len(three.transport._allowed._waiting) == 1
        three.allow(one)
        three.allow(two)
        await received(three, 2)


# --- limits of sending ---


async def test_sending_to_an_unknown_peer_is_refused_and_counted() -> None:
    async with peers(2) as (one, two):
        assert not one.send(two, b"x")
        introduce([one, two])
        one.transport.disconnect(two.peer_id)
        one.transport.disconnect(two.peer_id)
        assert not one.send(two, b"x")
        assert one.transport.observe().sends_refused == 2


async def test_a_full_queue_refuses_and_never_blocks() -> None:
    async with peers(2) as (one, two):
        one.connect(two)  # which does not allow it, so nothing leaves the queue
        assert [one.send(two, b"x") for _ in range(QUEUE_MESSAGES + 1)].count(False) == 1
        assert one.transport.observe().sends_refused == 1
        assert one.transport.observe().messages_sent == QUEUE_MESSAGES


async def test_what_waits_to_be_read_is_bounded_by_its_bytes_and_so_much_of_it_arrives() -> None:
    limits, n_frames, size = TransportLimits(received_bytes_max=4 * FRAME_BYTES_MAX), 500, 1 << 20
    async with peers(2, limits=limits) as (bad, two):
        introduce([bad, two])
        bad.send(two, b"hello")
        await received(two, 1)
        for _ in range(n_frames):
            bad.transport._links[two.peer_id].dealer.send(bytes(size))
        assert brought_while_nobody_reads(two) < 256 << 20
        assert two.transport.observe().connections_cut >= 1
        bad.send(two, b"over another connection")
        arrived: list[Message] = []
        with trio.fail_after(PATIENCE_S):
            while (bad.peer_id, [b"over another connection"]) not in arrived:
                arrived += await two.inbox.receive()
        assert len(arrived) > 32


@pytest.mark.parametrize("kind", [zmq.ROUTER, zmq.DEALER])
def test_a_connection_that_breaks_while_nobody_reads_does_not_end_the_process(kind: int) -> None:
    """libzmq ended it when a heartbeat was due on one whose messages waited for room in the queue."""
    done = subprocess.run(
        [sys.executable, "-c", BREAKING, str(kind)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


async def test_a_message_without_an_end_is_cut_off_while_nobody_reads() -> None:
    limits = TransportLimits(received_bytes_max=4 * FRAME_BYTES_MAX)
    async with peers(2, limits=limits) as (bad, two):
        introduce([bad, two])
        bad.send(two, b"hello")
        await received(two, 1)
        bad.transport._links[two.peer_id].dealer.send(b"whole, so that something waits to be read")
        bad.transport._links[two.peer_id].dealer.send_multipart([bytes(1 << 20)] * 400)
        assert brought_while_nobody_reads(two) < 256 << 20
        assert two.transport.observe().connections_cut == 1


def brought_while_nobody_reads(peer: Peer) -> int:
    """Return how many bytes have come, when no more do; the loop stands still meanwhile."""
    brought, before, quiet_since = 0, -1, time.monotonic()
    while time.monotonic() < quiet_since + 5 * CHECK_S:
        time.sleep(CHECK_S / 4)
        counts = [counts_of(each) for each in list(peer.transport._inflows[0]._connections)]
        brought = max(brought, sum(each.received for each in counts if each is not None))
        if brought != before:
            before, quiet_since = brought, time.monotonic()
    return brought


async def test_large_messages_are_bounded_by_their_bytes_until_they_have_gone() -> None:
    async with peers(2) as (one, two):
        one.connect(two)
        large = bytes(8 << 20)
        outcomes = [one.send(two, large) for _ in range(LARGE_BYTES_QUEUED_MAX // len(large) + 1)]
        assert outcomes == [True] * 8 + [False]
        assert one.send(two, b"small ones still fit")
        two.allow(one)
        assert len(await received(two, 9)) == 9
        await until(lambda: one.send(two, large))
        await received(two, 1)


async def test_a_message_beyond_the_limits_is_our_bug() -> None:
    async with peers(2) as (one, two):
        introduce([one, two])
        for frames in ([bytes(FRAME_BYTES_MAX + 1)], [b""] * (FRAMES_MAX + 1), []):
            with pytest.raises(AssertionError, match="message of"):
                one.send(two, *frames)


async def test_the_largest_frame_arrives() -> None:
    async with peers(2) as (one, two):
        introduce([one, two])
        one.send(two, bytes(FRAME_BYTES_MAX))
        ((_, (frame,)),) = await received(two, 1)
        assert len(frame) == FRAME_BYTES_MAX


async def test_a_member_that_sends_too_large_a_frame_is_cut_off_and_others_are_not() -> None:
    async with peers(3) as (one, bad, two):
        introduce([one, bad, two])
        bad.transport._links[two.peer_id].dealer.send(bytes(FRAME_BYTES_MAX + 100))
        assert await hears_nothing(two)
        one.send(two, b"still here")
        assert await received(two, 1) == [(one.peer_id, [b"still here"])]


async def test_a_member_whose_message_has_no_end_is_cut_off_and_others_are_not() -> None:
    async with peers(3) as (one, bad, two):
        introduce([one, bad, two])
        bad.send(two, b"hello")
        await received(two, 1)
        bad.transport._links[two.peer_id].dealer.send_multipart([bytes(1 << 20)] * 400)  # is sent when whole
        with trio.fail_after(PATIENCE_S):
            while not two.transport.observe().connections_cut:
                await trio.sleep(0.01)
        one.send(two, b"still here")
        assert await received(two, 1) == [(one.peer_id, [b"still here"])]


async def test_many_large_messages_are_no_message_without_an_end() -> None:
    async with peers(2) as (one, two):
        introduce([one, two])
        for _ in range(20):
            await until(lambda: one.send(two, bytes(8 << 20)))
            await received(two, 1)
        for _ in range(2_000):
            await until(lambda: one.send(two, b"x", b"y" * 300))
        await received(two, 2_000)
        await trio.sleep(3 * CHECK_S)
        assert two.transport.observe().connections_cut == 0
        [connection] = two.transport._inflows[0]._connections.items()
        descriptor, counted = connection
        counts = counts_of(descriptor)
        assert counts is not None
        assert abs(counts.received - counted.delivered) < HANDSHAKE_BYTES, "the count is exact"


async def test_messages_of_wrong_shape_are_dropped_and_counted() -> None:
    async with peers(2) as (bad, two):
        introduce([bad, two])
        dealer = bad.transport._links[two.peer_id].dealer
        dealer.send_multipart([b""] * (FRAMES_MAX + 1))
        dealer.send_multipart([b"good"])
        assert await received(two, 1) == [(bad.peer_id, [b"good"])]
        await multicast_heard_by(bad, [two])
        bad.transport._publisher.send(b"a topic and nothing else")
        await until(lambda: two.transport.observe().messages_dropped == 2)


async def test_messages_of_wrong_shape_and_empty_ones_come_with_their_bytes_on_the_wire() -> None:
    heard: list[Received] = []
    async with peers(2) as (bad, two):
        introduce([bad, two])
        two.inbox.take = heard.extend  # type: ignore[method-assign,assignment]
        dealer = bad.transport._links[two.peer_id].dealer
        dealer.send_multipart([b"x" * 100] * (FRAMES_MAX + 1))
        dealer.send(b"")
        await until(lambda: len(heard) == 2)
    per_part = 8 + 8 + 16 + 1 + 2  # RFC 25 and RFC 23
    assert heard == [
        (bad.peer_id, [], (FRAMES_MAX + 1) * (100 + per_part)),
        (bad.peer_id, [b""], per_part),
    ]


# --- who gets in ---


async def test_an_unknown_key_delivers_nothing_by_either_way() -> None:
    async with peers(2) as (stranger, two):
        stranger.connect(two)
        stranger.send(two, b"x")
        for _ in range(4):
            stranger.transport.publish(b"topic", b"x")
            await trio.sleep(0.1)
        await until(lambda: two.transport.observe().keys_refused >= 2)
        assert await hears_nothing(two)


async def test_a_peer_no_longer_allowed_is_not_heard_though_its_connection_is_open() -> None:
    async with peers(2) as (one, two):
        introduce([one, two])
        one.send(two, b"before")
        await received(two, 1)
        two.transport.disallow(one.peer_id)
        one.send(two, b"after")
        await until(lambda: two.transport.observe().messages_dropped == 1)
        assert await hears_nothing(two)
        two.allow(one)
        one.send(two, b"again")
        assert [frames for _, frames in await received(two, 1)] == [[b"again"]]


async def test_a_client_that_expects_another_server_key_delivers_nothing() -> None:
    """The address may belong to somebody else by now: what is sealed for one peer no other reads."""
    async with peers(3) as (one, two, other):
        two.allow(one)
        there = two.transport
        one.transport.connect(
            other.peer_id, there.endpoint, there.multicast_endpoint, other.identity.curve_public
        )
        one.send(other, b"for the other one's eyes")
        assert await hears_nothing(two)
        await until(lambda: two.transport.observe().handshakes_failed >= 1)


@pytest.mark.parametrize("mechanism", ["NULL", "PLAIN"])
async def test_no_other_mechanism_than_curve_delivers(mechanism: str) -> None:
    async with peers(1) as (two,):
        with (
            zmq.Context() as context,
            context.socket(zmq.DEALER) as dealer,
            context.socket(zmq.PUB) as publisher,
        ):
            for socket in (dealer, publisher):
                socket.linger = 0
                if mechanism == "PLAIN":
                    socket.plain_username, socket.plain_password = b"admin", b"admin"
            dealer.connect(two.transport.endpoint)
            publisher.connect(two.transport.multicast_endpoint)
            dealer.send(b"x")
            publisher.send_multipart([b"topic", b"x"])
            assert await hears_nothing(two)
        await until(lambda: two.transport.observe().handshakes_failed >= 2)


@pytest.mark.parametrize(
    "greeting",
    [
        b"\x01\x00\x02\x00x",  # ZMTP 1.0: an anonymous identity, then a message
        b"\xff" + bytes(7) + b"\x01\x7f\x01\x05\x00\x00\x00\x01x",  # ZMTP 2.0
    ],
)
async def test_older_protocols_without_security_deliver_nothing(greeting: bytes) -> None:
    async with peers(1) as (two,):
        async with await trio.open_tcp_stream(*host_and_port(two.transport.endpoint)) as stream:
            await stream.send_all(greeting)
            assert await hears_nothing(two)


async def test_while_nobody_answers_authentication_nothing_is_delivered() -> None:
    async with peers(1) as (one,):
        two = Peer(Identity.of_secret(b"t" * 32), Transport(Identity.of_secret(b"t" * 32)))
        introduce([one, two])
        one.send(two, b"x")
        async with trio.open_nursery() as nursery:
            nursery.start_soon(two.transport.receive_forever, two.inbox.take)
            assert await hears_nothing(two)
            nursery.cancel_scope.cancel()
        await two.transport.aclose()


@pytest.mark.parametrize("answer", [b"300", b"400", b"500", b"999", b"", b"2"])
async def test_any_authentication_answer_but_200_delivers_nothing(
    monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    async with peers(2) as (one, two):
        allowed = two.transport._allowed
        answer_with = allowed._answer
        monkeypatch.setattr(allowed, "_answer", lambda head, _, peer: answer_with(head, answer, peer))
        two.allow(one)
        one.connect(two)
        one.send(two, b"x")
        assert await hears_nothing(two)


@pytest.mark.parametrize("key", sorted(PUBLISHED_CURVE_KEYS))
async def test_published_keys_are_never_allowed(key: bytes) -> None:
    async with peers(1) as (one,):
        with pytest.raises(AssertionError):
            one.transport.allow(key, "x")


# --- endpoints ---


async def test_an_endpoint_in_use_is_said_in_one_sentence() -> None:
    async with peers(1) as (one,):
        used = one.transport.endpoint
        for start in (
            partial(Transport, one.identity, endpoint=used),
            partial(Transport, one.identity, multicast_endpoint=used),
            partial(Transport, one.identity, door_endpoint=used),
        ):
            with pytest.raises(ConfigError, match="is in use: stop the program that listens there"):
                start()


@pytest.mark.parametrize(
    ("endpoint", "sentence"),
    [
        ("tcp://192.0.2.1:0", "give an address of this machine"),
        ("127.0.0.1:4000", "write the endpoint '127.0.0.1:4000' as tcp://ADDRESS:PORT"),
        ("ipc:///x", "as tcp://ADDRESS:PORT"),
        ("tcp://127.0.0.1:99999", "as tcp://ADDRESS:PORT"),
    ],
)
async def test_an_endpoint_that_cannot_be_is_said_in_one_sentence(endpoint: str, sentence: str) -> None:
    identity = Identity.of_secret(b"i" * 32)
    with pytest.raises(ConfigError, match=sentence):
        Transport(identity, endpoint=endpoint)
    with pytest.raises(ConfigError, match=sentence):
        Transport(identity, door_endpoint=endpoint)


@pytest.mark.parametrize(
    "endpoint",
    [
        "",
        "ipc:///etc/x",
        "inproc://zeromq.zap.01",
        "tcp://127.0.0.1:1;127.0.0.1:2",
        "tcp://a:1\n",
        "tcp://*:*",
    ],
)
async def test_a_record_with_another_kind_of_endpoint_is_refused(endpoint: str) -> None:
    async with peers(2) as (one, two):
        for endpoints in ((endpoint, two.transport.endpoint), (two.transport.endpoint, endpoint)):
            with pytest.raises(RemoteProtocolError, match=r"^endpoint (is not|has)"):
                one.transport.connect(two.peer_id, *endpoints, two.identity.curve_public)
        assert not one.send(two, b"x")


async def test_connecting_again_with_the_same_values_keeps_what_is_queued() -> None:
    async with peers(2) as (one, two):
        one.connect(two)
        one.send(two, b"x")
        one.connect(two)
        two.allow(one)
        await received(two, 1)


async def test_who_claims_the_ear_of_another_does_not_take_its_multicasts_away() -> None:
    async with peers(3) as (one, two, thief):
        for other in (two, thief):
            other.allow(one)
        one.transport.connect(
            thief.peer_id,
            thief.transport.endpoint,
            two.transport.multicast_endpoint,
            thief.identity.curve_public,
        )
        one.connect(two)
        one.transport.publish(b"topic", b"contested")
        assert await received(two, 1) == [(one.peer_id, [b"contested"])]
        one.transport.disconnect(thief.peer_id)
        await multicast_heard_by(one, [two])
        one.transport.publish(b"topic", b"alone")
        assert await received(two, 1) == [(one.peer_id, [b"alone"])]


async def test_ipv6_works() -> None:
    if not sockets.has_ipv6 or not has_ipv6_loopback():
        pytest.skip("no IPv6 loopback on this machine")
    identity = Identity.of_secret(b"6" * 32)
    six = Peer(identity, Transport(identity, endpoint="tcp://[::1]:0", multicast_endpoint="tcp://[::1]:0"))
    async with peers(1) as (one,):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(six.inbox.serve)
            introduce([one, six])
            one.send(six, b"x")
            await received(six, 1)
            nursery.cancel_scope.cancel()
    await six.transport.aclose()


def has_ipv6_loopback() -> bool:
    with closing(sockets.socket(sockets.AF_INET6)) as socket:
        try:
            socket.bind(("::1", 0))
        except OSError:
            return False
    return True


# --- noise ---


async def test_random_bytes_half_handshakes_and_idlers_do_not_keep_a_member_out() -> None:
    noise = random.Random(7)
    async with peers(2) as (one, two):
        ports = [
            host_and_port(each)[1] for each in (two.transport.endpoint, two.transport.multicast_endpoint)
        ]
        files_before = len(os.listdir("/proc/self/fd"))
        connections = []
        for port in ports:
            for number in range(100):
                connection = sockets.create_connection(("127.0.0.1", port))
                connections.append(connection)
                if number % 3 == 1:
                    connection.sendall(noise.randbytes(noise.randrange(1, 2000)))
                elif number % 3 == 2:
                    connection.sendall(GREETING + noise.randbytes(noise.randrange(300)))
        introduce([one, two])
        one.send(two, b"through")
        assert await received(two, 1) == [(one.peer_id, [b"through"])]
        for connection in connections:
            connection.close()
        await until(lambda: len(os.listdir("/proc/self/fd")) < files_before + 50)
        assert two.transport.observe().handshakes_failed > 0


@pytest.mark.parametrize("first_words", ["", "greeting", "key"])
async def test_who_takes_its_time_makes_room_for_others_and_no_member_does(first_words: str) -> None:
    async with peers(3, limits=TransportLimits(handshakes_max=8, handshake_ms=600_000)) as (one, two, late):
        introduce([one, two])
        one.send(two, b"before")
        await received(two, 1)
        ends = {connection.other_end for connection in two.transport._inflows[0]._connections.values()}
        host, port = host_and_port(two.transport.endpoint)
        strangers = [await trio.open_tcp_stream(host, port) for _ in range(40)]
        if first_words == "greeting":
            for each in strangers:
                await each.send_all(GREETING)
        elif first_words == "key":
            unknown = [Transport(Identity.of_secret(bytes([100 + number]) * 32)) for number in range(10)]
            for number, transport in enumerate(unknown):
                there = two.transport
                transport.connect(
                    str(number), there.endpoint, there.multicast_endpoint, two.identity.curve_public
                )
        await until(lambda: two.transport.observe().handshakes_cut >= 32)
        await _until_closed(strangers, 30)
        introduce([late, two])
        late.send(two, b"newcomer")
        one.send(two, b"after")
        assert {frames[0] for _, frames in await received(two, 2)} == {b"newcomer", b"after"}
        assert ends <= {each.other_end for each in two.transport._inflows[0]._connections.values()}
        for each in strangers:
            await trio.aclose_forcefully(each)
        if first_words == "key":
            for transport in unknown:
                transport.abandon()


async def _until_closed(streams: Sequence[trio.SocketStream], count: int) -> None:
    """Wait until so many have been closed by the other end, whichever."""
    closed = set()

    async def read_to_end(stream: trio.SocketStream) -> None:
        while await stream.receive_some():
            pass
        closed.add(stream)

    async with trio.open_nursery() as nursery:
        for stream in streams:
            nursery.start_soon(read_to_end, stream)
        await until(lambda: len(closed) >= count)
        nursery.cancel_scope.cancel()


GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x01CURVE" + bytes(15) + b"\x00" + bytes(31)


async def test_statistics_are_a_snapshot() -> None:
    async with peers(1) as (one,):
        before = one.transport.observe()
        one.transport.publish(b"t", b"12345")
        after = one.transport.observe()
        assert after == replace(before, multicasts_sent=1, multicast_bytes_sent=5)
