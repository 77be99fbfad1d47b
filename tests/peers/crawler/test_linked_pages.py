"""The link graph hears of each version of a page that is stored, if there is one, and of no other."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf

import pytest

from mesh.actors.actor import Send
from mesh.actors.departures import GATHER_S
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.stamp import Stamp
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.crawler.model.url_rows import ICON_HOPS
from peers.crawler.model.wire_messages import FoundLink
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from peers.storage.messages import PageStored, StorePage
from tests.helpers import fetched, parsed
from tests.peers.crawler.desk import HOME, Desk, of_kind
from tests.peers.crawler.test_visiting_again import (
    keep_in_archive,
    question_in,
    row_at,
    stored_with_validators,
)

LINKS = (FoundLink("http://b.test/", "words"), FoundLink("http://b.test/icon.png", hops=ICON_HOPS))


def obey(desk: Desk, rules: LinkGraphRules | None) -> list[Send]:
    body = policy_bytes(Policy(rules=EVERYTHING.rules, link_graph=rules))
    made = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
    return desk.tell(DecreesInForce(POLICY, (made,)), "membership")


def linked(sends: list[Send]) -> list[PageLinked]:
    found = of_kind(sends, PagesLinked)
    assert {send.target.actor for send in sends if isinstance(send.message, PagesLinked)} <= {"link_graph"}
    return [page for message in found for page in message.pages]


def test_a_page_is_told_with_its_links_when_it_is_stored_and_without_its_icon() -> None:
    desk = Desk()
    obey(desk, LinkGraphRules())
    desk.with_home_asked()
    desk.tell(fetched(HOME))
    said = parsed(HOME, *LINKS)
    assert linked(desk.tell(said, "parser")) == []
    [page] = linked(desk.tell(PageStored(HOME, Stamp(1, 1_000.0)), "cell"))
    assert said.document is not None
    assert (page.url, page.stamp, page.title) == (HOME, Stamp(1, 1_000.0), said.document.title)
    assert page.links == LINKS[:1]


def test_a_page_from_before_the_graph_is_told_when_it_comes_again_as_it_was() -> None:
    """It is no version of its own: its links are those of the version that the archive has."""
    desk = Desk(revisit_after_s=100.0, robots_ttl_s=1e9).with_home_asked()
    desk.tell(fetched(HOME, started_at=desk.now))
    (first,) = of_kind(desk.tell(parsed(HOME, *LINKS, digest=b"one page"), "parser"), StorePage)
    keep_in_archive(desk, first.page.stamp)
    assert linked(desk.tell(PageStored(HOME, first.page.stamp), "cell")) == []
    desk.wake(GATHER_S)
    obey(desk, LinkGraphRules())
    desk.now = row_at(desk, HOME).due_s
    desk.wake()
    desk.tell(fetched(HOME, started_at=desk.now))
    sends = desk.tell(parsed(HOME, *LINKS, digest=b"one page"), "parser")
    assert of_kind(sends, StorePage) == []
    [page] = linked([*sends, *desk.wake(GATHER_S)])
    assert (page.url, page.stamp, page.links) == (HOME, first.page.stamp, LINKS[:1])


def test_a_page_that_is_not_to_be_found_is_told_to_link_nowhere() -> None:
    desk = Desk()
    obey(desk, LinkGraphRules())
    desk.with_home_asked()
    desk.tell(fetched(HOME))
    desk.tell(parsed(HOME, *LINKS, document=None), "parser")
    [page] = linked(desk.tell(PageStored(HOME, Stamp(1, 1_000.0)), "cell"))
    assert (page.title, page.links) == ("", ())


def test_without_a_graph_nothing_is_told_nor_when_it_has_ended() -> None:
    for policies in ((), (None,), (LinkGraphRules(), None)):
        desk = Desk()
        for rules in policies:
            obey(desk, rules)
        desk.with_home_asked()
        desk.tell(fetched(HOME))
        desk.tell(parsed(HOME, *LINKS), "parser")
        assert linked(desk.tell(PageStored(HOME, Stamp(1, 1_000.0)), "cell")) == []


@pytest.mark.parametrize(("after_s", "is_whole"), [(5.0, True), (-5.0, False), (None, False)])
def test_pages_from_before_are_asked_for_as_a_whole_where_the_policy_says_so(
    after_s: float | None, is_whole: bool
) -> None:
    desk = stored_with_validators()
    stored_s = row_at(desk, HOME).visited_s
    since = None if after_s is None else datetime.fromtimestamp(stored_s + after_s, UTC)
    question = question_in(obey(desk, LinkGraphRules(since=since)))
    assert (question.etag == "") == is_whole
