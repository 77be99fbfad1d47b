"""Disks and other peers may give the archive any bytes for records: they are refused, or are records."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from mesh.errors import CorruptionError
from mesh.stamp import VISITS_MAX
from peers.crawler.parsing.extraction import extract_again
from peers.storage.archive.archive import Archive, segment_path
from peers.storage.archive.warc import (
    absence_record,
    is_plain_record,
    is_sound,
    parse_record,
    parse_response,
    read_records,
    request_record,
    response_record,
    visit_in,
    warcinfo_record,
)
from peers.storage.messages import ParseRecords
from tests.fuzzing.harness import Fuzzer, unharmed
from tests.helpers import seen

URL = "http://a.test/%E4%B8%AD?q=1"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=gb2312\r\nX-Odd:\r\n\r\n"
BODY = "<title>标题</title><a href='/b'>正文</a> ".encode("gb2312") * 30
PAGE = response_record(URL, HEAD, BODY, seen(1_000.0, 3), "203.0.113.1")
SAMPLES = [
    PAGE,
    PAGE + request_record(URL, b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", seen(1_000.0, 3)),
    absence_record(URL, "robots", seen(2_000.0, 4)),
    warcinfo_record("a.warc.gz", 1_000.0, {"software": "tests"}) + PAGE,
]
UNPACKED = [gzip.decompress(sample) for sample in SAMPLES]


def read(data: bytes) -> None:
    """Read records as the cell does, and as who gives them to the index."""
    assert is_sound(data) == _is_read(data), "what is kept can be read back"
    extract_again(ParseRecords(URL, seen(1_000.0, 3), data))
    for record in read_records(data):
        assert 0 <= visit_in(record.headers) <= VISITS_MAX
        if record.kind == "response":
            parse_response(record)


def _is_read(data: bytes) -> bool:
    try:
        return all(record.kind is not None for record in read_records(data))
    except CorruptionError:
        return False


@pytest.mark.inputs(10_000)
def test_no_bytes_for_records_harm_their_reader(fuzzer: Fuzzer) -> None:
    with unharmed():
        fuzzer.check(read, SAMPLES, refusals=(CorruptionError,))


def test_no_record_that_was_packed_well_harms_its_reader(fuzzer: Fuzzer) -> None:
    """Its checksum is right, as an attacker would see to."""

    def read_packed(data: bytes) -> None:
        assert not is_plain_record(data) or parse_record(data)
        read(gzip.compress(data, 1))

    with unharmed():
        fuzzer.check(read_packed, UNPACKED, refusals=(CorruptionError,))


@pytest.mark.inputs(150)
def test_an_archive_with_any_damage_opens_and_keeps_what_comes_after(fuzzer: Fuzzer, tmp_path: Path) -> None:
    with Archive(tmp_path, "me") as archive:
        archive.append(SAMPLES)
    path = segment_path(tmp_path, "me", 1)
    segments = [path.read_bytes(), b"".join(SAMPLES)]

    def open_and_append(data: bytes) -> None:
        path.write_bytes(data)
        with Archive(tmp_path, "me") as archive:
            kept = path.read_bytes()
            assert is_sound(kept)
            assert kept.startswith(b"\x1f\x8b")
            [extent] = archive.append([PAGE])
            assert extent is not None
            assert archive.read(extent) == PAGE

    with unharmed():
        fuzzer.check(open_and_append, segments)
