"""WARC records: what we write others read, what is broken is refused."""

from __future__ import annotations

import gzip
import io
import random

import pytest
from fastwarc.warc import ArchiveIterator as FastwarcReader
from fastwarc.warc import WarcRecordType
from hypothesis import given
from hypothesis import strategies as st
from isal import isal_zlib
from warcio.archiveiterator import ArchiveIterator as WarcioReader

from mesh.errors import CorruptionError
from mesh.stamp import Stamp
from peers.storage.archive.warc import (
    RECORD_BYTES_MAX,
    absence_record,
    is_plain_record,
    is_sound,
    pack_record,
    parse_record,
    parse_response,
    read_record,
    read_records,
    record_id,
    request_record,
    response_record,
    visit_in,
    warc_date,
    warcinfo_record,
)
from tests.helpers import seen
from tests.shared_data import shared

URL = "http://www.debian.org/doc/?q=%E5%86%85%E6%A0%B8"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gb2312\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"
BODY = "<title>内核</title>".encode("gbk")
REQUEST = b"GET /doc/?q=%E5%86%85%E6%A0%B8 HTTP/1.1\r\nHost: www.debian.org\r\n\r\n"
FETCHED_AT = 1_700_000_000.123456


def response(body: bytes = BODY) -> bytes:
    return response_record(URL, HEAD, body, seen(FETCHED_AT), "127.0.0.2")


def all_kinds() -> bytes:
    info = warcinfo_record("tianmesh-a-00001.warc.gz", FETCHED_AT, {"software": "tianmesh"})
    return info + response() + request_record(URL, REQUEST, seen(FETCHED_AT), "127.0.0.2")


def test_response_comes_back_as_it_was_archived() -> None:
    record = read_record(response())
    answer = parse_response(record)
    assert (record.kind, record.url) == ("response", URL)
    assert record.block == HEAD + BODY
    assert (answer.status, answer.body) == (200, BODY)
    assert answer.header("content-type") == "text/html; charset=gb2312"
    assert [value for name, value in answer.headers if name == "Set-Cookie"] == ["a", "b"]


def test_records_follow_each_other_in_packed_data() -> None:
    assert [record.kind for record in read_records(all_kinds())] == ["warcinfo", "response", "request"]


def test_request_points_to_its_response() -> None:
    _, answer, request = read_records(all_kinds())
    assert request.headers["warc-concurrent-to"] == answer.headers["warc-record-id"]
    assert request.block == REQUEST


def test_same_fetch_gives_the_same_bytes_on_every_peer() -> None:
    assert response() == response()
    assert (
        record_id("response", URL, seen(1.0))
        != record_id("request", URL, seen(1.0))
        != record_id("request", URL, seen(1.1))
    )


@given(st.text(), st.floats(0, 4e9))
def test_record_id_is_a_uuid_of_version_8(url: str, fetched_at: float) -> None:
    import uuid

    found = uuid.UUID(record_id("response", url.encode("utf-8", "replace").decode(), seen(fetched_at))[1:-1])
    assert (found.version, found.variant) == (8, uuid.RFC_4122)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00.000000Z"),
        (1_700_000_000.123456, "2023-11-14T22:13:20.123456Z"),
        (1_700_000_000.9999999, "2023-11-14T22:13:21.000000Z"),
        (253_402_300_799.0, "9999-12-31T23:59:59.000000Z"),
    ],
)
def test_date_has_microseconds(seconds: float, text: str) -> None:
    assert warc_date(seconds) == text


def test_headers_that_are_empty_are_left_out_and_truncation_is_said() -> None:
    cut = read_record(response_record(URL, HEAD, BODY, seen(FETCHED_AT), truncated="disconnect"))
    assert cut.headers["warc-truncated"] == "disconnect"
    assert "warc-ip-address" not in cut.headers
    assert "warc-truncated" not in read_record(response()).headers


def test_line_break_cannot_get_into_a_header() -> None:
    with pytest.raises(AssertionError):
        response_record("http://a/\r\nWARC-Type: warcinfo", HEAD, BODY, seen(FETCHED_AT))


def test_warcio_reads_every_record_and_its_digest() -> None:
    seen = []
    for record in WarcioReader(io.BytesIO(all_kinds()), check_digests="raise"):
        payload = record.content_stream().read()
        seen.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI"), payload))
        if record.rec_type == "response":
            assert record.http_headers.get_header("Content-Type") == "text/html; charset=gb2312"
    assert seen[1:] == [("response", URL, BODY), ("request", URL, b"")]


def test_fastwarc_reads_every_record_and_its_digest() -> None:
    reader = FastwarcReader(io.BytesIO(all_kinds()), record_types=WarcRecordType.any_type, parse_http=True)
    seen = []
    for record in reader:
        assert record.record_type != WarcRecordType.response or record.verify_payload_digest()
        seen.append((record.record_type, record.headers.get("WARC-Target-URI"), record.reader.read()))
    assert seen[1:] == [(WarcRecordType.response, URL, BODY), (WarcRecordType.request, URL, b"")]


@given(st.binary(max_size=2_000), st.integers(0, 1 << 32))
def test_any_body_comes_back(body: bytes, microsecond: int) -> None:
    record = read_record(response_record(URL, HEAD, body, seen(microsecond / 1e6)))
    assert parse_response(record).body == body


def test_large_body_comes_back() -> None:
    body = random.Random(1).randbytes(3_000_000) + b"x" * 20_000_000
    assert parse_response(read_record(response(body))).body == body


def test_bomb_is_refused_before_it_fills_the_memory() -> None:
    compressor = isal_zlib.compressobj(2, isal_zlib.DEFLATED, 31)
    bomb = b"".join(compressor.compress(bytes(1 << 20)) for _ in range((RECORD_BYTES_MAX >> 20) + 1))
    with pytest.raises(CorruptionError, match="larger than"):
        read_record(bomb + compressor.flush())


def test_every_cut_is_refused() -> None:
    data = response()
    assert not [end for end in range(len(data)) if is_sound(data[:end])]


def test_flipped_bits_are_noticed_or_change_nothing() -> None:
    data = response()
    whole = read_record(data)
    for index in range(len(data)):
        damaged = data[:index] + bytes([data[index] ^ 0x10]) + data[index + 1 :]
        try:
            assert read_record(damaged) == whole, index
        except CorruptionError:
            continue
        # Time and system in the head of gzip, and the last bits of deflate, mean nothing.
        assert index < 10 or index == len(data) - 9


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"WARC/1.1\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 1\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: -4\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: \xc2\xb2\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 99999999999999\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\n" + b"a" * 300_000 + b"\r\nWARC-Type: response\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
    ],
)
def test_what_is_not_a_record_is_refused(content: bytes) -> None:
    with pytest.raises(CorruptionError):
        read_record(gzip.compress(content))


@given(st.binary(max_size=300))
def test_hostile_bytes_raise_nothing_but_corruption(data: bytes) -> None:
    for attempt in (data, gzip.compress(data), gzip.compress(b"WARC/1.1\r\n" + data)):
        try:
            list(read_records(attempt))
        except CorruptionError:
            pass


@pytest.mark.parametrize(
    "block", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1\r\n\r\n", b"HTTP/1.1 2x0 OK\r\n\r\n", BODY]
)
def test_block_that_is_not_a_response_is_refused(block: bytes) -> None:
    record = read_record(pack_record({"WARC-Type": "response"}, block))
    with pytest.raises(CorruptionError):
        parse_response(record)


@pytest.mark.more
def test_records_of_other_writers_are_read() -> None:
    files = [
        *shared("suites/warc/iipc-spec").glob("*.warc.gz"),
        shared("suites/warc/warcio/example.warc.gz"),
        shared("suites/warc/jwarc/gzip_extra_sl.warc.gz"),
        shared("suites/warc/resiliparse/warcfile.warc.gz"),
        shared("suites/warc/resiliparse/block-sized-records.warc.gz"),
    ]
    for file in files:
        ours = [(record.kind, record.url, len(record.block)) for record in read_records(file.read_bytes())]
        with file.open("rb") as stream:
            theirs = [
                (
                    record.rec_type,
                    record.rec_headers.get_header("WARC-Target-URI") or "",
                    int(record.rec_headers.get_header("Content-Length")),
                )
                for record in WarcioReader(stream)
            ]
        assert ours == theirs, file.name
        assert ours


@pytest.mark.more
@pytest.mark.parametrize(
    "name",
    [
        "resiliparse/clipped.warc.gz",  # ends in the middle of a record
        "resiliparse/clueweb-quirk.warc.gz",  # lines end in LF alone
        "warcio/example-bad-non-chunked.warc.gz",  # one gzip member for the whole file
        "warcio/example-wrong-chunks.warc.gz",  # Content-Length is wrong
    ],
)
def test_damaged_files_of_other_suites_are_refused(name: str) -> None:
    assert not is_sound(shared(f"suites/warc/{name}").read_bytes())


@given(
    st.lists(
        st.sampled_from(
            [
                "WARC/1.1",
                "WARC-Type: response",
                "warc-type:x",
                "WARC-Type",
                "Content-Length: 4",
                "content-length: 4",
                "Content-Length : 4",
                "Content-Length: 04",
                "Content-Length: 5",
                "Content-Length: ٤",
                "X: Content-Length: 4",
                "Content-Length:4",
                "A: b",
                "",
            ]
        )
    ),
    st.sampled_from(["\r\n", "\n", "\r"]),
    st.sampled_from([b"body", b"", b"body\r\n\r\n", b"longer"]),
)
def test_record_that_the_quick_check_takes_is_one_that_is_read(
    lines: list[str], line_end: str, block: bytes
) -> None:
    content = line_end.join(lines).encode() + b"\r\n\r\n" + block + b"\r\n\r\n"
    if is_plain_record(content):
        assert parse_record(content).headers["warc-type"]


def test_quick_check_takes_what_we_write() -> None:
    for packed in (response(), request_record(URL, REQUEST, seen(FETCHED_AT))):
        content = gzip.decompress(packed)
        assert is_plain_record(content)
        assert not is_plain_record(content[:-1])
        assert not is_plain_record(content + b"\r\n\r\n")


def test_visit_stands_in_a_header_of_ours_and_in_the_id() -> None:
    stamp = Stamp(7, FETCHED_AT)
    for packed in (
        response_record(URL, HEAD, BODY, stamp),
        request_record(URL, REQUEST, stamp),
        absence_record(URL, "robots", stamp),
    ):
        record = read_record(packed)
        assert (record.headers["tianmesh-visit"], visit_in(record.headers)) == ("7", 7)
    assert visit_in(read_record(response()).headers) == 0, "of no visit of ours"
    assert record_id("response", URL, stamp) != record_id("response", URL, Stamp(8, FETCHED_AT))


@pytest.mark.parametrize("text", ["", "x", "-1", "1.5", "\u0663", "4294967296", "9" * 5_000])
def test_visit_that_makes_no_sense_is_none(text: str) -> None:
    assert visit_in({"tianmesh-visit": text}) == 0
