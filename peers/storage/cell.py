"""The storage actor of a peer: no page counts as stored before its whole living team has it.

Theory of operation
===================
A page of ours goes at once to our archive and to the cells of the live standbys of its slot. When all
have answered, its place is written to the table, the page is marked as not yet indexed and given to the
indexer, and the controller is told. The mark goes when the indexer says that it has committed; a mark
that nobody is working on (after a restart, or when the indexer is far behind) has the page read back from
the archive and parsed again. So memory holds only pages in progress, and a crash at any point leaves
either a page that was never acknowledged or a table that knows what is left to do.

A standby that is down, or that stays silent too long, does not hold a page up: what it lacks is noted as a
*debt* in the table and paid when it is back, from the archive. Link texts go the same way: marked until
indexed here, owed to each standby until it promises them. A standby promises link texts only of pages it
has; so the debt stays until the page has arrived. They carry the time when they became what they are, and a
version of a page brings those known when it was stored: what is late never undoes what is newer.

The archive, the parser and the indexer of the same peer are not asked twice: they answer or the peer dies
with them. What crosses the wire is repeated with growing pauses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf, isfinite, nextafter
from typing import ClassVar

import msgspec

from mesh.actor import Actor, Address, Message, Send, Statistics
from mesh.document import Document
from mesh.errors import LocalProtocolError
from mesh.messages import (
    AnchorsReplicated,
    PageRead,
    PageReplicated,
    ReadPage,
    ReplicateAnchors,
    ReplicatePage,
    StoredPage,
)
from mesh.ownership import Ownership, OwnershipChanged
from mesh.table import Table
from mesh.urls import host_of
from peers.index.messages import IndexAnchors, IndexPage, PagesIndexed
from peers.storage.creditors import Creditors, DebtSettings
from peers.storage.ledger import (
    Anchors,
    Debt,
    Ledger,
    Place,
    anchors_in,
    identity_of,
    mark_key,
    page_debt,
    page_in,
    slot_in,
)
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


class CellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of a cell."""

    replicate_again_s: float = 2.0  # first pause for a standby to answer, doubled each time
    replicate_tries_max: int = 4  # 2 + 4 + 8 + 16 s, then the page is owed instead
    repeats_per_wake_max: int = 64  # so that a slow standby is not buried under repetitions
    debts: DebtSettings = DebtSettings()
    # Replicas waiting for our archive; more are not taken, their owner repeats them.
    replica_bytes_max: int = 64 << 20
    # Pages at the indexer; further ones stay marked in the table and are read back later.
    indexing_max: int = 4_096
    anchors_indexing_max: int = 16_384  # texts of that many pages at the indexer, about 200 bytes each
    recoveries_max: int = 32  # pages being read back to be indexed
    anchors_per_look: int = 256  # marks of link texts that are taken up at a time
    recovery_pause_s: float = 0.05  # between two looks at the marks
    readers_max: int = 256  # gateways waiting for a page; more get no answer and ask another peer


class CellStatistics(Statistics, frozen=True):
    """What a cell has and does. Totals survive a restart, gauges are of now, counts since the start."""

    pages: int  # total: distinct URLs
    stored: int  # total: versions kept as owner
    replicated: int  # total: versions kept for another owner
    archive_bytes: int  # total: their records
    pending: int  # gauge: pages not yet durable everywhere
    unindexed: int  # gauge: pages not yet in a durable commit of the index
    anchors_unindexed: int  # gauge: pages whose link texts are not
    replicas_waiting: int  # gauge: debts to standbys, and pages that wait for one
    reading: int  # gauge: places being read back
    is_full: bool  # the disk is full
    replicas_refused: int  # count: not of our slots, malformed, or no room
    records_refused: int  # count: not whole WARC records, so not kept
    reads_refused: int  # count: too many gateways waiting
    anchors_unknown: int  # count: link texts of pages that are not here
    unreadable: int  # count: places that the archive could not read


@dataclass(slots=True)
class _Page:
    """A page on its way into the archive."""

    page: StoredPage
    identity: bytes
    is_own: bool = False  # the controller waits for it
    askers: list[str] = field(default_factory=list)  # owners that wait for our promise
    replica_bytes: int = 0  # what it counts towards CellSettings.replica_bytes_max
    waiting: set[str] = field(default_factory=set)  # standbys that have not answered
    missed: list[str] = field(default_factory=list)  # standbys that are down or silent
    place: RecordsAppended | None = None
    tries: int = 0
    repeat_at: float = inf


@dataclass(slots=True)
class _Reading:
    """A place that is being read back, and who wants it."""

    place: Place
    identity: bytes
    readers: list[tuple[Address, int]] = field(default_factory=list)  # gateways and their request numbers
    creditors: dict[str, tuple[str, ...]] = field(default_factory=dict)  # standbys, link texts to go with it
    marked_anchors: tuple[str, ...] | None = None  # link texts to index it with; None: not to be indexed
    records: bytes = b""  # once read, while the parser has them


class Cell(Actor):
    """Keeps pages and their places; see the theory of operation above."""

    name: ClassVar[str] = "cell"

    def __init__(self, peer: str, table: Table, settings: CellSettings | None = None) -> None:
        """Take up what the table says was left undone.

        Args:
          peer: id of the peer this cell belongs to.
          table: the cell's own section.
        """
        self._me = peer
        self._settings = settings or CellSettings()
        self._ledger = Ledger(table)
        self._ownership: Ownership | None = None
        self._pages: dict[tuple[str, float], _Page] = {}
        self._urls: dict[str, int] = {}  # how many versions of a URL are in _pages
        self._early_anchors: dict[str, StoreAnchors] = {}  # of pages in _pages, until those are done
        self._reads: dict[tuple[str, float], _Reading] = {}
        self._indexing: dict[tuple[str, float], bytes] = {}  # at the indexer; identity
        self._indexing_anchors: dict[str, Anchors] = {}  # the last ones sent
        self._recovering = 0  # of _reads, those to be indexed
        self._recovered_to = b""  # where the walk over the marks has come to
        self._recovered_anchors_to = b""
        self._debts = Creditors(self._ledger, self._settings.debts)
        self._replica_bytes = 0
        self._n_readers = 0
        self._repeat_at = inf
        self._recover_at = 0.0 if self._is_behind() else inf
        self._is_full = False
        self._replicas_refused = 0
        self._records_refused = 0
        self._reads_refused = 0
        self._anchors_unknown = 0
        self._unreadable = 0
        self._archive = Address(peer, "archive")
        self._parser = Address(peer, "parser")
        self._indexer = Address(peer, "indexer")
        self._controller = Address(peer, "controller")

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case StorePage(page):
                return self._store(page, now)
            case ReplicatePage(page):
                return self._replicate(source.peer, page)
            case RecordsAppended():
                return self._note_appended(message, now)
            case PageReplicated(url, fetched_at):
                return self._note_replicated(source.peer, url, fetched_at, now)
            case PagesIndexed():
                return self._note_indexed(message, now)
            case StoreAnchors():
                return self._store_anchors(message, now)
            case ReplicateAnchors():
                return self._replicate_anchors(source.peer, message)
            case AnchorsReplicated(url, anchors):
                return self._note_anchors_replicated(source.peer, url, anchors, now)
            case ReadPage(request, url):
                return self._read_for(source, request, url)
            case RecordsRead():
                return self._note_read(message, now)
            case RecordsRefused(url, fetched_at):
                return self._note_refused(url, fetched_at, now)
            case RecordsParsed():
                return self._note_parsed(message, now)
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case DiskFilled():
                self._is_full = True
                return []
            case _:
                raise LocalProtocolError(f"cell does not understand {type(message).__name__}")

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        if self._repeat_at <= now:
            sends += self._repeat(now)
        if self._debts.wake_at() <= now:
            sends += self._pay(self._debts.wake(now))
        if self._recover_at <= now:
            sends += self._recover(now)
        return sends

    def wake_at(self) -> float:
        return min(self._repeat_at, self._debts.wake_at(), self._recover_at)

    def observe(self) -> CellStatistics:
        totals = self._ledger.totals
        return CellStatistics(
            pages=totals.pages,
            stored=totals.stored,
            replicated=totals.replicated,
            archive_bytes=totals.archive_bytes,
            pending=len(self._pages),
            unindexed=totals.pages_marked,
            anchors_unindexed=totals.anchors_marked,
            replicas_waiting=self._ledger.debts_total
            + sum(bool(page.waiting) for page in self._pages.values()),
            reading=len(self._reads),
            is_full=self._is_full,
            replicas_refused=self._replicas_refused,
            records_refused=self._records_refused,
            reads_refused=self._reads_refused,
            anchors_unknown=self._anchors_unknown,
            unreadable=self._unreadable,
        )

    # --- Pages on their way into the archive

    def _store(self, page: StoredPage, now: float) -> list[Send]:
        if self._ownership is None:
            raise LocalProtocolError("a page to store before the first OwnershipChanged")
        identity = identity_of(page.slot, page.url)
        if self._ledger.version(identity, page.fetched_at) is not None:
            return [Send(self._controller, PageStored(page.url, page.fetched_at))]
        pending = self._pages.get((page.url, page.fetched_at))
        sends: list[Send] = []
        if pending is None:
            pending = self._begin(page, identity, sends)
        elif pending.is_own:
            return []  # the answer will come
        pending.is_own = True
        for peer in self._ownership.team_of(page.slot):
            if peer == self._me:
                continue
            if peer in self._ownership.alive:
                pending.waiting.add(peer)
                sends.append(Send(Address(peer, self.name), ReplicatePage(page)))
            else:
                pending.missed.append(peer)
        if pending.waiting:
            pending.repeat_at = now + self._settings.replicate_again_s
            self._repeat_at = min(self._repeat_at, pending.repeat_at)
        return sends

    def _replicate(self, owner: str, page: StoredPage) -> list[Send]:
        if not self._is_acceptable(owner, page):
            self._replicas_refused += 1
            return []
        identity = identity_of(page.slot, page.url)
        if self._ledger.version(identity, page.fetched_at) is not None:
            return [Send(Address(owner, self.name), PageReplicated(page.url, page.fetched_at))]
        pending = self._pages.get((page.url, page.fetched_at))
        sends: list[Send] = []
        if pending is None:
            size = _size_of(page)
            if self._is_full or self._replica_bytes + size > self._settings.replica_bytes_max:
                self._replicas_refused += 1
                return []
            pending = self._begin(page, identity, sends)
            pending.replica_bytes = size
            self._replica_bytes += size
        if owner not in pending.askers:
            pending.askers.append(owner)
        return sends

    def _is_acceptable(self, owner: str, page: StoredPage) -> bool:
        """Is this a page that a peer of its team may give us? Nothing it says is believed unchecked."""
        ownership = self._ownership
        if ownership is None or not isfinite(page.fetched_at) or page.fetched_at < 0:
            return False
        if self._slot_of(page.url) != page.slot:
            return False
        if page.document is not None and page.document.url != page.url:
            return False
        team = ownership.team_of(page.slot)
        return owner in team and self._me in team

    def _begin(self, page: StoredPage, identity: bytes, sends: list[Send]) -> _Page:
        pending = _Page(page, identity)
        self._pages[page.url, page.fetched_at] = pending
        self._urls[page.url] = self._urls.get(page.url, 0) + 1
        sends.append(Send(self._archive, AppendRecords(page.url, page.fetched_at, page.records)))
        return pending

    def _note_appended(self, message: RecordsAppended, now: float) -> list[Send]:
        self._is_full = False
        pending = self._pages.get((message.url, message.fetched_at))
        if pending is None or pending.place is not None:
            return []
        pending.place = message
        return [] if pending.waiting else self._finish(pending, message, now)

    def _note_replicated(self, peer: str, url: str, fetched_at: float, now: float) -> list[Send]:
        pending = self._pages.get((url, fetched_at))
        if pending is not None and peer in pending.waiting:
            pending.waiting.remove(peer)
            return self._finish_if_done(pending, now)
        identity = self._identity_of(url)
        if identity is None:
            return []
        return self._pay(self._debts.settle(peer, page_debt(identity, fetched_at), now))

    def _finish_if_done(self, pending: _Page, now: float) -> list[Send]:
        if pending.waiting or pending.place is None:
            return []
        return self._finish(pending, pending.place, now)

    def _finish(self, pending: _Page, at: RecordsAppended, now: float) -> list[Send]:
        """The page is durable wherever it has to be: note it, have it indexed, tell who waits."""
        page, identity = pending.page, pending.identity
        self._leave(pending)
        sends: list[Send] = []
        totals, document = self._ledger.totals, page.document
        place = Place(
            url=page.url,
            fetched_at=page.fetched_at,
            status=page.status,
            segment=at.segment,
            offset=at.offset,
            length=at.length,
            has_document=document is not None,
            anchors_at=page.fetched_at,
        )
        n_pages = totals.pages
        is_newest = self._ledger.keep(identity, place)
        if is_newest and totals.pages == n_pages:  # not the first version of its page
            self._drop_older_anchors(page)
        if is_newest and document is not None:
            self._ledger.mark_page(identity, page.fetched_at, document.anchors)
            sends += self._index(identity, page.fetched_at, document)
        if pending.is_own:
            totals.stored += 1
            sends.append(Send(self._controller, PageStored(page.url, page.fetched_at)))
        else:
            totals.replicated += 1
        for peer in pending.askers:
            sends.append(Send(Address(peer, self.name), PageReplicated(page.url, page.fetched_at)))
        for peer in pending.missed:
            anchors = () if document is None else document.anchors
            self._ledger.owe_page(peer, identity, page.fetched_at, anchors)
            self._debts.expect(peer, now)
        if self._early_anchors:
            sends += self._store_early_anchors(page.url, now)
        self._ledger.save_totals()
        return sends

    def _drop_older_anchors(self, page: StoredPage) -> None:
        """Forget link texts on their way when a version comes that brings newer ones."""
        assert self._ownership is not None
        self._indexing_anchors.pop(page.url, None)
        for peer in self._ownership.team_of(page.slot):
            if peer != self._me:
                self._ledger.pay(peer, identity_of(page.slot, page.url))

    def _note_refused(self, url: str, fetched_at: float, now: float) -> list[Send]:
        pending = self._pages.get((url, fetched_at))
        if pending is None:
            return []
        self._records_refused += 1
        self._leave(pending)
        sends = [Send(self._controller, PageRefused(url, fetched_at))] if pending.is_own else []
        return sends + self._store_early_anchors(url, now)

    def _leave(self, pending: _Page) -> None:
        page = pending.page
        self._replica_bytes -= pending.replica_bytes
        del self._pages[page.url, page.fetched_at]
        if self._urls[page.url] == 1:
            del self._urls[page.url]
        else:
            self._urls[page.url] -= 1

    def _repeat(self, now: float) -> list[Send]:
        """Ask silent standbys again; after the last try the page is owed to them instead."""
        settings = self._settings
        sends: list[Send] = []
        due = [pending for pending in self._pages.values() if pending.waiting and pending.repeat_at <= now]
        for pending in due[: settings.repeats_per_wake_max]:
            pending.tries += 1
            if pending.tries >= settings.replicate_tries_max:
                pending.missed += sorted(pending.waiting)
                pending.waiting.clear()
                sends += self._finish_if_done(pending, now)
                continue
            pending.repeat_at = now + settings.replicate_again_s * 2**pending.tries
            for peer in sorted(pending.waiting):
                sends.append(Send(Address(peer, self.name), ReplicatePage(pending.page)))
        times = [pending.repeat_at for pending in self._pages.values() if pending.waiting]
        # What was due but over the limit has its turn a little later, not at once.
        self._repeat_at = max(min(times), now + settings.replicate_again_s / 8) if times else inf
        return sends

    # --- Indexing, and reading back what is marked but with nobody

    def _index(self, identity: bytes, fetched_at: float, document: Document) -> list[Send]:
        """Give a marked page to the indexer, unless that has enough; then the mark keeps it."""
        if len(self._indexing) >= self._settings.indexing_max:
            return []
        if document.fetched_at != fetched_at:
            document = msgspec.structs.replace(document, fetched_at=fetched_at)
        self._indexing[document.url, fetched_at] = identity
        return [Send(self._indexer, IndexPage(slot_in(identity), document))]

    def _note_indexed(self, message: PagesIndexed, now: float) -> list[Send]:
        for url, fetched_at in message.pages:
            identity = self._indexing.pop((url, fetched_at), None)
            if identity is not None:
                self._ledger.unmark_page(identity, fetched_at)
        for url, anchors in message.anchors:
            sent = self._indexing_anchors.get(url)
            if sent is not None and sent.anchors == anchors:
                del self._indexing_anchors[url]
                self._ledger.unmark_anchors(identity_of(sent.slot, url), anchors)
        sends = self._recover(now) if self._is_behind() else []
        self._ledger.save_totals()
        return sends

    def _is_behind(self) -> bool:
        """Are there marks that nobody is working on?"""
        totals = self._ledger.totals
        return self._pages_are_behind() or totals.anchors_marked > len(self._indexing_anchors)

    def _pages_are_behind(self) -> bool:
        return self._ledger.totals.pages_marked > len(self._indexing) + self._recovering

    def _recover(self, now: float) -> list[Send]:
        """Take up some marks: first pages, and when those are all with the indexer, link texts."""
        self._recover_at = inf
        settings, sends = self._settings, []
        if self._pages_are_behind():
            room = min(
                settings.recoveries_max - self._recovering,
                settings.indexing_max - len(self._indexing) - self._recovering,
            )
            if room <= 0:
                return []  # goes on when the parser or the indexer has answered
            sends = self._recover_pages(room)
        elif not self._recovering and len(self._indexing_anchors) < settings.anchors_indexing_max:
            sends = self._recover_anchors()
        if self._is_behind() and not self._recovering:
            self._recover_at = now + settings.recovery_pause_s  # there may be more behind what was seen
        return sends

    def _recover_pages(self, room: int) -> list[Send]:
        limit = self._settings.recoveries_max
        sends: list[Send] = []
        marks = self._ledger.marked_pages(self._recovered_to, limit)
        for identity, fetched_at, anchors in marks:
            if not room:
                break
            self._recovered_to = mark_key(identity, fetched_at)
            newest = self._ledger.newest(identity)
            assert newest is not None, "a mark without a place"
            if newest.fetched_at != fetched_at:
                self._drop_superseded(identity, fetched_at)
                continue
            reading = self._reads.get((newest.url, fetched_at))
            is_taken = (newest.url, fetched_at) in self._indexing
            if is_taken or (reading is not None and reading.marked_anchors is not None):
                continue
            room -= 1
            self._recovering += 1
            self._read(newest, identity, sends).marked_anchors = anchors
        else:
            if len(marks) < limit:
                self._recovered_to = b""  # that was the last one: begin anew
        self._ledger.save_totals()
        return sends

    def _drop_superseded(self, identity: bytes, fetched_at: float) -> None:
        """Take back the mark of an older version: only the newest is in the index."""
        place = self._ledger.version(identity, fetched_at)
        assert place is not None, "a mark without a place"
        if (place.url, fetched_at) not in self._indexing:
            self._ledger.unmark_page(identity, fetched_at)

    def _recover_anchors(self) -> list[Send]:
        limit = self._settings.anchors_per_look
        sends: list[Send] = []
        marks = self._ledger.marked_anchors(self._recovered_anchors_to, limit)
        for identity, mark in marks:
            self._recovered_anchors_to = identity
            if mark.url not in self._indexing_anchors:
                sends += self._index_anchors(mark)
        if len(marks) < limit:
            self._recovered_anchors_to = b""
        return sends

    def _index_anchors(self, anchors: Anchors) -> list[Send]:
        if len(self._indexing_anchors) >= self._settings.anchors_indexing_max:
            return []
        self._indexing_anchors[anchors.url] = anchors
        return [Send(self._indexer, IndexAnchors(anchors.url, anchors.slot, anchors.anchors))]

    # --- Link texts

    def _store_anchors(self, message: StoreAnchors, now: float) -> list[Send]:
        if self._ownership is None:
            raise LocalProtocolError("link texts to store before the first OwnershipChanged")
        if message.url in self._urls:
            self._early_anchors[message.url] = message  # the index must have the page before them
            return []
        identity = identity_of(message.slot, message.url)
        place = self._ledger.newest(identity)
        if place is None:
            self._anchors_unknown += 1
            return []
        if not place.has_document:
            return []
        at = max(now, nextafter(place.anchors_at, inf))  # later than those before, even within one tick
        anchors = Anchors(message.url, message.slot, message.anchors, at)
        sends = self._take_anchors(identity, place, anchors)
        for peer in self._ownership.team_of(message.slot):
            if peer != self._me:
                self._ledger.owe_anchors(peer, identity, anchors)
                if self._debts.offer_anchors(peer, identity, now):
                    sends.append(self._anchors_to(peer, anchors))
        self._ledger.save_totals()
        return sends

    def _store_early_anchors(self, url: str, now: float) -> list[Send]:
        early = self._early_anchors.pop(url, None)
        return [] if early is None else self._store_anchors(early, now)

    def _replicate_anchors(self, owner: str, message: ReplicateAnchors) -> list[Send]:
        ownership, identity = self._ownership, self._identity_of(message.url)
        if ownership is None or identity is None or not isfinite(message.at):
            self._replicas_refused += 1
            return []
        team = ownership.team_of(slot_in(identity))
        if owner not in team or self._me not in team:
            self._replicas_refused += 1
            return []
        place = self._ledger.newest(identity)
        if place is None:
            return []  # no promise: the owner repeats it until the page has come
        sends: list[Send] = []
        if place.has_document and message.at > place.anchors_at:
            anchors = Anchors(message.url, slot_in(identity), message.anchors, message.at)
            sends = self._take_anchors(identity, place, anchors)
            self._ledger.save_totals()
        sends.append(Send(Address(owner, self.name), AnchorsReplicated(message.url, message.anchors)))
        return sends

    def _take_anchors(self, identity: bytes, place: Place, anchors: Anchors) -> list[Send]:
        """Mark link texts and give them to the indexer, unless their page may still be on its way there."""
        self._ledger.date_anchors(identity, place, anchors.at)
        self._ledger.mark_anchors(identity, anchors)
        if self._pages_are_behind() or self._recovering:
            return []
        return self._index_anchors(anchors)

    def _note_anchors_replicated(
        self, peer: str, url: str, anchors: tuple[str, ...], now: float
    ) -> list[Send]:
        identity = self._identity_of(url)
        if identity is None or self._ledger.anchors_owed(peer, identity) != anchors:
            return []  # of older texts: the newest have been sent, or will be
        return self._pay(self._debts.settle(peer, identity, now))

    # --- Debts to standbys

    def _pay(self, debts: list[tuple[str, Debt]]) -> list[Send]:
        """Send what the creditors are to get; pages are read back first."""
        sends: list[Send] = []
        for peer, debt in debts:
            if not debt.is_page:
                sends.append(self._anchors_to(peer, anchors_in(debt)))
                continue
            identity, fetched_at, anchors = page_in(debt)
            place = self._ledger.version(identity, fetched_at)
            assert place is not None, "a debt without a place"
            self._read(place, identity, sends).creditors[peer] = anchors
        return sends

    def _anchors_to(self, peer: str, anchors: Anchors) -> Send:
        message = ReplicateAnchors(anchors.url, anchors.slot, anchors.anchors, anchors.at)
        return Send(Address(peer, self.name), message)

    # --- Reading back

    def _read_for(self, reader: Address, request: int, url: str) -> list[Send]:
        if self._ownership is None:
            return []  # nobody can say yet whether the page is here
        identity = self._identity_of(url)
        place = None if identity is None else self._ledger.newest(identity)
        if identity is None or place is None:
            return [Send(reader, PageRead(request, url, 0.0, b""))]
        if self._n_readers >= self._settings.readers_max:
            self._reads_refused += 1
            return []
        sends: list[Send] = []
        reading = self._read(place, identity, sends)
        if reading.records:  # it is only being parsed now
            return [Send(reader, PageRead(request, url, place.fetched_at, reading.records))]
        reading.readers.append((reader, request))
        self._n_readers += 1
        return sends

    def _read(self, place: Place, identity: bytes, sends: list[Send]) -> _Reading:
        """Return the reading of a place; it is begun now unless somebody wanted it already."""
        key = (place.url, place.fetched_at)
        reading = self._reads.get(key)
        if reading is None:
            reading = self._reads[key] = _Reading(place, identity)
            message = ReadRecords(place.url, place.fetched_at, place.segment, place.offset, place.length)
            sends.append(Send(self._archive, message))
        return reading

    def _note_read(self, message: RecordsRead, now: float) -> list[Send]:
        url, fetched_at, records = message.url, message.fetched_at, message.records
        reading = self._reads.get((url, fetched_at))
        if reading is None or reading.records:
            return []
        sends = [
            Send(reader, PageRead(request, url, fetched_at, records)) for reader, request in reading.readers
        ]
        self._n_readers -= len(reading.readers)
        reading.readers.clear()
        if not records:
            self._unreadable += 1
            return sends + self._end_reading(reading, None, now)
        reading.records = records
        is_for_index = reading.marked_anchors is not None
        if reading.place.has_document and (is_for_index or reading.creditors):
            return [*sends, Send(self._parser, ParseRecords(url, fetched_at, records))]
        return sends + self._end_reading(reading, None, now)

    def _note_parsed(self, message: RecordsParsed, now: float) -> list[Send]:
        reading = self._reads.get((message.url, message.fetched_at))
        if reading is None or not reading.records:
            return []
        return self._end_reading(reading, message.document, now)

    def _end_reading(self, reading: _Reading, document: Document | None, now: float) -> list[Send]:
        """Do with a page what it was read back for. Without records there is nothing to be done any more."""
        place, identity = reading.place, reading.identity
        del self._reads[place.url, place.fetched_at]
        sends: list[Send] = []
        for peer, anchors in reading.creditors.items():
            if reading.records:
                page = _page_of(reading, reading.records, _with_anchors(document, anchors))
                sends.append(Send(Address(peer, self.name), ReplicatePage(page)))
            else:
                sends += self._pay(self._debts.settle(peer, page_debt(identity, place.fetched_at), now))
        if reading.marked_anchors is not None:
            self._recovering -= 1
            anchors = self._ledger.marked_anchors_of(identity) or reading.marked_anchors
            sends += self._index_again(identity, place, _with_anchors(document, anchors))
            sends += self._recover(now) if self._is_behind() else []
        self._ledger.save_totals()
        return sends

    def _index_again(self, identity: bytes, place: Place, document: Document | None) -> list[Send]:
        """Index a page that was read back, unless a newer version has come or there is nothing to index."""
        newest = self._ledger.newest(identity)
        if document is None or newest is None or newest.fetched_at != place.fetched_at:
            self._ledger.unmark_page(identity, place.fetched_at)
            return []
        return self._index(identity, place.fetched_at, document)

    # --- Who is responsible

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        self._ownership = ownership
        sends = self._pay(self._debts.change_ownership(ownership, now))
        for pending in [pending for pending in self._pages.values() if pending.waiting]:
            team = ownership.team_of(pending.page.slot)
            for peer in sorted(pending.waiting):
                if peer not in team or peer not in ownership.alive:
                    pending.waiting.remove(peer)
                    pending.missed += [peer] if peer in team else []
            sends += self._finish_if_done(pending, now)
        return sends

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


def _size_of(page: StoredPage) -> int:
    """Return about how many bytes a page takes in memory; a kilobyte is for what is around its contents."""
    return 1_000 + len(page.records) + (len(page.document.text) if page.document else 0)


def _page_of(reading: _Reading, records: bytes, document: Document | None) -> StoredPage:
    place = reading.place
    return StoredPage(place.url, slot_in(reading.identity), place.fetched_at, place.status, records, document)


def _with_anchors(document: Document | None, anchors: tuple[str, ...]) -> Document | None:
    """Give a document the link texts that the archive does not hold."""
    return None if document is None else msgspec.structs.replace(document, anchors=anchors)
