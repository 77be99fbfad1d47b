"""Several peers that keep pages for each other, on a network and a clock that a seed makes hostile.

Real cells and indexers; controllers, handovers, archives, indexes and parsers are as small as can be.
Messages come late, twice, in any order or, between peers, never; peers crash at any moment and lose all that
was in no commit of their table. Who comes back compares its slots with the others of their teams.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import inf
from random import Random

import msgspec
import numpy as np

from mesh.actors.actor import Address, Message
from mesh.actors.delivery import DeliverySettings
from mesh.actors.node import Node, Outgoing
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import StorageFull
from mesh.slot_set import SlotMask, decode_slots, encode_slots
from mesh.slots import SlotTable, slot_of
from mesh.stamp import BEFORE_ALL, Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.class_model import ClassModel
from peers.engine.pages.document import Document
from peers.engine.pages.past import TimeSpan
from peers.handover.messages import (
    SlotsComplete,
    SlotsDiffer,
    SlotsFilled,
    SlotsSynchronised,
    SynchroniseSlots,
)
from peers.index.answerer import SlotsView
from peers.index.counting_index import CountingIndex
from peers.index.indexer import Indexer, IndexerSettings
from peers.index.messages import (
    AdoptDocuments,
    CommitDocuments,
    DocumentsAdopted,
    DocumentsCommitted,
    DocumentsExported,
    ExportDocuments,
    NextDocuments,
    PagesCommitted,
    StopExport,
)
from peers.index.segments_twin import SegmentsTwin
from peers.storage.archive.archive_twin import ArchiveTwin
from peers.storage.cell import Cell
from peers.storage.indexing import IndexingSettings
from peers.storage.ledger.extent import Extent
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.messages import (
    AppendBulk,
    AppendRecords,
    LinkTextsChanged,
    PageStored,
    ParseRecords,
    ReadExtents,
    ReadRecords,
    RecordsParsed,
    RemoveSegments,
    StorePage,
)
from peers.storage.scrubber import ScrubSettings
from peers.storage.settings import CellSettings
from peers.storage.wire_messages import StoredPage
from tests.helpers import seen
from tests.peers.storage.dict_texts import DictTexts

SLOTS = 64
SETTINGS = CellSettings(
    indexing=IndexingSettings(pages_max=8, texts_max=4, recoveries_max=3, texts_per_look=2),
    entries_per_turn=5,
    pages=DeliverySettings(again_s=2.0, again_max_s=16.0, give_up_s=14.0),
    scrub=ScrubSettings(places_max=2, pass_pause_s=100.0),
)


class ListStore:
    """An archive that takes any bytes."""

    def __init__(self) -> None:
        self.items: list[bytes] = []
        self.is_full = False
        self.refused: set[bytes] = set()

    def append(self, batch: Sequence[bytes | memoryview]) -> list[Extent | None]:
        if self.is_full:
            raise StorageFull("no space is left")
        return [None if item in self.refused else self._append(bytes(item)) for item in batch]

    def _append(self, item: bytes) -> Extent:
        self.items.append(item)
        return Extent(1, len(self.items) - 1, len(item))

    def read(self, extent: Extent) -> bytes | None:
        return self.items[extent.offset] if extent.offset < len(self.items) else None

    def read_many(self, extents: Sequence[Extent]) -> list[bytes | memoryview | None]:
        return [self.read(extent) for extent in extents]

    def remove(self, segments: Iterable[int]) -> None:
        raise AssertionError("there is only the last segment")


class TinyIndex(CountingIndex):
    """Remembers documents, and takes link texts as the real one does."""

    def __init__(self) -> None:
        super().__init__()
        self.documents: dict[str, Document] = {}
        self._exported: dict[int, list[list[tuple[int, Document]]]] = {}

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case CommitDocuments(batch):
                for url, at in message.removed:
                    if url in self.documents and self.documents[url].stamp <= at:
                        del self.documents[url]
                for _, document in message.documents:
                    old = self.documents.get(document.url)
                    if old is None or old.stamp <= document.stamp:
                        self.documents[document.url] = document
                for _, url, anchors in message.anchors:
                    if url in self.documents:
                        self.documents[url] = msgspec.structs.replace(self.documents[url], anchors=anchors)
                self.generation += 1
                return [("indexer", DocumentsCommitted(batch, self.generation))]
            case ExportDocuments(ticket, slots):
                wanted = decode_slots(slots, SLOTS)
                documents = [
                    (slot, document)
                    for url, document in self.documents.items()
                    if wanted[slot := slot_of(host_of(url), SLOTS)]
                ]
                self._exported[ticket] = [documents[::2], documents[1::2]]
                return self._export(ticket)
            case NextDocuments(ticket):
                return self._export(ticket)
            case StopExport(ticket):
                self._exported.pop(ticket, None)
                return []
            case AdoptDocuments(ticket, slots, content, removed):
                documents = msgspec.msgpack.decode(content, type=list[tuple[int, Document]])
                assert all(decode_slots(slots, SLOTS)[slot] for slot, _ in documents)
                removed_at = dict(removed)
                pages = [
                    self._adopt_document(document)
                    for _, document in documents
                    if document.stamp > removed_at.get(document.url, BEFORE_ALL)
                ]
                self.generation += 1
                told = tuple(page for page in pages if page is not None)
                return [("cell", DocumentsAdopted(ticket, self.generation, told))]
        raise AssertionError(message)

    def _adopt_document(self, document: Document) -> tuple[str, Stamp] | None:
        """Add a document unless this or a newer version is there; nothing is told of one with other texts."""
        old = self.documents.get(document.url)
        if old is None or old.stamp < document.stamp:
            self.documents[document.url] = document
        elif old.stamp == document.stamp and old.anchors != document.anchors:
            return None
        return document.url, document.stamp

    def _export(self, ticket: int) -> list[tuple[str, Message]]:
        parts = self._exported.get(ticket)
        if parts is None:
            return []
        number = 2 - len(parts)
        if not parts:
            del self._exported[ticket]
            return [("cell", DocumentsExported(ticket, number, b"", True))]
        return [("cell", DocumentsExported(ticket, number, msgspec.msgpack.encode(parts.pop(0)), False))]


class RealIndex:
    """The index as it is, in memory, and its port."""

    def __init__(self) -> None:
        self.index = Index(MemoryStorage())
        self._twin = SegmentsTwin(self.index, SLOTS)

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        return self._twin.receive(message)

    def over(self, slots: SlotMask, span: TimeSpan | None = None) -> SlotsView:
        return CountingIndex()  # nobody searches

    def take_classes(self, classes: ClassModel | None) -> None:
        """Nobody asks for them."""

    def class_documents(self) -> None:
        """As above."""

    @property
    def documents(self) -> dict[str, Document]:
        view = self.index.snapshot().everything()
        return {url: document for url in view.urls() if (document := view.stored(url)) is not None}


class Peer:
    """One peer: what survives a crash of it, and its node while it is up."""

    def __init__(
        self, name: str, make_index: Callable[[], TinyIndex | RealIndex], settings: CellSettings
    ) -> None:
        self.name = name
        self._settings = settings
        self._make_index = make_index
        self.lose_disk()
        self.acknowledged: dict[str, float] = {}  # by commits: what its controller may rely on
        self.told: dict[str, float] = {}  # since the last commit
        self.outstanding: set[str] = set()  # pages that its controller waits for
        self.unsure: set[str] = set()  # pages of which its controller told since the last commit
        self.promises: list[Outgoing] = []
        self.tasks: dict[int, tuple[str, bytes]] = {}  # of its handover: peer and slots
        self.differing: list[tuple[str, bytes]] = []  # to be synchronised next
        self.life = 0
        self.start()

    def lose_disk(self) -> None:
        self._use(MemoryTable())
        self.committed: dict[bytes, bytes] = {}
        self.texts = DictTexts()  # in its frontier
        self.store = ListStore()
        self.index = self._make_index()

    def _use(self, table: MemoryTable) -> None:
        self.table = table
        self._ledger = Ledger(table)  # to look versions up in it; the cell has its own

    def start(self) -> None:
        self.is_up = True
        self.life += 1
        self.archive = ArchiveTwin(self.store)
        self.cell = Cell(self.name, self.table, self.texts, self._settings, self.life)
        self.node = Node(
            self.name, [self.cell, Indexer(self.name, self.index, IndexerSettings(documents_max=3))]
        )

    def commit(self) -> list[Outgoing]:
        assert not self.node.before_commit(0.0)
        self.committed = dict(self.table.scan(b""))
        for url, at in self.told.items():
            self.acknowledged[url] = max(at, self.acknowledged.get(url, at))
        promises, self.promises, self.told, self.unsure = self.promises, [], {}, set()
        return promises

    def crash(self) -> None:
        self.is_up = False
        table = MemoryTable()
        for key, value in self.committed.items():
            table.put(key, value)
        self._use(table)
        self.promises, self.told, self.outstanding = [], {}, set()
        self.tasks, self.differing = {}, []

    def flip(self, n_items: int) -> list[bytes]:
        """Change a byte in some of the items on disk."""
        for number, item in enumerate(self.store.items[:n_items]):
            self.store.items[number] = item[:-1] + bytes((item[-1] ^ 1,))
        return self.store.items[:n_items]

    def has(self, slot: int, url: str, fetched_at: float) -> bool:
        """Is this version in the table and, where that says, in the archive?"""
        place = self._ledger.version(identity_of(slot, url), seen(fetched_at))
        if place is None:
            return False
        return self.store.read(Extent(place.segment, place.offset, place.length)) == records_of(
            url, fetched_at
        )


class Team:
    """Peers and what is under way between them."""

    def __init__(
        self,
        seed: int,
        n_peers: int = 3,
        replicas: int = 2,
        make_index: Callable[[], TinyIndex | RealIndex] = TinyIndex,
        settings: CellSettings = SETTINGS,
    ) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.loss = self.duplication = 0.0
        self.n_tasks = 0
        self.on_parsed: Callable[[str], object] = str
        self.page_of: Callable[[str, int, float, bool], StoredPage] = page_of
        self.table = SlotTable({f"peer{n}": 100 for n in range(n_peers)}, SLOTS, replicas)
        self.peers = {name: Peer(name, make_index, settings) for name in self.table.peers}
        self.anchors: dict[str, tuple[str, ...]] = {}  # link texts of each page
        self.spreading: list[tuple[str, str]] = []  # which peers' frontiers will hear of which pages' texts
        self.latest: dict[str, float] = {}  # time of the newest fetch of each page
        self.gone: set[str] = set()  # pages whose newest version has no document
        self.under_way: list[tuple[Address, Address, Message]] = []
        self.tell_ownership()

    # --- What controllers do

    def slot_of(self, url: str) -> int:
        return Ownership("peer0", self.table, ()).slot_of(host_of(url))

    def owner_of(self, url: str) -> Peer:
        owner = self.table.owner_of(self.slot_of(url))
        assert owner is not None
        return self.peers[owner]

    def store(self, url: str, *, has_document: bool = True) -> None:
        """Have the owner keep a version fetched now, unless its cell still has the one before."""
        owner = self.owner_of(url)
        if owner.is_up and url not in owner.outstanding:
            owner.outstanding.add(url)
            if self.latest.get(url) == self.now:  # the same version once more
                has_document = url not in self.gone
            fetched_at = self.latest[url] = self.now
            self.gone = self.gone - {url} if has_document else self.gone | {url}
            page = self.page_of(url, self.slot_of(url), fetched_at, has_document)
            self._do(owner, Address(owner.name, "controller"), "cell", StorePage(page))

    def store_anchors(self, url: str, text: str) -> None:
        """Find one more text for a page that the owner was given before."""
        owner = self.owner_of(url)
        if owner.is_up and url in self.latest:
            self.anchors[url] = tuple(sorted({*self.anchors.get(url, ()), text}))
            self.spreading += [(name, url) for name in self.table.team_of(self.slot_of(url))]

    def _spread_texts(self) -> None:
        """Let some of the frontiers hear of texts, in any order."""
        self.random.shuffle(self.spreading)
        for _ in range((len(self.spreading) + 1) // 2):
            name, url = self.spreading.pop()
            peer = self.peers[name]
            if not peer.is_up:
                self.spreading.insert(0, (name, url))
                continue
            peer.texts[identity_of(self.slot_of(url), url)] = self.anchors[url]
            self._tell_texts(peer, url)

    def _tell_texts(self, peer: Peer, url: str) -> None:
        peer.unsure.add(url)
        changed = LinkTextsChanged(url, self.slot_of(url))
        self._do(peer, Address(peer.name, "controller"), "cell", changed)

    # --- What happens

    def step(self) -> None:
        """Deliver some message that is under way, whichever."""
        if not self.under_way:
            return
        at = self.random.randrange(len(self.under_way))
        source, target, message = self.under_way[at]
        is_remote = source.peer != target.peer
        if self.random.random() >= self.duplication:
            self.under_way.pop(at)
        if is_remote and self.random.random() < self.loss:
            return
        peer = self.peers[target.peer]
        if peer.is_up:
            self._do(peer, source, target.actor, message)

    def commit(self, name: str) -> None:
        peer = self.peers[name]
        if peer.is_up:
            for item in peer.commit():
                self._send(peer, item)

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self._spread_texts()
        for peer in self.peers.values():
            if peer.is_up and peer.node.wake_at() <= self.now:
                self._carry_out(peer, peer.node.wake(self.now))
            if peer.is_up and not peer.tasks:
                differing, peer.differing = peer.differing, []
                for other, slots in differing:
                    if self.peers[other].is_up:
                        self._synchronise(peer, other, slots)

    def crash(self, name: str) -> None:
        self.peers[name].crash()
        # What it had on its way to itself is gone; what it sent to others may still come.
        self.under_way = [item for item in self.under_way if item[1].peer != name or item[0].peer != name]
        self.tell_ownership()

    def restart(self, name: str) -> None:
        """Start a peer again; its controller takes up what its last commit says is not done."""
        peer = self.peers[name]
        peer.start()
        self.tell_ownership()
        self.now += 1.0
        for url, fetched_at in list(self.latest.items()):
            if self.owner_of(url) is peer and peer.acknowledged.get(url) != fetched_at:
                self.store(url, has_document=url not in self.gone)
        for url in sorted(peer.unsure):
            self._tell_texts(peer, url)
        for url in sorted(self.anchors):
            slot = self.slot_of(url)
            if name in self.table.team_of(slot) and identity_of(slot, url) not in peer.texts:
                self.spreading.append((name, url))  # it has lost its disk
        self._compare_with_all(peer)

    def compare(self) -> None:
        """Have all peers compare all slots with all others."""
        for peer in self.peers.values():
            self._compare_with_all(peer)

    def tell_ownership(self) -> None:
        alive = [name for name, peer in self.peers.items() if peer.is_up]
        for name in alive:
            changed = OwnershipChanged(Ownership(name, self.table, alive))
            complete = SlotsComplete(encode_slots(np.ones(SLOTS, np.bool_)))
            for actor in ("cell", "indexer"):
                self._do(self.peers[name], Address(name, "membership"), actor, changed)
                self._do(self.peers[name], Address(name, "handover"), actor, complete)

    def settle(self) -> None:
        """Let everything come to rest on a kind network."""
        self.loss = self.duplication = 0.0
        for name, peer in self.peers.items():
            if not peer.is_up:
                self.restart(name)
        for _ in range(400):
            while self.under_way:
                self.step()
            for name in self.peers:
                self.commit(name)
            if not self.under_way:
                if all(self.is_at_rest(peer) for peer in self.peers.values()):
                    return
                self.pass_time(1.0)
        raise AssertionError({name: peer.cell.observe() for name, peer in self.peers.items()})

    def is_at_rest(self, peer: Peer) -> bool:
        cell = peer.cell.observe()
        waiting = cell.pending + cell.unindexed + cell.anchors_unindexed + cell.replicas_waiting
        waiting += cell.damaged + cell.store.tasks
        is_spreading = any(name == peer.name for name, _ in self.spreading)
        return not (waiting or peer.tasks or peer.differing or is_spreading)

    # --- What handovers do

    def _shared(self, *names: str) -> SlotMask:
        """Return the slots whose teams have all of these peers."""
        shared = np.ones(SLOTS, np.bool_)
        for name in names:
            shared &= Ownership(name, self.table, ()).kept
        return shared

    def _compare_with_all(self, peer: Peer) -> None:
        for other in self.peers:
            if other != peer.name:
                self._synchronise(peer, other, encode_slots(self._shared(peer.name, other)))

    def _synchronise(self, peer: Peer, other: str, slots: bytes) -> None:
        self.n_tasks += 1
        peer.tasks[self.n_tasks] = other, slots
        order = SynchroniseSlots(self.n_tasks, other, slots, inf)
        self._do(peer, Address(peer.name, "handover"), "cell", order)

    def _hand_over(self, peer: Peer, message: Message) -> None:
        match message:
            case SlotsDiffer(other, slots):
                peer.differing.append((other, slots))
            case SlotsSynchronised(task, slots):
                other, wanted = peer.tasks.pop(task, ("", b""))
                if other and slots != wanted:
                    peer.differing.append((other, wanted))
            case SlotsFilled():
                pass
            case _:
                raise AssertionError(message)

    def _do(self, peer: Peer, source: Address, actor: str, message: Message) -> None:
        self._carry_out(peer, peer.node.receive(source, actor, message, self.now))

    def _carry_out(self, peer: Peer, outgoing: list[Outgoing]) -> None:
        for item in outgoing:
            if item.message.is_promise:
                peer.promises.append(item)
            else:
                self._send(peer, item)

    def _send(self, peer: Peer, item: Outgoing) -> None:
        source, target, message = item
        match message:
            case PageStored(url, stamp):
                peer.told[url] = max(stamp.fetched_at, peer.told.get(url, -inf))
                peer.outstanding.discard(url)
            case _ if target.actor == "handover":
                self._hand_over(peer, message)
            case PagesCommitted():
                pass  # for who folds copies, which is no matter of a team
            case AppendRecords() | AppendBulk() | ReadRecords() | ReadExtents() | RemoveSegments():
                self._answer(peer, target, peer.archive.receive(message))
            case ParseRecords(url, stamp):
                self.on_parsed(url)
                parsed = RecordsParsed(url, stamp, self.page_of(url, 0, stamp.fetched_at, True).document)
                self._answer(peer, target, [("cell", parsed)])
            case _ if target.actor == "segments":
                self._answer(peer, target, peer.index.receive(message))
            case _:
                self.under_way.append((source, target, message))

    def _answer(self, peer: Peer, port: Address, answers: list[tuple[str, Message]]) -> None:
        for actor, answer in answers:
            if actor != "controller":
                self.under_way.append((port, Address(peer.name, actor), answer))


def records_of(url: str, fetched_at: float) -> bytes:
    return f"{url} at {fetched_at}".encode()


def page_of(url: str, slot: int, fetched_at: float, has_document: bool = True) -> StoredPage:
    """One without a document is gone, or does not want to be found, by the second that it was fetched in."""
    document = Document(url, title="t", text="x", fetched_at=fetched_at)
    status = 404 if int(fetched_at) % 2 and not has_document else 200
    return StoredPage(
        url, slot, fetched_at, status, records_of(url, fetched_at), document if has_document else None
    )
