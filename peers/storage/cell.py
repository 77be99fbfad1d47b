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
that its slots differ, and has them compared (`peers.handover.exchange`, over `cell_store`). Where it cannot
hear us it has called its copies lacking before (`peers.handover.separated_owners`). So it is with whatever a
peer missed while it was away. Who declines a page because its disk is full has its own handover
compare. Comparing finds what is in our table. So who was silent, or declined, before our own archive had the
page is asked again when it has. Nothing else is remembered of what others lack.

What links tell of a page is not kept here (`link_texts`): the indexer gets it as it is known when it gets the
page, and again when the controller says that it has changed.

The documents of a slot that is forgotten are deleted when no row of it is left that could bring one back.
When a peer starts, slots that only the table or only the index has are put right.

A place that does not read back as it was written is *damaged*: it is taken out of the table, as if the
version had never come, and comparing with another member of the team brings it back.

The archive, the parser and the indexer of the same peer are not asked twice: they answer or the peer dies
with them. What crosses the wire is repeated with growing pauses.

`intake` has what comes in, `readings` what is read back, `repairs` what is damaged, `reindexing` what is to
be indexed anew, `take_downs` what is shown to nobody, `slot_news` what is told when it is. Here messages find
their way to them, and to the keeper and the store what is said of whole slots."""

from __future__ import annotations

from collections.abc import Set
from math import inf
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.port import DiskFilled, SpaceFound
from mesh.membership.model.messages import DecreesInForce
from mesh.slot_set import encode_slots
from mesh.tables.table import Table
from peers.handover.keeper import Keeper
from peers.handover.messages import ForgetSlots, SlotsSynchronised, StopSynchronising
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.index.messages import (
    DocumentsAdopted,
    DocumentsExported,
    PagesIndexed,
    PastLost,
    PastSettled,
    SlotsDamaged,
    SlotsIndexed,
)
from peers.policy.decreed import policy_of
from peers.storage.audit_sample import Sampling
from peers.storage.cell_store import CellStore
from peers.storage.compaction import COMPACTION_TICKET, Compaction
from peers.storage.indexing import Indexing
from peers.storage.intake import CELL, NO_SAMPLE, Intake
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.link_texts import LinkTexts
from peers.storage.messages import (
    BulkAppended,
    CountUnindexed,
    ExtentsRead,
    LinkTextsChanged,
    RecordsAppended,
    RecordsParsed,
    RecordsRead,
    RecordsRefused,
    RemoveSegments,
    SegmentsRemoved,
    StorePage,
    UnindexedCounted,
    WatchHosts,
)
from peers.storage.readings import Readings
from peers.storage.reindexing import Reindexing
from peers.storage.repairs import Repairs
from peers.storage.scrubber import SCRUB_TICKET, Scrubber
from peers.storage.settings import CellSettings
from peers.storage.slot_news import SlotNews
from peers.storage.take_downs import TakeDowns
from peers.storage.teams import Teams
from peers.storage.wire_messages import (
    CheckPages,
    ListVersions,
    PageNotReplicated,
    PageReplicated,
    ReadPage,
    ReplicatePage,
)

if TYPE_CHECKING:
    from peers.policy.rules import SearchHistoryRules
    from peers.storage.replaced_versions import PastMessage, ReplacedVersions


class CellStatistics(HolderStatistics, frozen=True):
    """The content and work of a cell. Totals survive a restart, gauges are of now, counts since the start."""

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
    compacted_bytes: int  # count: appended again, so that segments could be removed
    expired: int  # total: versions that were more, or older, than are kept


class Cell(StoreActor):
    """Keeps pages and their places; see the theory of operation above."""

    name: ClassVar[str] = CELL
    # As many as this because an export of the index reads all its postings, of however few slots it is.
    keeps: ClassVar = StoreDeclaration("pages", name, task_slots_max=16_384)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        ReplicatePage,
        PageReplicated,
        PageNotReplicated,
        ReadPage,
        ListVersions,
        CheckPages,
    }

    def __init__(
        self,
        peer: str,
        table: Table,
        texts: LinkTexts,
        settings: CellSettings | None = None,
        life: int = 1,
        sampling: Sampling = NO_SAMPLE,
    ) -> None:
        """Take up the work that the table says was left undone.

        Args:
          peer: id of the peer this cell belongs to.
          table: the cell's own section.
          texts: of the links to pages, which its frontier keeps.
          life: of the peer, see `mesh.tables.lives`.
          sampling: which pages of others the auditor is told of.
        """
        self._settings = settings = settings or CellSettings()
        self._archive, self._indexer = Address(peer, "archive"), Address(peer, "indexer")
        self._ledger = ledger = Ledger(table)
        self._teams = teams = Teams(peer)
        self._take_downs = take_downs = TakeDowns(ledger, settings.entries_per_turn, settings.turn_pause_s)
        self._store = CellStore(peer, ledger, texts, take_downs, teams.slot_of, settings.part_bytes)
        self._keeper = Keeper(
            peer, self.keeps, self._store, settings.exchange, life, forget_entries=settings.entries_per_turn
        )
        self._indexing = Indexing(ledger, texts, take_downs, self._indexer, settings.indexing)
        self._scrubber = Scrubber(ledger, settings.scrub)
        self._compaction = Compaction(peer, ledger, settings.compaction, settings.retention)
        self._news = SlotNews(ledger)
        self._repairs = Repairs(teams, ledger, settings)
        self._intake = Intake(peer, teams, ledger, self._store, self._indexing, settings, sampling)
        self._readings = Readings(
            peer, teams, ledger, self._indexing, self._repairs, self._news, take_downs, settings
        )
        self._reindexing = Reindexing(peer, teams, ledger, self._indexing, self._news, settings)
        self._dead_segments = DeadSegments(peer, ledger)
        self._past: ReplacedVersions | None = None  # where the policy has wanted it in this life
        self._indexed: bytes | None = None  # slots, at the start; until they are compared with the table

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        sends = self._react(source, message, now)
        if self._store.forgotten:  # the slot of the page that has just come: its document goes there later
            sends = self._delete_forgotten() + sends
        if self._intake.wake_at() <= now:
            sends += self._intake.wake(now)
        return self._end_turn(sends, now)

    def wake(self, now: float) -> list[Send]:
        sends: list[Send] = []
        if self._intake.wake_at() <= now:
            sends += self._intake.wake(now)
        if self._keeper.wake_at() <= now:
            sends += self._hold(self._keeper.wake(now), now)
            sends += self._delete_forgotten()
        if self._past is not None and self._past.wake_at() <= now:
            self._past.wake(now)
        if self._reindexing.wake_at_s <= now:
            self._reindexing.wake(now)
        if self._take_downs.wake_at_s <= now:
            self._take_downs.wake(now)
            self._indexing.plan(now)
        if self._indexing.wake_at_s <= now:
            sends += self._readings.recover(now)
        if self._repairs.wake_at_s <= now:
            sends += self._repairs.wake(now)
        if self._scrubber.wake_at_s <= now:
            order = self._scrubber.wake(now, is_busy=self._is_busy())
            sends += [Send(self._archive, order)] if order is not None else []
        if self._compaction.wake_at() <= now:
            # What is being forgotten need not be copied first.
            sends += self._compaction.wake(now, is_busy=self._is_busy() or bool(self._ledger.forgotten))
        return self._end_turn(sends + self._news.let_go(now), now)

    def wake_at(self) -> float:
        return min(
            self._intake.wake_at(),
            self._keeper.wake_at(),
            self._reindexing.wake_at_s,
            self._take_downs.wake_at_s,
            self._indexing.wake_at_s,
            self._repairs.wake_at_s,
            self._scrubber.wake_at_s,
            self._compaction.wake_at(),
            self._news.wake_at(),
            self._past.wake_at() if self._past else inf,
        )

    def before_commit(self, now: float) -> list[Send]:
        self._ledger.save()
        return []

    def observe(self) -> CellStatistics:
        totals, intake = self._ledger.totals, self._intake
        return CellStatistics(
            store=self._keeper.observe(),
            pages=totals.pages,
            gone=totals.gone,
            stored=totals.stored,
            replicated=totals.replicated,
            brought=totals.brought,
            archive_bytes=totals.archive_bytes,
            garbage_bytes=totals.garbage_bytes,
            pending=len(intake),
            unindexed=totals.pages_marked,
            anchors_unindexed=totals.texts_marked,
            replicas_waiting=intake.waiting_count,
            reading=len(self._readings),
            is_full=intake.is_full,
            replicas_refused=intake.replicas_refused_count,
            records_refused=intake.records_refused_count + self._store.items_refused,
            reads_refused=self._readings.refused_count,
            unreadable=self._repairs.unreadable_count,
            damaged=totals.damaged,
            repaired=totals.repaired,
            scrubbed_bytes=self._scrubber.n_bytes,
            compacted_bytes=self._compaction.n_bytes,
            expired=totals.expired,
        )

    def keepers_of(self, slot: int) -> set[str]:
        """Return the peers in the team of a slot, now or of late, as far as this peer has seen."""
        return self._teams.keepers_of(slot)

    def _react(self, source: Address, message: Message, now: float) -> list[Send]:
        intake, readings = self._intake, self._readings
        match message:
            case StorePage(page):
                return intake.store(source, page, now)
            case CountUnindexed():
                return [Send(source, UnindexedCounted(self._ledger.totals.pages_marked))]
            case ReplicatePage(page):
                return intake.replicate(source.peer, page)
            case WatchHosts(hosts):
                intake.watched_hosts = hosts
                return []
            case RecordsAppended():
                return intake.note_appended(message, now)
            case PageNotReplicated(url, stamp):
                return intake.note_declined(source.peer, (url, stamp), now)
            case PageReplicated(url, stamp):
                return intake.note_replicated(source.peer, (url, stamp), now)
            case RecordsRefused(url, stamp):
                return intake.note_refused((url, stamp))
            case DiskFilled():
                return intake.note_full()
            case SpaceFound():
                return intake.note_space()
            case ReadPage(request, url, at_s):
                return readings.read_for(source, request, url, at_s)
            case ListVersions(request, url):
                return readings.versions_for(source, request, url)
            case CheckPages(request, urls):
                return readings.check_for(source, request, urls)
            case RecordsRead():
                return self._take_for_past(message) + readings.note_read(message, now)
            case RecordsParsed():
                return self._take_for_past(message) + readings.note_parsed(message, now)
            case PastSettled() | PastLost():
                return self._take_for_past(message)
            case PagesIndexed():
                self._indexing.note_indexed(message)
                return readings.recover(now) + self._news.let_go(now)
            case LinkTextsChanged(url, slot):
                if self._past is not None:
                    self._past.note_texts(identity_of(slot, url))
                return self._indexing.give_texts(identity_of(slot, url))
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case DecreesInForce():
                return self._change_policy(message, now)
            case SegmentsRemoved(segments):
                self._dead_segments.note_removed(segments)
                return []
            case SlotsDamaged(slots):
                self._reindexing.mark_anew(slots, now)
                return []
            case SlotsIndexed(slots):
                self._indexed = slots
                return self._compare_index(now) if self._teams.are_known else []
        return self._trade(source, message, now)

    def _end_turn(self, sends: list[Send], now: float) -> list[Send]:
        """Add the messages that follow from the state of the table."""
        ledger = self._ledger
        sends += self._keeper.end_turn(now)
        if self._past is not None:
            sends += self._past.end_turn(now)
        if ledger.segments.has_dead:
            in_use = self._intake.segments() | self._readings.segments() | self._compaction.segments()
            sends += self._dead_segments.remove(in_use)
        return sends + self._store.stop_abandoned()

    def _change_ownership(self, ownership: Ownership, now: float) -> list[Send]:
        is_first, sends = not self._teams.are_known, []
        self._teams.change_ownership(ownership)
        self._keeper.change_ownership(ownership, now)
        if is_first:
            sends = self._compare_index(now)
            self._reindexing.take_up(now)
            self._take_downs.begin(now)
        return sends + self._intake.change_members(now)

    def _change_policy(self, message: DecreesInForce, now: float) -> list[Send]:
        policy = policy_of(message)
        if policy is not None:
            has_changed = self._take_downs.change_policy(policy, now)
            self._change_past(policy.search_history, has_changed, now)
        return []

    def _take_for_past(self, message: PastMessage) -> list[Send]:
        return self._past.take(message) if self._past is not None else []

    def _change_past(self, rules: SearchHistoryRules | None, has_changed: bool, now: float) -> None:
        """Have replaced versions found as the policy says, and none of a page that it takes down."""
        if rules is not None and self._past is None:
            from peers.storage.replaced_versions import ReplacedVersions

            texts = self._indexing.link_texts
            self._past = ReplacedVersions(self._archive.peer, self._ledger, texts, self._take_downs)
        if self._past is not None:
            self._past.change_policy(rules.keep_s if rules else 0.0, now)
            if has_changed:
                self._past.begin_anew()

    def _delete_forgotten(self) -> list[Send]:
        """Have the documents of slots deleted of which no row is left here: nothing more of them follows."""
        if not self._store.forgotten:
            return []
        slots = self._teams.encode(self._store.forgotten)
        self._store.forgotten.clear()
        self._indexing.forget(self._teams.decode(slots))
        return [Send(self._indexer, ForgetSlots(slots))]

    def _compare_index(self, now: float) -> list[Send]:
        """Put right slots that the table has and the index had not at the start, or the other way round."""
        if self._indexed is None:
            return []
        indexed, self._indexed = self._teams.decode(self._indexed), None
        kept = self._store.kept_mask(len(indexed))
        if (lost := kept & ~indexed).any():
            self._reindexing.mark_anew(encode_slots(lost), now)
        foreign = indexed & ~kept
        for slot in np.flatnonzero(foreign).tolist():
            # Its documents came, and its versions not, as while the disk was full: they are brought anew.
            self._ledger.drop_adopted(slot)
        return [Send(self._indexer, ForgetSlots(encode_slots(foreign)))] if foreign.any() else []

    def _is_busy(self) -> bool:
        intake = self._intake
        return bool(len(intake) or len(self._readings) or self._keeper.is_bringing or intake.is_full)

    # --- Bringing slots together with those of other peers

    def _trade(self, source: Address, message: Message, now: float) -> list[Send]:
        """React to a message about comparing and moving whole slots."""
        keeper, store = self._keeper, self._store
        match message:
            case StopSynchronising(task):
                self._news.stop(task)
            case DocumentsExported(ticket):
                part = store.take_documents(message)
                return [] if part is None else keeper.give_part(ticket, part, now)
            case ExtentsRead(ticket) if ticket == SCRUB_TICKET:
                return self._repairs.take_out(self._scrubber.take(message, now), now)
            case ExtentsRead(ticket) if ticket == COMPACTION_TICKET:
                sends, damages = self._compaction.take_records(message, now)
                return sends + self._repairs.take_out(damages, now)
            case BulkAppended(ticket) if ticket == COMPACTION_TICKET:
                self._intake.note_space()
                self._compaction.note_appended(message, now)
                return []
            case ExtentsRead(ticket):
                part, damages = store.take_records(message)
                sends = [] if part is None else keeper.give_part(ticket, part, now)
                return sends + self._repairs.take_out(damages, now)
            case BulkAppended(ticket):
                self._intake.note_space()
                store.note_appended(message)
                return self._go_on(ticket, now)
            case DocumentsAdopted(ticket):
                store.note_adopted(message)
                return self._go_on(ticket, now)
        return self._hold(keeper.receive(source, message, now), now)

    def _go_on(self, ticket: int, now: float) -> list[Send]:
        return self._hold(self._keeper.end_merge(ticket, now), now)

    def _hold(self, sends: list[Send], now: float) -> list[Send]:
        """Have arrived pages indexed; until they are, hold back the news that slots are synchronised."""
        self._indexing.plan(now)
        until = now + self._settings.index_wait_s
        released = []
        for send in sends:
            if isinstance(send.message, SlotsSynchronised):
                self._news.hold(send, self._teams.decode(send.message.slots), until)
            else:
                released.append(send)
        return released + self._news.let_go(now)


class DeadSegments:
    """Segments of the archive to which nothing refers any more: has each removed, once."""

    def __init__(self, me: str, ledger: Ledger) -> None:
        self._archive = Address(me, "archive")
        self._ledger = ledger
        self._removing: set[int] = set()

    def remove(self, in_use: Set[int]) -> list[Send]:
        """Have segments removed that nothing refers to, not even a page on its way.

        Args:
          in_use: segments with records of such pages, which the table does not know so far.
        """
        self._ledger.segments.has_dead = False
        dead = set(self._ledger.segments.dead()) - self._removing
        self._ledger.segments.has_dead = bool(dead & in_use)
        removed = tuple(sorted(dead - in_use))
        self._removing.update(removed)
        return [Send(self._archive, RemoveSegments(removed))] if removed else []

    def note_removed(self, segments: tuple[int, ...]) -> None:
        for number in segments:
            self._removing.discard(number)
            self._ledger.segments.drop(number)
