"""The cell by its inputs and outputs: which messages lead to which sends."""

from __future__ import annotations

from math import inf, nan

import msgspec
import numpy as np
import pytest
from xxhash import xxh3_64_intdigest

from mesh.actor import Address, Message, Send
from mesh.document import Document
from mesh.errors import LocalProtocolError
from mesh.memory_table import MemoryTable
from mesh.messages import (
    AnchorsReplicated,
    PageRead,
    PageReplicated,
    Ping,
    ReadPage,
    ReplicateAnchors,
    ReplicatePage,
    StoredPage,
)
from mesh.ownership import Ownership, OwnershipChanged
from mesh.slot_set import decode_slots, encode_slot_list
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.handover.messages import SlotsDiffer, SlotsFilled
from peers.index.messages import IndexAnchors, IndexPage, PagesIndexed
from peers.storage.cell import Cell, CellSettings
from peers.storage.ledger import Place, identity_of
from peers.storage.messages import (
    AppendRecords,
    DiskFilled,
    PageRefused,
    PageStored,
    ParseRecords,
    ReadRecords,
    RecordsAppended,
    RecordsParsed,
    RecordsRead,
    RecordsRefused,
    StoreAnchors,
    StorePage,
)
from peers.storage.scrubber import ScrubSettings

ME, OTHER, THIRD = "a", "b", "c"
SLOTS = 64
CONTROLLER, ARCHIVE, INDEXER, PARSER = (
    Address(ME, name) for name in ("controller", "archive", "indexer", "parser")
)
MY_CELL, OTHER_CELL = Address(ME, "cell"), Address(OTHER, "cell")
GATEWAY = Address(THIRD, "searcher")
HANDOVER = Address(ME, "handover")
CHECKSUM = xxh3_64_intdigest(b"records")
QUIET = ScrubSettings(bytes_per_s=0.0)


def slot_of(url: str) -> int:
    return Ownership(ME, SlotTable({ME: 1}, SLOTS, 1), ()).slot_of(host_of(url))


def url_of_slot_owned_by(owner: str, weights: dict[str, int], replicas: int) -> str:
    table = SlotTable(weights, SLOTS, replicas)
    urls = (f"http://h{n}.example/" for n in range(1000))
    return next(url for url in urls if table.owner_of(slot_of(url)) == owner)


URL = url_of_slot_owned_by(ME, {ME: 100, OTHER: 100}, 2)
SLOT = slot_of(URL)


def page(
    fetched_at: float = 5.0, url: str = URL, anchors: tuple[str, ...] = (), **changes: object
) -> StoredPage:
    document = Document(url, title="t", text="x", anchors=anchors, fetched_at=fetched_at)
    return msgspec.structs.replace(
        StoredPage(url, slot_of(url), fetched_at, 200, b"records", document), **changes
    )


def owned(*alive: str, replicas: int = 2, peers: tuple[str, ...] = (ME, OTHER)) -> OwnershipChanged:
    return OwnershipChanged(Ownership(ME, SlotTable(dict.fromkeys(peers, 100), SLOTS, replicas), alive))


class Driven:
    """A cell and a clock."""

    def __init__(self, table: MemoryTable | None = None, settings: CellSettings | None = None) -> None:
        self.table = table or MemoryTable()
        self.cell = Cell(ME, self.table, settings or CellSettings(scrub=QUIET))
        self.now = 100.0
        self.filled: set[int] = set()  # slots that the handover was told of

    def tell(self, message: Message, source: Address = CONTROLLER) -> list[Send]:
        return self._without_filled(self.cell.receive(source, message, self.now))

    def wake(self, after: float = 0.0) -> list[Send]:
        self.now += after
        return self._without_filled(self.cell.wake(self.now)) if self.cell.wake_at() <= self.now else []

    def _without_filled(self, sends: list[Send]) -> list[Send]:
        for target, message in sends:
            if isinstance(message, SlotsFilled):
                assert target == HANDOVER
                self.filled.update(np.flatnonzero(decode_slots(message.slots, SLOTS)).tolist())
        return [send for send in sends if not isinstance(send.message, SlotsFilled)]

    def observed(self, name: str) -> object:
        return getattr(self.cell.observe(), name)

    def store(self, stored: StoredPage, place: int = 0) -> list[Send]:
        """Have a page kept by us and, when it is asked, the other peer; return the last sends."""
        sends = self.tell(StorePage(stored))
        done = self.tell(appended(stored, place), ARCHIVE)
        if Send(OTHER_CELL, ReplicatePage(stored)) in sends:
            done = self.tell(PageReplicated(stored.url, stored.fetched_at), OTHER_CELL)
        return done


def appended(stored: StoredPage, place: int = 0) -> RecordsAppended:
    return RecordsAppended(stored.url, stored.fetched_at, 1, place, len(stored.records))


@pytest.fixture
def alone() -> Driven:
    driven = Driven()
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    return driven


@pytest.fixture
def pair() -> Driven:
    driven = Driven()
    driven.tell(owned(ME, OTHER))
    return driven


# --- Storing ---------------------------------------------------------------------------------


def test_page_goes_at_once_to_the_archive_and_to_the_living_standby(pair: Driven) -> None:
    assert pair.tell(StorePage(page())) == [
        Send(ARCHIVE, AppendRecords(URL, 5.0, b"records")),
        Send(OTHER_CELL, ReplicatePage(page())),
    ]
    assert (pair.observed("pending"), pair.observed("replicas_waiting")) == (1, 1)


@pytest.mark.parametrize("is_archive_first", [True, False])
def test_page_is_stored_when_archive_and_standby_have_answered(pair: Driven, is_archive_first: bool) -> None:
    pair.tell(StorePage(page()))
    answers: list[tuple[Message, Address]] = [
        (appended(page()), ARCHIVE),
        (PageReplicated(URL, 5.0), OTHER_CELL),
    ]
    first, second = answers if is_archive_first else answers[::-1]
    assert pair.tell(*first) == []
    assert pair.tell(*second) == [
        Send(INDEXER, IndexPage(SLOT, page().document or Document(""))),
        Send(CONTROLLER, PageStored(URL, 5.0)),
    ]
    observed = pair.cell.observe()
    assert (observed.stored, observed.pending, observed.unindexed, observed.archive_bytes) == (1, 0, 1, 7)


def test_page_without_a_document_is_stored_and_not_indexed(alone: Driven) -> None:
    assert alone.store(page(document=None)) == [Send(CONTROLLER, PageStored(URL, 5.0))]
    assert alone.observed("unindexed") == 0


def test_same_version_twice_is_kept_once_and_answered_again(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(StorePage(page())) == []
    alone.tell(appended(page()), ARCHIVE)
    assert alone.tell(appended(page(), place=9), ARCHIVE) == []
    assert alone.tell(StorePage(page())) == [Send(CONTROLLER, PageStored(URL, 5.0))]
    assert (alone.observed("stored"), alone.observed("pages")) == (1, 1)


def test_all_versions_keep_their_places(alone: Driven) -> None:
    for place, fetched_at in enumerate((5.0, 9.0, 7.0)):
        alone.store(page(fetched_at), place)
    ledger = alone.cell._ledger
    identity = identity_of(SLOT, URL)
    places = [ledger.version(identity, fetched_at) for fetched_at in (5.0, 9.0, 7.0)]
    assert [place and place.offset for place in places] == [0, 1, 2]
    newest = ledger.newest(identity)
    assert newest is not None
    assert newest.fetched_at == 9.0
    assert alone.observed("pages") == 1


def test_older_version_that_comes_late_is_not_indexed(alone: Driven) -> None:
    alone.store(page(9.0))
    assert alone.store(page(5.0)) == [Send(CONTROLLER, PageStored(URL, 5.0))]


def test_mark_goes_when_the_indexer_has_committed(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, 5.0), (URL, 6.0))), INDEXER)
    alone.tell(PagesIndexed(((URL, 5.0),)), INDEXER)
    assert alone.observed("unindexed") == 0
    assert Driven(alone.table).wake() == []


def test_records_that_are_not_whole_are_refused_and_the_controller_is_told(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(RecordsRefused(URL, 5.0), ARCHIVE) == [Send(CONTROLLER, PageRefused(URL, 5.0))]
    assert alone.tell(RecordsRefused(URL, 5.0), ARCHIVE) == []
    assert (alone.observed("pending"), alone.observed("records_refused")) == (0, 1)


def test_full_disk_is_seen_until_something_can_be_appended(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(DiskFilled("no space"), ARCHIVE) == []
    assert alone.observed("is_full") is True
    alone.tell(appended(page()), ARCHIVE)
    assert alone.observed("is_full") is False


def test_message_that_is_not_for_the_cell_is_refused(alone: Driven) -> None:
    with pytest.raises(LocalProtocolError):
        alone.tell(Ping(1))


# --- Replicating -----------------------------------------------------------------------------


def test_standby_keeps_and_indexes_a_page_and_promises_it(pair: Driven) -> None:
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == [
        Send(ARCHIVE, AppendRecords(URL, 5.0, b"records"))
    ]
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == []
    assert pair.tell(appended(page()), ARCHIVE) == [
        Send(INDEXER, IndexPage(SLOT, page().document or Document(""))),
        Send(OTHER_CELL, PageReplicated(URL, 5.0)),
    ]
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == [Send(OTHER_CELL, PageReplicated(URL, 5.0))]
    assert (pair.observed("replicated"), pair.observed("stored")) == (1, 0)


@pytest.mark.parametrize(
    "bad",
    [
        page(slot=(SLOT + 1) % SLOTS),
        page(url=URL, slot=65_535),
        page(fetched_at=nan),
        page(fetched_at=inf),
        page(fetched_at=-1.0),
        page(document=Document("http://elsewhere.example/")),
        msgspec.structs.replace(page(), url="x"),
        msgspec.structs.replace(page(), url="http://no-path.example"),
    ],
    ids=["slot", "no slot", "nan", "inf", "before 1970", "document of another page", "no URL", "no path"],
)
def test_replica_that_lies_is_refused(pair: Driven, bad: StoredPage) -> None:
    assert pair.tell(ReplicatePage(bad), OTHER_CELL) == []
    assert pair.observed("replicas_refused") == 1


def test_replica_from_outside_the_team_is_refused(pair: Driven) -> None:
    assert pair.tell(ReplicatePage(page()), Address(THIRD, "cell")) == []
    assert pair.observed("replicas_refused") == 1


def test_replicas_beyond_the_limit_or_on_a_full_disk_wait_with_their_owner() -> None:
    driven = Driven(settings=CellSettings(replica_bytes_max=2_000, scrub=QUIET))
    driven.tell(owned(ME, OTHER))
    assert driven.tell(ReplicatePage(page(1.0)), OTHER_CELL) != []
    assert driven.tell(ReplicatePage(page(2.0)), OTHER_CELL) == []
    driven.tell(appended(page(1.0)), ARCHIVE)
    driven.tell(DiskFilled(""), ARCHIVE)
    assert driven.tell(ReplicatePage(page(2.0)), OTHER_CELL) == []
    assert driven.observed("replicas_refused") == 2
    driven.tell(StorePage(page(3.0)))  # ours was fetched already: it waits in the archive's queue
    driven.tell(appended(page(3.0)), ARCHIVE)
    assert driven.tell(ReplicatePage(page(2.0)), OTHER_CELL) != []


def test_silent_member_is_asked_again_and_then_its_slot_is_compared(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(appended(page()), ARCHIVE)
    again = [Send(OTHER_CELL, ReplicatePage(page()))]
    assert pair.wake(1.9) == []
    assert pair.wake(0.1) == again
    assert pair.wake(4.0) == again
    assert pair.wake(8.0) == again
    sends = pair.wake(16.0)
    assert Send(CONTROLLER, PageStored(URL, 5.0)) in sends
    assert Send(HANDOVER, SlotsDiffer(OTHER, encode_slot_list([SLOT], SLOTS))) in sends
    assert (pair.observed("pending"), pair.observed("replicas_waiting")) == (0, 0)


def test_member_that_is_down_does_not_hold_a_page_up(pair: Driven) -> None:
    pair.tell(owned(ME))
    assert pair.tell(StorePage(page())) == [Send(ARCHIVE, AppendRecords(URL, 5.0, b"records"))]
    assert Send(CONTROLLER, PageStored(URL, 5.0)) in pair.tell(appended(page()), ARCHIVE)
    assert pair.observed("replicas_waiting") == 0
    assert pair.cell.wake_at() == inf


def test_member_that_dies_releases_the_pages_that_wait_for_it(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(appended(page()), ARCHIVE)
    assert Send(CONTROLLER, PageStored(URL, 5.0)) in pair.tell(owned(ME))


def test_member_that_comes_while_a_page_is_in_progress_gets_it(pair: Driven) -> None:
    pair.tell(owned(ME))
    pair.tell(StorePage(page()))
    assert pair.tell(owned(ME, OTHER)) == [Send(OTHER_CELL, ReplicatePage(page()))]
    assert pair.tell(appended(page()), ARCHIVE) == []
    assert Send(CONTROLLER, PageStored(URL, 5.0)) in pair.tell(PageReplicated(URL, 5.0), OTHER_CELL)


def test_member_that_was_away_for_a_moment_is_asked_again(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(owned(ME))
    assert pair.tell(owned(ME, OTHER)) == [Send(OTHER_CELL, ReplicatePage(page()))]


# --- Link texts ------------------------------------------------------------------------------


def test_link_texts_go_to_the_indexer_and_to_the_standby_until_promised(pair: Driven) -> None:
    pair.store(page())
    assert pair.tell(StoreAnchors(URL, SLOT, ("a", "b"))) == [
        Send(INDEXER, IndexAnchors(URL, SLOT, ("a", "b"))),
        Send(OTHER_CELL, ReplicateAnchors(URL, SLOT, ("a", "b"), 100.0)),
    ]
    assert pair.wake(5.0) == [Send(OTHER_CELL, ReplicateAnchors(URL, SLOT, ("a", "b"), 100.0))]
    pair.tell(AnchorsReplicated(URL, ("a",)), OTHER_CELL)
    assert pair.observed("replicas_waiting") == 1, "a promise of older texts"
    pair.tell(AnchorsReplicated(URL, ("a", "b")), OTHER_CELL)
    pair.tell(PagesIndexed((), ((URL, ("a", "b")),)), INDEXER)
    assert (pair.observed("replicas_waiting"), pair.observed("anchors_unindexed")) == (0, 0)


def test_link_texts_of_a_page_in_progress_wait_for_it(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(StoreAnchors(URL, SLOT, ("a",))) == []
    assert alone.tell(appended(page()), ARCHIVE) == [
        Send(INDEXER, IndexPage(SLOT, page().document or Document(""))),
        Send(CONTROLLER, PageStored(URL, 5.0)),
        Send(INDEXER, IndexAnchors(URL, SLOT, ("a",))),
    ]


def test_link_texts_of_a_page_that_is_not_here_are_counted_and_left(alone: Driven) -> None:
    assert alone.tell(StoreAnchors(URL, SLOT, ("a",))) == []
    assert alone.observed("anchors_unknown") == 1


def test_standby_promises_link_texts_only_of_pages_it_has(pair: Driven) -> None:
    message = ReplicateAnchors(URL, SLOT, ("a",), 50.0)
    assert pair.tell(message, OTHER_CELL) == []
    pair.tell(ReplicatePage(page()), OTHER_CELL)
    pair.tell(appended(page()), ARCHIVE)
    promise = Send(OTHER_CELL, AnchorsReplicated(URL, ("a",)))
    assert pair.tell(message, OTHER_CELL) == [Send(INDEXER, IndexAnchors(URL, SLOT, ("a",))), promise]
    assert pair.tell(message, OTHER_CELL) == [promise]
    older = ReplicateAnchors(URL, SLOT, ("old",), 49.0)
    assert pair.tell(older, OTHER_CELL) == [Send(OTHER_CELL, AnchorsReplicated(URL, ("old",)))]
    assert pair.tell(message, Address(THIRD, "cell")) == []


def test_link_texts_that_were_not_indexed_survive_a_crash(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, 5.0),)), INDEXER)
    alone.tell(StoreAnchors(URL, SLOT, ("a",)))
    assert Driven(alone.table).wake() == [Send(INDEXER, IndexAnchors(URL, SLOT, ("a",)))]


# --- Reading back ----------------------------------------------------------------------------


def test_page_that_was_not_indexed_is_read_back_after_a_restart(alone: Driven) -> None:
    alone.store(page(anchors=("text",)))
    again = Driven(alone.table)
    assert again.wake() == [Send(ARCHIVE, ReadRecords(URL, 5.0, 1, 0, 7, CHECKSUM))]
    assert again.wake() == []
    assert again.tell(RecordsRead(URL, 5.0, b"records"), ARCHIVE) == [
        Send(PARSER, ParseRecords(URL, 5.0, b"records"))
    ]
    document = page(anchors=("text",)).document
    assert document is not None
    parsed = RecordsParsed(URL, 5.0, page().document)
    assert again.tell(parsed, PARSER) == [Send(INDEXER, IndexPage(SLOT, document))]
    assert again.tell(parsed, PARSER) == []
    again.tell(PagesIndexed(((URL, 5.0),)), INDEXER)
    assert again.observed("unindexed") == 0


def test_only_the_newest_version_is_read_back(alone: Driven) -> None:
    alone.store(page(5.0), 0)
    alone.store(page(9.0), 1)
    again = Driven(alone.table)
    assert again.wake() == [Send(ARCHIVE, ReadRecords(URL, 9.0, 1, 1, 7, CHECKSUM))]
    assert again.observed("unindexed") == 1


@pytest.mark.parametrize("answer", [RecordsRead(URL, 5.0, b""), RecordsParsed(URL, 5.0, None)])
def test_page_from_which_nothing_can_be_indexed_is_no_longer_marked(alone: Driven, answer: Message) -> None:
    alone.store(page())
    again = Driven(alone.table)
    again.wake()
    if isinstance(answer, RecordsParsed):
        again.tell(RecordsRead(URL, 5.0, b"records"), ARCHIVE)
    assert again.tell(answer, ARCHIVE) == []
    assert again.observed("unindexed") == 0
    assert again.wake(1_000.0) == []


def test_reading_back_is_bounded_and_ends() -> None:
    first = Driven()
    first.tell(owned(ME, replicas=1, peers=(ME,)))
    urls = [f"http://host.example/{n}" for n in range(50)]
    for url in urls:
        first.store(page(url=url))
    driven = Driven(first.table, CellSettings(recoveries_max=4, indexing_max=6, scrub=QUIET))
    indexed: list[str] = []
    sends = driven.wake()
    for _ in range(1_000):
        while sends:
            match sends.pop(0).message:
                case ReadRecords(url, fetched_at):
                    sends += driven.tell(RecordsRead(url, fetched_at, b"records"), ARCHIVE)
                case ParseRecords(url, fetched_at):
                    sends += driven.tell(RecordsParsed(url, fetched_at, page(url=url).document), PARSER)
                case IndexPage(_, document):
                    indexed.append(document.url)
            assert driven.cell.observe().reading <= 4
        assert len(driven.cell._indexing) <= 6
        for version in list(driven.cell._indexing):
            sends += driven.tell(PagesIndexed((version,)), INDEXER)
        sends += driven.wake(0.1)
    assert sorted(indexed) == sorted(urls)
    assert driven.observed("unindexed") == 0


def test_pages_that_the_indexer_has_no_room_for_are_read_back_later() -> None:
    driven = Driven(settings=CellSettings(indexing_max=1, scrub=QUIET))
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    driven.store(page(url="http://host.example/1"))
    assert driven.store(page(url="http://host.example/2")) == [
        Send(CONTROLLER, PageStored("http://host.example/2", 5.0))
    ]
    sends = driven.tell(PagesIndexed((("http://host.example/1", 5.0),)), INDEXER)
    assert sends == [Send(ARCHIVE, ReadRecords("http://host.example/2", 5.0, 1, 0, 7, CHECKSUM))]


def test_gateway_gets_the_newest_version(alone: Driven) -> None:
    alone.store(page(5.0), 0)
    alone.store(page(9.0), 1)
    read = ReadRecords(URL, 9.0, 1, 1, 7, CHECKSUM)
    assert alone.tell(ReadPage(7, URL), GATEWAY) == [Send(ARCHIVE, read)]
    assert alone.tell(ReadPage(8, URL), GATEWAY) == []
    assert alone.tell(RecordsRead(URL, 9.0, b"records"), ARCHIVE) == [
        Send(GATEWAY, PageRead(7, URL, 9.0, b"records")),
        Send(GATEWAY, PageRead(8, URL, 9.0, b"records")),
    ]
    assert alone.tell(RecordsRead(URL, 9.0, b"records"), ARCHIVE) == []


@pytest.mark.parametrize(
    "url", ["http://unknown.example/", "x", "http://", "http://no-path.example", "ftp://a/b"]
)
def test_gateway_is_told_that_a_page_is_unknown(alone: Driven, url: str) -> None:
    assert alone.tell(ReadPage(7, url), GATEWAY) == [Send(GATEWAY, PageRead(7, url, 0.0, b""))]


def test_reading_a_page_changes_nothing_in_the_table(alone: Driven) -> None:
    alone.store(page())
    before = dict(alone.table.scan(b""))
    alone.table.put = None  # type: ignore[method-assign, assignment]
    alone.tell(ReadPage(7, URL), GATEWAY)
    alone.tell(RecordsRead(URL, 5.0, b"records"), ARCHIVE)
    assert dict(alone.table.scan(b"")) == before


def test_gateway_is_not_answered_before_the_slots_are_known(alone: Driven) -> None:
    alone.store(page())
    assert Driven(alone.table).tell(ReadPage(7, URL), GATEWAY) == []


def test_gateways_beyond_the_limit_are_counted_and_not_answered() -> None:
    driven = Driven(settings=CellSettings(readers_max=1, scrub=QUIET))
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    driven.store(page())
    driven.tell(ReadPage(1, URL), GATEWAY)
    assert driven.tell(ReadPage(2, URL), GATEWAY) == []
    assert driven.observed("reads_refused") == 1
    driven.tell(RecordsRead(URL, 5.0, b"records"), ARCHIVE)
    assert driven.tell(ReadPage(3, URL), GATEWAY) != []


def test_totals_survive_a_restart(pair: Driven) -> None:
    pair.store(page())
    pair.tell(ReplicatePage(page(6.0)), OTHER_CELL)
    pair.tell(appended(page(6.0)), ARCHIVE)
    observed = Driven(pair.table).cell.observe()
    assert (observed.pages, observed.stored, observed.replicated, observed.archive_bytes) == (1, 1, 1, 14)
    assert isinstance(pair.cell._ledger.newest(identity_of(SLOT, URL)), Place)
