"""Messages a second through `Transport`, beside blocking pyzmq with the same security in the same run.

pytest tests/benchmarks/bench_transport.py -s

Two processes on one core of an AMD EPYC (KVM), messages of 1 KiB, CURVE, CPython 3.11.7, libzmq 4.3.5:

    one way                      pyzmq    58,000/s  Transport    49,000/s  0.83
    round trips, 64 in flight    pyzmq    62,000/s  Transport    39,000/s  0.63
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from multiprocessing import get_context
from multiprocessing.connection import Connection

import trio
import zmq

from mesh.keys.identity import Identity
from mesh.transport.transport import Transport
from tests.mesh.inbox import Inbox

MESSAGES = 60_000
ROUND_TRIPS = 30_000
IN_FLIGHT = 64
BODY = b"x" * 1024
NEAR, FAR = Identity.of_secret(b"n" * 32), Identity.of_secret(b"f" * 32)

# The near process measures. The far one floods it (one-way), or sends everything back (round trips).
# They tell each other their endpoints over a pipe first.


def pin() -> None:
    os.sched_setaffinity(0, {0})


# --- blocking pyzmq ---


def far_raw(pipe: Connection, is_flood: bool) -> None:
    pin()
    with zmq.Context() as context, context.socket(zmq.DEALER) as dealer:
        dealer.curve_serverkey = NEAR.curve_public
        dealer.curve_publickey, dealer.curve_secretkey = FAR.curve_public, FAR.curve_secret
        dealer.connect(pipe.recv())
        dealer.send(b"ready")
        if is_flood:
            for _ in range(MESSAGES):
                dealer.send(BODY)
        else:
            for _ in range(ROUND_TRIPS):
                dealer.send(dealer.recv())


def near_raw(pipe: Connection, is_flood: bool) -> float:
    with zmq.Context() as context, context.socket(zmq.ROUTER) as router:
        router.curve_server, router.curve_secretkey = True, NEAR.curve_secret
        pipe.send(f"tcp://127.0.0.1:{router.bind_to_random_port('tcp://127.0.0.1')}")
        route, _ = router.recv_multipart()
        start = time.perf_counter()
        if is_flood:
            for _ in range(MESSAGES):
                router.recv_multipart()
        else:
            for _ in range(IN_FLIGHT):
                router.send_multipart([route, BODY])
            for sent in range(IN_FLIGHT, ROUND_TRIPS + IN_FLIGHT):
                router.recv_multipart()
                if sent < ROUND_TRIPS:
                    router.send_multipart([route, BODY])
        return time.perf_counter() - start


# --- Transport ---


def name_of(identity: Identity) -> str:
    """An id, such as a mesh's root would draw for the holder of these keys."""
    return identity.signing_public.hex()[:16]


async def introduce(transport: Transport, pipe: Connection, other: Identity) -> None:
    pipe.send((transport.endpoint, transport.multicast_endpoint))
    transport.allow(other.curve_public, name_of(other))
    endpoint, multicast_endpoint = pipe.recv()
    transport.connect(name_of(other), endpoint, multicast_endpoint, other.curve_public)


async def send(transport: Transport, peer_id: str) -> None:
    while not transport.send(peer_id, BODY):
        await trio.sleep(0.0005)


async def far_transport(pipe: Connection, is_flood: bool) -> None:
    pin()
    transport = Transport(FAR)
    async with trio.open_nursery() as nursery:
        inbox = Inbox(transport)
        nursery.start_soon(inbox.serve)
        await introduce(transport, pipe, NEAR)
        await send(transport, name_of(NEAR))
        if is_flood:
            for index in range(MESSAGES):
                await send(transport, name_of(NEAR))
                if index % 64 == 0:
                    await trio.lowlevel.checkpoint()
        else:
            returned = 0
            while returned < ROUND_TRIPS:
                for _ in await inbox.receive():
                    await send(transport, name_of(NEAR))
                    returned += 1
        nursery.cancel_scope.cancel()
    await transport.aclose()


async def near_transport(pipe: Connection, is_flood: bool) -> float:
    transport = Transport(NEAR)
    async with trio.open_nursery() as nursery:
        inbox = Inbox(transport)
        nursery.start_soon(inbox.serve)
        await introduce(transport, pipe, FAR)
        received = len(await inbox.receive()) - 1
        start = time.perf_counter()
        if is_flood:
            while received < MESSAGES:
                received += len(await inbox.receive())
        else:
            for _ in range(IN_FLIGHT):
                await send(transport, name_of(FAR))
            sent = IN_FLIGHT
            while received < ROUND_TRIPS:
                batch = await inbox.receive()
                received += len(batch)
                for _ in range(min(len(batch), ROUND_TRIPS - sent)):
                    await send(transport, name_of(FAR))
                    sent += 1
        seconds = time.perf_counter() - start
        nursery.cancel_scope.cancel()
    await transport.aclose()
    return seconds


def run_far_transport(pipe: Connection, is_flood: bool) -> None:
    trio.run(far_transport, pipe, is_flood)


def run_near_transport(pipe: Connection, is_flood: bool) -> float:
    return trio.run(near_transport, pipe, is_flood)


def rate(
    near: Callable[[Connection, bool], float], far: Callable[[Connection, bool], None], is_flood: bool
) -> float:
    """Run both ends and return messages (or round trips) a second."""
    here, there = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=far, args=(there, is_flood))
    process.start()
    seconds = near(here, is_flood)
    process.join(10)
    return (MESSAGES if is_flood else ROUND_TRIPS) / seconds


def test_transport_beside_blocking_pyzmq() -> None:
    cores = os.sched_getaffinity(0)
    pin()
    raw = partial(rate, near_raw, far_raw)
    ours = partial(rate, run_near_transport, run_far_transport)
    for name, is_flood in (("one way", True), ("round trips, 64 in flight", False)):
        # In turns, and the better of two: the machine is shared.
        pairs = [(raw(is_flood), ours(is_flood)) for _ in range(2)]
        best_raw, best_ours = (max(column) for column in zip(*pairs, strict=True))
        print(
            f"\n{name:28} pyzmq {best_raw:9,.0f}/s  Transport {best_ours:9,.0f}/s  {best_ours / best_raw:.2f}"
        )
    os.sched_setaffinity(0, cores)
