"""Pages as they are exported: taken apart again from their records, in worker processes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec

from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from peers.crawler.parsing.extraction import parse_records
from peers.crawler.parsing.guarded_reader import read_guarded
from peers.crawler.parsing.parser import NotHtml, ParsedPage, SyntaxErrors, resolved_links
from peers.engine.pages.document import Document, content_digest
from peers.exporting.markup_tags import archive_hrefs
from peers.storage.archive.warc import ANSWERS, parse_response, read_records


class ExportedPage(msgspec.Struct, frozen=True):
    """The exported fields of a page; the names are those of the JSON and of the columns."""

    url: str
    title: str
    text: str  # what it is about, one block a line
    headings: str  # of those lines, the ones that are headings
    language: str
    type: str
    date: str | None  # when it says it was last changed, ISO 8601
    fetched_at: str  # ISO 8601 with microseconds
    published: str  # when it says it was published, ISO 8601 by its clock; "" when it does not


class LinkRow(NamedTuple):
    """A link of a page, once for each of its texts."""

    source: str
    target: str
    text: str


class SyntaxRow(NamedTuple):
    """The errors in the markup of a page."""

    url: str
    errors: SyntaxErrors


class ArchiveLinkRow(NamedTuple):
    """A link of a page to a part that it is shown with, once for each kind of element."""

    source: str
    target: str
    element: str  # as `img`


class ExportTask(NamedTuple):
    """Pages to be taken apart: URL, stamp, records."""

    pages: list[tuple[str, Stamp, bytes]]
    has_archive_links: bool = False  # these are wanted, too


class Taken(NamedTuple):
    """The rows, links and errors found in pages, and counts of the pages without a row."""

    rows: list[ExportedPage]
    links: list[LinkRow]
    n_no_page: int  # answers that are none: errors, redirects, what has gone
    n_not_indexed: int  # pages that ask for that
    n_damaged: int
    syntax: Sequence[SyntaxRow] = ()  # of pages of HTML
    contents: Sequence[int] = ()  # of each row, the `content_digest`
    archive_links: Sequence[ArchiveLinkRow] = ()  # of pages of HTML, where they are wanted


def take_apart(order: ExportTask) -> Taken:
    """Parse pages as the crawler did, and return their rows and links."""
    rows: list[ExportedPage] = []
    links: list[LinkRow] = []
    syntax: list[SyntaxRow] = []
    contents: list[int] = []
    archive_links: list[ArchiveLinkRow] = []
    n_no_page = n_not_indexed = n_damaged = 0
    for url, stamp, records in order.pages:
        try:
            (page, _), document = parse_records(url, stamp, records, read_guarded)
        except CorruptionError:
            n_damaged += 1
            continue
        except NotHtml:
            n_no_page += 1
            continue
        if document is None:
            n_not_indexed += 1
        else:
            rows.append(row_of(document))
            contents.append(content_digest(document))
        links += [LinkRow(url, link.url, link.anchor) for link in page.links]
        if page.syntax_errors is not None:
            syntax.append(SyntaxRow(url, SyntaxErrors(*page.syntax_errors)))
            archive_links += _archive_links(page, records) if order.has_archive_links else ()
    counts = n_no_page, n_not_indexed, n_damaged
    return Taken(rows, links, *counts, syntax, tuple(contents), tuple(archive_links))


def _archive_links(page: ParsedPage, records: bytes) -> list[ArchiveLinkRow]:
    body = next(parse_response(each).body for each in read_records(records) if each.kind in ANSWERS)
    links = resolved_links(page.base or page.url, archive_hrefs(as_utf8(body, page.charset)), page.charset)
    return [ArchiveLinkRow(page.url, link.url, link.anchor) for link in links]


def as_utf8(body: bytes, charset: str) -> bytes:
    """Return markup in UTF-8.

    Args:
      charset: Python's name of its codec.
    """
    return body if charset == "utf-8" else body.decode(charset, "replace").encode(errors="replace")


def row_of(document: Document) -> ExportedPage:
    lines = frozenset(document.text.split("\n"))
    return ExportedPage(
        url=document.url,
        title=document.title,
        text=document.text,
        headings="\n".join(line for line in document.headings.split("\n") if line in lines),
        language=document.language,
        type=document.type,
        date=iso_date(document.date) if document.date else None,
        fetched_at=iso_date(document.fetched_at, "microseconds"),
        published=document.published,
    )


def iso_date(seconds: float, timespec: str = "seconds") -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec=timespec).replace("+00:00", "Z")
