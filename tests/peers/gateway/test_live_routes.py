"""Live searches over the gateway: who may, what is streamed, and the page that shows one."""

from __future__ import annotations

import json

import pytest
import trio

from mesh.actors.actor import Message
from peers.gateway.live.live_search import LiveRequest
from peers.gateway.live_rounds import live_rounds
from peers.gateway.model.messages import HastenPages, PagesHastened
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from tests.peers.gateway.asgi_client import ask
from tests.peers.gateway.fake_backend import RIGHTS, TOKEN, FakeBackend
from tests.peers.gateway.fake_searcher import answer_to

WISH = json.dumps({"q": "crawler"}).encode()


def with_hastened(order: Message) -> Message:
    if isinstance(order, HastenPages):
        return PagesHastened(order.ticket, ())
    return answer_to(order)


async def test_only_administrators_begin_one_unless_all_may_give_seeds() -> None:
    gateway = application(FakeBackend())
    assert (await ask(gateway, "/api/search/live", "POST", body=WISH)).status == 403
    assert (await ask(gateway, "/live?q=a", "GET")).status == 403
    assert (await ask(gateway, "/live", "POST", body=b"q=a")).status == 403
    backend = FakeBackend(with_hastened, GatewaySettings(admin_token=TOKEN, takes_seeds=True))
    assert (await ask(application(backend), "/api/search/live", "POST", body=WISH)).status == 200
    assert backend.seeds_taken == [("127.0.0.1", 50)], "its pages count as seeds"
    backend.seeds_wait_s = 9.0
    assert (await ask(application(backend), "/api/search/live", "POST", body=WISH)).status == 429


async def test_page_of_another_site_begins_none() -> None:
    headers = RIGHTS | {"Origin": "http://evil.test"}
    gateway = application(FakeBackend(with_hastened))
    assert (await ask(gateway, "/api/search/live", "POST", headers, WISH)).status == 403


@pytest.mark.parametrize(
    "body", [b"", b"{}", b'{"q": " "}', b'{"q": "a", "pages": 201}', b'{"q": "a", "x": 1}']
)
async def test_wish_that_makes_no_sense_is_refused(body: bytes) -> None:
    gateway = application(FakeBackend(with_hastened))
    assert (await ask(gateway, "/api/search/live", "POST", RIGHTS, body)).status == 400


async def test_states_are_told_until_nothing_is_left() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    backend = FakeBackend(with_hastened)
    told = [each async for each in live_rounds(backend, LiveRequest(q="crawler"), sleep)]
    assert [each.is_over for each in told] == [False] * len(slept) + [True]
    assert told[-1].why_over == "nothing left"
    assert [hit.url for hit in told[-1].found.hits]


async def test_program_gets_parts_and_a_person_a_page_that_loads_itself_again() -> None:
    backend = FakeBackend(with_hastened)
    gateway = application(backend)
    reply = await ask(gateway, "/api/search/live", "POST", RIGHTS, WISH)
    assert reply.headers["content-type"] == "text/event-stream"
    assert "content-length" not in reply.headers
    form = await ask(gateway, "/live?q=crawler", "GET", RIGHTS)
    assert '<form class="ask" action="/live" method="post">' in form.text
    begun = await ask(gateway, "/live", "POST", RIGHTS, b"q=crawler")
    assert begun.status == 303
    shown = await ask(gateway, begun.headers["location"], "GET", RIGHTS)
    assert 'http-equiv="refresh"' in shown.text
    assert "How a " in shown.text
    with trio.fail_after(60):
        for work in backend.started:
            await work()
    ended = await ask(gateway, begun.headers["location"], "GET", RIGHTS)
    assert 'http-equiv="refresh"' not in ended.text
    assert (await ask(gateway, "/live?id=unknown", "GET", RIGHTS)).status == 404


async def test_results_lead_to_it_for_those_who_may() -> None:
    gateway = application(FakeBackend())
    assert "/live?q=crawler" in (await ask(gateway, "/search?q=crawler", "GET", RIGHTS)).text
    assert "/live?q=crawler" not in (await ask(gateway, "/search?q=crawler")).text
