"""The inside of a process of a `workshop`: orders come in at its standard input, answers go out. [io]

What is worked on was made by strangers. Whatever it makes the code do (loop, take all memory, crash), the
system ends this process and nothing else: every order has a limit of processor time and the process one of
memory, both kept by the system, not by code that may be stuck in a library. And whoever takes it over finds
no keys, no network and nothing to start (`confinement`).
"""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import Final, NamedTuple

from mesh.process.allocator import settle_allocator
from mesh.process.confinement import confine
from mesh.process.memory import memory_used

logger = logging.getLogger(__name__)

READY: Final = b"\x06"  # ASCII: acknowledge; the process has loaded what it works with
COUNT: Final = Struct(">I")  # of the orders of a trip, before them
LENGTH: Final = Struct(">I")  # before each order and each answer
USED: Final = Struct(">dQQ")  # after the answers of a trip: processor time so far, `MemoryUsed` now
LOG_FORMAT: Final = "%(asctime)s %(levelname)s %(name)s %(message)s"  # as the peer's, see `process`
NICENESS: Final = 5  # the event loop of the peer, which has to answer others in time, goes first
# Between Python's and those of a peer (`process`): what works on pages leaves cycles behind. With the peer's
# a process grew to 88 MB, with these to 52, with Python's to 46 and used 3 % more processor time.
GC_THRESHOLDS: Final = (5_000, 10, 20)
TELL_S: Final = 0.05  # answers wait so long for company
OUT_OF_TIME: Final = signal.SIGPROF  # ends the process whose order takes too long


class WorkLimits(NamedTuple):
    """The resources that strangers may make a process use."""

    cpu_s: float  # for one order
    memory_bytes: int  # of address space


def serve(carry_out: Callable[[bytes], bytes], limits: WorkLimits) -> None:
    """Carry out orders, one after the other, until nobody is there to give any."""
    _settle_down(limits)
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as peer, suppress(ConnectionError):
        peer.sendall(READY)
        while orders := _receive_orders(peer):
            _work_off(orders, carry_out, limits, peer)


def _work_off(
    orders: list[bytes], carry_out: Callable[[bytes], bytes], limits: WorkLimits, peer: socket.socket
) -> None:
    answers: list[bytes] = []
    told_s = time.monotonic()
    for order in orders:
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_s)
        answer = carry_out(order)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers += (LENGTH.pack(len(answer)), answer)
        if time.monotonic() > told_s + TELL_S:
            peer.sendall(b"".join(answers))
            answers.clear()
            told_s = time.monotonic()
    peer.sendall(b"".join(answers) + USED.pack(time.process_time(), *memory_used()))


def _settle_down(limits: WorkLimits) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # typed at a terminal it reaches us too; the peer will tell
    signal.signal(OUT_OF_TIME, signal.SIG_DFL)
    settle_allocator()
    os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError, ValueError):  # not everywhere is there a limit of address space
        resource.setrlimit(resource.RLIMIT_AS, (limits.memory_bytes, limits.memory_bytes))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("500")  # when the machine is out of memory, let it take this one, not the peer
    for lack in confine():
        logger.warning("a process that works on pages is less confined than it should be: %s", lack)
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def _receive_orders(peer: socket.socket) -> list[bytes]:
    """Wait for all orders of a trip, so that their writer need not read yet; none at the end."""
    head = _read(peer, COUNT.size)
    count = COUNT.unpack(head)[0] if head else 0
    return [_read(peer, *LENGTH.unpack(_read(peer, LENGTH.size))) for _ in range(count)]


def _read(peer: socket.socket, n_bytes: int) -> bytes:
    """Read so many bytes; none at the end of the connection."""
    data = bytearray(n_bytes)
    at = 0
    while at < n_bytes:
        received = peer.recv_into(memoryview(data)[at:])
        if not received:
            return b""
        at += received
    return bytes(data)
