"""What a controller may fetch and when, what it ships to the team, and what waits until that is kept."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import msgspec
import numpy as np
import pytest

from mesh.actors.actor import Address, Send
from mesh.actors.departures import GATHER_S
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import CrawlLicensed, HoldingsRevoked, QueueMeasured
from mesh.slot_set import NO_SLOTS, decode_slots, encode_slot_list, encode_slots
from mesh.slots import slot_of
from mesh.urls import fingerprint, host_of
from peers.crawler.controller import (
    MEASURE_LATE_S,
    STOP_CHECK_S,
    STOP_PATIENCE_S,
    Controller,
)
from peers.crawler.frontier.anchor_rows import tag_of, telling_of
from peers.crawler.frontier.items import (
    Items,
    QueuedItem,
    VisitedItem,
    decode_items,
    encode_items,
    host_hash,
)
from peers.crawler.frontier.store import COMPANY_S
from peers.crawler.links.outbox import RESEND_S as OUTBOX_RESEND_S
from peers.crawler.model.politeness import LICENCE_S_MIN
from peers.crawler.model.revisit_policies import due_now
from peers.crawler.model.settings import Tuning
from peers.crawler.model.url_rows import UrlRow, row_bytes, row_in, visitor_tag
from peers.crawler.model.web_request import AbandonFetches, FailureReason
from peers.crawler.model.wire_messages import FoundLink, LinksAccepted, LinksFound
from peers.handover.keeper import FORGET_ENTRIES, FORGET_PAUSE_S
from peers.handover.messages import (
    ForgetSlots,
    HoldSlots,
    SlotsDiffer,
    SlotsFilled,
    SlotsStopped,
    SynchroniseSlots,
)
from peers.handover.mirror import (
    BYTES_WAITING_MAX,
    RESEND_S,
    RESEND_S_MAX,
    SHIPMENTS_UNDER_WAY,
    SILENT_S,
)
from peers.handover.wire_messages import ItemsChanged, ItemsKept, SendItems
from peers.storage.messages import LinkTextsChanged
from tests.helpers import (
    ME,
    NOTHING_STORED,
    SLOT_COUNT,
    fetched,
    hold_slots,
    owned_by,
    ownership_changed,
    parsed,
    redirect,
)
from tests.peers.crawler.desk import HOME, MINE, ORIGIN, OTHER, ROBOTS, SETTINGS, THEIRS, Desk, asked, of_kind
from tests.peers.crawler.frontiers import tell

AT = Address(OTHER, "controller")


MISSING = row_bytes(UrlRow(b"hosthash", 0, 0, 0, "F404", 1, inf))


def stored_item(url: str, visitor: str = OTHER) -> VisitedItem:
    row = UrlRow(host_hash(host_of(url)), 0, 0, 0, "D200", 1, inf, 7.0, 7.0, b"somepage", url=url)
    row = row._replace(visitor=visitor_tag(visitor))
    return VisitedItem(slot_of_url(url), fingerprint(url), row_bytes(row))


def stored_in(sends: list[Send]) -> list[str]:
    return [row_in(item.row).url for item in items_in(sends).visited]


def slot_of_url(url: str) -> int:
    return slot_of(host_of(url), SLOT_COUNT)


def team_desk(**changes: Any) -> Desk:
    """A desk of one of two peers that both keep everything."""
    return Desk(peers=(ME, OTHER), replicas=2, **changes)


def shipped(sends: list[Send]) -> list[ItemsChanged]:
    return of_kind(sends, ItemsChanged)


def items_in(sends: list[Send]) -> Items:
    (changed,) = shipped(sends)
    return decode_items(changed.items)


def keep(desk: Desk) -> list[Send]:
    """Have the others promise to keep all that they were sent."""
    waiting = desk.controller._mirror._delivery.parcels()
    return [send for each in waiting for send in desk.tell(ItemsKept(each.key), "controller", each.receiver)]


# --- Holding ---


def test_before_it_holds_anything_it_takes_links_in_and_fetches_nothing() -> None:
    controller = Controller(ME, Desk().table, SETTINGS, NOTHING_STORED)
    desk = Desk()
    desk.controller = controller
    desk.tell(ownership_changed(), "membership")
    sends = desk.seed(HOME)
    assert sends == [Send(Address(ME, "searcher"), LinksAccepted(1))]
    assert controller.wake_at() == inf
    assert not controller.observe().is_idle
    assert asked(desk.tell(hold_slots(), "handover")) == [ROBOTS]


def test_slots_in_which_nothing_goes_on_are_stopped_at_once_the_others_when_it_is_over() -> None:
    desk = Desk(delay_s=0.0).with_home_asked(f"{ORIGIN}/2")
    all_slots = owned_by().owned
    (stopped,) = of_kind(desk.tell(HoldSlots(NO_SLOTS, NO_SLOTS), "handover"), SlotsStopped)
    busy = all_slots & ~decode_slots(stopped.slots, SLOT_COUNT)
    assert np.flatnonzero(busy).tolist() == [slot_of_url(ORIGIN)]
    assert asked(desk.tell(fetched(HOME))) == []
    for sends in (desk.wake(STOP_CHECK_S), desk.tell(parsed(HOME), "parser"), desk.wake(STOP_CHECK_S)):
        assert of_kind(sends, SlotsStopped) == []
    desk.store(HOME)
    (stopped,) = of_kind(desk.wake(GATHER_S), SlotsStopped)
    assert desk.state_of(HOME) == "D200"
    assert stopped.slots == encode_slot_list([slot_of_url(ORIGIN)], SLOT_COUNT)
    assert stopped.is_promise
    assert desk.controller.wake_at() == inf
    assert (desk.observe().queued, desk.state_of(f"{ORIGIN}/2")) == (0, "Q")


def test_a_slot_that_is_held_again_before_it_has_stopped_goes_on() -> None:
    desk = Desk(delay_s=0.0).with_home_asked(f"{ORIGIN}/2")
    desk.tell(HoldSlots(NO_SLOTS, NO_SLOTS), "handover")
    desk.tell(hold_slots(), "handover")
    assert asked(desk.tell(fetched(HOME, 404))) == [f"{ORIGIN}/2"]
    assert of_kind(desk.wake(STOP_CHECK_S), SlotsStopped) == []


def test_holding_the_same_slots_again_changes_nothing() -> None:
    desk = Desk().with_home_asked()
    before = desk.observe()
    assert desk.tell(hold_slots(), "handover") == []
    assert desk.observe() == before


def test_rfc9309_a_robots_txt_that_has_moved_is_forgotten_with_its_slot() -> None:
    desk = Desk()
    desk.seed(HOME)
    desk.tell(redirect(ROBOTS, f"{ORIGIN}/elsewhere"))
    desk.tell(HoldSlots(NO_SLOTS, NO_SLOTS), "handover")
    assert not desk.controller._visits.robots._moved


def test_it_tells_where_it_has_anything_after_a_start_and_when_the_first_item_comes() -> None:
    desk = Desk()
    nothing = SlotsFilled(NO_SLOTS)  # as good an answer: until it comes, no slot is yielded to anybody
    assert of_kind(desk.news, SlotsFilled) == [nothing]
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/2")
    filled = SlotsFilled(encode_slot_list([slot_of_url(ORIGIN)], SLOT_COUNT))
    assert of_kind(desk.news, SlotsFilled) == [nothing, filled]
    desk.start()
    assert of_kind(desk.news, SlotsFilled) == [filled]


def test_what_it_forgets_goes_in_portions_and_is_told_of_when_it_comes_again() -> None:
    desk = Desk(peers=(ME, OTHER))
    desk.share((ME,))
    n = FORGET_ENTRIES + 10
    for start in range(0, n, 1_000):
        links = tuple(FoundLink(f"{THEIRS}/{number}") for number in range(start, min(start + 1_000, n)))
        desk.tell(LinksFound(start, links), "searcher")
    desk.allow(THEIRS, status=404)
    desk.fail(f"{THEIRS}/0", "timeout")  # type: ignore[arg-type]
    for url in list(desk.controller._visits._visits):
        desk.tell(fetched(url, 404))
    desk.share((ME, OTHER))
    desk.news.clear()
    desk.tell(ForgetSlots(encode_slot_list([slot_of_url(THEIRS)], SLOT_COUNT)), "handover")
    turns = 0
    while desk.observe().store.is_forgetting:
        assert desk.controller.wake_at() <= desk.now
        desk.wake()
        desk.now += FORGET_PAUSE_S
        turns += 1
    assert turns == 2
    assert desk.state_of(f"{THEIRS}/5") is None
    items = encode_items(Items(queued=(QueuedItem(f"{THEIRS}/5", 0, 0, 0),)))
    desk.tell(ownership_changed((ME, OTHER), replicas=2), "membership")
    desk.tell(ItemsChanged(1, desk.now, items), "controller", OTHER)
    assert of_kind(desk.news, SlotsFilled) == [
        SlotsFilled(encode_slot_list([slot_of_url(THEIRS)], SLOT_COUNT))
    ]


# --- The licence ---


def test_no_fetch_begins_shortly_before_the_licence_ends_or_after_it() -> None:
    desk = Desk(delay_s=0.0).with_home_asked(f"{ORIGIN}/2", f"{ORIGIN}/3")
    desk.tell(CrawlLicensed(desk.now + 3.0), "membership")
    desk.now += 3.0 - LICENCE_S_MIN
    assert asked(desk.tell(fetched(HOME, 404))) == [f"{ORIGIN}/2"]
    desk.now += 0.1
    assert asked(desk.tell(fetched(f"{ORIGIN}/2", 404))) == []
    assert desk.controller.wake_at() > desk.now
    assert asked(desk.wake(60.0)) == []
    assert desk.controller.wake_at() == inf
    assert asked(desk.tell(CrawlLicensed(desk.now + 3.0), "membership")) == [f"{ORIGIN}/3"]


def test_what_is_being_fetched_when_the_licence_runs_out_is_broken_off_and_asked_again_later() -> None:
    desk = Desk(delay_s=0.0).with_home_asked()
    desk.tell(CrawlLicensed(desk.now + 3.0), "membership")
    assert desk.controller.wake_at() == desk.now + 3.0
    assert of_kind(desk.wake(3.0), AbandonFetches) == [AbandonFetches()]
    assert of_kind(desk.wake(1.0), AbandonFetches) == []
    assert asked(desk.fail(HOME, FailureReason.UNLICENSED)) == []
    assert desk.observe().due == 1
    assert asked(desk.tell(CrawlLicensed(desk.now + 3.0), "membership")) == [HOME]


def test_who_was_held_for_dead_crawls_nothing_by_its_next_licence_before_it_holds_slots_again() -> None:
    desk = Desk(delay_s=0.0).with_home_asked(f"{ORIGIN}/2")
    desk.tell(CrawlLicensed(desk.now - 1.0), "membership")
    assert asked(desk.tell(fetched(HOME, 404))) == []
    stopped = of_kind(desk.tell(HoldingsRevoked(), "membership"), SlotsStopped)
    assert len(stopped) == 1
    assert asked(desk.tell(CrawlLicensed(desk.now + 60.0), "membership")) == []
    desk.now += 1.0
    assert asked(desk.tell(hold_slots(), "handover")) == [f"{ORIGIN}/2"]


def test_a_fetch_that_would_be_due_after_the_licence_wakes_nobody() -> None:
    desk = Desk(delay_s=5.0)
    desk.seed(HOME)
    desk.tell(fetched(ROBOTS, 404))
    desk.tell(CrawlLicensed(desk.now + 3.0), "membership")
    assert desk.controller.wake_at() == inf


# --- The queue's length ---


def test_the_membership_hears_of_the_queue_once_a_second_when_it_has_changed() -> None:
    desk = Desk(tuning=Tuning(measure_s=1.0))
    desk.seed(HOME)
    desk.seed(f"{ORIGIN}/2", f"{ORIGIN}/3")
    assert of_kind(desk.news, QueueMeasured) == [QueueMeasured(1)]
    assert desk.controller.wake_at() == desk.now + 1.0 + MEASURE_LATE_S
    desk.wake(1.0)
    desk.wake(1.0)
    assert of_kind(desk.news, QueueMeasured) == [QueueMeasured(1), QueueMeasured(3)]


def test_a_change_of_less_than_one_in_a_hundred_is_not_told() -> None:
    desk = Desk(tuning=Tuning(measure_s=1.0))
    desk.seed(*(f"{ORIGIN}/{number}" for number in range(200)))
    desk.seed(f"{ORIGIN}/200", f"{ORIGIN}/201")
    desk.wake(1.0)
    assert of_kind(desk.news, QueueMeasured) == [QueueMeasured(200)]
    desk.seed(f"{ORIGIN}/202")
    assert of_kind(desk.news, QueueMeasured) == [QueueMeasured(200), QueueMeasured(203)]


# --- Shipping ---


def test_links_are_promised_when_the_team_has_them() -> None:
    desk = team_desk()
    assert (
        of_kind(
            desk.tell(LinksFound(9, (FoundLink(f"{MINE}/1", "text"),)), "controller", OTHER), LinksAccepted
        )
        == []
    )
    sends = desk.wake(GATHER_S)
    items = items_in(sends)
    assert [item.url for item in items.queued] == [f"{MINE}/1"]
    telling = telling_of(desk.now, tag_of(visitor_tag(OTHER)))
    assert [item.texts for item in items.anchors] == [(telling, "text")]
    assert [item.host for item in items.hosts] == [host_of(MINE)]
    assert not desk.observe().is_idle
    assert keep(desk) == [Send(AT, LinksAccepted(9))]


def test_links_that_are_known_already_are_promised_after_what_was_shipped_before() -> None:
    """The same link, found by another peer, was promised while the team had not heard of it yet."""
    desk = team_desk()
    links = (FoundLink(f"{MINE}/1"),)
    desk.tell(LinksFound(1, links), "controller", OTHER)
    desk.wake(GATHER_S)
    desk.tell(LinksFound(1, links), "controller", OTHER)
    desk.tell(LinksFound(2, links), "controller", OTHER)
    assert of_kind(desk.wake(GATHER_S), LinksAccepted) == []
    assert keep(desk) == [Send(AT, LinksAccepted(1)), Send(AT, LinksAccepted(2))]


def test_what_changes_often_is_shipped_once_as_it_is_then() -> None:
    desk = team_desk()
    desk.seed(f"{MINE}/1", depth=5)
    desk.seed(f"{MINE}/1", depth=3)
    desk.seed(f"{MINE}/1", depth=1)
    items = items_in(desk.wake(GATHER_S))
    assert [(item.url, item.depth) for item in items.queued] == [(f"{MINE}/1", 1)]


def test_changes_are_sent_again_with_growing_pauses_until_they_are_kept() -> None:
    desk = team_desk()
    desk.seed(f"{MINE}/1")
    sends = desk.wake(GATHER_S)
    (first,) = shipped(sends)
    pauses, since = [], desk.now
    for _ in range(3):
        while not (again := shipped(desk.wake(desk.controller._mirror.wake_at() - desk.now))):
            pass
        pauses.append(round(desk.now - since, 3))
        since = desk.now
        assert (again[0].batch, again[0].items, again[0].sent_at) == (first.batch, first.items, desk.now)
    assert pauses == [RESEND_S, RESEND_S_MAX, RESEND_S_MAX]
    desk.tell(ItemsKept(first.batch), "controller", "third")
    assert desk.observe().store.unkept == 1
    desk.tell(ItemsKept(first.batch), "controller", OTHER)
    assert desk.observe().store.unkept == 0


def test_a_member_that_stays_silent_is_left_to_comparison() -> None:
    desk = team_desk()
    desk.tell(LinksFound(9, (FoundLink(f"{MINE}/1"),)), "controller", OTHER)
    desk.wake(GATHER_S)
    sends = desk.wake(SILENT_S)
    differ = SlotsDiffer(OTHER, encode_slot_list([slot_of_url(MINE)], SLOT_COUNT))
    assert of_kind(sends, SlotsDiffer) == [differ]
    assert of_kind(sends, LinksAccepted) == [LinksAccepted(9)]
    desk.tell(LinksFound(10, (FoundLink(f"{MINE}/2"),)), "controller", OTHER)
    sends = desk.wake(GATHER_S)
    assert shipped(sends) == []
    assert of_kind(sends, SlotsDiffer) == [differ]
    assert of_kind(sends, LinksAccepted) == [LinksAccepted(10)]
    desk.now += SILENT_S
    desk.seed(f"{MINE}/3")
    assert len(shipped(desk.wake(GATHER_S))) == 1


def test_a_member_that_keeps_nothing_costs_a_bounded_amount_of_memory() -> None:
    desk = team_desk()
    delivery = desk.controller._mirror._delivery
    long = "x" * 1_900
    n_left = 0
    for batch in range(24):
        desk.seed(*(f"{MINE}/{batch}/{number}/{long}" for number in range(1_000)))
        n_left += len(of_kind(desk.wake(GATHER_S), SlotsDiffer))
        seen = delivery.observe()
        assert seen.under_way <= SHIPMENTS_UNDER_WAY
        assert seen.waiting_bytes <= BYTES_WAITING_MAX
    assert desk.now < 1_000.0 + SILENT_S, "it was not silent for too long, it had too much before it"
    assert n_left > 0, "to comparison"
    assert len(delivery) == 0


def test_what_has_changed_is_shared_only_when_the_team_has_kept_it() -> None:
    desk = team_desk()
    assert desk.observe().is_shared
    desk.seed(f"{MINE}/1")
    assert not desk.observe().is_shared  # not even sent so far: a peer that ended now would keep it to itself
    (change,) = shipped(desk.wake(GATHER_S))
    assert not desk.observe().is_shared
    for peer in (OTHER, "third"):
        desk.tell(ItemsKept(change.batch), "controller", peer)
    assert desk.observe().is_shared


def test_nobody_waits_for_a_member_that_died() -> None:
    desk = team_desk()
    desk.tell(LinksFound(9, (FoundLink(f"{MINE}/1"),)), "controller", OTHER)
    desk.wake(GATHER_S)
    assert of_kind(desk.share((ME,)), LinksAccepted) == [LinksAccepted(9)]
    assert desk.observe().store.unkept == 0


def test_with_one_replica_nothing_is_shipped_or_noted() -> None:
    desk = Desk(peers=(ME, OTHER)).with_home_asked(origin=MINE)
    desk.store(f"{MINE}/", f"{MINE}/1", f"{THEIRS}/1")
    desk.wake(GATHER_S)
    seen = desk.observe()
    assert (seen.held_back, seen.store.items_shipped, desk.controller._frontier.changes) == (0, 0, None)


# --- Pages that are done ---


def finished(desk: Desk, *links: str) -> list[Send]:
    """Bring a page of MINE to its end; return what is sent with the next flush and shipment."""
    desk.with_home_asked(origin=MINE)
    desk.wake(GATHER_S)
    keep(desk)
    desk.store(f"{MINE}/", *links)
    sends = desk.wake(GATHER_S)
    assert desk.state_of(f"{MINE}/") == "D200"
    return sends + desk.wake(GATHER_S)


def test_others_hear_that_a_page_is_done_when_its_links_to_our_hosts_are_kept() -> None:
    desk = team_desk()
    sends = finished(desk, f"{MINE}/1")
    items = items_in(sends)
    assert [item.url for item in items.queued] == [f"{MINE}/1"]
    assert not items.visited
    assert desk.observe().held_back == 1
    assert shipped(keep(desk) + desk.wake(COMPANY_S / 2)) == [], "it waits for company"
    assert stored_in(desk.wake(COMPANY_S / 2)) == [f"{MINE}/"]
    assert desk.observe().held_back == 0


def test_others_hear_that_a_page_is_done_when_its_links_to_other_hosts_are_accepted() -> None:
    desk = team_desk()
    sends = finished(desk, f"{THEIRS}/1")
    (links,) = of_kind(sends, LinksFound)
    keep(desk)
    assert shipped(desk.wake(GATHER_S)) == []
    assert (desk.observe().held_back, desk.observe().is_idle) == (1, False)
    desk.tell(LinksAccepted(links.batch), "controller", OTHER)
    sends = desk.wake(COMPANY_S)
    assert stored_in(sends) == [f"{MINE}/"]
    keep(desk)
    desk.now += 10.0
    assert desk.observe().is_idle


def test_links_that_come_to_us_from_an_unaccepted_batch_are_kept_by_the_team_before_their_page_is_done() -> (
    None
):
    desk = Desk(peers=(ME, OTHER, "third"), replicas=3).with_home_asked(origin=origin_of_mine_in(3))
    home = origin_of_mine_in(3)
    ownership = owned_by((ME, OTHER, "third"), replicas=3)
    theirs = next(
        origin
        for origin in (f"http://h{number}.test" for number in range(1_000))
        if ownership.owner_of(ownership.slot_of(host_of(origin))) == "third"
        and owned_by((ME, OTHER)).owner_of(ownership.slot_of(host_of(origin))) == ME
    )

    desk.wake(GATHER_S)
    keep(desk)
    desk.store(f"{home}/", f"{theirs}/1")
    sends = desk.wake(GATHER_S) + desk.wake(GATHER_S)
    keep(desk)
    assert len(of_kind(sends, LinksFound)) == 1
    desk.share((ME, OTHER))
    sends = desk.wake(OUTBOX_RESEND_S)
    assert desk.state_of(f"{theirs}/1") == "Q"
    sends += desk.wake(GATHER_S)
    urls = [item.url for changed in shipped(sends) for item in decode_items(changed.items).queued]
    assert urls == [f"{theirs}/1"]
    assert desk.observe().held_back == 1
    keep(desk)
    desk.wake(COMPANY_S)
    assert desk.observe().held_back == 0


def visits_shipped(sends: list[Send]) -> list[int]:
    items = [item for each in shipped(sends) for item in decode_items(each.items).visited]
    return [row_in(item.row).visit for item in items]


def test_a_page_that_is_done_again_while_it_waits_for_company_is_held_back_anew() -> None:
    """Others heard of its second visit by leave of the first one, before its links were safe."""
    desk = team_desk(delay_s=0.0, revisit_after_s=9_000.0)
    finished(desk)
    keep(desk)
    assert (desk.observe().held_back, desk.controller._store.has_released) == (0, True)
    frontier, slot = desk.controller._frontier, slot_of_url(MINE)
    row = frontier.row_of(f"{MINE}/", slot)
    assert row is not None
    frontier.merge_visited(slot, fingerprint(f"{MINE}/"), due_now(row, desk.now, visitor_tag(ME)), f"{MINE}/")
    assert asked(desk.wake(1.0)) == [f"{MINE}/"]
    sends = desk.store(f"{MINE}/", f"{THEIRS}/1", at=desk.now) + desk.wake(GATHER_S) + desk.wake(GATHER_S)
    (links,) = of_kind(sends, LinksFound)
    sends += keep(desk) + desk.wake(COMPANY_S)
    assert set(visits_shipped(sends)) == {1}
    assert desk.observe().held_back == 1
    desk.tell(LinksAccepted(links.batch), "controller", OTHER)
    assert visits_shipped(keep(desk) + desk.wake(COMPANY_S)) == [2]


def test_news_of_a_page_that_is_done_rides_with_other_news_of_its_slot() -> None:
    desk = team_desk()
    finished(desk, f"{MINE}/1")
    keep(desk)
    sends = desk.wake(COMPANY_S / 2)
    assert shipped(sends) == []
    desk.tell(LinksFound(9, (FoundLink(f"{MINE}/2"),)), "controller", OTHER)
    items = items_in(desk.wake(GATHER_S))
    assert ([item.url for item in items.queued], len(items.visited)) == ([f"{MINE}/2"], 1)
    assert desk.observe().held_back == 0


def origin_of_mine_in(n_peers: int) -> str:
    """The origin of a host of ours, whoever of the first two or three peers is alive."""
    peers = (ME, OTHER, "third")[:n_peers]
    return next(
        origin
        for origin in (f"http://h{number}.test" for number in range(1_000))
        if owned_by(peers).owner_of(slot_of_url(origin)) == ME
        and owned_by((ME, OTHER)).owner_of(slot_of_url(origin)) == ME
    )


def test_a_slot_is_not_stopped_while_a_page_of_it_is_held_back_but_not_for_ever() -> None:
    desk = team_desk()
    finished(desk, f"{THEIRS}/1")
    keep(desk)
    (stopped,) = of_kind(desk.tell(HoldSlots(NO_SLOTS, NO_SLOTS), "handover"), SlotsStopped)
    slot = slot_of_url(MINE)
    assert not decode_slots(stopped.slots, SLOT_COUNT)[slot]
    assert of_kind(desk.wake(STOP_CHECK_S), SlotsStopped) == []
    (stopped,) = of_kind(desk.wake(STOP_PATIENCE_S), SlotsStopped)
    assert stopped.slots == encode_slot_list([slot], SLOT_COUNT)
    assert desk.observe().held_back == 0


def test_a_page_that_another_has_done_meanwhile_is_done_and_not_held_back() -> None:
    desk = team_desk().with_home_asked(origin=MINE)
    desk.wake(GATHER_S)
    keep(desk)
    items = encode_items(Items(visited=(stored_item(f"{MINE}/"),)))
    desk.tell(ItemsChanged(1, desk.now, items), "controller", OTHER)
    assert desk.observe().queued == 0
    desk.store(f"{MINE}/", f"{MINE}/1")
    desk.wake(GATHER_S)
    assert (desk.state_of(f"{MINE}/"), desk.observe().held_back) == ("D200", 0)


# --- What others ship ---


def changed_by_other(items: Items, *, sent_at: float = 1_000.0, batch: int = 4) -> ItemsChanged:
    return ItemsChanged(batch, sent_at, encode_items(items))


def test_changes_of_a_member_are_merged_and_promised_as_often_as_they_come() -> None:
    desk = team_desk()
    message = changed_by_other(Items(queued=(QueuedItem(f"{THEIRS}/1", 2, 0, 0),)))
    for _ in range(2):
        assert desk.tell(message, "controller", OTHER) == [Send(AT, ItemsKept(4))]
    assert (desk.state_of(f"{THEIRS}/1"), desk.observe().store.items_merged) == ("Q", 2)
    assert ItemsKept.is_promise
    assert shipped(desk.wake(GATHER_S)) == []


def test_a_visit_is_news_in_the_name_of_its_teller_only() -> None:
    desk = team_desk()
    slot = slot_of_url(THEIRS)

    def told(number: int, *visited: VisitedItem) -> tuple[ItemsKept, str]:
        items = encode_items(Items(visited=visited))
        answers = desk.tell(ItemsChanged(number, desk.now, items), "controller", OTHER)
        row = desk.controller._frontier.row_of(f"{THEIRS}/1", slot)
        return of_kind(answers, ItemsKept)[0], "" if row is None else row.outcome

    mine, theirs = stored_item(f"{THEIRS}/1", ME), stored_item(f"{THEIRS}/1")
    assert told(1, mine) == (ItemsKept(1, 1), "")
    assert told(2, theirs) == (ItemsKept(2), "D200")
    tried = row_in(theirs.row)._replace(attempts=2)  # says no more of that visit
    assert told(3, msgspec.structs.replace(theirs, row=row_bytes(tried))) == (ItemsKept(3), "D200")
    for forged in (
        tried._replace(visit=2, outcome="F404"),
        tried._replace(visited_s=8.0, digest=b"otherone"),
    ):
        forged = forged._replace(visitor=visitor_tag("third"))
        item = msgspec.structs.replace(theirs, row=row_bytes(forged))
        assert told(4, item) == (ItemsKept(4, 1), "D200")


def test_a_standby_has_the_link_texts_indexed_as_the_owner_does() -> None:
    desk = team_desk()
    slot = slot_of_url(THEIRS)
    source = team_desk()
    source.share((OTHER, ME))
    tell(source.controller._frontier, f"{THEIRS}/1", slot, "text")
    texts = items_in(source.wake(GATHER_S) or source.seed(HOME) + source.wake(GATHER_S)).anchors
    items = Items(visited=(stored_item(f"{THEIRS}/1"),), anchors=texts)
    desk.tell(changed_by_other(items), "controller", OTHER)
    assert of_kind(desk.wake(1.0), LinkTextsChanged) == [LinkTextsChanged(f"{THEIRS}/1", slot)]
    assert desk.anchors_of(f"{THEIRS}/1") == ("text",)


def test_one_item_that_cannot_be_is_left_out_of_a_shipment_told_and_not_sent_again() -> None:
    desk = team_desk()
    bad, good = QueuedItem("http://a.test/p?", 0, 0, 0), QueuedItem(f"{THEIRS}/1", 2, 0, 0)
    message = changed_by_other(Items(queued=(bad, good)))
    assert desk.tell(message, "controller", OTHER) == [Send(AT, ItemsKept(4, refused=1))]
    store = desk.observe().store
    assert (desk.state_of(f"{THEIRS}/1"), store.items_merged, store.items_refused) == ("Q", 1, 1)

    source = team_desk()
    source.seed(f"{MINE}/1")
    (first,) = shipped(source.wake(GATHER_S))
    source.tell(ItemsKept(first.batch, refused=1), "controller", OTHER)
    for _ in range(60):
        assert shipped(source.wake(1.0)) == []
    assert (source.observe().store.unkept, source.observe().store.items_told_refused) == (0, 1)


@pytest.mark.parametrize(
    "message",
    [
        ItemsChanged(4, 1_000.0, b"junk"),
        changed_by_other(Items(), sent_at=nan),
        changed_by_other(Items(), sent_at=inf),
        changed_by_other(
            Items(visited=tuple(VisitedItem(0, n.to_bytes(16, "big"), MISSING) for n in range(4_097)))
        ),
    ],
)
def test_malformed_changes_are_refused_and_counted(message: ItemsChanged) -> None:
    desk = team_desk()
    assert desk.tell(message, "controller", OTHER) == []
    assert (desk.observe().store.changes_refused, desk.observe().store.items_merged) == (1, 0)


def test_changes_of_who_is_not_in_the_team_are_not_answered() -> None:
    desk = Desk(peers=(ME, OTHER))
    message = changed_by_other(Items(queued=(QueuedItem(f"{MINE}/1", 0, 0, 0),)))
    assert desk.tell(message, "controller", OTHER) == []
    assert (desk.observe().store.changes_refused, desk.state_of(f"{MINE}/1")) == (1, None)


# --- The exchange ---


def test_what_the_handover_wants_brought_is_asked_of_that_peer() -> None:
    desk = team_desk()
    order = SynchroniseSlots(1, OTHER, encode_slots(owned_by((OTHER, ME), OTHER).owned), inf)
    (send,) = desk.tell(order, "handover")
    assert send.target == AT
    assert desk.controller.wake_at() < inf


def test_items_that_another_lacks_are_sent() -> None:
    desk = team_desk()
    desk.seed(f"{MINE}/1")
    question = SendItems(7, encode_slot_list([slot_of_url(MINE)], SLOT_COUNT), b"")
    first, last = desk.tell(question, "controller", OTHER)
    assert [item.url for item in decode_items(first.message.items).queued] == [f"{MINE}/1"]  # type: ignore[attr-defined]
    assert last.message.is_last  # type: ignore[attr-defined]


def test_what_is_for_nobody_is_our_bug() -> None:
    with pytest.raises(LocalProtocolError):
        Desk().tell(SlotsFilled(NO_SLOTS), "handover")
