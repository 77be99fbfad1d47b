"""What a cell must not forget, in its table: where pages are, what is not yet indexed, what it owes.

Theory of operation
===================
Every key is one letter for the kind of entry, then (for a debt: after the standby's name) the slot in
two bytes, then the fingerprint of the URL. So all entries of a kind and a slot stand together and a
slot can be handed over by a few scans. *Identity* below means those 18 bytes of slot and fingerprint.

    p identity                 newest place of a page
    p identity time            older places, newest first
    u identity time            mark: this version is not yet in a durable commit of the index
    x identity                 mark: these link texts are not yet in the index
    d peer identity time       debt: this version has not yet been promised by that standby
    d peer identity            debt: likewise these link texts
    c peer                     number of debts to a standby
    #                          totals

The newest place has a key without a time, so that the question asked for every page, "do we have it?",
is one `get` and never a scan.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

import msgspec

from mesh.table import Table, prefix_end
from mesh.urls import fingerprint

IDENTITY_BYTES: Final = 18

_PLACE: Final = b"p"
_PAGE_MARK: Final = b"u"
_ANCHORS_MARK: Final = b"x"
_DEBT: Final = b"d"
_DEBT_COUNT: Final = b"c"
_TOTALS: Final = b"#"


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where one version of a page is in the archive."""

    url: str
    fetched_at: float  # seconds since the epoch
    status: int
    segment: int
    offset: int  # bytes
    length: int  # bytes
    has_document: bool  # False: it is kept, but not to be indexed
    anchors_at: float  # mesh clock: when the texts of the links to it last changed


class Totals(msgspec.Struct, array_like=True):
    """Counters that survive a restart because they are written with what they count."""

    pages: int = 0  # distinct URLs
    stored: int = 0  # versions kept as owner
    replicated: int = 0  # versions kept as standby
    pages_marked: int = 0
    anchors_marked: int = 0
    archive_bytes: int = 0  # of all versions


class Anchors(msgspec.Struct, frozen=True, array_like=True):
    """The texts of the links to a page."""

    url: str
    slot: int
    anchors: tuple[str, ...]
    at: float  # mesh clock, when they became these


class Debt(NamedTuple):
    """Something a standby has still to promise."""

    key: bytes  # identity, and the time of a page
    value: bytes

    @property
    def is_page(self) -> bool:
        """Of a version of a page; else of link texts."""
        return len(self.key) > IDENTITY_BYTES


def identity_of(slot: int, url: str) -> bytes:
    """Return the slot and the fingerprint of a page: 18 bytes."""
    return _pack_slot(slot) + fingerprint(url)


def slot_in(key: bytes) -> int:
    """Return the slot that an identity, or the key of a mark or debt, begins with."""
    return int.from_bytes(key[:2], "big")


class Ledger:
    """A cell's entries in its table. Holds nothing itself but the counters.

    Whoever changes something calls `save_totals` once before giving control back, so that the counters
    are in the same commit.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._saved_totals = table.get(_TOTALS)
        self.totals = Totals() if self._saved_totals is None else _decode_totals(self._saved_totals)
        self._debt_counts = {
            key[len(_DEBT_COUNT) :].decode(): int.from_bytes(value, "big")
            for key, value in table.scan_prefix(_DEBT_COUNT)
        }

    def save_totals(self) -> None:
        encoded = _encode(self.totals)
        if encoded != self._saved_totals:  # what changes nothing shall not cause a commit
            self._saved_totals = encoded
            self._table.put(_TOTALS, encoded)

    # --- Places

    def newest(self, identity: bytes) -> Place | None:
        value = self._table.get(_PLACE + identity)
        return None if value is None else _decode_place(value)

    def version(self, identity: bytes, fetched_at: float) -> Place | None:
        """Return the place of exactly this version."""
        newest = self.newest(identity)
        if newest is None or newest.fetched_at == fetched_at:
            return newest
        value = self._table.get(_PLACE + identity + _newest_first(fetched_at))
        return None if value is None else _decode_place(value)

    def keep(self, identity: bytes, place: Place) -> bool:
        """Note a version that is not there yet; return whether it is the newest of its page.

        Link texts that wait to be indexed are superseded by those that came with a newer version.
        """
        newest = self.newest(identity)
        self.totals.archive_bytes += place.length
        if newest is None:
            self.totals.pages += 1
        elif newest.fetched_at > place.fetched_at:
            self._put_older(identity, place)
            return False
        else:
            self._put_older(identity, newest)
            self._unmark_anchors(identity)
        self._table.put(_PLACE + identity, _encode(place))
        return True

    def date_anchors(self, identity: bytes, place: Place, at: float) -> None:
        """Note in the newest place when the link texts changed."""
        self._table.put(_PLACE + identity, _encode(msgspec.structs.replace(place, anchors_at=at)))

    def _put_older(self, identity: bytes, place: Place) -> None:
        self._table.put(_PLACE + identity + _newest_first(place.fetched_at), _encode(place))

    # --- What is not yet indexed

    def mark_page(self, identity: bytes, fetched_at: float, anchors: tuple[str, ...]) -> None:
        """Note that a version is to be indexed, with the link texts that the archive does not hold."""
        self._table.put(_PAGE_MARK + identity + _newest_first(fetched_at), _encode(anchors))
        self.totals.pages_marked += 1

    def unmark_page(self, identity: bytes, fetched_at: float) -> None:
        """Take back a mark; none is no error."""
        key = _PAGE_MARK + identity + _newest_first(fetched_at)
        if self._table.get(key) is not None:
            self._table.delete(key)
            self.totals.pages_marked -= 1

    def marked_pages(self, after: bytes, limit: int) -> list[tuple[bytes, float, tuple[str, ...]]]:
        """Return (identity, fetched_at, anchors) of marks in order, from the one after `after`.

        `after` is b"" or `mark_key` of the last one seen.
        """
        start = _PAGE_MARK + after + b"\0" if after else _PAGE_MARK
        rows = self._table.scan(start, prefix_end(_PAGE_MARK), limit=limit)
        return [(key[1:19], _time_in(key[19:]), _decode_texts(value)) for key, value in rows]

    def mark_anchors(self, identity: bytes, anchors: Anchors) -> None:
        """Note link texts that are to be indexed, in place of any older ones."""
        key = _ANCHORS_MARK + identity
        if self._table.get(key) is None:
            self.totals.anchors_marked += 1
        self._table.put(key, _encode(anchors))

    def marked_anchors_of(self, identity: bytes) -> tuple[str, ...] | None:
        """Return the link texts of this page that wait to be indexed."""
        value = self._table.get(_ANCHORS_MARK + identity)
        return None if value is None else _decode_anchors(value).anchors

    def unmark_anchors(self, identity: bytes, anchors: tuple[str, ...]) -> None:
        """Take back the mark unless it has newer texts by now."""
        if self.marked_anchors_of(identity) == anchors:
            self._unmark_anchors(identity)

    def _unmark_anchors(self, identity: bytes) -> None:
        if self._table.get(_ANCHORS_MARK + identity) is not None:
            self._table.delete(_ANCHORS_MARK + identity)
            self.totals.anchors_marked -= 1

    def marked_anchors(self, after: bytes, limit: int) -> list[tuple[bytes, Anchors]]:
        """Return (identity, anchors) of marks in order, from the one after that identity."""
        start = _ANCHORS_MARK + after + b"\0" if after else _ANCHORS_MARK
        rows = self._table.scan(start, prefix_end(_ANCHORS_MARK), limit=limit)
        return [(key[1:], _decode_anchors(value)) for key, value in rows]

    # --- What is owed to standbys

    def owe_page(self, peer: str, identity: bytes, fetched_at: float, anchors: tuple[str, ...]) -> None:
        self._owe(peer, page_debt(identity, fetched_at), _encode(anchors))

    def owe_anchors(self, peer: str, identity: bytes, anchors: Anchors) -> None:
        self._owe(peer, identity, _encode(anchors))

    def pay(self, peer: str, debt_key: bytes) -> None:
        """Strike a debt out; none is no error."""
        key = _debts_to(peer) + debt_key
        if self._table.get(key) is not None:
            self._table.delete(key)
            self._count_debts(peer, -1)

    def anchors_owed(self, peer: str, identity: bytes) -> tuple[str, ...] | None:
        """Return the link texts of a page that this standby has still to promise."""
        value = self._table.get(_debts_to(peer) + identity)
        return None if value is None else _decode_anchors(value).anchors

    def debts(self, peer: str, limit: int) -> list[Debt]:
        """Return the first debts to a standby: of a page its link texts, then its versions."""
        prefix = _debts_to(peer)
        rows = self._table.scan_prefix(prefix, limit=limit)
        return [Debt(key[len(prefix) :], value) for key, value in rows]

    def owes_page(self, peer: str, identity: bytes) -> bool:
        """Is a version of this page owed to a standby?"""
        if self.debt_count(peer) < 2:
            return False  # asked for a page of which link texts are owed: that is the one debt
        prefix = _debts_to(peer) + identity
        return any(len(key) > len(prefix) for key, _ in self._table.scan_prefix(prefix, limit=2))

    def debt_count(self, peer: str) -> int:
        return self._debt_counts.get(peer, 0)

    def creditors(self) -> Iterable[str]:
        """Return the standbys that something is owed to."""
        return tuple(self._debt_counts)

    @property
    def debts_total(self) -> int:
        return sum(self._debt_counts.values())

    def _owe(self, peer: str, debt_key: bytes, value: bytes) -> None:
        key = _debts_to(peer) + debt_key
        if self._table.get(key) is None:
            self._count_debts(peer, 1)
        self._table.put(key, value)

    def _count_debts(self, peer: str, change: int) -> None:
        count = self._debt_counts.get(peer, 0) + change
        assert count >= 0, f"paid {peer} more than was owed"
        if count:
            self._debt_counts[peer] = count
            self._table.put(_DEBT_COUNT + peer.encode(), count.to_bytes(8, "big"))
        else:
            self._debt_counts.pop(peer, None)
            self._table.delete(_DEBT_COUNT + peer.encode())


def page_debt(identity: bytes, fetched_at: float) -> bytes:
    """Return the key of the debt of a version of a page; that of its link texts is the identity."""
    return identity + _newest_first(fetched_at)


def mark_key(identity: bytes, fetched_at: float) -> bytes:
    """Return what `Ledger.marked_pages` continues after."""
    return identity + _newest_first(fetched_at)


def page_in(debt: Debt) -> tuple[bytes, float, tuple[str, ...]]:
    """Return identity, time of fetch and link texts of the version that a debt is about."""
    key, value = debt
    return key[:IDENTITY_BYTES], _time_in(key[IDENTITY_BYTES:]), _decode_texts(value)


def anchors_in(debt: Debt) -> Anchors:
    """Return the link texts that a debt is about."""
    return _decode_anchors(debt.value)


_encode = msgspec.msgpack.Encoder().encode
_decode_place = msgspec.msgpack.Decoder(Place).decode
_decode_totals = msgspec.msgpack.Decoder(Totals).decode
_decode_anchors = msgspec.msgpack.Decoder(Anchors).decode
_decode_texts = msgspec.msgpack.Decoder(tuple[str, ...]).decode
_pack_slot = Struct(">H").pack
_double = Struct(">d")
_whole = Struct(">Q")
_ALL_BITS = 0xFFFF_FFFF_FFFF_FFFF


def _newest_first(fetched_at: float) -> bytes:
    """Eight bytes that fall as the time grows: doubles from 0 on are ordered as their bit patterns."""
    (bits,) = _whole.unpack(_double.pack(fetched_at))
    return _whole.pack(bits ^ _ALL_BITS)


def _time_in(key_end: bytes) -> float:
    (bits,) = _whole.unpack(key_end)
    (fetched_at,) = _double.unpack(_whole.pack(bits ^ _ALL_BITS))
    return float(fetched_at)


def _debts_to(peer: str) -> bytes:
    """Prefix of the debts to a standby; a length keeps one name from being the start of another."""
    name = peer.encode()
    return _DEBT + bytes((len(name),)) + name
