from __future__ import annotations

import gzip

import pytest

from mesh.errors import CorruptionError
from peers.crawler.parsing.parser_port import StoredText
from peers.documents.content import Lack
from peers.gateway.site.stored_page import (
    SHOWN_CHARS_MAX,
    DisplayKind,
    file_headers,
    framed_html,
    stored_page,
    with_said,
)
from peers.gateway.site.stored_reader import StoredReader
from peers.storage.archive.warc import request_record, response_record
from tests.helpers import seen
from tests.peers.gateway.fake_backend import read_here
from tests.processor import processor_seconds

URL = "http://a.test/dir/page.html"


def records(body: bytes, content_type: str = "text/html", more: str = "", url: str = URL) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{more}\r\n".encode()
    return response_record(url, head, body, seen(7.0)) + request_record(
        url, b"GET / HTTP/1.1\r\n\r\n", seen(7.0)
    )


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("天网".encode("gbk"), "text/html; charset=gbk"),
        ("<meta charset=gb2312>天网".encode("gb18030"), "text/html"),
        ("天网".encode("big5"), 'text/html; charset="big5"'),
        ("天网".encode(), "text/plain"),
    ],
)
def test_stored_page_is_decoded_by_its_charset(body: bytes, content_type: str) -> None:
    expected = "天網" if "big5" in content_type else "天网"
    body = "天網".encode("big5") if "big5" in content_type else body
    assert stored_page(URL, records(body, content_type)).text.endswith(expected)


def test_content_coding_is_undone_if_it_is_still_there() -> None:
    packed = records(gzip.compress(b"<p>text"), more="Content-Encoding: gzip\r\n")
    unpacked = records(b"<p>text", more="Content-Encoding: gzip\r\n")
    assert stored_page(URL, packed).text == stored_page(URL, unpacked).text == "<p>text"


def test_what_is_no_text_is_not_shown() -> None:
    page = stored_page(URL, records(b"\x89PNG", "image/PNG; x=y"))
    assert (page.kind, page.media_type, page.text) == (DisplayKind.OTHER, "image/png", "")


def test_a_document_is_what_it_is_and_has_no_text_before_it_was_read() -> None:
    page = stored_page(URL, records(b"%PDF-1.5", "application/octet-stream"))
    assert (page.kind, page.media_type, page.text) == (DisplayKind.DOCUMENT, "application/pdf", "")
    read = with_said(page, StoredText("Rivers", "x" * (SHOWN_CHARS_MAX + 1)))
    assert (len(read.text), read.is_cut, read.body) == (SHOWN_CHARS_MAX, True, b"%PDF-1.5")
    assert read.keywords == ("rivers",)


@pytest.mark.parametrize(
    ("content_type", "body", "shown"),
    [
        ("application/pdf", b"%PDF-1.5", "application/pdf; attachment"),
        ("text/html", b"<script>", "application/octet-stream; attachment"),
        ("image/svg+xml", b"<svg/>", "application/octet-stream; attachment"),
        ("text/xml", b"<a xmlns='http://www.w3.org/1999/xhtml'/>", "text/xml; attachment"),
        ("text/css", b"a {}", "text/plain; inline"),
    ],
)
def test_no_browser_shows_the_file_as_more_than_text(content_type: str, body: bytes, shown: str) -> None:
    headers = file_headers(URL, stored_page(URL, records(body, content_type)))
    disposition, _, names = headers["Content-Disposition"].partition("; ")
    assert f"{headers['Content-Type']}; {disposition}" == shown
    assert names == "filename=\"page.html\"; filename*=UTF-8''page.html"


def test_the_name_of_a_file_cannot_leave_its_header() -> None:
    page = stored_page(URL, records(b"x", "text/plain"))
    value = file_headers("http://a.test/%22%0d%0aX:%20y%2f..%2f", page)["Content-Disposition"]
    assert value == "inline; filename=\"___X_ y_.._\"; filename*=UTF-8''%22%0D%0AX%3A%20y%2F..%2F"


@pytest.mark.parametrize(
    ("body", "more"),
    [
        (b"<meta name=robots content='index, noarchive'>secret", ""),
        (b"<meta name=tianmesh content=nosnippet>secret", ""),
        (b"secret", "X-Robots-Tag: other: none\r\nX-Robots-Tag: noarchive\r\n"),
        (b"%PDF-1.5 secret", "X-Robots-Tag: noarchive\r\n"),
    ],
)
async def test_no_copy_is_made_of_a_page_whose_site_wants_none_shown(body: bytes, more: str) -> None:
    for wants_text in (True, False):
        page = await StoredReader(read_here).page(URL, records(body, more=more), wants_text=wants_text)
        assert (page.is_barred, page.text, page.body) == (True, "", b"")


async def test_a_copy_that_breaks_its_reader_is_shown_without_what_it_would_say() -> None:
    async def breaks(url: str, records: bytes) -> StoredText:
        return StoredText(lack=Lack.EXHAUSTING)

    page = await StoredReader(breaks).page(URL, records(b"%PDF-1.5"), wants_text=True)
    assert (page.text, page.lack) == ("", Lack.EXHAUSTING)
    assert (await StoredReader(breaks).page(URL, records(b"<p>x"), wants_text=True)).text == "<p>x"


def test_long_page_is_cut() -> None:
    page = stored_page(URL, records(b"a" * (SHOWN_CHARS_MAX + 1)))
    assert page.is_cut
    assert len(page.text) == SHOWN_CHARS_MAX


@pytest.mark.parametrize("data", [b"", b"garbage", records(b"x")[:100], records(b"x", url="http://b.test/")])
def test_records_that_are_not_of_the_page_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptionError):
        stored_page(URL, data)


@pytest.mark.parametrize(
    ("head", "base"),
    [
        ("", URL),
        ("<BASE target=x HREF='/other/'>", "http://a.test/other/"),
        ("<base href=//b.test/>", "http://b.test/"),
        ("<base href='javascript:alert(1)'>", URL),
        ('<base href="?a=1&amp;b=2">', "http://a.test/dir/page.html?a=1&amp;b=2"),
    ],
)
async def test_links_lead_where_they_led_on_the_live_page(head: str, base: str) -> None:
    stored = records(f"<html><head>{head}</head>".encode())
    page = with_said(stored_page(URL, stored), await read_here(URL, stored))
    assert framed_html(URL, page).startswith(f'<!doctype html><base href="{base}" target="_blank"><html>')


async def test_words_are_marked_in_the_forms_of_the_language_that_the_page_has() -> None:
    for language, is_marked in (("de-AT", True), ("en", False)):
        stored = records(f"<html lang={language}><body><p>Die Tabelle ist voll".encode())
        page = with_said(stored_page(URL, stored), await read_here(URL, stored))
        assert (">Tabelle</mark>" in framed_html(URL, page, "Tabellen")) == is_marked


def test_plain_text_is_not_taken_for_markup() -> None:
    page = stored_page(URL, records(b"<script>1</script><base href=http://evil.test/>", "text/plain"))
    framed = framed_html(URL, page)
    assert "<script>" not in framed
    assert f'<base href="{URL}"' in framed


@pytest.mark.parametrize("opener", [b" ", b"<base ", b"<base href=", b"<??>", b"<!---->"])
def test_a_copy_is_decoded_in_linear_time_by_whoever_is_asked_for_it(opener: bytes) -> None:
    """It is anybody's to ask for, and its author's to write: 20,000 spaces behind `<base` held a peer 8 s."""
    stored = records(b"<base href" + opener * (65_536 // len(opener)) + b"x")
    assert processor_seconds(lambda: framed_html(URL, stored_page(URL, stored))) < 0.5
