"""Requests that arrive at a constant rate, whether the ones before are answered or not. [io]

A client that waits for an answer before it asks again spares a server that is slow (Tene's *coordinated
omission*). Here every request has a time at which it is due; its latency counts from then, also when no
connection was free to send it.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from urllib.parse import urlsplit

CONNECTIONS: Final = 64
LIMIT_S: Final = 30.0  # after the last request was due


class Load(NamedTuple):
    """What came of it."""

    latencies_s: list[float]  # sorted; of all, also of those that were refused
    replies: list[bytes]  # by request, heads included
    seconds: float  # from the first request to the last answer

    def percentile_ms(self, percent: float) -> float:
        """So many percent were answered faster."""
        last = len(self.latencies_s) - 1
        return self.latencies_s[min(last, int(len(self.latencies_s) * percent / 100))] * 1e3

    @property
    def per_second(self) -> float:
        return len(self.latencies_s) / self.seconds

    @property
    def refused(self) -> int:
        """Answers that are none."""
        return sum(not reply.startswith(b"HTTP/1.1 200") for reply in self.replies)

    def told(self) -> str:
        """A line of figures for a transcript."""
        refused = f", {self.refused} refused" if self.refused else ""
        percentiles = ", ".join(f"p{p:g} {self.percentile_ms(p):.1f}" for p in (50, 90, 99, 99.9))
        return f"{self.per_second:.0f}/s, {percentiles}, most {self.latencies_s[-1] * 1e3:.1f} ms{refused}"


@dataclass(eq=False)
class _Connection:
    socket: socket.socket
    request: int = -1
    reply: bytearray = field(default_factory=bytearray)
    wanted: int = -1  # bytes of the reply, -1 before its head is there


def ask_at_rate(
    gateway: str, paths: Sequence[str], per_second: float, connections: int = CONNECTIONS
) -> Load:
    """Ask for these paths in order, one every 1 / per_second seconds; return when all are answered.

    Raises:
      AssertionError: an answer did not come.
    """
    place = urlsplit(gateway)
    host = f"{place.hostname}:{place.port}"
    due = [number / per_second for number in range(len(paths))]
    latencies = [0.0] * len(paths)
    replies = [b""] * len(paths)
    with ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        free = deque(_connect(place.hostname or "", place.port or 80, stack) for _ in range(connections))
        for connection in free:
            selector.register(connection.socket, selectors.EVENT_READ, connection)
        began = time.perf_counter()
        sent = answered = 0
        while answered < len(paths):
            now = time.perf_counter() - began
            assert now < due[-1] + LIMIT_S, f"{len(paths) - answered} requests without an answer"
            while sent < len(paths) and free and due[sent] <= now:
                connection = free.popleft()
                connection.request = sent
                connection.socket.send(f"GET {paths[sent]} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                sent += 1
            pause = due[sent] - now if sent < len(paths) and free else 1.0
            for key, _ in selector.select(max(pause, 0.0)):
                connection = key.data
                if _receive(connection):
                    number = connection.request
                    latencies[number] = time.perf_counter() - began - due[number]
                    replies[number] = bytes(connection.reply)
                    connection.reply, connection.wanted = bytearray(), -1
                    free.append(connection)
                    answered += 1
        return Load(sorted(latencies), replies, time.perf_counter() - began)


def _connect(host: str, port: int, stack: ExitStack) -> _Connection:
    connection = stack.enter_context(socket.create_connection((host, port)))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return _Connection(connection)


def _receive(connection: _Connection) -> bool:
    """Take what is there; tell whether the answer is whole."""
    part = connection.socket.recv(1 << 18)
    assert part, f"the connection was closed after {bytes(connection.reply[:200])!r}"
    connection.reply += part
    if connection.wanted < 0:
        head, separator, _ = connection.reply.partition(b"\r\n\r\n")
        if not separator:
            return False
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        connection.wanted = len(head) + 4 + int(length.partition(b":")[2])
    return len(connection.reply) >= connection.wanted
