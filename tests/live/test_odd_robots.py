"""Hosts whose robots.txt comes in ways that a strict reader dislikes; all of them forbid everything."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import setting, up
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

FORBIDS: Final = b"User-agent: *\nDisallow: /\n"
PAGE: Final = b"<title>page</title><p>nobody may read this"


ROBOTS: Final = {
    "none.test": answer(FORBIDS, "Content-Encoding: none"),
    "utf8.test": answer(FORBIDS, "Content-Encoding: UTF-8"),
    "gzip.test": answer(FORBIDS, "Content-Encoding: gzip"),
    "space.test": answer(FORBIDS, "Content-Type : text/plain"),
    "colon.test": answer(FORBIDS, "Server nobody"),
    "identity.test": answer(FORBIDS, "Transfer-Encoding: identity"),
    "crlf.test": b"\r\n" + answer(FORBIDS),
    "headers.test": answer(FORBIDS, *(f"X-{number}: y" for number in range(600))),
    "long.test": answer(FORBIDS + b"# filler\n" * (1 << 20)),  # 9 MiB
    "packed.test": answer(gzip.compress(FORBIDS + b"#\n" * (6 << 20)), "Content-Encoding: gzip"),
    # And some that nobody can read: they are asked again, and again, and nothing else is.
    "binary.test": answer(b"\1\2\3\0" * 100, "Content-Encoding: br"),
    "garbage.test": b"SSH-2.0-OpenSSH_9.2p1\r\n",
    "broken.test": answer(b"", status="503 Busy"),
}
HONEST: Final = "honest.test"


def answer_to(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return ROBOTS.get(host, answer(b"", status="404 Not Found"))
    return answer(PAGE, "Content-Type: text/html")


def test_no_page_is_fetched_of_hosts_that_forbid_all_in_odd_ways(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    hosts = [*ROBOTS, HONEST]
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, hosts)
        options = (*setting("web.resolver", resolver), "--once", "--report", report)
        with up(tmp_path, None, *options, seeds=[f"http://{host}/" for host in hosts]) as lab:
            assert lab.end() == 0, lab.messages
    pages = [(host, path) for host, path in web.requests if path != "/robots.txt"]
    assert pages == [(HONEST, "/")]
    assert {host for host, _ in web.requests} == set(hosts)
    status = json.loads(report.read_text())["total"]["fetch_status"]
    assert status["robots"] == 10
    assert status.keys() >= {"decoding", "protocol", "robots_503"}
