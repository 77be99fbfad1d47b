"""Where one version of a page is in the archive, and how that stands in the table of a cell."""

from __future__ import annotations

from struct import Struct
from typing import TypeAlias

import msgspec
from xxhash import xxh3_64_digest

from mesh.stamp import Stamp, VisitNumber
from mesh.tables.table import Table
from peers.handover.wire_messages import ITEM_ID_BYTES
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.ledger_keys import PLACE

Version: TypeAlias = tuple[str, Stamp]  # of a URL


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Where one version of a page is in the archive."""

    url: str
    fetched_at: float  # seconds since the epoch
    status: int
    segment: int
    offset: int  # bytes
    length: int  # bytes
    checksum: int  # XXH3-64 of the records
    has_document: bool  # False: it is kept, and the page is not to be found
    visit: VisitNumber = 0
    moved_to: str = ""  # where the page is from then on, if it has moved for good

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)

    @property
    def extent(self) -> Extent:
        return Extent(self.segment, self.offset, self.length)

    @property
    def has_content(self) -> bool:
        """Is it the page, to be shown as it was then, or only word that it was not there?"""
        return self.has_document or 200 <= self.status < 300


def newest_in(table: Table, identity: bytes) -> Place | None:
    """Return the newest version of a page that a cell's section of a table speaks of; None for none."""
    value = table.get(PLACE + identity)
    return None if value is None else place_in(value)


def place_in(value: bytes) -> Place:
    """Read the place in an item of a version."""
    return _decode_place(value[ITEM_ID_BYTES:])


def item_value(identity: bytes, place: Place) -> bytes:
    """Return the item of a version: its id, in front so that comparing decodes nothing, and its place."""
    content = _VERSION.pack(
        identity, place.visit, place.fetched_at, place.status, place.has_document, place.checksum
    )
    return bytes(xxh3_64_digest(content)) + _encode(place)


_encode = msgspec.msgpack.Encoder().encode
_decode_place = msgspec.msgpack.Decoder(Place).decode
_VERSION = Struct(">18sIdH?Q")
