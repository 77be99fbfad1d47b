"""The last events of a peer, in its table."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import Final

import msgspec

from mesh.tables.table import Table
from peers.history.event import Event

EVENTS_MAX: Final = 500
EVENTS_OF_MEMBER_MAX: Final = 50  # who comes and goes all the time shall not push out all else
EVENT_S_MAX: Final = 90 * 86_400.0
_KEY_BYTES: Final = 6

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(Event)


class EventLog:
    """Events by number, oldest first."""

    def __init__(self, table: Table) -> None:
        """Take up the events in the table."""
        self._table = table
        self._events = {int.from_bytes(key, "big"): _decoder.decode(row) for key, row in table.scan(b"")}
        self._next = max(self._events, default=-1) + 1

    def add(self, event: Event) -> None:
        """Keep one more event, and forget those that are too many or too old."""
        number, self._next = self._next, self._next + 1
        self._events[number] = event
        self._table.put(number.to_bytes(_KEY_BYTES, "big"), _encoder.encode(event))
        for old in self._superfluous(event):
            del self._events[old]
            self._table.delete(old.to_bytes(_KEY_BYTES, "big"))

    def since(self, at_s: float, most: int) -> tuple[Event, ...]:
        """Tell the last so many of those since a time, oldest first."""
        return tuple(event for event in self._events.values() if event.at_s >= at_s)[-most:]

    def _superfluous(self, newest: Event) -> list[int]:
        too_old = [number for number, event in self._events.items() if event.at_s < newest.at_s - EVENT_S_MAX]
        about = Counter(event.peer for event in self._events.values())
        of_member: list[int] = []
        if newest.peer and about[newest.peer] > EVENTS_OF_MEMBER_MAX:
            of_member = [next(n for n, event in self._events.items() if event.peer == newest.peer)]
        n_left = len(self._events) - len({*too_old, *of_member})
        oldest = [] if n_left <= EVENTS_MAX else [next(n for n in self._events if n not in of_member)]
        return list(dict.fromkeys(chain(too_old, of_member, oldest)))
