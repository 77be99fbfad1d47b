"""Documents on their way through the crawler: what is read of them and kept, and what is said of the rest."""

from __future__ import annotations

import gzip
from random import Random

import msgspec
import pytest

from mesh.actors.codec import FRAME_BYTES_MAX
from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from peers.crawler.fetching.content_encoding import BODY_BYTES_MAX, DOCUMENT_BYTES_MAX
from peers.crawler.model.messages import PageParsed, ParseFailed
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.parsing.extraction import CUT_BYTES, KEPT_BYTES_MAX, extract, extract_again, parse_records
from peers.crawler.parsing.guarded_reader import GuardedReader
from peers.crawler.parsing.page_reader import read_markup, read_nothing, read_page
from peers.crawler.parsing.parser import NotHtml
from peers.documents.content import TEXT_CHARS_MAX, Content, Lack
from peers.documents.formats import Format
from peers.engine.pages.kinds import NAMES
from peers.exporting.rows import ExportTask, take_apart
from peers.storage.archive.warc import content_record, parse_response, read_record, response_record
from peers.storage.messages import ParseRecords, RecordsParsed
from peers.storage.wire_messages import StoredPage
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
    [row] = take_apart(ExportTask([(URL, seen(1_000.0, 1), parsed.records)])).rows
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


@pytest.mark.parametrize("n_bytes", [KEPT_BYTES_MAX - 1_000, KEPT_BYTES_MAX + 1])
def test_a_long_document_is_kept_whole_or_as_its_text_and_can_be_indexed_again(n_bytes: int) -> None:
    body = files.pdf(files.line("near the end"), info="/Title (A manual)", link="http://b.test/").replace(
        b"%PDF-1.5\n", b"%PDF-1.5\n%" + b"x" * n_bytes + b"\n", 1
    )
    parsed = extracted(body)
    assert parsed.document is not None
    assert (parsed.document.text, len(parsed.links)) == ("near the end", 1)
    record = read_record(parsed.records)
    is_whole = n_bytes < KEPT_BYTES_MAX
    assert record.headers.get("warc-truncated") == (None if is_whole else "length")
    assert parse_response(record).body == (body if is_whole else body[:CUT_BYTES])
    said, again = parse_records(URL, Stamp(1, parsed.document.fetched_at), parsed.records)
    assert (said.lack, again) == (None, parsed.document)


def test_what_a_record_says_of_a_document_is_checked_as_it_may_come_from_others() -> None:
    stamp = Stamp(1, 1.6e9)
    response = response_record(URL, b"HTTP/1.1 200 OK\r\n\r\n", PDF, stamp)
    with pytest.raises(CorruptionError):
        parse_records(URL, stamp, response + content_record(URL, b'{"text": 7}', stamp))


def test_the_longest_document_goes_into_one_frame() -> None:
    random = Random(15).randbytes(KEPT_BYTES_MAX)
    page = fetched(URL, body=b"%PDF-1.5\n" + random[:-9], headers=AS_PDF)
    text = "\U0001f600" * TEXT_CHARS_MAX
    for body in (page.body, page.body + b"1"):
        parsed = extract(msgspec.structs.replace(page, body=body), 1, lambda *_: Content(text=text))
        assert isinstance(parsed, PageParsed)
        stored = StoredPage(URL, 1, 1.6e9, 200, parsed.records, parsed.document)
        assert len(msgspec.msgpack.encode(stored)) < FRAME_BYTES_MAX - 600_000  # heads of both sides


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
