"""The committed part of an index as the indexer searches it: an `indexer.IndexView`."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from mesh.messages import EXPLANATION_BYTES_MAX, Excerpt, FacetCounts, Hit
from peers.index.explanation import explain
from peers.index.features import features_of_best
from peers.index.index import Index
from peers.index.indexer import Slots
from peers.index.model import MODEL_DEPTH
from peers.index.query import Order, Query
from peers.index.ranking import Statistics
from peers.index.snapshot import Place, Snapshot
from peers.index.snippet import SearchedText, highlights_of, snippet_of

TITLE_CHARS_MAX: Final = 1_000  # as `messages.Excerpt` takes
TYPE_CHARS_MAX: Final = 255  # as well
# Pages shown before are shown again: reading one from its block and folding it takes half of the time
# of an excerpt. About 20 MB.
PAGES_CACHED_MAX: Final = 1_000


class ShownPage(NamedTuple):
    """What excerpts are made of."""

    title: str
    text: SearchedText
    fetched_at: float
    date: float
    type: str
    language: str


class IndexReader:
    """Reads an index that a port commits to."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._shown: OrderedDict[str, ShownPage] = OrderedDict()  # by URL, the latest last
        self._shown_generation = -1

    def over(self, slots: Slots) -> SnapshotReader:
        """Return the documents of the slots that are True, as of the last commit."""
        return SnapshotReader(self, self._index.snapshot(), slots)

    def shown(self, generation: int, url: str) -> ShownPage | None:
        """A page that was remembered in this generation."""
        if generation != self._shown_generation:
            self._shown.clear()
            self._shown_generation = generation
        page = self._shown.get(url)
        if page is not None:
            self._shown.move_to_end(url)
        return page

    def remember(self, url: str, page: ShownPage) -> None:
        """Remember a page of the generation that `shown` was asked for last."""
        self._shown[url] = page
        if len(self._shown) > PAGES_CACHED_MAX:
            self._shown.popitem(last=False)


class SnapshotReader:
    """Reads the documents of some slots at one commit: an `indexer.SlotsView`."""

    def __init__(self, reader: IndexReader, snapshot: Snapshot, slots: Slots) -> None:
        self.generation = snapshot.generation
        self._reader = reader
        self._view = snapshot.responsible(slots)

    def statistics(self, terms: Sequence[str]) -> Statistics:
        return self._view.statistics(terms)

    def search(
        self, query: Query, statistics: Statistics, k: int, after: Place | None = None
    ) -> tuple[int, bool, list[Hit]]:
        total, is_exact, best = self._view.best(query, statistics, k, after=after)
        # What is asked for behind a place, or by date, is not ordered by the model.
        n_candidates = MODEL_DEPTH if after is None and query.order is Order.SCORE else 0
        features = features_of_best(query, statistics, best[:n_candidates])
        found = [Hit(hit.url, hit.score, each) for hit, each in zip(best, features, strict=False)]
        return total, is_exact, found + [Hit(hit.url, hit.score) for hit in best[n_candidates:]]

    def facets(self, query: Query) -> FacetCounts:
        return self._view.facets(query).counts()

    def excerpts(
        self, query: Query, urls: Sequence[str], explained_by: Statistics | None = None
    ) -> list[Excerpt]:
        found = (self._excerpt(query, url) for url in urls)
        excerpts = [excerpt for excerpt in found if excerpt is not None]
        if explained_by is None:
            return excerpts
        return [self._explained(excerpt, query, explained_by) for excerpt in excerpts]

    def _explained(self, excerpt: Excerpt, query: Query, statistics: Statistics) -> Excerpt:
        """Add where the score of a page comes from; nothing when that is longer than may be sent."""
        document = self._view.stored(excerpt.url)
        if document is None:
            return excerpt
        explanation = msgspec.msgpack.encode(explain(document, query, statistics))
        fits = len(explanation) <= EXPLANATION_BYTES_MAX
        return msgspec.structs.replace(excerpt, explanation=explanation if fits else b"")

    def _excerpt(self, query: Query, url: str) -> Excerpt | None:
        page = self._reader.shown(self.generation, url) or self._read(url)
        if page is None:
            return None
        snippet = snippet_of(page.text, query)
        marks = highlights_of(page.title, query)
        return Excerpt(
            url,
            page.title,
            snippet.text,
            snippet.highlights,
            marks,
            page.fetched_at,
            page.date,
            page.type,
            page.language,
        )

    def _read(self, url: str) -> ShownPage | None:
        document = self._view.stored(url)
        if document is None:
            return None
        page = ShownPage(
            document.title[:TITLE_CHARS_MAX],
            SearchedText(document.text),
            document.fetched_at,
            document.date,
            document.type[:TYPE_CHARS_MAX],
            document.language[:TYPE_CHARS_MAX],
        )
        self._reader.remember(url, page)
        return page
