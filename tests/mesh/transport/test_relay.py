"""Real sockets: what comes in at a relay's ports gets to the peer that can only dial out, and back."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import trio

from mesh.keys.identity import Identity
from mesh.port_leases import PORTS_EACH
from mesh.transport import relay_frames
from mesh.transport.callers import STRANGERS_MAX
from mesh.transport.door import Door
from mesh.transport.lease import ANSWER_S
from mesh.transport.relay import IDLE_LEASES_MAX, Lent, Relay
from mesh.transport.relay_client import RelayClient
from mesh.transport.relay_frames import (
    BEAT_S,
    CONTROL,
    SILENT_S,
    head_in,
    head_of,
    is_proven,
    order_in,
    order_of,
)
from mesh.transport.splice import splice
from mesh.transport.tcp_endpoint import host_and_port
from mesh.transport.transport import Transport
from tests.patience import PATIENCE_S

RELAY_OWNER = Identity.of_secret(b"r" * 32)
HIDDEN = Identity.of_secret(b"h" * 32)
CALLER = Identity.of_secret(b"c" * 32)
NEAR = "127.0.0.1"


def free_ports(count: int) -> range:
    """Ports in a row that nobody listens on now."""
    start = os.getpid() * 97 % 7_000  # apart from those of another test at the same time
    for number in range(0, 7_000, count):
        first = 23_000 + (start + number) % 7_000
        try:
            for port in range(first, first + count):
                socket.create_server((NEAR, port)).close()
        except OSError:
            continue
        return range(first, first + count)
    raise AssertionError("no ports are free")


@asynccontextmanager
async def open_relay(relayed: int = 2, answer_s: float = ANSWER_S) -> AsyncIterator[tuple[Relay, Door]]:
    relay = Relay(NEAR, NEAR, free_ports(PORTS_EACH * relayed), answer_s=answer_s)
    door = Door(RELAY_OWNER, "tcp://127.0.0.1:0", relay=relay)
    async with trio.open_nursery() as nursery:
        await nursery.start(relay.serve)
        nursery.start_soon(door.serve)
        yield relay, door
        nursery.cancel_scope.cancel()
    door.close()


async def echo(stream: trio.SocketStream) -> None:
    async for data in stream:
        await stream.send_all(data)


async def shout(stream: trio.SocketStream) -> None:
    await stream.send_all(b"x" * 1_000)
    async for _ in stream:
        pass


@asynccontextmanager
async def served(handler: Callable[[trio.SocketStream], Awaitable[None]]) -> AsyncIterator[str]:
    (listener,) = await trio.open_tcp_listeners(0, host=NEAR)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, handler, [listener])
        yield f"tcp://127.0.0.1:{listener.socket.getsockname()[1]}"
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def relayed(
    relay: Relay, door: Door, *own: str, peer: str = "hidden", lent: Lent | None = None
) -> AsyncIterator[tuple[RelayClient, Lent]]:
    """A peer behind the relay, whose three sockets are these."""
    lent = lent or relay.lend(peer, "", ())
    assert lent is not None
    borrower, is_open = RelayClient(own * (PORTS_EACH if len(own) == 1 else 1)), trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(borrower.keep, door.endpoint, lent, is_open.set)
        with trio.fail_after(PATIENCE_S):
            await is_open.wait()
        yield borrower, lent
        nursery.cancel_scope.cancel()


async def call(endpoint: str) -> trio.SocketStream:
    return await trio.open_tcp_stream(*host_and_port(endpoint))


async def is_cut(stream: trio.SocketStream) -> bool:
    with trio.fail_after(PATIENCE_S):
        try:
            return await stream.receive_some() == b""
        except trio.BrokenResourceError:
            return True


async def until(is_so: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_S):
        while not is_so():
            await trio.sleep(0.01)


def test_heads_and_orders_come_back_as_they_went() -> None:
    lease, secret = bytes(range(16)), bytes(32)
    assert head_in(head_of(lease, 7, secret))[:2] == (lease, 7)
    assert is_proven(secret, *head_in(head_of(lease, 7, secret)))
    assert not is_proven(secret, lease, 8, head_in(head_of(lease, 7, secret))[2])
    assert not is_proven(b"\1" * 32, *head_in(head_of(lease, 7, secret)))
    assert order_in(order_of(2**63, 2)) == (2**63, 2)


async def test_each_of_three_ports_leads_to_its_own_socket_and_back() -> None:
    async with AsyncExitStack() as stack:
        relay, door = await stack.enter_async_context(open_relay())
        sockets = [await stack.enter_async_context(served(each)) for each in (echo, shout, echo)]
        _, lent = await stack.enter_async_context(relayed(relay, door, *sockets))
        async with await call(lent.places[0]) as one, await call(lent.places[2]) as two:
            for stream, told in ((one, b"to the inbox"), (two, b"to the door")):
                await stream.send_all(told)
                assert await stream.receive_some() == told
        async with await call(lent.places[1]) as one:
            assert (await one.receive_some()).startswith(b"x")
        await until(lambda: relay.observe().callers == 0)
        seen = relay.observe()
        assert (seen.relayed, seen.calls, seen.leases) == (1, 3, 1)
        assert seen.bytes_carried >= 2 * len(b"to the inbox")


async def test_who_is_faster_than_the_other_end_waits() -> None:
    """Nothing is kept in between but what the kernel has room for."""
    begun = trio.Event()

    async def read_late(stream: trio.SocketStream) -> None:
        begun.set()
        await trio.sleep_forever()

    async with AsyncExitStack() as stack:
        relay, door = await stack.enter_async_context(open_relay())
        own = await stack.enter_async_context(served(read_late))
        borrower, lent = await stack.enter_async_context(relayed(relay, door, own))
        stream = await stack.enter_async_context(await call(lent.places[0]))
        with trio.fail_after(PATIENCE_S):
            await begun.wait()
        with trio.move_on_after(1.0) as scope:
            await stream.send_all(bytes(64 << 20))
        assert scope.cancelled_caught
        assert borrower.observe().bytes_carried < 32 << 20


async def test_members_talk_and_strangers_knock_over_a_relay() -> None:
    async with AsyncExitStack() as stack:
        relay, door = await stack.enter_async_context(open_relay())
        hidden, caller = Transport(HIDDEN, door_endpoint="tcp://127.0.0.1:0"), Transport(CALLER)
        nursery = await stack.enter_async_context(trio.open_nursery())
        nursery.start_soon(hidden.serve)
        nursery.start_soon(caller.serve)
        assert hidden.door_endpoint is not None
        own = hidden.endpoint, hidden.multicast_endpoint, hidden.door_endpoint
        _, lent = await stack.enter_async_context(relayed(relay, door, *own))
        hidden.allow(CALLER.curve_public, "caller")
        hidden.subscribe(b"")
        caller.connect("hidden", lent.places[0], lent.places[1], HIDDEN.curve_public)
        received: list[bytes] = []

        async def hear() -> None:
            await hidden.receive_forever(
                lambda batch: received.extend(
                    b"".join(frames) for sender, frames, _ in batch if sender == "caller"
                )
            )

        async def answer() -> None:
            visit, key, question = await hidden.receive_door()
            hidden.send_door(visit, key + question)

        nursery.start_soon(hear)
        nursery.start_soon(answer)
        assert caller.send("hidden", b"sent")
        assert await caller.knock(lent.places[2], HIDDEN.curve_public, b"?", PATIENCE_S) == (
            CALLER.curve_public + b"?"
        )
        with trio.fail_after(PATIENCE_S):
            while b"published" not in received:  # until it has subscribed
                caller.publish(b"topic", b"published")
                await trio.sleep(0.05)
        await until(lambda: b"sent" in received)
        nursery.cancel_scope.cancel()
    await hidden.aclose()
    await caller.aclose()


async def test_only_who_has_the_secret_is_taken_for_the_peer_and_once() -> None:
    async with open_relay() as (relay, door), served(echo) as own:
        lent = relay.lend("hidden", "", ())
        assert lent is not None
        forged = [
            head_of(lent.lease, CONTROL, bytes(32)),
            head_of(bytes(16), CONTROL, lent.secret),
            head_of(lent.lease, 1, lent.secret),  # nobody has called so far
        ]
        for head in forged:
            async with await call(door.endpoint) as stream:
                await stream.send_all(head)
                assert await is_cut(stream)
        assert door.refused_count == len(forged)
        async with relayed(relay, door, own, lent=lent), await call(door.endpoint) as again:
            await again.send_all(head_of(lent.lease, CONTROL, lent.secret))
            assert await is_cut(again)
            async with await call(lent.places[0]) as stream:
                await stream.send_all(b"still there")
                assert await stream.receive_some() == b"still there"


async def test_a_door_without_a_relay_refuses_who_wants_one() -> None:
    door = Door(RELAY_OWNER, "tcp://127.0.0.1:0")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(door.serve)
        async with await call(door.endpoint) as stream:
            await stream.send_all(head_of(bytes(16), CONTROL, bytes(32)))
            assert await is_cut(stream)
        assert door.refused_count == 1
        nursery.cancel_scope.cancel()
    door.close()


async def test_when_the_peer_goes_its_ports_are_shut_and_it_has_the_same_ones_again() -> None:
    async with open_relay() as (relay, door), served(echo) as own:
        async with AsyncExitStack() as stack:
            async with relayed(relay, door, own) as (_, lent):
                caller = await stack.enter_async_context(await call(lent.places[0]))
                await caller.send_all(b"hello")
                assert await caller.receive_some() == b"hello"
            assert await is_cut(caller)
        await until(lambda: relay.observe().relayed == 0)
        with pytest.raises(OSError, match="all attempts to connect"):
            await call(lent.places[0])
        other = relay.lend("other", "", (lent.places[0],))
        again = relay.lend("hidden", lent.places[0], ())
        assert other is not None
        assert again is not None
        assert again.places == lent.places
        assert not set(other.places) & set(lent.places)
        assert again.secret != lent.secret


async def test_who_comes_again_takes_over_what_it_had_before() -> None:
    """A peer that was killed is back before the relay knows."""
    async with open_relay(relayed=1) as (relay, door), served(echo) as own:
        async with relayed(relay, door, own) as (old, lent):
            again = relay.lend("hidden", lent.places[0], ())
            assert again is not None
            assert again.places == lent.places
            async with relayed(relay, door, own, lent=again), await call(lent.places[0]) as stream:
                await stream.send_all(b"hello")
                assert await stream.receive_some() == b"hello"
                assert not old.observe().is_relayed
                assert relay.observe().relayed == 1


async def test_a_recorded_question_takes_nothing_from_who_asked_it() -> None:
    """Who asks it again cannot read the answer, and never comes."""
    async with open_relay(relayed=1) as (relay, door), served(echo) as own:
        async with relayed(relay, door, own) as (borrower, lent):
            for _ in range(IDLE_LEASES_MAX + 3):
                assert relay.lend("hidden", lent.places[0], ()) is not None
                await trio.sleep(0.01)
            async with await call(lent.places[0]) as stream:
                await stream.send_all(b"hello")
                assert await stream.receive_some() == b"hello"
            assert borrower.observe().is_relayed


async def test_when_all_ports_are_lent_nobody_gets_any() -> None:
    async with open_relay(relayed=1) as (relay, _):
        assert relay.lend("one", "", ()) is not None
        assert relay.lend("two", "", ()) is None
        relay.evict("one")
        assert relay.lend("two", "", ()) is not None
        assert relay.observe().leases_refused == 1


async def test_a_port_that_another_program_has_is_passed_over() -> None:
    async with open_relay() as (relay, _):
        first = relay.lend("one", "", ())
        assert first is not None
        relay.evict("one")
        with socket.create_server(host_and_port(first.places[1])):
            second = relay.lend("one", first.places[0], ())
        assert second is not None
        assert not set(second.places) & set(first.places)


async def test_idlers_make_room_for_who_gets_an_answer() -> None:
    async with AsyncExitStack() as stack:
        relay, door = await stack.enter_async_context(open_relay())
        own = await stack.enter_async_context(served(echo))
        _, lent = await stack.enter_async_context(relayed(relay, door, own))
        member = await stack.enter_async_context(await call(lent.places[0]))
        await member.send_all(bytes(1_000))
        assert await member.receive_some()
        idlers = [
            await stack.enter_async_context(await call(lent.places[0])) for _ in range(STRANGERS_MAX + 10)
        ]
        await until(lambda: relay.observe().callers_turned_out >= 10)
        assert await is_cut(idlers[0])
        await member.send_all(b"still there")
        assert await member.receive_some() == b"still there"
        assert relay.observe().callers <= STRANGERS_MAX + 1


async def test_a_relay_that_asks_for_more_streams_than_there_may_be_is_not_obeyed() -> None:
    async with AsyncExitStack() as stack:
        relay, door = await stack.enter_async_context(open_relay())
        own = await stack.enter_async_context(served(shout))
        lent = relay.lend("hidden", "", ())
        assert lent is not None
        borrower, is_open = RelayClient([own] * 3, streams_max=1), trio.Event()
        nursery = await stack.enter_async_context(trio.open_nursery())
        nursery.start_soon(borrower.keep, door.endpoint, lent, is_open.set)
        await is_open.wait()
        async with await call(lent.places[0]) as one, await call(lent.places[0]):
            assert await one.receive_some()
            await until(lambda: borrower.observe().streams_refused == 1)
        nursery.cancel_scope.cancel()


async def test_a_peer_that_does_not_come_is_waited_for_so_long() -> None:
    async with open_relay(answer_s=0.1) as (relay, door):
        lent = relay.lend("hidden", "", ())
        assert lent is not None
        async with await call(door.endpoint) as control:
            await control.send_all(head_of(lent.lease, CONTROL, lent.secret))
            assert order_in(await control.receive_some()) == (CONTROL, 0)
            async with await call(lent.places[2]) as caller:
                assert order_in(await control.receive_some()) == (1, 2)
                assert await is_cut(caller)
            assert relay.observe().calls_unanswered == 1


async def test_of_two_ends_that_say_nothing_both_are_ended(autojump_clock: trio.testing.MockClock) -> None:
    (listener,) = await trio.open_tcp_listeners(0, host=NEAR)
    async with AsyncExitStack() as stack:
        one, two = [
            await stack.enter_async_context(await trio.testing.open_stream_to_socket_listener(listener))
            for _ in range(2)
        ]
        assert await splice(one, two, lambda to_peer, to_caller: None)
    await listener.aclose()


def test_silence_ends_a_relay_before_long() -> None:
    assert SILENT_S >= 3 * BEAT_S
    assert len(relay_frames.MAGIC) == 8
