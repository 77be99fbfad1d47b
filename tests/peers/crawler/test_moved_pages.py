"""Pages that have moved for good take along what is known of them; those that are elsewhere for now stay."""

from __future__ import annotations

import pytest

from mesh.actors.departures import GATHER_S
from mesh.stamp import Stamp
from mesh.urls import host_of
from peers.crawler.frontier.anchor_rows import join_anchors
from peers.crawler.links.outbox import RESEND_S
from peers.crawler.model.messages import PageParsed, ParsePage
from peers.crawler.model.revisit_policies import TOLD_PAUSE_S
from peers.crawler.model.web_request import PageFetched
from peers.crawler.model.wire_messages import FoundLink, LinksFound
from peers.crawler.parsing.extraction import extract
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import (
    LINKERS_MAX,
    MOVE_CHARS_MAX,
    MOVES_MAX,
    entries_of,
    entries_of_move,
    is_text,
    linker_of,
    moves_in,
    told_by,
    with_anchors,
)
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place
from peers.storage.messages import PageStored, StorePage
from peers.storage.wire_messages import StoredPage
from tests.helpers import ME, fetched, owned_by, redirect
from tests.peers.crawler.desk import HOME, MINE, ORIGIN, OTHER, THEIRS, Desk, asked, of_kind
from tests.peers.crawler.test_visiting_again import AGAIN_S, row_at, stored_once

NEW = f"{ORIGIN}/new"
LINKER = linker_of("http://far.test/", HOME)


def told(text: str, linker: str = "") -> FoundLink:
    return FoundLink(HOME, text, linker=linker)


def answer(desk: Desk, page: PageFetched, *, is_durable: bool = True) -> StoredPage | None:
    """Let a page that was asked for be answered so; return the version that is stored of it."""
    orders = of_kind(desk.tell(page), ParsePage)
    if not orders:
        desk.wake(GATHER_S)
        return None
    read = extract(orders[0].page, orders[0].visit)
    assert isinstance(read, PageParsed)
    stored: StorePage
    (stored,) = of_kind(desk.tell(read, "parser"), StorePage)
    if is_durable:
        slot = owned_by(desk.peers).slot_of(host_of(page.url))
        place = Place(
            page.url, stored.page.fetched_at, page.status, 1, 0, 1, 0, page.status == 200, stored.page.visit
        )
        Ledger(desk.cell_table).keep(identity_of(slot, page.url), place)
        desk.tell(PageStored(page.url, stored.page.stamp), "cell")
        desk.wake(GATHER_S)
    return stored.page


def due_and_asked(desk: Desk, url: str) -> None:
    desk.now = max(desk.now, row_at(desk, url).due_s)
    for _ in range(20):
        if url in asked(desk.wake(2.0)):
            return
    raise AssertionError(f"{url} is not asked for")


@pytest.mark.parametrize("status", [301, 308])
def test_rfc9110_15_4_a_page_that_has_moved_for_good_takes_along_what_links_tell(status: int) -> None:
    desk = stored_once()
    desk.tell(LinksFound(90, (told("inside"), told("outside", LINKER))), "controller")
    due_and_asked(desk, HOME)
    version = answer(desk, redirect(HOME, NEW, status, started_at=desk.now))
    assert version is not None
    assert (version.status, version.document, version.moved_to) == (status, None, NEW)
    assert (row_at(desk, HOME).outcome, row_at(desk, HOME).is_stored) == (f"D{status}", False)
    entries = desk.anchors_of(NEW)
    assert moves_in(entries) == (HOME,)
    assert set(entries) - set(entries_of_move(HOME)) == set(desk.anchors_of(HOME))
    assert asked(desk.wake(2.0)) == [NEW]


def test_the_target_comes_before_all_that_its_host_has_to_offer() -> None:
    deep, others = f"{ORIGIN}/deep", [f"{ORIGIN}/{number}" for number in range(9)]
    desk = stored_once(deep, revisit_share=0.5)
    due_and_asked(desk, HOME)
    answer(desk, fetched(HOME, started_at=desk.now))
    due_and_asked(desk, deep)
    desk.seed(*others, depth=1)
    answer(desk, redirect(deep, NEW, started_at=desk.now))
    assert asked(desk.wake(2.0)) == [NEW]


def test_a_target_that_is_known_is_looked_at_again_at_once() -> None:
    desk = stored_once(NEW, revisit_after_s=1e6)
    desk.now += TOLD_PAUSE_S + 1.0
    changed = LinksFound(90, (FoundLink(HOME, changed_s=int(desk.now)),))
    assert asked(desk.tell(changed, "controller")) == [HOME]
    answer(desk, redirect(HOME, NEW, started_at=desk.now))
    assert asked(desk.wake(2.0)) == [NEW]


@pytest.mark.parametrize("status", [302, 303, 307])
def test_a_page_that_is_elsewhere_for_now_stays_until_it_was_missed_for_long(status: int) -> None:
    desk = stored_once(gone_visits=2, gone_after_s=10.0)
    desk.tell(LinksFound(90, (told("inside"),)), "controller")
    due_and_asked(desk, HOME)
    assert answer(desk, redirect(HOME, NEW, status, started_at=desk.now)) is None
    row = row_at(desk, HOME)
    assert (row.outcome, row.is_stored, row.memory.misses) == (f"D{status}", True, 1)
    assert desk.state_of(NEW) == "Q", "what it leads to is a page of its own"
    assert desk.anchors_of(NEW) == ()
    due_and_asked(desk, NEW)
    answer(desk, fetched(NEW, 404))
    due_and_asked(desk, HOME)
    version = answer(desk, redirect(HOME, NEW, status, started_at=desk.now))
    assert version is not None
    assert version.moved_to == ""
    assert not row_at(desk, HOME).is_stored


def test_a_page_that_leads_to_itself_stays_as_one_that_is_missed() -> None:
    desk = stored_once(gone_visits=2, gone_after_s=10.0)
    due_and_asked(desk, HOME)
    assert answer(desk, redirect(HOME, HOME, started_at=desk.now)) is None
    assert row_at(desk, HOME).is_stored


def test_in_a_chain_what_leads_on_tells_where_the_page_was_at_first() -> None:
    desk = stored_once()
    desk.tell(LinksFound(90, (told("inside"),)), "controller")
    due_and_asked(desk, HOME)
    answer(desk, redirect(HOME, NEW, started_at=desk.now))
    assert asked(desk.wake(2.0)) == [NEW]
    last = f"{ORIGIN}/last"
    answer(desk, redirect(NEW, last, started_at=desk.now))
    assert moves_in(desk.anchors_of(last)) == (HOME,)
    assert asked(desk.wake(2.0)) == [last]


def test_pages_that_lead_to_each_other_end_without_an_end() -> None:
    desk = stored_once(NEW)
    desk.now += TOLD_PAUSE_S
    for url, target in ((HOME, NEW), (NEW, HOME)):
        due_and_asked(desk, url)
        assert answer(desk, redirect(url, target, started_at=desk.now)) is not None
    assert (moves_in(desk.anchors_of(HOME)), moves_in(desk.anchors_of(NEW))) == ((NEW,), (HOME,))
    requested = [url for _ in range(5) for url in asked(desk.wake(2.0))]
    assert requested == [], "each was asked a moment ago"


def test_a_redirect_that_ends_brings_the_page_back() -> None:
    desk = stored_once()
    due_and_asked(desk, HOME)
    answer(desk, redirect(HOME, NEW, started_at=desk.now))
    due_and_asked(desk, NEW)
    answer(desk, fetched(NEW, 404))
    due_and_asked(desk, HOME)
    version = answer(desk, fetched(HOME, body=b"<p>back", started_at=desk.now))
    assert version is not None
    assert (version.status, version.document is None, version.moved_to) == (200, False, "")
    assert row_at(desk, HOME).is_stored


def their_host_below(origin: str) -> str:
    """The origin of a host of the same registrable domain that the other peer crawls."""
    ownership = owned_by((ME, OTHER))
    hosts = (f"{n}.{host_of(origin)}" for n in range(1_000))
    return next(f"http://{host}" for host in hosts if ownership.owner_of(ownership.slot_of(host)) == OTHER)


@pytest.mark.parametrize("is_far", [False, True])
def test_it_is_told_to_the_owner_elsewhere_once_the_page_is_durable_and_again_until_it_has_heard(
    is_far: bool,
) -> None:
    """A page of another domain is led to, and told nothing: strangers do not write its history."""
    desk = Desk(peers=(ME, OTHER), revisit_after_s=AGAIN_S, robots_ttl_s=1e9).with_home_asked(origin=MINE)
    home, target = f"{MINE}/", f"{THEIRS if is_far else their_host_below(MINE)}/"
    desk.store(home)
    desk.wake(GATHER_S)
    desk.tell(LinksFound(90, (FoundLink(home, "text"),)), "controller")
    due_and_asked(desk, home)
    page = redirect(home, target, started_at=desk.now)
    version = answer(desk, page, is_durable=False)
    assert version is not None
    assert of_kind(desk.wake(1.0), LinksFound) == [], "until then it is here"
    desk.tell(PageStored(home, Stamp(version.visit, version.fetched_at)), "cell")
    for pause_s in (GATHER_S, RESEND_S):
        (batch,) = of_kind(desk.wake(pause_s), LinksFound)
        links = {(link.url, link.anchor, link.moved_from) for link in batch.links}
        assert links == ({(target, "", "")} if is_far else {(target, "", home), (target, "text", "")})


def test_what_others_say_of_where_a_page_was_is_checked() -> None:
    desk = Desk()
    moves = ("nonsense", "HTTP://A.test", NEW, f"{ORIGIN}/" + "x" * 200, "http://stranger.test/")
    for number, move in enumerate(moves):
        desk.tell(LinksFound(number, (FoundLink(NEW, moved_from=move),)), "controller", OTHER)
    assert desk.anchors_of(NEW) == ()


def links_to_a_page(n_hosts: int) -> tuple[str, ...]:
    entries: tuple[str, ...] = ("alone",)
    for number in range(n_hosts):
        linker = linker_of(f"http://h{number}.test/", HOME)
        entries = join_anchors(entries, entries_of(f"text {number % 5}", linker))
    return entries


def test_of_another_page_the_same_is_told() -> None:
    entries = links_to_a_page(12)
    again: tuple[str, ...] = ()
    for text, linker in told_by((*entries, *entries_of_move(NEW))):
        again = join_anchors(again, entries_of(text, linker))
    assert again == entries


def test_of_another_page_no_more_is_told_than_is_kept_of_many_links() -> None:
    entries = links_to_a_page(200)
    again: tuple[str, ...] = ()
    for text, linker in told_by(entries):
        again = join_anchors(again, entries_of(text, linker))
    assert set(again) <= set(entries)
    assert set(filter(is_text, again)) == set(filter(is_text, entries))
    assert len(told_by(entries)) <= 2 * (LINKERS_MAX + len(entries))


def test_moves_are_no_texts_and_have_a_limit() -> None:
    moves = [
        entry for number in range(MOVES_MAX + 9) for entry in entries_of_move(f"http://a.test/{number:03}")
    ]
    entries = join_anchors(tuple(sorted(moves)), ("text",))
    assert moves_in(entries) == tuple(f"http://a.test/{number:03}" for number in range(MOVES_MAX))
    assert with_anchors(Document(HOME), entries).anchors == ("text",)
    assert entries_of_move("http://a.test/" + "x" * MOVE_CHARS_MAX) == ()
    assert entries_of(entries[0], "") == (), "nor does a link say so by its text"


def test_what_was_a_page_takes_along_what_links_tell_later_too() -> None:
    desk = stored_once()
    due_and_asked(desk, HOME)
    answer(desk, redirect(HOME, NEW, started_at=desk.now))
    due_and_asked(desk, NEW)
    answer(desk, fetched(NEW, body=b"<p>there", started_at=desk.now))
    desk.tell(LinksFound(91, (told("late"),)), "controller")
    due_and_asked(desk, HOME)
    answer(desk, redirect(HOME, NEW, started_at=desk.now))
    assert "late" in desk.anchors_of(NEW)
