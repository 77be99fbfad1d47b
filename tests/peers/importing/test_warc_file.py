"""Reading WARC files of any origin, whole and damaged; fastwarc and warcio as oracles."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from fastwarc.warc import ArchiveIterator, WarcRecordType
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator as WarcioIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from mesh.errors import CorruptionError
from peers.importing.packed_file import DICTIONARY_MAGIC, ZSTD_MAGIC, packing_of
from peers.importing.positions import FileDamage, Position
from peers.importing.warc_file import Record, read_warc
from peers.storage.archive.warc import RECORD_BYTES_MAX, response_record
from tests.helpers import seen
from tests.warc_maker import record_of

URLS = tuple(f"http://a.test/{number}" for number in range(5))
PLAIN = tuple(gzip.decompress(record_of(url, b"<p>" + url.encode() * 50, 1_000.0)) for url in URLS)
PACKED = tuple(map(gzip.compress, PLAIN))


def read(data: bytes, start: Position = Position(0)) -> list[Record | FileDamage]:  # noqa: B008
    return list(read_warc(packing_of(data), start))


def urls_in(data: bytes, start: Position = Position(0)) -> list[str]:  # noqa: B008
    return [each.headers["warc-target-uri"] for each in read(data, start) if isinstance(each, Record)]


def damages_in(data: bytes) -> list[tuple[int, str]]:
    return [(each.offset, each.what) for each in read(data) if isinstance(each, FileDamage)]


def zstd(*records: bytes) -> bytes:
    return b"".join(map(zstandard.ZstdCompressor().compress, records))


PACKINGS = {
    "plain": b"".join(PLAIN),
    "a member each": b"".join(PACKED),
    "one member": gzip.compress(b"".join(PLAIN)),
    "a frame each": zstd(*PLAIN),
    "one frame": zstd(b"".join(PLAIN)),
    "bare line feeds": b"".join(PLAIN)
    .replace(b"\r\n", b"\n")
    .replace(b"Content-Length: ", b"Content-Length: "),
}


@pytest.mark.parametrize("name", [name for name in PACKINGS if name != "bare line feeds"])
def test_every_packing_gives_the_same_records(name: str) -> None:
    assert urls_in(PACKINGS[name]) == list(URLS)
    assert damages_in(PACKINGS[name]) == []
    blocks = [each.block for each in read(PACKINGS[name]) if isinstance(each, Record)]
    assert blocks == [plain.partition(b"\r\n\r\n")[2][:-4] for plain in PLAIN]


@pytest.mark.parametrize("name", [name for name in PACKINGS if name != "bare line feeds"])
def test_reading_goes_on_behind_any_record(name: str) -> None:
    data = PACKINGS[name]
    for number, record in enumerate(each for each in read(data) if isinstance(each, Record)):
        assert urls_in(data, record.after) == list(URLS[number + 1 :])


def test_heads_with_bare_line_feeds_are_read() -> None:
    head, _, block = PLAIN[0].partition(b"\r\n\r\n")
    data = head.replace(b"\r\n", b"\n") + b"\n\n" + block[:-4] + b"\n\n"
    assert urls_in(data * 2) == [URLS[0]] * 2


def test_zstd_with_a_dictionary_in_front_is_read() -> None:
    samples: list[bytes | bytearray | memoryview] = [
        plain + bytes((number % 256,)) for number in range(200) for plain in PLAIN
    ]
    dictionary = zstandard.train_dictionary(4_096, samples)
    packed = dictionary.as_bytes()
    compressor = zstandard.ZstdCompressor(dict_data=dictionary)
    frames = b"".join(map(compressor.compress, PLAIN))
    for content in (packed, zstandard.ZstdCompressor().compress(packed)):
        data = DICTIONARY_MAGIC + len(content).to_bytes(4, "little") + content + frames
        assert urls_in(data) == list(URLS)
    with pytest.raises(CorruptionError, match="cut or too large"):
        packing_of(DICTIONARY_MAGIC + b"\xff\xff\xff\x7f" + packed)


# warcio leaves its temporary files to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_other_tools_write_is_read_as_they_read_it() -> None:
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True)
    for number in range(20):
        http = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
        body = io.BytesIO(b"x" * number * 1_000)
        writer.write_record(
            writer.create_warc_record(f"http://b.test/{number}", "response", payload=body, http_headers=http)
        )
    data = out.getvalue()
    ours = [(each.headers["warc-target-uri"], each.block) for each in read(data) if isinstance(each, Record)]
    fast = [
        (record.headers["WARC-Target-URI"], record.reader.read())
        for record in ArchiveIterator(
            io.BytesIO(data), parse_http=False, record_types=WarcRecordType.any_type
        )
    ]
    slow = [record.rec_headers.get_header("WARC-Target-URI") for record in WarcioIterator(io.BytesIO(data))]
    assert ours == fast
    assert [url for url, _ in ours] == slow


def test_garbage_between_members_costs_nothing_else() -> None:
    garbage = bytes(range(1, 256)) * 40
    data = PACKED[0] + PACKED[1] + garbage + PACKED[2]
    assert urls_in(data) == [URLS[0], URLS[1], URLS[2]]
    [(offset, what)] = damages_in(data)
    assert offset == len(PACKED[0] + PACKED[1])
    assert what.startswith("not valid gzip")


def test_zeros_between_members_are_padding() -> None:
    data = PACKED[0] + bytes(10_000) + PACKED[1] + bytes(100_000)
    assert urls_in(data) == [URLS[0], URLS[1]]
    assert damages_in(data) == []


def test_a_member_that_is_cut_is_told_with_its_offset() -> None:
    data = PACKED[0] + PACKED[1][:-40]
    assert urls_in(data) == [URLS[0]]
    assert damages_in(data) == [(len(PACKED[0]), "the file ends in the middle of a gzip member")]


def test_a_flipped_bit_costs_one_record() -> None:
    broken = bytearray(PACKED[1])
    broken[len(broken) // 2] ^= 0x40
    assert [url for url in urls_in(PACKED[0] + bytes(broken) + PACKED[2]) if url != URLS[1]] == [
        URLS[0],
        URLS[2],
    ]
    assert damages_in(PACKED[0] + bytes(broken) + PACKED[2])[0][0] == len(PACKED[0])


@pytest.mark.parametrize(("said", "what"), [(b"99999", "says it has"), (b"7", "longer than the 7 bytes")])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_record_of_the_wrong_length_does_not_take_the_next_one_along(
    said: bytes, what: str, pack: object
) -> None:
    assert callable(pack)
    length = PLAIN[1].partition(b"Content-Length: ")[2].partition(b"\r\n")[0]
    wrong = PLAIN[1].replace(b"Content-Length: " + length, b"Content-Length: " + said, 1)
    data = b"".join(map(pack, (PLAIN[0], wrong, PLAIN[2])))
    assert [url for url in urls_in(data) if url != URLS[1]] == [URLS[0], URLS[2]]
    assert what in damages_in(data)[0][1]


def test_a_record_without_a_length_is_passed_over() -> None:
    data = PLAIN[0] + PLAIN[1].replace(b"Content-Length", b"Content-Breadth") + PLAIN[2]
    assert urls_in(data) == [URLS[0], URLS[2]]
    assert damages_in(data) == [(len(PLAIN[0]), "a record without a length")]


def test_a_record_that_is_too_large_is_passed_over_without_being_kept() -> None:
    head = PLAIN[0].partition(b"\r\n\r\n")[0]
    length = RECORD_BYTES_MAX + 1
    large = (
        head.replace(head.rpartition(b" ")[2], str(length).encode())
        + b"\r\n\r\n"
        + bytes(length)
        + b"\r\n\r\n"
    )
    data = gzip.compress(large, 1) + PACKED[1]
    assert urls_in(data) == [URLS[1]]
    assert damages_in(data) == [(0, f"a record of {length} bytes; the limit is {RECORD_BYTES_MAX}")]


def test_a_bomb_is_given_up() -> None:
    head = PLAIN[0].partition(b"\r\n\r\n")[0]
    bomb = head.replace(head.rpartition(b" ")[2], b"99999999999") + b"\r\n\r\n"
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    packed = compressor.compress(bomb) + compressor.compress(bytes(1 << 20)) + compressor.flush()
    assert urls_in(packed + PACKED[1]) == [URLS[1]]
    assert "no more than" in damages_in(packed + PACKED[1])[0][1]


def test_a_dictionary_in_front_that_is_cut_or_none_is_said_at_once() -> None:
    for garbage in (b"", b"\xff", b"\xff\xff\xff\x00 words", b"\x08\x00\x00\x00" + ZSTD_MAGIC + b"none"):
        with pytest.raises(CorruptionError, match="dictionary"):
            packing_of(DICTIONARY_MAGIC + garbage)


@settings(max_examples=200, deadline=None)
@given(
    st.binary(max_size=300), st.integers(0, 4), st.sampled_from(sorted(set(PACKINGS) - {"bare line feeds"}))
)
def test_no_bytes_make_reading_fail(garbage: bytes, at: int, name: str) -> None:
    assume(not garbage.startswith(DICTIONARY_MAGIC))
    data = PACKINGS[name]
    cut = len(data) * at // 5
    read(data[:cut] + garbage + data[cut:])
    read(garbage + data)


def test_records_that_we_write_are_read() -> None:
    data = response_record("http://a.test/", b"HTTP/1.1 200 OK\r\n\r\n", b"x", seen(5.0))
    [record] = read(data)
    assert isinstance(record, Record)
    assert (record.offset, record.after) == (0, Position(0, 1))


def test_an_empty_file_has_no_records(tmp_path: Path) -> None:
    assert read(b"") == []


def arc(version: int = 1, n_more: int = 0) -> list[bytes]:
    """The records of an ARC file: what it is, and a page for each URL."""
    fields = b"URL IP-address Archive-date Content-type Archive-length"
    about = b"%d 0 InternetArchive\n%s\n" % (version, fields)
    heads = [b"filedesc://a.arc 0.0.0.0 20040506070809 text/plain"]
    media_type = b"text/html" if version == 1 else b"text/html; charset=gbk"
    heads += [b"%s 127.0.0.1 20040506070809 %s" % (url.encode(), media_type) for url in URLS]
    blocks = [about, *(b"HTTP/1.0 200 OK\r\n\r\n<p>%s" % (url.encode() * 50) for url in URLS)]
    more = b" 200 - - 0 a.arc" if version == 2 else b""
    return [
        b"%s%s %d\n%s\n" % (head, more, len(block) + n_more, block)
        for head, block in zip(heads, blocks, strict=True)
    ]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("pack", [b"".join, lambda records: b"".join(map(gzip.compress, records))])
def test_arc_files_are_read(version: int, pack: Callable[[list[bytes]], bytes]) -> None:
    data = pack(arc(version))
    first, *records = [each for each in read(data) if isinstance(each, Record)]
    assert first.headers["warc-type"] == "warcinfo"
    if version == 1:  # the other knows no version 2
        oracle = [(each.rec_headers.get_header("uri"), each.raw_stream.read()) for each in oracle_of(data)]
        assert [(each.headers["warc-target-uri"], each.block) for each in records] == oracle[1:]
    assert [each.headers["warc-target-uri"] for each in records] == list(URLS)
    assert {each.headers["warc-date"] for each in records} == {"2004-05-06T07:08:09Z"}
    assert read(data, records[2].after) == records[3:]


def oracle_of(data: bytes) -> Iterator[Any]:
    return iter(WarcioIterator(io.BytesIO(data), no_record_parse=True))


def test_an_arc_record_that_is_not_as_long_as_it_says_is_told() -> None:
    records = arc(n_more=2)
    damages = [each for each in read(b"".join(map(gzip.compress, records))) if isinstance(each, FileDamage)]
    assert len(damages) == len(records)
    assert damages_in(b"http://a.test/ 127.0.0.1 2004 text/html 5\nhello\n") == [
        (0, "no WARC record begins here")
    ]
