"""The watch at a gateway: for administrators, escaped, as it comes, and gone on with where a reader was."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import AsyncGenerator, Callable
from html import unescape
from math import inf
from typing import Any

import pytest
import trio
from starlette.requests import Request

from mesh.actors.actor import Message
from mesh.keys.decree import WATCH, Decree
from peers.gateway import watch_routes
from peers.gateway.handling.access import ClientAccess
from peers.gateway.handling.backend import Busy
from peers.gateway.model.messages import GatherNotices, NoticesGathered
from peers.gateway.notices.notice_stream import PLACE_CHARS_MAX, id_of, places_in, streamed
from peers.gateway.notices.watch_json import WatchJson, watch_json
from peers.gateway.routes import application
from peers.gateway.watch_routes import FOLLOWERS_MAX, WatchRoutes
from peers.watch.list_file import entries_of
from peers.watch.watch_list import WatchInForce, list_body, watch_of
from peers.watch.wire_messages import PLACE_MAX, EntryCount, Notice, NoticesTold
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import RIGHTS, TOKEN, FakeBackend
from tests.peers.gateway.fake_searcher import answer_to

EVIL = '<script>alert("1")</script>'
PATHS = ("/watch", "/watch?format=atom", "/api/watch", "/api/watch?after=ann.7", "/api/watch/events")


def notice(place: int, entry: str = "glass", url: str = "http://a.test/", excerpt: str = "") -> Notice:
    return Notice(place, url, b"\x01\x02", entry, 3, 1e9 + place, f"{EVIL} page", 2, 1, excerpt, 0, 3)


def watch_list(*words: str) -> WatchInForce:
    watch = watch_of(
        [Decree(WATCH, "", 3, 0.0, inf, list_body(entries_of(words), 1.0), b"\xab" * 32, b"")], None
    )
    assert watch is not None
    return watch


class Watchers:
    """Two peers with notices, of which one may be silent."""

    def __init__(self) -> None:
        self.told = {
            "ann": [notice(7, excerpt=EVIL), notice(8, "lead")],
            "bob": [notice(5, "glass", "http://b.test/"), notice(9, "glass", "http://c.test/")],
        }
        self.silent: tuple[str, ...] = ()

    def __call__(self, order: Message) -> Message:
        if not isinstance(order, GatherNotices):
            return answer_to(order)
        after = dict(order.after)
        told = []
        for peer, notices in self.told.items():
            place = after.get(peer, int(order.is_from_oldest))
            shown = [each for each in notices if each.place > place] if place else notices
            shown = shown[: order.most] if place else shown[max(0, len(shown) - order.most) :]
            counts = (EntryCount("glass", 2, 4), EntryCount("gone", 9, 9)) if order.wants_counts else ()
            told.append((peer, NoticesTold(1, tuple(shown), notices[-1].place, counts)))
        return NoticesGathered(order.ticket, tuple(told), self.silent, (("ann", "mill"),))


def backend_with(watchers: Watchers | None = None) -> FakeBackend:
    backend = FakeBackend(watchers or Watchers())
    backend.watch_list = watch_list("glass", "lead", f"{EVIL}\tscript")
    return backend


@pytest.mark.parametrize("path", PATHS)
async def test_others_than_administrators_see_nothing_of_it(path: str) -> None:
    backend = backend_with()
    reply = await ask(application(backend), path)
    assert reply.status == 403
    assert not {"glass", "lead", "a.test"} & set(re.findall(r"[\w.]+", reply.text))
    assert not backend.orders, "no peer was asked"


@pytest.mark.parametrize(
    "path", ["/", "/search?q=glass", "/robots.txt", "/help", "/status", "/history", "/bot"]
)
async def test_no_page_for_searchers_speaks_of_it(path: str) -> None:
    reply = await ask(application(backend_with()), path)
    assert reply.status == 200
    assert "/watch" not in reply.text


async def test_the_status_leads_administrators_to_it() -> None:
    assert 'href="/watch"' in (await ask(application(backend_with()), "/status", headers=RIGHTS)).text


async def test_programs_get_the_counts_of_all_peers_and_the_newest_notices() -> None:
    told = (await ask(application(backend_with()), "/api/watch", headers=RIGHTS)).json
    counts = {each["entry"]: (each["notices"], each["occurrences"]) for each in told["entries"]}
    assert counts == {"glass": (4, 8), "lead": (0, 0), EVIL: (0, 0)}
    assert [each["url"][7] for each in told["notices"]] == ["c", "a", "a", "b"]
    assert [each["peer"] for each in told["notices"]] == ["bob", "mill (ann)", "mill (ann)", "bob"]
    assert (told["number"], told["signer"], told["after"]) == (3, "ab" * 32, "ann.8,bob.9")
    behind = (await ask(application(backend_with()), "/api/watch?after=ann.7,bob.9", headers=RIGHTS)).json
    assert [(each["entry"], each["mark"]) for each in behind["notices"]] == [("lead", "0102")]
    assert behind["after"] == "ann.8,bob.9"


@pytest.mark.parametrize("path", ["/watch", "/watch?format=atom", "/api/watch", "/api/watch?after=ann.7"])
async def test_the_counts_of_all_peers_are_added_up_where_that_holds_nobody_up(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    backend = backend_with()
    rendering: list[int] = []
    monkeypatch.setattr(backend, "render", lambda work: _rendered(work, rendering))
    seen: list[int] = []

    def counted(*arguments: Any, **named: Any) -> WatchJson:
        seen.append(len(rendering))
        return watch_json(*arguments, **named)

    monkeypatch.setattr(watch_routes, "watch_json", counted)
    assert (await ask(application(backend), path, headers=RIGHTS)).status == 200
    assert seen == [1]


async def _rendered(work: Callable[[], Any], rendering: list[int]) -> Any:
    rendering.append(1)
    try:
        return work()
    finally:
        rendering.pop()


async def test_what_is_behind_a_place_is_told_whole_and_in_its_order() -> None:
    watchers = Watchers()
    watchers.told = {"ann": [notice(n, url=f"http://a.test/{n}") for n in range(2, 502)]}
    gateway, after = application(backend_with(watchers)), "ann.1"
    urls: list[str] = []
    for _ in range(4):
        told = (await ask(gateway, f"/api/watch?after={after}", headers=RIGHTS)).json
        after, urls = told["after"], urls + [each["url"] for each in told["notices"]]
    assert urls == [f"http://a.test/{n}" for n in range(2, 502)]


async def test_the_page_is_whole_without_script_and_nothing_in_it_is_markup() -> None:
    watchers = Watchers()
    watchers.silent = ("eve",)
    for language in ("en", "zh"):
        reply = await ask(application(backend_with(watchers)), f"/watch?lang={language}", headers=RIGHTS)
        assert reply.status == 200
        assert EVIL not in reply.text
        assert EVIL in unescape(reply.text)
        assert reply.text.count('href="http://b.test/"') == 1
        assert "eve" in reply.text
        policy = reply.headers["content-security-policy"]
        assert len(re.findall("'sha256-[^']+'", policy)) == reply.text.count("<script>") == 2
        assert reply.headers["cache-control"] == "private, no-cache"


async def test_the_feed_is_sound_xml_whatever_pages_say() -> None:
    watchers = Watchers()
    watchers.told["ann"].append(notice(11, "]]>", "http://d.test/?a&b", "\0\ud800&<"))
    reply = await ask(application(backend_with(watchers)), "/watch?format=atom", headers=RIGHTS)
    assert reply.headers["content-type"].startswith("application/atom+xml")
    feed = ElementTree.fromstring(reply.body)
    name = "{http://www.w3.org/2005/Atom}"
    ids = [entry.findtext(f"{name}id") for entry in feed.iter(f"{name}entry")]
    assert len(set(ids)) == len(ids) == 5
    assert ids[0] == "http://d.test/?a&b#watch-0102-]]>"


async def test_a_mesh_that_watches_for_nothing_says_so_to_administrators() -> None:
    watchers = Watchers()
    watchers.told = {}
    reply = await ask(application(FakeBackend(watchers)), "/watch", headers=RIGHTS)
    assert "tianmesh watch add" in reply.text


@pytest.mark.parametrize(
    "named", ["x", "ann.", ".5", "ann.-1", "ann.1e5", "a" * 65 + ".1", "," * PLACE_CHARS_MAX + "a.1"]
)
async def test_a_place_that_is_none_is_refused(named: str) -> None:
    reply = await ask(application(backend_with()), f"/api/watch/events?after={named}", headers=RIGHTS)
    assert reply.status == 400
    headers = {**RIGHTS, "Last-Event-ID": named}
    assert (await ask(application(backend_with()), "/api/watch/events", headers=headers)).status == 400


def test_a_place_is_read_as_it_is_written() -> None:
    places = {"ann": 5, "bob.b": PLACE_MAX}
    assert places_in(id_of(places)) == places
    assert places_in("") == {}


async def test_notices_stream_each_once_and_go_on_behind_any_of_them(
    autojump_clock: trio.testing.MockClock,
) -> None:
    watchers = Watchers()

    async def gather(places: object) -> NoticesGathered:
        assert isinstance(places, dict)
        gathered = watchers(GatherNotices(1, tuple(places.items()), is_from_oldest=True))
        assert isinstance(gathered, NoticesGathered)
        return gathered

    async def read(after: str, count: int) -> list[tuple[str, str]]:
        stream = streamed(gather, places_in(after))
        got: list[tuple[str, str]] = []
        async for each in stream:
            if each.notice is not None:
                got.append((each.after, f"{each.notice.entry} {each.notice.url}"))
            elif not got:
                assert places_in(each.after) == places_in(after)
            if len(got) == count:
                break
            if len(got) == 2 and count == 3:
                watchers.told["ann"].append(notice(10, "iron"))
        await stream.aclose()
        return got

    assert [text for _, text in await read("ann.8,bob.5", 1)] == ["glass http://c.test/"]
    got = await read("ann.7,bob.5", 3)
    assert [text.partition(" ")[0] for _, text in got] == ["lead", "glass", "iron"]
    again = await read(got[0][0], 2)
    assert {text for _, text in again} == {text for _, text in got[1:]}


async def test_events_are_written_for_a_browser_and_few_may_follow() -> None:
    routes = WatchRoutes(backend := backend_with(), ClientAccess(backend))
    followed: list[AsyncGenerator[bytes]] = []
    for n in range(FOLLOWERS_MAX):
        parts = routes._events({"ann": 7, "bob": 5})
        assert await anext(parts) == b"id: ann.7,bob.5\n\n"
        followed.append(parts)
        assert routes._followers == n + 1
    assert (
        await anext(parts) == b"id: ann.8,bob.5\ndata: " + (await anext(followed[0])).partition(b"data: ")[2]
    )
    request = Request({"type": "http", "headers": [(b"authorization", f"Bearer {TOKEN}".encode())]})
    with pytest.raises(Busy):
        await routes.events(request)
    for parts in followed:
        await parts.aclose()
    assert routes._followers == 0
    reply = await ask(application(backend), "/api/watch/events", headers=RIGHTS)
    assert reply.headers["content-type"] == "text/event-stream"
    assert backend.orders[-1] == GatherNotices(7, most=0)
