"""The feed of an entity: its best and newest pages, sealed under a key that is in its secret address.

Whoever has the address reads the feed, and a gateway that is asked for it reads it for that moment. Neither
can change it: what signs its row is with its owner. The fields of the entity are not in it. Its owner ends
it by forgetting its row; then the address leads nowhere.
"""

from __future__ import annotations

from base64 import b32decode, b32encode
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.urls import URL_CHARS_MAX
from peers.entities.seal import RowReader
from peers.entities.sealed_row import CONTENT_BYTES_MAX, KEY_BYTES

ENTRIES_MAX: Final = 50
LABEL_CHARS_MAX: Final = 64
TITLE_CHARS_MAX: Final = 200
TEXT_CHARS_MAX: Final = 300
SECRET_CHARS: Final = 103  # of base 32: name and key


class FeedEntry(msgspec.Struct, frozen=True, array_like=True):
    """A page."""

    url: Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]
    title: Annotated[str, Meta(max_length=TITLE_CHARS_MAX)]
    sentence: Annotated[str, Meta(max_length=TEXT_CHARS_MAX)]
    score: int
    tone: Annotated[int, Meta(ge=-1, le=1)]
    at_s: Annotated[float, Meta(ge=0, le=1e11)]  # when the mesh fetched it


class Feed(msgspec.Struct, frozen=True, array_like=True):
    """The content of a feed's row, the newest pages first."""

    label: Annotated[str, Meta(max_length=LABEL_CHARS_MAX)]
    entries: Annotated[tuple[FeedEntry, ...], Meta(max_length=ENTRIES_MAX)]


def feed_bytes(feed: Feed) -> bytes:
    """Encode a feed, without the last entries where all are too long."""
    encoded = _encode(feed)
    while len(encoded) > CONTENT_BYTES_MAX:
        feed = Feed(feed.label, feed.entries[:-1])
        encoded = _encode(feed)
    return encoded


def feed_in(content: bytes) -> Feed:
    """Read a feed.

    Raises:
      ValueError: it is none.
    """
    try:
        return _decode(content)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"no feed: {error}") from error


def secret_of(reader: RowReader) -> str:
    """Return the secret in the address of a feed: the name of its row, and the key that opens it."""
    return b32encode(reader.public + reader.opening).decode().lower().rstrip("=")


def reader_of(secret: str) -> RowReader | None:
    """Return the reader of the feed with this secret; None where it is of none."""
    if not secret.isascii() or len(secret) != SECRET_CHARS:
        return None
    try:
        both = b32decode(secret.upper() + "=")
    except ValueError:
        return None
    return RowReader(both[:KEY_BYTES], both[KEY_BYTES:])


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Feed).decode
