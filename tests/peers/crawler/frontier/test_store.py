"""Two frontiers that tell each other what they lack have the same, whoever holds what."""

from __future__ import annotations

from functools import reduce
from math import inf, nan
from operator import xor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mesh.errors import RemoteProtocolError
from mesh.slot_set import SlotMask
from mesh.slots import slot_of
from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint, host_of
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.host_state import HostState
from peers.crawler.frontier.items import (
    HostItem,
    Items,
    QueuedItem,
    RobotsItem,
    RobotsRecord,
    decode_items,
    encode_items,
    locate,
)
from peers.crawler.frontier.store import PART_BYTES, ROWS_PER_TURN, FrontierStore, HeldBack
from peers.crawler.frontier.url_queues import QueuedUrl
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import Conclusion, row_in
from peers.handover.store import PAUSE, Part, Store
from tests.peers.crawler.frontiers import queue, tell

# What another peer tells of a clock or of a robots.txt is believed 1,000 s and 100 s ahead.
SETTINGS = CrawlSettings(
    delay_s=0.0,
    give_up_s=1_000.0,
    backoff_max_s=100.0,
    retry_after_max_s=100.0,
    crawl_delay_max_s=100.0,
    robots_ttl_s=100.0,
)
SLOT_COUNT = 4
ALL = np.ones(SLOT_COUNT, np.bool_)
ORIGINS = [f"http://h{number}.test" for number in range(4)]
ORIGIN = ORIGINS[0]
HOST = host_of(ORIGIN)
SLOT = slot_of(HOST, SLOT_COUNT)
NOW = 1_000.0
STORED = Conclusion("D200", NOW, digest=b"somepage")


class Side:
    """A frontier with its store."""

    def __init__(self, *, is_holder: bool = True) -> None:
        self.table = MemoryTable()
        self.frontier = Frontier(self.table, SETTINGS)
        self.store = FrontierStore(self.frontier, SETTINGS)
        self.store.slot_count, self.store.now = SLOT_COUNT, NOW
        if is_holder:
            self.frontier.hold(range(SLOT_COUNT))

    def add(self, url: str, depth: int = 0, hops: int = 0, text: str = "") -> None:
        host = host_of(url)
        slot = slot_of(host, SLOT_COUNT)
        queue(self.frontier, url, host, slot, depth, hops, NOW)
        if text:
            tell(self.frontier, url, slot, text)

    def take(self) -> tuple[HostState, QueuedUrl]:
        state = self.frontier.take_host(NOW)
        assert state is not None
        taken = self.frontier.take_url(state, NOW)
        assert taken is not None
        return state, taken

    def ids(self) -> set[bytes]:
        """The ids of all items; the digests, however they came about, are of these."""
        ids: set[bytes] = set()
        for slot in range(SLOT_COUNT):
            in_slot = list(self.store.item_ids(slot))
            digest = reduce(xor, (int.from_bytes(each, "little") for each in in_slot), 0)
            assert self.store.digest_of(slot) == (digest.to_bytes(8, "little"), len(in_slot))
            ids.update(in_slot)
        return ids

    def pull(self, other: Side, clock_offset_s: float = 0.0, slots: SlotMask = ALL) -> int:
        """Bring here what the other has; tell in how many parts."""
        n_parts = 0
        for part in other.store.parts(1, slots, frozenset(self.ids())):
            assert isinstance(part, Part)
            assert self.store.merge(1, "other", slots, part, clock_offset_s) is None
            n_parts += 1
        return n_parts

    def state_of(self, url: str) -> str | None:
        row = self.frontier.row_of(url, slot_of(host_of(url), SLOT_COUNT))
        return None if row is None else row.outcome

    def check(self) -> None:
        """Is what is in memory what a frontier that reads the table would have?"""
        again = Frontier(self.table, SETTINGS)
        again.hold(range(SLOT_COUNT))
        mine = self.frontier
        for each in (mine, again):
            assert each.url_count == sum(len(list(mine.rows(slot, b"u"))) for slot in range(SLOT_COUNT))
        assert mine.queued_count == again.queued_count
        assert mine.given_up_count == again.given_up_count
        assert mine.changed_texts.count == again.changed_texts.count
        assert {state.host: state.queued for state in mine._hosts.in_memory() if state.queued} == {
            state.host: state.queued for state in again._hosts.in_memory() if state.queued
        }
        queues, urls = [], []
        for slot in range(SLOT_COUNT):
            queues += [key[-16:] for key, _ in mine.rows(slot, b"q")]
            urls += [key[3:] for key, row in mine.rows(slot, b"u") if row_in(row).is_queued]
        assert sorted(queues) == sorted(urls), "one queue row for each queued URL"


def is_store(store: Store) -> Store:
    return store


def test_a_frontier_is_a_store() -> None:
    assert is_store(Side().store)


links = st.tuples(
    st.sampled_from([f"{origin}/{path}" for origin in ORIGINS for path in range(6)]),
    st.integers(0, 3),
    st.integers(0, 2),
    st.sampled_from(["", "one", "two", "three"]),
)
ends = st.sampled_from(["D", "F", "X", "retry", "back", "give up", "robots"])
steps = st.lists(st.tuples(st.booleans(), st.one_of(links, ends, st.just("pull"))), max_size=60)


def visit_of(step: str, number: int) -> Conclusion:
    """What a visit finds: every second one is followed by another, soon or at once."""
    due_s = inf if number % 2 else NOW - 500.0 + 10 * number
    if step == "D":
        return Conclusion(
            "D200", NOW + number, due_s, digest=bytes((number % 3,)) * 8, etag=f'"{number % 3}"'
        )
    return Conclusion(f"{step}404", NOW + number, due_s, is_gone=step == "F")


def walk(side: Side, other: Side, step: tuple[str, int, int, str] | str, number: int) -> None:
    if isinstance(step, tuple):
        side.add(*step)
    elif step == "pull":
        side.pull(other)
    elif side.frontier.next_time() <= NOW and (state := side.frontier.take_host(NOW)) is not None:
        frontier, taken = side.frontier, side.frontier.take_url(state, NOW)
        if taken is None:
            pass
        elif step == "retry":
            frontier.retry(state, taken)
        elif step == "back":
            frontier.put_back(state, taken)
        elif step == "give up":
            frontier.put_back(state, taken)
            frontier.save(state, replace(state.record, given_up=True, next_fetch_s=NOW))
        elif step == "robots":
            frontier.put_back(state, taken)
            origin = f"http://{state.host}"
            frontier.origins.save(state, RobotsRecord(origin, 200, NOW + number, f"# {number}".encode()))
        else:
            frontier.settle(state, taken, visit_of(step, number))
        frontier.save(state, replace(state.record, fetched=state.record.fetched + 1))
        frontier.release(state, NOW)


@given(steps, st.booleans())
@settings(max_examples=300, deadline=None)
def test_two_that_tell_each_other_everything_have_the_same(
    steps: list[tuple[bool, tuple[str, int, int, str] | str]], is_holder: bool
) -> None:
    one, other = Side(), Side(is_holder=is_holder)
    for number, (is_first, step) in enumerate(steps):
        walk(*((one, other) if is_first else (other, one)), step, number)
    one.pull(other)
    other.pull(one)
    assert one.ids() == other.ids()
    for origin in ORIGINS:
        slot = slot_of(host_of(origin), SLOT_COUNT)
        for path in range(6):
            url = f"{origin}/{path}"
            assert one.state_of(url) == other.state_of(url)
            assert one.frontier.texts.of(url, slot) == other.frontier.texts.of(url, slot)
        for kind in (b"h", b"r"):
            mine, theirs = [[row for _, row in side.frontier.rows(slot, kind)] for side in (one, other)]
            assert mine == theirs
    one.check()
    if is_holder:
        other.check()


@given(steps)
@settings(max_examples=100, deadline=None)
def test_every_queued_url_can_still_be_taken_whatever_was_merged(
    steps: list[tuple[bool, tuple[str, int, int, str] | str]],
) -> None:
    one, other = Side(), Side()
    for number, (is_first, step) in enumerate(steps):
        walk(*((one, other) if is_first else (other, one)), step, number)
    one.pull(other)
    expected = {
        one.frontier.url_in_queue(slot, key[3:], row_in(row))
        for slot in range(SLOT_COUNT)
        for key, row in one.frontier.rows(slot, b"u")
        if row_in(row).is_queued
    }
    urls = []
    while (state := one.frontier.take_host(inf)) is not None:
        while (taken := one.frontier.take_url(state, NOW)) is not None:
            urls.append(taken.url)
    assert sorted(urls) == sorted(expected)


def test_only_what_is_lacking_is_sent_and_hosts_always_are() -> None:
    one, other = Side(), Side(is_holder=False)
    one.add(f"{ORIGIN}/1", text="text")
    assert other.pull(one) == 1
    one.add(f"{ORIGIN}/2")
    (part,) = one.store.parts(1, ALL, frozenset(other.ids()))
    assert isinstance(part, Part)
    located = locate(decode_items(part.items), one.store.slot_count)
    assert [item.url for _, _, item in located.queued] == [f"{ORIGIN}/2"]
    assert [item.host for _, item in located.hosts] == [HOST]
    assert located.item_count == 2


def test_parts_are_small() -> None:
    one, other = Side(), Side()
    for path in range(8_000):
        one.add(f"{ORIGIN}/{path}", text=f"text {path}")
    for part in one.store.parts(1, ALL, ()):
        assert isinstance(part, Part)
        assert len(part.items) <= 1.1 * PART_BYTES
    assert other.pull(one) > 5
    assert other.ids() == one.ids()


def test_looking_through_what_another_has_already_pauses() -> None:
    one, other = Side(), Side()
    for path in range(2 * ROWS_PER_TURN):
        one.add(f"{ORIGIN}/{path}")
    other.pull(one)
    *pauses, part = one.store.parts(1, ALL, other.ids())
    assert pauses == [PAUSE, PAUSE]
    assert isinstance(part, Part)  # hosts, which are always sent
    assert part.items


def test_nothing_is_believed_of_slots_that_were_not_asked_for() -> None:
    one, other = Side(), Side()
    one.add(f"{ORIGIN}/1")
    (part,) = one.store.parts(1, ALL, ())
    slots = ALL.copy()
    slots[SLOT] = False
    assert isinstance(part, Part)
    with pytest.raises(RemoteProtocolError, match="not asked for"):
        other.store.merge(1, "other", slots, part, 0.0)
    with pytest.raises(RemoteProtocolError, match="no time"):
        other.store.merge(1, "other", ALL, part, nan)
    assert not other.ids()


# --- Clocks ---


def test_the_clock_of_a_host_is_put_on_ours_and_goes_forward_only() -> None:
    one, other = Side(), Side()
    one.add(f"{ORIGIN}/1")
    state, taken = one.take()
    one.frontier.put_back(state, taken)
    one.frontier.save(state, replace(state.record, next_fetch_s=NOW + 5.0, fetched=3))
    other.add(f"{ORIGIN}/2")
    other.pull(one, clock_offset_s=2.0)
    mine = other.frontier.find(HOST)
    assert mine is not None
    assert (mine.record.next_fetch_s, mine.record.fetched) == (NOW + 7.0, 3)
    assert other.frontier.take_host(NOW + 6.9) is None
    other.pull(one, clock_offset_s=-3.0)
    assert mine.record.next_fetch_s == NOW + 7.0
    assert other.frontier.take_host(NOW + 7.0) is mine


def test_no_other_peer_can_put_a_host_off_for_ever() -> None:
    side = Side()
    items = Items(
        hosts=(HostItem(HOST, 1e300, 0, 0, False),), robots=(RobotsItem(ORIGIN, 200, 1e300, b"Disallow: /"),)
    )
    side.store.merge(1, "other", ALL, Part(encode_items(items)), 1e300)
    state = side.frontier.find(HOST)
    assert state is not None
    assert state.record.next_fetch_s == NOW + 1_000.0
    assert side.frontier.origins.of(state)[ORIGIN].expires_s == NOW + 100.0


def test_the_robots_txt_that_expires_later_holds_from_then_on() -> None:
    one, other = Side(), Side()
    for side, body, expires_s in (
        (one, b"User-agent: *\nDisallow: /", NOW + 9.0),
        (other, b"", NOW + 5.0),
    ):
        side.add(f"{ORIGIN}/1")
        state, taken = side.take()
        side.frontier.put_back(state, taken)
        side.frontier.origins.save(state, RobotsRecord(ORIGIN, 200, expires_s, body))
        side.frontier.release(state, NOW)
    mine = other.frontier.find(HOST)
    assert mine is not None
    assert other.frontier.origins.of(mine)[ORIGIN].rules.allows(f"{ORIGIN}/1")
    other.pull(one)
    assert not other.frontier.origins.of(mine)[ORIGIN].rules.allows(f"{ORIGIN}/1")
    one.pull(other)
    assert one.ids() == other.ids()


# --- URLs that are out ---


def test_a_url_that_is_out_and_done_elsewhere_is_not_queued_again() -> None:
    one, other = Side(), Side()
    one.add(f"{ORIGIN}/1")
    other.pull(one)
    state, taken = other.take()
    other.frontier.settle(state, taken, STORED)
    state, taken = one.take()
    one.pull(other)
    assert (one.frontier.queued_count, one.state_of(f"{ORIGIN}/1")) == (0, "D200")
    one.frontier.retry(state, taken)
    one.frontier.release(state, NOW)
    assert (one.frontier.queued_count, one.frontier.take_host(inf)) == (0, None)
    one.check()


def test_a_url_that_is_out_and_found_nearer_is_settled_where_it_stands_by_then() -> None:
    side = Side()
    side.add(f"{ORIGIN}/1", depth=9)
    state, taken = side.take()
    side.add(f"{ORIGIN}/1", depth=2)
    assert side.frontier.take_url(state, NOW) is None
    side.frontier.settle(state, taken, Conclusion("F404"))
    side.check()
    assert side.frontier.queued_count == 0


# --- Link texts ---


def test_of_texts_that_come_for_a_stored_page_the_cell_hears_wherever_it_is_kept() -> None:
    one, other = Side(), Side(is_holder=False)
    one.add(f"{ORIGIN}/1", text="before")
    state, taken = one.take()
    one.frontier.settle(state, taken, STORED)
    assert one.frontier.changed_texts.count == 0
    other.pull(one)
    assert other.frontier.changed_texts.count == 1, "what its cell was given with the page it cannot know"
    assert other.frontier.changed_texts.take(9) == [(f"{ORIGIN}/1", SLOT)]
    one.add(f"{ORIGIN}/1", text="after")
    one.frontier.changed_texts.take(9)
    other.pull(one)
    assert other.frontier.changed_texts.take(9) == [(f"{ORIGIN}/1", SLOT)]
    assert other.frontier.texts.of(f"{ORIGIN}/1", SLOT) == ("after", "before")


# --- Pages that are held back ---


def test_a_page_that_is_held_back_looks_queued_to_others() -> None:
    one, other = Side(), Side()
    url = f"{ORIGIN}/1"
    one.add(url, depth=3)
    before = one.ids()
    state, taken = one.take()
    key = one.frontier.key_of(state, taken)
    row = one.frontier.row(key)
    assert row is not None
    one.store.hold_back(key, HeldBack(row, url))
    one.frontier.settle(state, taken, STORED)
    assert one.ids() == before
    other.pull(one)
    assert (one.state_of(url), other.state_of(url)) == ("D200", "Q")
    assert other.take()[1].depth == 3
    one.store.release(key)
    assert not one.store.held_back
    assert one.ids() != before
    other.pull(one)
    assert other.state_of(url) == "D200"
    assert other.ids() == one.ids()


# --- Holding and forgetting ---


def test_of_slots_that_are_not_held_only_rows_are_kept() -> None:
    side = Side(is_holder=False)
    side.add(f"{ORIGIN}/1", text="text")
    frontier = side.frontier
    assert (frontier.url_count, frontier.host_count, frontier.take_host(inf)) == (0, 0, None)
    assert side.state_of(f"{ORIGIN}/1") == "Q"
    frontier.hold([SLOT])
    assert (frontier.url_count, frontier.queued_count, frontier.host_count) == (1, 1, 1)
    assert side.take()[1].url == f"{ORIGIN}/1"


def test_a_stopped_slot_gives_out_no_host_and_goes_on_when_it_is_held_again() -> None:
    side = Side()
    side.add(f"{ORIGIN}/1")
    side.add(f"{ORIGIN}/2", depth=1)
    state, taken = side.take()
    side.frontier.stop([SLOT])
    side.frontier.settle(state, taken, Conclusion("F404"))
    side.frontier.release(state, NOW)
    side.add(f"{ORIGIN}/3")
    assert side.frontier.take_host(inf) is None
    side.frontier.hold([SLOT])
    assert side.frontier.take_host(inf) is state


def test_a_host_that_is_out_while_its_slot_is_stopped_and_held_again_is_given_out_once() -> None:
    side = Side()
    side.add(f"{ORIGIN}/1")
    side.add(f"{ORIGIN}/2", depth=1)
    state, _ = side.take()
    side.frontier.stop([SLOT])
    side.frontier.hold([SLOT])
    assert side.frontier.take_host(inf) is None
    side.frontier.release(state, NOW)
    assert side.frontier.take_host(inf) is state


def test_a_dropped_slot_leaves_memory_and_keeps_its_rows() -> None:
    side = Side()
    for origin in ORIGINS:
        side.add(f"{origin}/1", text="text")
    state, taken = side.take()
    side.frontier.save(state, replace(state.record, given_up=True, next_fetch_s=NOW + 1.0))
    side.frontier.put_back(state, taken)
    side.frontier.release(state, NOW)
    n_rows = len(side.table)
    side.frontier.stop(range(SLOT_COUNT))
    side.frontier.drop(range(SLOT_COUNT))
    frontier = side.frontier
    assert (frontier.url_count, frontier.queued_count, frontier.given_up_count) == (0, 0, 0)
    assert (frontier.host_count, frontier.next_time(), frontier.take_host(inf)) == (0, inf, None)
    assert len(side.table) == n_rows
    frontier.hold(range(SLOT_COUNT))
    side.check()
    assert (frontier.queued_count, frontier.given_up_count) == (4, 1)


def forgetful(n: int = 20) -> Side:
    side = Side(is_holder=False)
    for path in range(n):
        side.add(f"{ORIGIN}/{path}", text="text")
    return side


def test_slots_are_forgotten_row_by_row_and_nothing_is_left() -> None:
    side = forgetful()
    side.frontier.forget_later([SLOT])
    assert not list(side.store.item_ids(SLOT))
    turns = 0
    while side.frontier.slots.forgetting:
        side.frontier.slots.forget_some(10)
        turns += 1
    assert (len(side.table), turns) == (0, 5)


def test_a_slot_that_is_held_is_not_forgotten() -> None:
    side = forgetful()
    side.frontier.hold([SLOT])
    side.frontier.forget_later([SLOT])
    assert not side.frontier.slots.forgetting


@pytest.mark.parametrize("n_forgotten", range(0, 65, 3))
def test_something_new_ends_the_forgetting_wherever_it_is(n_forgotten: int) -> None:
    side = forgetful()
    side.frontier.slots.newly_filled.clear()
    side.frontier.forget_later([SLOT])
    side.frontier.slots.forget_some(n_forgotten)
    side.add(f"{ORIGIN}/7", text="new")
    for _ in range(9):
        side.frontier.slots.forget_some(100)
    assert side.frontier.slots.newly_filled == ([SLOT])
    side.frontier.hold([SLOT])
    side.check()
    assert side.state_of(f"{ORIGIN}/7") == "Q"
    assert "new" in side.frontier.texts.of(f"{ORIGIN}/7", SLOT)


def test_it_is_told_once_when_a_slot_gets_its_first_item() -> None:
    table = MemoryTable()
    frontier = Frontier(table, SETTINGS)
    other = ORIGINS[1]
    queue(frontier, f"{ORIGIN}/1", HOST, 7, 0, 0, NOW)
    queue(frontier, f"{ORIGIN}/2", HOST, 7, 0, 0, NOW)
    assert frontier.slots.newly_filled == [7]
    queue(frontier, f"{other}/2", host_of(other), 65_535, 0, 0, NOW)
    again = Frontier(table, SETTINGS)
    assert again.slots.newly_filled == [7, 65_535]
    assert np.flatnonzero(again.slots.mask(65_536)).tolist() == [7, 65_535]


# --- Limits ---


def test_urls_are_counted_as_often_as_they_are_tried_up_to_what_a_row_holds() -> None:
    side = Side()
    items = Items(queued=(QueuedItem(f"{ORIGIN}/1", 0, 255, 0),))
    side.store.merge(1, "other", ALL, Part(encode_items(items)), 0.0)
    for _ in range(2):
        state, taken = side.take()
        assert taken.attempts == 255
        side.frontier.retry(state, taken)
        side.frontier.release(state, NOW)
    side.check()
    assert fingerprint(f"{ORIGIN}/1") not in side.frontier._queues.taken
