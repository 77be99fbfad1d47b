"""Read the answer of a server as a page, be it HTML, text, or a document of another format. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import msgspec

from mesh.urls import FTP
from peers.crawler.model.wire_messages import ANCHOR_CHARS_MAX
from peers.crawler.parsing.charset import decode_text
from peers.crawler.parsing.language import language_of
from peers.crawler.parsing.link_lists import PACKED_LS
from peers.crawler.parsing.parser import (
    NotHtml,
    ParsedPage,
    last_segment,
    parse_page,
    resolved_links,
    robots_wish,
)
from peers.documents.content import (
    HEADINGS_CHARS_MAX,
    TEXT_CHARS_MAX,
    TITLE_CHARS_MAX,
    Content,
    Lack,
    ReadMarkup,
)
from peers.documents.formats import (
    TEXT_MEDIA_TYPES,
    UNKNOWN_MEDIA_TYPES,
    Format,
    format_of,
    media_type_of,
    named_media_type,
)
from peers.documents.reader import read_document
from peers.documents.titles import title_of
from peers.engine.pages.kinds import LISTING

# How the title of a page begins that may be a directory: of Apache and others, of Python's, of npm's serve;
# of a text that is the name of its file. In JSON nginx begins so.
INDEX_TITLES: Final = ("Index of /", "Directory listing for /", "Files within ", "ls-lR")
# IIS has its host before the path; Caddy and h5ai, without JavaScript, are known by their rows.
HOST_AND_PATH: Final = " - /"
CADDY_ROW: Final = b'<tr class="file">'
H5AI_CELL: Final = b'<td class="fb-n">'
JSON_BEGINNING: Final = b'[\r\n{ "name":"'

# Where chapters of a book and entries of a feed are: their links to each other lead nowhere on the web.
INSIDE: Final = "http://inside.invalid/"

# As `documents.reader.read_document`, or in another process.
ReadDocument: TypeAlias = Callable[[Format, bytes, ReadMarkup], Content]


class PageContent(NamedTuple):
    """The page that was read, and the content of a document."""

    page: ParsedPage
    content: Content | None = None  # of a document

    @property
    def lack(self) -> Lack | None:
        """Why a document has no text."""
        return None if self.content is None else self.content.lack


def read_page(
    url: str,
    body: bytes,
    content_type: str | None = None,
    robots_tags: Sequence[str] = (),
    read: ReadDocument = read_document,
    refresh: str = "",
    *,
    finds_ftp: bool = False,
) -> PageContent:
    """Read a page as `parse_page` does, and documents too.

    Args:
      finds_ftp: the links of pages to FTP servers are wanted as well.

    Raises:
      NotHtml: binary data of no format that is known here.
    """
    if url.startswith(FTP):
        return PageContent(_ftp_directory(url, body, content_type))
    if url.endswith(PACKED_LS):
        return PageContent(_packed_list(url, body))
    media_type = named_media_type(content_type)
    document_format = format_of(body, media_type)
    if document_format is not None:
        if document_format in (Format.XML, Format.FEED):
            # As what reads documents: with the first.
            from peers.crawler.parsing.xml_markup import readable_xml

            decoded = decode_text(body, content_type)
            if decoded.is_noise:
                raise NotHtml("XML in an unknown encoding")
            body = readable_xml(body, decoded)
        content = read(document_format, body, read_markup)
        page = _page_of(url, content, robots_tags, media_type_of(document_format, media_type, body))
        return PageContent(page, content)
    if media_type in UNKNOWN_MEDIA_TYPES:
        raise NotHtml(media_type)
    if media_type in TEXT_MEDIA_TYPES and media_type != "text/plain":
        plain = parse_page(url, body, f"text/plain;{content_type}".replace(",", ";"), robots_tags, refresh)
        page = _of_type(plain, media_type)
        return PageContent(
            _directory(page, body, content_type, robots_tags) if body.startswith(JSON_BEGINNING) else page
        )
    page = parse_page(url, body, content_type, robots_tags, refresh, finds_ftp=finds_ftp)
    if (
        page.title.startswith(INDEX_TITLES)
        or HOST_AND_PATH in page.title
        or (url.endswith("/") and (CADDY_ROW in body or H5AI_CELL in body))
    ):
        return PageContent(_directory(page, body, content_type, robots_tags))
    return PageContent(page)


def read_markup(markup: bytes) -> Content:
    """Read a page of HTML that is inside of a document."""
    try:
        page = parse_page(INSIDE, markup, "application/xhtml+xml")
    except NotHtml:
        return Content()
    links = ((link.url, link.anchor) for link in page.links if not link.url.startswith(INSIDE))
    return Content(
        page.title, page.headings, page.text, tuple(links), page.language, boilerplate=page.boilerplate
    )


def read_nothing(document_format: Format, body: bytes, read_markup: ReadMarkup) -> Content:
    """Stand in for `read_document` where that has ended its process."""
    return Content(lack=Lack.EXHAUSTING)


def _page_of(url: str, content: Content, robots_tags: Sequence[str], media_type: str) -> ParsedPage:
    wish = robots_wish(robots_tags)
    hrefs = [(target, " ".join(text.split())[:ANCHOR_CHARS_MAX]) for target, text in content.links]
    return ParsedPage(
        url=url,
        title=(title_of(content) or last_segment(url))[:TITLE_CHARS_MAX],
        headings=content.headings[:HEADINGS_CHARS_MAX],
        text=content.text,
        boilerplate=content.boilerplate[: max(0, TEXT_CHARS_MAX - len(content.text))],
        links=() if wish.is_nofollow else resolved_links(url, hrefs),
        # What a program writes into every file is that of its menus rather than that of the text.
        language=language_of(content.text) or content.language,
        charset="utf-8",
        replacement_count=0,
        is_noindex=wish.is_noindex,
        is_noarchive=wish.is_noarchive,
        is_nosnippet=wish.is_nosnippet,
        is_cut=content.is_cut,
        type=media_type,
        dates=content.dates,
    )


def _directory(
    page: ParsedPage, body: bytes, content_type: str | None, robots_tags: Sequence[str]
) -> ParsedPage:
    """Read a page that begins like a directory; their reader is loaded with the first."""
    from peers.crawler.parsing.directory_index import with_entries

    return with_entries(page, body, content_type, robots_tags)


def _ftp_directory(url: str, body: bytes, content_type: str | None) -> ParsedPage:
    """Read a listing of an FTP server; the reader of those is loaded likewise."""
    from peers.crawler.parsing.ftp_directory import listing_page

    return listing_page(url, body, content_type or "")


def _packed_list(url: str, body: bytes) -> ParsedPage:
    """Read a packed list of all directories, with a reader that is loaded likewise."""
    from peers.crawler.parsing.packed_list import unpacked

    text = unpacked(body) or body  # which its server may have unpacked already
    page = _directory(parse_page(url, text, "text/plain"), text, "text/plain", ())
    if page.type != LISTING:
        raise NotHtml("a packed file that is no list")
    return page


def _of_type(page: ParsedPage, media_type: str) -> ParsedPage:
    return msgspec.structs.replace(page, type=media_type)
