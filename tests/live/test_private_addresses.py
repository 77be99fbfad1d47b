"""A site that leads to addresses of the machine itself, in every way and spelling: nothing connects there."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import setting, up
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HOST: Final = "a.test"
HTML: Final = "Content-Type: text/html"
_WIDE: Final = str.maketrans("0123456789.", "０１２３４５６７８９。")
SPELLINGS: Final[tuple[Callable[[IPv4Address], str], ...]] = (
    str,
    lambda address: str(int(address)),
    lambda address: hex(int(address)),
    lambda address: ".".join(f"0{part:o}" for part in address.packed),
    lambda address: str(address).translate(_WIDE),
    lambda address: "".join(f"%{ord(character):x}" for character in str(address)),
    lambda address: f"{address}.",
    lambda address: f"[::ffff:{address}]",
)
FOLLOWED: Final = ("link", "frame", "refresh", "redirect", "sitemap", "feed", "list", "robots")
WAYS: Final = (*FOLLOWED, "canonical")


def urls(way: str, port: int) -> list[str]:
    """Each leads to another address, so that none is left alone for what another one was."""
    first = IPv4Address(f"127.0.{1 + WAYS.index(way)}.1")
    return [f"http://{spell(first + index)}:{port}/{way}" for index, spell in enumerate(SPELLINGS)]


def answer_to(host: str, path: str, port: int) -> bytes:
    way, _, number = path.strip("/").partition("/")
    if path == "/robots.txt":
        if host != HOST:
            to = urls("robots", port)[int(host.partition(".")[0])]
            return answer(b"", f"Location: {to}", status="302 Found")
        lists = "".join(f"Sitemap: {url}\n" for url in (*urls("list", port), f"http://{HOST}/map"))
        return answer(lists.encode(), "Content-Type: text/plain")
    if way == "map":
        found = "".join(f"<url><loc>{url}</loc></url>" for url in urls("sitemap", port))
        return answer(f"<urlset>{found}</urlset>".encode(), "Content-Type: text/xml")
    if way == "news":
        found = "".join(f"<item><link>{url}</link></item>" for url in urls("feed", port))
        return answer(f"<rss><channel>{found}</channel></rss>".encode(), "Content-Type: application/rss+xml")
    if way == "redirect":
        to = urls("redirect", port)[int(number)]
        return answer(b"", f"Location: {to}", status="301 Moved Permanently")
    if way == "refresh":
        to = urls(way, port)[int(number)]
        return answer(f'<meta http-equiv=refresh content="0; url={to}"><p>{path}'.encode(), HTML)
    if way == "canonical":
        to = urls(way, port)[int(number)]
        return answer(f'<link rel=canonical href="{to}"><p>{path}'.encode(), HTML)
    pages = [f"/{way}/{n}" for way in ("redirect", "refresh", "canonical") for n in range(len(SPELLINGS))]
    links = [*urls("link", port), *pages, *(f"http://{n}.test/" for n in range(len(SPELLINGS)))]
    shown = "".join(f'<a href="{url}">link</a>' for url in links)
    shown += "".join(f'<iframe src="{url}"></iframe>' for url in urls("frame", port))
    feed = '<link rel="alternate" type="application/rss+xml" href="/news">'
    return answer(f"<meta charset=utf-8><title>home</title>{feed}{shown}".encode(), HTML)


@pytest.fixture
def trap() -> Iterator[socket.socket]:
    """Listens at every address of this machine."""
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listening:
        listening.setblocking(False)
        yield listening


def test_nothing_that_a_site_says_has_the_machine_itself_asked(tmp_path: Path, trap: socket.socket) -> None:
    report, port = tmp_path / "report.json", trap.getsockname()[1]
    with served(lambda host, path: answer_to(host, path, port)) as web:
        hosts = [HOST, *(f"{number}.test" for number in range(len(SPELLINGS)))]
        options = (
            *setting("web.resolver", web.write_resolver(tmp_path, hosts)),
            "--once",
            "--report",
            report,
        )
        with up(tmp_path, None, *options, seeds=[f"http://{HOST}/"]) as lab:
            assert lab.end() in (0, 3), lab.messages
    with pytest.raises(BlockingIOError):
        trap.accept()
    asked = {host: {path for name, path in web.requests if name == host} for host in hosts}
    assert all(asked[host] == {"/robots.txt"} for host in hosts[1:]), "what leads nowhere allows nothing"
    status = json.loads(report.read_text())["total"]["fetch_status"]
    assert status["private_address"] == len(FOLLOWED) * len(SPELLINGS)
