"""From an answer of a web server to what is kept of it, and from the archive back."""

from __future__ import annotations

import gzip
from typing import Any

from peers.crawler.extraction import extract, extract_again
from peers.crawler.messages import PageParsed, ParseFailed
from peers.crawler.web_request import FailureReason
from peers.crawler.wire_messages import FoundLink
from peers.engine.document import Document
from peers.engine.linkers import linker_of
from peers.exporting.rows import Order, take_apart
from peers.storage.messages import ParseRecords, RecordsParsed
from peers.storage.warc import absence_record, parse_response, read_records, visit_in
from tests.helpers import fetched, seen

URL = "http://a.test/page"
HTML = b"""<html lang=en><head><title>The title</title></head><body><h1>Heading</h1><p>Some text</p>
<a href="/next">next page</a> <a href="http://b.test/" rel=nofollow>no</a></body></html>"""


def extracted(body: bytes = HTML, **changes: Any) -> PageParsed:
    parsed = extract(fetched(URL, body=body, **changes), 1)
    assert isinstance(parsed, PageParsed)
    return parsed


def test_a_page_becomes_a_document_links_and_records() -> None:
    parsed = extracted(started_at=1_700_000_000.5)
    assert parsed.url == URL
    assert parsed.document == Document(
        url=URL,
        title="The title",
        headings="Heading",
        text="Heading\nSome text\nnext page no",
        language="en",
        fetched_at=1_700_000_000.5,
        type="text/html",
        visit=1,
    )
    assert parsed.links == (FoundLink("http://a.test/next", "next page"),)
    records = list(read_records(parsed.records))
    assert [record.kind for record in records] == ["response", "request"]
    assert [visit_in(record.headers) for record in records] == [1, 1]
    assert parse_response(records[0]).body == HTML
    assert gzip.decompress(parsed.records).startswith(b"WARC/1.1\r\n")


def test_links_to_other_hosts_tell_where_they_are_from() -> None:
    [here, there] = extracted(b'<a href="/next">next</a> <a href="http://b.test/">there</a>').links
    assert (here.linker, there.linker) == ("", linker_of(URL, "http://b.test/"))


def test_what_is_read_back_from_the_archive_is_the_same_document() -> None:
    parsed = extracted(started_at=1_234.0)
    assert extract_again(ParseRecords(URL, seen(1_234.0, 1), parsed.records)) == RecordsParsed(
        URL, seen(1_234.0, 1), parsed.document
    )


def test_noindex_in_the_page_or_its_header_makes_no_document_now_or_later() -> None:
    for body, headers in (
        (b"<meta name=robots content=noindex>text", (("Content-Type", "text/html"),)),
        (b"text", (("Content-Type", "text/html"), ("X-Robots-Tag", "noindex"))),
    ):
        parsed = extracted(body, headers=headers)
        assert parsed.document is None
        assert parsed.records
        assert extract_again(ParseRecords(URL, seen(1.0), parsed.records)).document is None


def test_what_took_a_page_away_is_no_page_when_it_is_read_back() -> None:
    gone = extracted(b"<title>404</title> nothing here", status=404)
    absent = absence_record(URL, "robots", seen(2.0, 2))
    for records in (gone.records, absent):
        assert extract_again(ParseRecords(URL, seen(2.0, 2), records)).document is None
        taken = take_apart(Order([(URL, seen(2.0, 2), records)]))
        assert (taken.rows, taken.links, taken.n_without_text, taken.n_damaged) == ([], [], 1, 0)


def test_binary_under_the_name_of_text_is_no_page() -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    assert extract(fetched(URL, body=png), 1) == ParseFailed(URL, FailureReason.NOT_HTML)


def test_a_page_that_broke_off_says_so_in_the_archive() -> None:
    parsed = extracted(is_whole=False)
    assert b"WARC-Truncated: disconnect" in gzip.decompress(parsed.records)
    assert b"WARC-Truncated" not in gzip.decompress(extracted().records)
