"""Versions of pages that have been replaced, as documents of an index of their own; and spans of time.

A page was as a version says from when that was fetched (`since`) until the next one was (`until`), or the
page was found gone. The versions of a page have one URL, so what tells them apart in an index is that with
both times behind a space and `#`, which no canonical URL has: among others it sorts as the URL does.
"""

from __future__ import annotations

from math import inf, isfinite
from struct import Struct, error
from typing import Final, NamedTuple

from peers.engine.pages.document import Document

SPANS_MAX: Final = 1_000  # versions of one page that are searched, the newest ones
KEY_CHARS_MAX: Final = 34  # behind the URL
_times: Final = Struct(">dd")


class TimeSpan(NamedTuple):
    """A span of time, in seconds since the epoch; a moment is one that begins as it ends."""

    begin: float
    end: float

    @property
    def is_sound(self) -> bool:
        return isfinite(self.begin) and isfinite(self.end) and self.begin <= self.end


class Lifetime(NamedTuple):
    """From when to when, not included, a page was as a version says; `until` is inf for now."""

    since: float
    until: float

    def is_within(self, span: TimeSpan) -> bool:
        """Tell whether the version was there at any moment of a span."""
        return self.since <= span.end and self.until > span.begin


class PastPage(NamedTuple):
    """The versions of a page that are to be found though they have been replaced."""

    slot: int
    url: str
    lifetimes: tuple[Lifetime, ...] = ()
    texts: tuple[str, ...] = ()  # of links to the page, as of now
    documents: tuple[Document, ...] = ()  # of these versions, those that were read back


class PastDocument(Document, frozen=True, array_like=True):
    """A version that has been replaced."""

    until: float = inf  # seconds since the epoch

    @property
    def key(self) -> str:
        return past_key(self.url, Lifetime(self.fetched_at, self.until))


def past_key(url: str, lifetime: Lifetime) -> str:
    """Return the identity of a replaced version in its index, and in the answers of a search.

    The times are doubles in hexadecimal digits, the end in the last 16: so arrays of keys are read at once.
    """
    return f"{url} #{_times.pack(*lifetime).hex()}"


def read_key(key: str) -> tuple[str, Lifetime | None]:
    """Return the URL of a document, and of a replaced version when it was; None where it is no such.

    No URL has a space: whatever stands behind one, of a member that lies, is not of it.
    """
    url, _, version = key.partition(" ")
    try:
        return url, Lifetime(*_times.unpack(bytes.fromhex(version[1:]))) if version[:1] == "#" else None
    except (ValueError, error):
        return url, None


def past_document(document: Document, until: float) -> PastDocument:
    """Return a version as it is indexed once it has been replaced."""
    values = {name: getattr(document, name) for name in Document.__struct_fields__}
    return PastDocument(**values, until=until)
