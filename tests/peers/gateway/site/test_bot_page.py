"""What webmasters are told: who visits them, how to stop it, and nothing that is not theirs to know."""

from __future__ import annotations

from typing import Any

import msgspec

from mesh.actors.actor import Message
from peers.crawler.explanations import DelayBy, HostFacts, RobotsFacts, UrlFacts, UrlState
from peers.crawler.fetching.contact import visitor_of
from peers.crawler.model.settings import CrawlSettings
from peers.gateway.model.messages import AskWhy, SeedsAdded, WhyAnswered
from peers.gateway.routes import application
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import RIGHTS, FakeBackend

HOME = "http://www.example.org/"
HOST = HostFacts("www.example.org", 1_750_000_600.0, 7.5, DelayBy.SETTING, 1_234, 0, False, 99, "203.0.113.5")
ROBOTS = RobotsFacts("http://www.example.org", 200, 2e9, 1.0, False, True, None, 3, "Disallow: /<b>")
KNOWN = UrlFacts(
    at_s=1_750_000_000.0,
    url=HOME,
    state=UrlState.STORED,
    is_held=True,
    visited_s=1_749_999_000.0,
    outcome="200",
    host=HOST,
    robots=ROBOTS,
)


class Mesh:
    """Answers for a host."""

    def __init__(self, *told: UrlFacts, settings: CrawlSettings | None = None) -> None:
        self.backend = FakeBackend(self.answer)
        self.backend.visitor = visitor_of(
            settings or CrawlSettings(contact="me@uni.example"), (), is_closed=False
        )
        self.told = tuple((f"peer{number}", facts) for number, facts in enumerate(told))

    def answer(self, order: Message) -> Message:
        if isinstance(order, AskWhy):
            return WhyAnswered(7, order.url, 3, "peer0", ("peer0", "peer1"), self.told)
        return SeedsAdded(7, 1)

    async def ask(self, path: str, **options: Any) -> Reply:
        return await ask(application(self.backend), path, **options)


async def test_webmasters_are_told_who_asks_and_how_to_stop_it() -> None:
    reply = await Mesh().ask("/bot")
    assert reply.status == 200
    assert "tianmesh/0.1 (+me@uni.example)" in reply.text
    assert 'href="mailto:me@uni.example"' in reply.text
    assert "User-agent: tianmesh\nDisallow: /</pre>" in reply.text
    chinese = await Mesh().ask("/bot?lang=zh")
    assert "如何阻止访问" in chinese.text
    assert "User-agent: tianmesh" in chinese.text


async def test_of_a_host_is_told_what_its_own_log_shows_and_no_more() -> None:
    mesh = Mesh(KNOWN, msgspec.structs.replace(KNOWN, host=None))
    for text in ("www.example.org", "HTTP://WWW.example.org/some/page"):
        reply = await mesh.ask(f"/bot?host={text}")
        assert isinstance(mesh.backend.orders[-1], AskWhy)
        assert mesh.backend.orders[-1].url == HOME, "not of the page, which would tell whether it is known"
        for shown in (
            "1,234",
            "7.5 s",
            "2025-06-15 14:50 UTC (200)",
            "may not be visited",
            "Disallow: /&lt;b&gt;",
        ):
            assert shown in reply.text
        for hidden in ("203.0.113.5", "peer0", ">99<"):
            assert hidden not in reply.text


async def test_a_host_that_nobody_asked_is_said_to_be_so() -> None:
    assert "was not visited" in (await Mesh().ask("/bot?host=www.example.org")).text
    assert (await Mesh().ask("/bot?host=a%20b")).status == 400


async def test_seeds_of_public_hosts_are_refused_where_nobody_is_named() -> None:
    mesh = Mesh(settings=CrawlSettings())
    for url, status in (("http://a.test/", 200), (HOME, 409)):
        reply = await mesh.ask("/api/seeds", method="POST", body=url.encode(), headers=RIGHTS)
        assert reply.status == status, reply.text
    assert "--contact" in reply.json["error"]
