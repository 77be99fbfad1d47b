"""The submissions of a registrable domain on one day, at the slot of the domain: its quota in the mesh.

    "d" digest of the domain(16) day(2) -> codes, in their order, of those that were granted

The row joins by union. One peer grants at a time, so only a mesh that was parted can have granted more.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from peers.policy.submission_rules import DOMAIN_DAY_MAX
from peers.submissions.verdict import Code

DIGEST_BYTES: Final = 16
NAME_BYTES: Final = 1 + DIGEST_BYTES + 2
DAYS_KEPT: Final = 2  # today and the day before, for clocks that are behind
_NAME: Final = b"d"

Codes: TypeAlias = Annotated[tuple[Code, ...], Meta(max_length=DOMAIN_DAY_MAX)]


def domain_digest(domain: str) -> bytes:
    return blake2b(domain.encode(), digest_size=DIGEST_BYTES, person=b"submissions").digest()


def slot_of_domain(digest: bytes, slot_count: int) -> int:
    """Return the slot that has the quota of a domain, by its digest."""
    return int.from_bytes(digest[:8], "big") % slot_count


def name_of_day(digest: bytes, day: int) -> bytes:
    """Return the name of a row. Args: day: since the epoch, modulo 65,536."""
    return _NAME + digest + (day & 0xFFFF).to_bytes(2, "big")


def day_in_name(name: bytes) -> tuple[bytes, int] | None:
    """Return digest and day in the name of a row; None when it is the name of another kind of row."""
    if len(name) != NAME_BYTES or name[:1] != _NAME:
        return None
    return name[1 : 1 + DIGEST_BYTES], int.from_bytes(name[1 + DIGEST_BYTES :], "big")


def codes_in(value: bytes) -> tuple[bytes, ...]:
    """Read the codes of a row.

    Raises:
      ValueError: these are none.
    """
    try:
        codes = _decode(value)
    except msgspec.MsgspecError as error:
        raise ValueError(f"no codes: {error}") from error
    if any(a >= b for a, b in pairwise(codes)):
        raise ValueError("codes out of order")
    return codes


def codes_bytes(codes: set[bytes]) -> bytes:
    return _encode(tuple(sorted(codes)[:DOMAIN_DAY_MAX]))


def is_kept(day: int, today: int) -> bool:
    """Is a row of this day still needed?"""
    return (today - day) & 0xFFFF < DAYS_KEPT or (day - today) & 0xFFFF <= 1


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Codes).decode
