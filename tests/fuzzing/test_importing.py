"""Files that are imported are anybody's: whatever is in them costs that page at most."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
import zstandard

from mesh.errors import ConfigError, CorruptionError
from peers.crawler.model.wire_messages import LinkUse
from peers.importing.checkpoint import Checkpoint
from peers.importing.json_lines import Line, entry_of, read_lines
from peers.importing.packed_file import DICTIONARY_MAGIC, packing_of
from peers.importing.page import NoPage, PageNotKept, page_of_entry, page_of_record
from peers.importing.positions import FileDamage, Position
from peers.importing.tianwang import PACKAGE_BEGIN, read_described, read_package, read_raw, read_soif
from peers.importing.warc_file import Record, read_warc
from tests.fuzzing.harness import Fuzzer, unharmed
from tests.peers.importing.test_tianwang import described, raw, soif, web_object
from tests.warc_maker import record_of

OLD_PACKAGE = PACKAGE_BEGIN + web_object(1) + web_object(2)
OLD_DESCRIPTION = described(b"http://a.test/1 8 %d" % len(web_object(1)))
REFUSALS = (NoPage, PageNotKept, CorruptionError)
HTML = "<title>标题</title><h1>a</h1><a href='/b'>正文 text</a> ".encode() * 20


def with_response(head: bytes, body: bytes) -> bytes:
    """A record as other crawlers write them, with codings of the transfer left in."""
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + head + b"\r\n\r\n" + body
    return (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: <http://a.test/c>\r\n"
        b"WARC-Date: 2024-05-06T07:08:09Z\r\nWARC-IP-Address: 203.0.113.9\r\n"
        b"Content-Type: application/http;\r\n msgtype=response\r\nContent-Length: %d\r\n\r\n" % len(block)
    ) + b"%b\r\n\r\n" % block


RECORDS = [
    *(gzip.decompress(record_of(f"http://a.test/{number}", HTML, 1_000.0)) for number in range(3)),
    with_response(b"Content-Encoding: gzip", gzip.compress(HTML)),
    with_response(b"Transfer-Encoding: chunked", b"%x\r\n%b\r\n0\r\n\r\n" % (len(HTML), HTML)),
]
PLAIN = [b"".join(RECORDS), b"".join(RECORDS).replace(b"\r\n", b"\n"), *RECORDS]
ENTRY = {"url": "http://a.test/", "title": "标题", "text": "a\nb", "headings": "a", "date": "2024-03-05"}
LINES = [
    b"".join(json.dumps(ENTRY | {"fetched_at": at}).encode() + b"\n" for at in (None, 1e9, "2024-06-01")),
    json.dumps(ENTRY | {"type": "text/plain", "language": "zh-CN"}, ensure_ascii=False).encode(),
]


def zstd(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def with_dictionary(data: bytes) -> bytes:
    words = b"".join(RECORDS)
    packed = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(words)).compress(data)
    return DICTIONARY_MAGIC + len(words).to_bytes(4, "little") + words + packed


def members(data: bytes) -> bytes:
    """In two gzip members, cut anywhere."""
    out = io.BytesIO()
    for part in (data[: len(data) // 3], data[len(data) // 3 :]):
        out.write(gzip.compress(part, 1))
    return out.getvalue()


def read_pages(data: bytes) -> None:
    for found in read_warc(packing_of(data)):
        if isinstance(found, Record):
            next(read_warc(packing_of(data), found.after), None)
            _make(partial(page_of_record, found, LinkUse.FETCH))


def read_entries(data: bytes) -> None:
    for found in read_lines(packing_of(data)):
        if isinstance(found, Line):
            next(read_lines(packing_of(data), found.after), None)
            _make(partial(_page_of_line, found.text))


def _page_of_line(line: bytes) -> object:
    return page_of_entry(entry_of(line), 1e9, LinkUse.FETCH)


def _make(make: Callable[[], object]) -> None:
    try:
        make()
    except REFUSALS:
        pass


PACKINGS = [bytes, gzip.compress, members, zstd, with_dictionary]


@pytest.mark.inputs(1_500)
@pytest.mark.parametrize("pack", PACKINGS, ids=lambda pack: pack.__name__)
def test_no_damage_to_a_packed_file_harms_who_imports_it(
    fuzzer: Fuzzer, pack: Callable[[bytes], bytes]
) -> None:
    with unharmed():
        fuzzer.check(read_pages, list(map(pack, PLAIN)), refusals=(CorruptionError,))


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=lambda pack: pack.__name__)
def test_no_records_that_were_packed_well_harm_who_imports_them(
    fuzzer: Fuzzer, pack: Callable[[bytes], bytes]
) -> None:
    with unharmed():
        fuzzer.check(lambda data: read_pages(pack(data)), PLAIN)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=lambda pack: pack.__name__)
def test_no_lines_harm_who_imports_them(fuzzer: Fuzzer, pack: Callable[[bytes], bytes]) -> None:
    with unharmed():
        fuzzer.check(lambda data: read_entries(pack(data)), LINES)


@pytest.mark.parametrize(
    ("read", "sample"),
    [
        (read_raw, raw(1) + raw(2, is_packed=True) + raw(3)),
        (read_package, OLD_PACKAGE),
        (lambda data: read_described(data, OLD_PACKAGE), OLD_DESCRIPTION),
        (lambda data: read_described(OLD_DESCRIPTION, data), OLD_PACKAGE),
        (read_soif, soif(1) + soif(2)),
    ],
    ids=["raw", "package", "description", "described", "soif"],
)
def test_no_file_of_an_older_engine_harms_an_import(
    fuzzer: Fuzzer, read: Callable[[bytes], Iterator[Record | Line | FileDamage]], sample: bytes
) -> None:
    def take(data: bytes) -> None:
        for found in read(data):
            if isinstance(found, Record):
                _make(partial(page_of_record, found, LinkUse.FETCH))
            elif isinstance(found, Line):
                _make(partial(_page_of_line, found.text))

    with unharmed():
        fuzzer.check(take, [sample])


def test_no_file_for_a_checkpoint_harms_an_import(fuzzer: Fuzzer, tmp_path: Path) -> None:
    path, file = tmp_path / "import.json", tmp_path / "a.warc"
    file.write_bytes(b"WARC/1.0")
    checkpoint = Checkpoint(path, "me")
    checkpoint.note(file, Position(5, 3))
    checkpoint.save()

    def take_up(data: bytes) -> None:
        path.write_bytes(data)
        position = Checkpoint(path, "me").position_in(file)
        assert position is None or list(read_warc(packing_of(file.read_bytes()), position)) is not None

    with unharmed():
        fuzzer.check(take_up, [path.read_bytes()], refusals=(ConfigError,))
