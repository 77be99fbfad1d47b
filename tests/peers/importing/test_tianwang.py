"""Files of older engines: read whole, damaged and hostile."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator

import pytest

from peers.crawler.model.wire_messages import LinkUse
from peers.importing.json_lines import Line, entry_of
from peers.importing.page import page_of_entry, page_of_record
from peers.importing.positions import FileDamage, Position
from peers.importing.tianwang import PACKAGE_BEGIN, read_described, read_package, read_raw, read_soif
from peers.importing.warc_file import Record
from tests.processor import processor_seconds

OBJECT_OF_1_MB = struct.pack(">6sHHIIqq", b"\xffWEBO\x01", 0, 1, 1_000_000, 0, 1, 0) + b"u" * 1_000_001
DATE = "Tue, 15 Apr 2003 08:13:06 GMT"
AT = 1_050_394_386


def raw(number: int, *, is_packed: bool = False, more: str = "") -> bytes:
    block = b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n<title>Page %d</title>words version: 1.0\n" % number
    data = zlib.compress(block) if is_packed else block
    length = f"unzip-length: {len(block)}\n" if is_packed else ""
    head = f"version: 1.0\nurl: http://a.test/{number}\n{more}date: {DATE}\nip: 162.105.129.12\n{length}"
    return f"{head}length: {len(data)}\n\n".encode() + data + b"\n"


def web_object(number: int) -> bytes:
    media_type, url, body = b"text/html; charset=gbk", b"http://a.test/%d" % number, "北大".encode("gbk")
    sizes = (len(media_type), len(url), len(body), 12, AT * 1_000, 0)
    return struct.pack(">6sHHIIqq", b"\xffWEBO\x01", *sizes) + media_type + url + body


def soif(number: int) -> bytes:
    text = f"text of {number}\nwith }} and @".encode()
    return b"@FILE { http://a.test/%d\nTitle{4}:\tA\n b\nFull-Text{%d}:\t%s\nUpdate-Time{10}:\t%d\n}\n\n" % (
        number,
        len(text),
        text,
        AT,
    )


def urls(found: Iterator[Record | Line | FileDamage]) -> list[str]:
    return [
        f"damage at {each.offset}"
        if isinstance(each, FileDamage)
        else each.headers["warc-target-uri"]
        if isinstance(each, Record)
        else entry_of(each.text).url
        for each in found
    ]


def test_a_raw_store_has_pages_packed_or_not_and_properties_that_nobody_knows() -> None:
    data = raw(1) + raw(2, is_packed=True, more="origin: http://a.test/0\nnobody-knows: x\n") + raw(3)
    records = [each for each in read_raw(data) if isinstance(each, Record)]
    pages = [page_of_record(each, LinkUse.TEXT) for each in records]
    assert [page.url for page in pages] == [f"http://a.test/{number}" for number in (1, 2, 3)]
    assert {page.fetched_at for page in pages} == {AT}
    assert [page.document.title for page in pages if page.document] == ["Page 1", "Page 2", "Page 3"]
    assert urls(read_raw(data, records[0].after)) == ["http://a.test/2", "http://a.test/3"]


def test_what_is_damaged_in_a_raw_store_costs_itself_only() -> None:
    records = [raw(number, is_packed=number % 2 == 0) for number in range(8)]
    torn = records[2][:-20]  # shorter than it says
    data = b"".join([*records[:2], torn, *records[3:6], b"garbage version: 1.0\nurl: x\n\n", *records[6:]])
    found = urls(read_raw(data))
    assert [url for url in found if url.startswith("http")] == [
        f"http://a.test/{number}" for number in (0, 1, 3, 4, 5, 6, 7)
    ]
    assert found[2] == f"damage at {len(records[0] + records[1])}"
    assert sum(url.startswith("damage") for url in found) == 2
    assert urls(read_raw(records[0] + records[1][:-30])) == [
        "http://a.test/0",
        f"damage at {len(records[0])}",
    ]


@pytest.mark.parametrize(
    "change",
    [
        (b"version: 1.0", b"version: 7.0"),
        (b"url: ", b"uri: "),
        (b"date: Tue, 15", b"date: xyz, no"),
        (b"ip: 162", b"url: 162"),
        (b"length: ", b"length: 9"),
    ],
)
def test_rules_of_a_record_are_kept(change: tuple[bytes, bytes]) -> None:
    assert urls(read_raw(raw(1).replace(*change))) == ["damage at 0"]


def test_what_is_packed_otherwise_than_it_says_is_told() -> None:
    packed = raw(2, is_packed=True)
    for wrong in (
        packed.replace(b"unzip-length: 8", b"unzip-length: 9"),
        packed.replace(b"\n\nx\x9c", b"\n\nx\0"),
    ):
        assert urls(read_raw(wrong + raw(3))) == ["damage at 0", "http://a.test/3"]


def test_packages_have_web_objects_and_go_on_behind_what_is_none() -> None:
    data = PACKAGE_BEGIN + web_object(1) + b"garbage" + web_object(2) + web_object(3)[:-1]
    found = list(read_package(data))
    assert [isinstance(each, FileDamage) for each in found] == [False, True, False, True]
    record = found[0]
    assert isinstance(record, Record)
    page = page_of_record(record, LinkUse.TEXT)
    assert (page.url, page.fetched_at, page.document and page.document.text) == (
        "http://a.test/1",
        AT,
        "北大",
    )
    assert urls(read_package(data, Position(record.after.offset)))[1] == "http://a.test/2"


def test_soif_has_values_of_any_bytes_and_goes_on_behind_what_is_none() -> None:
    data = soif(1) + b"@FILE { http://a.test/x\nTitle{99}:\tcut\n" + soif(2) + soif(3)
    found = list(read_soif(data))
    assert urls(iter(found))[0::2] == ["http://a.test/1", "http://a.test/2"]
    line = found[0]
    assert isinstance(line, Line)
    page = page_of_entry(entry_of(line.text), 1.0, LinkUse.TEXT)
    assert page.document is not None
    assert (page.document.title, page.fetched_at) == ("A b", AT)
    assert page.document.text == "text of 1\nwith } and @"


def described(*lines: bytes) -> bytes:
    return (
        struct.pack(">6shhqq", b"\xffWOPD\x01", 1, 2, AT * 1_000, 0) + b"\r\n" + b"\r\n".join(lines) + b"\r\n"
    )


def test_a_description_leads_to_the_objects_past_what_is_damaged() -> None:
    objects = [web_object(number) for number in range(4)]
    package = PACKAGE_BEGIN + objects[0] + b"\0" * len(objects[1]) + objects[2] + objects[3]
    size, begin = len(objects[0]), len(PACKAGE_BEGIN)
    lines = [b"http://a.test/%d %d %d" % (number, begin + number * size, size) for number in range(4)]
    description = described(*lines, b"nothing", b"http://a.test/0 8 %d" % size)
    found = list(read_described(description, package))
    assert urls(iter(found))[::2] == [
        "http://a.test/0",
        "http://a.test/2",
        f"damage at {len(described(*lines))}",
    ]
    damages = [each.what for each in found if isinstance(each, FileDamage)]
    assert damages == [
        "http://a.test/1 is not in the package where this says",
        "a line that describes no object",
        "http://a.test/0 is not in the package where this says",  # twice
    ]
    (first, *_) = found
    assert isinstance(first, Record)
    assert urls(read_described(description, package, first.after))[:4] == urls(iter(found[1:5]))


def test_a_description_that_is_wrong_brings_no_page_under_another_name() -> None:
    package = PACKAGE_BEGIN + web_object(1)
    size = len(web_object(1))
    for line in (
        b"http://b.test/1 8 %d" % size,
        b"http://a.test/1 8 %d" % (size - 1),
        b"http://a.test/1 9 99",
    ):
        (damage,) = read_described(described(line), package)
        assert isinstance(damage, FileDamage)


def test_references_are_links_with_their_texts_and_no_weights() -> None:
    value = b"http://b.test/\nhttp://c.test/ 500\nhttp://d.test/\tsome  words\n"
    data = b"@FILE { http://a.test/\nTitle{1}:\tA\nURL-References{%d}:\t%s\n}\n" % (len(value), value)
    (line,) = read_soif(data)
    assert isinstance(line, Line)
    page = page_of_entry(entry_of(line.text), 1.0, LinkUse.TEXT)
    assert page.document is not None
    assert (page.document.title, page.document.text, page.document.boilerplate) == ("A", "", "")
    assert [(link.url, link.anchor) for link in page.links] == [
        ("http://b.test/", ""), ("http://c.test/", ""), ("http://d.test/", "some words"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("read", "hostile"),
    [
        (read_raw, b"version: 1.0\n"),
        (read_raw, b"version:"),
        (read_raw, b"version: 1.0\nurl: a\ndate: " + DATE.encode() + b"\nlength: 99999\n\n"),
        (read_package, b"\xffWEBO\x01"),
        (lambda data: read_described(described(data), data), b"http://a.test/ 8 9999999\n"),
        (
            lambda data: read_described(described(data), PACKAGE_BEGIN + OBJECT_OF_1_MB),
            b"http://b.test/ 8 9999999\n",
        ),
        (read_soif, b"\n@A{a A{9999999}:\t"),
        (read_soif, b"\n@A{"),
    ],
)
def test_hostile_files_cost_linear_time(
    read: Callable[[bytes], Iterator[Record | Line | FileDamage]], hostile: bytes
) -> None:
    data = hostile * (1_000_000 // len(hostile))
    assert processor_seconds(lambda: list(read(data))) < 10
