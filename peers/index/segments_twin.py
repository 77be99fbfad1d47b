"""What a commit does to an index, and the port "segments" of a simulation, which does it at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from mesh.actor import Message
from mesh.document import Document
from mesh.errors import LocalProtocolError
from mesh.messages import Excerpt, Hit
from peers.index.index import Index
from peers.index.indexer import Slots
from peers.index.messages import CommitDocuments, DocumentsCommitted
from peers.index.query import Query
from peers.index.ranking import Statistics
from peers.index.segment import CorruptIndexError


def commit_documents(index: Index, order: CommitDocuments) -> int:
    """Add or replace the documents, give others their new link texts, commit; return the generation.

    Link texts of a page that is not in the index are left out: the cell sends them only after the page,
    so this is a page that is not to be indexed.

    Raises:
      OSError: nothing changed for readers; the order may be given again.
    """
    index.add([*order.documents, *_with_new_anchors(index, order)])
    return index.commit()


def _with_new_anchors(index: Index, order: CommitDocuments) -> list[tuple[int, Document]]:
    if not order.anchors:
        return []
    in_batch = {document.url: document for _, document in order.documents}
    committed = index.snapshot().everything()
    changed: list[tuple[int, Document]] = []
    for slot, url, anchors in order.anchors:
        try:
            document = in_batch.get(url) or committed.stored(url)
        except CorruptIndexError:
            continue  # what it has stays as it is
        if document is not None and document.anchors != anchors:
            changed.append((slot, msgspec.structs.replace(document, anchors=anchors)))
    return changed


class SegmentsTwin:
    """Takes the messages of the port and returns its answers, each with the actor it is for."""

    def __init__(self, index: Index) -> None:
        """Commit to an index in memory (`Index(MemoryStorage())`)."""
        self._index = index

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case CommitDocuments():
                generation = commit_documents(self._index, message)
                self._index.merge_if_needed()
                return [("indexer", DocumentsCommitted(message.batch, generation))]
        raise LocalProtocolError(f"segments does not understand {type(message).__name__}")


_NO_LENGTHS: Final = (0, 0, 0, 0, 0)


class CountingIndex:
    """For large simulations: an index and its port in one, which knows URLs and finds nothing.

    It is its own `indexer.IndexView` and `indexer.SlotsView`.
    """

    def __init__(self) -> None:
        self.urls: dict[str, float] = {}  # in the index, with the time of fetch, in order of coming
        self.generation = 0

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case CommitDocuments(batch, documents):
                for _, document in documents:
                    self.urls[document.url] = document.fetched_at
                self.generation += 1
                return [("indexer", DocumentsCommitted(batch, self.generation))]
        raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    def over(self, slots: Slots) -> CountingIndex:
        return self

    def statistics(self, terms: Sequence[str]) -> Statistics:
        return Statistics(0, _NO_LENGTHS, {})

    def search(self, query: Query, statistics: Statistics, k: int) -> tuple[int, list[Hit]]:
        return 0, []

    def excerpts(self, query: Query, urls: Sequence[str]) -> list[Excerpt]:
        return []
