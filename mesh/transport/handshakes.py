"""Connections that have shown no key so far, and an end to the oldest when there are too many. [io]

Theory of operation. libzmq accepts whoever connects and gives it some seconds (HANDSHAKE_IVL) to show a key.
Each of them has a descriptor until then, so a crowd of idlers that come again and again would have them all,
and a member that connects would wait until one is free. libzmq has no bound for that, and does not tell which
of its connections are through. But the kernel knows how many of the bytes that we have sent were
acknowledged: before its key is found good nobody is sent more than a greeting, a WELCOME and an ERROR
(RFC 23/ZMTP, RFC 26/CurveZMQ).

Who makes room is the oldest of the address that has most, as a handshake takes some milliseconds: to keep a
member out, a crowd has to come that fast and from as many addresses.
"""

from __future__ import annotations

import resource
from typing import Final

import zmq

from mesh.transport.tcp_connection import counts_of, other_end_of, shut_down

HANDSHAKES_MAX: Final = 512  # of all sockets; a mesh of as many that begins at once is through in a second
DESCRIPTORS_PART: Final = 8  # of few descriptors only one in so many
SENT_TO_STRANGERS_MAX: Final = (
    64 + (2 + 168) + (2 + 10)
)  # bytes: greeting, WELCOME, ERROR; READY has 50 and more


class Handshakes:
    """The connections to the bound sockets of a peer that may be without a key."""

    def __init__(self, handshakes_max: int = HANDSHAKES_MAX) -> None:
        self.n_turned_out = 0  # count: connections that had to make room
        self._max = min(handshakes_max, _descriptors() // DESCRIPTORS_PART)
        self._ends: dict[int, tuple[str, int]] = {}  # by descriptor, who is at the other end
        self._by_address: dict[str, dict[int, None]] = {}  # descriptors, the oldest first

    def note_event(self, event: int, descriptor: int) -> None:
        """Follow an event from the monitors of the sockets."""
        if event & (zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED):
            self._forget(descriptor)
        if event & zmq.EVENT_ACCEPTED and (other_end := other_end_of(descriptor)) is not None:
            self._ends[descriptor] = other_end
            self._by_address.setdefault(other_end[0], {})[descriptor] = None
            while len(self._ends) > self._max:
                self._make_room()

    def _make_room(self) -> None:
        """Drop one connection: only from this list if its handshake is done, else from the socket too."""
        crowd = max(self._by_address.values(), key=len)
        descriptor = next(iter(crowd))
        other_end = self._ends[descriptor]
        self._forget(descriptor)
        counts = counts_of(descriptor)
        is_through = counts is None or counts.acknowledged > SENT_TO_STRANGERS_MAX
        if not is_through and shut_down(descriptor, other_end):
            self.n_turned_out += 1

    def _forget(self, descriptor: int) -> None:
        other_end = self._ends.pop(descriptor, None)
        if other_end is not None:
            of_address = self._by_address[other_end[0]]
            del of_address[descriptor]
            if not of_address:
                del self._by_address[other_end[0]]


def _descriptors() -> int:
    """How many this process may have."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return limit if limit != resource.RLIM_INFINITY else HANDSHAKES_MAX * DESCRIPTORS_PART
