"""Feeds of the newest pages of a search (RSS 2.0, Atom), and the description that lets a browser search here.

Texts are those of pages on the web: what XML does not have becomes U+FFFD, the rest is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final
from xml.sax.saxutils import escape

from peers.gateway.model.messages import FoundPage, PagesFound
from peers.gateway.model.time_words import utc
from peers.gateway.site.pages import HITS_PER_PAGE, Reader, Wish

OPENSEARCH: Final = "http://a9.com/-/spec/opensearch/1.1/"
YACY: Final = "http://www.yacy.net/"

# Of XML 1.0, 2.2: all other characters are allowed. These are named: a pattern of all but those that are
# allowed takes 7 ms to compile.
_NOT_XML: Final = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def rss(
    reader: Reader, wish: Wish, found: PagesFound, base: str, *, start: int = 0, per_page: int = HITS_PER_PAGE
) -> str:
    """The pages that a search has found, with the elements by which OpenSearch 1.1 pages, and YaCy's.

    Args:
      base: scheme and authority of this gateway.
      start: hits that were left out.
      per_page: hits that were asked for.
    """
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<rss version="2.0" xmlns:opensearch="{OPENSEARCH}" xmlns:yacy="{YACY}"><channel>',
            element("title", f"{wish.query} · {reader.say('name')}"),
            element("link", base + wish.link(reader)),
            element("description", reader.say("results_of", query=wish.query)),
            element("language", reader.say("html_lang")),
            element("opensearch:totalResults", str(found.total)),
            element("opensearch:startIndex", str(start)),
            element("opensearch:itemsPerPage", str(per_page)),
            f'<opensearch:Query role="request" searchTerms="{attribute(wish.query)}"/>',
            *(line for hit in found.hits[:per_page] for line in _item(hit)),
            "</channel></rss>\n",
        ]
    )


def atom(reader: Reader, wish: Wish, hits: Sequence[FoundPage], base: str) -> str:
    """The same as Atom, with all elements that RFC 4287, 4.1.1 and 4.1.2, requires.

    Args:
      base: scheme and authority of this gateway.
    """
    place = escape(base + wish.link(reader), _QUOTES)
    updated = max((rfc_3339(moment_of(hit)) for hit in hits), default=rfc_3339(0.0))
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="{reader.say("html_lang")}">',
            element("title", f"{wish.query} · {reader.say('name')}"),
            f'<link rel="alternate" type="text/html" href="{place}"/>',
            element("id", base + wish.link(reader)),
            element("updated", updated),
            f"<author>{element('name', reader.say('name'))}</author>",
            *(line for hit in hits for line in _entry(hit)),
            "</feed>\n",
        ]
    )


def opensearch_description(reader: Reader, base: str) -> str:
    """An OpenSearch 1.1 description of this gateway."""
    template = escape(f"{base}/search?q={{searchTerms}}", _QUOTES)
    paged = escape(f"{base}/api/search?q={{searchTerms}}&k={{count?}}&offset={{startIndex?}}", _QUOTES)
    suggested = escape(f"{base}/api/suggest?q={{searchTerms}}", _QUOTES)
    icon = escape(f"{base}/favicon.ico")
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            f'<OpenSearchDescription xmlns="{OPENSEARCH}">',
            element("ShortName", "Tianmesh"),
            element("Description", reader.say("tagline")),
            "<InputEncoding>UTF-8</InputEncoding>",
            f'<Image type="image/svg+xml">{icon}</Image>',
            f'<Url type="text/html" template="{template}"/>',
            f'<Url type="application/rss+xml" template="{template}&amp;format=rss"/>',
            f'<Url type="application/atom+xml" template="{template}&amp;format=atom"/>',
            f'<Url type="application/json" indexOffset="0" template="{paged}"/>',
            f'<Url type="application/x-suggestions+json" rel="suggestions" template="{suggested}"/>',
            "</OpenSearchDescription>\n",
        ]
    )


def yacy_parts(hit: FoundPage) -> dict[str, str]:
    """Return the parts of an address as YaCy names them: host, path, and the last part of the latter."""
    path = hit.url.partition("?")[0].partition("://")[2].partition("/")[2]
    path = f"/{path}"
    return {"host": hit.host, "path": path, "file": path.rpartition("/")[2]}


_QUOTES: Final = {'"': "&quot;"}


def _item(hit: FoundPage) -> Iterator[str]:
    yield "<item>"
    yield element("title", hit.title.strip() or hit.url)
    yield element("link", hit.url)
    yield element("guid", hit.url)
    yield element("description", hit.snippet)
    day = rfc_822(moment_of(hit))
    if day:
        yield element("pubDate", day)
    for name, part in yacy_parts(hit).items():
        yield element(f"yacy:{name}", part)
    yield "</item>"


def _entry(hit: FoundPage) -> Iterator[str]:
    yield "<entry>"
    yield element("title", hit.title.strip() or hit.url)
    yield f'<link href="{attribute(hit.url)}"/>'
    yield element("id", hit.url)
    yield element("updated", rfc_3339(moment_of(hit)))
    yield element("summary", hit.snippet)
    yield "</entry>"


def moment_of(hit: FoundPage) -> float:
    """When a page was last changed, else when it was fetched; seconds since the epoch."""
    return hit.date if hit.date > 0 else hit.fetched_at


def rfc_3339(seconds: float) -> str:
    """Return a time in the form of RFC 3339; the beginning of 1970 for a number that is no time."""
    return f"{utc(seconds) or datetime.fromtimestamp(0, UTC):%Y-%m-%dT%H:%M:%SZ}"


def rfc_822(seconds: float) -> str:
    """Return a time in the form of RFC 822; empty for a number that is no time."""
    try:
        return format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True) if seconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def element(name: str, text: str) -> str:
    return f"<{name}>{escape(_NOT_XML.sub(chr(0xFFFD), text))}</{name}>"


def attribute(text: str) -> str:
    return escape(_NOT_XML.sub(chr(0xFFFD), text), _QUOTES)
