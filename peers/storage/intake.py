"""Pages on their way into the archive, our own and those of other owners, until their whole team has them.

A page of ours goes at once to our archive and to the other living members of its team; one that another owner
sends us goes to our archive. When all have answered, it is noted in the table, given to the indexer and
acknowledged. Who has no space for it, or stays silent, is left to comparing (see `cell`); here is only seen
to that comparing can find it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from xxhash import xxh3_64_intdigest

from mesh.actors.actor import Address, Send
from mesh.errors import LocalProtocolError
from mesh.urls import host_of
from peers.engine.pages.document import Document
from peers.storage.audit_sample import Sampling
from peers.storage.cell_store import CellStore
from peers.storage.indexing import Indexing
from peers.storage.ledger.ledger import RULING, Kept, Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place, Version
from peers.storage.messages import (
    AppendRecords,
    HostVisited,
    PageKept,
    PageRefused,
    PageStored,
    RecordsAppended,
)
from peers.storage.replication import Replications
from peers.storage.settings import CellSettings
from peers.storage.teams import Teams
from peers.storage.wire_messages import PageNotReplicated, PageReplicated, ReplicatePage, StoredPage

NO_SAMPLE: Final = Sampling()
CELL: Final = "cell"  # the actor of other peers that keeps pages


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


class Intake:
    """The pages that were given to us and are not yet durable everywhere."""

    def __init__(
        self,
        me: str,
        teams: Teams,
        ledger: Ledger,
        store: CellStore,
        indexing: Indexing,
        settings: CellSettings,
        sampling: Sampling = NO_SAMPLE,
    ) -> None:
        self.is_full = False  # the disk was full, and nothing has been written since
        self.replicas_refused_count = 0  # not of our slots, malformed, or no room
        self.records_refused_count = 0  # pages whose records are not whole
        self._archive, self._auditor = Address(me, "archive"), Address(me, "auditor")
        self._sampling = sampling
        self.watched_hosts: frozenset[str] = frozenset()  # of whose pages the auditor is told
        self._teams = teams
        self._ledger = ledger
        self._store = store
        self._indexing = indexing
        self._settings = settings
        self._pages: dict[Version, _Page] = {}
        self._replicas: Replications[Version, ReplicatePage] = Replications(
            settings.pages, lambda order: _size_of(order.page)
        )
        self._replica_bytes = 0

    def __len__(self) -> int:
        """Pages that are not yet durable everywhere."""
        return len(self._pages)

    @property
    def waiting_count(self) -> int:
        """Pages that wait for a member of their team."""
        return len(self._replicas)

    def segments(self) -> set[int]:
        """Return the segments of the archive with records that the table does not know yet."""
        return {page.place.segment for page in self._pages.values() if page.place is not None}

    def wake_at(self) -> float:
        return self._replicas.wake_at()

    def wake(self, now: float) -> list[Send]:
        """Send members the pages they have to keep, again if need be; have slots of silent ones compared."""
        sends: list[Send] = []
        silent: dict[str, set[int]] = defaultdict(set)
        if self._replicas.wake_at() <= now:
            leaving, given_up = self._replicas.wake(now)
            sends += [Send(_cell_of(peer), message) for peer, message in leaving]
            for key, slot, peer in given_up:
                if not self._put_off(key, peer):
                    silent[peer].add(slot)
                    sends += self._finish_if_done(key, now)
        return sends + self._teams.differing(silent)

    def change_members(self, now: float) -> list[Send]:
        """Wait for the members that are in the teams by now.

        Also with pages that waited for nobody: who comes now may have compared before they were in the table.
        """
        sends: list[Send] = []
        for key, pending in [(key, pending) for key, pending in self._pages.items() if pending.givers]:
            page = pending.page
            others = self._teams.others(page.slot)
            self._replicas.change_members(key, page.slot, ReplicatePage(page), others, now)
            sends += self._finish_if_done(key, now)
        return sends

    # --- what comes in ---

    def store(self, giver: Address, page: StoredPage, now: float) -> list[Send]:
        """Keep a page of ours on its whole team, and answer when it is there."""
        if not self._teams.are_known:
            raise LocalProtocolError("a page to store before the first OwnershipChanged")
        self._store.forget_at_once(page.slot)
        identity = identity_of(page.slot, page.url)
        if self._ledger.version(identity, page.stamp) is not None:
            return [Send(giver, PageStored(page.url, page.stamp, is_new=False))]
        key = (page.url, page.stamp)
        pending = self._pages.get(key)
        sends: list[Send] = []
        if pending is None:
            pending = self._begin(page, identity, sends)
        elif pending.givers:
            pending.givers += [] if giver in pending.givers else [giver]
            return []  # the answer will come
        pending.givers.append(giver)
        self._replicas.begin(key, page.slot, ReplicatePage(page), self._teams.others(page.slot), now)
        return sends

    def replicate(self, owner: str, page: StoredPage) -> list[Send]:
        """Keep a page for its owner, and promise that when it is durable."""
        if not self._is_acceptable(owner, page):
            self.replicas_refused_count += 1
            return []
        self._store.forget_at_once(page.slot)
        identity = identity_of(page.slot, page.url)
        if not self._ledger.lacks(identity, page.stamp, page.records):
            return [Send(_cell_of(owner), PageReplicated(page.url, page.stamp))]
        pending = self._pages.get((page.url, page.stamp))
        sends: list[Send] = []
        if pending is None:
            size = _size_of(page)
            if self.is_full:
                self.replicas_refused_count += 1
                return self._decline(page, [owner])
            if self._replica_bytes + size > self._settings.replica_bytes_max:
                self.replicas_refused_count += 1
                return []
            pending = self._begin(page, identity, sends)
            pending.replica_bytes = size
            self._replica_bytes += size
            if self._sampling.rate and page.document is not None and self._sampling.has(page.url, page.stamp):
                sends.append(Send(self._auditor, PageKept(page, owner)))
            if self.watched_hosts and (host := host_of(page.url)) in self.watched_hosts:
                sends.append(Send(self._auditor, HostVisited(host, owner)))
        if owner not in pending.askers:
            pending.askers.append(owner)
        return sends

    def _is_acceptable(self, owner: str, page: StoredPage) -> bool:
        """Is this a page that we are to keep for that peer? Nothing it says is believed unchecked.

        While tables differ it may not be, for a moment: it gets no answer, and the sender repeats it.
        """
        if not page.stamp.is_sound:
            return False
        if self._teams.slot_of(page.url) != page.slot:
            return False
        if page.document is not None and page.document.url != page.url:
            return False
        return self._teams.may_give(owner, page.slot)

    def _begin(self, page: StoredPage, identity: bytes, sends: list[Send]) -> _Page:
        pending = _Page(page, identity)
        self._pages[page.url, page.stamp] = pending
        sends.append(Send(self._archive, AppendRecords(page.url, page.stamp, page.records)))
        return pending

    # --- what the archive says ---

    def note_appended(self, message: RecordsAppended, now: float) -> list[Send]:
        self.note_space()
        key = (message.url, message.stamp)
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
            members = [peer for peer in self._teams.others(page.slot) if peer in pending.late]
            self._replicas.ask_again((page.url, page.stamp), page.slot, ReplicatePage(page), members, now)

    def note_refused(self, key: Version) -> list[Send]:
        """Be done with a page because its records are not whole."""
        pending = self._pages.get(key)
        if pending is None:
            return []
        self.records_refused_count += 1
        self._replicas.drop(key)
        self._leave(pending)
        return [Send(giver, PageRefused(*key)) for giver in pending.givers]

    def note_full(self) -> list[Send]:
        """Let nobody wait for space here; pages under way get into the archive when there is some."""
        self.is_full = True
        sends: list[Send] = []
        for pending in self._pages.values():
            if pending.place is None and pending.askers:
                sends += self._decline(pending.page, pending.askers)
                pending.askers.clear()
        return sends

    def note_space(self) -> list[Send]:
        """Take replicas again: something could be written."""
        self.is_full = False
        return []

    def _decline(self, page: StoredPage, owners: Iterable[str]) -> list[Send]:
        """Have owners count a page without us, once our handover knows that its slot lacks it."""
        answer = PageNotReplicated(page.url, page.stamp)
        return [self._teams.lacking(page.slot), *(Send(_cell_of(owner), answer) for owner in owners)]

    # --- what other members say ---

    def note_declined(self, peer: str, key: Version, now: float) -> list[Send]:
        """Count a page without a member that has a full disk: it compares its slot with ours."""
        self._put_off(key, peer)
        return self.note_replicated(peer, key, now)

    def note_replicated(self, peer: str, key: Version, now: float) -> list[Send]:
        return self._finish_if_done(key, now) if self._replicas.note_answer(key, peer, now) else []

    def _put_off(self, key: Version, peer: str) -> bool:
        """Have a member asked again when we have a page ourselves; False when we have, and it may compare."""
        pending = self._pages.get(key)
        if pending is None or not pending.givers or pending.place is not None:
            return False
        pending.late.add(peer)
        return True

    # --- being done ---

    def _finish_if_done(self, key: Version, now: float) -> list[Send]:
        pending = self._pages.get(key)
        if pending is None or pending.place is None or self._replicas.is_waiting(key):
            return []
        return self._finish(pending, pending.place)

    def _finish(self, pending: _Page, at: RecordsAppended) -> list[Send]:
        """Note that a page is durable wherever it has to be, have it indexed, tell the actors that wait."""
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
            visit=page.visit,
            moved_to=page.moved_to,
        )
        kept = self._ledger.keep(identity, place)
        sends: list[Send] = []
        if kept in RULING:
            self._ledger.marks.mark_page(identity, place.stamp, is_new=kept is Kept.NEWEST)
            sends = self._have_indexed(identity, place, document)
        if pending.givers:
            self._ledger.totals.stored += 1
            sends += [Send(giver, PageStored(page.url, page.stamp)) for giver in pending.givers]
        else:
            self._ledger.totals.replicated += 1
        for peer in pending.askers:
            sends.append(Send(_cell_of(peer), PageReplicated(page.url, page.stamp)))
        return sends

    def _have_indexed(self, identity: bytes, place: Place, document: Document | None) -> list[Send]:
        """Give the document of the version that rules from now on to the indexer, or take the page out."""
        if document is None:
            return self._indexing.give_removal(identity, place.url, place.stamp)
        return self._indexing.give_page(identity, place.stamp, document)

    def _leave(self, pending: _Page) -> None:
        page = pending.page
        self._replica_bytes -= pending.replica_bytes
        del self._pages[page.url, page.stamp]


def _cell_of(peer: str) -> Address:
    return Address(peer, CELL)


def _size_of(page: StoredPage) -> int:
    """Return about how many bytes a page takes in memory; a kilobyte is for all around its contents."""
    return 1_000 + len(page.records) + (page.document.text_chars if page.document else 0)
