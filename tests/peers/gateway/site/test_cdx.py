"""A CDX server over stored versions: its parameters, its lines, and whether clients read them."""

from __future__ import annotations

import html
import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import cdx_toolkit
import pytest
import trio
from cdx_toolkit import myrequests
from memento_client import MementoClient
from starlette.datastructures import QueryParams

from mesh.actors.actor import Message
from peers.gateway.model.messages import (
    FindPage,
    FindVersions,
    FoundPage,
    PageFound,
    PagesFound,
    SearchPages,
    VersionsFound,
)
from peers.gateway.routes import application
from peers.gateway.site.cdx import FIELDS, NoCdxQuery, cdx_query, url_key
from peers.storage.archive.warc import response_record
from peers.storage.wire_messages import ToldVersion
from tests.helpers import seen
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import FakeBackend
from tests.peers.gateway.fake_searcher import FULL, FakeSearcher
from tests.peers.gateway.test_http_port import running

URL = "http://a.test/docs/p?x=1"
FIRST, GONE, LAST = (datetime(2026, 1, day, 12, 30, 5, tzinfo=UTC).timestamp() for day in (1, 2, 3))
VERSIONS = (
    ToldVersion(LAST, 200, 3, True, 30),
    ToldVersion(GONE, 404, 2, False, 20),
    ToldVersion(FIRST, 200, 1, True, 10),
)
BODIES = {FIRST: b"<p>one", LAST: b"<p>two"}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
BARRED = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Robots-Tag: noarchive\r\n\r\n"
OTHERS = ("http://a.test/docs/", "https://a.test/docs/b", "http://a.test/d", "http://sub.a.test/docs/")


def page(url: str, media_type: str = "text/html") -> FoundPage:
    return FoundPage(url, "t", "s", (), (), 1.0, "a.test", FIRST, "ann", type=media_type)


def answer(order: Message, head: bytes = HEAD) -> Message:
    """A mesh has two versions of one page and, in its index, three hundred."""
    match order:
        case FindVersions(ticket, url):
            return VersionsFound(ticket, url, VERSIONS if url == URL else ())
        case SearchPages(ticket, text, k, offset):
            many = [page(f"http://a.test/docs/{number:03}") for number in range(296)]
            hits = tuple([*map(page, OTHERS), *many][offset : offset + k])
            return PagesFound(ticket, (text,), 300, 0.004, FULL, hits)
        case FindPage(ticket, url, at_s):
            at = max([at for at in BODIES if not at_s or at <= at_s] or [FIRST])
            is_known = url.startswith(("http://a.test", "https://a.test")) or "127.0.0.1" in url
            body = response_record(url, head, BODIES[at], seen(7.0)) if is_known else b""
            return PageFound(ticket, url, at, body)
    raise AssertionError(order)


@pytest.fixture
def backend() -> FakeBackend:
    return FakeBackend(answer)


async def cdx(backend: FakeBackend, parameters: str) -> Reply:
    return await ask(application(backend), f"/cdx?{parameters}")


def rows(reply: Reply) -> list[dict[str, str]]:
    return [json.loads(line) for line in reply.text.splitlines()]


async def test_a_page_has_a_line_for_each_version_that_is_shown(backend: FakeBackend) -> None:
    reply = await cdx(backend, f"url={quote(URL)}")
    assert reply.status == 200
    assert reply.headers["content-type"].startswith("text/x-cdxj")
    first, last = reply.text.splitlines()
    assert first.startswith("test,a)/docs/p?x=1 20260101123005 {")
    told = {"url": URL, "mime": "-", "status": "200", "digest": "-", "length": "30"}
    assert json.loads(last.split(" ", 2)[2]) == told
    (line, _) = (await cdx(backend, f"url={quote(URL)}&output=text&fl=timestamp,url")).text.splitlines()
    assert line == f"20260101123005 {URL}"


@pytest.mark.parametrize("url", [URL, "a.test/docs/p?x=1", "https://a.test/docs/p?x=1"])
async def test_a_page_is_found_whatever_scheme_is_written(backend: FakeBackend, url: str) -> None:
    assert [row["url"] for row in rows(await cdx(backend, f"url={quote(url)}&output=json"))] == [URL, URL]


@pytest.mark.parametrize(
    ("parameters", "days"),
    [
        ("from=20260102", [3]),
        ("to=20260101", [1]),
        ("from=2026&to=2026", [1, 3]),
        ("from=20260101123005&to=20260101123005", [1]),
        ("limit=1", [1]),
        ("sort=reverse&limit=1", [3]),
        ("sort=closest&closest=20260102233000", [3, 1]),
        ("closest=2025", [1, 3]),
        ("filter=%3Dlength:30", [3]),
        ("filter=!%3Dlength:30", [1]),
        ("filter=timestamp:0103", [3]),
        ("filter=!timestamp:0103&filter=url:docs", [1]),
    ],
)
async def test_lines_are_chosen_and_ordered_as_pywb_does(
    backend: FakeBackend, parameters: str, days: list[int]
) -> None:
    told = rows(await cdx(backend, f"url={quote(URL)}&output=json&{parameters}"))
    assert [int(row["timestamp"][6:8]) for row in told] == days


@pytest.mark.parametrize(
    ("parameters", "search", "told"),
    [
        ("url=a.test/docs/*", "site:a.test copies:all inurl:docs", [OTHERS[0], OTHERS[1]]),
        ("url=http://a.test/d&matchType=prefix", "site:a.test copies:all", [*OTHERS[2:3], *OTHERS[:2]]),
        ("url=a.test/x&matchType=host", "site:a.test copies:all", [*OTHERS[2:3], *OTHERS[:2]]),
        ("url=*.a.test", "site:a.test copies:all", [*OTHERS[2:3], *OTHERS[:2], OTHERS[3]]),
    ],
)
async def test_many_pages_have_their_newest_version_each(
    backend: FakeBackend, parameters: str, search: str, told: list[str]
) -> None:
    found = rows(await cdx(backend, f"{parameters}&output=json&filter=!url:docs/0"))
    assert [row["url"] for row in found] == told
    assert found[0]["mime"] == "text/html"
    assert backend.orders == [SearchPages(7, search, 100, 0, is_verbatim=True)]


async def test_a_long_list_has_pages_and_no_more_than_a_search(backend: FakeBackend) -> None:
    counted = (await cdx(backend, "url=a.test/docs/*&showNumPages=true")).json
    assert counted == {"pages": 3, "pageSize": 1, "blocks": 3}
    pages = [rows(await cdx(backend, f"url=a.test/docs/*&output=json&page={n}")) for n in range(3)]
    assert sum(map(len, pages)) == len({row["url"] for page in pages for row in page}) == 298
    assert (await cdx(backend, "url=a.test/docs/*&page=10")).status == 400
    assert (await cdx(backend, f"url={quote(URL)}&page=1")).status == 400


@pytest.mark.parametrize(
    "parameters",
    [
        *("", "url=", "url=gopher://a.test/", "url=a.test&matchType=all", "url=a.test&from=yesterday"),
        *(
            "url=a.test&sort=closest",
            "url=a.test&sort=size",
            "url=a.test&closest=never",
            "url=a.test&limit=-1",
        ),
        *("url=a.test&fl=offset", "url=a.test&output=xml"),
        *("url=a.test&filter=mime", "url=a.test&page=x", "url=a.test&limit=-1"),
        "url=a.test&filter=~url:(a*)*b",
        f"url=a.test/{'a' * 9_000}",
    ],
)
async def test_what_is_no_query_of_a_cdx_server_is_refused(backend: FakeBackend, parameters: str) -> None:
    reply = await cdx(backend, parameters)
    assert (reply.status, bool(reply.json["error"]), backend.orders) == (400, True, [])


async def test_what_is_not_there_is_said_as_pywb_says_it(backend: FakeBackend) -> None:
    reply = await cdx(backend, "url=b.test")
    assert (reply.status, reply.json["error"]) == (404, "No Captures found for: http://b.test/")


def test_only_so_many_filters_are_looked_at() -> None:
    assert len(cdx_query(QueryParams("url=a.test" + "&filter=url:a" * 1_000)).filters) == 16
    with pytest.raises(NoCdxQuery):
        cdx_query(QueryParams("url=a.test&filter=url:" + "a" * 10_000))


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://Sub.A.test:8080/P?B", "test,a,sub:8080)/p?b"),
        ("https://a.test/", "test,a)/"),
        ("http://127.0.0.1:80/x", "127.0.0.1:80)/x"),
        ("http://[::1]/", "[::1])/"),
    ],
)
def test_keys_begin_with_the_end_of_the_host_name(url: str, key: str) -> None:
    assert url_key(url) == key


async def test_the_original_of_a_version_is_given_to_save_and_not_to_run(backend: FakeBackend) -> None:
    for target in (URL, quote(URL)):
        reply = await ask(application(backend), f"/web/20260102id_/{target}")
        assert (reply.status, reply.body) == (200, BODIES[FIRST])
        assert reply.headers["content-type"] == "application/octet-stream"
        assert reply.headers["content-disposition"].startswith("attachment")
        assert reply.headers["memento-datetime"] == "Thu, 01 Jan 2026 12:30:05 GMT"
    for target, status in (("/web/nowid_/http://a.test/", 400), ("/web/2026id_/http://b.test/", 404)):
        assert (await ask(application(backend), target)).status == status
    barred = application(FakeBackend(lambda order: answer(order, BARRED)))
    assert (await ask(barred, f"/web/2026id_/{URL}")).status == 403


async def test_links_of_a_version_of_a_day_lead_to_versions_of_that_day() -> None:
    page_ = (
        b"<title>t</title><a class=x href='../q?a=1&amp;b=2#s t'>q</a> <A HREF=//b.test/>b</A>"
        b'<a href="#top">top</a><a href="mailto:a@b">m</a><abbr href="q">no</abbr>'
    )

    def found(order: Message) -> Message:
        assert isinstance(order, FindPage)
        asked.append(order.at_s)
        return PageFound(order.ticket, order.url, FIRST, response_record(order.url, HEAD, page_, seen(7.0)))

    asked: list[float] = []
    reply = await ask(application(FakeBackend(found)), f"/at/20260102/{URL}")
    assert (reply.status, reply.headers["memento-datetime"]) == (200, "Thu, 01 Jan 2026 12:30:05 GMT")
    assert datetime.fromtimestamp(asked[0], UTC).isoformat() == "2026-01-02T23:59:59.999999+00:00"
    shown = html.unescape(html.unescape(reply.text))
    assert 'href="http://localhost/at/20260102/http://a.test/q?a=1&b=2#s%20t"' in shown
    assert 'HREF="http://localhost/at/20260102/http://b.test/"' in shown
    for kept in ('<a href="#top">', '<a href="mailto:a@b">', '<abbr href="q">'):
        assert kept in shown
    assert "at the end of 2026-01-02" in shown
    moment = await ask(application(FakeBackend(found)), f"/at/20260101123100/{URL}")
    assert "how it was on 2026-01-01 12:31:00 UTC" in moment.text, "the day was not over"
    to_come = await ask(application(FakeBackend(found)), f"/at/29990101/{URL}")
    assert "how it was on 20" in to_come.text
    assert "of 2999" not in to_come.text, "nobody knows the end of a day to come"


async def test_a_day_that_is_none_is_refused_and_a_later_first_version_is_called_so(
    backend: FakeBackend,
) -> None:
    for day in ("2026010", "20260230", "today", "20261125x"):
        assert (await ask(application(backend), f"/at/{day}/{URL}")).status == 400
    assert (await ask(application(backend), "/at/20260102/http://b.test/")).status == 404
    assert (await ask(application(backend), "/at/20260102/nothing")).status == 400
    assert "this is the first" in (await ask(application(backend), f"/at/2025/{URL}")).text
    barred = application(FakeBackend(lambda order: answer(order, BARRED)))
    assert (await ask(barred, f"/at/20260102/{URL}")).status == 403


# The library that it writes records with leaves their temporary files to the collector.
@pytest.mark.filterwarnings("ignore:.*SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.live
async def test_cdx_toolkit_lists_and_fetches_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(myrequests.retry_info, "default", {"next_fetch": 0, "minimum_interval": 0})

    def read(port: int) -> tuple[Any, ...]:
        base = f"http://127.0.0.1:{port}"
        client = cdx_toolkit.CDXFetcher(source=f"{base}/cdx", wb=f"{base}/web")
        every = client.get(URL, filter="=status:200")
        last = client.get(URL, closest="20260104", sort="closest", limit=1)
        none = client.get("http://b.test/")
        walked = [each["url"] for each in client.iter("a.test/docs/*")]
        pages = client.get_size_estimate("a.test/docs/*", as_pages=True)
        return every, last[0].content, none, walked, pages

    async with running(FakeSearcher(answer)) as http:
        every, content, none, walked, pages = await trio.to_thread.run_sync(read, http.port)
    assert [(each["timestamp"], tuple(each)) for each in every] == [
        ("20260101123005", FIELDS),
        ("20260103123005", FIELDS),
    ]
    assert content == BODIES[LAST]
    assert none == []
    assert len(set(walked)) == len(walked) == 298
    assert pages == 3


@pytest.mark.live
async def test_the_client_of_memento_is_led_to_the_version_of_a_time() -> None:
    def read(port: int) -> dict[str, Any]:
        base = f"http://127.0.0.1:{port}"
        with MementoClient(timegate_uri=f"{base}/timegate/", check_native_timegate=False) as client:
            # The client looks at the page itself, too: it is one of the gateway here.
            found: dict[str, Any] = client.get_memento_info(f"{base}/help", datetime(2026, 1, 2, 23, 0))
            return found

    def told(order: Message) -> Message:
        if isinstance(order, FindVersions):
            return VersionsFound(order.ticket, order.url, VERSIONS)
        return answer(order)

    async with running(FakeSearcher(told)) as http:
        found = await trio.to_thread.run_sync(read, http.port)
    page_url = f"http://127.0.0.1:{http.port}/help"
    assert found["original_uri"] == page_url
    closest = found["mementos"]["closest"]
    assert closest["datetime"] == datetime(2026, 1, 1, 12, 30, 5)
    assert closest["http_status_code"] == 200
    (uri,) = closest["uri"]
    assert uri.endswith(f"/page?url={quote(page_url, safe='')}&at=20260101123005")
