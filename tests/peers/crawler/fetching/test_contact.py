"""No public host is asked by somebody whom nobody can write to."""

from __future__ import annotations

import pytest
import trio

from peers.crawler.addresses.addresses import AddressPolicy
from peers.crawler.fetching.contact import is_public_name, visitor_of
from peers.crawler.fetching.fetcher import Fetcher
from peers.crawler.fetching.resolver import FixedEndpoint, FixedResolver
from peers.crawler.model import politeness
from peers.crawler.model.politeness import Blame
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage
from tests.peers.crawler.desk import Desk, asked


@pytest.mark.parametrize(
    "host", ["www.debian.org", "8.8.8.8", "[2606:4700::1111]", "a.b.example.org", "test.org"]
)
def test_hosts_of_others_are_public(host: str) -> None:
    assert is_public_name(host)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "a.localhost",
        "127.0.0.1",
        "10.1.2.3",
        "[::1]",
        "h0.test",
        "a.example",
        "intranet",
        "x.home.arpa",
    ],
)
def test_hosts_of_ours_and_of_nobody_are_not(host: str) -> None:
    assert not is_public_name(host)
    assert not is_public_name("www.debian.org", ["www.debian.org"])


def test_the_contact_follows_the_name() -> None:
    visitor = visitor_of(CrawlSettings(contact="me@a.test"), (), is_closed=False)
    assert (visitor.agent, visitor.token) == ("tianmesh/0.1 (+me@a.test)", "tianmesh")
    assert visitor.refused(["http://www.debian.org/"]) == []
    desk = Desk(contact="me@a.test")
    (send,) = [send for send in desk.seed("http://a.test/") if isinstance(send.message, FetchPage)]
    assert isinstance(send.message, FetchPage)
    assert send.message.user_agent == "tianmesh/0.1 (+me@a.test)"


def test_who_names_nobody_may_ask_what_is_its_own() -> None:
    visitor = visitor_of(CrawlSettings(), ("wiki.org",), is_closed=False)
    urls = ["http://a.test/", "http://wiki.org/", "http://www.debian.org/"]
    assert visitor.refused(urls) == ["http://www.debian.org/"]
    assert visitor_of(CrawlSettings(), (), is_closed=True).refused(urls) == []
    named = CrawlSettings(user_agent="lab/1.0 (me@uni.example)")
    assert visitor_of(named, (), is_closed=False).refused(urls) == []


async def test_an_anonymous_fetcher_asks_nobody_at_a_public_address(
    autojump_clock: trio.testing.MockClock,
) -> None:
    resolver = FixedResolver({"www.debian.org": FixedEndpoint("130.89.148.77")})
    fetcher = Fetcher(resolver, addresses=AddressPolicy(is_anonymous=True))
    result = await fetcher.fetch(FetchPage("http://www.debian.org/"))
    assert isinstance(result, FetchFailed)
    assert result.reason is FailureReason.NO_CONTACT
    assert "--contact" in result.detail


def test_a_host_that_was_not_asked_for_want_of_a_contact_has_nothing_to_pay_for_it() -> None:
    assert politeness.blame_for(FailureReason.NO_CONTACT) is Blame.US
    desk = Desk().with_home_asked()
    assert desk.fail("http://a.test/", FailureReason.NO_CONTACT) == []
    assert asked(desk.wake(5.0)) == ["http://a.test/"]
