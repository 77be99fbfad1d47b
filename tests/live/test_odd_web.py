"""A web with links and statuses that once stopped a mesh: the crawl ends by itself, and no peer vanishes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import setting, up
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HOSTS: Final = tuple(f"h{number}.test" for number in range(6))
LONG_HOST: Final = ".".join(["long" * 15] * 5)  # 304 characters, which DNS cannot hold
ODD_STATUSES: Final = range(600, 1_000)
PEERS: Final = 3


def home() -> bytes:
    links = [f"http://{host}/p??" for host in HOSTS]
    links += [f"http://{HOSTS[status % 6]}/s/{status}" for status in ODD_STATUSES]
    links.append(f"http://{LONG_HOST}/")
    return b"<title>home</title>" + "".join(f'<a href="{link}">link</a>' for link in links).encode()


def answer_to(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return answer(b"", status="404 Not Found")
    if path.startswith("/s/"):
        return answer(b"odd", "Content-Type: text/html", status=f"{path[3:]} Odd")
    page = home() if path == "/" else f"<title>{host}</title><p>a question".encode()
    return answer(page, "Content-Type: text/html")


def test_a_crawl_of_odd_links_and_statuses_ends_by_itself(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, HOSTS)
        options = (*setting("web.resolver", resolver), "--once", "--report", report)
        with up(tmp_path, None, *options, seeds=[f"http://{HOSTS[0]}/"]) as lab:
            assert lab.end() == 0, lab.messages
    asked = {(host, path) for host, path in web.requests if path != "/robots.txt"}
    assert asked >= {(host, "/p??") for host in HOSTS}
    assert {host for host, _ in web.requests} == set(HOSTS)
    told = json.loads(report.read_text())
    assert len(told["peers"]) == PEERS
    assert told["total"]["pages_stored"] == 1 + len(HOSTS)
    assert told["total"]["fetch_status"] == {"200": 1 + len(HOSTS), "other": len(ODD_STATUSES)}
    assert (told["total"]["slots"]["wanted"], told["total"]["idle"]) == (0, True)
