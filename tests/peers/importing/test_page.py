"""From records and entries to pages, and why some are refused."""

from __future__ import annotations

import gzip
import json
from typing import Any

import brotli
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import CorruptionError
from mesh.stamp import VISITS_MAX, Stamp
from peers.crawler.model.messages import PageParsed
from peers.crawler.model.wire_messages import FoundLink, LinkUse
from peers.crawler.parsing.extraction import KEPT_BYTES_MAX, extract, extract_again
from peers.documents.content import Content
from peers.importing.batch import ImportTask, decode, make
from peers.importing.json_lines import Line, LineEntry, entry_of, read_lines
from peers.importing.messages import ImportedPage
from peers.importing.packed_file import packing_of
from peers.importing.page import NoPage, PageNotKept, is_private, page_of_entry, page_of_record
from peers.importing.positions import FileDamage, Position
from peers.importing.warc_file import Record, read_warc, with_contents
from peers.storage.archive.warc import parse_response, read_record, resource_record, visit_in
from peers.storage.messages import ParseRecords
from tests.helpers import fetched

HEADERS = {
    "warc-type": "response",
    "warc-target-uri": "http://a.test/page",
    "warc-date": "2024-03-05T06:07:08.250Z",
    "content-type": "application/http;msgtype=response",
}
BODY = b'<html lang=en><title>T</title><h1>H</h1><p>words <a href="/b">link</a> <a href="/c"></a>'
AT = 1_709_618_828.25


def record(body: bytes = BODY, *http: str, head: str = "HTTP/1.1 200 OK", **headers: str) -> Record:
    lines = [head, *(http or ("Content-Type: text/html; charset=utf-8",)), "", ""]
    changed = {name.replace("_", "-"): value for name, value in headers.items()}
    return Record(0, Position(0, 1), HEADERS | changed, "\r\n".join(lines).encode() + body)


def page(found: Record, use: LinkUse = LinkUse.TEXT, *, is_own: bool = False) -> ImportedPage:
    return page_of_record(found, use, is_own=is_own)


def test_a_response_becomes_a_page_with_its_document_links_and_record() -> None:
    made = page(record())
    assert (made.url, made.fetched_at, made.status) == ("http://a.test/page", AT, 200)
    assert made.document is not None
    assert (made.document.title, made.document.headings, made.document.text) == ("T", "H", "H\nwords link")
    assert made.links == (FoundLink("http://a.test/b", "link", use=LinkUse.TEXT),)
    again = extract_again(ParseRecords(made.url, made.stamp, made.records))
    assert again.document == made.document
    assert read_record(made.records).headers["warc-date"] == "2024-03-05T06:07:08.250000Z"


def test_a_document_of_which_our_export_has_the_beginning_comes_with_its_text() -> None:
    body = b"%PDF-1.5\n" + bytes(KEPT_BYTES_MAX)
    sent = fetched("http://a.test/page", body=body, headers=(("Content-Type", "application/pdf"),))
    told = extract(sent, 3, lambda *_: Content("A manual", text="near the end", language="en"))
    assert isinstance(told, PageParsed)
    assert told.document is not None
    ordinary = extract(fetched("http://a.test/next"), 3)
    assert isinstance(ordinary, PageParsed)
    found = list(with_contents(read_warc(packing_of(told.records + ordinary.records))))
    records = [each for each in found if isinstance(each, Record)]
    assert [bool(each.content) for each in records] == [True, *[False] * (len(records) - 1)]
    assert [each.after for each in records] == sorted(each.after for each in records)
    made = page(records[0], is_own=True)
    assert made.document == told.document
    again = extract_again(ParseRecords(made.url, made.stamp, made.records))
    assert again.document == told.document
    with pytest.raises(CorruptionError):
        page(records[0]._replace(content=b'{"text": 7}'))


def test_what_is_truncated_without_its_text_is_a_page_of_its_own() -> None:
    cut = record(warc_truncated="length")
    other = record(warc_target_uri="http://a.test/other")
    assert list(with_contents([cut, cut, FileDamage(1, "none"), other, cut])) == [
        cut, cut, FileDamage(1, "none"), other, cut,
    ]  # fmt: skip


def test_links_to_follow_need_no_text() -> None:
    assert [link.url for link in page(record(), LinkUse.FETCH).links] == [
        "http://a.test/b",
        "http://a.test/c",
    ]


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (gzip.compress(BODY, mtime=0), ("Content-Encoding: gzip",)),
        (brotli.compress(BODY), ("Content-Encoding: br",)),
        (BODY, ("Content-Encoding: gzip",)),  # decoded by who archived it
        (BODY, ("Content-Encoding: br",)),
        (
            b"5\r\n" + BODY[:5] + b"\r\n%x\r\n" % (len(BODY) - 5) + BODY[5:] + b"\r\n0\r\n\r\n",
            ("Transfer-Encoding: chunked",),
        ),
        (BODY, ("Transfer-Encoding: chunked",)),
        (b"%x\r\n" % len(BODY) + BODY, ("Transfer-Encoding: chunked",)),  # cut
        (b"%x  ;a=b\n" % len(BODY) + BODY + b"\n0\n\n", ("Transfer-Encoding: chunked",)),
    ],
)
def test_codings_are_undone_if_they_are_there(body: bytes, headers: tuple[str, ...]) -> None:
    made = page(record(body, "Content-Type: text/html", *headers))
    assert parse_response(read_record(made.records)).body == BODY


@pytest.mark.parametrize(
    "body",
    [b"decade of words\nfeed me\n", b"abc\r\nand more words", b"3\nblind mice", b"5\r\nwords of mice\r\n"],
)
def test_a_text_that_begins_like_a_chunk_is_no_chunk(body: bytes) -> None:
    made = page(record(body, "Content-Type: text/plain", "Transfer-Encoding: chunked"))
    assert parse_response(read_record(made.records)).body == body


def test_a_chunk_that_was_cut_is_one_where_the_record_says_so() -> None:
    found = record(b"ffff\r\n" + BODY, "Transfer-Encoding: chunked", warc_truncated="length")
    assert parse_response(read_record(page(found).records)).body == BODY


@pytest.mark.parametrize("head", ["http/1.1 200 OK", "HTTP/1.1 203 Non-Authoritative Information"])
def test_heads_are_read_as_the_crawler_reads_them(head: str) -> None:
    assert page(record(head=head)).document is not None


@pytest.mark.parametrize("kind", ["warcinfo", "request", "metadata"])
def test_records_about_something_else_are_passed_over(kind: str) -> None:
    with pytest.raises(NoPage):
        page(record(warc_type=kind))


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (record(head="HTTP/1.1 404 Not Found"), "status 404"),
        (record(b"x", "Content-Type: image/png"), "type image/png"),
        (record(b"\x89PNG\r\n", "Content-Type: text/html"), "not HTML: PNG"),
        (record(b"<urlset></urlset>", "Content-Type: text/xml"), "a sitemap"),
        (record(bytes(33 << 20), "Content-Type: application/pdf"), "larger than 32 MiB"),
        (record(bytes(9 << 20)), "larger than 8 MiB"),
        (record(gzip.compress(bytes(9 << 20)), "Content-Encoding: gzip"), "larger than 8 MiB"),
        (record(warc_target_uri="ftp://a.test/"), "no http or https URL"),
        (record(warc_date="yesterday"), "no date"),
        (record(BODY, "Content-Type: text/html", "Date: soon", warc_date="2024-02-31T00:00:00Z"), "no date"),
        (record(warc_type="sound"), "a record of type 'sound'"),
        (record(head="ICAP/1.0 200 OK"), "not an HTTP response"),
        (record(content_type="text/dns"), "not HTTP"),
        (record(warc_type="revisit"), "the response that it refers to is not in this file"),
    ],
)
def test_what_is_no_page_is_refused_with_the_reason(found: Record, reason: str) -> None:
    with pytest.raises(PageNotKept) as error:
        page(found)
    assert str(error.value) == reason


def test_the_date_of_the_server_counts_where_the_record_has_none_that_can_be() -> None:
    at = "Date: Tue, 05 Mar 2024 06:07:08 GMT"
    found = record(BODY, "Content-Type: text/html", at, warc_date="2024-02-31T25:61:00-0600")
    assert page(found).fetched_at == float(int(AT))
    assert page(record(BODY, "Content-Type: text/html", at)).fetched_at == AT


def test_text_that_was_extracted_before_is_a_page_too() -> None:
    made = page(
        Record(0, Position(0), HEADERS | {"warc-type": "conversion", "content-type": "text/plain"}, b"words")
    )
    assert made.document is not None
    assert (made.document.text, made.document.type) == ("words", "text/plain")


def test_a_response_with_bare_line_feeds_is_read() -> None:
    block = b"HTTP/1.0 200 OK\nContent-Type: text/html\n\n" + BODY
    assert page(Record(0, Position(0), HEADERS, block)).document == page(record()).document


def test_a_page_that_asks_not_to_be_indexed_is_kept_without_a_document() -> None:
    made = page(record(BODY, "Content-Type: text/html", "X-Robots-Tag: noindex"))
    assert made.document is None
    assert made.records


def test_importing_what_was_kept_gives_the_same_record_for_ever() -> None:
    made = page(record(gzip.compress(BODY), "Content-Type: text/html", "Content-Encoding: gzip"))
    for _ in range(3):
        [again] = read_warc(packing_of(made.records))
        assert isinstance(again, Record)
        made, before = page(again), made
        assert made == before


def test_a_listing_of_an_ftp_server_comes_back_as_it_was_exported() -> None:
    body, url = b"type=file;size=5; a.iso\r\ntype=dir; old\r\n", "ftp://a.test/pub/"
    kept = resource_record(url, "text/ftp-dir; format=mlsd", body, Stamp(3, 1e9), "93.184.215.14")
    archived = read_record(kept)
    found = Record(0, Position(0, 1), archived.headers, archived.block)
    made = page(found, is_own=True)
    assert made.records == kept
    assert made.document is not None
    assert made.document.text == "a.iso\nold/"
    assert [link.url for link in made.links] == ["ftp://a.test/pub/old/"]
    for changed in ({"warc-type": "response"}, {"warc-target-uri": f"{url}a.iso"}):
        with pytest.raises(PageNotKept):
            page(found._replace(headers={**found.headers, **changed}))


@pytest.mark.parametrize(
    "url", ["http://10.0.0.1/", "http://127.0.0.1:80/", "http://[::1]/", "http://localhost/"]
)
def test_private_addresses_are_told(url: str) -> None:
    assert is_private(url)
    assert not is_private("http://192.0.3.example/")


def entry(**values: Any) -> LineEntry:
    return msgspec.convert({"url": "http://a.test/x", "text": "words", **values}, LineEntry)


def test_an_entry_becomes_a_page_that_reads_back_as_it() -> None:
    made = page_of_entry(
        entry(
            title="A & <B>",
            text="One\nfirst block\nTwo\nsecond <block>",
            headings="One\nTwo",
            language="zh",
            date="2024-03-05",
            fetched_at="2024-06-01T08:00:00Z",
        ),
        5.0,
        LinkUse.TEXT,
    )
    document = extract_again(ParseRecords(made.url, made.stamp, made.records)).document
    assert document == made.document
    assert document is not None
    assert (document.title, document.language) == ("A & <B>", "zh")
    assert document.text == "One\nfirst block\nTwo\nsecond <block>"
    assert document.headings == "One\nTwo"
    assert (document.date, document.fetched_at) == (1_709_596_800.0, 1_717_228_800.0)


lines = st.lists(st.text(max_size=20), max_size=6)


@given(lines, st.data())
def test_any_text_reads_back_with_its_blocks_and_headings(texts: list[str], data: st.DataObject) -> None:
    folded = [" ".join(text.replace("\0", "").split()) for text in texts]
    blocks = [text for text in folded if text and text.isprintable()]
    headings = [block for block in blocks if data.draw(st.booleans())]
    given_entry = entry(title="t", text="\n".join(blocks), headings="\n".join(headings), language="en")
    document = page_of_entry(given_entry, 5.0, LinkUse.TEXT).document
    assert document is not None
    assert document.text == "\n".join(blocks)
    assert document.headings == "\n".join(headings)


def test_an_entry_without_a_time_was_fetched_when_its_file_was_changed() -> None:
    assert page_of_entry(entry(), 1_234.5, LinkUse.TEXT).fetched_at == 1_234.5


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"url": "mailto:a@b"}, "no http or https URL"),
        ({"text": " \n"}, "no text"),
        ({"date": "soon"}, "date is no date"),
        ({"fetched_at": -5.0}, "fetched_at is no date"),
    ],
)
def test_entries_that_are_no_pages_are_refused(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(PageNotKept, match=reason):
        page_of_entry(entry(**values), 5.0, LinkUse.TEXT)


def test_lines_are_read_and_what_is_none_is_told() -> None:
    texts = [
        json.dumps({"url": f"http://a.test/{n}", "text": "é"}, ensure_ascii=False).encode() for n in range(3)
    ]
    data = b"\n".join([texts[0], b"", b"{not json", texts[1], texts[2]])
    for packed in (data, gzip.compress(data)):
        found = [each for each in read_lines(packing_of(packed)) if isinstance(each, Line)]
        assert [each.text for each in found] == [texts[0], b"{not json", texts[1], texts[2]]
        assert [
            each.text for each in read_lines(packing_of(packed), found[1].after) if isinstance(each, Line)
        ] == texts[1:]
        made = make(ImportTask(list(found), [], found[-1].after, 5.0, LinkUse.TEXT))
        assert [page.url for body in made.bodies for page in decode(body)] == [
            f"http://a.test/{n}" for n in range(3)
        ]
        [damage] = made.damages
        assert "not an entry" in damage.what


def test_lines_of_a_torn_file_are_read_up_to_there() -> None:
    packed = gzip.compress(b'{"url": "http://a.test/", "text": "words"}\n' * 9)
    found = list(read_lines(packing_of(packed[:-12])))
    assert isinstance(found[-1], FileDamage)


def test_an_entry_of_the_wrong_shape_is_told() -> None:
    with pytest.raises(CorruptionError, match="not an entry"):
        entry_of(b'{"text": "no url"}')


def test_a_page_that_breaks_the_parser_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.importing.page.read_page", lambda *arguments: 1 / 0)
    made = make(ImportTask([record()], [], Position(9), 5.0, LinkUse.TEXT))
    assert made.refused == {"our parser failed (ZeroDivisionError)": 1}


def test_bodies_are_cut_at_a_limit() -> None:
    big = b"<p>" + bytes(range(32, 127)).replace(b"<", b"") * 9_000
    made = make(ImportTask([record(big)] * 6, [], Position(9), 5.0, LinkUse.TEXT))
    assert len(made.bodies) > 1
    assert sum(len(decode(body)) for body in made.bodies) == 6


def test_the_visit_of_a_stranger_is_not_believed() -> None:
    """It would stand before all that the mesh finds later, with the counter at its end."""
    assert page(record(tianmesh_visit=str(VISITS_MAX))).stamp == Stamp(0, AT)


def test_visit_of_an_exported_page_comes_back() -> None:
    made = page(record(tianmesh_visit="7"), is_own=True)
    assert (made.visit, made.stamp) == (7, Stamp(7, AT))
    assert made.document is not None
    assert made.document.stamp == Stamp(7, AT)
    assert visit_in(read_record(made.records).headers) == 7
