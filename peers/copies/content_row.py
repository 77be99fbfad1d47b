"""The row that is kept of a page: its content, the reasons for showing it, and the role it was named for.

Rows join by the greatest, as bytes: the latest version, then what was said of it last. A version may get
another content without a visit, as it is taken down or read anew by a later analysis: that is counted.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from struct import Struct
from typing import Final, NamedTuple

from mesh.domains import registrable_domain
from mesh.stamp import Stamp
from mesh.urls import fingerprint, host_of
from peers.engine.pages.document import Document, content_digest

STANDING_BYTES: Final = 4
DOMAIN_BYTES: Final = 16
NO_DOMAIN: Final = bytes(DOMAIN_BYTES)  # of a row without content
FIRST_S_MAX: Final = (1 << 32) - 1
_VERSION: Final = Struct(">IdHI")  # visit, time, flips, namings
# Copies + 1, content, standing, first seen, domain.
_REST: Final = Struct(f">IQ{STANDING_BYTES}sI{DOMAIN_BYTES}s")
VERSION_BYTES: Final = _VERSION.size
_ROW_BYTES: Final = VERSION_BYTES + _REST.size
_FLIPS_MAX: Final = (1 << 16) - 1
_CHARS_MAX: Final = (1 << 15) - 1

# Primary subtags (ISO 639-1) that addresses name widely. Not those that are words, or more often a country,
# as `is`, `my`, `ca` and `uk`.
_WIDELY_NAMED: Final = """
ar az bg bn bs cs da de el en es et eu fa fi fr gl he hi hr hu hy id it ja ka kk ko lt lv mk mn ms nl no pl
pt ro ru sk sl sq sr sv sw ta te th tr ur uz vi zh
"""
_LANGUAGES: Final = frozenset(_WIDELY_NAMED.split())
# Other subtags of these, and countries by which sites name them.
_SAME: Final = {"nb": "no", "nn": "no", "iw": "he", "cn": "zh", "tw": "zh", "jp": "ja", "kr": "ko"}
_TAG: Final = "([a-z]{2})(?:[-_](?:hans|hant|latn|cyrl))?(?:[-_](?:[a-z]{2}|[0-9]{3}))?"  # RFC 5646, 2.1
_NAMED: Final = re.compile(
    rf"/{_TAG}(?=[/.?]|$)"  # /ko/, /ko.html, http://ko.site.test/
    rf"|[._]{_TAG}(?=\.)"  # docs.ko.site.test, index.ko.html, index_ko.html; x.pl is a program
    rf"|\.html?\.{_TAG}(?=\?|$)"  # index.html.ko, as Apache negotiates
    rf"|[?&;](?:lang|language|locale|hl|lng|uselang|setlang)={_TAG}(?=[&;]|$)",
    re.IGNORECASE,
)


class ContentRow(NamedTuple):
    """All that is known of a page."""

    stamp: Stamp
    flips: int  # how often its content has changed without another visit
    namings: int  # how often it was named since
    n_copies: int  # as it was named last, see `peers.engine.segments.live_segment`
    content: int  # digest; 0 for nothing that could have copies
    standing: bytes  # see `standing_of`
    canonical: bytes  # the page that it says is shown for it, perhaps itself; b"" when it says nothing
    first_s: int = 0  # seconds since the epoch, when it was first seen with this content
    domain: bytes = NO_DOMAIN  # see `domain_of`

    def encode(self) -> bytes:
        visit, fetched_at = self.stamp
        head = _VERSION.pack(visit, fetched_at, self.flips, self.namings)
        rest = self.n_copies + 1, self.content, self.standing, self.first_s, self.domain
        return head + _REST.pack(*rest) + self.canonical

    def named(self, n_copies: int) -> ContentRow:
        return self._replace(namings=self.namings + 1, n_copies=n_copies)


def row_in(value: bytes) -> ContentRow:
    """Read a row. ValueError when it is none."""
    canonical = value[_ROW_BYTES:]
    if len(value) < _ROW_BYTES or len(canonical) not in (0, 16):
        raise ValueError("no row of a page's content")
    visit, fetched_at, flips, namings = _VERSION.unpack_from(value)
    copies, content, standing, first_s, domain = _REST.unpack_from(value, VERSION_BYTES)
    if not 0.0 <= fetched_at < 1e12 or content >= 1 << 63 or copies >= 1 << 31:
        raise ValueError("a row of a page's content that nobody wrote")
    stamp = Stamp(visit, fetched_at)
    return ContentRow(stamp, flips, namings, copies - 1, content, standing, canonical, first_s, domain)


def join(one: bytes, other: bytes) -> bytes:
    """Join two values of a row: see `handover.item_store`. ValueError for bytes that are no row."""
    row_in(one), row_in(other)
    return max(one, other)


def version_in(value: bytes) -> bytes:
    """Return the part by which rows of one page are ordered: the greatest is the latest."""
    return value[:VERSION_BYTES]


def row_after(before: ContentRow | None, stamp: Stamp, document: Document | None) -> ContentRow | None:
    """Return the row of a page from now on; None when that is the row before.

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
    if content != before.content:
        return row
    first_s = min(before.first_s, row.first_s)
    return row._replace(namings=before.namings, n_copies=before.n_copies, first_s=first_s)


def _first_row(stamp: Stamp, document: Document, content: int) -> ContentRow:
    canonical = fingerprint(document.canonical) if document.canonical else b""
    # A file may say of a page what date it likes: what the mesh has seen itself comes before.
    first_s = min(int(stamp.fetched_at), FIRST_S_MAX) if stamp.visit else FIRST_S_MAX
    domain = domain_of(document.url)
    return ContentRow(stamp, 0, 0, 0, content, standing_of(document), canonical, first_s, domain)


def domain_of(url: str) -> bytes:
    """Return a digest of the registrable domain of a canonical URL, to which nobody finds another domain."""
    return blake2b(registrable_domain(host_of(url)).encode(), digest_size=DOMAIN_BYTES).digest()


def standing_of(document: Document) -> bytes:
    """Return the reasons for showing a page rather than its copies, as bytes: the least are the best.

    That other domains link to it (in powers of two), that its address names no other language than that of
    its text, a short address, and https.
    """
    scheme, _, rest = document.url.partition("://")
    linked = min(max(document.linking_hosts, 0).bit_length(), 255)
    is_misplaced = document.language != "" and names_another_language(document.url, document.language)
    size = 2 * min(len(rest), _CHARS_MAX) + (scheme != "https")
    return bytes((255 - linked, is_misplaced)) + size.to_bytes(2, "big")


def standing_between(standing: bytes) -> tuple[bytes, bytes]:
    """Return the parts that count between domains: before, and after, which of them was seen first.

    The languages of addresses do not: nobody is to gain by them what is another domain's.
    """
    return standing[:1], standing[2:]


def names_another_language(url: str, language: str) -> bool:
    """Tell whether a canonical URL names languages, and not the one that its page is in.

    In a directory, a name of a file, a label of the host or a parameter. The domain's own name may look like
    one; it is the same for all pages that are compared by this.

    Args:
      language: primary subtag.
    """
    found = _NAMED.findall(url)
    if not found:
        return False
    tags = ["".join(each).lower() for each in found]
    named = _LANGUAGES.intersection([_SAME.get(tag, tag) for tag in tags])
    return bool(named) and _SAME.get(language, language) not in named
