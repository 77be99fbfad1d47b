"""An auditor looks at a page in a turn that was lent, and blames nobody by its own eyes alone."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.conduct import Misbehaved, Offence
from mesh.urls import host_of
from peers.crawler.auditing import auditor
from peers.crawler.auditing.auditor import Auditor
from peers.crawler.auditing.likeness import hashes_of
from peers.crawler.model.messages import ParsePage
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason, FetchFailed, FetchPage
from peers.crawler.model.wire_messages import LendTurn, LookAtPage, PageObserved, TurnLent
from peers.engine.pages.document import Document
from peers.storage.messages import HostVisited, PageKept, WatchHosts
from peers.storage.wire_messages import StoredPage
from tests.helpers import ME, fetched, owned_by, ownership_changed, parsed

OWNER, HELPER = "owner", "helper"
PEERS = (ME, OWNER, HELPER)
SAID = "the owner of this page says that it is about ships and the sea and nothing else"
SEEN = "but whoever asks its server finds a page on gardens with roses in many colours"


def pages_of(owner: str) -> list[str]:
    """Home pages of hosts that belong to a peer."""
    ownership = owned_by(PEERS)
    urls = (f"http://h{number}.test/" for number in range(100))
    return [url for url in urls if ownership.owner_of(ownership.slot_of(host_of(url))) == owner]


URL, *URLS = pages_of(OWNER)


class Auditing:
    """An auditor, and the peers around it."""

    def __init__(self, peers: tuple[str, ...] = PEERS) -> None:
        self.now = 1_000.0
        self.auditor = Auditor(ME, CrawlSettings())
        self.tell(ownership_changed(peers))

    def tell(self, message: Message, actor: str = "any", peer: str = ME) -> list[Send]:
        return self.auditor.receive(Address(peer, actor), message, self.now)

    def wake(self, after_s: float = 0.0) -> list[Send]:
        self.now += after_s
        return self.auditor.wake(self.now)

    def draw(self, url: str = URL, text: str = SAID) -> LendTurn:
        """Have a page drawn; return the order for a turn."""
        document = Document(url, text=text)
        slot = owned_by(PEERS).slot_of(host_of(url))
        self.tell(PageKept(StoredPage(url, slot, self.now, 200, b"", document), OWNER), "cell")
        order = only(self.wake(), LendTurn)
        assert isinstance(order, LendTurn)
        return order

    def lend(self, order: LendTurn, seconds: float = 2.0, after_s: float = 0.1) -> list[Send]:
        self.now += after_s
        return self.tell(TurnLent(order.number, seconds, delay_s=1.0), "controller", OWNER)

    def see(self, url: str = URL, text: str = SEEN) -> list[Send]:
        """Have the server show a text."""
        only(self.tell(fetched(url), "fetcher"), ParsePage)
        return self.tell(parsed(url, document=Document(url, text=text)), "parser")

    def look(self, url: str = URL, text: str = SEEN) -> LookAtPage:
        """Draw a page, see another text, and order a second look."""
        self.lend(self.draw(url))
        assert self.see(url, text) == []
        look = only(self.wake(10.0), LookAtPage)
        assert isinstance(look, LookAtPage)
        return look

    def is_blamed(self, url: str, text: str = SEEN, helper: str = HELPER) -> list[Any]:
        """Look at a page, have the helper see a text; return what is said to the conduct."""
        look = self.look(url)
        return of_kind(self.tell(PageObserved(look.number, hashes_of(text)), "auditor", helper), Misbehaved)

    def counts(self) -> dict[str, int]:
        observed = self.auditor.observe()
        return {name: n for name in observed.__struct_fields__ if (n := getattr(observed, name))}


def of_kind(sends: list[Send], kind: type[Message]) -> list[Any]:
    return [send.message for send in sends if isinstance(send.message, kind)]


def only(sends: list[Send], kind: type[Message]) -> Any:
    [message] = of_kind(sends, kind)
    return message


def test_a_page_is_asked_for_when_its_turn_is_lent_and_for_what_is_left_of_that() -> None:
    mesh = Auditing()
    request = only(mesh.lend(mesh.draw(), seconds=2.0, after_s=0.5), FetchPage)
    assert request.url == URL
    assert request.within_s == pytest.approx(0.95 * 2.0 - 0.5)
    assert request.delay_s >= 1.0


def test_an_answer_to_an_earlier_order_lends_nothing() -> None:
    mesh = Auditing()
    earlier = mesh.draw()
    order = only(mesh.wake(10.0), LendTurn)
    assert mesh.lend(earlier) == []
    assert of_kind(mesh.lend(order), FetchPage) != []
    assert mesh.lend(order) == []


def test_a_turn_that_comes_late_or_from_another_peer_lends_nothing() -> None:
    mesh = Auditing()
    order = mesh.draw()
    assert mesh.tell(TurnLent(order.number, 2.0), "controller", HELPER) == []
    assert mesh.lend(order, after_s=1.8) == []


def test_a_member_cannot_lend_for_long_nor_have_an_address_left_alone_for_long() -> None:
    mesh = Auditing()
    order = mesh.draw()
    [send] = mesh.tell(TurnLent(order.number, 600.0, delay_s=600.0), "controller", OWNER)
    assert isinstance(send.message, FetchPage)
    assert send.message.within_s <= auditor.TURN_S_MAX
    assert send.message.delay_s == CrawlSettings().delay_max_s


def test_nothing_is_looked_at_that_is_no_canonical_url() -> None:
    mesh = Auditing()
    for number, url in enumerate(("x", "http://", "HTTP://A.test/", "http://h1.test/a b", "http:///")):
        assert mesh.tell(LookAtPage(number, url), "auditor", HELPER) == []
    assert mesh.counts() == {}


def test_a_busy_address_is_asked_again_in_the_same_turn() -> None:
    mesh = Auditing()
    mesh.lend(mesh.draw())
    assert mesh.tell(FetchFailed(URL, FailureReason.ADDRESS_BUSY, pause_s=0.2), "fetcher") == []
    assert only(mesh.wake(0.2), FetchPage).within_s == pytest.approx(0.95 * 2.0 - 0.3)
    mesh.tell(FetchFailed(URL, FailureReason.ADDRESS_BUSY, pause_s=9.0), "fetcher")
    assert only(mesh.wake(10.0), LendTurn)


def test_a_page_that_is_as_its_owner_says_costs_nobody_anything() -> None:
    mesh = Auditing()
    mesh.lend(mesh.draw())
    assert mesh.see(text=SAID + " but for a few words more") == []
    assert mesh.counts() == {"alike": 1}


def test_pages_of_three_domains_that_two_members_see_otherwise_find_their_owner_out() -> None:
    mesh = Auditing()
    assert mesh.is_blamed(URLS[0]) == mesh.is_blamed(URLS[1]) == []
    [blamed] = mesh.is_blamed(URLS[2])
    assert (blamed.peer, blamed.offence) == (OWNER, Offence.INVENTED)
    assert all(url in blamed.evidence for url in URLS[:3])


def test_nobody_is_blamed_for_pages_that_two_members_see_otherwise_than_each_other() -> None:
    mesh = Auditing()
    for url in URLS[:5]:
        assert mesh.is_blamed(url, "a third text which has nothing in common with any of the two texts") == []
    assert mesh.counts() == {"unsettled": 5}


def test_nobody_is_blamed_for_pages_that_only_this_peer_sees_otherwise() -> None:
    mesh = Auditing()
    assert [mesh.is_blamed(url, SAID) for url in URLS[:5]] == [[]] * 5


def test_a_second_look_counts_by_the_member_that_was_asked_only() -> None:
    mesh = Auditing((*PEERS, "fourth"))
    look, helper = mesh.look(), mesh.auditor._audits
    [audit] = helper.values()
    stranger = ({HELPER, "fourth"} - {audit.helper}).pop()
    assert mesh.tell(PageObserved(look.number, hashes_of(SEEN)), "auditor", stranger) == []
    assert mesh.counts() == {"under_way": 1}


def test_a_second_look_is_as_long_after_the_first_as_that_after_the_visit() -> None:
    mesh = Auditing()
    mesh.draw()
    order = only(mesh.wake(100.0), LendTurn)
    mesh.lend(order, after_s=0.0)
    mesh.see()
    assert of_kind(mesh.wake(99.0), LookAtPage) == []
    assert of_kind(mesh.wake(1.0), LookAtPage) != []


def test_a_page_that_shows_too_little_says_nothing() -> None:
    mesh = Auditing()
    for number, text in enumerate(("just a moment", "just a moment please"), 1):
        mesh.lend(mesh.draw(text=f"{SAID} {SEEN}"))
        assert mesh.see(text=text) == []
        assert mesh.counts() == {"unseen": number}


def test_a_page_that_its_server_does_not_know_is_looked_at_by_another_member() -> None:
    mesh = Auditing()
    mesh.lend(mesh.draw())
    assert mesh.tell(fetched(URL, 404), "fetcher") == []
    assert only(mesh.wake(10.0), LookAtPage).url == URL


def test_in_a_mesh_of_two_nothing_is_looked_at() -> None:
    mesh = Auditing((ME, OWNER))
    document = Document(URL, text=SAID)
    mesh.tell(PageKept(StoredPage(URL, 1, mesh.now, 200, b"", document), OWNER), "cell")
    assert mesh.wake() == []


def test_a_second_look_for_another_auditor_is_told_and_told_again() -> None:
    mesh = Auditing()
    look = LookAtPage(7, URL)
    assert mesh.tell(look, "auditor", HELPER) == []
    mesh.lend(only(mesh.wake(), LendTurn))
    told = PageObserved(7, hashes_of(SEEN))
    assert mesh.see() == [Send(Address(HELPER, "auditor"), told)]
    assert mesh.tell(look, "auditor", HELPER) == [Send(Address(HELPER, "auditor"), told)]
    assert mesh.wake() == []


def test_no_member_has_more_looks_under_way_than_its_share() -> None:
    mesh = Auditing()
    for number, url in enumerate(URLS):
        mesh.tell(LookAtPage(number, url), "auditor", HELPER)
    assert mesh.counts()["under_way"] == min(auditor.OF_MEMBER_MAX, len(URLS))


def kept_from_all(mesh: Auditing, url: str, visits: int, *, is_unlent: bool) -> list[Any]:
    """Have a page drawn whose host is visited by its owner, and lent to nobody."""
    mesh.draw(url)
    watched = of_kind(mesh.wake(auditor.WAITED_S), WatchHosts)
    assert watched[0].hosts == {host_of(url)}
    for _ in range(visits):
        mesh.tell(HostVisited(host_of(url), OWNER), "cell")
    mesh.wake(auditor.PATIENCE_S)
    looks = of_kind(mesh.wake(auditor.PATIENCE_S), LookAtPage)
    if not looks:
        return []
    told = PageObserved(looks[0].number, is_unlent=is_unlent)
    return of_kind(mesh.tell(told, "auditor", HELPER), Misbehaved)


def test_an_owner_that_visits_hosts_and_lends_them_to_nobody_is_found_out() -> None:
    mesh = Auditing()
    many = auditor.VISITS_MIN
    assert kept_from_all(mesh, URLS[0], many, is_unlent=True) == []
    assert kept_from_all(mesh, URLS[1], many, is_unlent=True) == []
    assert len(kept_from_all(mesh, URLS[2], many, is_unlent=True)) == 1


def test_an_owner_that_visits_its_hosts_no_more_or_lends_them_to_another_is_not_blamed() -> None:
    mesh = Auditing()
    for url in URLS[:4]:
        assert kept_from_all(mesh, url, auditor.VISITS_MIN - 1, is_unlent=True) == []
    assert mesh.counts() == {"unlent": 4}
    for url in URLS[4:8]:
        assert kept_from_all(mesh, url, auditor.VISITS_MIN, is_unlent=False) == []
