"""The door: what a stranger can do there, and what nobody can."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
import trio

import mesh.transport.door
from mesh.errors import RemoteProtocolError
from mesh.keys.identity import Identity, bytes_of_z85
from mesh.transport.door import ANSWER_BYTES_MAX, EXCHANGE_S, MAGIC, QUESTION_BYTES_MAX, VISITORS_MAX, Door
from mesh.transport.tcp_endpoint import host_and_port
from mesh.transport.transport import Transport
from tests.patience import PATIENCE_S

OWNER = Identity.of_secret(b"o" * 32)
STRANGER = Identity.of_secret(b"s" * 32)
OTHER = Identity.of_secret(b"x" * 32)


@asynccontextmanager
async def open_door(exchange_s: float = EXCHANGE_S) -> AsyncIterator[Door]:
    door = Door(OWNER, "tcp://127.0.0.1:0", exchange_s=exchange_s)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(door.serve)
        yield door
        nursery.cancel_scope.cancel()
    door.close()


async def answer_questions(door: Door) -> None:
    while True:
        visit, curve_public, question = await door.receive()
        visit.answer(curve_public + question)


async def knock(door: Door, question: bytes, *, owner: Identity = OWNER) -> bytes:
    with trio.fail_after(PATIENCE_S):
        return await mesh.transport.door.knock(STRANGER, door.endpoint, owner.curve_public, question)


async def connect(door: Door) -> trio.SocketStream:
    return await trio.open_tcp_stream(*host_and_port(door.endpoint))


async def is_shut(stream: trio.SocketStream) -> bool:
    with trio.fail_after(PATIENCE_S):
        try:
            return await stream.receive_some() == b""
        except trio.BrokenResourceError:
            return True


async def test_a_question_is_answered_and_comes_with_the_key_of_who_asks() -> None:
    async with open_door() as door, trio.open_nursery() as nursery:
        nursery.start_soon(answer_questions, door)
        assert await knock(door, b"question") == STRANGER.curve_public + b"question"
        assert await knock(door, b"") == STRANGER.curve_public
        assert len(await knock(door, bytes(QUESTION_BYTES_MAX))) == 40 + QUESTION_BYTES_MAX
        nursery.cancel_scope.cancel()


async def test_a_transport_has_a_door_and_knocks_at_others() -> None:
    owner, stranger = Transport(OWNER, door_endpoint="tcp://127.0.0.1:0"), Transport(STRANGER)
    assert owner.door_endpoint is not None
    assert stranger.door_endpoint is None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(owner.serve)

        async def answer() -> None:
            visit, curve_public, question = await owner.receive_door()
            assert (curve_public, question) == (STRANGER.curve_public, b"question")
            assert owner.send_door(visit, b"answer")
            assert not owner.send_door(visit, b"another answer")

        nursery.start_soon(answer)
        assert await stranger.knock(owner.door_endpoint, OWNER.curve_public, b"question", PATIENCE_S) == (
            b"answer"
        )
        with pytest.raises(trio.TooSlowError):
            await stranger.knock(owner.door_endpoint, OWNER.curve_public, b"unanswered", 0.1)
        nursery.cancel_scope.cancel()
    await owner.aclose()
    await stranger.aclose()


async def test_a_large_answer_arrives() -> None:
    async with open_door() as door, trio.open_nursery() as nursery:

        async def answer() -> None:
            visit, _, _ = await door.receive()
            visit.answer(bytes(ANSWER_BYTES_MAX))

        nursery.start_soon(answer)
        assert len(await knock(door, b"question")) == ANSWER_BYTES_MAX


async def test_only_the_holder_of_the_expected_key_can_read_a_question_and_answer_it() -> None:
    async with open_door() as door:
        with pytest.raises(RemoteProtocolError, match=r"shut without an answer|closed after"):
            await knock(door, b"question", owner=OTHER)
        assert door.refused_count == 1


async def test_who_shows_the_key_of_another_is_refused() -> None:
    async with open_door() as door:
        impostor = bytes_of_z85(STRANGER.curve_public)
        async with await connect(door) as stream:
            question = MAGIC + impostor + bytes(32) + (40).to_bytes(4, "big") + secrets.token_bytes(40)
            await stream.send_all(question)
            assert await is_shut(stream)
        assert door.refused_count == 1


async def test_a_forged_answer_is_refused() -> None:
    async def forge(stream: trio.SocketStream) -> None:
        await stream.receive_some(4096)
        await stream.send_all((40).to_bytes(4, "big") + bytes(40))

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, forge, [listener])
        endpoint = f"tcp://127.0.0.1:{listener.socket.getsockname()[1]}"
        with pytest.raises(RemoteProtocolError, match="not sealed by the holder"):
            await mesh.transport.door.knock(STRANGER, endpoint, OWNER.curve_public, b"question")
        nursery.cancel_scope.cancel()


async def test_an_answer_too_large_is_refused_before_it_is_read() -> None:
    async def boast(stream: trio.SocketStream) -> None:
        await stream.receive_some(4096)
        await stream.send_all(b"\xff\xff\xff\xff")

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, boast, [listener])
        endpoint = f"tcp://127.0.0.1:{listener.socket.getsockname()[1]}"
        with pytest.raises(RemoteProtocolError, match="of 4294967295 bytes"):
            await mesh.transport.door.knock(STRANGER, endpoint, OWNER.curve_public, b"question")
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    "noise",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + bytes(100),
        MAGIC + bytes(64) + (16).to_bytes(4, "big") + bytes(16),  # a key of low order
        MAGIC + b"k" * 64 + (QUESTION_BYTES_MAX + 17).to_bytes(4, "big"),
        MAGIC + b"k" * 64 + (15).to_bytes(4, "big"),
    ],
    ids=["http", "weak key", "too large", "too small"],
)
async def test_noise_is_refused_and_counted_and_the_door_stays_open(noise: bytes) -> None:
    async with open_door() as door, trio.open_nursery() as nursery:
        nursery.start_soon(answer_questions, door)
        async with await connect(door) as stream:
            await stream.send_all(noise)
            assert await is_shut(stream)
        assert door.refused_count == 1
        assert await knock(door, b"question")
        nursery.cancel_scope.cancel()


async def test_who_says_nothing_is_turned_out_when_the_time_is_over() -> None:
    async with open_door(exchange_s=0.05) as door, await connect(door) as stream:
        await stream.send_all(MAGIC)
        assert await is_shut(stream)


async def test_idlers_make_room_for_who_has_a_question() -> None:
    async with open_door() as door, trio.open_nursery() as nursery:
        nursery.start_soon(answer_questions, door)
        idlers = [await connect(door) for _ in range(VISITORS_MAX + 10)]
        assert await knock(door, b"question")
        assert door.turned_out_count >= 10
        assert await is_shut(idlers[0])
        for idler in idlers:
            await idler.aclose()
        nursery.cancel_scope.cancel()


async def test_a_stranger_that_has_gone_cannot_be_answered() -> None:
    async with open_door(exchange_s=0.1) as door:
        with pytest.raises(RemoteProtocolError):
            await knock(door, b"question")
        visit, _, _ = await door.receive()
        assert not visit.answer(b"too late")


async def test_a_recorded_question_asked_again_tells_the_recorder_nothing() -> None:
    """The answer is sealed for the key that asked first."""
    recorded = bytearray()

    async with open_door() as door, trio.open_nursery() as nursery:
        nursery.start_soon(answer_questions, door)

        async def eavesdrop(stream: trio.SocketStream) -> None:
            async with await connect(door) as onward:
                recorded.extend(await stream.receive_some(4096))
                await onward.send_all(recorded)
                await stream.send_all(await onward.receive_some(4096))

        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, eavesdrop, [listener])
        endpoint = f"tcp://127.0.0.1:{listener.socket.getsockname()[1]}"
        assert await mesh.transport.door.knock(STRANGER, endpoint, OWNER.curve_public, b"question")
        assert b"question" not in recorded
        async with await connect(door) as again:
            await again.send_all(recorded)
            assert b"question" not in await again.receive_some(4096)
        nursery.cancel_scope.cancel()


async def test_nobody_at_the_door_is_an_os_error() -> None:
    door = Door(OWNER, "tcp://127.0.0.1:0")
    door.close()
    with pytest.raises(OSError, match="all attempts to connect"):
        await knock(door, b"question")
