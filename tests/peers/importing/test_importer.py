"""The importer alone: what it asks of whom, and when it says that a page is kept."""

from __future__ import annotations

from math import inf
from typing import Any

import msgspec
import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slots import SlotTable, slot_of
from mesh.urls import host_of
from peers.crawler.model.messages import PageLinked, PagesLinked
from peers.crawler.model.wire_messages import LINKS_MAX, FoundLink, LinksAccepted, LinksFound, LinkUse
from peers.engine.pages.document import Document
from peers.importing.importer import Importer, ImporterSettings, bytes_of
from peers.importing.messages import (
    KNOWN,
    LATE,
    STORED,
    ImportDeferred,
    ImportedPage,
    ImportPages,
    PagesImported,
)
from peers.importing.wire_messages import ImportPage, ImportRefused, PageImported
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.rules import EVERYTHING, Policy, policy_bytes
from peers.storage.messages import CountUnindexed, PageRefused, PageStored, StorePage, UnindexedCounted
from peers.storage.wire_messages import StoredPage
from tests.helpers import seen

ME, OTHER = "me", "other"
HTTP, CELL, CONTROLLER = Address(ME, "http"), Address(ME, "cell"), Address(ME, "controller")
SLOTS = 64


def page_of(url: str, fetched_at: float = 5.0, *links: FoundLink, **changes: Any) -> ImportedPage:
    document = Document(url, title="t", text="x", fetched_at=fetched_at)
    page = ImportedPage(url, fetched_at, 200, b"records", document, links)
    return msgspec.structs.replace(page, **changes)


def url_of(owner: str, number: int = 0) -> str:
    """A URL whose host that peer owns of two."""
    table = SlotTable({ME: 100, OTHER: 100}, SLOTS, 1)
    hosts = (f"h{n}.test" for n in range(1_000))
    mine = [host for host in hosts if table.owner_of(slot_of(host, SLOTS)) == owner]
    return f"http://{mine[number % 10]}/{number}"


class Driven:
    """An importer and a clock."""

    def __init__(self, *peers: str, **settings: Any) -> None:
        self.now = 100.0
        self.importer = Importer(ME, 1, ImporterSettings(**settings))
        self.own(*(peers or (ME,)))

    def own(
        self, *peers: str, alive: tuple[str, ...] | None = None, importers: tuple[str, ...] | None = None
    ) -> list[Send]:
        table = SlotTable(dict.fromkeys(peers, 100), SLOTS, 1)
        ownership = Ownership(ME, table, alive or peers, importers=importers)
        return self.tell(OwnershipChanged(ownership), Address(ME, "membership"))

    def tell(self, message: Message, source: Address = HTTP) -> list[Send]:
        return self.importer.receive(source, message, self.now)

    def wait(self, seconds: float) -> list[Send]:
        self.now += seconds
        return self.importer.wake(self.now) if self.importer.wake_at() <= self.now else []

    def order(self, *pages: ImportedPage, ticket: int = 1) -> list[Send]:
        return self.tell(ImportPages(ticket, pages))

    def take(self, page: ImportedPage, room: int = 100) -> list[Send]:
        """Hand in a page of ours, as our importer would, and have the cell say how far the index is."""
        stored = msgspec.structs.replace(sent_in(Driven(ME).order(page))[0], number=7)
        sends = self.tell(stored, Address(OTHER, "importer"))
        if sends:  # there was room left
            return sends
        assert self.wait(0.0) == [Send(CELL, CountUnindexed())]
        return self.tell(UnindexedCounted(2_048 - room), CELL)


def sent_in(sends: list[Send]) -> list[ImportPage]:
    return [send.message for send in sends if isinstance(send.message, ImportPage)]


def outcomes(sends: list[Send]) -> tuple[str, ...]:
    [answer] = [send.message for send in sends if isinstance(send.message, PagesImported)]
    return answer.outcomes


def test_each_page_goes_to_the_importer_of_its_owner() -> None:
    driven = Driven(ME, OTHER)
    mine, theirs = page_of(url_of(ME)), page_of(url_of(OTHER))
    sends = driven.order(mine, theirs)
    assert {
        (send.target, send.message.page.url) for send in sends if isinstance(send.message, ImportPage)
    } == {
        (Address(ME, "importer"), mine.url),
        (Address(OTHER, "importer"), theirs.url),
    }
    assert {message.page.slot for message in sent_in(sends)} == {
        slot_of(host_of(url), SLOTS) for url in (mine.url, theirs.url)
    }


def test_an_order_is_answered_when_all_its_pages_are() -> None:
    driven = Driven(ME, OTHER)
    sends = driven.order(page_of(url_of(OTHER, 1)), page_of(url_of(OTHER, 2)))
    first, second = sent_in(sends)
    assert driven.tell(PageImported(second.number, is_new=False), Address(OTHER, "importer")) == []
    done = driven.tell(PageImported(first.number), Address(OTHER, "importer"))
    assert done == [Send(HTTP, PagesImported(1, ME, (STORED, KNOWN)))]
    assert driven.tell(PageImported(first.number), Address(OTHER, "importer")) == []


def test_an_answer_of_who_was_not_asked_does_not_count() -> None:
    driven = Driven(ME, OTHER)
    [message] = sent_in(driven.order(page_of(url_of(OTHER))))
    assert driven.tell(PageImported(message.number), Address("third", "importer")) == []
    assert driven.importer.observe().pages_waiting == 1


def test_an_order_without_pages_only_says_who_would_take_them() -> None:
    assert Driven(ME).order() == [Send(HTTP, PagesImported(1, ME, ()))]


def test_before_there_are_owners_orders_are_refused() -> None:
    importer = Importer(ME)
    [send] = importer.receive(HTTP, ImportPages(3, (page_of(url_of(ME)),)), 0.0)
    assert send == Send(HTTP, ImportDeferred(3, "this peer is starting"))


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        (page_of("http://A.test/"), "its URL is not canonical"),
        (page_of("http://a.test/", 1e9), "it is dated in the future"),
        (page_of("http://a.test/", float("nan")), "its date makes no sense"),
        (page_of("http://a.test/", document=Document("http://b.test/")), "its text is of another page"),
        (page_of("http://a.test/", records=bytes(15 << 20)), "it is larger than 14 MiB"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(page: ImportedPage, reason: str) -> None:
    assert outcomes(Driven(ME).order(page)) == (f"refused: {reason}",)


def test_what_another_peer_sends_is_checked_like_an_order() -> None:
    driven = Driven(ME)
    [good] = sent_in(Driven(ME).order(page_of("http://a.test/")))
    source = Address(OTHER, "importer")
    bad = msgspec.structs.replace(good, page=msgspec.structs.replace(good.page, fetched_at=1e12))
    assert driven.tell(bad, source) == [Send(source, ImportRefused(good.number, "it is dated in the future"))]
    bad = msgspec.structs.replace(
        good, page=msgspec.structs.replace(good.page, slot=(good.page.slot + 1) % SLOTS)
    )
    assert driven.tell(bad, source) == [Send(source, ImportRefused(good.number, "its slot is another one"))]


def test_more_than_the_window_waits_for_answers() -> None:
    page = page_of(url_of(OTHER))
    driven = Driven(ME, OTHER, window_bytes=2 * bytes_of(page))
    sent = sent_in(driven.order(*(page_of(url_of(OTHER, number)) for number in range(5))))
    assert len(sent) == 2
    assert len(sent_in(driven.tell(PageImported(sent[0].number), Address(OTHER, "importer")))) == 1


def test_a_page_without_an_answer_is_sent_again_to_who_owns_it_then() -> None:
    driven = Driven(ME, OTHER)
    [first] = sent_in(driven.order(page_of(url_of(OTHER))))
    assert sent_in(driven.wait(5.0)) == [first]
    [send] = driven.own(ME)
    assert send == Send(Address(ME, "importer"), first)


def test_who_is_only_slow_gets_nothing_twice() -> None:
    driven = Driven(ME, OTHER)
    sent = sent_in(driven.order(*(page_of(url_of(OTHER, number)) for number in range(3))))
    driven.wait(4.0)
    driven.tell(PageImported(sent[0].number), Address(OTHER, "importer"))
    assert sent_in(driven.wait(1.0)) == []
    assert sent_in(driven.wait(4.0)) == sent[1:]


def test_an_order_that_takes_too_long_says_what_is_late() -> None:
    driven = Driven(ME, OTHER)
    sent = sent_in(driven.order(page_of(url_of(OTHER, 1)), page_of(url_of(OTHER, 2))))
    driven.tell(PageImported(sent[0].number), Address(OTHER, "importer"))
    driven.wait(5.0)
    assert outcomes(driven.wait(5.0)) == (STORED, LATE)
    assert driven.importer.observe().pages_waiting == 0
    assert driven.importer.wake_at() == float("inf")


def test_orders_beyond_the_limit_are_refused_for_now() -> None:
    page = page_of(url_of(OTHER))
    driven = Driven(ME, OTHER, order_bytes_max=bytes_of(page))
    driven.order(page)
    assert driven.order(page, ticket=2) == [Send(HTTP, ImportDeferred(2, "too many pages are on their way"))]


def test_the_owner_stores_then_hands_over_the_links_then_promises() -> None:
    driven = Driven(ME)
    link = FoundLink("http://b.test/", "words", use=LinkUse.TEXT)
    page = page_of(url_of(ME), 5.0, link)
    [store] = driven.take(page)
    assert isinstance(store.message, StorePage)
    assert (store.target, store.message.page.url) == (CELL, page.url)
    assert driven.tell(PageStored(page.url, seen(5.0)), CELL) == []
    [found] = driven.wait(0.02)
    assert isinstance(found.message, LinksFound)
    assert found.message.links == (FoundLink(page.url, use=LinkUse.STORED), link)
    assert driven.tell(LinksAccepted(found.message.batch), CONTROLLER) == [
        Send(Address(OTHER, "importer"), PageImported(7))
    ]
    assert driven.importer.observe().pages_taken == 0


def test_the_link_graph_hears_of_the_links_of_a_stored_page_if_there_is_one() -> None:
    link = FoundLink("http://b.test/", "words", use=LinkUse.TEXT)
    page = page_of(url_of(ME), 5.0, link)
    stored = PageStored(page.url, seen(5.0))
    for rules, links in ((None, None), (LinkGraphRules(), (link,))):
        driven = Driven(ME)
        body = policy_bytes(Policy(rules=EVERYTHING.rules, link_graph=rules))
        decree = Decree(POLICY, "", 1, 0.0, inf, body, b"", b"")
        assert driven.tell(DecreesInForce(POLICY, (decree,)), Address(ME, "membership")) == []
        driven.take(page)
        told = [send for send in driven.tell(stored, CELL) if isinstance(send.message, PagesLinked)]
        slot = slot_of(host_of(page.url), SLOTS)
        wanted = PagesLinked((PageLinked(page.url, slot, seen(5.0), "t", links or ()),))
        assert told == ([Send(Address(ME, "link_graph"), wanted)] if links else [])


def test_a_page_that_was_there_is_promised_as_known() -> None:
    driven = Driven(ME)
    driven.take(page_of(url_of(ME)))
    driven.tell(PageStored(url_of(ME), seen(5.0), is_new=False), CELL)
    [found] = driven.wait(0.02)
    assert isinstance(found.message, LinksFound)
    assert driven.tell(LinksAccepted(found.message.batch), CONTROLLER) == [
        Send(Address(OTHER, "importer"), PageImported(7, is_new=False))
    ]


def test_links_that_were_accepted_are_not_sent_with_the_next_page() -> None:
    driven = Driven(ME)
    link = FoundLink("http://b.test/", "words", use=LinkUse.TEXT)
    are_sent = []
    for number in range(2):
        driven.take(page_of(url_of(ME, number), 5.0, link))
        driven.tell(PageStored(url_of(ME, number), seen(5.0)), CELL)
        [found] = driven.wait(0.02)
        assert isinstance(found.message, LinksFound)
        are_sent.append(link in found.message.links)
        driven.tell(LinksAccepted(found.message.batch), CONTROLLER)
    assert are_sent == [True, False]


def test_a_page_with_many_links_waits_for_all_their_batches() -> None:
    driven = Driven(ME)
    links = tuple(FoundLink(f"http://b.test/{n}", "words", use=LinkUse.TEXT) for n in range(2 * LINKS_MAX))
    driven.take(page_of(url_of(ME), 5.0, *links))
    sends = driven.tell(PageStored(url_of(ME), seen(5.0)), CELL) + driven.wait(0.02)
    batches = [send.message for send in sends if isinstance(send.message, LinksFound)]
    assert [len(batch.links) for batch in batches] == [LINKS_MAX, LINKS_MAX, 1]
    answers = [driven.tell(LinksAccepted(batch.batch), CONTROLLER) for batch in batches]
    assert [len(answer) for answer in answers] == [0, 0, 1]


def test_links_that_the_controller_did_not_take_are_given_again() -> None:
    driven = Driven(ME)
    driven.take(page_of(url_of(ME)))
    driven.tell(PageStored(url_of(ME), seen(5.0)), CELL)
    first = driven.wait(0.02)
    assert driven.wait(1.0) == first


def test_a_page_whose_records_are_not_whole_is_refused() -> None:
    driven = Driven(ME)
    driven.take(page_of(url_of(ME)))
    assert driven.tell(PageRefused(url_of(ME), seen(5.0)), CELL) == [
        Send(Address(OTHER, "importer"), ImportRefused(7, "its records are not whole"))
    ]


def test_a_page_of_a_slot_that_is_not_ours_gets_no_answer() -> None:
    driven = Driven(ME, OTHER)
    [message] = sent_in(Driven(ME).order(page_of(url_of(OTHER))))
    assert driven.tell(message, Address(OTHER, "importer")) == []
    assert driven.importer.observe().foreign == 1


def test_no_page_is_stored_before_the_index_has_room() -> None:
    driven = Driven(ME)
    assert driven.take(page_of(url_of(ME)), room=0) == []
    assert driven.wait(0.05) == [Send(CELL, CountUnindexed())]
    [store] = driven.tell(UnindexedCounted(2_047), CELL)
    assert isinstance(store.message, StorePage)


def test_a_page_that_comes_twice_is_stored_once_and_both_senders_are_told() -> None:
    driven = Driven(ME)
    driven.take(page_of(url_of(ME)))
    [again] = sent_in(Driven(ME).order(page_of(url_of(ME))))
    assert driven.tell(again, Address("third", "importer")) == []
    driven.tell(PageStored(url_of(ME), seen(5.0)), CELL)
    [found] = driven.wait(0.02)
    assert isinstance(found.message, LinksFound)
    promised = driven.tell(LinksAccepted(found.message.batch), CONTROLLER)
    assert [send.target.peer for send in promised] == [OTHER, "third"]


def test_what_is_for_nobody_is_refused() -> None:
    with pytest.raises(LocalProtocolError):
        Driven(ME).tell(CountUnindexed())


def test_who_has_no_right_to_import_brings_nothing_to_others_and_takes_nothing_here() -> None:
    driven = Driven()
    driven.own(ME, OTHER, importers=(ME,))
    url = url_of(ME)
    page = StoredPage(url, slot_of(host_of(url), SLOTS), 5.0, 200, b"records", Document(url, fetched_at=5.0))
    [refused] = driven.tell(ImportPage(7, page), Address(OTHER, "importer"))
    assert isinstance(refused.message, ImportRefused)
    assert "does not let it import" in refused.message.reason
    driven.own(ME, OTHER, importers=(OTHER,))
    [told] = driven.tell(ImportPages(1, (page_of(url),)), HTTP)
    assert isinstance(told.message, PagesImported)
    assert "does not let it import" in told.message.outcomes[0]
