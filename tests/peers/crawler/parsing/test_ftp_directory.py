from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.stamp import Stamp
from mesh.urls import is_canonical
from peers.crawler.model.messages import PageParsed
from peers.crawler.model.web_request import PageFetched
from peers.crawler.parsing.extraction import extract, parse_records
from peers.crawler.parsing.ftp_directory import LINE_OCTETS_MAX, listing_page
from peers.crawler.parsing.parser import NotHtml, ParsedPage
from peers.engine.pages.directory_entries import ENTRIES_MAX, Entry, entries_in
from peers.engine.pages.kinds import LISTING
from peers.storage.archive.warc import parse_response, read_records
from tests.helpers import fetched

URL = "ftp://ftp.a.test/pub/"
FACTS = "text/ftp-dir; format=mlsd"
LINES = "text/ftp-dir; format=list; on=2024-06-10"


def _page(body: bytes, content_type: str = LINES) -> ParsedPage:
    return listing_page(URL, body, content_type)


def _entries(body: bytes, content_type: str = LINES) -> list[Entry]:
    page = _page(body, content_type)
    return [entry for entry in entries_in(page.text, page.heading_ids) if entry.name]


def _days(body: bytes) -> list[tuple[str, int, str]]:
    return [(entry.name, entry.size, entry.day) for entry in _entries(body)]


def test_rfc3659_7_2_facts_tell_names_sizes_and_dates() -> None:
    body = (
        b"Type=cdir;Modify=20240531120000;UNIX.mode=0755; /pub\r\n"
        b"type=pdir; ..\r\n"
        b"Size=3000;TYPE=file;Modify=20240531120000.123;Perm=r; with blanks; and a semicolon.iso\r\n"
        b"modify=20200102030405;type=dir; old\r\n"
        b"type=OS.unix=slink:/pub;modify=20240101000000; circle\r\n"
        b"type=file;size=many;modify=20249999000000; odd\r\n"
        b"no facts\r\n"
    )
    assert _entries(body, FACTS) == [
        Entry("circle", -1, False, 1_704_067_200),
        Entry("facts", -1, False, 0),
        Entry("odd", -1, False, 0),
        Entry("old/", -1, False, 1_577_934_245),
        Entry("with blanks; and a semicolon.iso", 3_000, False, 1_717_156_800),
    ]


def test_lines_of_unix_are_read_in_the_forms_that_servers_write() -> None:
    body = (
        b"total 12\r\n"
        b"drwxr-xr-x    2 ftp      ftp          4096 May 31  2024 old\r\n"
        b"-rw-r--r--    1 1000     users        3000 Jun 09 12:00 new.iso\r\n"
        b"-rw-r--r--    1 owner    group      123456 Nov 30 23:59 of last year.zip\r\n"
        b"-rw-r--r--    1 ftp             77 Jan  5  2020 without group\r\n"
        b"-rw-rw-r--+   1 a b 12345678901 2023-02-03 04:05 iso date\r\n"
        b"-rw-r--r--   1 a b 5 31 May 2024 day first\r\n"
        b"lrwxrwxrwx    1 ftp      ftp            11 May 31  2024 latest -> old/v 1\r\n"
        b"-rw-r--r--    1 ftp      ftp            11 Feb 30  2024 no such day\r\n"
        b"drwxr-xr-x    2 ftp      ftp          4096 May 31  2024 ..\r\n"
        b"-rw-r--r--    1 ftp      ftp          4096 May 31  2024 ../../etc/passwd\r\n"
    )
    assert _days(body) == [
        ("day first", 5, "2024-05-31"),
        ("iso date", 12_345_678_901, "2023-02-03"),
        ("latest", -1, "2024-05-31"),
        ("new.iso", 3_000, "2024-06-09"),
        ("no such day", 11, ""),
        ("of last year.zip", 123_456, "2023-11-30"),
        ("old/", -1, "2024-05-31"),
        ("without group", 77, "2020-01-05"),
    ]


def test_a_file_keeps_its_date_when_its_server_shortens_it() -> None:
    recent = _page(b"-rw-r--r-- 1 f f 9 Jan 05 12:34 a", "text/ftp-dir; format=list; on=2024-06-10")
    later = _page(b"-rw-r--r-- 1 f f 9 Jan 05  2024 a", "text/ftp-dir; format=list; on=2024-09-01")
    assert recent.heading_ids == later.heading_ids


def test_lines_of_dos_are_read() -> None:
    body = (
        b"05-31-24  12:00AM       <DIR>          old files\r\n"
        b"12-24-1999  03:30PM            1,234,567 report.doc\r\n"
        b"2-1-24  1:00 odd\r\n"
        b"13-31-24  12:00PM  5 no month\r\n"
    )
    assert _entries(body) == [
        Entry("no month", 5, False, 0),
        Entry("old files/", -1, False, 1_717_113_600),
        Entry("report.doc", 1_234_567, False, 946_049_400),
    ]


@pytest.mark.parametrize("codec", ["utf-8", "gbk"])
def test_names_are_read_in_utf8_else_as_chinese_servers_have_them(codec: str) -> None:
    folder, file = "软件".encode(codec), "年鉴 2019.rar".encode(codec)
    page = _page(b"type=dir; " + folder + b"\r\ntype=file;size=5; " + file, FACTS)
    entries = list(entries_in(page.text, page.heading_ids))
    assert [entry.name for entry in entries] == ["年鉴 2019.rar", "软件/"]
    (link,) = page.links
    assert link.anchor == "软件"
    assert link.url == URL + "".join(f"%{octet:02X}" for octet in folder) + "/"
    below = listing_page(link.url, b"type=file;size=5; " + file, FACTS)
    assert below.title == "ftp.a.test/pub/软件/"


@pytest.mark.parametrize(
    ("octets", "names"),
    [
        ([each.encode("gbk") for each in ("图片", "年鉴")], ["图片", "年鉴"]),
        ([each.encode("gbk") for each in ("图片", "臺灣")], ["图片", "臺灣"]),
        (["图片".encode("gbk")], ["图片"]),
        (["图片".encode("gbk"), "讲义".encode()], ["ͼƬ", "讲义"]),
        (["été".encode(), "größe".encode(), b"r\xe9sum\xe9"], ["größe", "résumé", "été"]),
        ([each.encode() for each in ("дом", "«ñandú»", "Ελλάδα", "əğ")], ["«ñandú»", "əğ", "Ελλάδα", "дом"]),
    ],
)
def test_names_that_could_be_either_are_read_as_most_names_are(octets: list[bytes], names: list[str]) -> None:
    """图片 in GBK is ͼƬ in UTF-8; a name in Latin 1 does not make Chinese of the accents beside it."""
    rows = b"".join(b"type=file; %s.rar\r\n" % each for each in octets)
    found = [entry.name for entry in _entries(rows, FACTS)]
    assert all(any(each.startswith(name) for each in found) for name in names), found
    assert len(found) == len(names)


def test_links_lead_to_directories_alone_and_to_nothing_outside() -> None:
    body = (
        b"type=dir; a?b#c%2F\r\n"
        b"type=dir; //evil.test\r\n"
        b"type=dir; ..\r\n"
        b"type=dir; http:\r\n"
        b"type=file; page.html\r\n"
        b"type=OS.unix=symlink; loop\r\n"
    )
    assert [link.url for link in _page(body, FACTS).links] == [
        URL + "a%3Fb%23c%252F/",
        URL + "http:/",
    ]


ODD_NAMES = (
    "two  blanks.txt",
    "年鉴\u30002020.pdf",
    "no\u00a0break.zip",
    "软\u200b件.iso",
    "\ufeffmark.txt",
    "x\u202egpj.exe",
    "\ue000.txt",
    "\U0001fae9.txt",
    "tab\tname",
    "nul\0",
    "del\x7f",
    "line\u2028end",
    " before",
    "behind ",
)


@pytest.mark.parametrize("mode", [FACTS, LINES])
def test_names_with_what_is_not_seen_are_found_and_lead_to_their_octets(mode: str) -> None:
    """The ideographic blank, direction marks, characters of a newer Unicode and others are in real names."""
    before = "type=file;size=5; " if mode == FACTS else "-rw-r--r-- 1 ftp ftp 5 May 31  2024 "
    entries = _entries("".join(f"{before}{name}\r\n" for name in ODD_NAMES).encode(), mode)
    assert {unquote(entry.href) for entry in entries} == set(ODD_NAMES)
    named = {unquote(entry.href): entry.name for entry in entries}
    assert named["年鉴\u30002020.pdf"] == "年鉴 2020.pdf"
    assert named["软\u200b件.iso"] == "软件.iso"
    assert named["x\u202egpj.exe"] == "xgpj.exe"


def test_names_that_are_shown_alike_are_all_there() -> None:
    body = "".join(f"type=file;size={n}; a{' ' * n}b\r\n" for n in range(1, 4)).encode()
    assert [(entry.name, entry.href) for entry in _entries(body, FACTS)] == [
        ("a b", "a%20b"),
        ("a b", "a%20%20b"),
        ("a b", "a%20%20%20b"),
    ]


def test_a_directory_named_with_a_wide_blank_is_visited() -> None:
    [link] = _page("type=dir; 年鉴\u30002020\r\n".encode(), FACTS).links
    assert unquote(link.url) == f"{URL}年鉴\u30002020/"


def test_more_entries_than_are_kept_are_told_of() -> None:
    body = b"".join(b"type=file; %d\r\n" % number for number in range(ENTRIES_MAX + 1))
    page = _page(body, FACTS)
    assert page.is_cut
    assert len(list(entries_in(page.text, page.heading_ids))) == ENTRIES_MAX


def test_a_line_that_no_file_system_could_make_is_passed_over() -> None:
    assert _entries(b"type=file; " + b"a" * LINE_OCTETS_MAX, FACTS) == []
    assert _entries(b"-rw-r--r-- 1 f f 9 Jan 05 2024 " + b"a" * LINE_OCTETS_MAX) == []


PARTS = (
    *(
        b"type=dir;",
        b"size=",
        b"modify=20240531120000;",
        b" ",
        b"\r\n",
        b"..",
        b"/",
        b"a",
        b"\xb0\xa1",
        b"\0",
    ),
    *(b"drwxr-xr-x 1 f f 9 May 31 2024 ", b"-rw-r--r-- 1 f f 9 Feb 29 12:00 ", b"02-29-23  12:00AM <DIR> "),
)
PIECES = st.one_of(st.sampled_from(PARTS), st.binary(max_size=5))


@given(
    st.lists(PIECES, max_size=30).map(b"".join),
    st.sampled_from([FACTS, LINES, "", "text/ftp-dir; on=9999-99-99"]),
)
def test_any_bytes_are_a_listing(body: bytes, content_type: str) -> None:
    page = _page(body, content_type)
    assert all(is_canonical(link.url) and link.url.startswith(URL) for link in page.links)
    names = [entry.name for entry in entries_in(page.text, page.heading_ids)]
    assert all("/" not in name[:-1] and min(name, default=" ") >= " " for name in names)
    parsed = extract(_fetched(body, content_type=content_type), 1)
    assert isinstance(parsed, PageParsed)
    assert parse_records(URL, Stamp(1, 1e9), parsed.records)[1] == parsed.document


def _fetched(body: bytes, status: int = 200, content_type: str = FACTS) -> PageFetched:
    headers = (("Content-Type", content_type),)
    return PageFetched(URL, status, "OK", "1.1", headers, body, b"GET /pub/", "1.2.3.4", 1e9, 0.1, 99)


def test_a_listing_is_archived_as_it_came_and_read_again_from_there() -> None:
    parsed = extract(_fetched(b"type=file;size=5; %PDF-1.4\r\ntype=dir; <urlset\r\n"), 3)
    assert isinstance(parsed, PageParsed)
    assert parsed.document is not None
    assert parsed.document.type == LISTING
    (record,) = read_records(parsed.records)
    assert (record.kind, record.url, record.headers["content-type"]) == ("resource", URL, FACTS)
    assert parse_response(record).body == record.block
    said, document = parse_records(URL, Stamp(3, 1e9), parsed.records)
    assert document == parsed.document
    assert said.page.links == _page(record.block, FACTS).links


def test_even_one_that_looks_like_a_document_or_a_sitemap_is_a_listing() -> None:
    for body in (b"%PDF-1.4", b"<?xml version='1.0'?><urlset><url><loc>http://a.test/</loc></url></urlset>"):
        parsed = extract(_fetched(body), 1)
        assert isinstance(parsed, PageParsed)
        assert (parsed.links, parsed.is_list) == ((), False)
        assert parsed.document is not None
        assert parsed.document.text == ""


def test_the_digest_is_of_the_entries_in_whatever_order() -> None:
    one = extract(_fetched(b"type=file;size=5; a\r\ntype=file;size=6; b\r\n"), 1)
    two = extract(_fetched(b"type=cdir; .\r\ntype=file;size=6;perm=r; b\r\ntype=file;size=5; a\r\n"), 2)
    three = extract(_fetched(b"type=file;size=6; b\r\ntype=file;size=7; a\r\n"), 3)
    assert isinstance(one, PageParsed)
    assert isinstance(two, PageParsed)
    assert isinstance(three, PageParsed)
    assert one.digest == two.digest != three.digest


def test_links_of_pages_lead_to_ftp_servers_where_that_is_wanted() -> None:
    markup = (
        b"<title>t</title><a href='FTP://ftp.a.test/pub/x.iso?y#z'>the image</a><a href='/b'>b</a>"
        b"<a rel=nofollow href='ftp://ftp.a.test/no/'>no</a><a href='ftp://ftp.a.test'>all</a>"
    )
    page = fetched("http://a.test/", body=markup, headers=(("Content-Type", "text/html"),))
    plain, more = extract(page, 1), extract(page, 1, finds_ftp=True)
    assert isinstance(plain, PageParsed)
    assert isinstance(more, PageParsed)
    assert [link.url for link in plain.links] == ["http://a.test/b"]
    assert [(link.url, link.anchor) for link in more.links] == [
        ("ftp://ftp.a.test/pub/", "the image"),
        ("http://a.test/b", "b"),
        ("ftp://ftp.a.test/", "all"),
    ]
    assert plain.document == more.document


def test_a_directory_that_is_gone_is_a_version_without_an_answer() -> None:
    parsed = extract(_fetched(b"", 404), 2)
    assert isinstance(parsed, PageParsed)
    with pytest.raises(NotHtml):
        parse_records(URL, Stamp(2, 1e9), parsed.records)
