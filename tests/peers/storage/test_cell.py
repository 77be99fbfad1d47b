"""The cell by its inputs and outputs: which messages lead to which sends."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import msgspec
import numpy as np
import pytest
from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.port import DiskFilled, SpaceFound
from mesh.errors import LocalProtocolError
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.membership.model.wire_messages import Ping
from mesh.slot_set import NO_SLOTS, decode_slots, encode_slot_list
from mesh.slots import SlotTable
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.engine.pages.document import Document
from peers.engine.pages.linkers import entries_of_move
from peers.handover.messages import (
    ForgetSlots,
    SlotsComplete,
    SlotsDiffer,
    SlotsFilled,
    SlotsLacking,
    SlotsSynchronised,
    StopSynchronising,
    SynchroniseSlots,
)
from peers.handover.part_checksum import checksum_of
from peers.handover.wire_messages import CompareSlots, ItemsSent, ItemsTaken, SendItems, SlotsCompared
from peers.index.messages import (
    IndexAnchors,
    IndexPage,
    PagesIndexed,
    RemovePage,
    SlotsDamaged,
    SlotsIndexed,
    SlotsRepaired,
)
from peers.policy.rules import Action, Policy, Rule, policy_bytes
from peers.storage.cell import Cell
from peers.storage.indexing import IndexingSettings
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.ledger_keys import HIDDEN, identity_of
from peers.storage.ledger.place import Place
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    BulkAppended,
    CountUnindexed,
    ExtentsRead,
    LinkTextsChanged,
    PageRefused,
    PageStored,
    ParseRecords,
    ReadExtents,
    ReadRecords,
    RecordsAppended,
    RecordsParsed,
    RecordsRead,
    RecordsRefused,
    RemoveSegments,
    SegmentsRemoved,
    StorePage,
    UnindexedCounted,
)
from peers.storage.part_content import PageRow, Pages, VersionRow, encode_content
from peers.storage.scrubber import ScrubSettings
from peers.storage.settings import CellSettings
from peers.storage.wire_messages import (
    CheckPages,
    ListVersions,
    PageNotReplicated,
    PageRead,
    PageReplicated,
    PagesChecked,
    ReadPage,
    ReplicatePage,
    StoredPage,
    VersionsListed,
)
from tests.helpers import seen
from tests.peers.storage.dict_texts import DictTexts

ME, OTHER, THIRD = "a", "b", "c"
SLOTS = 64
CONTROLLER, ARCHIVE, INDEXER, PARSER = (
    Address(ME, name) for name in ("controller", "archive", "indexer", "parser")
)
MY_CELL, OTHER_CELL = Address(ME, "cell"), Address(OTHER, "cell")
GATEWAY = Address(THIRD, "searcher")
HANDOVER = Address(ME, "handover")
SEGMENTS = Address(ME, "segments")
MEMBERSHIP = Address(ME, "membership")
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
    """A cell and a clock; whatever it does is committed at once."""

    def __init__(
        self,
        table: MemoryTable | None = None,
        settings: CellSettings | None = None,
        texts: DictTexts | None = None,
    ) -> None:
        self.table = table or MemoryTable()
        self.texts = texts or DictTexts()
        self.cell = Cell(ME, self.table, self.texts, settings or CellSettings(scrub=QUIET))
        self.now = 100.0
        self.filled: set[int] = set()  # slots that the handover was told of
        self.last_request = 0  # of the exchange

    def tell(self, message: Message, source: Address = CONTROLLER) -> list[Send]:
        return self._without_filled(self.cell.receive(source, message, self.now))

    def wake(self, after: float = 0.0) -> list[Send]:
        self.now += after
        return self._without_filled(self.cell.wake(self.now)) if self.cell.wake_at() <= self.now else []

    def _without_filled(self, sends: list[Send]) -> list[Send]:
        self.cell.before_commit(self.now)
        for target, message in sends:
            if isinstance(message, SlotsFilled):
                assert target == HANDOVER
                self.filled.update(np.flatnonzero(decode_slots(message.slots, SLOTS)).tolist())
            if isinstance(message, CompareSlots | SendItems):
                self.last_request = message.request
        return [send for send in sends if not isinstance(send.message, SlotsFilled)]

    def observed(self, name: str) -> Any:
        return getattr(self.cell.observe(), name)

    def store(self, stored: StoredPage, place: int = 0) -> list[Send]:
        """Have a page kept by us and, when it is asked, the other peer; return the last sends."""
        sends = self.tell(StorePage(stored))
        done = self.tell(appended(stored, place), ARCHIVE)
        if Send(OTHER_CELL, ReplicatePage(stored)) in sends:
            done = self.tell(PageReplicated(stored.url, stored.stamp), OTHER_CELL)
        return done


def appended(stored: StoredPage, place: int = 0) -> RecordsAppended:
    return RecordsAppended(stored.url, stored.stamp, 1, place, len(stored.records))


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
        Send(ARCHIVE, AppendRecords(URL, seen(5.0), b"records")),
        Send(OTHER_CELL, ReplicatePage(page())),
    ]
    assert (pair.observed("pending"), pair.observed("replicas_waiting")) == (1, 1)


@pytest.mark.parametrize("is_archive_first", [True, False])
def test_page_is_stored_when_archive_and_standby_have_answered(pair: Driven, is_archive_first: bool) -> None:
    pair.tell(StorePage(page()))
    answers: list[tuple[Message, Address]] = [
        (appended(page()), ARCHIVE),
        (PageReplicated(URL, seen(5.0)), OTHER_CELL),
    ]
    first, second = answers if is_archive_first else answers[::-1]
    assert pair.tell(*first) == []
    assert pair.tell(*second) == [
        Send(INDEXER, IndexPage(SLOT, page().document or Document(""))),
        Send(CONTROLLER, PageStored(URL, seen(5.0))),
    ]
    observed = pair.cell.observe()
    assert (observed.stored, observed.pending, observed.unindexed, observed.archive_bytes) == (1, 0, 1, 7)


def gone(fetched_at: float = 9.0, status: int = 404) -> StoredPage:
    return page(fetched_at, document=None, status=status)


@pytest.mark.parametrize("version", [gone(), gone(status=200)], ids=["gone", "noindex"])
def test_version_without_a_document_takes_the_page_out_of_the_index(
    alone: Driven, version: StoredPage
) -> None:
    alone.store(page(), 0)
    alone.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    assert alone.store(version, 1) == [
        Send(INDEXER, RemovePage(SLOT, URL, seen(9.0))),
        Send(CONTROLLER, PageStored(URL, seen(9.0))),
    ]
    assert (alone.observed("pages"), alone.observed("gone"), alone.observed("unindexed")) == (1, 1, 1)
    alone.tell(PagesIndexed(((URL, seen(9.0)),)), INDEXER)
    assert alone.observed("unindexed") == 0
    assert Driven(alone.table).wake() == []
    assert alone.cell._ledger.version(identity_of(SLOT, URL), seen(5.0)) is not None, "its history stays"


def test_page_that_is_not_to_be_found_is_taken_out_also_when_no_version_of_it_is_known(alone: Driven) -> None:
    # The index may have adopted one whose record never came.
    assert alone.store(gone()) == [
        Send(INDEXER, RemovePage(SLOT, URL, seen(9.0))),
        Send(CONTROLLER, PageStored(URL, seen(9.0))),
    ]


def test_standby_takes_a_page_out_of_its_index(pair: Driven) -> None:
    pair.tell(ReplicatePage(gone()), OTHER_CELL)
    assert pair.tell(appended(gone()), ARCHIVE) == [
        Send(INDEXER, RemovePage(SLOT, URL, seen(9.0))),
        Send(OTHER_CELL, PageReplicated(URL, seen(9.0))),
    ]


def test_older_version_does_not_bring_a_removed_page_back(alone: Driven) -> None:
    alone.store(gone(9.0), 0)
    assert alone.store(page(5.0), 1) == [Send(CONTROLLER, PageStored(URL, seen(5.0)))]
    assert alone.store(gone(7.0), 2) == [Send(CONTROLLER, PageStored(URL, seen(7.0)))]


def test_newer_version_brings_a_removed_page_back(alone: Driven) -> None:
    alone.store(gone(4.0), 0)
    document = page().document
    assert document is not None
    assert alone.store(page(), 1)[0] == Send(INDEXER, IndexPage(SLOT, document))
    assert (alone.observed("pages"), alone.observed("gone")) == (1, 0)


def test_removal_that_was_not_committed_is_told_again_after_a_restart_without_reading(alone: Driven) -> None:
    alone.store(page(), 0)
    alone.store(gone(), 1)
    again = Driven(alone.table)
    assert again.wake() == [Send(INDEXER, RemovePage(SLOT, URL, seen(9.0)))]
    assert again.wake(1.0) == []
    again.tell(PagesIndexed(((URL, seen(9.0)),)), INDEXER)
    assert again.wake(1.0) == []
    assert again.observed("unindexed") == 0


def test_removals_that_the_indexer_has_no_room_for_are_told_later() -> None:
    driven = Driven(settings=CellSettings(indexing=IndexingSettings(pages_max=1), scrub=QUIET))
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    driven.store(page(url="http://host.example/1"))
    driven.store(gone())
    sends = driven.tell(PagesIndexed((("http://host.example/1", seen(5.0)),)), INDEXER)
    assert sends == [Send(INDEXER, RemovePage(SLOT, URL, seen(9.0)))]


def test_same_version_twice_is_kept_once_and_answered_again(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(StorePage(page())) == []
    alone.tell(appended(page()), ARCHIVE)
    assert alone.tell(appended(page(), place=9), ARCHIVE) == []
    assert alone.tell(StorePage(page())) == [Send(CONTROLLER, PageStored(URL, seen(5.0), is_new=False))]
    assert (alone.observed("stored"), alone.observed("pages")) == (1, 1)


def test_all_who_give_the_same_page_are_told(alone: Driven) -> None:
    importer = Address(ME, "importer")
    alone.tell(StorePage(page()))
    assert alone.tell(StorePage(page()), importer) == []
    assert alone.tell(StorePage(page()), importer) == []
    told = alone.tell(appended(page()), ARCHIVE)
    assert [send.target for send in told if send.message == PageStored(URL, seen(5.0))] == [
        CONTROLLER,
        importer,
    ]


def test_who_asks_is_told_how_many_pages_are_not_indexed(alone: Driven) -> None:
    importer = Address(ME, "importer")
    assert alone.tell(CountUnindexed(), importer) == [Send(importer, UnindexedCounted(0))]
    alone.store(page())
    assert alone.tell(CountUnindexed(), importer) == [Send(importer, UnindexedCounted(1))]


def test_all_versions_keep_their_places(alone: Driven) -> None:
    for place, fetched_at in enumerate((5.0, 9.0, 7.0)):
        alone.store(page(fetched_at), place)
    ledger = alone.cell._ledger
    identity = identity_of(SLOT, URL)
    places = [ledger.version(identity, seen(fetched_at)) for fetched_at in (5.0, 9.0, 7.0)]
    assert [place and place.offset for place in places] == [0, 1, 2]
    newest = ledger.newest(identity)
    assert newest is not None
    assert newest.fetched_at == 9.0
    assert alone.observed("pages") == 1


def test_older_version_that_comes_late_is_not_indexed(alone: Driven) -> None:
    alone.store(page(9.0))
    assert alone.store(page(5.0)) == [Send(CONTROLLER, PageStored(URL, seen(5.0)))]


def test_mark_goes_when_the_indexer_has_committed(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, seen(5.0)), (URL, seen(6.0)))), INDEXER)
    alone.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    assert alone.observed("unindexed") == 0
    assert Driven(alone.table).wake() == []


def test_records_that_are_not_whole_are_refused_and_the_controller_is_told(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(RecordsRefused(URL, seen(5.0)), ARCHIVE) == [
        Send(CONTROLLER, PageRefused(URL, seen(5.0)))
    ]
    assert alone.tell(RecordsRefused(URL, seen(5.0)), ARCHIVE) == []
    assert (alone.observed("pending"), alone.observed("records_refused")) == (0, 1)


def test_full_disk_is_seen_until_something_can_be_appended(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    assert alone.tell(DiskFilled("no space"), ARCHIVE) == []
    assert alone.observed("is_full") is True
    alone.tell(appended(page()), ARCHIVE)
    assert alone.observed("is_full") is False


def test_disk_that_was_full_for_the_index_alone_is_not_full_for_ever(alone: Driven) -> None:
    alone.tell(DiskFilled("no space"), Address(ME, "segments"))
    assert alone.observed("is_full") is True
    assert alone.tell(SpaceFound(), Address(ME, "segments")) == []
    assert alone.observed("is_full") is False


def test_message_that_is_not_for_the_cell_is_refused(alone: Driven) -> None:
    with pytest.raises(LocalProtocolError):
        alone.tell(Ping(1))


# --- Replicating -----------------------------------------------------------------------------


def test_standby_keeps_and_indexes_a_page_and_promises_it(pair: Driven) -> None:
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == [
        Send(ARCHIVE, AppendRecords(URL, seen(5.0), b"records"))
    ]
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == []
    assert pair.tell(appended(page()), ARCHIVE) == [
        Send(INDEXER, IndexPage(SLOT, page().document or Document(""))),
        Send(OTHER_CELL, PageReplicated(URL, seen(5.0))),
    ]
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == [Send(OTHER_CELL, PageReplicated(URL, seen(5.0)))]
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


def test_replica_from_outside_the_mesh_or_of_a_slot_of_others_is_refused(pair: Driven) -> None:
    assert pair.tell(ReplicatePage(page()), Address(THIRD, "cell")) == []
    assert pair.observed("replicas_refused") == 1
    pair.tell(owned(ME, OTHER, THIRD, peers=(OTHER, THIRD)))
    assert pair.tell(ReplicatePage(page()), OTHER_CELL) == []
    assert pair.observed("replicas_refused") == 2


def test_page_of_a_member_that_does_not_keep_the_slot_and_never_did_is_refused(pair: Driven) -> None:
    pair.tell(owned(ME, OTHER, THIRD))
    assert pair.tell(ReplicatePage(page()), Address(THIRD, "cell")) == []
    assert pair.observed("replicas_refused") == 1


def test_page_that_a_former_owner_had_begun_to_fetch_is_kept_by_the_team(pair: Driven) -> None:
    pair.tell(owned(ME, OTHER, THIRD, peers=(OTHER, THIRD)))
    pair.tell(owned(ME, OTHER, THIRD))
    giver = Address(THIRD, "cell")
    assert pair.tell(ReplicatePage(page()), giver) == [
        Send(ARCHIVE, AppendRecords(URL, seen(5.0), b"records"))
    ]
    assert Send(giver, PageReplicated(URL, seen(5.0))) in pair.tell(appended(page()), ARCHIVE)


def test_replicas_beyond_the_limit_wait_with_their_owner() -> None:
    driven = Driven(settings=CellSettings(replica_bytes_max=2_000, scrub=QUIET))
    driven.tell(owned(ME, OTHER))
    assert driven.tell(ReplicatePage(page(1.0)), OTHER_CELL) != []
    assert driven.tell(ReplicatePage(page(2.0)), OTHER_CELL) == []
    assert driven.observed("replicas_refused") == 1
    driven.tell(appended(page(1.0)), ARCHIVE)
    assert driven.tell(ReplicatePage(page(2.0)), OTHER_CELL) != []


def test_full_standby_says_so_once_its_own_handover_knows_that_the_slot_is_lacking(pair: Driven) -> None:
    declined = [
        Send(HANDOVER, SlotsLacking(encode_slot_list([page().slot], SLOTS))),
        Send(OTHER_CELL, PageNotReplicated(URL, seen(5.0))),
    ]
    pair.tell(ReplicatePage(page()), OTHER_CELL)
    assert pair.tell(DiskFilled(""), ARCHIVE) == declined
    pair.tell(appended(page()), ARCHIVE)
    pair.tell(DiskFilled(""), ARCHIVE)
    newer = page(6.0)
    assert pair.tell(ReplicatePage(newer), OTHER_CELL)[1:] == [
        Send(OTHER_CELL, PageNotReplicated(URL, seen(6.0)))
    ]
    pair.tell(StorePage(page(7.0)))  # ours was fetched already: it waits in the archive's queue
    pair.tell(appended(page(7.0)), ARCHIVE)
    assert pair.tell(ReplicatePage(newer), OTHER_CELL) != []


def test_page_counts_without_a_standby_whose_disk_is_full(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(appended(page()), ARCHIVE)
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in pair.tell(
        PageNotReplicated(URL, seen(5.0)), OTHER_CELL
    )


def test_standby_that_declined_before_we_had_the_page_is_asked_again_when_we_have_it(pair: Driven) -> None:
    """What it compares with us meanwhile does not show the page: it would think that it has everything."""
    pair.tell(StorePage(page()))
    pair.tell(DiskFilled(""), ARCHIVE)
    assert pair.tell(PageNotReplicated(URL, seen(5.0)), OTHER_CELL) == []
    assert pair.wake(60.0) == [], "not before"
    assert pair.tell(appended(page()), ARCHIVE) == [Send(OTHER_CELL, ReplicatePage(page()))]
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in pair.tell(
        PageNotReplicated(URL, seen(5.0)), OTHER_CELL
    )


def test_member_given_up_before_we_had_the_page_is_asked_again_when_we_have_it(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    for _ in range(60):
        assert all(send.target == OTHER_CELL for send in pair.wake(1.0)), (
            "there is nothing yet to be compared"
        )
    assert pair.observed("replicas_waiting") == 0
    assert pair.tell(appended(page()), ARCHIVE) == [Send(OTHER_CELL, ReplicatePage(page()))]
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in pair.tell(
        PageReplicated(URL, seen(5.0)), OTHER_CELL
    )


def test_page_that_is_ours_to_copy_only_is_never_passed_on(pair: Driven) -> None:
    pair.tell(ReplicatePage(page()), OTHER_CELL)
    pair.tell(PageNotReplicated(URL, seen(5.0)), OTHER_CELL)  # an answer to an earlier life of ours
    sends = pair.tell(appended(page()), ARCHIVE)
    assert Send(OTHER_CELL, PageReplicated(URL, seen(5.0))) in sends
    assert Send(OTHER_CELL, ReplicatePage(page())) not in sends


def test_silent_member_is_asked_again_and_then_its_slot_is_compared(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(appended(page()), ARCHIVE)
    again = [Send(OTHER_CELL, ReplicatePage(page()))]
    assert pair.wake(1.9) == []
    assert pair.wake(0.1) == again
    assert pair.wake(4.0) == again
    assert pair.wake(8.0) == again
    sends = pair.wake(16.0)
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in sends
    assert Send(HANDOVER, SlotsDiffer(OTHER, encode_slot_list([SLOT], SLOTS))) in sends
    assert (pair.observed("pending"), pair.observed("replicas_waiting")) == (0, 0)


def test_member_that_is_down_does_not_hold_a_page_up(pair: Driven) -> None:
    pair.tell(owned(ME))
    assert pair.tell(StorePage(page())) == [Send(ARCHIVE, AppendRecords(URL, seen(5.0), b"records"))]
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in pair.tell(appended(page()), ARCHIVE)
    assert pair.observed("replicas_waiting") == 0
    assert pair.cell.wake_at() == inf


def test_member_that_dies_releases_the_pages_that_wait_for_it(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(appended(page()), ARCHIVE)
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in pair.tell(owned(ME))


def test_member_that_comes_while_a_page_is_in_progress_gets_it(pair: Driven) -> None:
    pair.tell(owned(ME))
    pair.tell(StorePage(page()))
    assert pair.tell(owned(ME, OTHER)) == [Send(OTHER_CELL, ReplicatePage(page()))]
    assert pair.tell(appended(page()), ARCHIVE) == []
    assert Send(CONTROLLER, PageStored(URL, seen(5.0))) in pair.tell(
        PageReplicated(URL, seen(5.0)), OTHER_CELL
    )


def test_member_that_was_away_for_a_moment_is_asked_again(pair: Driven) -> None:
    pair.tell(StorePage(page()))
    pair.tell(owned(ME))
    assert pair.tell(owned(ME, OTHER)) == [Send(OTHER_CELL, ReplicatePage(page()))]


# --- Link texts ------------------------------------------------------------------------------


TEXTS_CHANGED = LinkTextsChanged(URL, SLOT)


def test_page_goes_to_the_indexer_with_the_link_texts_known_then(alone: Driven) -> None:
    alone.tell(StorePage(page()))
    alone.texts[identity_of(SLOT, URL)] = ("a", "b")
    assert alone.tell(TEXTS_CHANGED) == [], "the page is not here yet"
    document = page(anchors=("a", "b")).document
    assert document is not None
    assert alone.tell(appended(page()), ARCHIVE)[0] == Send(INDEXER, IndexPage(SLOT, document))
    assert alone.tell(TEXTS_CHANGED) == [], "it has these"


def test_link_texts_that_changed_go_to_the_indexer_and_to_nobody_else(pair: Driven) -> None:
    pair.store(page())
    pair.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    for texts in (("a",), ("a", "b")):
        pair.texts[identity_of(SLOT, URL)] = texts
        assert pair.tell(TEXTS_CHANGED) == [Send(INDEXER, IndexAnchors(URL, SLOT, texts))]
        assert pair.tell(TEXTS_CHANGED) == []
    pair.tell(PagesIndexed((), ((URL, ("a",)),)), INDEXER)
    assert pair.observed("anchors_unindexed") == 1, "those were older ones"
    pair.tell(PagesIndexed((), ((URL, ("a", "b")),)), INDEXER)
    assert pair.observed("anchors_unindexed") == 0


def test_link_texts_of_a_page_that_is_not_here_or_is_gone_are_left(alone: Driven) -> None:
    alone.texts[identity_of(SLOT, URL)] = ("a",)
    assert alone.tell(TEXTS_CHANGED) == []
    alone.store(gone())
    assert alone.tell(TEXTS_CHANGED) == []
    assert alone.observed("anchors_unindexed") == 0


def test_link_texts_that_were_not_indexed_survive_a_crash(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    alone.texts[identity_of(SLOT, URL)] = ("a",)
    alone.tell(TEXTS_CHANGED)
    again = Driven(alone.table, texts=alone.texts)
    assert again.wake() == [Send(INDEXER, IndexAnchors(URL, SLOT, ("a",)))]


# --- Reading back ----------------------------------------------------------------------------


def test_page_that_was_not_indexed_is_read_back_after_a_restart(alone: Driven) -> None:
    alone.store(page())
    again = Driven(alone.table, texts=DictTexts({identity_of(SLOT, URL): ("text",)}))
    assert again.wake() == [Send(ARCHIVE, ReadRecords(URL, seen(5.0), 1, 0, 7, CHECKSUM))]
    assert again.wake() == []
    assert again.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE) == [
        Send(PARSER, ParseRecords(URL, seen(5.0), b"records"))
    ]
    document = page(anchors=("text",)).document
    assert document is not None
    parsed = RecordsParsed(URL, seen(5.0), page().document)
    assert again.tell(parsed, PARSER) == [Send(INDEXER, IndexPage(SLOT, document))]
    assert again.tell(parsed, PARSER) == []
    again.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    assert again.observed("unindexed") == 0


def test_only_the_newest_version_is_read_back(alone: Driven) -> None:
    alone.store(page(5.0), 0)
    alone.store(page(9.0), 1)
    again = Driven(alone.table)
    assert again.wake() == [Send(ARCHIVE, ReadRecords(URL, seen(9.0), 1, 1, 7, CHECKSUM))]
    assert again.observed("unindexed") == 1


def test_page_that_cannot_be_read_back_is_no_longer_marked(alone: Driven) -> None:
    alone.store(page())
    again = Driven(alone.table)
    again.wake()
    assert again.tell(RecordsRead(URL, seen(5.0), b""), ARCHIVE) == []
    assert again.observed("unindexed") == 0
    assert again.wake(1_000.0) == []


def test_page_from_which_nothing_can_be_indexed_by_now_is_taken_out(alone: Driven) -> None:
    alone.store(page())
    again = Driven(alone.table)
    again.wake()
    again.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE)
    assert again.tell(RecordsParsed(URL, seen(5.0), None), PARSER) == [
        Send(INDEXER, RemovePage(SLOT, URL, seen(5.0)))
    ]
    again.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    assert again.observed("unindexed") == 0
    assert again.wake(1_000.0) == []


def test_reading_back_is_bounded_and_ends() -> None:
    first = Driven()
    first.tell(owned(ME, replicas=1, peers=(ME,)))
    urls = [f"http://host.example/{n}" for n in range(50)]
    for url in urls:
        first.store(page(url=url))
    driven = Driven(
        first.table, CellSettings(indexing=IndexingSettings(recoveries_max=4, pages_max=6), scrub=QUIET)
    )
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
        assert len(driven.cell._indexing._pages) <= 6
        for version in list(driven.cell._indexing._pages):
            sends += driven.tell(PagesIndexed((version,)), INDEXER)
        sends += driven.wake(0.1)
    assert sorted(indexed) == sorted(urls)
    assert driven.observed("unindexed") == 0


def test_pages_that_the_indexer_has_no_room_for_are_read_back_later() -> None:
    driven = Driven(settings=CellSettings(indexing=IndexingSettings(pages_max=1), scrub=QUIET))
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    driven.store(page(url="http://host.example/1"))
    assert driven.store(page(url="http://host.example/2")) == [
        Send(CONTROLLER, PageStored("http://host.example/2", seen(5.0)))
    ]
    sends = driven.tell(PagesIndexed((("http://host.example/1", seen(5.0)),)), INDEXER)
    assert sends == [Send(ARCHIVE, ReadRecords("http://host.example/2", seen(5.0), 1, 0, 7, CHECKSUM))]


def test_gateway_gets_the_newest_version(alone: Driven) -> None:
    alone.store(page(5.0), 0)
    alone.store(page(9.0), 1)
    read = ReadRecords(URL, seen(9.0), 1, 1, 7, CHECKSUM)
    assert alone.tell(ReadPage(7, URL), GATEWAY) == [Send(ARCHIVE, read)]
    assert alone.tell(ReadPage(8, URL), GATEWAY) == []
    assert alone.tell(RecordsRead(URL, seen(9.0), b"records"), ARCHIVE) == [
        Send(GATEWAY, PageRead(7, URL, 9.0, b"records")),
        Send(GATEWAY, PageRead(8, URL, 9.0, b"records")),
    ]
    assert alone.tell(RecordsRead(URL, seen(9.0), b"records"), ARCHIVE) == []


def test_gateway_gets_the_newest_version_that_shows_the_page_and_when_it_was_found_gone(
    alone: Driven,
) -> None:
    alone.store(page(5.0), 0)
    alone.store(gone(7.0), 1)
    alone.store(gone(9.0), 2)
    assert alone.tell(ReadPage(7, URL), GATEWAY) == [
        Send(ARCHIVE, ReadRecords(URL, seen(5.0), 1, 0, 7, CHECKSUM))
    ]
    copy = PageRead(7, URL, 5.0, b"records", gone_at=9.0)
    assert alone.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE) == [Send(GATEWAY, copy)]


@pytest.mark.parametrize(("at_s", "got_s"), [(9.0, 9.0), (8.9, 5.0), (6.0, 5.0), (1.0, 5.0), (99.0, 9.0)])
def test_gateway_gets_the_version_of_a_time_or_else_the_first(
    alone: Driven, at_s: float, got_s: float
) -> None:
    for number, version in enumerate((page(5.0), gone(7.0), page(9.0))):
        alone.store(version, number)
    (send,) = alone.tell(ReadPage(7, URL, at_s), GATEWAY)
    assert isinstance(send.message, ReadRecords)
    assert send.message.stamp == seen(got_s)


def test_gateway_is_told_all_versions_the_newest_first(alone: Driven) -> None:
    for number, version in enumerate((page(5.0), gone(7.0), page(9.0))):
        alone.store(version, number)
    (send,) = alone.tell(ListVersions(7, URL), GATEWAY)
    assert isinstance(send.message, VersionsListed)
    told = [(each.fetched_at, each.has_content) for each in send.message.versions]
    assert told == [(9.0, True), (7.0, False), (5.0, True)]
    assert alone.tell(ListVersions(8, "http://unknown.example/"), GATEWAY) == [
        Send(GATEWAY, VersionsListed(8, "http://unknown.example/", ()))
    ]


def test_gateway_is_told_which_pages_it_would_get(alone: Driven) -> None:
    alone.store(page(5.0), 0)
    unknown = "http://unknown.example/"
    assert alone.tell(CheckPages(7, (unknown, URL)), GATEWAY) == [
        Send(GATEWAY, PagesChecked(7, (False, True)))
    ]
    take_down(alone)
    assert alone.tell(CheckPages(8, (URL,)), GATEWAY) == [Send(GATEWAY, PagesChecked(8, (False,)))]


def test_gateway_is_told_where_a_page_has_moved_and_where_it_was_before(alone: Driven) -> None:
    before, now = "http://a.example/before", "http://b.example/now"
    alone.texts[identity_of(SLOT, URL)] = ("text", *entries_of_move(before))
    alone.store(page(5.0), 0)
    alone.store(page(9.0, document=None, status=301, moved_to=now), 1)
    (send,) = alone.tell(ListVersions(7, URL), GATEWAY)
    assert isinstance(send.message, VersionsListed)
    assert [each.moved_to for each in send.message.versions] == [now, ""]
    assert send.message.moved_from == (before,)


def test_gateway_gets_a_page_that_is_there_and_not_to_be_found(alone: Driven) -> None:
    alone.store(page(5.0), 0)
    alone.store(gone(9.0, status=200), 1)
    alone.tell(ReadPage(7, URL), GATEWAY)
    assert alone.tell(RecordsRead(URL, seen(9.0), b"records"), ARCHIVE) == [
        Send(GATEWAY, PageRead(7, URL, 9.0, b"records"))
    ]


def test_gateway_gets_nothing_of_a_page_that_was_never_there(alone: Driven) -> None:
    alone.store(gone())
    assert alone.tell(ReadPage(7, URL), GATEWAY) == [Send(GATEWAY, PageRead(7, URL, 0.0, b""))]


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
    alone.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE)
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
    driven.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE)
    assert driven.tell(ReadPage(3, URL), GATEWAY) != []


def test_totals_survive_a_restart(pair: Driven) -> None:
    pair.store(page())
    pair.tell(ReplicatePage(page(6.0)), OTHER_CELL)
    pair.tell(appended(page(6.0)), ARCHIVE)
    observed = Driven(pair.table).cell.observe()
    assert (observed.pages, observed.stored, observed.replicated, observed.archive_bytes) == (1, 1, 1, 14)
    assert isinstance(pair.cell._ledger.newest(identity_of(SLOT, URL)), Place)


# --- Bringing slots here ---------------------------------------------------------------------


SLOT_SET = encode_slot_list([SLOT], SLOTS)


def bring(driven: Driven, records: bytes = b"records") -> list[Send]:
    """Have the slot of URL brought from the other peer, which has one page; return the last sends."""
    driven.tell(SynchroniseSlots(3, OTHER, SLOT_SET, inf), HANDOVER)
    request = driven.last_request
    driven.tell(SlotsCompared(request, SLOT_SET, NO_SLOTS), OTHER_CELL)
    request = driven.last_request
    row = PageRow(URL, False, b"", (VersionRow(5.0, 200, True, len(records), 0),))
    items = encode_content(Pages(0, (row,)))
    part = ItemsSent(request, 0, 100.0, items, records, checksum_of(items, records), is_last=True)
    (append,) = driven.tell(part, OTHER_CELL)
    assert isinstance(append.message, AppendBulk)
    return driven.tell(BulkAppended(append.message.ticket, (Extent(1, 0, len(records)),)), ARCHIVE)


def test_slots_are_synchronised_when_what_came_is_in_the_index(pair: Driven) -> None:
    told = Send(HANDOVER, SlotsSynchronised(3, SLOT_SET))
    sends = bring(pair)
    pair.texts[identity_of(SLOT, URL)] = ("a",)
    assert [type(send.message) for send in sends] == [ItemsTaken]
    assert pair.observed("brought") == 1
    assert pair.wake() == [Send(ARCHIVE, ReadRecords(URL, seen(5.0), 1, 0, 7, CHECKSUM))]
    pair.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE)
    document = page(anchors=("a",)).document
    assert document is not None
    assert pair.tell(RecordsParsed(URL, seen(5.0), page().document), PARSER) == [
        Send(INDEXER, IndexPage(SLOT, document))
    ]
    assert pair.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER) == [told]
    assert pair.wake(1_000.0) == []


def test_slots_count_as_synchronised_after_a_while_even_if_the_index_lags() -> None:
    driven = Driven(settings=CellSettings(index_wait_s=60.0, scrub=QUIET))
    driven.tell(owned(ME, OTHER))
    bring(driven)
    driven.wake()
    assert driven.wake(59.0) == []
    assert driven.wake(1.0) == [Send(HANDOVER, SlotsSynchronised(3, SLOT_SET))]


def test_task_that_was_stopped_tells_nothing_any_more(pair: Driven) -> None:
    bring(pair)
    pair.tell(StopSynchronising(3), HANDOVER)
    sends = pair.wake() + pair.wake(1_000.0)
    sends += pair.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE)
    sends += pair.tell(RecordsParsed(URL, seen(5.0), page().document), PARSER)
    sends += pair.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    assert pair.observed("unindexed") == 0
    assert Send(HANDOVER, SlotsSynchronised(3, SLOT_SET)) not in sends


def test_slots_with_anything_are_told_after_a_start_and_then_each_once(pair: Driven) -> None:
    assert pair.filled == set()
    pair.store(page())
    assert pair.filled == {SLOT}
    again = Driven(pair.table)
    again.tell(owned(ME, OTHER))
    assert again.filled == {SLOT}
    again.filled = set()
    again.store(page(6.0))
    assert again.filled == set()


def test_others_are_not_compared_with_slots_that_are_not_complete(pair: Driven) -> None:
    pair.store(page())
    question = CompareSlots(1, SLOT_SET, bytes(8))
    assert pair.tell(question, OTHER_CELL) == [Send(OTHER_CELL, SlotsCompared(1, NO_SLOTS, SLOT_SET))]
    pair.tell(SlotsComplete(SLOT_SET), HANDOVER)
    assert Send(OTHER_CELL, SlotsCompared(1, SLOT_SET, NO_SLOTS)) in pair.tell(question, OTHER_CELL)


# --- Damage ----------------------------------------------------------------------------------


def test_page_that_cannot_be_read_is_compared_with_another_member_and_comes_back(pair: Driven) -> None:
    pair.store(page())
    pair.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    pair.tell(ReadPage(7, URL), GATEWAY)
    assert pair.tell(RecordsRead(URL, seen(5.0), b""), ARCHIVE) == [
        Send(GATEWAY, PageRead(7, URL, 5.0, b"")),
        Send(HANDOVER, SlotsDiffer(OTHER, SLOT_SET)),
    ]
    assert (pair.observed("unreadable"), pair.observed("damaged"), pair.observed("pages")) == (1, 1, 0)
    assert pair.tell(ReadPage(8, URL), GATEWAY) == [Send(GATEWAY, PageRead(8, URL, 0.0, b""))]
    bring(pair)
    assert (pair.observed("repaired"), pair.observed("damaged"), pair.observed("pages")) == (1, 0, 1)
    assert pair.tell(ReadPage(9, URL), GATEWAY) == [
        Send(ARCHIVE, ReadRecords(URL, seen(5.0), 1, 0, 7, CHECKSUM))
    ]


def test_older_version_is_not_given_for_one_that_is_damaged(pair: Driven) -> None:
    pair.store(page(4.0), 0)
    pair.store(page(5.0), 1)
    pair.tell(ReadPage(7, URL), GATEWAY)
    pair.tell(RecordsRead(URL, seen(5.0), b""), ARCHIVE)
    assert pair.tell(ReadPage(8, URL), GATEWAY) == [Send(GATEWAY, PageRead(8, URL, 0.0, b""))]


def test_older_version_is_not_indexed_in_the_place_of_a_removal_that_is_damaged(pair: Driven) -> None:
    pair.store(page(4.0), 0)
    removal = page(5.0, document=None)
    pair.store(removal, 1)
    pair.tell(PagesIndexed(((URL, seen(4.0)), (URL, seen(5.0)))), INDEXER)
    pair.tell(ReadPage(7, URL), GATEWAY)
    pair.tell(RecordsRead(URL, seen(5.0), b""), ARCHIVE)
    pair.tell(SlotsDamaged(SLOT_SET), Address(ME, "segments"))
    assert [send for send in pair.wake() if send.target in (ARCHIVE, PARSER)] == []
    assert pair.observed("unindexed") == 0
    assert pair.store(page(4.5), 2) == [Send(CONTROLLER, PageStored(URL, seen(4.5)))]


def test_damaged_page_is_asked_for_again_also_after_a_restart(pair: Driven) -> None:
    pair.store(page())
    pair.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    pair.tell(ReadPage(7, URL), GATEWAY)
    pair.tell(RecordsRead(URL, seen(5.0), b""), ARCHIVE)
    differ = [Send(HANDOVER, SlotsDiffer(OTHER, SLOT_SET))]
    assert pair.wake(60.0) == differ
    assert pair.wake(60.0) == differ
    assert pair.wake(60.0) == [], "pauses grow"
    again = Driven(pair.table)
    again.tell(owned(ME, OTHER))
    assert again.wake() == differ


def test_damage_of_a_peer_that_is_alone_is_remembered_until_there_is_another(pair: Driven) -> None:
    pair.store(page())
    pair.tell(owned(ME))
    pair.tell(ReadPage(7, URL), GATEWAY)
    assert pair.tell(RecordsRead(URL, seen(5.0), b""), ARCHIVE) == [Send(GATEWAY, PageRead(7, URL, 5.0, b""))]
    pair.tell(owned(ME, OTHER))
    assert pair.wake(60.0) == [Send(HANDOVER, SlotsDiffer(OTHER, SLOT_SET))]


def test_pages_whose_documents_the_index_lost_are_indexed_again(alone: Driven) -> None:
    urls = [f"http://host.example/{n}" for n in range(3)]
    for url in urls:
        alone.store(page(url=url))
    alone.store(page(url=urls[0], fetched_at=4.0))
    alone.tell(PagesIndexed(tuple((url, seen(5.0)) for url in urls)), INDEXER)
    lost = encode_slot_list([slot_of(urls[0])], SLOTS)
    again = Driven(alone.table)
    assert again.tell(SlotsDamaged(lost), Address(ME, "segments")) == []
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    reads = [send.message for send in again.wake()]
    assert sorted(read.url for read in reads if isinstance(read, ReadRecords)) == urls
    for url in urls:
        again.tell(RecordsRead(url, seen(5.0), b"records"), ARCHIVE)
        again.tell(RecordsParsed(url, seen(5.0), page(url=url).document), PARSER)
    assert again.tell(PagesIndexed(tuple((url, seen(5.0)) for url in urls[:2])), INDEXER) == []
    assert again.tell(PagesIndexed(((urls[2], seen(5.0)),)), INDEXER) == [Send(INDEXER, SlotsRepaired(lost))]


def test_link_texts_that_came_after_a_page_went_to_the_indexer_outlive_its_being_marked_anew(
    alone: Driven,
) -> None:
    alone.texts[identity_of(SLOT, URL)] = ("a",)
    alone.store(page())
    others = [f"http://host.example/{n}" for n in range(3)]
    for url in others:
        alone.store(page(url=url))
    alone.tell(PagesIndexed(tuple((url, seen(5.0)) for url in others)), INDEXER)
    alone.tell(SlotsDamaged(encode_slot_list([slot_of(others[0])], SLOTS)), Address(ME, "segments"))
    alone.wake()  # those are read back now, so that link texts wait
    alone.texts[identity_of(SLOT, URL)] = ("a", "b")
    assert alone.tell(LinkTextsChanged(URL, SLOT)) == []
    alone.tell(SlotsDamaged(SLOT_SET), Address(ME, "segments"))
    alone.wake()
    for url in others:
        alone.tell(RecordsRead(url, seen(5.0), b"records"), ARCHIVE)
        sends = alone.tell(RecordsParsed(url, seen(5.0), page(url=url).document), PARSER)
    assert sends[-1] == Send(INDEXER, IndexAnchors(URL, SLOT, ("a", "b")))


# --- Forgetting ------------------------------------------------------------------------------


def forgetting() -> Driven:
    """Return a cell that has just been told to forget the slot of 20 pages."""
    driven = Driven(settings=CellSettings(entries_per_turn=10, scrub=QUIET))
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    for n in range(20):
        driven.store(page(url=f"{URL}{n}"), n)
    driven.tell(ForgetSlots(SLOT_SET), HANDOVER)
    return driven


def test_slot_is_forgotten_a_few_entries_at_a_time(alone: Driven) -> None:
    driven = forgetting()
    seen: list[object] = []
    while driven.cell.wake_at() < inf:
        driven.wake(0.1)
        seen.append(driven.observed("pages"))
    assert len(seen) > 3
    assert seen[-1] == 0
    assert (driven.observed("archive_bytes"), driven.observed("unindexed")) == (0, 0)
    assert driven.observed("garbage_bytes") == 20 * 7
    driven.filled = set()
    driven.store(page(), 99)
    assert driven.filled == {SLOT}, "told anew"


def test_page_that_is_read_back_while_its_slot_is_forgotten_does_not_stay_in_the_index(alone: Driven) -> None:
    alone.store(page())
    again = Driven(alone.table)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    assert [type(send.message) for send in again.wake(0.1)] == [ReadRecords]
    assert again.tell(ForgetSlots(SLOT_SET), HANDOVER) == []
    again.tell(RecordsRead(URL, seen(5.0), b"records"), ARCHIVE)
    given = again.tell(RecordsParsed(URL, seen(5.0), page().document), PARSER)
    assert [type(send.message) for send in given] == [IndexPage]
    assert [send for send in again.wake() if send.target == INDEXER] == [Send(INDEXER, ForgetSlots(SLOT_SET))]
    assert again.observed("unindexed") == 0
    assert again.cell.wake_at() == inf


def test_documents_are_deleted_before_that_of_a_page_that_comes_while_its_slot_is_forgotten() -> None:
    driven = forgetting()
    sends = driven.tell(StorePage(page()))
    assert sends[0] == Send(INDEXER, ForgetSlots(SLOT_SET))
    given = driven.tell(appended(page(), 99), ARCHIVE)
    assert [type(send.message) for send in given if send.target == INDEXER] == [IndexPage]


def test_documents_of_slots_that_are_not_kept_are_deleted_at_the_start(alone: Driven) -> None:
    alone.store(page())
    again = Driven(alone.table)
    others = SlotsIndexed(encode_slot_list([SLOT, SLOT + 1], SLOTS))
    deletes = Send(INDEXER, ForgetSlots(encode_slot_list([SLOT + 1], SLOTS)))
    assert again.tell(others, SEGMENTS) == []
    assert again.tell(owned(ME, replicas=1, peers=(ME,))) == [deletes]
    assert again.tell(owned(ME, replicas=1, peers=(ME,))) == []
    assert again.tell(others, SEGMENTS) == [deletes]


def test_documents_of_a_slot_that_is_half_forgotten_are_deleted_at_the_start() -> None:
    driven = forgetting()
    driven.wake(0.1)
    again = Driven(driven.table)
    again.tell(SlotsIndexed(SLOT_SET), SEGMENTS)
    assert again.tell(owned(ME, replicas=1, peers=(ME,))) == [Send(INDEXER, ForgetSlots(SLOT_SET))]


def test_documents_that_came_without_their_versions_count_no_more_when_they_are_deleted_at_the_start(
    alone: Driven,
) -> None:
    identity = identity_of(SLOT, URL)
    alone.cell._ledger.adopt(identity, seen(5.0), b"exported")
    again = Driven(alone.table)
    again.tell(SlotsIndexed(SLOT_SET), SEGMENTS)
    assert again.tell(owned(ME, replicas=1, peers=(ME,))) == [Send(INDEXER, ForgetSlots(SLOT_SET))]
    assert again.cell._ledger.marks.take_adopted(identity, seen(5.0)) is None


def test_pages_of_slots_that_the_index_has_lost_are_indexed_anew_after_the_start(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    for indexed, unindexed in ((SLOT_SET, 0), (NO_SLOTS, 1)):
        again = Driven(alone.table)
        again.tell(SlotsIndexed(indexed), SEGMENTS)
        again.tell(owned(ME, replicas=1, peers=(ME,)))
        again.wake(0.1)
        assert again.observed("unindexed") == unindexed


def test_forgetting_goes_on_after_a_crash() -> None:
    driven = forgetting()
    driven.wake(0.1)
    again = Driven(driven.table)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    while again.cell.wake_at() < inf:
        again.wake(0.1)
    assert again.observed("pages") == 0


def test_page_that_comes_while_its_slot_is_forgotten_stays_even_after_a_crash() -> None:
    driven = forgetting()
    driven.store(page(), 99)
    assert driven.observed("pages") == 1
    again = Driven(driven.table)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    for _ in range(9):
        again.wake(0.1)
    assert again.observed("pages") == 1


def test_slots_are_brought_back_only_after_all_is_forgotten() -> None:
    driven = forgetting()
    order = SynchroniseSlots(3, OTHER, SLOT_SET, inf)
    assert driven.tell(order, HANDOVER) == []
    assert driven.cell.observe().store.tasks == 1
    while not any(isinstance(send.message, CompareSlots) for send in driven.wake(0.1)):
        assert driven.cell.observe().store.tasks == 1
    assert driven.observed("pages") == 0


def test_segment_is_removed_when_all_in_it_is_forgotten_and_again_until_it_is_gone(alone: Driven) -> None:
    driven = forgetting()
    elsewhere = "http://elsewhere.example/"
    driven.tell(StorePage(page(url=elsewhere)))
    driven.tell(RecordsAppended(elsewhere, seen(5.0), 2, 0, 7), ARCHIVE)
    sends: list[Send] = []
    while driven.cell.wake_at() < inf and driven.observed("pages") != 1:
        sends = driven.wake(0.1)
    removal = Send(ARCHIVE, RemoveSegments((1,)))
    assert sends == [removal]
    assert driven.tell(DiskFilled(""), ARCHIVE) == []
    again = Driven(driven.table)
    assert again.tell(owned(ME, replicas=1, peers=(ME,))) == [removal]
    assert again.tell(SegmentsRemoved((1,)), ARCHIVE) == []
    assert again.observed("garbage_bytes") == 0
    assert Driven(driven.table).tell(owned(ME, replicas=1, peers=(ME,))) == []


def test_segment_with_a_page_on_its_way_is_not_removed(pair: Driven) -> None:
    pair.store(page(), 0)
    pair.tell(StorePage(page(6.0)))
    pair.tell(RecordsAppended(URL, seen(6.0), 1, 7, 7), ARCHIVE)  # the other peer has not answered yet
    elsewhere = "http://elsewhere.example/"
    pair.tell(StorePage(page(url=elsewhere)))
    pair.tell(PageReplicated(elsewhere, seen(5.0)), OTHER_CELL)
    pair.tell(RecordsAppended(elsewhere, seen(5.0), 2, 0, 7), ARCHIVE)
    pair.tell(ForgetSlots(SLOT_SET), HANDOVER)
    sends = [send for _ in range(9) for send in pair.wake(0.1)]
    assert not any(isinstance(send.message, RemoveSegments) for send in sends)
    pair.tell(PageReplicated(URL, seen(6.0)), OTHER_CELL)
    assert (pair.observed("pages"), pair.observed("garbage_bytes")) == (2, 7)


# --- Scrubbing -------------------------------------------------------------------------------


def test_scrubbing_reads_back_all_places_slowly_and_then_pauses() -> None:
    settings = CellSettings(scrub=ScrubSettings(bytes_per_s=10.0, places_max=3, pass_pause_s=1_000.0))
    driven = Driven(settings=settings)
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    for n in range(5):
        driven.store(page(url=f"http://host{n}.example/"), n)
    driven.tell(PagesIndexed(tuple((f"http://host{n}.example/", seen(5.0)) for n in range(5))), INDEXER)
    read_at: dict[Extent, float] = {}
    for _ in range(1_500):
        for _, message in driven.wake(1.0):
            assert isinstance(message, ReadExtents)
            assert len(message.extents) == 1, "ten bytes a second"
            read_at[message.extents[0]] = driven.now
            assert driven.cell.wake_at() == inf
            assert driven.tell(ExtentsRead(message.ticket, b"", (True,)), ARCHIVE) == []
    assert sorted(extent.offset for extent in read_at) == [0, 1, 2, 3, 4]
    assert driven.observed("scrubbed_bytes") >= 35


def test_scrubbing_waits_for_other_work_but_not_for_ever() -> None:
    settings = CellSettings(scrub=ScrubSettings(busy_looks_max=5))
    driven = Driven(settings=settings)
    driven.tell(owned(ME, replicas=1, peers=(ME,)))
    driven.store(page())
    driven.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    driven.tell(StorePage(page(6.0)))
    looks = [driven.wake(1.0) for _ in range(12)]
    assert looks[:5] == [[]] * 5
    assert any(isinstance(send.message, ReadExtents) for sends in looks for send in sends)


def test_place_that_scrubbing_finds_damaged_is_compared_with_another_member(pair: Driven) -> None:
    driven = Driven(pair.table, CellSettings())
    driven.tell(owned(ME, OTHER))
    driven.store(page())
    driven.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    sends: list[Send] = []
    for _ in range(3):
        sends += driven.wake(6 * 3600.0)
    order = next(send.message for send in sends if isinstance(send.message, ReadExtents))
    assert (order.extents, order.checksums) == ((Extent(1, 0, 7),), (CHECKSUM,))
    assert driven.tell(ExtentsRead(order.ticket, b"", (False,)), ARCHIVE) == [
        Send(HANDOVER, SlotsDiffer(OTHER, SLOT_SET))
    ]
    assert driven.observed("damaged") == 1


# --- What the owner of the mesh takes down ---------------------------------------------------


def in_force(*rules: Rule, number: int = 1) -> DecreesInForce:
    """What the membership says of a policy, which it has judged."""
    body = policy_bytes(Policy(rules=(*rules, Rule(action=Action.CRAWL))))
    return DecreesInForce(POLICY, (Decree(POLICY, "", number, 0.0, inf, body, b"", b""),))


DOWN = Rule(action=Action.TAKE_DOWN, urls=(URL,), reason="asked by its author")


def test_page_that_is_taken_down_leaves_the_index_and_is_read_by_nobody(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    alone.tell(in_force(DOWN), MEMBERSHIP)
    assert alone.wake() == [Send(INDEXER, RemovePage(SLOT, URL, seen(5.0)))]
    assert alone.tell(ReadPage(7, URL), GATEWAY) == [Send(GATEWAY, PageRead(7, URL, 0.0, b""))]
    assert alone.observed("pages") == 1, "it is kept, so that this can be taken back"


def test_no_newer_version_and_no_copy_brings_back_what_is_taken_down(pair: Driven) -> None:
    pair.tell(in_force(DOWN), MEMBERSHIP)
    pair.wake()
    assert Send(INDEXER, RemovePage(SLOT, URL, seen(5.0))) in pair.store(page())
    pair.tell(ReplicatePage(page(9.0)), OTHER_CELL)
    assert Send(INDEXER, RemovePage(SLOT, URL, seen(9.0))) in pair.tell(appended(page(9.0), 1), ARCHIVE)


def test_page_is_read_back_and_indexed_when_its_take_down_is_taken_back(alone: Driven) -> None:
    take_down(alone)
    alone.tell(in_force(number=2), MEMBERSHIP)
    [read] = alone.wake()
    assert isinstance(read.message, ReadRecords)
    assert read.message.url == URL


def test_take_down_is_looked_through_again_after_a_restart(alone: Driven) -> None:
    alone.store(page())
    alone.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    again = Driven(alone.table)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    again.tell(in_force(DOWN), MEMBERSHIP)
    assert again.wake() == [Send(INDEXER, RemovePage(SLOT, URL, seen(5.0)))]


@pytest.mark.parametrize("told", [[], [in_force(number=2)]], ids=["its time was over", "a newer policy"])
def test_page_that_was_shown_again_while_the_peer_was_away_comes_back(
    alone: Driven, told: list[DecreesInForce]
) -> None:
    take_down(alone)
    again = Driven(alone.table)
    for message in told:
        again.tell(message, MEMBERSHIP)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    [read] = again.wake()
    assert isinstance(read.message, ReadRecords)


def test_looking_through_that_a_restart_cut_short_begins_anew() -> None:
    settings = CellSettings(entries_per_turn=1, scrub=QUIET)
    first = Driven(settings=settings)
    first.tell(owned(ME, replicas=1, peers=(ME,)))
    urls = [f"http://host.example/{n}" for n in range(3)]
    for url in urls:
        first.store(page(url=url))
        first.tell(PagesIndexed(((url, seen(5.0)),)), INDEXER)
    first.tell(in_force(Rule(action=Action.TAKE_DOWN, domains=("host.example",))), MEMBERSHIP)
    removed = first.wake()
    assert len(removed) < 3
    again = Driven(first.table, settings)
    again.tell(in_force(Rule(action=Action.TAKE_DOWN, domains=("host.example",))), MEMBERSHIP)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    sends = [send for _ in range(10) for send in again.wake(0.1)]
    assert {send.message.url for send in sends if isinstance(send.message, RemovePage)} == set(urls)


def test_peer_that_starts_under_the_same_take_downs_has_nothing_to_do(alone: Driven) -> None:
    take_down(alone)
    again = Driven(alone.table)
    again.tell(in_force(DOWN), MEMBERSHIP)
    again.tell(owned(ME, replicas=1, peers=(ME,)))
    assert again.wake() == []


def test_what_was_taken_down_before_a_restart_is_hidden_before_anything_is_told(alone: Driven) -> None:
    alone.store(page())
    alone.tell(in_force(DOWN), MEMBERSHIP)
    alone.wake()
    assert Driven(alone.table).wake() == [Send(INDEXER, RemovePage(SLOT, URL, seen(5.0)))]


def test_page_that_is_taken_down_on_its_way_into_the_index_is_taken_out_again(alone: Driven) -> None:
    alone.store(page())
    alone.tell(in_force(DOWN), MEMBERSHIP)
    assert alone.wake() == [], "the index has not said yet that it has it"
    indexed = PagesIndexed(((URL, seen(5.0)),))
    assert alone.tell(indexed, INDEXER) == [Send(INDEXER, RemovePage(SLOT, URL, seen(5.0)))]
    assert alone.tell(indexed, INDEXER) == []
    assert alone.observed("unindexed") == 0


def test_slot_that_is_forgotten_leaves_nothing_of_what_is_taken_down(alone: Driven) -> None:
    take_down(alone)
    alone.tell(ForgetSlots(SLOT_SET), HANDOVER)
    alone.wake()
    assert not [key for key, _ in alone.table.scan_prefix(HIDDEN)]


def take_down(driven: Driven) -> None:
    """Store a page, have it taken down and out of the index."""
    driven.store(page())
    driven.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)
    driven.tell(in_force(DOWN), MEMBERSHIP)
    driven.wake()
    driven.tell(PagesIndexed(((URL, seen(5.0)),)), INDEXER)


def test_policy_that_is_not_understood_leaves_the_last_one_in_force(alone: Driven) -> None:
    alone.store(page())
    alone.tell(in_force(DOWN), MEMBERSHIP)
    broken = Decree(POLICY, "", 2, 0.0, inf, b"\xc1", b"", b"")
    alone.tell(DecreesInForce(POLICY, (broken,)), MEMBERSHIP)
    assert alone.tell(ReadPage(7, URL), GATEWAY) == [Send(GATEWAY, PageRead(7, URL, 0.0, b""))]
