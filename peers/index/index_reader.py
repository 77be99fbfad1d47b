"""The committed part of an index as the indexer searches it: an `indexer.IndexView`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mesh.messages import Excerpt, Hit
from peers.index.index import Index
from peers.index.indexer import Slots
from peers.index.query import Query
from peers.index.ranking import Statistics
from peers.index.segment import CorruptIndexError
from peers.index.snapshot import Snapshot
from peers.index.snippet import highlights_of, snippet_of

TITLE_CHARS_MAX: Final = 1_000  # as `messages.Excerpt` takes


class IndexReader:
    """Reads an index that a port commits to."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self.unreadable = 0  # documents whose stored form is damaged

    def over(self, slots: Slots) -> SnapshotReader:
        """Return the documents of the slots that are True, as of the last commit."""
        return SnapshotReader(self, self._index.snapshot(), slots)


class SnapshotReader:
    """Reads the documents of some slots at one commit: an `indexer.SlotsView`."""

    def __init__(self, reader: IndexReader, snapshot: Snapshot, slots: Slots) -> None:
        self.generation = snapshot.generation
        self._reader = reader
        self._view = snapshot.responsible(slots)

    def statistics(self, terms: Sequence[str]) -> Statistics:
        return self._view.statistics(terms)

    def search(self, query: Query, statistics: Statistics, k: int) -> tuple[int, list[Hit]]:
        total, hits = self._view.search(query, statistics, k)
        return total, [Hit(hit.url, hit.score) for hit in hits]

    def excerpts(self, query: Query, urls: Sequence[str]) -> list[Excerpt]:
        found = (self._excerpt(query, url) for url in urls)
        return [excerpt for excerpt in found if excerpt is not None]

    def _excerpt(self, query: Query, url: str) -> Excerpt | None:
        try:
            document = self._view.stored(url)
        except CorruptIndexError:
            self._reader.unreadable += 1
            return None
        if document is None:
            return None
        title = document.title[:TITLE_CHARS_MAX]
        snippet = snippet_of(document.text, query)
        return Excerpt(
            url, title, snippet.text, snippet.highlights, highlights_of(title, query), document.fetched_at
        )
