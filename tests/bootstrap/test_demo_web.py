"""The bundled demo web: what is in it, and that its server stands what comes."""

from __future__ import annotations

import gzip
import http.client
import io
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import h11
import pytest
import trio
from fastwarc.warc import ArchiveIterator as FastwarcReader
from fastwarc.warc import WarcRecordType
from protego import Protego
from selectolax.lexbor import LexborHTMLParser
from warcio.archiveiterator import ArchiveIterator as WarcioReader

from bootstrap.demo_web import (
    CONNECTIONS_MAX,
    DEMO_WARC,
    REQUEST_HEAD_BYTES_MAX,
    ConnectionHandler,
    DemoWeb,
    ServedDemoWeb,
    serve_demo_web,
)
from mesh.errors import ConfigError

GBK_HOST = "gbk.maint-guide.test"


@pytest.fixture(scope="module")
def web() -> DemoWeb:
    return DemoWeb.load()


class Browser:
    """A plain client that finds hosts by the resolver table; one connection per host."""

    def __init__(self, served: ServedDemoWeb) -> None:
        self.connections = {
            host: http.client.HTTPConnection(place["ip"], place["http"], timeout=10)
            for host, place in served.resolver.items()
        }

    def get(self, url: str, method: str = "GET") -> tuple[http.client.HTTPResponse, bytes]:
        parts = urlsplit(url)
        connection = self.connections[parts.netloc]
        target = parts.path + ("?" + parts.query if parts.query else "")
        connection.request(method, target or "/", headers={"Host": parts.netloc})
        response = connection.getresponse()
        return response, response.read()

    def walk(self, seeds: list[str]) -> dict[str, tuple[int, bytes]]:
        """Fetch breadth first all that can be reached on the hosts of the table."""
        queue = deque(seeds)
        found: dict[str, tuple[int, bytes]] = {}
        while queue:
            url = queue.popleft()
            if url in found or urlsplit(url).netloc not in self.connections or not url.startswith("http:"):
                continue
            response, body = self.get(url)
            found[url] = (response.status, body)
            location = response.headers.get("Location")
            queue += [urljoin(url, location)] if location else []
            if response.status == 200:
                queue += links_of(url, body)
        return found

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()


def links_of(url: str, body: bytes) -> list[str]:
    tree = LexborHTMLParser(body.decode("gbk" if GBK_HOST in url else "utf-8"))
    base = tree.css_first("base[href]")
    base_url = urljoin(url, (base.attributes["href"] or "") if base else "")
    links = (urljoin(base_url, a.attributes["href"] or "") for a in tree.css("a[href]"))
    return [with_path(link.partition("#")[0]) for link in links]


def with_path(url: str) -> str:
    return url + "/" if url.startswith("http") and urlsplit(url).path == "" else url


async def walked() -> dict[str, tuple[int, bytes]]:
    async with serve_demo_web() as served:
        browser = Browser(served)
        found = await trio.to_thread.run_sync(browser.walk, served.seeds)
        browser.close()
        return found


@pytest.fixture(scope="module")
def walk() -> dict[str, tuple[int, bytes]]:
    return trio.run(walked)


def pages(walk: dict[str, tuple[int, bytes]]) -> dict[str, bytes]:
    return {url: body for url, (status, body) in walk.items() if status == 200}


def test_file_is_small_enough_to_bundle() -> None:
    assert DEMO_WARC.stat().st_size <= 3_000_000


def test_every_seed_answers(web: DemoWeb, walk: dict[str, tuple[int, bytes]]) -> None:
    assert 4 <= len(web.seeds) <= 6
    assert all(walk[seed][0] == 200 for seed in web.seeds)


def test_every_recorded_page_is_reached_by_links(web: DemoWeb, walk: dict[str, tuple[int, bytes]]) -> None:
    recorded = {f"http://{host}{target}" for host, target in web._responses if target != "/robots.txt"}
    assert recorded == {url for url, (status, _) in walk.items() if status != 404}


def test_about_200_pages_of_both_languages_on_at_least_4_hosts(walk: dict[str, tuple[int, bytes]]) -> None:
    texts = {url: body.decode("gbk" if GBK_HOST in url else "utf-8") for url, body in pages(walk).items()}
    chinese = [url for url, text in texts.items() if len(re.findall("[\u4e00-\u9fff]", text)) > 200]
    assert 200 <= len(texts) <= 300
    assert len(chinese) >= 80
    assert len(texts) - len(chinese) >= 80
    assert len({urlsplit(url).netloc for url in texts}) >= 4


def test_documents_and_start_pages_link_across_hosts(
    web: DemoWeb, walk: dict[str, tuple[int, bytes]]
) -> None:
    crossing = {
        (url, link)
        for url, body in pages(walk).items()
        for link in links_of(url, body)
        if urlsplit(link).netloc != urlsplit(url).netloc and walk.get(link, (404, b""))[0] != 404
    }
    assert len([url for url, _ in crossing if urlsplit(url).path != "/"]) >= 4
    assert {urlsplit(link).netloc for _, link in crossing} == set(web.hosts)


def test_one_host_is_in_gbk_and_says_so_only_in_the_page(walk: dict[str, tuple[int, bytes]]) -> None:
    body = walk[f"http://{GBK_HOST}/maint-guide/start.zh-cn.html"][1]
    assert b"charset=gb2312" in body[:500]
    assert "本手册" in body.decode("gbk") or "软件包" in body.decode("gbk")
    with pytest.raises(UnicodeDecodeError):
        body.decode("utf-8")


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://www.debian.org/doc/manuals/debian-reference/ch08.zh-cn.html", "输入法"),
        ("http://www.debian.org/doc/manuals/debian-reference/ch03.zh-cn.html", "systemd"),
        ("http://www.debian.org/doc/manuals/debian-faq/kernel.zh-cn.html", "内核"),
        ("http://www.debian.org/doc/manuals/debian-faq/basic-defs.en.html", "What is Debian GNU/Linux?"),
        ("http://httpd.apache.org/docs/2.4/en/vhosts/name-based.html", "Name-based Virtual Host Support"),
        ("http://httpd.apache.org/docs/2.4/zh-cn/mpm.html", "多处理模块"),
        (
            "http://www.postgresql.org/docs/15/indexes-intro.html",
            "Suppose we have a table similar to this:",
        ),
        ("http://help.libreoffice.org/7.4/zh-CN/text/scalc/guide/autofilter.html", "自动筛选"),
    ],
)
def test_pages_are_the_documents_of_their_authors(
    walk: dict[str, tuple[int, bytes]], url: str, sentence: str
) -> None:
    text = LexborHTMLParser(walk[url][1].decode()).text()
    assert sentence in " ".join(text.split())


def test_no_page_links_to_a_demo_host_by_https(web: DemoWeb, walk: dict[str, tuple[int, bytes]]) -> None:
    secure = tuple(f"https://{host}/" for host in web.hosts)
    assert not [
        link for url, body in pages(walk).items() for link in links_of(url, body) if link.startswith(secure)
    ]


def test_licences_travel_in_the_file() -> None:
    with DEMO_WARC.open("rb") as file:
        resources = {
            record.rec_headers.get_header("WARC-Target-URI"): record.content_stream().read()
            for record in WarcioReader(file)
            if record.rec_type == "resource"
        }
    assert b"GNU GENERAL PUBLIC LICENSE" in resources["file:///usr/share/common-licenses/GPL-2"]
    assert b"Mozilla Public License" in resources["file:///usr/share/common-licenses/MPL-2.0"]
    assert b"Osamu Aoki" in resources["file:///usr/share/doc/debian-reference-zh-cn/copyright"]


def test_warcio_reads_what_the_demo_web_reads(web: DemoWeb) -> None:
    with DEMO_WARC.open("rb") as file:
        reader = WarcioReader(file, check_digests="raise")
        bodies = {
            record.rec_headers.get_header("WARC-Target-URI"): record.content_stream().read()
            for record in reader
            if record.rec_type == "response"
        }
    assert bodies == {f"http://{host}{target}": page.body for (host, target), page in web._responses.items()}


def test_fastwarc_reads_what_the_demo_web_reads(web: DemoWeb) -> None:
    with DEMO_WARC.open("rb") as file:
        bodies = {
            record.headers["WARC-Target-URI"]: record.reader.read()
            for record in FastwarcReader(file, record_types=WarcRecordType.response, verify_digests=True)
        }
    assert bodies == {f"http://{host}{target}": page.body for (host, target), page in web._responses.items()}


def test_every_record_is_a_gzip_member_of_its_own() -> None:
    data = DEMO_WARC.read_bytes()
    starts = [
        record.stream_pos for record in FastwarcReader(io.BytesIO(data), record_types=WarcRecordType.any_type)
    ]
    assert all(data[start : start + 2] == b"\x1f\x8b" for start in starts)
    assert gzip.decompress(data[starts[1] : starts[2]]).startswith(b"WARC/1.1\r\n")


def test_loading_is_fast() -> None:
    began = time.process_time()
    DemoWeb.load()
    assert time.process_time() - began < 3.0


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-100], lambda data: b"WARC/1.1" + data, lambda _: b"\n"]
)
def test_damaged_file_is_refused_with_what_to_do(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "demo_web.warc.gz"
    file.write_bytes(damage(DEMO_WARC.read_bytes()))
    with pytest.raises(ConfigError, match="install tianmesh again"):
        DemoWeb.load(file)


async def ask(served: ServedDemoWeb, request: bytes) -> bytes:
    """Send raw bytes and return all that comes back until the server closes."""
    place = served.resolver["www.debian.org"]
    async with await trio.open_tcp_stream(place["ip"], place["http"]) as stream:
        try:
            await stream.send_all(request)
            await stream.send_eof()
            return b"".join([chunk async for chunk in stream])
        except trio.BrokenResourceError:
            return b""


async def assert_is_alive(served: ServedDemoWeb) -> None:
    answer = await ask(served, b"GET / HTTP/1.1\r\nHost: www.debian.org\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9 + b"\r\n\r\n", b"400"),  # a TLS client
        (b"garbage\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # no Host
        (b"GET / HTTP/1.1\r\nHost: nowhere.test\r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nHost: \r\n\r\n", b"404"),
        (b"GET / HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", b"404"),
        (b"GET http://[ HTTP/1.1\r\nHost: www.debian.org\r\n\r\n", b"404"),
        (b"GET /../../etc/passwd HTTP/1.1\r\nHost: www.debian.org\r\n\r\n", b"404"),
        (b"GET /" + b"a" * 2 * REQUEST_HEAD_BYTES_MAX, b"431"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 2 * REQUEST_HEAD_BYTES_MAX, b"431"),
        (b"DELETE / HTTP/1.1\r\nHost: www.debian.org\r\n\r\n", b"405"),
        (b"POST / HTTP/1.1\r\nHost: www.debian.org\r\nContent-Length: 9\r\n\r\nx", b"405"),
        (b"GET / HTTP/1.1\r\nHost: www.debian.org\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: www.debian.org\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"400"),
        (b"HEAD / HTTP/1.1\r\nHost: www.debian.org\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", b"400"),
        (b"", b""),
        (b"GET / HT", b"400"),
    ],
)
async def test_bad_requests_are_refused_and_the_server_lives(request_bytes: bytes, status: bytes) -> None:
    async with serve_demo_web() as served:
        answer = await ask(served, request_bytes)
        assert answer[9:12] == status
        await assert_is_alive(served)


FRAGMENTS = [
    *(
        b"GET ",
        b"HEAD ",
        b"POST ",
        b"CONNECT ",
        b"/ ",
        b"* ",
        b"http://x/ ",
        b"HTTP/1.1\r\n",
        b"HTTP/1.0\r\n",
    ),
    *(
        b"Host: www.debian.org\r\n",
        b"Upgrade: websocket\r\nConnection: upgrade\r\n",
        b"Content-Length: 5\r\n",
    ),
    *(b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Connection: close\r\n", b" x: y\r\n"),
    *(b"\r\n", b"\r\n\r\n", b"abc", b"\0\xff", b"5\r\nabcde\r\n0\r\n\r\n", b": \r\n"),
]


async def test_mixed_up_requests_do_not_end_the_server() -> None:
    choose = random.Random(1)
    async with serve_demo_web() as served:
        for _ in range(300):
            start = (
                choose.choice(FRAGMENTS[:4]) + choose.choice(FRAGMENTS[4:7]) + choose.choice(FRAGMENTS[7:9])
            )
            await ask(served, choose.choice((start, b"")) + b"".join(choose.choices(FRAGMENTS[9:], k=5)))
        await assert_is_alive(served)


async def test_client_that_leaves_in_the_middle_does_no_harm() -> None:
    async with serve_demo_web() as served:
        place = served.resolver["www.debian.org"]
        for _ in range(20):
            stream = await trio.open_tcp_stream(place["ip"], place["http"])
            await stream.send_all(
                b"GET /doc/manuals/debian-reference/ch09.zh-cn.html HTTP/1.1\r\nHost: www.debian.org\r\n\r\n"
                * 20
            )
            await stream.receive_some(1)
            await stream.aclose()
        await assert_is_alive(served)


async def test_silent_client_is_dropped(autojump_clock: trio.abc.Clock) -> None:
    client, server = trio.testing.memory_stream_pair()
    handler = ConnectionHandler(DemoWeb({}), deque())
    with trio.fail_after(60):
        await handler.serve(server)  # type: ignore[arg-type]
    assert await client.receive_some() == b""


async def test_connections_over_the_limit_are_closed_at_once() -> None:
    async with serve_demo_web() as served:
        place = served.resolver["www.debian.org"]
        held = [await trio.open_tcp_stream(place["ip"], place["http"]) for _ in range(CONNECTIONS_MAX)]
        for stream in held:  # each one is served, so that all count
            await stream.send_all(b"HEAD /x HTTP/1.1\r\nHost: www.debian.org\r\n\r\n")
            assert (await stream.receive_some()).startswith(b"HTTP/1.1 404")
        assert await ask(served, b"GET / HTTP/1.1\r\nHost: www.debian.org\r\n\r\n") == b""
        for stream in held:
            await stream.aclose()
        await trio.testing.wait_all_tasks_blocked()
        await assert_is_alive(served)


async def test_one_connection_answers_many_requests_and_heads_have_no_body() -> None:
    def requests(served: ServedDemoWeb) -> None:
        browser = Browser(served)
        first, body = browser.get("http://www.debian.org/")
        socket = browser.connections["www.debian.org"].sock
        head, nothing = browser.get("http://www.debian.org/", "HEAD")
        missing, _ = browser.get("http://www.debian.org/missing")
        again, same = browser.get("http://www.debian.org/?")
        assert browser.connections["www.debian.org"].sock is socket
        assert (first.status, head.status, missing.status, again.status) == (200, 200, 404, 200)
        assert head.headers["Content-Length"] == str(len(body))
        assert (nothing, same) == (b"", body)
        browser.close()

    async with serve_demo_web() as served:
        await trio.to_thread.run_sync(requests, served)
        assert [access.status for access in served.accesses] == [200, 200, 404, 200]
        assert served.accesses[2].target == "/missing"


async def test_content_type_is_sent_as_recorded() -> None:
    async with serve_demo_web() as served:
        connection = h11.Connection(h11.CLIENT)
        for host, expected in [(GBK_HOST, b"text/html"), ("httpd.apache.org", b"text/html; charset=utf-8")]:
            connection = h11.Connection(h11.CLIENT)
            connection.receive_data(await ask(served, f"HEAD / HTTP/1.1\r\nHost: {host}:80\r\n\r\n".encode()))
            connection.send(h11.Request(method="HEAD", target="/", headers=[("Host", host)]))
            response = connection.next_event()
            assert isinstance(response, h11.Response)
            assert dict(response.headers)[b"content-type"] == expected


async def test_every_host_has_robots_that_allow_its_pages_and_forbid_something(web: DemoWeb) -> None:
    for host in web.hosts:
        response = web.find(host, "/robots.txt")
        assert response is not None
        rules = Protego.parse(response.body.decode())
        assert b"Disallow: /" in response.body
        targets = [target for name, target in web._responses if name == host]
        assert [
            target for target in targets if not rules.can_fetch(f"http://{host}{target}", "tianmesh")
        ] == []


async def test_two_demo_webs_run_beside_each_other() -> None:
    async with serve_demo_web() as one, serve_demo_web() as two:
        assert one.resolver != two.resolver
        await assert_is_alive(one)
        await assert_is_alive(two)


async def test_hosts_share_one_address_where_there_is_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    real = trio.open_tcp_listeners

    async def only_one(port: int, *, host: str) -> list[trio.SocketListener]:
        if host != "127.0.0.1":
            raise OSError(49, "Can't assign requested address")
        return await real(port, host=host)

    monkeypatch.setattr("bootstrap.demo_web.errno.EADDRNOTAVAIL", 49)
    monkeypatch.setattr(trio, "open_tcp_listeners", only_one)
    async with serve_demo_web() as served:
        assert {place["ip"] for place in served.resolver.values()} == {"127.0.0.1"}
        await assert_is_alive(served)


async def test_error_of_the_caller_comes_out_as_it_is() -> None:
    with pytest.raises(ConfigError, match="mine"):
        async with serve_demo_web():
            raise ConfigError("mine")


@pytest.mark.live
def test_own_process_prints_the_resolver_and_ends_on_sigterm() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "bootstrap.demo_web"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        resolver = json.loads(Path(process.stdout.readline().strip()).read_text())
        seeds = Path(process.stdout.readline().strip()).read_text().split()
        assert [urlsplit(seed).netloc for seed in seeds] == list(resolver)
        process.send_signal(signal.SIGTERM)
        assert process.wait(100) == 0
