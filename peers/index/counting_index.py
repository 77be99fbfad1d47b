"""An index for large simulations that counts documents and finds nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from mesh.actors.actor import Message
from mesh.errors import LocalProtocolError
from mesh.slot_set import SlotMask, decode_any_slots
from mesh.stamp import BEFORE_ALL, Stamp
from peers.engine.matching.segment_search import Place
from peers.engine.queries.query import Query
from peers.engine.searching.effort import Effort
from peers.engine.searching.ranking import CollectionStatistics
from peers.index.messages import (
    AdoptDocuments,
    CommitDocuments,
    DocumentsAdopted,
    DocumentsCommitted,
    DocumentsExported,
    ExportDocuments,
    NextDocuments,
    PastSettled,
    SettlePast,
    SlotsRepaired,
    StopExport,
)
from peers.index.wire_messages import Completed, Excerpt, FacetCounts, Hit, Similar

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel
    from peers.engine.pages.past import TimeSpan

_NO_LENGTHS: Final = (0, 0, 0, 0, 0)
_EXPORTED_MAX: Final = 1_000  # pages in one part of an export

_Pages = list[tuple[int, str, Stamp]]  # slot, URL, version


class CountingIndex:
    """For large simulations: an index and its port in one, which knows URLs and finds nothing.

    It is its own `answerer.IndexView` and `answerer.SlotsView`. What it exports are the encoded URLs.
    """

    def __init__(self) -> None:
        self.urls: dict[str, Stamp] = {}  # in the index, with their versions, in order of coming
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
                pages = [(self.slots[url], url, stamp) for url, stamp in self.urls.items()]
                self._exports[ticket] = 0, [page for page in pages if wanted[page[0]]]
                return self._export(ticket)
            case NextDocuments(ticket):
                return self._export(ticket)
            case StopExport(ticket):
                self._exports.pop(ticket, None)
                return []
            case AdoptDocuments(ticket, slots, content, removed):
                adopted = self._adopt(content, decode_any_slots(slots), dict(removed))
                return [("cell", DocumentsAdopted(ticket, self.generation, adopted))]
            case SlotsRepaired():
                return []
            case SettlePast(pages):
                return [("cell", PastSettled(tuple((page.url, ()) for page in pages)))]
        raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    def _commit(self, order: CommitDocuments) -> None:
        forgotten = set(order.forgotten)
        gone = [url for url, slot in self.slots.items() if slot in forgotten] if forgotten else []
        gone += [url for url, stamp in order.removed if url in self.urls and self.urls[url] <= stamp]
        for url in gone:
            self.urls.pop(url, None)
            self.slots.pop(url, None)
        for slot, document in order.documents:
            self._add(slot, document.url, document.stamp)
        self.generation += 1

    def _add(self, slot: int, url: str, stamp: Stamp) -> None:
        self.urls[url] = max(stamp, self.urls.get(url, stamp))
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

    def _adopt(
        self, content: bytes, slots: SlotMask, removed: Mapping[str, Stamp]
    ) -> tuple[tuple[str, Stamp], ...]:
        try:
            pages = msgspec.msgpack.decode(content, type=_Pages)
        except msgspec.DecodeError:
            return ()
        if not all(0 <= slot < len(slots) and slots[slot] for slot, _, _ in pages):
            return ()
        pages = [page for page in pages if page[2] > removed.get(page[1], BEFORE_ALL)]
        for slot, url, stamp in pages:
            self._add(slot, url, stamp)
        self.generation += 1
        return tuple((url, stamp) for _, url, stamp in pages)

    def over(self, slots: SlotMask, span: TimeSpan | None = None) -> CountingIndex:
        return self

    def take_classes(self, classes: ClassModel | None) -> None:
        """No document has a text by which it could be in one."""

    def class_documents(self) -> None:
        """Nothing is to be found out."""

    def statistics(self, terms: Sequence[str], effort: Effort | None = None) -> CollectionStatistics:
        return CollectionStatistics(0, _NO_LENGTHS, {})

    def search(
        self,
        query: Query,
        statistics: CollectionStatistics,
        k: int,
        after: Place | None = None,
        floor: float = -inf,
        effort: Effort | None = None,
    ) -> tuple[int, bool, list[Hit]]:
        return 0, True, []

    def facets(self, query: Query, effort: Effort | None = None) -> FacetCounts:
        return FacetCounts()

    def similar_words(
        self, typed: str, beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[Similar], bool]:
        return [], False

    def counted_words(
        self, typed: str, words: Sequence[str], beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[Similar], bool]:
        return [], False

    def completions(self, typed: str, effort: Effort) -> list[Completed]:
        return []

    def excerpts(
        self,
        query: Query,
        urls: Sequence[str],
        explained_by: CollectionStatistics | None = None,
        effort: Effort | None = None,
        name: str = "",
        defined: str = "",
        *,
        wants_words: bool = False,
    ) -> list[Excerpt]:
        return []
