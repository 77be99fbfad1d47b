"""The storage actor of a peer: no page counts as stored before its whole living team has it.

Theory of operation
===================
A page of ours goes at once to our archive and to the cells of the other members of its slot's team. When all
have answered, its place is written to the table, the page is marked as not yet indexed and given to the
indexer, and the controller is told. The mark goes when the indexer says that it has committed; a mark
that nobody is working on (after a restart, or when the indexer is far behind) has the page read back from
the archive and parsed again. So memory holds only pages in progress, and a crash at any point leaves
either a page that was never acknowledged or a table that knows what is left to do.

The newest version of a page rules, however versions come here: one without a document (the page is gone, or
asks not to be indexed) takes the page out of the index, by a mark of its own. All versions stay in the
archive. A gateway gets the newest one that shows the page, and is told when the page was found gone since.

A member of the team that stays silent does not hold a page up for ever: after some tries the handover is told
that its slots differ, and has them compared (`peers.handover.exchange`, over `cell_store`). So it is with
whatever a peer missed while it was away. Who declines a page because its disk is full has its own handover
compare. Comparing finds what is in our table. So who was silent, or declined, before our own archive had the
page is asked again when it has. Nothing else is remembered of what others lack.

What links tell of a page is not kept here (`link_texts`): the indexer gets it as it is known when it gets the
page, and again when the controller says that it has changed.

A place that does not read back as it was written is *damaged*: it is taken out of the table, as if the
version had never come, and comparing with another member of the team brings it back.

The archive, the parser and the indexer of the same peer are not asked twice: they answer or the peer dies
with them. What crosses the wire is repeated with growing pauses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import ClassVar, TypeAlias

import msgspec
import numpy as np
from xxhash import xxh3_64_intdigest

from mesh.actor import Address, Message, Send
from mesh.delivery import DeliverySettings
from mesh.document import Document
from mesh.errors import LocalProtocolError
from mesh.messages import (
    PageNotReplicated,
    PageRead,
    PageReplicated,
    ReadPage,
    ReplicatePage,
    StoredPage,
)
from mesh.ownership import Ownership, OwnershipChanged
from mesh.port import DiskFilled
from mesh.slot_set import SlotMask, decode_slots, encode_slot_list
from mesh.table import Table
from mesh.urls import host_of
from peers.handover.exchange import ExchangeSettings
from peers.handover.keeper import Keeper
from peers.handover.messages import (
    ForgetSlots,
    SlotsDiffer,
    SlotsLacking,
    SlotsSynchronised,
    StopSynchronising,
)
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.index.messages import (
    DocumentsAdopted,
    DocumentsExported,
    PagesIndexed,
    SlotsDamaged,
    SlotsRepaired,
)
from peers.storage.cell_store import CellStore, Damage
from peers.storage.indexing import Indexing, IndexingSettings
from peers.storage.ledger import Kept, Ledger, Place, identity_of, slot_in
from peers.storage.link_texts import LinkTexts
from peers.storage.messages import (
    AppendRecords,
    BulkAppended,
    CountUnindexed,
    ExtentsRead,
    LinkTextsChanged,
    PageRefused,
    PageStored,
    ParseRecords,
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
from peers.storage.part_content import TIME_MAX_S
from peers.storage.replication import Replications
from peers.storage.scrubber import SCRUB_TICKET, Scrubber, ScrubSettings

Version: TypeAlias = tuple[str, float]  # URL and time of fetch


class CellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of a cell."""

    # Of one member: what it does not answer in 30 s is left to comparison. How many pages wait is bounded by
    # who gives them to us: it waits with others until these are stored.
    pages: DeliverySettings = DeliverySettings(
        again_s=2.0, again_max_s=16.0, give_up_s=30.0, window=256, window_bytes=32 << 20
    )
    # So many slots at a time because a newcomer has none of them, and every group costs some round trips.
    exchange: ExchangeSettings = ExchangeSettings()
    indexing: IndexingSettings = IndexingSettings()
    scrub: ScrubSettings = ScrubSettings()
    # Replicas waiting for our archive; more are not taken, their owner repeats them.
    replica_bytes_max: int = 64 << 20
    readers_max: int = 256  # gateways waiting for a page; more get no answer and ask another peer
    # Slots that were brought count as synchronised when they are indexed, or after this at the latest: a
    # hundred thousand pages, parsed by one thread.
    index_wait_s: float = 300.0
    entries_per_turn: int = 1_024  # that are forgotten, or marked anew: some milliseconds
    turn_pause_s: float = 0.02  # for messages, and a commit, in between
    repair_again_s: float = 60.0  # until others are asked again for what is damaged, doubled each time
    repair_again_max_s: float = 3_600.0
    repairs_per_look: int = 256  # damaged versions that others are asked for at a time


class CellStatistics(HolderStatistics, frozen=True):
    """What a cell has and does. Totals survive a restart, gauges are of now, counts since the start."""

    pages: int  # total: distinct URLs
    gone: int  # total: of these, whose newest version has no document
    stored: int  # total: versions kept as owner
    replicated: int  # total: versions kept for another owner
    brought: int  # total: versions brought from other cells
    archive_bytes: int  # total: records of all versions
    garbage_bytes: int  # total: in the archive, and of no version
    pending: int  # gauge: pages not yet durable everywhere
    unindexed: int  # gauge: pages not yet in a durable commit of the index, or not yet out of it
    anchors_unindexed: int  # gauge: pages whose link texts are not
    replicas_waiting: int  # gauge: pages that wait for a member of their team
    reading: int  # gauge: places being read back
    is_full: bool  # the disk is full
    replicas_refused: int  # count: not of our slots, malformed, or no room
    records_refused: int  # count: not whole WARC records, so not kept
    reads_refused: int  # count: too many gateways waiting
    unreadable: int  # count: places that did not read back as they were written
    damaged: int  # gauge: versions that are missing for it
    repaired: int  # total: those that came back
    scrubbed_bytes: int  # count: read back to be checked


@dataclass(slots=True)
class _Page:
    """A page on its way into the archive."""

    page: StoredPage
    identity: bytes
    givers: list[Address] = field(default_factory=list)  # the controller or importer that waits for it
    askers: list[str] = field(default_factory=list)  # owners that wait for our promise
    late: set[str] = field(default_factory=set)  # members to be asked again once there is a place
    replica_bytes: int = 0  # what it counts towards CellSettings.replica_bytes_max
    place: RecordsAppended | None = None


@dataclass(slots=True)
class _Reading:
    """A place that is being read back, and who wants it."""

    place: Place
    identity: bytes
    readers: list[tuple[Address, int]] = field(default_factory=list)  # gateways and their request numbers
    is_to_index: bool = False
    records: bytes = b""  # once read, while the parser has them


@dataclass(slots=True)
class _Held:
    """What is told when all marks of some slots have been seen gone."""

    told: Send
    slots: SlotMask  # those where they have not
    until: float  # told then anyway


class Cell(StoreActor):
    """Keeps pages and their places; see the theory of operation above."""

    name: ClassVar[str] = "cell"
    # As many as this because an export of the index reads all its postings, of however few slots it is.
    keeps: ClassVar = StoreDeclaration("pages", name, task_slots_max=16_384)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        ReplicatePage,
        PageReplicated,
        PageNotReplicated,
        ReadPage,
    }

    def __init__(
        self,
        peer: str,
        table: Table,
        texts: LinkTexts,
        settings: CellSettings | None = None,
        life: int = 1,
    ) -> None:
        """Take up what the table says was left undone.

        Args:
          peer: id of the peer this cell belongs to.
          table: the cell's own section.
          texts: of the links to pages, which its frontier keeps.
          life: of the peer, see `mesh.lives`.

        Raises:
          StorageError: an earlier version of this program wrote the table.
        """
        self._me = peer
        self._settings = settings or CellSettings()
        self._ledger = Ledger(table)
        self._store = CellStore(peer, self._ledger, texts, self._slot_of)
        self._keeper = Keeper(
            peer,
            self.keeps,
            self._store,
            self._settings.exchange,
            life,
            forget_entries=self._settings.entries_per_turn,
        )
        self._indexing = Indexing(self._ledger, texts, Address(peer, "indexer"), self._settings.indexing)
        self._scrubber = Scrubber(self._ledger, self._settings.scrub)
        self._ownership: Ownership | None = None
        self._pages: dict[Version, _Page] = {}
        self._replicas: Replications[Version, ReplicatePage] = Replications(
            self._settings.pages, lambda order: _size_of(order.page)
        )
        self._reads: dict[Version, _Reading] = {}
        self._marking: list[int] = []  # slots whose pages are to be indexed anew
        self._lost: list[bytes] = []  # sets of slots whose documents were lost, until all are marked
        self._held: list[_Held] = []
        self._removing: set[int] = set()  # segments of the archive
        self._replica_bytes = 0
        self._n_readers = 0
        self._turn_at = inf
        self._repair_pause_s = self._settings.repair_again_s
        self._repair_at = -inf if self._ledger.totals.damaged else inf
        self._n_repair_looks = 0
        self._is_full = False
        self._replicas_refused = 0
        self._records_refused = 0
        self._reads_refused = 0
        self._unreadable = 0
        self._archive = Address(peer, "archive")
        self._parser = Address(peer, "parser")
        self._indexer = Address(peer, "indexer")
        self._handover = Address(peer, "handover")

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        sends = self._react(source, message, now)
        return self._with_news(sends + self._deliver(now), now)

    def _react(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case StorePage(page):
                return self._store_page(source, page, now)
            case CountUnindexed():
                return [Send(source, UnindexedCounted(self._ledger.totals.pages_marked))]
            case ReplicatePage(page):
                return self._replicate(source.peer, page)
            case RecordsAppended():
                return self._note_appended(message, now)
            case PageNotReplicated(url, fetched_at):
                return self._note_declined(source.peer, (url, fetched_at), now)
            case PageReplicated(url, fetched_at):
                return self._note_replicated(source.peer, (url, fetched_at), now)
            case PagesIndexed():
                return self._note_indexed(message, now)
            case LinkTextsChanged(url, slot):
                return self._indexing.give_texts(identity_of(slot, url))
            case ReadPage(request, url):
                return self._read_for(source, request, url)
            case RecordsRead():
                return self._note_read(message, now)
            case RecordsRefused(url, fetched_at):
                return self._note_refused((url, fetched_at))
            case RecordsParsed():
                return self._note_parsed(message, now)
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case DiskFilled():
                return self._note_full()
            case SegmentsRemoved(segments):
                return self._note_removed(segments)
            case SlotsDamaged(slots):
                return self._mark_anew(slots, now)
        return self._trade(source, message, now)

    def wake(self, now: float) -> list[Send]:
        sends = self._deliver(now)
        if self._keeper.wake_at() <= now:
            sends += self._hold(self._keeper.wake(now), now)
        if self._turn_at <= now:
            sends += self._take_turn(now)
        if self._indexing.wake_at() <= now:
            sends += self._recover(now)
        if self._repair_at <= now:
            sends += self._repair(now)
        if self._scrubber.wake_at() <= now:
            order = self._scrubber.wake(now, is_busy=self._is_busy())
            sends += [Send(self._archive, order)] if order is not None else []
        return self._with_news(sends + self._let_go(now), now)

    def wake_at(self) -> float:
        return min(
            self._replicas.wake_at(),
            self._keeper.wake_at(),
            self._turn_at,
            self._indexing.wake_at(),
            self._repair_at,
            self._scrubber.wake_at(),
            min(held.until for held in self._held) if self._held else inf,
        )

    def observe(self) -> CellStatistics:
        totals = self._ledger.totals
        return CellStatistics(
            store=self._keeper.observe(),
            pages=totals.pages,
            gone=totals.gone,
            stored=totals.stored,
            replicated=totals.replicated,
            brought=totals.brought,
            archive_bytes=totals.archive_bytes,
            garbage_bytes=totals.garbage_bytes,
            pending=len(self._pages),
            unindexed=totals.pages_marked,
            anchors_unindexed=totals.texts_marked,
            replicas_waiting=len(self._replicas),
            reading=len(self._reads),
            is_full=self._is_full,
            replicas_refused=self._replicas_refused,
            records_refused=self._records_refused + self._store.items_refused,
            reads_refused=self._reads_refused,
            unreadable=self._unreadable,
            damaged=totals.damaged,
            repaired=totals.repaired,
            scrubbed_bytes=self._scrubber.n_bytes,
        )

    def _with_news(self, sends: list[Send], now: float) -> list[Send]:
        """Add what follows from the state of the table, and write its counters."""
        ledger = self._ledger
        sends += self._keeper.end_turn(now)
        if ledger.has_dead_segments:
            sends += self._remove_segments()
        sends += self._store.stop_abandoned()
        ledger.save()
        return sends

    # --- Pages on their way into the archive

    def _store_page(self, giver: Address, page: StoredPage, now: float) -> list[Send]:
        if self._ownership is None:
            raise LocalProtocolError("a page to store before the first OwnershipChanged")
        self._store.forget_at_once(page.slot)
        identity = identity_of(page.slot, page.url)
        if self._ledger.version(identity, page.fetched_at) is not None:
            return [Send(giver, PageStored(page.url, page.fetched_at, is_new=False))]
        key = (page.url, page.fetched_at)
        pending = self._pages.get(key)
        sends: list[Send] = []
        if pending is None:
            pending = self._begin(page, identity, sends)
        elif pending.givers:
            pending.givers += [] if giver in pending.givers else [giver]
            return []  # the answer will come
        pending.givers.append(giver)
        self._replicas.begin(key, page.slot, ReplicatePage(page), self._others(page.slot), now)
        return sends

    def _replicate(self, owner: str, page: StoredPage) -> list[Send]:
        if not self._is_acceptable(owner, page):
            self._replicas_refused += 1
            return []
        self._store.forget_at_once(page.slot)
        identity = identity_of(page.slot, page.url)
        if self._ledger.version(identity, page.fetched_at) is not None:
            return [Send(self._cell_of(owner), PageReplicated(page.url, page.fetched_at))]
        pending = self._pages.get((page.url, page.fetched_at))
        sends: list[Send] = []
        if pending is None:
            size = _size_of(page)
            if self._is_full:
                self._replicas_refused += 1
                return self._decline(page, [owner])
            if self._replica_bytes + size > self._settings.replica_bytes_max:
                self._replicas_refused += 1
                return []
            pending = self._begin(page, identity, sends)
            pending.replica_bytes = size
            self._replica_bytes += size
        if owner not in pending.askers:
            pending.askers.append(owner)
        return sends

    def _decline(self, page: StoredPage, owners: Iterable[str]) -> list[Send]:
        """Have owners count a page without us, once our handover knows that its slot lacks it."""
        answer = PageNotReplicated(page.url, page.fetched_at)
        assert self._ownership is not None
        lacking = SlotsLacking(encode_slot_list([page.slot], self._ownership.table.slot_count))
        return [Send(self._handover, lacking), *(Send(self._cell_of(owner), answer) for owner in owners)]

    def _note_full(self) -> list[Send]:
        """Let nobody wait for space here; what is under way gets into the archive when there is some."""
        self._is_full = True
        sends: list[Send] = []
        for pending in self._pages.values():
            if pending.place is None and pending.askers:
                sends += self._decline(pending.page, pending.askers)
                pending.askers.clear()
        return sends

    def _is_acceptable(self, owner: str, page: StoredPage) -> bool:
        """Is this a page that a peer of its team may give us? Nothing it says is believed unchecked.

        While tables differ it is not, for a moment: it gets no answer, and the sender repeats it.
        """
        if not isfinite(page.fetched_at) or not 0 <= page.fetched_at <= TIME_MAX_S:
            return False
        if self._slot_of(page.url) != page.slot:
            return False
        if page.document is not None and page.document.url != page.url:
            return False
        return self._are_team(owner, page.slot)

    def _begin(self, page: StoredPage, identity: bytes, sends: list[Send]) -> _Page:
        pending = _Page(page, identity)
        self._pages[page.url, page.fetched_at] = pending
        sends.append(Send(self._archive, AppendRecords(page.url, page.fetched_at, page.records)))
        return pending

    def _note_appended(self, message: RecordsAppended, now: float) -> list[Send]:
        self._is_full = False
        key = (message.url, message.fetched_at)
        pending = self._pages.get(key)
        if pending is None or pending.place is not None:
            return []
        pending.place = message
        self._ask_again(pending, now)
        return self._finish_if_done(key, now)

    def _ask_again(self, pending: _Page, now: float) -> None:
        """Have members that could not keep a page before we had it ourselves keep it, or lack it, now."""
        if pending.late:
            page = pending.page
            members = [peer for peer in self._others(page.slot) if peer in pending.late]
            self._replicas.ask_again(
                (page.url, page.fetched_at), page.slot, ReplicatePage(page), members, now
            )

    def _note_declined(self, peer: str, key: Version, now: float) -> list[Send]:
        """Count a page without a member whose disk is full: it compares its slot with ours."""
        self._put_off(key, peer)
        return self._note_replicated(peer, key, now)

    def _put_off(self, key: Version, peer: str) -> bool:
        """Have a member asked again when we have a page ourselves; False when we have, and it may compare."""
        pending = self._pages.get(key)
        if pending is None or not pending.givers or pending.place is not None:
            return False
        pending.late.add(peer)
        return True

    def _note_replicated(self, peer: str, key: Version, now: float) -> list[Send]:
        return self._finish_if_done(key, now) if self._replicas.note_answer(key, peer, now) else []

    def _finish_if_done(self, key: Version, now: float) -> list[Send]:
        pending = self._pages.get(key)
        if pending is None or pending.place is None or self._replicas.is_waiting(key):
            return []
        return self._finish(pending, pending.place)

    def _finish(self, pending: _Page, at: RecordsAppended) -> list[Send]:
        """The page is durable wherever it has to be: note it, have it indexed, tell who waits."""
        page, identity, document = pending.page, pending.identity, pending.page.document
        self._leave(pending)
        place = Place(
            url=page.url,
            fetched_at=page.fetched_at,
            status=page.status,
            segment=at.segment,
            offset=at.offset,
            length=at.length,
            checksum=xxh3_64_intdigest(page.records),
            has_document=document is not None,
        )
        kept = self._ledger.keep(identity, place)
        sends = self._have_indexed(identity, place, document) if kept is Kept.NEWEST else []
        if pending.givers:
            self._ledger.totals.stored += 1
            sends += [Send(giver, PageStored(page.url, page.fetched_at)) for giver in pending.givers]
        else:
            self._ledger.totals.replicated += 1
        for peer in pending.askers:
            sends.append(Send(self._cell_of(peer), PageReplicated(page.url, page.fetched_at)))
        return sends

    def _have_indexed(self, identity: bytes, place: Place, document: Document | None) -> list[Send]:
        """Mark the version that rules from now on; give its document to the indexer, or take the page out."""
        self._ledger.mark_page(identity, place.fetched_at)
        if document is None:
            return self._indexing.give_removal(identity, place.url, place.fetched_at)
        return self._indexing.give_page(identity, place.fetched_at, document)

    def _note_refused(self, key: Version) -> list[Send]:
        pending = self._pages.get(key)
        if pending is None:
            return []
        self._records_refused += 1
        self._replicas.drop(key)
        self._leave(pending)
        return [Send(giver, PageRefused(*key)) for giver in pending.givers]

    def _leave(self, pending: _Page) -> None:
        page = pending.page
        self._replica_bytes -= pending.replica_bytes
        del self._pages[page.url, page.fetched_at]

    def _deliver(self, now: float) -> list[Send]:
        """Send what members have to keep, again if need be; have the slots of silent ones compared."""
        sends: list[Send] = []
        silent: dict[str, set[int]] = defaultdict(set)
        if self._replicas.wake_at() <= now:
            leaving, given_up = self._replicas.wake(now)
            sends += [Send(self._cell_of(peer), message) for peer, message in leaving]
            for key, slot, peer in given_up:
                if not self._put_off(key, peer):
                    silent[peer].add(slot)
                    sends += self._finish_if_done(key, now)
        return sends + self._differing(silent)

    # --- Reading back

    def _read_for(self, reader: Address, request: int, url: str) -> list[Send]:
        if self._ownership is None:
            return []  # nobody can say yet whether the page is here
        identity = self._identity_of(url)
        place = None if identity is None else self._ledger.newest_content(identity)
        if identity is None or place is None or self._ledger.is_damaged(identity):
            return [Send(reader, PageRead(request, url, 0.0, b""))]  # another peer has it, or has it newer
        if self._n_readers >= self._settings.readers_max:
            self._reads_refused += 1
            return []
        sends: list[Send] = []
        reading = self._read(place, identity, sends)
        if reading.records:  # it is only being parsed now
            return [Send(reader, self._copy(request, reading, reading.records))]
        reading.readers.append((reader, request))
        self._n_readers += 1
        return sends

    def _read(self, place: Place, identity: bytes, sends: list[Send]) -> _Reading:
        """Return the reading of a place; it is begun now unless somebody wanted it already."""
        key = (place.url, place.fetched_at)
        reading = self._reads.get(key)
        if reading is None:
            reading = self._reads[key] = _Reading(place, identity)
            extent = place.extent
            message = ReadRecords(*key, extent.segment, extent.offset, extent.length, place.checksum)
            sends.append(Send(self._archive, message))
        return reading

    def _note_read(self, message: RecordsRead, now: float) -> list[Send]:
        url, fetched_at, records = message.url, message.fetched_at, message.records
        reading = self._reads.get((url, fetched_at))
        if reading is None or reading.records:
            return []
        sends = [Send(reader, self._copy(request, reading, records)) for reader, request in reading.readers]
        self._n_readers -= len(reading.readers)
        reading.readers.clear()
        if not records:
            sends += self._note_damages([Damage(reading.identity, reading.place)], now)
            return sends + self._end_reading(reading, None, now)
        if reading.is_to_index and reading.place.has_document:
            reading.records = records
            return [*sends, Send(self._parser, ParseRecords(url, fetched_at, records))]
        return sends + self._end_reading(reading, None, now)

    def _copy(self, request: int, reading: _Reading, records: bytes) -> PageRead:
        """Return a copy for a gateway, with when the page was found gone since."""
        place, newest = reading.place, self._ledger.newest(reading.identity)
        gone_at = 0.0 if newest is None or newest.has_content else newest.fetched_at
        return PageRead(request, place.url, place.fetched_at, records, gone_at)

    def _note_parsed(self, message: RecordsParsed, now: float) -> list[Send]:
        reading = self._reads.get((message.url, message.fetched_at))
        if reading is None or not reading.records:
            return []
        return self._end_reading(reading, message.document, now)

    def _end_reading(self, reading: _Reading, document: Document | None, now: float) -> list[Send]:
        """Index what was read back for that."""
        place = reading.place
        del self._reads[place.url, place.fetched_at]
        if not reading.is_to_index:
            return []
        sends = self._indexing.give_recovered(reading.identity, place, document)
        return sends + self._recover(now) + self._let_go(now)

    def _note_indexed(self, message: PagesIndexed, now: float) -> list[Send]:
        self._indexing.note_indexed(message)
        return self._recover(now) + self._let_go(now)

    def _recover(self, now: float) -> list[Send]:
        """Read back pages that are marked and with nobody."""
        places, sends = self._indexing.recover(now)
        for identity, place in places:
            self._read(place, identity, sends).is_to_index = True
        return sends

    # --- Bringing slots together with those of other peers

    def _trade(self, source: Address, message: Message, now: float) -> list[Send]:
        """React to what belongs to comparing and moving whole slots."""
        keeper, store = self._keeper, self._store
        match message:
            case StopSynchronising(task):
                self._held = [each for each in self._held if _task_of(each) != task]
            case ForgetSlots(slots):
                self._indexing.forget(self._decode(slots))
            case DocumentsExported(ticket):
                part = store.take_documents(message)
                return [] if part is None else keeper.give_part(ticket, part, now)
            case ExtentsRead(ticket) if ticket == SCRUB_TICKET:
                return self._note_damages(self._scrubber.take(message, now), now)
            case ExtentsRead(ticket):
                part, damages = store.take_records(message)
                sends = [] if part is None else keeper.give_part(ticket, part, now)
                return sends + self._note_damages(damages, now)
            case BulkAppended(ticket):
                self._is_full = False
                store.note_appended(message)
                return self._go_on(ticket, now)
            case DocumentsAdopted(ticket):
                store.note_adopted(message)
                return self._go_on(ticket, now)
        return self._hold(keeper.receive(source, message, now), now)

    def _go_on(self, ticket: int, now: float) -> list[Send]:
        return self._hold(self._keeper.end_merge(ticket, now), now)

    def _hold(self, sends: list[Send], now: float) -> list[Send]:
        """Have what came indexed; hold back that slots are synchronised until it is."""
        self._indexing.plan(now)
        until = now + self._settings.index_wait_s
        released = []
        for send in sends:
            if isinstance(send.message, SlotsSynchronised):
                self._held.append(_Held(send, self._decode(send.message.slots), until))
            else:
                released.append(send)
        return released + self._let_go(now)

    def _let_go(self, now: float) -> list[Send]:
        """Tell what was held back for marks that are gone."""
        if not self._held:
            return []
        for held in self._held:
            held.slots &= self._ledger.marks_by_slot[: len(held.slots)] > 0
        free = [held for held in self._held if not held.slots.any() or held.until <= now]
        self._held = [held for held in self._held if held.slots.any() and held.until > now]
        return [held.told for held in free]

    # --- Damage

    def _note_damages(self, damages: list[Damage], now: float) -> list[Send]:
        """Take out what did not read back as it was written, and have it brought from others."""
        differing: dict[str, set[int]] = {}
        for identity, place in damages:
            if not self._ledger.drop_damaged(identity, place):
                continue  # it was forgotten, and its segment removed, in the meantime
            self._unreadable += 1
            self._ask_for(slot_in(identity), 0, differing)
            self._repair_at = min(self._repair_at, now + self._settings.repair_again_s)
        return self._differing(differing)

    def _repair(self, now: float) -> list[Send]:
        """Ask again, and others, for what is still damaged."""
        damaged = self._ledger.damaged(self._settings.repairs_per_look)
        if not damaged:
            self._repair_at = inf
            self._repair_pause_s = self._settings.repair_again_s
            return []
        self._repair_at = now + self._repair_pause_s
        self._repair_pause_s = min(2 * self._repair_pause_s, self._settings.repair_again_max_s)
        self._n_repair_looks += 1
        differing: dict[str, set[int]] = {}
        for identity in damaged:
            self._ask_for(slot_in(identity), self._n_repair_looks, differing)
        return self._differing(differing)

    def _ask_for(self, slot: int, turn: int, differing: dict[str, set[int]]) -> None:
        """Note the member of the team whose turn it is."""
        others = self._others(slot) if self._ownership is not None else []
        if others:
            differing.setdefault(others[turn % len(others)], set()).add(slot)

    def _is_busy(self) -> bool:
        return bool(self._pages or self._reads or self._keeper.is_bringing or self._is_full)

    # --- Indexing slots anew

    def _mark_anew(self, encoded: bytes, now: float) -> list[Send]:
        """Have all pages of some slots indexed again, whose documents were lost."""
        self._lost.append(encoded)
        if self._ownership is not None:  # else with the first one
            self._marking += np.flatnonzero(self._decode(encoded)).tolist()
            self._turn_at = min(self._turn_at, now)
        return []

    def _take_turn(self, now: float) -> list[Send]:
        """Mark some entries; once all are, have the index told when they are indexed."""
        room = self._settings.entries_per_turn
        while self._marking and room > 0:
            room -= self._ledger.mark_slot(self._marking.pop()) + 1
        self._indexing.plan(now)
        self._turn_at = now + self._settings.turn_pause_s if self._marking else inf
        if not self._marking:
            lost, self._lost = self._lost, []
            for slots in lost:
                told = Send(self._indexer, SlotsRepaired(slots))
                self._held.append(_Held(told, self._decode(slots), inf))
        return []

    def _remove_segments(self) -> list[Send]:
        """Have segments removed that nothing refers to, not even a page on its way."""
        self._ledger.has_dead_segments = False
        dead = set(self._ledger.dead_segments()) - self._removing
        in_use = {page.place.segment for page in self._pages.values() if page.place is not None}
        self._ledger.has_dead_segments = bool(dead & in_use)
        removed = tuple(sorted(dead - in_use))
        self._removing.update(removed)
        return [Send(self._archive, RemoveSegments(removed))] if removed else []

    def _note_removed(self, segments: tuple[int, ...]) -> list[Send]:
        for number in segments:
            self._removing.discard(number)
            self._ledger.drop_segment(number)
        return []

    # --- Who is responsible

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        is_first = self._ownership is None
        self._ownership = ownership
        self._keeper.change_ownership(ownership, now)
        sends: list[Send] = []
        if is_first:
            self._take_up(now)
        # Also pages that waited for nobody: who comes now may have compared before they were in the table.
        for key, pending in [(key, pending) for key, pending in self._pages.items() if pending.givers]:
            page = pending.page
            self._replicas.change_members(key, page.slot, ReplicatePage(page), self._others(page.slot), now)
            sends += self._finish_if_done(key, now)
        return sends

    def _take_up(self, now: float) -> None:
        """Go on with what could not be done before the number of slots was known."""
        for slots in self._lost:
            self._marking += np.flatnonzero(self._decode(slots)).tolist()
        if self._lost:
            self._turn_at = now

    def _others(self, slot: int) -> list[str]:
        """Return the other living members of a slot's team, by rank."""
        assert self._ownership is not None
        ownership = self._ownership
        return [peer for peer in ownership.team_of(slot) if peer != self._me and peer in ownership.alive]

    def _are_team(self, owner: str, slot: int) -> bool:
        """Are that peer and we in the team of a slot?"""
        assert self._ownership is not None
        team = self._ownership.team_of(slot)
        return owner in team and self._me in team

    def _differing(self, slots: dict[str, set[int]]) -> list[Send]:
        """Tell the handover with whom which slots are to be compared."""
        if not slots:
            return []
        assert self._ownership is not None
        count = self._ownership.table.slot_count
        return [
            Send(self._handover, SlotsDiffer(peer, encode_slot_list(numbers, count)))
            for peer, numbers in sorted(slots.items())
        ]

    def _decode(self, slots: bytes) -> SlotMask:
        assert self._ownership is not None, "slots before the first OwnershipChanged"
        return decode_slots(slots, self._ownership.table.slot_count)

    def _cell_of(self, peer: str) -> Address:
        return Address(peer, self.name)

    def _slot_of(self, url: str) -> int | None:
        """Return the slot of a URL from another peer, None when it is none or nobody knows yet."""
        if self._ownership is None or not url.startswith(("http://", "https://")):
            return None
        try:
            return self._ownership.slot_of(host_of(url))
        except ValueError:  # no path, or no valid text
            return None

    def _identity_of(self, url: str) -> bytes | None:
        slot = self._slot_of(url)
        return None if slot is None else identity_of(slot, url)


def _task_of(held: _Held) -> int | None:
    return held.told.message.task if isinstance(held.told.message, SlotsSynchronised) else None


def _size_of(page: StoredPage) -> int:
    """Return about how many bytes a page takes in memory; a kilobyte is for what is around its contents."""
    return 1_000 + len(page.records) + (len(page.document.text) if page.document else 0)
