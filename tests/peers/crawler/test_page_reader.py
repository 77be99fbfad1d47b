"""Documents on their way through the crawler: what is read of them and kept, and what is said of the rest."""

from __future__ import annotations

import gzip

import pytest

from peers.crawler.decoding import BODY_BYTES_MAX, DOCUMENT_BYTES_MAX
from peers.crawler.extraction import extract, extract_again
from peers.crawler.guarded_reader import GuardedReader
from peers.crawler.messages import PageParsed, ParseFailed
from peers.crawler.page_reader import read_markup, read_nothing, read_page
from peers.crawler.parser import NotHtml
from peers.crawler.web_request import FailureReason
from peers.crawler.wire_messages import FoundLink
from peers.documents.content import Content, Lack
from peers.documents.formats import Format
from peers.engine.kinds import NAMES
from peers.exporting.rows import Order, take_apart
from peers.storage.messages import ParseRecords, RecordsParsed
from peers.storage.warc import parse_response, read_record
from tests.helpers import fetched, seen
from tests.peers.documents import files

URL = "http://a.test/dir/annual%20report.pdf"
PDF = files.pdf(files.line("The text of a report"), info="/Title (Report)", link="/next.pdf")
AS_PDF = (("Content-Type", "application/pdf"),)


def extracted(body: bytes = PDF, media_type: str = "application/pdf", url: str = URL) -> PageParsed:
    parsed = extract(fetched(url, body=body, headers=(("Content-Type", media_type),)), 1)
    assert isinstance(parsed, PageParsed)
    return parsed


def test_a_document_is_indexed_and_kept_and_its_links_are_followed() -> None:
    parsed = extracted()
    assert parsed.document is not None
    assert parsed.document.type == "application/pdf"
    assert (parsed.document.title, parsed.document.text) == ("Report", "The text of a report")
    assert parsed.links == (FoundLink("http://a.test/next.pdf", "The text of a report"),)
    assert parse_response(read_record(parsed.records)).body == PDF


def test_what_is_read_back_from_the_archive_is_the_same_document_and_so_is_what_is_exported() -> None:
    parsed = extracted()
    order = ParseRecords(URL, seen(1_000.0, 1), parsed.records)
    assert extract_again(order).document == parsed.document
    [row] = take_apart(Order([(URL, seen(1_000.0, 1), parsed.records)])).rows
    assert (row.text, row.type) == ("The text of a report", "application/pdf")


@pytest.mark.parametrize("media_type", ["application/octet-stream", "", "application/x-pdf", "text/plain"])
def test_a_document_is_known_whatever_its_server_calls_it(media_type: str) -> None:
    document = extracted(media_type=media_type).document
    assert document is not None
    assert document.type == "application/pdf"


def test_what_has_no_type_and_is_no_document_is_no_page() -> None:
    for body in (b"text", b"\x7fELF", files.packed({"a.txt": "text"})):
        page = fetched(URL, body=body, headers=(("Content-Type", "application/octet-stream"),))
        assert extract(page, 1) == ParseFailed(URL, FailureReason.NOT_HTML)
    with pytest.raises(NotHtml):
        read_page(URL, files.packed({"a.txt": "text"}), "application/zip")


def test_a_document_that_cannot_be_read_is_kept_under_the_name_of_its_file() -> None:
    parsed = extracted(b"%PDF-1.5 rubbish")
    assert parsed.lack is Lack.DAMAGED
    assert parsed.document is not None
    assert (parsed.document.title, parsed.document.text) == ("annual report.pdf", "")
    again = extract_again(ParseRecords(URL, seen(1_000.0, 1), parsed.records))
    assert again == RecordsParsed(URL, seen(1_000.0, 1), parsed.document, Lack.DAMAGED)


def test_a_document_that_has_ended_its_process_is_kept_unread() -> None:
    parsed = extract(fetched(URL, body=PDF, headers=AS_PDF), 1, read_nothing)
    assert isinstance(parsed, PageParsed)
    assert (parsed.lack, parsed.links) == (Lack.EXHAUSTING, ())
    assert parse_response(read_record(parsed.records)).body == PDF


def test_robots_are_told_what_to_do_with_documents_by_a_header() -> None:
    parsed = extract(fetched(URL, body=PDF, headers=(*AS_PDF, ("X-Robots-Tag", "noindex, nofollow"))), 1)
    assert isinstance(parsed, PageParsed)
    assert (parsed.document, parsed.links) == (None, ())


def test_of_a_document_longer_than_a_page_all_is_read_and_the_beginning_is_kept() -> None:
    body = files.pdf(files.line("near the end"), head=b"").replace(
        b"%PDF-1.5\n", b"%PDF-1.5\n%" + b"x" * BODY_BYTES_MAX + b"\n", 1
    )
    parsed = extracted(body)
    assert parsed.document is not None
    assert parsed.document.text == "near the end"
    record = read_record(parsed.records)
    assert record.headers["warc-truncated"] == "length"
    assert len(parse_response(record).body) == BODY_BYTES_MAX


def test_a_packed_document_may_be_longer_than_a_page_and_no_longer_than_a_document() -> None:
    for n_bytes, is_read in ((BODY_BYTES_MAX + 1, True), (DOCUMENT_BYTES_MAX + 1, False)):
        page = fetched(URL, body=gzip.compress(bytes(n_bytes)), headers=AS_PDF, codings="gzip")
        is_too_large = extract(page, 1) == ParseFailed(URL, FailureReason.BODY_TOO_LARGE)
        assert is_too_large is not is_read


@pytest.mark.parametrize(
    ("media_type", "body", "text"),
    [
        ("text/x-python", b"if a <b> c:\n    pass  # <p>", "if a <b> c:\npass # <p>"),
        ("application/json", b'{"a": "<html>"}', '{"a": "<html>"}'),
        ("text/csv; charset=latin-1", b"\xe4,b", "\u00e4,b"),
        ("application/xml", b"<doc><title>T</title><p>one</p>two</doc>", "T\none\ntwo"),
        (NAMES["rtf"][0], b"{\\rtf1 text}", "text"),
    ],
)
def test_source_code_and_data_are_text_of_their_types(media_type: str, body: bytes, text: str) -> None:
    document = extracted(body, media_type, "http://a.test/x").document
    assert document is not None
    assert (document.text, document.type) == (text, media_type.partition(";")[0])


def test_a_page_of_xhtml_is_a_page_also_under_the_name_of_xml() -> None:
    document = extracted(b"<html><title>T</title><p>page</p></html>", "text/xml").document
    assert document is not None
    assert (document.title, document.text, document.type) == ("T", "page", "text/html")


def test_a_feed_is_a_document_and_what_it_lists_is_known_as_listed() -> None:
    feed = b"""<feed><title>News</title><entry><title>First</title><link href="/1"/>
<content>&lt;a href="http://b.test/"&gt;said&lt;/a&gt;</content></entry></feed>"""
    parsed = extracted(feed, "application/atom+xml", "http://a.test/feed")
    assert parsed.document is not None
    assert (parsed.document.title, parsed.document.text) == ("News", "News\nFirst\nsaid")
    assert parsed.links[0] == FoundLink("http://a.test/1", is_listed=True)
    assert [(link.url, link.is_listed) for link in parsed.links[1:]] == [("http://b.test/", False)]


def test_language_and_date_of_a_document_are_its_own() -> None:
    german = "Der Bericht ist von der Arbeit und den Menschen, die auch nicht mit dem Zug kommen."
    body = files.pdf(files.line(german), info="/ModDate (D:20240102030405Z)", catalogue="/Lang (en-US)")
    page = fetched(URL, body=body, headers=AS_PDF, started_at=1.8e9)
    parsed = extract(page, 1)
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    assert (parsed.document.language, parsed.document.date) == ("de", 1_704_164_645.0)


def test_a_reader_of_its_own_process_says_the_same_and_outlives_its_end() -> None:
    reader = GuardedReader()
    try:
        content = reader.read(Format.PDF, PDF, read_markup)
        assert content.text == "The text of a report"
        assert reader._process is not None
        reader._process.kill()
        reader._process.wait()
        assert reader.read(Format.PDF, PDF, read_markup) == Content(lack=Lack.EXHAUSTING)
        assert reader.read(Format.PDF, PDF, read_markup) == content
    finally:
        reader.close()
