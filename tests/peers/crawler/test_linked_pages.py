"""The link graph hears of each version of a page that is stored, if there is one, and of no other."""

from __future__ import annotations

from math import inf

from mesh.actors.actor import Send
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.stamp import Stamp
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.crawler.model.url_rows import ICON_HOPS
from peers.crawler.model.wire_messages import FoundLink
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from peers.storage.messages import PageStored
from tests.helpers import fetched, parsed
from tests.peers.crawler.desk import HOME, Desk, of_kind

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
