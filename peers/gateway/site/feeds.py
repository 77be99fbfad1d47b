"""Feeds: the newest pages of a search as RSS 2.0, and the description that lets a browser search here.

Texts are those of pages on the web: what XML does not have becomes U+FFFD, the rest is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Final
from xml.sax.saxutils import escape

from peers.gateway.model.messages import FoundPage
from peers.gateway.site.pages import Reader, Wish

# Of XML 1.0, 2.2: all other characters are allowed.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def rss(reader: Reader, wish: Wish, hits: Iterable[FoundPage], base: str) -> str:
    """The pages that a search has found.

    Args:
      base: scheme and authority of this gateway.
    """
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<rss version="2.0"><channel>',
            _element("title", f"{wish.query} · {reader.say('name')}"),
            _element("link", base + wish.link(reader)),
            _element("description", reader.say("results_of", query=wish.query)),
            _element("language", reader.say("html_lang")),
            *(line for hit in hits for line in _item(hit)),
            "</channel></rss>\n",
        ]
    )


def opensearch_description(reader: Reader, base: str) -> str:
    """An OpenSearch 1.1 description of this gateway."""
    template = escape(f"{base}/search?q={{searchTerms}}", _QUOTES)
    icon = escape(f"{base}/favicon.ico")
    return "\n".join(
        [
            '<?xml version="1.0" encoding="utf-8"?>',
            '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">',
            _element("ShortName", "Tianmesh"),
            _element("Description", reader.say("tagline")),
            "<InputEncoding>UTF-8</InputEncoding>",
            f'<Image type="image/svg+xml">{icon}</Image>',
            f'<Url type="text/html" template="{template}"/>',
            "</OpenSearchDescription>\n",
        ]
    )


_QUOTES: Final = {'"': "&quot;"}


def _item(hit: FoundPage) -> Iterator[str]:
    yield "<item>"
    yield _element("title", hit.title.strip() or hit.url)
    yield _element("link", hit.url)
    yield _element("guid", hit.url)
    yield _element("description", hit.snippet)
    day = _rfc_822(hit.date if hit.date > 0 else hit.fetched_at)
    if day:
        yield _element("pubDate", day)
    yield "</item>"


def _rfc_822(seconds: float) -> str:
    """Return a time in the form of RFC 822; empty for a number that is no time."""
    try:
        return format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True) if seconds > 0 else ""
    except (ValueError, OverflowError, OSError):
        return ""


def _element(name: str, text: str) -> str:
    return f"<{name}>{escape(_NOT_XML.sub(chr(0xFFFD), text))}</{name}>"
