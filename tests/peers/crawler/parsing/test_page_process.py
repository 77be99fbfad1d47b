"""The process that takes pages apart: light, bounded, and never ended by a bug of ours."""

from __future__ import annotations

import gzip
import logging
import subprocess
import sys

import brotli
import pytest
import trio

from mesh.process.workshop import Answer, Workshop
from peers.crawler.fetching.content_encoding import BODY_BYTES_MAX, GZIP_MEMBERS_MAX, LAYERS_MAX
from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage, ParseRobots, RobotsParsed
from peers.crawler.model.page_tasks import DecodeBeginning, NotDecoded, Order, decode_answer, encode
from peers.crawler.model.robots import DISALLOW_FOR_NOW
from peers.crawler.model.web_request import FailureReason
from peers.crawler.parsing import page_process
from peers.storage.messages import ParseRecords, RecordsParsed
from tests.helpers import fetched, free_of_charge, seen
from tests.patience import PATIENCE_S

URL = "http://a.test/"
MEMORY_MAX = 60 << 20  # beside what the pages need
TREE = f"{'<div>' * 250}{'<p>x</p>' * 400}{'</div>' * 250}".encode()


def test_it_loads_neither_numpy_nor_anything_of_the_network() -> None:
    program = "import sys, peers.crawler.parsing.page_process; print(*sys.modules)"
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in printed.stdout.split()}
    assert loaded.isdisjoint({"numpy", "trio", "zmq", "lmdb", "ssl", "h11", "asyncio"})


@pytest.mark.skipif(sys.platform != "linux", reason="resident memory now is not told")
async def test_it_is_light_after_many_pages() -> None:
    workshop = Workshop(page_process.COMMAND)
    order = encode(ParsePage(fetched(URL, body=TREE * 5), 1))
    with trio.fail_after(PATIENCE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workshop.run)
            for _ in range(20):
                await workshop.carry_out([order] * 8, lambda _: None)
            assert 0 < workshop.observe().private_bytes < workshop.observe().rss_bytes < MEMORY_MAX
            nursery.cancel_scope.cancel()


def nested(n_bytes: int) -> bytes:
    return (b"<p><i><b>" * (n_bytes // 9))[:n_bytes]


HOSTILE = {
    "largest page of text": fetched(URL, body=b"x " * (BODY_BYTES_MAX // 2)),
    "largest page of links": fetched(URL, body=b"<a href=/abc>x</a>" * (BODY_BYTES_MAX // 18)),
    "deepest page": fetched(URL, body=nested(BODY_BYTES_MAX)),
    "largest bomb": fetched(URL, body=gzip.compress(b"<b>" * (BODY_BYTES_MAX // 3)), codings="gzip"),
    "many ends": fetched(URL, body=b"<div>" * 2_000 + b"</p>" * 1_000_000),
    "attributes": fetched(URL, body=b"<a " + b"x=y " * 1_000_000 + b">"),
    "one tag": fetched(URL, body=b"<" + b"a" * (BODY_BYTES_MAX - 1)),
    "characters": fetched(URL, body="\U0001f600".encode() * (BODY_BYTES_MAX // 4)),
    "layers": fetched(
        URL, body=gzip.compress(b"") * GZIP_MEMBERS_MAX, codings=",".join(["gzip"] * LAYERS_MAX)
    ),
    "window": fetched(URL, body=brotli.compress(b"a", lgwin=24), codings="br"),
    "UTF-7": fetched(
        URL, body=b"+" * BODY_BYTES_MAX, headers=(("Content-Type", "text/html; charset=utf-7"),)
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_the_dearest_pages_that_pass_its_limits_do_not_end_it(name: str) -> None:
    """The limits of parser and decoding come first; those of the process are for what nobody thought of."""
    workshop = Workshop(page_process.COMMAND)
    taken: list[Answer] = []
    with trio.fail_after(120):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(workshop.run)
            await workshop.carry_out([encode(ParsePage(HOSTILE[name], 1))], taken.append)
            nursery.cancel_scope.cancel()
    (answer,) = taken
    assert isinstance(answer, bytes)
    assert isinstance(decode_answer(answer), PageParsed | ParseFailed)
    assert workshop.observe().cpu_seconds < page_process.LIMITS.cpu_s / 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [(ZeroDivisionError, FailureReason.PARSER), (MemoryError, FailureReason.EXHAUSTING)],
)
def test_what_breaks_our_code_costs_one_page(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: type[Exception],
    reason: FailureReason,
) -> None:
    def breaks(*_: object, **__: object) -> PageParsed:
        raise error("a bug of ours")

    for name in ("extract", "extract_again", "read_robots", "decode_beginning"):
        monkeypatch.setattr(page_process, name, breaks)
    orders: list[Order] = [
        ParsePage(fetched(URL), 1),
        ParseRecords(URL, seen(7.0), b""),
        ParseRobots("http://a.test", b"", "tianmesh"),
        DecodeBeginning(b"x", "br", 9),
    ]
    with caplog.at_level(logging.ERROR):
        answers = [free_of_charge(decode_answer(page_process.carry_out(encode(order)))) for order in orders]
    assert answers == [
        ParseFailed(URL, reason),
        RecordsParsed(URL, seen(7.0), None),
        RobotsParsed("http://a.test", DISALLOW_FOR_NOW),
        NotDecoded(reason),
    ]
    assert ("ZeroDivisionError" in caplog.text) is (error is ZeroDivisionError)
