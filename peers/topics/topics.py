"""The actor that counts how strongly the topics of a mesh are written about.

Theory of operation
===================
A controller tells each visit of a page of a topic's sites: what content it had, and the topics of which that
has strings. The visit goes to the peer that answers for the slot of the *content*, whose rows (`visit_row`)
are a store, replicated and handed over as all are. So all visits that brought one content are on one peer,
which counts it once however many pages have it, and the counts of a mesh are the sums of those of its peers,
exactly, whatever their number. A visit that is told again, or by two peers, is the same row.

Of a page whose server says that it has not changed nothing is read: its content is the one that `copies`
keeps of it, and the topics of a content are known from when it was read first. Pages from before a topic are
asked for as a whole once (`CountedTopic.since_s`).

Without topics there is nothing (`OptionalStoreActor`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf
from operator import attrgetter
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from mesh.actors.slot_reports import ReportKind, SlotReports
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.table import Table, TableSection
from peers.handover.item_store import Item, ItemStore
from peers.handover.optional_store import OptionalStoreActor
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreDeclaration, StoreStatistics
from peers.policy.rules import Policy
from peers.topics.messages import PagesVisited, VisitedPage
from peers.topics.topic_list import TopicsInForce, topics_of
from peers.topics.visit_row import (
    CONTENT_BYTES,
    PAGE_BYTES,
    VisitName,
    content_number,
    is_row,
    join,
    keys_bytes,
    keys_in,
    levels_bytes,
    visit_in,
)
from peers.topics.wire_messages import (
    ROWS_MAX,
    CountsTold,
    CountsWanted,
    ToldVisit,
    VisitsNoted,
    VisitsTold,
)

# Of one member in a slice: some 200 MB. Further ones are not kept.
ROWS_OF_MEMBER_MAX: Final = 2_000_000

NOT_COUNTED: Final = b""  # epoch of an answer of a peer that goes by another one, or knows of no topics

_VISITS: Final = ReportKind(ToldVisit, attrgetter("number"), VisitsTold, items_max=ROWS_MAX)

# Returns the content of a page by slot and fingerprint, 0 for one that is not known or has none.
ContentOf = Callable[[int, bytes], int]


class TopicStatistics(HolderStatistics, frozen=True):
    """The work on topics: gauges of now, counts since the start."""

    topics: int  # gauge: that are counted
    told: int  # count: visits of this peer
    untold: int  # gauge: of these, not yet noted
    taken: int  # count: visits that were put into the store
    refused: int  # count: those that were not, since they are none, by a limit, or as nobody notes any
    dropped: int  # count: rows deleted because no topic keeps them any more


class Topics(OptionalStoreActor):
    """Neighbours: the controller of this peer, the topics of others, and gateways that ask for counts."""

    name: ClassVar[str] = "topics"
    keeps: ClassVar = StoreDeclaration("topics", name, is_optional=True)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        VisitsTold,
        VisitsNoted,
        CountsWanted,
    }

    rows_section: ClassVar = b"v"

    def __init__(self, me: str, table: Table, content_of: ContentOf, life: int = 1) -> None:
        """Begin as every optional store does.

        Args:
          content_of: says of other actors' pages what content they have.
        """
        super().__init__(me, table, life)
        self._content_of = content_of
        self._topics: TopicsInForce | None = None
        self._of_members: Counter[str] = Counter()  # rows of this slice
        self._n: Counter[str] = Counter()  # for the statistics

    def _is_wanted(self, policy: Policy) -> bool:
        return self._topics is not None  # which no policy decides: topics have a decree of their own

    def _open_store(self, rows: Table) -> ItemStore:
        return ItemStore(rows, join, accepts=self._accepts)

    def _begin(self) -> None:
        super()._begin()
        self._reports = SlotReports(self._me, self.name, TableSection(self._table, b"t"), self._life, _VISITS)

    def _handle(self, source: Address, message: Message) -> list[Send]:
        match message:
            case PagesVisited(visits):
                if self._is_on and not self._reports.is_full:
                    self._reports.tell(map(self._told, visits), self._now)
                elif self._is_on:
                    self._n["refused"] += len(visits)
            case VisitsTold(batch, visits):
                if self._take(source, visits):
                    return [Send(source, VisitsNoted(batch))]
            case VisitsNoted(batch) if not self.is_dormant:
                self._reports.note_answer(source.peer, batch, self._now)
            case VisitsNoted():
                pass  # of visits of an earlier life, which will be told again
            case CountsWanted():
                return [Send(source, self._count(message))]
            case _:
                return super()._handle(source, message)
        return []

    def wake_at(self) -> float:
        return min(super().wake_at(), self._reports.wake_at())

    def _observe(self, store: StoreStatistics) -> TopicStatistics:
        return TopicStatistics(
            store=store,
            topics=0 if self._topics is None else len(self._topics.by_key),
            told=self._reports.n_told,
            untold=self._reports.waiting_count,
            taken=self._n["taken"],
            refused=self._n["refused"],
            dropped=self._n["dropped"],
        )

    def _follow(self, ownership: Ownership) -> None:
        super()._follow(ownership)
        self._reports.change_ownership(ownership, self._now)

    def _end_turn(self) -> list[Send]:
        sends = self._reports.wake(self._now) if self._reports.wake_at() <= self._now else []
        return sends + super()._end_turn()

    # --- Visits of this peer, and of others

    def _told(self, visit: VisitedPage) -> ToldVisit:
        """Bring a visit to its content; a page without main text is its own."""
        content = self._content_of(visit.slot, visit.page) if visit.is_unchanged else visit.content
        number = content.to_bytes(CONTENT_BYTES, "big") if content else visit.page[:CONTENT_BYTES]
        name = VisitName(number, visit.slice, visit.page[-PAGE_BYTES:]).encoded
        levels = levels_bytes(dict(visit.levels)) if visit.levels else b""
        return ToldVisit(name, keys_bytes(visit.keys), levels)

    def _take(self, source: Address, visits: tuple[ToldVisit, ...]) -> bool:
        """Put visits into the store; False if their slots are not ours: they come again.

        So they do while there are no topics here: either we hear of them later than their teller, or it
        forgets them as soon as it hears that there are none.
        """
        ownership = self._ownership
        if ownership is None or not self._is_on:
            return False
        slots = [visit.number % ownership.table.slot_count for visit in visits]
        if any(ownership.answerer_of(slot) != self._me for slot in slots):
            return False
        for slot, visit in zip(slots, visits, strict=True):
            is_good = all(self._accepts(slot, *row) for row in _rows(visit))
            if is_good and self._of_members[source.peer] < ROWS_OF_MEMBER_MAX:
                self._of_members[source.peer] += 1
                self._n["taken"] += 1
                for name, value in _rows(visit):
                    self._store.put(slot, name, value)
            else:
                self._n["refused"] += 1
        return True

    def _accepts(self, slot: int, name: bytes, value: bytes) -> bool:
        """Is this a row in its place that a topic keeps?"""
        ownership = self._ownership
        if ownership is None or not is_row(name, value):
            return False
        return content_number(name) % ownership.table.slot_count == slot and self._keeps(name, value)

    def _keeps(self, name: bytes, value: bytes) -> bool:
        topics = self._topics
        if topics is None or len(name) == CONTENT_BYTES:
            return topics is not None
        number, now_number = visit_in(name).slice, topics.list.slice_at(self._now)
        return any(topics.keeps(key, number, now_number) for key in keys_in(value))

    def _count(self, wanted: CountsWanted) -> CountsTold:
        ownership = self._ownership
        if ownership is None or not self._is_on or ownership.serving_epoch != wanted.epoch:
            return CountsTold(wanted.request, NOT_COUNTED)
        # Loaded where topics are counted.
        from peers.topics.tally import counts_told

        return counts_told(self._store, wanted, wanted.epoch, ownership.answers)

    # --- Rows that are not kept any more

    def _hear_policy(self, message: DecreesInForce) -> list[Send]:
        before = self._topics
        self._topics = topics_of(message.decrees, before)
        sends = self._switch(is_on=self._topics is not None)
        if not self.is_dormant:
            if self._topics is None:
                self._reports.clear()
            if self._topics is None or before is None or self._topics.digest != before.digest:
                self._sweep_anew()
        return sends

    def _look_at(self, item: Item) -> None:
        """Delete a visit that no topic keeps, and the row of a content of which no visit is left."""
        if len(item.name) == CONTENT_BYTES:
            is_kept = self._is_on and len(self._store.items_below(item.slot, item.name, 2)) > 1
        else:
            is_kept = self._keeps(item.name, item.value)
        if not is_kept:
            self._store.drop(item.slot, item.name)
            self._n["dropped"] += 1

    def _next_sweep_at(self) -> float:
        self._of_members.clear()
        topics = self._topics
        return inf if topics is None else topics.list.start_of(topics.list.slice_at(self._now) + 1)


def _rows(visit: ToldVisit) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows of a visit, that of its content first."""
    if visit.levels:
        yield visit.name[:CONTENT_BYTES], visit.levels
    yield visit.name, visit.keys
