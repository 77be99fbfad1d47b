"""What is kept of a page: its content, what speaks for showing it, and as what it was named.

Rows join by the greatest, as bytes: the latest version, then what was said of it last. A version may get
another content without a visit, as it is taken down or read anew by a later analysis: that is counted.
"""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

from mesh.stamp import Stamp
from mesh.urls import fingerprint
from peers.engine.document import Document, content_digest

STANDING_BYTES: Final = 4
_VERSION: Final = Struct(">IdHI")  # visit, time, flips, namings
_REST: Final = Struct(f">IQ{STANDING_BYTES}s")  # copies + 1, content, standing
VERSION_BYTES: Final = _VERSION.size
_ROW_BYTES: Final = VERSION_BYTES + _REST.size
_FLIPS_MAX: Final = (1 << 16) - 1
_CHARS_MAX: Final = (1 << 16) - 1


class ContentRow(NamedTuple):
    """What is known of a page."""

    stamp: Stamp
    flips: int  # how often its content has changed without another visit
    namings: int  # how often it was named since
    n_copies: int  # as it was named last, see `peers.engine.copies`
    content: int  # digest; 0 for nothing that could have copies
    standing: bytes  # see `standing_of`
    canonical: bytes  # the page that it says is shown for it, perhaps itself; b"" when it says nothing

    def encode(self) -> bytes:
        visit, fetched_at = self.stamp
        head = _VERSION.pack(visit, fetched_at, self.flips, self.namings)
        return head + _REST.pack(self.n_copies + 1, self.content, self.standing) + self.canonical

    def named(self, n_copies: int) -> ContentRow:
        return self._replace(namings=self.namings + 1, n_copies=n_copies)


def row_in(value: bytes) -> ContentRow:
    """Read a row. ValueError when it is none."""
    canonical = value[_ROW_BYTES:]
    if len(value) < _ROW_BYTES or len(canonical) not in (0, 16):
        raise ValueError("no row of a page's content")
    visit, fetched_at, flips, namings = _VERSION.unpack_from(value)
    copies, content, standing = _REST.unpack_from(value, VERSION_BYTES)
    if not 0.0 <= fetched_at < 1e12 or content >= 1 << 63 or copies >= 1 << 31:
        raise ValueError("a row of a page's content that nobody wrote")
    return ContentRow(Stamp(visit, fetched_at), flips, namings, copies - 1, content, standing, canonical)


def join(one: bytes, other: bytes) -> bytes:
    """Join two values of a row: see `handover.item_store`. ValueError for what is none."""
    row_in(one), row_in(other)
    return max(one, other)


def version_in(value: bytes) -> bytes:
    """Return by what rows of one page are ordered: the greatest is the latest."""
    return value[:VERSION_BYTES]


def row_after(before: ContentRow | None, stamp: Stamp, document: Document | None) -> ContentRow | None:
    """Return what is known of a page from now on; None when that is what was known.

    Args:
      document: what is found of it; None for nothing.
    """
    content = 0 if document is None else content_digest(document)
    if before is None:
        return None if document is None or not content else _first_row(stamp, document, content)
    if stamp < before.stamp or (stamp == before.stamp and content == before.content):
        return None
    flips = min(before.flips + 1, _FLIPS_MAX) if stamp == before.stamp else 0
    if document is None or not content:
        return ContentRow(stamp, flips, 0, 0, 0, bytes(STANDING_BYTES), b"")
    row = _first_row(stamp, document, content)._replace(flips=flips)
    is_same = content == before.content
    return row._replace(namings=before.namings, n_copies=before.n_copies) if is_same else row


def _first_row(stamp: Stamp, document: Document, content: int) -> ContentRow:
    canonical = fingerprint(document.canonical) if document.canonical else b""
    return ContentRow(stamp, 0, 0, 0, content, standing_of(document), canonical)


def standing_of(document: Document) -> bytes:
    """Return what speaks for showing a page rather than its copies: the least does.

    That other hosts link to it (in powers of two), a short address, and https.
    """
    scheme, _, rest = document.url.partition("://")
    linked = min(max(document.linking_hosts, 0).bit_length(), 255)
    is_plain = scheme != "https"
    return bytes((255 - linked,)) + min(len(rest), _CHARS_MAX).to_bytes(2, "big") + bytes((is_plain,))
