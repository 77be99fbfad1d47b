"""The row of an entity in the mesh: bytes that only its owner reads, under a public key that is its name.

    "e" public key(32) -> SealedRow

The owner's file has a secret of 32 bytes for each entity, and for each feed. From it follow the key that
signs its row, whose public part names it, and the key that seals its content. The mesh learns that somebody
keeps something of such a size, until which day; it cannot tell which entities are of one owner.

Rows of one name join by maximum: one that was forgotten, which has no content, counts more than all others,
then the greater number. None is accepted without the owner's signature, nor after its day. So no peer keeps
or brings back what was forgotten, and after that day nothing at all is left of it. `seal` makes them.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from mesh.keys.identity import verify_signature

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
TAG_BYTES: Final = 16
SIGNATURE_BYTES: Final = 64
FILL_BYTES: Final = 1_024
CONTENT_BYTES_MAX: Final = 24 << 10
SEALED_BYTES_MAX: Final = NONCE_BYTES + CONTENT_BYTES_MAX + FILL_BYTES + TAG_BYTES
DAY_MAX: Final = 1 << 20
NUMBER_MAX: Final = 1 << 53
DAYS_AHEAD: Final = 1  # by which clocks of members differ at most
_NAME: Final = b"e"
_PURPOSE: Final = b"tianmesh entity 1"

Public: TypeAlias = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]


class SealedRow(msgspec.Struct, frozen=True, array_like=True):
    """The value of a row; `is_row` tells whether its owner wrote it."""

    number: Annotated[int, Meta(ge=1, le=NUMBER_MAX)]  # of the change, which grows
    until_day: Annotated[int, Meta(ge=0, le=DAY_MAX)]  # the last one, since the epoch, on which it is kept
    sealed: Annotated[bytes, Meta(max_length=SEALED_BYTES_MAX)]  # b"" of what was forgotten
    signature: Annotated[bytes, Meta(min_length=SIGNATURE_BYTES, max_length=SIGNATURE_BYTES)]

    @property
    def is_forgotten(self) -> bool:
        return not self.sealed


class RowPlace(NamedTuple):
    """A row and its place."""

    public: bytes
    row: SealedRow


def slot_of_key(public: bytes, slot_count: int) -> int:
    """Return the slot of an entity: that of the digest of its name."""
    digest = blake2b(public, digest_size=8, person=b"entities").digest()
    return int.from_bytes(digest, "big") % slot_count


def name_of(public: bytes) -> bytes:
    """Return the name of a row in its slot."""
    return _NAME + public


def key_in_name(name: bytes) -> bytes | None:
    """Return the public key in the name of a row; None when it is no such name."""
    return name[1:] if len(name) == 1 + KEY_BYTES and name[:1] == _NAME else None


def row_bytes(row: SealedRow) -> bytes:
    return _encode(row)


def row_in(value: bytes) -> SealedRow:
    """Read a row, from any writer.

    Raises:
      ValueError: it is none.
    """
    try:
        row = _decode(value)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no sealed row: {error}") from error
    if row_bytes(row) != value:
        raise ValueError("a sealed row that is written in another way")
    return row


def signed_part(public: bytes, row: SealedRow) -> bytes:
    """Return the bytes that the owner signs: all of the row, and its name."""
    digest = blake2b(row.sealed, digest_size=KEY_BYTES).digest()
    head = _PURPOSE + public + row.number.to_bytes(8, "big") + row.until_day.to_bytes(4, "big")
    return head + (b"\0" if row.is_forgotten else b"\1") + digest


def is_row(public: bytes, row: SealedRow) -> bool:
    """Has the owner of this key written this row?"""
    return verify_signature(public, signed_part(public, row), row.signature)


def is_of_its_time(row: SealedRow, today: int, days_max: int) -> bool:
    """May a row be kept today? Args: days_max: as far in the future its last day may be."""
    return today <= row.until_day <= today + days_max + DAYS_AHEAD


def joined(one: SealedRow, other: SealedRow) -> SealedRow:
    """Return the one of two versions of a row that counts."""
    return max(one, other, key=_order)


def _order(row: SealedRow) -> tuple[bool, int, int, bytes, bytes]:
    return row.is_forgotten, row.number, row.until_day, row.sealed, row.signature


def join(one: bytes, other: bytes) -> bytes:
    """Join two values of one name: see `handover.item_store`. ValueError for bytes that are none."""
    return row_bytes(joined(row_in(one), row_in(other)))


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(SealedRow).decode
