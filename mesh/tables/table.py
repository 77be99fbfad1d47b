"""The ordered key-value view that an actor keeps its state in.

Synchronous, because an actor never awaits, and of bytes, because an actor encodes its own keys so
that their order is the order it wants to walk them in. `memory_table.MemoryTable` (simulations) and
`lmdb_table.LmdbTable` (live) behave alike; one test suite holds them to it.

A scan is *live*: each step yields the smallest key not yet passed that exists at that moment. So an
actor may put and delete while it iterates, and sees the same in both tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

KEY_BYTES_MAX = 511  # MDB_MAXKEYSIZE of LMDB; a longer key is our bug, so it is asserted


class Table(Protocol):
    """Bytes to bytes, in the order of `bytes.__lt__`. Keys have 1..511 bytes, values any length."""

    def get(self, key: bytes) -> bytes | None: ...

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the value of `get` for each key, in one step."""

    def put(self, key: bytes, value: bytes) -> None: ...

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        """Put many rows in one step; of two with one key the last one stays."""

    def delete(self, key: bytes) -> None:
        """Remove the key; a key that is absent is no error."""

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) with start <= key < stop, at most `limit`, in key order, live.

        `start` may be empty; `stop=None` runs to the end.
        """

    def scan_prefix(self, prefix: bytes, *, limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        """Yield (key, value) of the keys that begin with `prefix`, as `scan` does."""


class TableSection:
    """The part of a table under one prefix, itself a `Table` with the prefix cut off its keys.

    The actors of a peer each have a section of one table: one commit, so one fsync, makes the
    changes of all of them durable at once.
    """

    def __init__(self, table: Table, prefix: bytes) -> None:
        assert prefix, "a section without a prefix is the whole table"
        if isinstance(table, TableSection):  # of a section: two steps for every access would be one too many
            prefix = table._prefix + prefix
            table = table._table
        self._table: Table = table
        self._prefix: bytes = prefix
        self._end = prefix_end(prefix)

    def get(self, key: bytes) -> bytes | None:
        return self._table.get(self._prefix + key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        prefix = self._prefix
        return self._table.get_many([prefix + key for key in keys])

    def put(self, key: bytes, value: bytes) -> None:
        assert key, "an empty key"
        self._table.put(self._prefix + key, value)

    def put_many(self, rows: Sequence[tuple[bytes, bytes]]) -> None:
        prefix = self._prefix
        self._table.put_many([(prefix + key, value) for key, value in rows])

    def delete(self, key: bytes) -> None:
        self._table.delete(self._prefix + key)

    def scan(
        self, start: bytes, stop: bytes | None = None, *, limit: int | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        end = self._end if stop is None else self._prefix + stop
        cut = len(self._prefix)
        for key, value in self._table.scan(self._prefix + start, end, limit=limit):
            yield key[cut:], value

    def scan_prefix(self, prefix: bytes, *, limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
        return self.scan(prefix, prefix_end(prefix), limit=limit)


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the smallest key above all keys with this prefix, None when there is none (0xff...)."""
    head = prefix.rstrip(b"\xff")
    return head[:-1] + bytes((head[-1] + 1,)) if head else None
