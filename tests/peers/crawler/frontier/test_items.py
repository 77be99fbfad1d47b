"""The joins of frontier items, and what is refused of another peer."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain
from math import inf, nan
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import astuple

from mesh.errors import RemoteProtocolError
from mesh.slots import slot_of
from mesh.urls import fingerprint
from peers.crawler.frontier.anchor_rows import ANCHOR_ENTRIES_MAX, ANCHORS_MAX, ROW_ENTRIES_MAX, join_anchors
from peers.crawler.frontier.items import (
    AnchorsItem,
    HostItem,
    Items,
    QueuedItem,
    RobotsItem,
    RobotsRecord,
    VisitedItem,
    decode_items,
    encode_items,
    host_hash,
    join_robots,
    locate,
    robots_content,
    robots_in,
    robots_row,
)
from peers.crawler.model import politeness
from peers.crawler.model.politeness import HostRecord
from peers.crawler.model.url_rows import UrlRow, row_bytes
from peers.engine.pages.linkers import (
    LINKERS_MAX,
    USES_MAX,
    entries_of,
    entry_of,
    is_text,
    is_use,
    text_hash,
    used_text,
)

SLOT_COUNT = 64
URL = "http://a.test/1"
MARK = fingerprint(URL)

linkers = [entry_of(f"{n * 7919:016x}") for n in range(LINKERS_MAX + 8)]
links = st.builds(
    entries_of,
    st.integers(0, ANCHORS_MAX + 8).map(lambda n: f"text {n}" if n else ""),
    st.integers(0, LINKERS_MAX + 8).map(lambda n: f"{n * 7919:016x}" if n else ""),
)
texts = st.lists(links, max_size=2 * ANCHORS_MAX + 16)
anchors = texts.map(lambda some: join_anchors(tuple(chain.from_iterable(some)), ()))
times = st.sampled_from([0.0, 1.0, 2.0])
hosts = st.builds(
    HostRecord,
    st.just("a.test"),
    times,
    st.integers(0, 3),
    st.integers(0, 3),
    st.booleans(),
)
robots = st.builds(
    RobotsRecord,
    st.just("http://a.test"),
    st.sampled_from([0, 200, 404]),
    times,
    st.sampled_from([b"", b"User-agent: *", b"# \xff"]),
)


@pytest.mark.parametrize(
    ("join", "items"),
    [(join_anchors, anchors), (politeness.join, hosts), (join_robots, robots)],
    ids=["anchors", "hosts", "robots"],
)
@given(data=st.data())
def test_joins_are_idempotent_commutative_and_associative(
    join: Callable[[Any, Any], Any], items: st.SearchStrategy[Any], data: Any
) -> None:
    one, two, three = data.draw(items), data.draw(items), data.draw(items)
    assert join(one, one) == one
    assert join(one, two) == join(two, one)
    assert join(one, join(two, three)) == join(join(one, two), three)


def test_texts_and_linkers_do_not_push_each_other_out() -> None:
    texts = tuple(f"text {n}" for n in range(ANCHORS_MAX + 8))
    joined = join_anchors(texts, tuple(linkers))
    assert sum(text.startswith("text") for text in joined) == ANCHORS_MAX
    assert joined[:LINKERS_MAX] == tuple(sorted(linkers)[:LINKERS_MAX])
    assert len(joined) == ANCHORS_MAX + LINKERS_MAX


def test_links_of_any_number_fill_no_more_than_an_item_holds() -> None:
    """Texts of uses that are kept stay, whatever their hash."""
    joined: tuple[str, ...] = ()
    for n in range(1_000):
        joined = join_anchors(joined, entries_of(f"text {n}", f"{n * 0x9E3779B97F4A7C15 % 2**64:016x}"))
    assert ANCHORS_MAX + USES_MAX + LINKERS_MAX < len(joined) <= ANCHOR_ENTRIES_MAX
    texts = {text_hash(entry) for entry in filter(is_text, joined)}
    uses = list(filter(is_use, joined))
    assert len(uses) == USES_MAX
    assert texts >= set(map(used_text, uses))


def test_a_text_that_most_hosts_use_stays_among_many_others() -> None:
    """By its hash alone it would have to be among the smallest of all that were ever seen."""
    joined: tuple[str, ...] = ()
    for n in range(1_000):
        text = f"text {n}" if n % 3 else "the usual"
        joined = join_anchors(joined, entries_of(text, f"{n * 0x9E3779B97F4A7C15 % 2**64:016x}"))
    usual = sum(is_use(entry) and used_text(entry) == text_hash("the usual") for entry in joined)
    assert "the usual" in joined
    assert usual > USES_MAX / 6


def test_a_use_of_no_text_is_left_out() -> None:
    linker, use = (entry for entry in entries_of("one", "0" * 16) if not is_text(entry))
    for entries in ((linker, use), (use,)):
        assert locate(Items(anchors=(AnchorsItem(0, MARK, entries),)), SLOT_COUNT).refused == 1


def test_rows_without_uses_are_joined_as_they_are() -> None:
    """As they were written before there were uses."""
    row = join_anchors(tuple(f"text {n}" for n in range(ANCHORS_MAX)), tuple(linkers[:LINKERS_MAX]))
    assert len(row) == ANCHORS_MAX + LINKERS_MAX
    assert join_anchors(row, ()) == row
    assert set(join_anchors(row, entries_of("text 1", "f" * 16))) >= {*row, "text 1"}


def test_the_later_clock_wins_and_the_later_robots_and_the_greater_count() -> None:
    one, other = HostRecord("a.test", 9.0, 2, 4, True), HostRecord("a.test", 8.0, 7, 0, False)
    assert politeness.join(one, other) == HostRecord("a.test", 9.0, 7, 4, True)
    rules, none = RobotsRecord("http://a.test", 200, 5.0, b"#"), RobotsRecord("http://a.test", 404, 6.0, b"")
    assert join_robots(rules, none) == none


@given(robots)
def test_the_row_of_a_robots_txt_is_read_as_it_was_written(each: RobotsRecord) -> None:
    assert robots_in(robots_row(each)) == each
    assert robots_content(robots_row(each)) == robots_content(robots_row(each._replace(expires_s=7.0)))


STORED = UrlRow(host_hash("b.test"), 3, 0, 0, "D200", 1, inf, 7.0, 7.0, b"somepage", url="http://b.test/")
MISSING = UrlRow(host_hash("a.test"), 3, 0, 0, "F404", 2, inf, 7.0)
AGAIN = MISSING._replace(due_s=9.0)
SLOT_OF_B = slot_of("b.test", SLOT_COUNT)

ITEMS = Items(
    (QueuedItem(URL, 3, 1, 2),),
    (
        VisitedItem(SLOT_OF_B, fingerprint(STORED.url), row_bytes(STORED)),
        VisitedItem(5, MARK, row_bytes(MISSING)),
    ),
    (AnchorsItem(6, MARK, ("one", "two")),),
    (HostItem("a.test", 9.0, 1, 0, False),),
    (RobotsItem("http://c.test", 200, 99.0, b"User-agent: *"),),
)


def test_items_come_out_of_a_message_as_they_went_in_and_are_found_in_their_slots() -> None:
    items = decode_items(encode_items(ITEMS))
    assert items == ITEMS
    located = locate(items, SLOT_COUNT)
    hosts = ("a.test", "b.test", "c.test")
    assert located.slots() == {5, 6, *(slot_of(host, SLOT_COUNT) for host in hosts)}
    assert located.item_count == 6
    assert located.visited[0] == (SLOT_OF_B, fingerprint(STORED.url), STORED, STORED.url)
    assert located.visited[1] == (5, MARK, MISSING, "")


def visited(row: UrlRow, url: str = "", slot: int = 5, mark: bytes = MARK) -> Items:
    return Items(visited=(VisitedItem(slot, mark, row_bytes(row), url),))


@pytest.mark.parametrize(
    "items",
    [
        Items(queued=(QueuedItem("HTTP://a.test/", 0, 0, 0),)),
        Items(queued=(QueuedItem("http://a.test", 0, 0, 0),)),
        Items(queued=(QueuedItem("x", 0, 0, 0),)),
        visited(MISSING, slot=SLOT_COUNT),
        visited(AGAIN),
        visited(AGAIN, URL),
        visited(AGAIN, URL, slot_of("a.test", SLOT_COUNT), b"another's number"),
        visited(AGAIN, "http://a.test/?", slot_of("a.test", SLOT_COUNT), fingerprint("http://a.test/?")),
        visited(AGAIN._replace(host=b"of other"), URL, slot_of("a.test", SLOT_COUNT)),
        visited(
            STORED._replace(url="gopher://b.test/"), slot=SLOT_OF_B, mark=fingerprint("gopher://b.test/")
        ),
        visited(MISSING._replace(outcome="F404 ")),
        visited(MISSING._replace(outcome="Z404")),
        visited(MISSING._replace(outcome="F")),
        visited(MISSING._replace(outcome="F" + 41 * "x")),
        visited(MISSING._replace(visited_s=nan)),
        visited(MISSING._replace(changed_s=inf)),
        visited(AGAIN._replace(due_s=nan), URL, slot_of("a.test", SLOT_COUNT)),
        visited(AGAIN._replace(due_s=9.5), URL, slot_of("a.test", SLOT_COUNT)),
        visited(AGAIN._replace(due_s=-9.0), URL, slot_of("a.test", SLOT_COUNT)),
        visited(AGAIN._replace(due_s=1e10), URL, slot_of("a.test", SLOT_COUNT)),
        visited(MISSING._replace(etag="x" * 201)),
        visited(MISSING._replace(etag='"1"\r')),
        visited(MISSING._replace(last_modified="\x00")),
        Items(visited=(VisitedItem(5, MARK, row_bytes(UrlRow(b"hosthash", 0, 0, 0))),)),
        Items(visited=(VisitedItem(5, MARK, row_bytes(MISSING)[:-1]),)),
        Items(visited=(VisitedItem(5, MARK, row_bytes(MISSING) + b"\xff"),)),
        Items(visited=(VisitedItem(5, MARK, b"D"),)),
        Items(anchors=(AnchorsItem(SLOT_COUNT, MARK, ("one",)),)),
        Items(anchors=(AnchorsItem(0, MARK, ("two", "one")),)),
        Items(anchors=(AnchorsItem(0, MARK, ("one", "one")),)),
        Items(hosts=(HostItem("http://a.test", 0.0, 0, 0, False),)),
        Items(hosts=(HostItem("a.test/", 0.0, 0, 0, False),)),
        Items(hosts=(HostItem("A.test", 0.0, 0, 0, False),)),
        Items(hosts=(HostItem("a.test.", 0.0, 0, 0, False),)),
        Items(hosts=(HostItem("a.test:81", 0.0, 0, 0, False),)),
        Items(hosts=(HostItem("a.test", nan, 0, 0, False),)),
        Items(robots=(RobotsItem("http://a.test", 200, inf, b""),)),
        Items(robots=(RobotsItem("a.test", 200, 0.0, b""),)),
        Items(robots=(RobotsItem("http://a.test/x", 200, 0.0, b""),)),
    ],
)
def test_items_that_no_honest_peer_sends_are_left_out_and_counted_and_the_rest_is_taken(items: Items) -> None:
    assert locate(decode_items(encode_items(items)), SLOT_COUNT).refused == 1
    good = Items(
        (QueuedItem(URL, 0, 0, 0),),
        (VisitedItem(5, MARK, row_bytes(MISSING)),),
        (AnchorsItem(0, MARK, ("one",)),),
        (HostItem("a.test", 0.0, 0, 0, False),),
        (RobotsItem("http://a.test", 200, 0.0, b""),),
    )
    both = Items(*(good_ones + bad for good_ones, bad in zip(astuple(good), astuple(items), strict=True)))
    located = locate(decode_items(encode_items(both)), SLOT_COUNT)
    assert located == locate(good, SLOT_COUNT)._replace(refused=1)
    assert located.item_count == 5


@pytest.mark.parametrize(
    "items",
    [
        Items(queued=(QueuedItem(URL, 65_536, 0, 0),)),
        Items(queued=(QueuedItem(URL, 0, 256, 0),)),
        Items(queued=(QueuedItem("", 0, 0, 0),)),
        visited(MISSING, mark=b"short"),
        visited(MISSING._replace(url="x" * 5_000)),
        Items(anchors=(AnchorsItem(0, MARK, ()),)),
        Items(anchors=(AnchorsItem(0, MARK, ("x" * 201,)),)),
        Items(anchors=(AnchorsItem(0, MARK, tuple(f"{n:03}" for n in range(ROW_ENTRIES_MAX + 1))),)),
        Items(hosts=(HostItem("a.test", 0.0, (1 << 40) + 1, 0, False),)),
        Items(robots=(RobotsItem("http://a.test", 200, 0.0, bytes(600 << 10)),)),
    ],
)
def test_items_beyond_their_limits_are_not_decoded(items: Items) -> None:
    with pytest.raises(RemoteProtocolError, match="no frontier items"):
        decode_items(encode_items(items))


@pytest.mark.parametrize("junk", [b"", b"\xc1", b"\x91", msgspec.msgpack.encode([["\ud7ff", 1]]), b"[]" * 9])
def test_junk_is_refused(junk: bytes) -> None:
    with pytest.raises(RemoteProtocolError, match="no frontier items"):
        decode_items(junk)


def test_a_clock_of_an_earlier_version_is_read_and_an_earlier_version_reads_ours() -> None:
    earlier = ("http://a.test", 9.0, 2, 4, True)
    ours = msgspec.convert([*earlier], HostItem)
    assert (ours.seconds, ours.day, ours.of_day) == (0.0, 0, 0)
    told = encode_items(Items(hosts=(HostItem(*earlier, 0.5, 20_000, 7),)))
    assert msgspec.msgpack.decode(told)[3][0][:8] == [*earlier, 0.5, 20_000, 7]
    assert decode_items(told).hosts[0].of_day == 7
