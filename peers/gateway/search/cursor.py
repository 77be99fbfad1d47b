"""Where a page of results ended, so that the next one goes on from there, however far down.

A cursor is opaque to clients and the same for every gateway. It names the last hit shown, not a number of
hits, so pages neither repeat nor skip any while the index stays as it is, and asking for the thousandth page
costs what the first one does. It is not signed: whoever makes one up sees another part of the same list.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as Base64Error
from hashlib import blake2b
from math import isfinite
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.urls import URL_CHARS_MAX
from peers.index.wire_messages import HITS_MAX

CURSOR_CHARS_MAX: Final = 9_000  # of a URL of 2,083 characters of three bytes each
_DIGEST_BYTES: Final = 8


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The place behind which the next page begins."""

    digest: bytes  # of the query that it belongs to, see `digest_of`
    step: Annotated[int, Meta(ge=0, le=3)]  # of `relaxation.steps_of`: the one that found enough
    is_head: bool  # among the hits that are folded; else behind them, by score
    score: float
    url: Annotated[str, Meta(max_length=URL_CHARS_MAX)]
    rank: Annotated[int, Meta(ge=0, le=HITS_MAX)] = 0  # in the head: results up to it

    def encode(self) -> str:
        """Return it as it stands in links."""
        return urlsafe_b64encode(msgspec.msgpack.encode(self)).rstrip(b"=").decode()


def decode_cursor(text: str, digest: bytes) -> Cursor | None:
    """Read a cursor; None when it is none, or not of the query with that digest."""
    if len(text) > CURSOR_CHARS_MAX or not text.isascii():
        return None
    try:
        raw = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        cursor = _decode(raw)
    except (Base64Error, ValueError, RecursionError):
        return None
    return cursor if cursor.digest == digest and isfinite(cursor.score) else None


def digest_of(text: str, order: str) -> bytes:
    """Return a digest that tells the cursors of one query from those of another."""
    return blake2b(f"{order}\0{text}".encode(errors="surrogatepass"), digest_size=_DIGEST_BYTES).digest()


_decode = msgspec.msgpack.Decoder(Cursor).decode
