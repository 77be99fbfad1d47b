"""Pages whose text is made by scripts, shown by a real Chromium and served by a real server."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest
import trio

from mesh.errors import ConfigError
from peers.crawler.addresses.addresses import AddressPolicy
from peers.crawler.fetching.content_encoding import Decoded, decode_beginning
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.resolver import FixedEndpoint, FixedResolver
from peers.crawler.model.robots import RobotsRules, parse
from peers.crawler.model.web_request import FetchPage, PageFetched, header_of
from peers.rendering.browser import command_of
from peers.rendering.renderer import RENDERED_BY, Renderer

DELAY_S: Final = 0.2
HOST: Final = "app.test"

# What it shows comes by a script, from data, after a second, and is worth a link.
APP: Final = """<!DOCTYPE html><title>App</title><script src=/app.js></script><div id=text>Loading</div>
<img src=/picture.png><link rel=stylesheet href=/style.css><iframe src=/frame.html></iframe>"""
SCRIPT: Final = """
alert("who is there?");
setTimeout(() => fetch("/data.json").then(answer => answer.json()).then(data => {
  document.getElementById("text").innerHTML = `<a href="/next">${data.text} ${navigator.userAgent}</a>`;
}), 1000);
const asked = address => fetch(address).then(_ => document.title += " reached " + address, _ => 0);
asked("/private/data.json");
asked("http://OTHER/data.json");
asked("http://other.test/data.json");
fetch("/data.json", {method: "POST", body: "x"}).catch(_ => 0);
try { new Worker("/worker.js"); } catch (error) { document.title += " without workers"; }
navigator.sendBeacon("/beacon");
"""
PAGES: Final = {
    "/robots.txt": ("text/plain", "User-agent: *\nDisallow: /private/\n"),
    "/": ("text/html", APP),
    "/second": ("text/html", APP),
    "/app.js": ("text/javascript", SCRIPT),
    "/data.json": ("application/json", '{"text": "你好 from data"}'),
    "/private/data.json": ("application/json", "{}"),
    "/moved": ("text/html", "<title>Stays</title><p>Old text<script>location = '/elsewhere'</script>"),
    "/endless": ("text/html", "<title>Endless</title><p>Text<script>for (;;) {}</script>"),
}


class Site:
    """A server that notes what it is asked and when, as (began, ended, method, path)."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, float, str, str]] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                began_s = time.monotonic()
                kind, text = PAGES.get(self.path, ("text/html", "<title>None</title>"))
                body = text.replace("OTHER", site.other).encode()
                self.send_response(200 if self.path in PAGES else 404)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                site.asked.append((began_s, time.monotonic(), self.command, self.path))
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Whom only a browser that reaches the network by itself could ask.
        self.bystander = socket.create_server(("127.0.0.1", 0))
        self.bystander.setblocking(False)
        self.other = f"127.0.0.1:{self.bystander.getsockname()[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def paths(self) -> list[str]:
        return [path for _, _, _, path in self.asked]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.bystander.close()


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


async def decoded(body: bytes, codings: str, n_bytes: int) -> Decoded:
    return decode_beginning(body, codings, n_bytes)


async def robots_read(origin: str, body: bytes, agent: str) -> RobotsRules:
    return parse(body, agent)


class Shown:
    """A fetcher with a renderer behind it."""

    def __init__(self, site: Site, page_s: float) -> None:
        if shutil.which("chromium") is None:
            pytest.skip("no chromium on this machine: apt-get install chromium")
        endpoint = FixedEndpoint("127.0.0.1", http=site.server.server_port)
        self._fetcher = Fetcher(FixedResolver({HOST: endpoint}), addresses=AddressPolicy(frozenset({HOST})))
        command = command_of("chromium --no-sandbox")  # a container may let it have none
        served = self._fetcher.fetch, decoded, robots_read
        self.renderer = Renderer(command, [f"{HOST}/*"], *served, page_s=page_s)

    async def page(self, path: str) -> PageFetched:
        request = FetchPage(f"http://{HOST}{path}", delay_s=DELAY_S)
        page = await self.renderer.rendered(request, await self._fetcher.fetch(request))
        assert isinstance(page, PageFetched)
        return page


@asynccontextmanager
async def showing(site: Site, page_s: float = 30.0) -> AsyncIterator[Shown]:
    shown = Shown(site, page_s)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(shown.renderer.run)
        yield shown
        nursery.cancel_scope.cancel()


@pytest.mark.live
async def test_a_page_is_taken_as_its_scripts_have_made_it_and_nobody_is_asked_who_must_not_be(
    site: Site,
) -> None:
    async with showing(site) as shown:
        page = await shown.page("/")
        text = page.body.decode()
        assert '<a href="/next">你好 from data tianmesh/' in text
        assert "<title>App without workers</title>" in text  # and nothing else was reached
        assert (header_of(page, RENDERED_BY.lower()) or "").startswith("Chrome/")
        assert page.codings == ""
        assert page.further == 3
        assert site.paths() == ["/", "/robots.txt", "/app.js", "/data.json"]

        assert (await shown.page("/second")).further == 1  # has the same script, and robots.txt is known
        assert site.paths()[4:] == ["/second", "/data.json"]
        assert {method for _, _, method, _ in site.asked} == {"GET"}
        turns = list(zip(site.asked, site.asked[1:], strict=False))
        del turns[3]  # between two pages the controller waits
        assert all(after[0] - before[1] >= DELAY_S - 0.02 for before, after in turns)
        assert shown.renderer.observe().browsers == 1
    with pytest.raises(BlockingIOError):
        site.bystander.accept()


@pytest.mark.live
async def test_a_page_that_leads_elsewhere_or_never_ends_costs_itself_only(site: Site) -> None:
    async with showing(site, page_s=10.0) as shown:
        moved = await shown.page("/moved")
        assert b"Old text" in moved.body
        assert "/elsewhere" not in site.paths()

        endless = await shown.page("/endless")
        assert endless.body == PAGES["/endless"][1].encode()  # as it came
        assert "你好" in (await shown.page("/")).body.decode()
        counted = shown.renderer.observe()
        assert (counted.rendered, counted.failed, counted.browsers) == (2, 1, 2)


def test_who_has_no_browser_is_told_what_to_do() -> None:
    with pytest.raises(ConfigError, match="apt install"):
        command_of("no-such-browser")
