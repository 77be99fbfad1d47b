"""The content of a part (`handover.store.Part`) that cells send each other: its items, and its kind of bulk.

A part carries either a piece of the index (`Documents`: the bulk is a segment, as `peers.engine` makes them)
or pages (`Pages`: the bulk is the records of their versions, one after the other, in the order of the rows).
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from mesh.errors import RemoteProtocolError
from mesh.stamp import TIME_MAX_S, Stamp, VisitNumber
from mesh.wire_fields import Url
from peers.handover.wire_messages import BULK_BYTES_MAX, PART_BYTES_MAX
from peers.storage.wire_messages import MovedTo

ROWS_MAX: Final = 8_192  # of pages in one part

Time: TypeAlias = Annotated[float, Meta(ge=0.0, le=TIME_MAX_S)]  # this refuses NaN, too


class VersionRow(msgspec.Struct, frozen=True, array_like=True):
    """One version of a page."""

    fetched_at: Time
    status: Annotated[int, Meta(ge=0, le=999)]
    has_document: bool
    length: Annotated[int, Meta(ge=1, le=BULK_BYTES_MAX)]  # of its records in the bulk
    visit: VisitNumber
    moved_to: MovedTo = ""

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)


class PageRow(msgspec.Struct, frozen=True, array_like=True):
    """The versions of a page that the other side does not have."""

    url: Url
    is_indexed: bool  # its document in that export is of its newest version, with link texts of this digest
    texts: Annotated[bytes, Meta(max_length=8)]  # as `texts_digest` makes it; b"" for none
    versions: tuple[VersionRow, ...]


class Documents(msgspec.Struct, frozen=True, array_like=True, tag=0):
    """The bulk is a piece of the index."""

    export: int  # the sender's number for all that it exports at that time


class Pages(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """The bulk is records."""

    export: int  # which one these pages belong to, 0 for none
    rows: Annotated[tuple[PageRow, ...], Meta(max_length=ROWS_MAX)]


Content: TypeAlias = Documents | Pages


def encode_content(content: Content) -> bytes:
    encoded = _encode(content)
    assert len(encoded) <= PART_BYTES_MAX, f"{len(encoded)} bytes of items in one part"
    return encoded


def decode_content(items: bytes, bulk: bytes) -> Content:
    """Read the items of a part.

    Raises:
      RemoteProtocolError: they are none, or do not describe the bulk.
    """
    try:
        content: Content = _decode(items)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RemoteProtocolError(f"a part of pages that is none: {error}") from error
    if isinstance(content, Pages):
        n_bytes = sum(version.length for row in content.rows for version in row.versions)
        if n_bytes != len(bulk):
            raise RemoteProtocolError(f"a part with {len(bulk)} bytes of records that speaks of {n_bytes}")
    return content


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Content).decode
