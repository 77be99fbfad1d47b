"""The part of the membership that outlives a process: the members, and this peer's last record of itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from mesh.errors import ConfigError
from mesh.keys.decree import DecreeName
from mesh.membership.model.wire_messages import MemberRecord, Rumour
from mesh.tables.table import Table

_ME: Final = b"me"  # key of our own record
_OBEYED: Final = b"obeyed"  # key of the order to this peer that was carried out last
_MEMBER: Final = b"member/"  # prefix of the keys of rumours about the others
_NEWCOMERS: Final = b"newcomers"  # key of the ids of those who are not settled


class Memory:
    """The part of a peer's table that is the membership's."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def members(self) -> Iterator[Rumour]:
        """Read the beliefs about the other members at the last stop."""
        for _, value in self._table.scan_prefix(_MEMBER):
            yield msgspec.msgpack.decode(value, type=Rumour)

    def own_record(self, me: str) -> MemberRecord | None:
        """Read this peer's last record of itself as a member; None if it never was one.

        Raises:
          ConfigError: the table belongs to another peer.
        """
        last_words = self._table.get(_ME)
        if last_words is None:
            return None
        own = msgspec.msgpack.decode(last_words, type=MemberRecord)
        if own.peer != me:
            raise ConfigError(
                f"the data folder belongs to peer {own.peer} and not to {me}: "
                "use the key file it was made with, or another folder"
            )
        return own

    def keep(self, rumour: Rumour) -> None:
        self._table.put(_MEMBER + rumour.record.peer.encode(), msgspec.msgpack.encode(rumour))

    def note_obeyed(self, order: DecreeName) -> bool:
        """Note that an order is carried out; tell whether it was not before."""
        digest = order.number.to_bytes(8, "big") + order.digest
        is_new = self._table.get(_OBEYED) != digest
        self._table.put(_OBEYED, digest)
        return is_new

    def newcomers(self) -> frozenset[str]:
        """Read which members were not settled at the last stop."""
        ids = self._table.get(_NEWCOMERS)
        return msgspec.msgpack.decode(ids, type=frozenset[str]) if ids is not None else frozenset()

    def keep_newcomers(self, newcomers: frozenset[str]) -> None:
        self._table.put(_NEWCOMERS, msgspec.msgpack.encode(sorted(newcomers)))

    def keep_own(self, record: MemberRecord) -> None:
        self._table.put(_ME, msgspec.msgpack.encode(record))
