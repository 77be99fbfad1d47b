"""The stored copy of a page, made ready to be shown. Its bytes are hostile and stay so.

What leaves here is text; that it can do no harm is up to the page it is shown in (`templates/stored.html`
and the policy it is sent with): a frame without scripts, forms, network or an origin.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from mesh.errors import CorruptionError
from mesh.urls import canonical
from peers.crawler.charset import decode_text
from peers.crawler.decoding import TooLarge, Undecodable, decode
from peers.storage.warc import HttpResponse, parse_response, read_records

BODY_BYTES_MAX: Final = 32 << 20  # decoded; more than the fetcher takes
SHOWN_CHARS_MAX: Final = 4_000_000  # the longest page of the documentation sites has 3.5 million
BASE_SEARCHED_CHARS: Final = 65_536  # a <base> stands in the head

_BASE: Final = re.compile(r"<base\s[^>]{0,2000}?href\s*=\s*[\"']?\s*([^\s\"'>]{1,2083})", re.IGNORECASE)


class Kind(Enum):
    """How it can be shown."""

    HTML = "html"
    TEXT = "text"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A stored copy."""

    kind: Kind
    media_type: str  # as the server said, lower case, without parameters; may be anything
    text: str  # decoded; empty for OTHER
    is_cut: bool  # longer than SHOWN_CHARS_MAX


def stored_page(url: str, records: bytes) -> StoredPage:
    """Find the answer for `url` in its packed records and decode it.

    Raises:
      CorruptionError: there is none, or it is not sound.
    """
    record = next((r for r in read_records(records) if r.kind == "response" and r.url == url), None)
    if record is None:
        raise CorruptionError(f"the records of {url} have no response for it")
    response = parse_response(record)
    content_type = response.header("content-type") or ""
    media_type = content_type.partition(";")[0].strip().lower()
    kind = _kind_of(media_type)
    if kind is Kind.OTHER:
        return StoredPage(kind, media_type, "", False)
    text = decode_text(_body(response), content_type).text
    return StoredPage(kind, media_type, text[:SHOWN_CHARS_MAX], len(text) > SHOWN_CHARS_MAX)


def framed_html(url: str, page: StoredPage) -> str:
    """The document for the frame: links open the live web in a new tab, relative to where they came from."""
    base = _BASE.search(page.text[:BASE_SEARCHED_CHARS]) if page.kind is Kind.HTML else None
    href = (base and canonical(html.unescape(base[1]), url)) or url
    head = f'<!doctype html><base href="{html.escape(href)}" target="_blank">'
    if page.kind is Kind.HTML:
        return head + page.text
    return f'{head}<pre style="white-space: pre-wrap">{html.escape(page.text)}</pre>'


def _kind_of(media_type: str) -> Kind:
    if media_type in ("text/html", "application/xhtml+xml", ""):
        return Kind.HTML
    if media_type.startswith("text/") or media_type in ("application/json", "application/xml"):
        return Kind.TEXT
    return Kind.OTHER


def _body(response: HttpResponse) -> bytes:
    """The body without its content coding; as it is where the coding was already undone."""
    try:
        return decode(response.body, response.header("content-encoding") or "", BODY_BYTES_MAX).body
    except Undecodable:
        return response.body
    except TooLarge as error:
        raise CorruptionError(f"a stored page is too large: {error}") from error
