"""Lists of pages that sites publish for crawlers: sitemaps, their indexes, RSS and Atom feeds. Pure.

A list is no page: nobody finds it by a query. What it lists are links like any other, so the policy of the
mesh, the budgets of hosts and the traps that are known hold for them. A list is told by its content, whatever
its media type or its namespaces; only a list as plain text is believed by its name (`has_list_name`).

The process that reads it has limits of its own; how XML is read, `xml_lists` says.

Sources: https://www.sitemaps.org/protocol.html, RFC 4287 (Atom), RSS 0.9 to 2.0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, NamedTuple

from mesh.urls import canonical
from peers.crawler.fetching.content_encoding import Undecodable, decode_beginning
from peers.crawler.parsing.charset import decode_text
from peers.crawler.parsing.dates import EARLIEST_S, http_seconds_of, seconds_of
from peers.documents.formats import WIDE, begins_with

LISTED_MAX: Final = 50_000  # URLs of one list; sitemaps.org allows as many
LIST_BYTES_MAX: Final = 50 << 20  # decoded; sitemaps.org, too. The rest is not read
SNIFF_BYTES: Final = 2_048
LIST_MEDIA_TYPES: Final = (
    "application/xml",
    "text/xml",
    "application/rss+xml",
    "application/atom+xml",
    "application/rdf+xml",
)
# A list that is a gzip file is said to be any of these; so are archives, which nobody wants to read.
PACKED_MEDIA_TYPES: Final = ("application/gzip", "application/x-gzip", "application/octet-stream")

# How URLs of packed lists of files end; their servers guess the media type by that.
PACKED_LS: Final = ("/ls-lR.gz", "/ls-lR.xz", "/ls-lR.zst")
PACKED_LS_TYPES: Final = (
    *PACKED_MEDIA_TYPES,
    *("application/x-xz", "application/zstd", "application/x-zstd", "application/x-zstandard", "text/plain"),
)

_ROOT: Final = re.compile(rb"<(?:[\w.-]{1,32}:)?(?:urlset|sitemapindex|rss|feed|RDF)[\s>]")
_NAME: Final = re.compile(r"site[-_]?map|\.(?:xml|rss|atom)(?:\.gz)?$", re.IGNORECASE)
_LINE: Final = re.compile(r"\S[^\n]*")
_TEXT_LINES_MAX: Final = 4 * LISTED_MAX  # that are read of a list as plain text


def has_list_name(url: str) -> bool:
    """Tell whether a canonical URL is named as lists are: more of its answer may be read."""
    return _NAME.search(url.partition("?")[0], 8) is not None


def begins_like_list(body: bytes) -> bool:
    """Tell whether a decoded body, by its first element, is a list in XML."""
    may_be = _ROOT.search(body, 0, SNIFF_BYTES) is not None or body.startswith(WIDE)
    return may_be and begins_with(_ROOT, body)


class Listed(NamedTuple):
    """A page that a list names, and when it was last changed."""

    url: str  # canonical
    changed_s: int = 0  # when it was changed last, whole seconds; 0 when that is not told


def pages_listed(
    url: str, body: bytes, codings: str = "", content_type: str | None = None
) -> tuple[Listed, ...] | None:
    """Return the pages that a list names, in its order, once each, up to `LISTED_MAX`; None if it is none.

    Args:
      url: of the list.
      body: as it came, cut short or not: what is there is read.
      codings: that it came in; a list may be a gzip file besides.
      content_type: the response header's value.
    """
    try:
        body = decode_beginning(body, codings, LIST_BYTES_MAX).body
        if body.startswith(b"\x1f\x8b"):
            body = decode_beginning(body, "gzip", LIST_BYTES_MAX).body
    except Undecodable:
        return None
    if begins_like_list(body):
        # With the first list only: what reads XML takes 5 MB, and most processes never meet a list.
        from peers.crawler.parsing.xml_lists import entries_in_xml
        from peers.crawler.parsing.xml_markup import readable_xml

        found = entries_in_xml(url, readable_xml(body, decode_text(body, content_type)), LISTED_MAX)
        return None if found is None else tuple(_distinct(url, found))
    lines = _in_text(decode_text(body, content_type).text) if has_list_name(url) else None
    if lines is None:
        return None
    targets = (canonical(line, url) for line in lines)
    return tuple(_distinct(url, ((target, "") for target in targets if target is not None)))


def _distinct(list_url: str, entries: Iterable[tuple[str, str]]) -> Iterator[Listed]:
    known: set[str] = {list_url}
    for url, changed in entries:
        if url not in known:
            known.add(url)
            yield Listed(url, _changed_s(changed))


def _changed_s(text: str) -> int:
    """Read a date of a sitemap (W3C), or of a feed (RFC 822 or W3C); 0 for a text that is none."""
    if not text:
        return 0
    seconds = seconds_of(text) or http_seconds_of(text)
    return int(seconds) if seconds >= EARLIEST_S else 0


def _in_text(text: str) -> list[str] | None:
    """Read a list of one URL a line; None if other lines are more."""
    found: list[str] = []
    line_count = 0
    for match in islice(_LINE.finditer(text), _TEXT_LINES_MAX):
        line_count += 1
        line = match[0].rstrip()
        if line[:8].lower().startswith(("http://", "https://")) and len(line.split(None, 1)) == 1:
            found.append(line)
            if len(found) == LISTED_MAX:
                return found
    return found if 2 * len(found) > line_count else None
