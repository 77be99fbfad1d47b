"""The stored copy of a page, made ready to be shown. Its bytes are hostile and stay so.

What leaves here is text; that it can do no harm is up to the page it is shown in (`templates/stored.html`
and the policy it is sent with): a frame without scripts, forms, network or an origin.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final
from urllib.parse import quote, unquote

import msgspec

from mesh.errors import CorruptionError
from mesh.urls import canonical, canonical_links
from peers.crawler.fetching.content_encoding import TooLarge, Undecodable, decode
from peers.crawler.model.web_request import ROBOTS_TAG
from peers.crawler.parsing.charset import decode_text
from peers.crawler.parsing.parser import robots_wish
from peers.crawler.parsing.parser_port import StoredText
from peers.documents.content import Lack
from peers.documents.formats import TEXT_MEDIA_TYPES, format_of, media_type_of, named_media_type
from peers.storage.archive.warc import ANSWERS, HttpResponse, parse_response, read_records
from peers.storage.wire_messages import PAGES_CHECKED_MAX
from peers.text.keywords import keywords_among, weighted_words

BODY_BYTES_MAX: Final = 32 << 20  # decoded; more than the fetcher takes
SHOWN_CHARS_MAX: Final = 4_000_000  # the longest page of the documentation sites has 3.5 million
WORDS_MAX: Final = 192  # whose pages are counted at once, beside those of a query
FILE_NAME_CHARS_MAX: Final = 100
LINKS_MAX: Final = 10_000  # of a page that lead to stored versions; further ones lead to the live web

_MEDIA_TYPE: Final = re.compile(r"[a-z]+/[a-z0-9.+-]{1,100}")


class DisplayKind(Enum):
    """How it can be shown."""

    HTML = "html"
    TEXT = "text"
    DOCUMENT = "document"  # of another format: its text is, and the file can be had
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class PageSnapshot:
    """A stored copy."""

    kind: DisplayKind
    # Of a document what it is, else as the server said, lower case, without parameters: may be anything.
    media_type: str
    text: str  # decoded; empty for OTHER, and for DOCUMENT until it was read, see `with_said`
    is_cut: bool  # longer than SHOWN_CHARS_MAX
    body: bytes = b""  # without content coding
    is_partial: bool = False  # the archive has not the whole body
    lack: Lack | None = None  # why a document has no text
    is_barred: bool = False  # its site asks that no copy be shown; of HTML see `stored_reader`
    keywords: tuple[str, ...] = ()  # of what was read elsewhere, the weightiest first
    words: tuple[tuple[str, float], ...] = ()  # likewise all with their weights, at most WORDS_MAX
    base: str = ""  # of what was read elsewhere: the URL that its links are relative to; "" for its own
    language: str = ""  # likewise a primary subtag
    title: str = ""  # likewise
    main_text: str = ""  # likewise, without menus and the like; at most SHOWN_CHARS_MAX
    published: str = ""  # likewise ISO 8601, as the page says
    icon: str = ""  # likewise the URL of the icon that it names for its site

    @property
    def is_document(self) -> bool:
        return self.kind is DisplayKind.DOCUMENT


class KeywordsJson(msgspec.Struct, frozen=True):
    """The JSON of /api/keywords."""

    url: str
    is_stored: bool  # the mesh has a copy
    keywords: tuple[str, ...] = ()  # the weightiest first; none where no copy may be shown


def stored_page(url: str, records: bytes) -> PageSnapshot:
    """Find the answer for `url` in its packed records and decode it.

    Raises:
      CorruptionError: there is none, or it is not sound.
    """
    record = next((r for r in read_records(records) if r.kind in ANSWERS and r.url == url), None)
    if record is None:
        raise CorruptionError(f"the records of {url} have no response for it")
    response = parse_response(record)
    body, content_type = _body(response), response.header("content-type") or ""
    media_type = named_media_type(content_type)
    is_partial = record.headers.get("warc-truncated") == "length"
    document_format = format_of(body, media_type)
    if document_format is not None:
        media_type = media_type_of(document_format, media_type, body)
    kind = DisplayKind.DOCUMENT if document_format is not None else _kind_of(media_type)
    wish = robots_wish(response.header_values(ROBOTS_TAG))
    if wish.is_noarchive or wish.is_nosnippet:
        return PageSnapshot(kind, media_type, "", False, is_barred=True)
    if kind in (DisplayKind.DOCUMENT, DisplayKind.OTHER):
        return PageSnapshot(kind, media_type, "", False, body, is_partial)
    text = decode_text(body, content_type).text
    is_cut = len(text) > SHOWN_CHARS_MAX
    return PageSnapshot(kind, media_type, text[:SHOWN_CHARS_MAX], is_cut, body, is_partial)


def barred(page: PageSnapshot) -> PageSnapshot:
    """A copy that is not to be shown, without its content."""
    return PageSnapshot(page.kind, page.media_type, "", False, is_barred=True)


def with_said(page: PageSnapshot, said: StoredText) -> PageSnapshot:
    """A copy with the results of reading it: its keywords and its base, and of a document the text, too."""
    words = weighted_words(said.title, "", said.text)
    base = canonical(said.base) or "" if said.base else ""
    page = replace(
        page,
        keywords=tuple(word for word, _ in keywords_among(words)),
        words=words[:WORDS_MAX],
        base=base,
        language=said.language,
        title=said.title,
        main_text=said.text[:SHOWN_CHARS_MAX],
        published=said.published,
        icon=said.icon,
    )
    if not page.is_document:
        return page
    is_cut = len(said.text) > SHOWN_CHARS_MAX
    return replace(page, text=page.main_text, is_cut=is_cut, lack=said.lack)


def file_headers(url: str, page: PageSnapshot) -> dict[str, str]:
    """Headers with which the body of a stored page does no harm: no browser shows it, but for plain text.

    Source: RFC 6266, 4 and 5; RFC 8187, 3.2.
    """
    name = unquote(url.partition("?")[0].rpartition("/")[2])[:FILE_NAME_CHARS_MAX] or "page"
    plain = "".join(each if each.isascii() and (each.isalnum() or each in "._- ") else "_" for each in name)
    is_known = page.kind is DisplayKind.DOCUMENT and _MEDIA_TYPE.fullmatch(page.media_type) is not None
    media_type = page.media_type if is_known else "application/octet-stream"
    disposition = "attachment"
    if page.kind is DisplayKind.TEXT:
        media_type, disposition = "text/plain", "inline"
    names = f"filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"
    return {"Content-Type": media_type, "Content-Disposition": f"{disposition}; {names}"}


def links_in(url: str, page: PageSnapshot) -> dict[str, str]:
    """Return links of a page of HTML to others, by how they are written: the first ones."""
    from peers.gateway.site.marked_snapshot import hrefs_in

    hrefs = hrefs_in(page.text, PAGES_CHECKED_MAX)
    targets = zip(hrefs, canonical_links(page.base or url, hrefs), strict=True)
    return {href: target for href, target in targets if target is not None and target != url}


def linked_within(url: str, page: PageSnapshot, ways: str) -> PageSnapshot:
    """Return a page of HTML whose links lead to stored versions of the pages, as `/at/20261125/` has them.

    Links within the page, and those to nothing that is crawled, stay as they are.

    Args:
      ways: what stands before the URL of a page.
    """
    from peers.gateway.site.marked_snapshot import hrefs_in, with_hrefs

    hrefs = [each for each in hrefs_in(page.text, LINKS_MAX) if not each.strip().startswith("#")]
    targets = zip(hrefs, canonical_links(page.base or url, hrefs), strict=True)
    written = {href: f"{ways}{target}{_fragment_of(href)}" for href, target in targets if target is not None}
    return replace(page, text=with_hrefs(page.text, written))


def _fragment_of(href: str) -> str:
    _, sign, fragment = href.partition("#")
    return f"{sign}{quote(fragment.strip(), safe='%')}"


def framed_html(url: str, page: PageSnapshot, query: str = "", stored_links: Sequence[str] = ()) -> str:
    """The document for the frame: links open the live web in a new tab, relative to where they came from.

    Args:
      query: whose words are marked.
      stored_links: as they are written, those that are marked.
    """
    head = f'<!doctype html><base href="{html.escape(page.base or url)}" target="_blank">'
    if stored_links:
        from peers.gateway.site.marked_snapshot import style_of_links

        head += style_of_links(stored_links)
    is_markup = page.kind is DisplayKind.HTML
    markup = page.text if is_markup else html.escape(page.text, quote=False)
    if query:
        from peers.gateway.site.marked_snapshot import (  # loaded with the first copy that wants it
            jumps,
            with_marks,
        )

        copy = with_marks(markup, query, page.language)
        head, markup = head + jumps(copy), copy.markup
    return head + markup if is_markup else f'{head}<pre style="white-space: pre-wrap">{markup}</pre>'


def _kind_of(media_type: str) -> DisplayKind:
    if media_type in ("text/html", "application/xhtml+xml", ""):
        return DisplayKind.HTML
    is_text = media_type.startswith("text/") or media_type in (*TEXT_MEDIA_TYPES, "application/xml")
    return DisplayKind.TEXT if is_text else DisplayKind.OTHER


def _body(response: HttpResponse) -> bytes:
    """The body without its content coding; as it is where the coding was already undone."""
    try:
        return decode(response.body, response.header("content-encoding") or "", BODY_BYTES_MAX).body
    except Undecodable:
        return response.body
    except TooLarge as error:
        raise CorruptionError(f"a stored page is too large: {error}") from error
