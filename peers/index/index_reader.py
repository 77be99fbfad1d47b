"""The committed part of an index as the indexer searches it: an `answerer.IndexView`. Any thread may."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from math import inf
from struct import pack
from sys import getsizeof
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import numpy as np
from xxhash import xxh3_128_digest

from mesh.slot_set import SlotMask
from peers.engine.excerpts.sections import Outline, Section
from peers.engine.excerpts.snippet import (
    SEARCHED_CHARS_MAX,
    SearchedText,
    Snippet,
    highlights_of,
    searched_chars,
    snippet_of,
)
from peers.engine.excerpts.synopsis import has_synopsis, synopsis_of
from peers.engine.files.errors import DamagedSegmentError
from peers.engine.index import Index
from peers.engine.matching.segment_search import Place
from peers.engine.mending.similar_words import SimilarWord
from peers.engine.pages.document import Document
from peers.engine.pages.kinds import LISTING
from peers.engine.pages.near_copies import SKETCH_BYTES
from peers.engine.pages.suggested_texts import names_of
from peers.engine.queries.query import Query, Sort
from peers.engine.rescoring.explanation import explain_indexed
from peers.engine.rescoring.features import features_of_best
from peers.engine.rescoring.model import MODEL_DEPTH
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.engine.searching.ranking import CollectionStatistics
from peers.engine.segments.live_segment import keep
from peers.engine.segments.segment import Segment
from peers.engine.snapshot import Best, Snapshot, View
from peers.index.facet_counts import facet_counts
from peers.index.sized_cache import SizedCache
from peers.index.wire_messages import (
    EXPLANATION_BYTES_MAX,
    WORDS_MAX,
    Completed,
    Excerpt,
    FacetCounts,
    Hit,
    ListedEntry,
    Similar,
)

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel
    from peers.engine.pages.past import TimeSpan
    from peers.engine.past_index import Repeats

TITLE_CHARS_MAX: Final = 1_000  # as `wire_messages.Excerpt` takes
SECTION_ID_CHARS_MAX: Final = 200  # likewise; not every document was parsed here
TYPE_CHARS_MAX: Final = 255  # as well
PUBLISHED_CHARS_MAX: Final = 40
SNIPPET_CHARS_MAX: Final = 4_000
# Pages shown before are shown again, and neighbours of them: reading a block takes 80 us, the rest of an
# excerpt as much. Some 2,000 pages of documentation, and 300 blocks; with these 56 of 100 blocks that 1,000
# distinct queries want are there.
SHOWN_BYTES_MAX: Final = 20 << 20
KEPT_BLOCKS_BYTES_MAX: Final = 20 << 20
# Excerpts are asked for of what was found a moment before: a hit of 64 bytes is found 60 us faster.
FOUND_MAX: Final = 4_096
PAST_VIEWS_KEPT: Final = 2  # each has norms of its own: 48 bytes for each document of the index
# What it costs to read a page, in visits; looking through its text comes after that.
PAGE_VISITS: Final = 5_000
# Explaining a score costs, for each entry that scores: 4 to 6 us.
EXPLAINED_VISITS: Final = 300
# Measuring the features of a hit costs, for each entry that scores: 2 to 6 us.
FEATURES_VISITS: Final = 200
_NO_SKETCH: Final = bytes(SKETCH_BYTES)
DEFINED_CHARS_A_VISIT: Final = 16  # .8 ns a character to look for a term, by 12 to 26 ns a visit
WORDS_VISITS_A_CHAR: Final = 40  # to cut Chinese into words
WORDS_CHARS_MAX: Final = 2_000  # of a page, by which its words are weighed
# Commits of an index in its life, before what stands for its classes; both together fit 63 bits.
_GENERATION_BITS: Final = 22


class ShownPage(NamedTuple):
    """The parts of a page that excerpts are made of.

    The text is folded anew for each: for a page of usual size that takes 7 us, and to keep it folded as well
    takes six times the memory.
    """

    title: SearchedText
    text: str  # as much as is searched, and one character if there is more
    fetched_at: float
    date: float
    published: str
    type: str
    language: str
    outline: Outline
    beside: str  # text around the main text, where a synopsis may be
    names: tuple[str, ...]

    @property
    def size_bytes(self) -> int:
        """About how many bytes it takes in memory."""
        title = 10 * len(self.title.text)  # once it has been folded
        return 1_000 + title + getsizeof(self.text) + self.outline.size_bytes + getsizeof(self.beside)


class IndexReader:
    """Reads an index that a port commits to; remembers the pages it has read of its present generation."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._remembered = _Remembered(-1)
        self._classes: ClassModel | None = None
        self._past_views: dict[bytes, View] = {}  # those used last behind
        self._repeats: Repeats | None = None  # made with the first of them

    def over(self, slots: SlotMask, span: TimeSpan | None = None) -> SnapshotReader:
        """Return the documents of the slots that are True, as of the last commit, or of a span."""
        snapshot, generation, past = self._index.snapshot(), 0, None
        if (replaced := self._index.replaced) is not None:
            past = replaced.snapshot()
            generation = past.generation
        generation += snapshot.generation  # both only grow
        remembered = self._remembered
        if remembered.generation != generation:
            remembered = self._remembered = _Remembered(generation)
        if span is None:
            view = snapshot.responsible(slots, self._classes)
        else:
            view = self._view_of_span(snapshot, past, slots, span)
        return SnapshotReader(remembered, view, generation, self._classes)

    def _view_of_span(
        self, present: Snapshot, past: Snapshot | None, slots: SlotMask, span: TimeSpan
    ) -> View:
        """Return a view of other versions, in which norms and documents are kept apart from those of now."""
        from peers.engine.past_index import Repeats, view_of_span

        classes = self._classes
        generations = present.generation, past.generation if past else -1
        key = pack(">qqdd", *generations, *span) + xxh3_128_digest(slots.data)
        key += classes.digest if classes else b""
        view = self._past_views.pop(key, None)
        if view is None:
            self._repeats = self._repeats or Repeats()
            view = view_of_span(present, past, slots, span, classes, self._repeats)
        keep(self._past_views, key, view, PAST_VIEWS_KEPT)
        return view

    def take_classes(self, classes: ClassModel | None) -> None:
        """Let documents be in these classes from now on."""
        self._classes = classes

    def class_documents(self) -> None:
        """Find out which of those committed are in which."""
        if (classes := self._classes) is None:
            return
        from peers.engine.matching.page_classes import classes_of

        for each in self._index.snapshot().segments:
            with suppress(DamagedSegmentError):  # a question that needs it meets it again
                classes_of(each.segment, classes)


class _Remembered:
    """The pages read of one generation. Threads may race: at worst something is read twice."""

    def __init__(self, generation: int) -> None:
        self.generation = generation
        self.shown = SizedCache[str, ShownPage](SHOWN_BYTES_MAX)  # by URL
        self.blocks = SizedCache[tuple[str, int], list[msgspec.Raw]](KEPT_BLOCKS_BYTES_MAX)  # by their place
        self.found: dict[str, tuple[Segment, int]] = {}  # where the pages of these URLs are

    def note_found(self, pages: Sequence[Best]) -> None:
        """Remember where pages are for a while; those forgotten are looked for."""
        if len(self.found) > FOUND_MAX:
            self.found.clear()
        for page in pages:
            self.found[page.url] = page.view.segment, page.document


class SnapshotReader:
    """Reads the documents of some slots at one commit: an `answerer.SlotsView`."""

    def __init__(self, reader: _Remembered, view: View, generation: int, classes: ClassModel | None) -> None:
        self.generation = generation
        if classes is not None:  # by others it answers otherwise, as by another commit
            self.generation += int.from_bytes(classes.digest[:5]) << _GENERATION_BITS
        self._reader = reader
        self._view = view

    def statistics(self, terms: Sequence[str], effort: Effort | None = None) -> CollectionStatistics:
        return self._view.statistics(terms, effort)

    def search(
        self,
        query: Query,
        statistics: CollectionStatistics,
        k: int,
        after: Place | None = None,
        floor: float = -inf,
        effort: Effort | None = None,
    ) -> tuple[int, bool, list[Hit]]:
        total, is_exact, best = self._view.best(query, statistics, k, after=after, floor=floor, effort=effort)
        self._reader.note_found(best)
        # What is asked for behind a place, or by date, is not ordered by the model.
        n_candidates = min(MODEL_DEPTH, len(best)) if after is None and query.order is Sort.SCORE else 0
        if effort is not None and n_candidates:
            try:
                effort.spend(n_candidates * len(query.scoring) * FEATURES_VISITS)
            except EffortSpentError:
                n_candidates = 0
        features = features_of_best(query, statistics, best[:n_candidates])
        features += [()] * (len(best) - n_candidates)
        return total, is_exact, _hits(best, features)

    def facets(self, query: Query, effort: Effort | None = None) -> FacetCounts:
        return facet_counts(self._view.facets(query, effort))

    def similar_words(
        self, typed: str, beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[Similar], bool]:
        found, is_cut = self._view.similar_words(typed, beside, effort)
        return list(map(_similar, found)), is_cut

    def counted_words(
        self, typed: str, words: Sequence[str], beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[Similar], bool]:
        found, is_short = self._view.counted_words(typed, words, beside, effort)
        return list(map(_similar, found)), is_short

    def completions(self, typed: str, effort: Effort) -> list[Completed]:
        return [Completed(*each) for each in self._view.completions(typed, effort)]

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
        effort = effort or Effort()
        excerpts: list[Excerpt] = []
        try:
            pages = self._pages(urls, effort)
            for url in (url for url in urls if url in pages):
                excerpt = _excerpt(query, url, pages[url], effort, name)
                if defined:
                    excerpt = _with_definition(excerpt, defined, pages[url], effort)
                if wants_words:
                    excerpt = _with_words(excerpt, pages[url], effort)
                excerpts.append(excerpt)
            if explained_by is not None:
                excerpts = self._explained(excerpts, query, explained_by, effort)
        except EffortSpentError:
            pass  # these are those that could be made
        return excerpts

    def _explained(
        self, excerpts: Sequence[Excerpt], query: Query, statistics: CollectionStatistics, effort: Effort
    ) -> list[Excerpt]:
        """Add where scores come from, as far as the effort goes; nothing where it is too long to be sent."""
        told: dict[str, bytes] = {}
        urls: list[str] = []
        with suppress(EffortSpentError):
            for excerpt in excerpts:
                effort.spend(EXPLAINED_VISITS * len(query.scoring))
                urls.append(excerpt.url)
        for view, documents, places in self._view.located(urls):
            explanations = explain_indexed(view.segment, documents, query, statistics)
            for place, explanation in zip(places.tolist(), explanations, strict=True):
                encoded = msgspec.msgpack.encode(explanation)
                told[urls[place]] = encoded if len(encoded) <= EXPLANATION_BYTES_MAX else b""
        return [
            msgspec.structs.replace(excerpt, explanation=told.get(excerpt.url, b"")) for excerpt in excerpts
        ]

    def _pages(self, urls: Sequence[str], effort: Effort) -> dict[str, ShownPage]:
        """Return the parts of these pages that excerpts are made of, as far as they are here."""
        shown = {url: self._reader.shown.find(url) for url in urls}
        pages = {url: page for url, page in shown.items() if page is not None}
        for url, segment, document in self._located([url for url in shown if url not in pages]):
            effort.spend(PAGE_VISITS)
            stored = _decode_document(self._encoded(segment, document))
            page = pages[url] = _shown_page(stored, self._view.shown_title(stored))
            self._reader.shown.keep(url, page, page.size_bytes)
        return pages

    def _located(self, urls: Sequence[str]) -> Iterator[tuple[str, Segment, int]]:
        """Yield where pages are; those that were not found lately are looked for in all segments."""
        others = []
        for url in urls:
            place = self._reader.found.get(url)
            if place is not None and self._view.holds(*place):
                yield url, *place
            else:
                others.append(url)
        for view, documents, places in self._view.located(others) if others else ():
            for document, place in zip(documents.tolist(), places.tolist(), strict=True):
                yield others[place], view.segment, document

    def _encoded(self, segment: Segment, document: int) -> msgspec.Raw:
        """Return a stored document. DamagedSegmentError."""
        number = int(np.searchsorted(segment.block_documents, document, "right")) - 1
        block = self._reader.blocks.find((segment.name, number))
        if block is None:
            block = segment.block(number)
            size_bytes = sum(memoryview(each).nbytes for each in block)
            self._reader.blocks.keep((segment.name, number), block, size_bytes)
        return block[document - int(segment.block_documents[number])]


def _hits(best: Sequence[Best], features: Sequence[tuple[float, ...]]) -> list[Hit]:
    """Return the pages found as they are told; of those of a segment the columns are read at once."""
    contents, sketches, copies = [0] * len(best), [b""] * len(best), [0] * len(best)
    of_views: dict[int, list[int]] = {}
    for place, page in enumerate(best):
        of_views.setdefault(id(page.view), []).append(place)
    for places in of_views.values():
        view = best[places[0]].view
        documents = np.array([best[place].document for place in places], np.int64)
        of_contents = view.segment.contents[documents].tolist()
        of_copies = view.live.copies[documents].tolist()
        rows = view.segment.sketches[documents].tobytes()
        for number, place in enumerate(places):
            contents[place], copies[place] = of_contents[number], max(0, of_copies[number])
            sketch = rows[number * SKETCH_BYTES : (number + 1) * SKETCH_BYTES]
            sketches[place] = b"" if sketch == _NO_SKETCH else sketch
    urls, scores = [page.url for page in best], [page.score for page in best]
    return list(map(Hit, urls, scores, features, contents, sketches, copies))


def _similar(each: SimilarWord) -> Similar:
    return Similar(each.word, *each.part, each.pages, each.together, each.samples)


def _shown_page(document: Document, title: str) -> ShownPage:
    text = (document.text or document.boilerplate) if document.is_quotable else ""
    text = text[: SEARCHED_CHARS_MAX + 1]
    outline = Outline(document, text[:SEARCHED_CHARS_MAX])
    return ShownPage(
        SearchedText(title[:TITLE_CHARS_MAX]),
        text,
        document.fetched_at,
        document.date,
        document.published[:PUBLISHED_CHARS_MAX],
        document.type[:TYPE_CHARS_MAX],
        document.language[:TYPE_CHARS_MAX],
        outline,
        document.boilerplate if document.is_quotable and has_synopsis(outline.headings) else "",
        names_of(document),
    )


def _section_and_snippet(query: Query, page: ShownPage, effort: Effort) -> tuple[Section, Snippet]:
    """Return the section that a query asks for by its heading and its text, else those of the words."""
    told = page.outline.section_told(query, page.title)
    if told is None:
        snippet = snippet_of(page.text, query, effort=effort)
        return page.outline.section_at(snippet.place), snippet
    section, text = told
    _, _, below = text.partition("\n")
    return section, snippet_of(below or page.text, query, effort=effort)


def _excerpt_of_directory(query: Query, url: str, page: ShownPage) -> Excerpt:
    from peers.engine.excerpts.shown_entries import entries_shown, text_of_entries

    names = SearchedText(page.text)
    shown = entries_shown(url, page.title.text, names, page.outline.ids, query)
    return Excerpt(
        url,
        page.title.text,
        text_of_entries(shown)[:SNIPPET_CHARS_MAX],
        (),
        highlights_of(page.title, query),
        page.fetched_at,
        page.date,
        page.type,
        names=page.names,
        entries=tuple(ListedEntry(*entry) for entry in shown),
    )


def _excerpt(query: Query, url: str, page: ShownPage, effort: Effort, name: str) -> Excerpt:
    if page.type == LISTING and page.text:
        effort.spend(searched_chars(page.text, query))
        return _excerpt_of_directory(query, url, page)
    section, snippet = _section_and_snippet(query, page, effort)
    return Excerpt(
        url,
        page.title.text,
        snippet.text,
        snippet.highlights,
        highlights_of(page.title, query),
        page.fetched_at,
        page.date,
        page.type,
        page.language,
        published=page.published,
        section=section.title[:TITLE_CHARS_MAX],
        section_id=section.id if len(section.id) <= SECTION_ID_CHARS_MAX else "",
        synopsis=synopsis_of(name, page.title.text, page.outline.headings, page.text, page.beside)
        if name
        else "",
        names=page.names,
    )


def _with_definition(excerpt: Excerpt, term: str, page: ShownPage, effort: Effort) -> Excerpt:
    """Add the sentence that defines a term, where the page has one."""
    from peers.engine.excerpts.definition import definition_in  # loaded where somebody asks for one

    text = page.text
    effort.spend(len(text) // DEFINED_CHARS_A_VISIT)
    found = definition_in(term, text)
    return msgspec.structs.replace(excerpt, definition=found.sentence)


def _with_words(excerpt: Excerpt, page: ShownPage, effort: Effort) -> Excerpt:
    """Add the words that a page is about, by its beginning."""
    from peers.text.keywords import weighted_words

    text = page.text[:WORDS_CHARS_MAX]
    headings = "\n".join(page.outline.headings)[:WORDS_CHARS_MAX]
    effort.spend(WORDS_VISITS_A_CHAR * (len(text) + len(headings)))
    words = [word for word, _ in weighted_words(page.title.text, headings, text) if len(word) <= 256]
    return msgspec.structs.replace(excerpt, words=tuple(words[:WORDS_MAX]))


_decode_document = msgspec.msgpack.Decoder(Document).decode
