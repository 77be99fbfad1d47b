"""From an answer of a web server to what is kept of it, and from the archive back."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from typing import Any

import brotli
import pytest
import zstandard
from xxhash import xxh3_64_digest

from mesh.errors import CorruptionError
from peers.crawler.fetching.content_encoding import BODY_BYTES_MAX
from peers.crawler.model.messages import PageParsed, ParseFailed
from peers.crawler.model.web_request import FailureReason
from peers.crawler.model.wire_messages import FoundLink
from peers.crawler.parsing.extraction import content_in, decoded, extract, extract_again
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import linker_of
from peers.exporting.rows import ExportTask, Taken, take_apart
from peers.storage.archive.warc import absence_record, parse_response, read_records, visit_in
from peers.storage.messages import ParseRecords, RecordsParsed
from tests.bombs import CODINGS, bomb_of
from tests.helpers import fetched, seen

URL = "http://a.test/page"
HTML = b"""<html lang=en><head><title>The title</title></head><body><h1>Heading</h1><p>Some text</p>
<a href="/next">next page</a> <a href="http://b.test/" rel=nofollow>no</a></body></html>"""


def extracted(body: bytes = HTML, **changes: Any) -> PageParsed:
    parsed = extract(fetched(URL, body=body, **changes), 1)
    assert isinstance(parsed, PageParsed)
    return parsed


def test_rfc9110_15_3_4_a_page_that_somebody_has_changed_is_read() -> None:
    made = extract(
        fetched("http://a.test/", 203, b"<title>t</title>words", headers=(("Refresh", "0; url=/t"),)), 1
    )
    assert isinstance(made, PageParsed)
    assert made.document is not None
    assert [link.url for link in made.links] == ["http://a.test/t"]


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
        taken = take_apart(ExportTask([(URL, seen(1.0), parsed.records)]))
        assert taken == Taken([], [], n_no_page=0, n_not_indexed=1, n_damaged=0, syntax=taken.syntax)


def test_what_took_a_page_away_is_no_page_when_it_is_read_back() -> None:
    gone = extracted(b"<title>404</title> nothing here", status=404)
    absent = absence_record(URL, "robots", seen(2.0, 2))
    for records in (gone.records, absent):
        assert extract_again(ParseRecords(URL, seen(2.0, 2), records)).document is None
        taken = take_apart(ExportTask([(URL, seen(2.0, 2), records)]))
        assert taken == Taken([], [], n_no_page=1, n_not_indexed=0, n_damaged=0, syntax=[])


def test_binary_under_the_name_of_text_is_no_page() -> None:
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20
    assert extract(fetched(URL, body=png), 1) == ParseFailed(URL, FailureReason.NOT_HTML)


def test_a_page_that_broke_off_says_so_in_the_archive() -> None:
    parsed = extracted(is_whole=False)
    assert b"WARC-Truncated: disconnect" in gzip.decompress(parsed.records)
    assert b"WARC-Truncated" not in gzip.decompress(extracted().records)


# --- A3: content coding ---

TEXT = b"<p>" + b"some text, and more of it. " * 500


@pytest.mark.parametrize(
    ("codings", "encoded"),
    [
        ("gzip", gzip.compress(TEXT)),
        ("x-gzip", gzip.compress(TEXT)),
        ("GZIP", gzip.compress(TEXT)),
        ("br", brotli.compress(TEXT)),
        ("zstd", zstandard.compress(TEXT)),
        ("deflate", zlib.compress(TEXT)),
        ("gzip, br", brotli.compress(gzip.compress(TEXT))),
        ("identity", TEXT),
        ("", TEXT),
    ],
)
def test_the_body_is_decoded(codings: str, encoded: bytes) -> None:
    parsed = extracted(encoded, codings=codings)
    assert parsed == extracted(TEXT)
    assert parsed.digest == xxh3_64_digest(TEXT)


def test_the_body_of_a_page_that_is_gone_is_kept_decoded() -> None:
    parsed = extracted(gzip.compress(TEXT), status=410, codings="gzip")
    assert parse_response(next(iter(read_records(parsed.records)))).body == TEXT


@pytest.mark.parametrize("codings", CODINGS)
def test_a_bomb_takes_no_more_memory_than_the_limit(codings: str) -> None:
    bomb = bomb_of(codings)
    page = fetched(URL, body=bomb, codings=codings)
    tracemalloc.start()
    try:
        assert extract(page, 1) == ParseFailed(URL, FailureReason.BODY_TOO_LARGE)
        assert tracemalloc.get_traced_memory()[1] < 4 * BODY_BYTES_MAX
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("codings", ["gzip", "br", "zstd", "compress", "gzip, gzip, gzip, gzip, gzip, gzip"])
def test_what_is_not_in_its_coding_is_a_decoding_failure(codings: str) -> None:
    page = fetched(URL, body=b"\1\2\3binary", codings=codings)
    assert extract(page, 1) == ParseFailed(URL, FailureReason.DECODING)


def test_a_truncated_gzip_yields_its_beginning_and_says_so() -> None:
    cut = fetched(URL, body=gzip.compress(TEXT)[:-20], codings="gzip")
    assert TEXT.startswith(decoded(cut).body)
    assert decoded(cut).body
    assert not decoded(cut).is_whole
    parsed = extract(cut, 1)
    assert isinstance(parsed, PageParsed)
    assert b"WARC-Truncated: disconnect" in gzip.decompress(parsed.records)


def test_kept_content_that_nests_without_end_is_damaged() -> None:
    nested = b'{"beside":' + b"[" * 100_000
    with pytest.raises(CorruptionError):
        content_in("http://a.test/", nested)
