"""The actor that counts topics: visits go to their contents, once each; counts go by parts; old ones go."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import TOPICS, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from peers.topics import tally
from peers.topics.messages import PagesVisited, VisitedPage
from peers.topics.topic_list import FORMAT, CountedTopic, TopicList, list_body
from peers.topics.topics import NOT_COUNTED, Topics, TopicStatistics
from peers.topics.visit_row import VisitName, keys_bytes
from peers.topics.wire_messages import (
    ContentCounts,
    CountsTold,
    CountsWanted,
    SliceCounts,
    ToldVisit,
    VisitsNoted,
    VisitsTold,
)

SLOTS = 16
WATER, FIRE = (CountedTopic(name, name, (name,), (), (), 10) for name in ("water", "fire"))
LIST = TopicList(FORMAT, (WATER, FIRE), 100)
KEY, OTHER = (LIST.key_of(topic) for topic in LIST.topics)
ALONE = Ownership("ann", SlotTable({"ann": 100}, SLOTS, 1), ["ann"])
NOW = 2_050.0  # in slice 20
CONTROLLER, GATEWAY, BOB = Address("ann", "controller"), Address("bob", "searcher"), Address("bob", "topics")


def decrees(topics: TopicList | None = LIST, number: int = 1) -> DecreesInForce:
    body = b"" if topics is None else list_body(topics)
    return DecreesInForce(
        TOPICS, () if topics is None else (Decree(TOPICS, "", number, 0.0, inf, body, b"", b""),)
    )


@dataclass
class Peer:
    """An actor and the messages that it sends to itself, carried."""

    table: MemoryTable = field(default_factory=MemoryTable)
    contents: dict[bytes, int] = field(default_factory=dict)
    now: float = NOW
    topics: Topics = field(init=False)

    def __post_init__(self) -> None:
        self.topics = Topics("ann", self.table, lambda slot, page: self.contents.get(page, 0), 1)
        self.hear(OwnershipChanged(ALONE))
        self.hear(decrees())

    def hear(self, message: Message, source: Address = CONTROLLER) -> list[Send]:
        return self.carry(self.topics.receive(source, message, self.now))

    def carry(self, sends: list[Send]) -> list[Send]:
        left: list[Send] = []
        for send in sends:
            if send.target == Address("ann", "topics"):
                left += self.hear(send.message, send.target)
            elif send.target.actor != "handover":
                left.append(send)
        return left

    def wake(self, now: float) -> None:
        self.now = now
        while self.topics.wake_at() <= now:
            self.carry(self.topics.wake(now))

    def counts(self, key: bytes = KEY, first: int = 0, end: int = 30) -> list[CountsTold]:
        """Ask for all parts."""
        parts: list[CountsTold] = []
        while not parts or parts[-1].next:
            after = parts[-1].next if parts else b""
            (send,) = self.hear(CountsWanted(5, key, ALONE.serving_epoch, first, end, after), GATEWAY)
            assert isinstance(send.message, CountsTold)
            parts.append(send.message)
        return parts


def visit(n: int, number: int = 20, content: int = 1, level: int = 0, *keys: bytes) -> VisitedPage:
    levels = ((KEY, level),) if level else ()
    return VisitedPage(3, n.to_bytes(8, "big") * 2, number, keys or (KEY,), content, levels)


def row(n: int, number: int = 20, content: int = 1) -> ToldVisit:
    name = VisitName(content.to_bytes(8, "big"), number, n.to_bytes(8, "big")).encoded
    return ToldVisit(name, keys_bytes([KEY]))


def test_pages_count_once_in_a_slice_and_contents_once_in_it_and_once_in_all() -> None:
    peer = Peer()
    told = (visit(1, level=2), visit(2, level=2), visit(3, content=2, level=1), visit(4, content=3))
    peer.hear(PagesVisited(told))
    peer.hear(PagesVisited((*told, visit(1, 19, level=2), visit(5, 18, content=4))))
    (counts,) = peer.counts()
    assert counts.slices == (
        SliceCounts(18, 1, 0, 0, 1, 0, 0),
        SliceCounts(19, 1, 1, 1, 1, 1, 1),
        SliceCounts(20, 4, 3, 2, 3, 2, 1),
    )
    assert counts.together == ContentCounts(4, 2, 1)
    (last,) = peer.counts(first=20, end=21)
    assert (last.slices, last.together) == (counts.slices[2:], ContentCounts(3, 2, 1))


def test_two_topics_have_one_row_of_a_visit_and_counts_of_their_own() -> None:
    peer = Peer()
    peer.hear(PagesVisited((visit(1, 20, 1, 2, KEY, OTHER), visit(2, 20, 2, 0, OTHER))))
    assert peer.topics.observe() == _observed(peer, taken=2)
    assert peer.counts(KEY)[0].slices == (SliceCounts(20, 1, 1, 1, 1, 1, 1),)
    assert peer.counts(OTHER)[0].slices == (SliceCounts(20, 2, 0, 0, 2, 0, 0),)


def _observed(peer: Peer, taken: int) -> TopicStatistics:
    found = peer.topics.observe()
    assert isinstance(found, TopicStatistics)
    assert (found.topics, found.taken, found.refused, found.untold) == (2, taken, 0, 0)
    return found


def test_a_page_that_has_not_changed_has_the_content_and_the_topics_of_before() -> None:
    peer = Peer()
    page = visit(1, 19, 7, 2)
    peer.contents[page.page] = 7
    peer.hear(PagesVisited((page,)))
    peer.hear(PagesVisited((visit(1, 20, 0)._replace(is_unchanged=True),)))
    peer.hear(PagesVisited((visit(2, 20, 0)._replace(is_unchanged=True), visit(3, 20, 0))))
    (counts,) = peer.counts(first=20)
    assert counts.slices == (SliceCounts(20, 3, 1, 1, 3, 1, 1),), "without main text each page is its own"


@pytest.mark.parametrize("rows_max", [1, 2, 3, 7])
def test_counts_told_by_parts_add_up_to_those_told_at_once(
    rows_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = Peer()
    visits = [
        visit(n, 16 + n % 4, n % 5 + 1, (n % 5) % 3, *((KEY,) if n % 7 else (OTHER,))) for n in range(60)
    ]
    peer.hear(PagesVisited(tuple(visits)))
    (whole,) = peer.counts()
    assert sum(each.pages for each in whole.slices) == sum(KEY in each.keys for each in visits)
    monkeypatch.setattr(tally, "ROWS_MAX", rows_max)
    parts = peer.counts()
    assert len(parts) > 8
    summed: dict[int, list[int]] = {}
    together = [0, 0, 0]
    for part in parts:
        for each in part.slices:
            counts = (each.pages, each.related, each.topic)
            contents = (each.contents, each.related_contents, each.topic_contents)
            before = summed.setdefault(each.slice, [0] * 6)
            summed[each.slice] = [a + b for a, b in zip(before, (*counts, *contents), strict=True)]
        more = (part.together.contents, part.together.related, part.together.topic)
        together = [a + b for a, b in zip(together, more, strict=True)]
    assert tuple(SliceCounts(number, *summed[number]) for number in sorted(summed)) == whole.slices
    assert ContentCounts(*together) == whole.together


def test_a_visit_is_noted_when_its_slot_is_ours_and_one_that_none_would_tell_is_left_out() -> None:
    peer = Peer()
    bad = (
        replace(row(2), keys=b""),
        replace(row(3), levels=b"l"),
        replace(row(4), keys=keys_bytes([b"none"])),
        row(5, 22),
        row(6, 10),
    )
    noted = peer.hear(VisitsTold(8, (row(1), *bad)), BOB)
    assert noted == [Send(BOB, VisitsNoted(8))]
    assert peer.counts()[0].slices == (SliceCounts(20, 1, 0, 0, 1, 0, 0),)
    found = peer.topics.observe()
    assert isinstance(found, TopicStatistics)
    assert (found.taken, found.refused) == (1, len(bad))
    both = Ownership("ann", SlotTable({"ann": 100, "bob": 100}, SLOTS, 2), ["ann", "bob"])
    peer.hear(OwnershipChanged(both))
    others = next(n for n in range(50) if both.answerer_of(n % SLOTS) == "bob")
    assert peer.hear(VisitsTold(9, (row(1, content=others),)), BOB) == [], "they go to whoever answers for it"


def test_who_asks_by_another_view_of_the_mesh_is_told_so() -> None:
    peer = Peer()
    (send,) = peer.hear(CountsWanted(5, KEY, b"other", 0, 30), GATEWAY)
    assert send.message == CountsTold(5, NOT_COUNTED)


def test_slices_beyond_those_kept_go_with_the_contents_that_only_they_had() -> None:
    peer = Peer()
    peer.hear(PagesVisited((visit(1, 12, 1, 2), visit(2, 20, 2, 2), visit(3, 12, 2), visit(4, 13, 3))))
    rows = len(list(peer.table.scan(b"v", b"w")))
    assert rows == 6
    peer.wake(2_200.0)
    assert len(list(peer.table.scan(b"v", b"w"))) == 4, "slice 12 and content 1"
    assert [each.slice for each in peer.counts()[0].slices] == [13, 20]
    assert peer.topics.wake_at() >= 2_300.0, "for the next slice"


def test_the_end_of_a_topic_is_the_end_of_its_rows_and_of_all_topics_that_of_all() -> None:
    peer = Peer()
    peer.hear(PagesVisited((visit(1, level=2), visit(2, 20, 2, 0, OTHER))))
    peer.hear(decrees(TopicList(FORMAT, (FIRE,), 100), 2))
    peer.wake(peer.now)
    assert peer.counts(OTHER)[0].slices == (SliceCounts(20, 1, 0, 0, 1, 0, 0),)
    assert peer.counts(KEY)[0].slices == ()
    peer.hear(decrees(None))
    peer.wake(peer.now)
    assert not list(peer.table.scan(b""))
    assert peer.hear(VisitsTold(9, (row(1),)), BOB) == []


def test_without_topics_it_sleeps_and_keeps_nothing() -> None:
    topics = Topics("ann", MemoryTable(), lambda slot, page: 0)
    assert topics.receive(CONTROLLER, OwnershipChanged(ALONE), NOW) == []
    assert topics.receive(CONTROLLER, decrees(None), NOW) == []
    assert topics.receive(CONTROLLER, PagesVisited((visit(1),)), NOW) == []
    assert topics.receive(GATEWAY, CountsWanted(5, KEY, ALONE.serving_epoch, 0, 30), NOW) == [
        Send(GATEWAY, CountsTold(5, NOT_COUNTED))
    ]
    assert topics.is_dormant


def test_what_was_counted_survives_a_restart() -> None:
    peer = Peer()
    peer.hear(PagesVisited((visit(1, level=2),)))
    again = Peer(peer.table)
    assert again.counts()[0].slices == (SliceCounts(20, 1, 1, 1, 1, 1, 1),)
