"""The three rules that keep a reader from sleeping through a message."""

from __future__ import annotations

import select
import time
from collections.abc import Iterator

import pytest
import trio
import trio.testing
import zmq

from mesh.transport.zmq_socket import TrioSocket
from tests.patience import PATIENCE_S

STRESS_S = 1.5
STALL_S = 0.25
IN_FLIGHT = 200


class ForgetfulSocket(TrioSocket[list[bytes]]):
    """Rule 2 taken away: nobody looks after a send."""

    def wake_reader(self) -> None:
        pass


def read(socket: zmq.Socket[bytes]) -> list[bytes]:
    return socket.recv_multipart(zmq.NOBLOCK)


@pytest.fixture
def pair() -> Iterator[tuple[zmq.Socket[bytes], zmq.Socket[bytes]]]:
    """A ROUTER and a DEALER that know each other."""
    with zmq.Context() as context:
        router, dealer = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
        router.linger = dealer.linger = 0
        dealer.connect(f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}")
        dealer.send(b"hello")
        router.recv_multipart()
        yield router, dealer
        router.close()
        dealer.close()


async def hears_after_a_send(
    pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]],
    kind: type[TrioSocket[list[bytes]]],
    patience_s: float,
) -> bool:
    """Whether a waiting reader gets a message whose signal a send on the same socket has taken away."""
    router, dealer = pair
    dealer.send(b"where are you")
    route, _ = router.recv_multipart()
    socket = kind(dealer, read)
    heard: list[list[bytes]] = []
    with trio.move_on_after(PATIENCE_S) as patience:
        async with trio.open_nursery() as nursery:

            async def listen() -> None:
                heard.extend(await socket.receive_batch())
                nursery.cancel_scope.cancel()

            nursery.start_soon(listen)
            await trio.testing.wait_all_tasks_blocked(0.01)
            router.send_multipart([route, b"news"])
            # Without giving way to the event loop, so that the signal is there and nobody has seen it.
            deadline = time.monotonic() + PATIENCE_S
            while not select_readable(dealer) and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(0.01)  # libzmq looks for signals in a send if it has not done so for 1 ms
            socket.send_nowait([b"mine"])
            patience.deadline = trio.current_time() + patience_s
    return heard == [[b"news"]]


def select_readable(socket: zmq.Socket[bytes]) -> bool:
    return bool(select.select([int(socket.getsockopt(zmq.FD))], [], [], 0)[0])


async def test_a_send_does_not_take_the_wake_up_of_a_waiting_reader(
    pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]],
) -> None:
    assert await hears_after_a_send(pair, TrioSocket, PATIENCE_S)


async def test_without_the_look_after_a_send_the_reader_sleeps_on(
    pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]],
) -> None:
    """Shows that the test above tests something."""
    assert not await hears_after_a_send(pair, ForgetfulSocket, 0.3)


async def test_an_echo_with_a_concurrent_sender_never_stalls(
    pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]],
) -> None:
    server, client = (TrioSocket(each, read) for each in pair)
    sent = echoed = 0

    async def echo() -> None:
        while True:
            for route, body in await server.receive_batch():
                server.send_nowait([route, body])

    async def hear() -> None:
        nonlocal echoed
        while True:
            echoed += len(await client.receive_batch())

    async def talk() -> None:
        nonlocal sent
        while True:
            if sent - echoed < IN_FLIGHT:
                sent += client.send_nowait([b"x"])
            await trio.sleep(0.0002 if sent % 4 == 0 else 0)

    async with trio.open_nursery() as nursery:
        for task in (echo, hear, talk):
            nursery.start_soon(task)
        for _ in range(int(STRESS_S / STALL_S)):
            before = echoed
            await trio.sleep(STALL_S)
            with trio.fail_after(PATIENCE_S):  # who is stalled stays so
                while echoed == before:
                    await trio.sleep(0.01)
        nursery.cancel_scope.cancel()


async def test_a_cancelled_reader_loses_no_message(
    pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]],
) -> None:
    router, dealer = pair
    socket = TrioSocket(router, read)
    with trio.move_on_after(0.01):
        await socket.receive_batch()
    dealer.send(b"late")
    with trio.fail_after(PATIENCE_S):
        ((_, body),) = await socket.receive_batch()
    assert body == b"late"


async def test_a_batch_is_bounded_and_the_rest_is_not_lost(
    pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]],
) -> None:
    router, dealer = pair
    for number in range(700):
        dealer.send(b"%d" % number)
    socket = TrioSocket(router, read)
    bodies: list[bytes] = []
    with trio.fail_after(PATIENCE_S):
        while len(bodies) < 700:
            batch = await socket.receive_batch()
            assert len(batch) <= 256
            bodies += [body for _, body in batch]
    assert bodies == [b"%d" % number for number in range(700)]


async def test_closing_a_socket_wakes_its_reader(pair: tuple[zmq.Socket[bytes], zmq.Socket[bytes]]) -> None:
    socket = TrioSocket(pair[0], read)

    async def listen() -> None:
        with pytest.raises(trio.ClosedResourceError):
            await socket.receive_batch()

    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listen)
            await trio.testing.wait_all_tasks_blocked()
            socket.close(0)
