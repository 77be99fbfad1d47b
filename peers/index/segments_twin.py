"""What a commit does to an index, and the port "segments" of a simulation, which does it at once."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

import msgspec

from mesh.actor import Message
from mesh.document import Document
from mesh.errors import LocalProtocolError
from mesh.linkers import with_anchors
from mesh.messages import Excerpt, FacetCounts, Hit
from mesh.slot_set import NO_SLOTS, SlotMask, decode_any_slots, decode_slots, encode_slots
from peers.engine.adoption import check_segment
from peers.engine.index import Index
from peers.engine.query import Query
from peers.engine.ranking import Statistics
from peers.engine.segment import CorruptIndexError, DamagedSegmentError
from peers.engine.snapshot import Place, Snapshot
from peers.index.indexer import Slots
from peers.index.messages import (
    AdoptDocuments,
    CommitDocuments,
    DocumentsAdopted,
    DocumentsCommitted,
    DocumentsExported,
    ExportDocuments,
    GiveUpSegment,
    NextDocuments,
    SlotsDamaged,
    SlotsRepaired,
    StopExport,
)


def commit_documents(index: Index, order: CommitDocuments) -> int:
    """Delete, add or replace documents, give others their new link texts, commit; return the generation.

    Documents of which a newer version is there are left out: it has come another way meanwhile. Link texts
    of a page that is not in the index are left out: the cell sends them only after the page, so this is a
    page that is not to be indexed.

    Raises:
      OSError: nothing changed for readers; the order may be given again.
      DamagedSegmentError: nothing changed; give the segment up and repeat the order.
    """
    changed = _with_new_anchors(index, order)
    if order.forgotten:
        index.delete_slots(order.forgotten)
    if order.removed:
        index.delete(order.removed)
    versions = index.versions([document.url.encode(errors="replace") for _, document in order.documents])
    documents = [
        item
        for item, version in zip(order.documents, versions.tolist(), strict=True)
        if not version > item[1].fetched_at  # NaN when there is none
    ]
    index.add([*documents, *changed])
    return index.commit()


class Exporting:
    """An export of the documents that are committed when it is made, part by part."""

    def __init__(
        self, snapshot: Snapshot, damaged: SlotMask, order: ExportDocuments, slot_count: int
    ) -> None:
        """Begin; `damaged` are the slots of which documents were lost."""
        self._ticket = order.ticket
        self._slots = decode_slots(order.slots, slot_count)
        self._damaged = damaged[:slot_count]
        self._export = snapshot.export(self._slots)
        self._number = 0

    def next(self) -> DocumentsExported:
        """Make the next part; after the last one there is none."""
        content = next(self._export, b"")
        number, self._number = self._number, self._number + 1
        if content:
            return DocumentsExported(self._ticket, number, content, False)
        lacking = self._slots & self._damaged
        for damage in self.damage:
            lacking[damage.slots] |= self._slots[damage.slots]
        left_out = tuple(self._export.left_out)
        return DocumentsExported(self._ticket, number, b"", True, left_out, encode_slots(lacking))

    @property
    def damage(self) -> Sequence[DamagedSegmentError]:
        """What segments turned out to be damaged so far."""
        return self._export.damaged


def _with_new_anchors(index: Index, order: CommitDocuments) -> list[tuple[int, Document]]:
    if not order.anchors:
        return []
    in_batch = {document.url: document for _, document in order.documents}
    deleted, forgotten = set(order.removed), set(order.forgotten)
    committed = index.snapshot().everything()
    changed: list[tuple[int, Document]] = []
    for slot, url, anchors in order.anchors:
        document = in_batch.get(url)
        if document is None and slot not in forgotten and url not in deleted:
            document = committed.stored(url)
        linked = None if document is None else with_anchors(document, anchors)
        if linked is not None and linked is not document:
            changed.append((slot, linked))
    return changed


class SegmentsTwin:
    """Takes the messages of the port and returns its answers, each with the actor it is for."""

    def __init__(self, index: Index, slot_count: int) -> None:
        """Commit to an index in memory (`Index(MemoryStorage())`) of a mesh with so many slots."""
        self._index = index
        self._slot_count = slot_count
        self._exports: dict[int, Exporting] = {}

    def begin(self) -> list[tuple[str, Message]]:
        """What the port says when it starts to run."""
        return damage_told(self._index.damaged, self._slot_count)

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        try:
            return self._carry_out(message)
        except DamagedSegmentError as damage:
            return [*self._give_up(damage.segment), *self.receive(message)]

    def _carry_out(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case CommitDocuments():
                generation = commit_documents(self._index, message)
                self._index.merge_if_needed()
                return [("indexer", DocumentsCommitted(message.batch, generation))]
            case ExportDocuments(ticket):
                snapshot, damaged = self._index.snapshot(), self._index.damaged
                self._exports[ticket] = Exporting(snapshot, damaged, message, self._slot_count)
                return self._export(ticket)
            case NextDocuments(ticket):
                return self._export(ticket)
            case StopExport(ticket):
                self._exports.pop(ticket, None)
                return []
            case AdoptDocuments(ticket, slots, content):
                try:
                    segment = check_segment(content, decode_slots(slots, self._slot_count))
                except CorruptIndexError:
                    return [("cell", DocumentsAdopted(ticket, self._index.generation, ()))]
                pages = self._index.adopt_checked(segment)
                return [("cell", DocumentsAdopted(ticket, self._index.commit(), tuple(pages)))]
            case GiveUpSegment(segment):
                told = self._give_up(segment)
                return told or [("indexer", SlotsDamaged(NO_SLOTS))]
            case SlotsRepaired(slots):
                self._index.mend(decode_slots(slots, self._slot_count))
                return []
        raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    def _give_up(self, segment: str) -> list[tuple[str, Message]]:
        return damage_told(self._index.put_aside(segment), self._slot_count)

    def _export(self, ticket: int) -> list[tuple[str, Message]]:
        export = self._exports.get(ticket)
        if export is None:
            return []
        part = export.next()
        told: list[tuple[str, Message]] = [("cell", part)]
        if part.is_last:
            del self._exports[ticket]
            for damage in export.damage:
                told += self._give_up(damage.segment)
        return told


def damage_told(slots: SlotMask, slot_count: int) -> list[tuple[str, Message]]:
    """Return who is told that documents of these slots were lost; nobody when there are none."""
    if not slots.any():
        return []
    told = SlotsDamaged(encode_slots(slots[:slot_count]))
    return [("indexer", told), ("cell", told)]


_NO_LENGTHS: Final = (0, 0, 0, 0, 0)
_EXPORTED_MAX: Final = 1_000  # pages in one part of an export

_Pages = list[tuple[int, str, float]]  # slot, URL, time of fetch


class CountingIndex:
    """For large simulations: an index and its port in one, which knows URLs and finds nothing.

    It is its own `indexer.IndexView` and `indexer.SlotsView`. What it exports are the encoded URLs.
    """

    def __init__(self) -> None:
        self.urls: dict[str, float] = {}  # in the index, with the time of fetch, in order of coming
        self.slots: dict[str, int] = {}  # of each of these
        self.generation = 0
        self._exports: dict[int, tuple[int, _Pages]] = {}  # number and pages of what is to be exported next

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case CommitDocuments():
                self._commit(message)
                return [("indexer", DocumentsCommitted(message.batch, self.generation))]
            case ExportDocuments(ticket, slots):
                wanted = decode_any_slots(slots)
                pages = [(self.slots[url], url, at) for url, at in self.urls.items()]
                self._exports[ticket] = 0, [page for page in pages if wanted[page[0]]]
                return self._export(ticket)
            case NextDocuments(ticket):
                return self._export(ticket)
            case StopExport(ticket):
                self._exports.pop(ticket, None)
                return []
            case AdoptDocuments(ticket, slots, content):
                adopted = self._adopt(content, decode_any_slots(slots))
                return [("cell", DocumentsAdopted(ticket, self.generation, adopted))]
            case SlotsRepaired():
                return []
        raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    def _commit(self, order: CommitDocuments) -> None:
        forgotten = set(order.forgotten)
        gone = [url for url, slot in self.slots.items() if slot in forgotten] if forgotten else []
        for url in (*gone, *order.removed):
            self.urls.pop(url, None)
            self.slots.pop(url, None)
        for slot, document in order.documents:
            self._add(slot, document.url, document.fetched_at)
        self.generation += 1

    def _add(self, slot: int, url: str, fetched_at: float) -> None:
        self.urls[url] = max(fetched_at, self.urls.get(url, fetched_at))
        self.slots[url] = slot

    def _export(self, ticket: int) -> list[tuple[str, Message]]:
        number, pages = self._exports.pop(ticket, (0, None))
        if pages is None:
            return []
        if not pages:
            return [("cell", DocumentsExported(ticket, number, b"", True))]
        self._exports[ticket] = number + 1, pages[_EXPORTED_MAX:]
        content = msgspec.msgpack.encode(pages[:_EXPORTED_MAX])
        return [("cell", DocumentsExported(ticket, number, content, False))]

    def _adopt(self, content: bytes, slots: SlotMask) -> tuple[tuple[str, float], ...]:
        try:
            pages = msgspec.msgpack.decode(content, type=_Pages)
        except msgspec.DecodeError:
            return ()
        if not all(0 <= slot < len(slots) and slots[slot] for slot, _, _ in pages):
            return ()
        for slot, url, fetched_at in pages:
            self._add(slot, url, fetched_at)
        self.generation += 1
        return tuple((url, fetched_at) for _, url, fetched_at in pages)

    def over(self, slots: Slots) -> CountingIndex:
        return self

    def statistics(self, terms: Sequence[str]) -> Statistics:
        return Statistics(0, _NO_LENGTHS, {})

    def search(
        self,
        query: Query,
        statistics: Statistics,
        k: int,
        after: Place | None = None,
        floor: float = -inf,
    ) -> tuple[int, bool, list[Hit]]:
        return 0, True, []

    def facets(self, query: Query) -> FacetCounts:
        return FacetCounts()

    def excerpts(
        self, query: Query, urls: Sequence[str], explained_by: Statistics | None = None
    ) -> list[Excerpt]:
        return []
