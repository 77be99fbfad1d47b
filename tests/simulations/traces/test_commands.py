"""The commands of `tianmesh trace`, and files of other kinds that become traces."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from mesh.trace import TracedPage, pack_header, pack_pages, read_trace, write_trace
from simulations.traces.commands import app
from simulations.traces.queries import made_up_queries

PAGES = [
    TracedPage(f"http://{'ab'[n % 2]}.test/{n}", 100.0 + n, 0.25, 4_000, (f"http://a.test/{n + 2}",), (3,))
    for n in range(10)
]


def run(*words: object) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if isinstance(result.exception, ConfigError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    write_trace(tmp_path / "web.trace", PAGES)
    return tmp_path / "web.trace"


def test_info_is_for_people_and_for_programs(trace: Path) -> None:
    assert "10 pages of 2 hosts" in run("info", trace)
    assert json.loads(run("info", trace, "--json"))["pages"] == 10


def test_a_trace_that_was_cut_off_is_refused_with_the_place_unless_a_part_will_do(tmp_path: Path) -> None:
    path = tmp_path / "part.trace"
    (_, first), (_, second) = *pack_pages(PAGES[:4]), *pack_pages(PAGES[4:])
    path.write_bytes(pack_header() + first + second[:-9])
    with pytest.raises(ConfigError, match="is cut off, in block 2 at byte"):
        run("info", path)
    output = run("info", path, "--partial")
    assert "going on with 4 pages" in output


def test_parts_are_cut_and_merged_again(trace: Path, tmp_path: Path) -> None:
    run("cut", trace, tmp_path / "one", "--hosts", 1)
    run("cut", trace, tmp_path / "two", "--to", 5)
    run("merge", tmp_path / "two", tmp_path / "one", "--out", tmp_path / "all")
    urls = [page.url for page in read_trace(tmp_path / "all")]
    assert urls == [page.url for page in PAGES if page.fetched_at < 105 or "//a." in page.url]


def test_a_larger_trace_is_grown(trace: Path, tmp_path: Path) -> None:
    run("synthesise", trace, tmp_path / "big", "--pages", 50)
    assert len(list(read_trace(tmp_path / "big"))) == 50


def test_a_warc_file_becomes_a_trace(tmp_path: Path) -> None:
    html = b'<html><title>t</title><a href="/next">on it goes</a></html>'
    http = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(html) + html
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\n"
        "WARC-Date: 2026-01-02T03:04:05Z\r\nWARC-Record-ID: <urn:uuid:1>\r\n"
        f"Content-Type: application/http;msgtype=response\r\nContent-Length: {len(http)}\r\n\r\n"
    )
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(head.encode() + http + b"\r\n\r\n"))
    run("from-warc", tmp_path / "a.warc.gz", "--out", tmp_path / "trace")
    (page,) = read_trace(tmp_path / "trace")
    assert (page.url, page.links, page.text_chars) == ("http://a.test/", ("http://a.test/next",), (10,))
    assert page.fetched_at == 1_767_323_045.0
    assert page.seconds > 0
    with pytest.raises(ConfigError, match="cannot read the archive"):
        run("from-warc", tmp_path / "none", "--out", tmp_path / "trace")


LOG = """\
192.0.2.1 - - [02/Jan/2026:03:04:05 +0000] "GET / HTTP/1.1" 200 1000 "-" "browser"
192.0.2.1 - - [02/Jan/2026:03:04:07 +0000] "GET /next?x=1 HTTP/1.1" 200 2000 "https://www.a.test/" "b" 0.125
192.0.2.1 - - [02/Jan/2026:03:04:07 +0000] "GET /logo.png HTTP/1.1" 200 2000 "https://www.a.test/" "browser"
192.0.2.1 - - [02/Jan/2026:03:04:08 +0000] "POST / HTTP/1.1" 200 1000
192.0.2.1 - - [02/Jan/2026:03:04:09 +0000] "GET /gone HTTP/1.1" 404 10
no line of a log
"""


def test_the_log_of_a_web_server_becomes_a_trace(tmp_path: Path) -> None:
    (tmp_path / "access.log").write_text(LOG)
    output = run(
        "from-log", tmp_path / "access.log", "--site", "https://www.a.test", "--out", tmp_path / "trace"
    )
    assert "line 6" in output
    first, second = read_trace(tmp_path / "trace")
    assert (first.url, first.links, first.seconds) == (
        "https://www.a.test/",
        ("https://www.a.test/next?x=1",),
        0.25,
    )
    assert (second.n_bytes, second.seconds, second.found_at) == (2_000, 0.125, first.fetched_at + 0.25)


def test_book_9_2_a_fifth_of_the_queries_are_four_fifths_of_what_is_asked() -> None:
    queries = made_up_queries(200_000, 40_000, repeat=0.0, seed=1)
    counts = np.sort(np.bincount(queries, minlength=40_000))[::-1]
    assert 0.76 < counts[:8_000].sum() / counts.sum() < 0.86
