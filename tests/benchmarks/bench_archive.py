"""Throughput of archiving pages, beside warcio's writer on the same pages in the same run.

pytest tests/benchmarks/bench_archive.py -s
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from bootstrap.demo_web import DemoWeb
from peers.storage.archive.archive import Archive
from peers.storage.archive.warc import read_records, request_record, response_record
from tests.helpers import seen

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nServer: nginx\r\n\r\n"
REQUEST = b"GET / HTTP/1.1\r\nHost: www.debian.org\r\nUser-Agent: tianmesh\r\n\r\n"
BATCH_PAGES = 64  # of a group commit
ROUNDS = 4  # over the responses of the demo web, 34 MB in all
Page = tuple[str, bytes]


@pytest.fixture(scope="module")
def pages() -> list[Page]:
    web = DemoWeb.load()
    found = [(f"http://{host}{target}", page.body) for (host, target), page in web._responses.items()]
    return found * ROUNDS


def archive_with_ours(folder: Path, pages: list[Page]) -> None:
    with Archive(folder, "bench") as archive:
        for start in range(0, len(pages), BATCH_PAGES):
            archive.append([packed(url, body) for url, body in pages[start : start + BATCH_PAGES]])


def packed(url: str, body: bytes) -> bytes:
    return response_record(url, HEAD, body, seen(1.7e9), "127.0.0.2") + request_record(
        url, REQUEST, seen(1.7e9), "127.0.0.2"
    )


def archive_with_warcio(folder: Path, pages: list[Page]) -> None:
    folder.mkdir()
    with (folder / "warcio.warc.gz").open("wb") as file:
        writer = WARCWriter(file, gzip=True, warc_version="1.1")
        for number, (url, body) in enumerate(pages):
            for kind, status, payload in (("response", "200 OK", body), ("request", "GET / HTTP/1.1", b"")):
                protocol = "HTTP/1.1" if kind == "response" else ""
                head = StatusAndHeaders(
                    status, [("Content-Type", "text/html"), ("Server", "nginx")], protocol
                )
                record = writer.create_warc_record(url, kind, payload=BytesIO(payload), http_headers=head)
                writer.write_record(record)
            if number % BATCH_PAGES == 0:
                file.flush()
                os.fsync(file.fileno())


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def test_archiving_is_faster_than_warcio(tmp_path: Path, pages: list[Page]) -> None:
    megabytes = sum(len(body) for _, body in pages) / 1e6
    ours = seconds_of(lambda: archive_with_ours(tmp_path / "ours", pages))
    theirs = seconds_of(lambda: archive_with_warcio(tmp_path / "warcio", pages))
    packing = seconds_of(lambda: [packed(url, body) for url, body in pages])
    data = next((tmp_path / "ours").iterdir()).read_bytes()
    reading = seconds_of(lambda: sum(1 for _ in read_records(data)))
    opening = seconds_of(lambda: Archive(tmp_path / "ours", "bench").close())
    for name, seconds in [
        ("pack, check, append, sync", ours),
        ("pack alone", packing),
        ("warcio write, sync", theirs),
        ("read back", reading),
        ("open, whole segment checked", opening),
    ]:
        print(f"{name:28} {megabytes / seconds:6.0f} MB/s {2 * len(pages) / seconds:8.0f} records/s")
    print(
        f"{len(pages)} pages, {megabytes:.0f} MB, packed {len(data) / 1e6:.1f} MB,"
        f" {theirs / ours:.1f} times as fast as warcio"
    )
    assert ours < theirs / 2
