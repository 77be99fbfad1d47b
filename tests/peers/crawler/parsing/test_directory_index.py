"""Directories as servers list them: what is one, what its entries are, and what only looks like one."""

from __future__ import annotations

import gzip
import lzma
from datetime import UTC, datetime
from time import process_time
from urllib.parse import unquote_to_bytes

import pytest
import zstandard

from peers.crawler.model.messages import PageParsed, ParseFailed
from peers.crawler.parsing.directory_index import READ_CHARS_MAX, is_left_unread
from peers.crawler.parsing.extraction import extract
from peers.crawler.parsing.packed_list import unpacked
from peers.engine.pages.directory_entries import ENTRIES_MAX, Entry, entries_in
from peers.engine.pages.document import content_digest
from peers.engine.pages.kinds import LISTING
from tests.helpers import fetched
from tests.peers.crawler.parsing.directory_samples import (
    APACHE_PLAIN,
    APACHE_PRE,
    APACHE_TABLE,
    CADDY,
    H5AI,
    IIS,
    LIGHTTPD,
    LS_LR,
    NGINX,
    NGINX_JSON,
    PYTHON,
    SERVE,
    nginx_page,
)

URL = "http://files.test/pub/linux/"
HTML = "text/html;charset=utf-8"


def read(body: str | bytes, url: str = URL, media_type: str = HTML) -> PageParsed:
    octets = body.encode() if isinstance(body, str) else body
    parsed = extract(fetched(url, body=octets, headers=(("Content-Type", media_type),)), 1)
    assert isinstance(parsed, PageParsed)
    return parsed


def entries_of(parsed: PageParsed) -> list[Entry]:
    assert parsed.document is not None
    assert parsed.document.type == LISTING
    return list(entries_in(parsed.document.text, parsed.document.heading_ids))


def at(year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0) -> int:
    return int(datetime(year, month, day, hour, minute, second, tzinfo=UTC).timestamp())


@pytest.mark.parametrize(
    ("body", "known"),
    [
        (
            NGINX,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30)),
                Entry("linux-6.1.tar.xz", 134_728_520, date=at(2022, 12, 11, 22, 20)),
                Entry("Release Notes & more.html", 5_120, date=at(2024, 2, 29, 23, 59)),
                Entry(
                    "a-very-long-name-of-a-file-that-nginx-cuts-in-its-column.iso",
                    4_700_000_000,
                    date=at(2023, 5, 1),
                ),
            ],
        ),
        (
            APACHE_PRE,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30)),
                Entry("linux-6.1.tar.xz", 128 << 20, True, at(2022, 12, 11, 22, 20)),
                Entry("a-very-long-name-of-a-file.iso", int(4.4 * 2**30), True, at(2023, 5, 1)),
                Entry("README", 812, date=at(2021, 3, 4, 5, 6)),
            ],
        ),
        (
            APACHE_TABLE,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30)),
                Entry("linux-6.1.tar.xz", 128 << 20, True, at(2022, 12, 11, 22, 20)),
                Entry("notes.txt", int(1.2 * 1024), True, at(2021, 3, 4, 5, 6)),
            ],
        ),
        (APACHE_PLAIN, [Entry("old/"), Entry("linux-6.1.tar.xz"), Entry("notes.txt")]),
        (
            LIGHTTPD,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30, 1)),
                Entry("linux-6.1.tar.xz", int(128.5 * 2**20), True, at(2022, 12, 11, 22, 20, 59)),
            ],
        ),
        (PYTHON, [Entry("old/"), Entry("linux-6.1.tar.xz"), Entry("notes & more.txt")]),
    ],
)
def test_each_server_lists_names_sizes_and_dates(body: str, known: list[Entry]) -> None:
    parsed = read(body)
    assert entries_of(parsed) == sorted(known)
    assert parsed.document is not None
    assert parsed.document.title.rstrip("/").endswith(" /pub/linux") or " for /pub" in parsed.document.title


@pytest.mark.parametrize(
    ("body", "known"),
    [
        (
            CADDY,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30, 1)),
                Entry("linux 6.1.tar.xz", 134_728_520, date=at(2022, 12, 11, 22, 20, 59)),
            ],
        ),
        (
            IIS,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30)),
                Entry("linux 6.1.tar.xz", 134_728_520, date=at(2022, 12, 11, 15, 20)),
                Entry("README", 812, date=at(2023, 5, 31, 12, 5)),
            ],
        ),
        (
            H5AI,
            [
                Entry("old/", date=at(2024, 1, 2, 10, 30)),
                Entry("linux 6.1.tar.xz", 134_728_000, True, at(2022, 12, 11, 22, 20)),
            ],
        ),
        (SERVE, [Entry("old/"), Entry("linux 6.1.tar.xz")]),
    ],
    ids=["Caddy", "IIS", "h5ai", "serve"],
)
def test_servers_with_styles_of_their_own_are_read_as_well(body: str, known: list[Entry]) -> None:
    parsed = read(body)
    assert entries_of(parsed) == sorted(known)
    assert "http://files.test/pub/linux/old/" in [link.url for link in parsed.links]
    assert not any(link.url.endswith("tar.xz") for link in parsed.links)
    elsewhere = read(body, "http://files.test/other/")
    assert elsewhere.document is not None
    assert elsewhere.document.type == "text/html"


def test_nginx_lists_in_json_too() -> None:
    parsed = read(NGINX_JSON, media_type="application/json")
    assert entries_of(parsed) == [
        Entry("old/", date=at(2024, 1, 2, 10, 30)),
        Entry("数据 2024.zip", 1_234, date=at(2024, 1, 3, 1, 2, 3)),
    ]
    assert parsed.document is not None
    assert parsed.document.title == "/pub/linux/"
    assert [link.url for link in parsed.links] == [URL + "old/"]
    barred = (("Content-Type", "application/json"), ("X-Robots-Tag", "nofollow"))
    silent = extract(fetched(URL, body=NGINX_JSON.encode(), headers=barred), 1)
    assert isinstance(silent, PageParsed)
    assert silent.links == ()


def test_names_in_json_and_ls_lr_may_each_be_in_another_encoding() -> None:
    body = NGINX_JSON.encode().replace("数据 2024.zip".encode(), "数据 2024.zip".encode("gbk"))
    body = body.replace(b'"old"', '"旧的"'.encode())
    entries = entries_of(read(body, media_type="application/json"))
    assert [entry.name for entry in entries] == ["数据 2024.zip", "旧的/"]
    assert [entry.address for entry in entries] == ["%CA%FD%BE%DD%202024.zip", ""]
    body = LS_LR.encode().replace("今年的".encode(), "今年的".encode("gbk"))
    last = entries_of(read(body, "http://files.test/pub/ls-lR", "text/plain"))[-1]
    assert (last.name, last.address) == ("linux/今年的.pdf", "linux/%BD%F1%C4%EA%B5%C4.pdf")


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("ls-lR.gz", gzip.compress(LS_LR.encode())),
        ("ls-lR.xz", lzma.compress(LS_LR.encode())),
        ("ls-lR.zst", zstandard.ZstdCompressor().compress(LS_LR.encode())),
        ("ls-lR.gz", LS_LR.encode()),
    ],
)
def test_a_packed_listing_is_read_whatever_its_server_calls_it(name: str, packed: bytes) -> None:
    for media_type in ("application/gzip", "application/octet-stream", "application/x-xz", "text/plain"):
        known = entries_of(read(packed, f"http://files.test/{name}", media_type))
        assert known == entries_of(read(LS_LR, "http://files.test/ls-lR", "text/plain"))


def test_a_packed_bomb_costs_what_is_read_of_a_listing() -> None:
    line = b"-rw-r--r-- 1 f f 9 Jan 05 2024 a\n"
    for packed in (
        gzip.compress(line * 4_000_000, 1),
        lzma.compress(line * 4_000_000, preset=0),
        zstandard.ZstdCompressor().compress(line * 4_000_000),
    ):
        assert unpacked(packed) == (line * 200_000)[:READ_CHARS_MAX]


def test_what_is_packed_otherwise_or_no_listing_is_not_read() -> None:
    costly = lzma.compress(LS_LR.encode(), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 28}])
    assert unpacked(costly) == b""
    for body in (costly, gzip.compress(b"a" * 999), b"\xfd7zXZ\0torn", b"PK\3\4"):
        answer = fetched(
            "http://files.test/ls-lR.gz", body=body, headers=(("Content-Type", "application/gzip"),)
        )
        assert isinstance(extract(answer, 1), ParseFailed)


def test_a_listing_of_all_directories_has_paths_and_exact_sizes() -> None:
    parsed = read(LS_LR, "http://files.test/pub/ls-lR", "text/plain")
    assert entries_of(parsed) == [
        Entry("README", 812, date=at(2021, 3, 4)),
        Entry("linux/"),
        Entry("linux/latest.tar.xz", date=at(2023, 1, 1)),
        Entry("linux/linux-6.1.tar.xz", 134_728_520, date=at(2022, 12, 11, 22, 20, 1)),
        Entry("linux/今年的.pdf", 99),
    ]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("%E6%95%B0%E6%8D%AE.zip", "数据.zip"),  # UTF-8
        ("%CA%FD%BE%DD.zip", "数据.zip"),  # GBK
        ("%ED%B3%8A%ED%B3%BD%ED%B2%BE%ED%B3%9D.zip", "数据.zip"),  # GBK, as Python escapes it
        ("a%20b%26c.zip", "a b&c.zip"),
        ("caf%C3%A9.zip", "café.zip"),
        ("%E5%B9%B4%E9%89%B4%E3%80%802020.zip", "年鉴 2020.zip"),  # an ideographic blank
        ("a%20%20b.zip", "a b.zip"),
        ("%F0%9F%AB%A9.zip", "\U0001fae9.zip"),  # of a Unicode newer than some Pythons
        ("x%E2%80%AEgpj.exe", "xgpj.exe"),  # written from right to left
    ],
)
def test_names_are_read_in_utf_8_and_else_in_gbk_and_keep_their_addresses(address: str, name: str) -> None:
    [entry] = entries_of(read(nginx_page([(address, name)])))
    assert entry.name == name
    assert unquote_to_bytes(entry.href) == unquote_to_bytes(address)


def test_no_file_is_fetched_of_which_nothing_would_be_read_and_no_other_order_of_the_same() -> None:
    urls = {link.url for link in read(APACHE_PRE).links}
    assert urls == {"http://files.test/pub/", URL + "old/", URL + "README"}
    assert [link.url for link in read(NGINX).links if "." in link.url.rpartition("/")[2]] == [
        URL + "Release%20Notes%20&%20more.html"
    ]
    assert is_left_unread(Entry("large.pdf", 1 << 40))
    assert not is_left_unread(Entry("small.pdf", 1 << 10))


def test_a_directory_in_another_order_is_a_copy() -> None:
    rows = [(f"{name}.txt", f"{name}.txt") for name in ("a", "b", "c")]
    first, other = (
        read(nginx_page(order).replace("      0\r", "      7\r").replace("      2\r", "      7\r"), url)
        for order, url in ((rows, URL), (rows[::-1], URL + "?C=N;O=D"))
    )
    assert first.document is not None
    assert other.document is not None
    assert content_digest(first.document) == content_digest(other.document)
    assert first.digest == other.digest


def test_a_listing_is_the_same_as_long_as_its_entries_are() -> None:
    first = read(NGINX)
    around = NGINX.replace("</body>", "<p>nginx/1.99, 17 visitors</p></body>").replace("bgcolor", "class")
    assert around != NGINX
    assert (read(around).digest, read(around).text_mark) == (first.digest, first.text_mark)
    for changed in (
        NGINX.replace("134728520", "134728521"),
        NGINX.replace("22:20", "22:21"),
        NGINX.replace("linux-6.1", "linux-6.2"),
    ):
        assert read(changed).digest != first.digest
        assert read(changed).text_mark != first.text_mark


@pytest.mark.parametrize("wish", ["noarchive", "nosnippet"])
def test_a_listing_with_other_wishes_for_robots_is_another(wish: str) -> None:
    """It counted as unchanged, so it was shown for ever as before it asked for that."""
    first = read(NGINX)
    said = NGINX.replace("<title>", f'<meta name="robots" content="{wish}"><title>')
    assert said != NGINX
    headers = (("Content-Type", HTML), ("X-Robots-Tag", wish))
    tagged = extract(fetched(URL, body=NGINX.encode(), headers=headers), 1)
    assert isinstance(tagged, PageParsed)
    for wishing in (read(said), tagged):
        assert wishing.document is not None
        assert wishing.document.type == LISTING
        assert wishing.digest != first.digest


PROSE = "<p>Some text</p>" * 20


@pytest.mark.parametrize(
    ("body", "url"),
    [
        (NGINX, "http://files.test/other/"),  # the title is of another directory
        (NGINX.replace("Index of /pub", "Files of /pub"), URL),
        (NGINX.replace('">old/', '">The old files'), URL.replace("linux", "lynx")),
        (nginx_page([("x.html", "An article about x"), ("y.html", "Another one about y")]), URL),
        (nginx_page([("a.txt", "a.txt"), *[(f"http://b.test/{n}", f"b {n}") for n in range(9)]]), URL),
        (nginx_page([]), URL),
        ("<title>Index of /pub/linux/</title>" + PROSE, URL),
        ("<title>Index of /pub/linux/: a book</title><a href=a.html>a.html</a>", URL),
        (
            '<title>Index of /</title><a href="//evil.test/a">a</a><a href="javascript:a">a</a>',
            "http://a.test/",
        ),
        ('<title>Index of /</title><a href="%2e%2e%2fetc">../etc</a>', "http://a.test/"),
    ],
)
def test_what_only_looks_like_a_directory_stays_a_page(body: str, url: str) -> None:
    document = read(body, url).document
    assert document is not None
    assert document.type == "text/html"


@pytest.mark.parametrize(
    ("body", "media_type", "url"),
    [
        ('[\r\n{ "name":"a", "type":"file", "mtime":"soon", "size":1 }]', "application/json", URL),
        (
            '[\r\n{ "name":"a/b", "type":"file", "mtime":"Tue, 02 Jan 2024 10:30:00 GMT" }]',
            "application/json",
            URL,
        ),
        ('[\r\n{ "name":"a", "type":"song" }]', "application/json", URL),
        ('[\r\n{ "name":"' + "[" * 100_000, "application/json", URL),
        ("How to read ls-lR:\n" + LS_LR[:120] + "\nand so on" * 9, "text/plain", "http://a.test/ls-lR"),
        (LS_LR, "text/plain", "http://a.test/notes.txt"),
    ],
)
def test_nor_is_other_json_or_text(body: str, media_type: str, url: str) -> None:
    document = read(body, url, media_type).document
    assert document is not None
    assert document.type == media_type


def test_a_huge_directory_is_read_as_far_as_the_limit() -> None:
    rows = [(f"file{n}.dat", f"file{n}.dat") for n in range(ENTRIES_MAX + 500)]
    parsed = read(nginx_page(rows))
    assert len(entries_of(parsed)) <= ENTRIES_MAX
    assert len(entries_of(parsed)) >= ENTRIES_MAX - 1


@pytest.mark.parametrize(
    "row",
    [
        "<a ",
        '<a href="',
        '<a href="a">',
        '<a href="a">a</a>' + " " * 300,
        '<a href="a">a</a> 2024-01-01 10:00' + " " * 60,
        "<a " + " href" * 50,
        '<a href="%' + "2" * 100 + '">a</a>',
        '<a href="a">' + "<" * 100,
    ],
)
def test_a_hostile_directory_costs_linear_time(row: str) -> None:
    def seconds(n: int) -> float:
        body = "<title>Index of /pub/linux/</title>" + row * n
        begun = process_time()
        read(body)
        return process_time() - begun

    n = 200_000 // len(row)
    assert seconds(4 * n) < 12 * seconds(n) + 0.2


def test_a_packed_answer_is_read_as_well() -> None:
    answer = fetched(
        URL, body=gzip.compress(NGINX.encode()), headers=(("Content-Type", HTML),), codings="gzip"
    )
    parsed = extract(answer, 1)
    assert isinstance(parsed, PageParsed)
    assert len(entries_of(parsed)) == 4


@pytest.mark.parametrize("deep", [0, 9_000])
def test_json_that_nests_without_end_stays_a_page(deep: int) -> None:
    beside = f', "beside":{"[" * deep}{"]" * deep}' if deep else ""
    body = NGINX_JSON.replace('"type"', f'"type":"file"{beside}, "type"', 1)
    parsed = read(body, media_type="application/json")
    assert parsed.document is not None
    assert (parsed.document.type == LISTING) is (deep == 0)


@pytest.mark.parametrize("folder", ["x", "中"])
def test_a_hostile_path_in_a_listing_of_all_directories_costs_linear_time(folder: str) -> None:
    def seconds(n: int) -> float:
        row = "-rw-r--r-- 1 a a 1 Jan 01 2020 a\n"
        body = f"{folder * (n * 20)}:\n{row * n}".encode("gbk")
        begun = process_time()
        read(body, "http://files.test/pub/ls-lR", "text/plain")
        return process_time() - begun

    assert seconds(8_000) < 12 * seconds(2_000) + 0.2
