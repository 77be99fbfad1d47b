"""Four designs of Li, Yan, Wang 2004, chapter 8, each beside the index as it is, on real documents.

TIANMESH_BENCH_WEB=folder HELP_PAGES=folder taskset -c 1 pytest tests/benchmarks/bench_index_designs.py -s

BENCH_DOCUMENTS of them (default 25,000), half of them Chinese if there are so many; HELP_PAGES as for `make
quality`, for judged queries of more than CMRC 2018. Queries are the judged ones and stretches of titles, as
in `bench_index`, and are read as if they were typed. What a design would add to a segment is imitated with
words that no page has. Times are CPU time of the thread, the least of three passes after one to warm up.

hybrid       Frequent sequences of words become entries of their own, read instead of the lists of their words
             (section 8.4). Sequences are those of one half of the titles and headings, phrases are asked from
             the other half. Quality: discovered words, beside the words they cover and instead of them.
important    An index of titles, link texts and the first 200 characters is searched first; ten pages that
             have all words are enough (section 8.2).
cache        Lists that a stream of queries reads, popular ones by Zipf's law, behind a cache of results as
             the gateway has one: 4 KiB pages by least recent use, as in an operating system, against whole
             lists by least recent use and by GD-Size(1) (section 8.5; Cao, Irani, USITS 1997). What a hit
             could save at most is the decoding of the whole list.
two levels   Pages with a rare and a common word: blocks of the common one's list that the rare one leaves to
             be decoded, and what decoding the others, too, would add to the time (section 8.2).

Measured, 25,000 documents, a fifth of them Chinese (2 shared vCPU under load), beside the index as it is:

hybrid       7,964 sequences, 1.0 % more bytes to search, serve 9.7 % of phrases of other titles. As one list
             these take .16 of the time at p50, .02 at p99; as words that must all occur .44 and .27. MRR@10
             by BM25F beside their words, and instead of them: CMRC 2018 .9894 to .9890, .9814; help, zh-CN
             .6479 to .6467, .6485.
important    15.9 % more bytes; 31 % of queries have ten pages there, which are 36 % of the ten best. Time p50
             1.24, p99 1.02, mean 1.16. MRR@10 CMRC 2018 .9894 to .9894, help, zh-CN .6479 to .6459, en-US
             .6699 to .6706.
cache        Lists found in 5 % and 20 % of the bytes: pages 12 and 38 %, lists 18 and 48 %, GD-Size(1) 35 and
             73 %. Lists kept decoded in the same space: 18 and 41 %, at most 1.3 and 6.4 % of a query's time.
two levels   11 % of the postings, bounds of scores included. 16 % of blocks are needed: .65 of the time at
             p50, .33 at p99; at 100,000 pages .31 and .15. What
             the blocks left out would take is computed, not run: 4 ns a posting, no comparing.
"""

from __future__ import annotations

import heapq
import os
import random
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

import msgspec
import numpy as np
import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.postings.format import BLOCK, SKIP_WORDS
from peers.engine.queries.query import Mode, Query, phrase_of
from peers.engine.queries.query_parser import parse_query
from peers.engine.snapshot import DocumentHit, View
from peers.evaluation.judged import Collection, collections_in, read_collection
from peers.evaluation.measures import means, measured
from peers.gateway.search.relaxation import ENOUGH, steps_of
from peers.judging.trec import Ranked
from peers.kernel import Floats, Ints
from peers.text.analysis import query_terms
from peers.text.folding import fold
from peers.text.function_words import FUNCTION_WORDS_OF
from peers.text.runs import RunKind, kind_of, runs_of
from peers.text.stemming import FORMLESS
from peers.text.word_discovery import discover_words
from tests.benchmarks.real_documents import real_documents
from tests.shared_data import SHARED, shared

SIZE = int(os.environ.get("BENCH_DOCUMENTS", "25000"))
HITS = 10
QUERY_COUNT = 600
_HAN = re.compile("[\u4e00-\u9fff]")
_SLOT_COUNT = 50_000
_BODY = 1 << 3
_T = TypeVar("_T")

pytestmark = pytest.mark.timeout(0)

# --- hybrid ---
SEQUENCES_MAX = 10_000
SEQUENCE_ATOMS_MAX = 10  # words, or characters
SEQUENCE_COUNT_MIN = 4  # texts that have it
# --- important ---
ABSTRACT_CHARS = 200
# --- cache ---
DISTINCT_QUERIES = 20_000
STREAM_QUERIES = 100_000
RESULTS_CACHED = 1_500  # as `peers.gateway.search.result_cache` holds
PAGE_BYTES = 4_096
BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.2)  # of all postings
DECODED_BYTES = 8  # of a posting: document and one frequency

# To decode a posting of a packed list and do nothing with it, as measured for `peers.engine`.
DECODING_NS = 4.0


@cache
def _documents() -> list[Document]:
    """Return the documents that everything is measured on."""
    all_documents = real_documents(10 * SIZE)
    chinese = [document for document in all_documents if _is_chinese(document.text)][: SIZE // 2]
    others = [document for document in all_documents if not _is_chinese(document.text)]
    documents = chinese + others[: SIZE - len(chinese)]
    if len(documents) < SIZE:
        pytest.skip(f"only {len(documents)} documents")
    random.Random(3).shuffle(documents)
    print(f"\n{len(documents)} documents, {len(chinese)} of them Chinese")
    return documents


def _is_chinese(text: str) -> bool:
    return len(_HAN.findall(text[:1000])) > 0.2 * len(text[:1000])


def _index(documents: Iterable[Document]) -> Index:
    """Return them in an index of one segment, in memory."""
    index = Index.open(MemoryStorage())
    batch: list[tuple[int, Document]] = []
    for number, document in enumerate(documents):
        batch.append((number % _SLOT_COUNT, document))
        if len(batch) == 2_000:
            index.add(batch)
            batch = []
    index.add(batch)
    index.commit()
    index.optimise()
    return index


@cache
def _whole() -> Index:
    return _index(_documents())


def _view(index: Index) -> View:
    return index.snapshot().everything()


def _section_bytes(index: Index, *sections: str) -> int:
    segments = [part.segment for part in index.snapshot().segments]
    return sum(len(segment.place_of(name)) for segment in segments for name in sections)


def _searched_bytes(index: Index) -> int:
    """Return the size without the text for snippets."""
    return sum(part.segment.size_bytes - part.segment.stored_bytes for part in index.snapshot().segments)


class _Place(NamedTuple):
    """Where the postings of an entry are in an index of one segment."""

    start: int
    size: int  # bytes
    doc_freq: int


def _lists_in(index: Index, entries: Iterable[str]) -> dict[str, _Place]:
    """Return where the postings of those entries are that there are."""
    [part] = index.snapshot().segments
    dictionary = part.segment.entries()
    terms, starts = dictionary.terms.tobytes(), dictionary.postings_starts.tolist()
    doc_freqs = dictionary.doc_freqs.tolist()
    wanted = {entry.encode(): entry for entry in entries}
    found = {}
    for number, (start, end) in enumerate(pairwise(dictionary.term_starts.tolist())):
        entry = wanted.get(terms[start:end])
        if entry is not None:
            size = starts[number + 1] - starts[number]
            found[entry] = _Place(starts[number], size, doc_freqs[number])
    return found


def _stretches(count: int) -> list[str]:
    """Return stretches of one to four words, or two to eight characters, of titles; distinct."""
    random_ = random.Random(2)
    titles = [document.title for document in _documents() if document.title]
    found: dict[str, None] = {}
    for _ in range(20 * count):
        if len(found) == count:
            break
        title = random_.choice(titles)
        words = runs_of(title)
        if not words:
            continue
        start = random_.randrange(len(words))
        if _HAN.search(words[start]):
            at = random_.randrange(max(1, len(words[start]) - 3))
            found[words[start][at : at + random_.randint(2, 8)]] = None
        else:
            found[" ".join(words[start : start + random_.randint(1, 4)])] = None
    return list(found)


def _typed() -> list[str]:
    """Return queries as in `bench_index`: judged ones, and stretches of titles."""
    random_ = random.Random(2)
    texts = []
    for language in ("en-US", "zh-CN"):
        lines = shared(f"judged/lo.{language}.queries.tsv").read_text("utf-8").splitlines()
        texts += [line.partition("\t")[2] for line in random_.sample(lines, QUERY_COUNT // 4)]
    return texts + _stretches(QUERY_COUNT - len(texts))


def _times(run: Callable[[_T], object], inputs: Sequence[_T]) -> Floats:
    """Return the microseconds of each, the least of three passes after one that warms up."""
    times = np.empty((4, len(inputs)))
    for pass_ in range(4):
        for number, each in enumerate(inputs):
            start = time.thread_time_ns()
            run(each)
            times[pass_, number] = (time.thread_time_ns() - start) / 1e3
    best: Floats = times[1:].min(axis=0)
    return best


def _compared(name: str, as_it_is: Floats, design: Floats) -> None:
    figures = ((what, np.percentile(as_it_is, q), np.percentile(design, q)) for what, q in _PERCENTILES)
    shown = "  ".join(f"{what} {was:.0f} -> {now:.0f} us ({now / was:.2f})" for what, was, now in figures)
    print(f"  {name}: {shown}  mean {as_it_is.mean():.0f} -> {design.mean():.0f} us")


_PERCENTILES = (("p50", 50), ("p99", 99))


def _judged(names: Sequence[str]) -> Iterator[Collection]:
    help_pages = os.environ.get("HELP_PAGES")
    for name, folder in collections_in(SHARED, Path(help_pages) if help_pages else None):
        if name in names and folder is not None:
            yield read_collection(name, folder, SHARED)


def _mrr(collection: Collection, rank: Callable[[str], list[str]]) -> float:
    run = {
        query: [Ranked(url, -float(place)) for place, url in enumerate(rank(text))]
        for query, text in collection.queries.items()
    }
    return means(measured(run, collection.judgements))["MRR@10"]


def _by_bm25f(view: View) -> Callable[[str], list[str]]:
    return lambda text: _best(view, parse_query(text))


def _by_words(view: View, sequences: _Sequences, is_instead: bool) -> Callable[[str], list[str]]:
    return lambda text: _best(view, _hybrid_query(text, sequences, is_instead))


def _best(view: View, query: Query) -> list[str]:
    """Return the ten best pages by BM25F as the gateway asks for them: all words, then any of them."""
    statistics = view.statistics(query.terms)
    hits: list[DocumentHit] = []
    for step in steps_of(query, statistics.doc_freqs):
        total, _, hits = view.search(step.query, statistics, HITS)
        if total >= ENOUGH:
            break
    return [hit.url for hit in hits]


# --- hybrid index ---------------------------------------------------------------------------------


def _atoms(text: str) -> list[str]:
    """Return what a phrase is made of: words, and characters of Han runs."""
    atoms: list[str] = []
    for run in runs_of(fold(text)):
        if kind_of(run) is RunKind.WORD:
            atoms.append(run)
        else:
            atoms += run
    return atoms


class _Sequences:
    """An extended dictionary: sequences of atoms, each with the word it is entered as."""

    def __init__(self, sequences: Iterable[tuple[str, ...]]) -> None:
        self.word_of = {sequence: f"zq{number}" for number, sequence in enumerate(sequences)}
        self._by_start: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        for sequence in sorted(self.word_of, key=len, reverse=True):
            self._by_start.setdefault((sequence[0], sequence[1]), []).append(sequence)

    def in_text(self, text: str) -> Iterator[tuple[str, ...]]:
        """Yield all occurrences, those within others as well: what a phrase would find."""
        atoms = _atoms(text)
        for at, start in enumerate(pairwise(atoms)):
            for sequence in self._by_start.get(start, ()):
                if tuple(atoms[at : at + len(sequence)]) == sequence:
                    yield sequence

    def covering(self, text: str) -> Iterator[tuple[str, ...]]:
        """Yield the sequences of a query: forward maximum matching, the second pass of the book."""
        atoms, at = _atoms(text), 0
        while at < len(atoms) - 1:
            starts = self._by_start.get((atoms[at], atoms[at + 1]), ())
            found = next((each for each in starts if tuple(atoms[at : at + len(each)]) == each), None)
            if found is not None:
                yield found
            at += len(found or "1")

    def entered(self, text: str) -> str:
        """Return a text with the words of its sequences behind it, once an occurrence."""
        words = [self.word_of[each] for each in self.in_text(text)]
        return f"{text}\n{' '.join(words)}" if words else text


def _halves() -> tuple[list[str], list[str]]:
    """Return titles and headings of one half of the pages, and titles of the other."""
    known = [part for d in _documents()[::2] for part in (d.title, *d.headings.split("\n")) if part]
    return list(dict.fromkeys(known)), [d.title for d in _documents()[1::2] if d.title]


def _frequent(texts: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the sequences that most texts have: rows of two to four words, and discovered words."""
    texts = list(texts)
    counts: Counter[tuple[str, ...]] = Counter()
    for text in texts:
        words = [] if _HAN.search(text) else _atoms(text)
        rows = {tuple(words[i : i + n]) for n in (2, 3, 4) for i in range(len(words) - n + 1)}
        counts.update(
            row
            for row in rows
            if not ({row[0], row[-1]} & (FORMLESS | FUNCTION_WORDS_OF["zh"]) or any(map(str.isdigit, row)))
        )
    for word in discover_words(texts):
        counts[tuple(word.word)] = word.text_count
    frequent = counts.most_common(SEQUENCES_MAX)
    return [row for row, count in frequent if count >= SEQUENCE_COUNT_MIN and len(row) <= SEQUENCE_ATOMS_MAX]


def _phrases(titles: Sequence[str]) -> list[list[str]]:
    """Return rows of two to four words, or three to six characters, of titles, as atoms."""
    random_ = random.Random(4)
    phrases: list[list[str]] = []
    while len(phrases) < 20 * QUERY_COUNT:
        title = random_.choice(titles)
        atoms = _atoms(title)
        length = random_.randint(3, 6) if _HAN.search(title) else random_.randint(2, 4)
        if len(atoms) >= length:
            start = random_.randrange(len(atoms) - length + 1)
            phrases.append(atoms[start : start + length])
    return phrases


class _Asked(NamedTuple):
    """The same phrase in three ways."""

    phrase: Query
    words: Query
    entry: Query


def _asked(atoms: Sequence[str], word: str) -> _Asked | None:
    is_han = bool(_HAN.search(atoms[0]))
    text = ("" if is_han else " ").join(atoms)
    literal = phrase_of(text, fields=_BODY)
    if literal is None:
        return None
    terms = tuple(dict.fromkeys(query_terms(text).required if is_han else atoms))
    ones = (1.0,) * len(terms)
    words = Query(terms, terms, ones)
    return _Asked(Query((), terms, ones, ((literal,),)), words, Query((word,), (word,), (1.0,)))


def test_hybrid_index() -> None:
    texts = [msgspec.structs.replace(d, title="", headings="", anchors=()) for d in _documents()]
    known, held_out = _halves()
    sequences = _Sequences(_frequent(known))
    plain = _index(texts)
    hybrid = _index(msgspec.structs.replace(d, text=sequences.entered(d.text)) for d in texts)
    _report_hybrid_size(plain, hybrid, sequences)
    phrases = _phrases(held_out)
    served = [p for p in phrases if tuple(p) in sequences.word_of]
    print(f"  {len(served) / len(phrases):.1%} of phrases of other titles are entries")
    asked = [each for p in served if (each := _asked(p, sequences.word_of[tuple(p)]))][:QUERY_COUNT]
    plain_view, hybrid_view = _view(plain), _view(hybrid)

    def searching(view: View, queries: Sequence[Query]) -> Floats:
        given = [(query, view.statistics(query.terms)) for query in queries]
        return _times(lambda each: view.search(each[0], each[1], HITS), given)

    n_same = 0
    for each in asked:
        found, _, _ = plain_view.search(each.phrase, plain_view.statistics(each.phrase.terms), HITS)
        n_same += hybrid_view.statistics(each.entry.terms).doc_freqs.get(each.entry.terms[0], 0) == found
    print(f"  {n_same} of {len(asked)} entries are in exactly the pages that the phrase finds")
    assert n_same >= 0.99 * len(asked)
    as_entry = searching(hybrid_view, [each.entry for each in asked])
    _compared("phrase -> entry", searching(plain_view, [each.phrase for each in asked]), as_entry)
    _compared("all words -> entry", searching(plain_view, [each.words for each in asked]), as_entry)


def _report_hybrid_size(plain: Index, hybrid: Index, sequences: _Sequences) -> None:
    """Print what the entries cost: dictionary and postings, without the positions that they need not have."""
    words = list(sequences.word_of.values())
    bytes_of_entries = sum(place.size for place in _lists_in(hybrid, words).values())
    more = _section_bytes(hybrid, "dictionary") - _section_bytes(plain, "dictionary") + bytes_of_entries
    searched = _searched_bytes(plain)
    of_postings = bytes_of_entries / _section_bytes(plain, "postings")
    print(
        f"  hybrid: {len(words)} sequences, {more / 1e6:.1f} MB more of {searched / 1e6:.1f} MB searched "
        f"(+{more / searched:.1%}; postings +{of_postings:.1%})"
    )


def test_quality_of_a_hybrid_index() -> None:
    for collection in _judged(("cmrc2018-known-item", "lo.zh-CN")):
        parts = [p for d in collection.documents for p in (d.title, *d.headings.split("\n"), *d.anchors)]
        clauses = [c for d in collection.documents for c in re.split("[,.;:，。；：、\n]", d.text)]
        found = discover_words(parts + clauses if len(parts) < 10_000 else parts)
        sequences = _Sequences(tuple(each.word) for each in found)
        plain = _view(_index(collection.documents))
        hybrid = _view(_index(_entered(document, sequences) for document in collection.documents))
        of_plain = _mrr(collection, _by_bm25f(plain))
        print(f"  {collection.name}: {len(found)} words; MRR@10 by BM25F {of_plain:.4f}", end="")
        for is_instead in (False, True):
            figure = _mrr(collection, _by_words(hybrid, sequences, is_instead))
            print(f", {'instead of' if is_instead else 'beside'} their words {figure:.4f}", end="")
        print()


def _entered(document: Document, sequences: _Sequences) -> Document:
    return msgspec.structs.replace(
        document,
        title=sequences.entered(document.title),
        headings=sequences.entered(document.headings),
        text=sequences.entered(document.text),
        anchors=tuple(map(sequences.entered, document.anchors)),
    )


def _hybrid_query(text: str, sequences: _Sequences, is_instead: bool) -> Query:
    """Return the query with the sequences in it, with the words they cover or without these."""
    query = parse_query(text)
    covering = list(sequences.covering(text))
    covered = {term for each in covering for term in parse_query("".join(each)).terms if is_instead}
    weights = {e: w for e, w in zip(query.scoring, query.weights, strict=True) if e not in covered}
    weights |= {sequences.word_of[each]: 1.0 for each in covering}
    required = tuple(entry for entry in query.required if entry not in covered)
    if is_instead:
        required += tuple(dict.fromkeys(sequences.word_of[each] for each in covering))
    return Query(required, tuple(weights), tuple(weights.values()))


# --- important-word index -------------------------------------------------------------------------


def _important(document: Document) -> Document:
    return msgspec.structs.replace(document, headings="", text=document.text[:ABSTRACT_CHARS])


def test_important_words_first() -> None:
    whole, small = _whole(), _index(map(_important, _documents()))
    print(f"  important words: {_searched_bytes(small) / _searched_bytes(whole):.1%} more bytes to search")
    whole_view, small_view = _view(whole), _view(small)
    queries = [query for text in _typed() if (query := parse_query(text)).required]
    given = [(query, whole_view.statistics(query.terms)) for query in queries]

    def accepted(query: Query) -> list[str] | None:
        total, _, hits = small_view.search(query, whole_view.statistics(query.terms), HITS)
        return [hit.url for hit in hits] if total >= HITS else None

    firsts = [accepted(query) for query in queries]
    alone = _times(lambda each: whole_view.search(each[0], each[1], HITS), given)
    first = _times(lambda each: small_view.search(each[0], each[1], HITS), given)
    is_enough = np.array([each is not None for each in firsts])
    print(f"  {is_enough.mean():.1%} of {len(queries)} queries have ten pages there")
    _compared("all queries", alone, np.where(is_enough, first, first + alone))
    _compared("where it is enough", alone[is_enough], first[is_enough])
    bests = [[hit.url for hit in whole_view.search(query, stats, HITS)[2]] for query, stats in given]
    pairs = [(one, best) for one, best in zip(firsts, bests, strict=True) if one is not None]
    overlap = np.mean([len(set(one) & set(best)) / HITS for one, best in pairs])
    is_first_same = np.mean([one[0] == best[0] for one, best in pairs])
    print(f"  of the ten best pages {overlap:.1%} are found where it is enough, the best {is_first_same:.1%}")


def test_quality_of_important_words_first() -> None:
    for collection in _judged(("cmrc2018-known-item", "lo.zh-CN", "lo.en-US")):
        whole = _view(_index(collection.documents))
        small = _view(_index(map(_important, collection.documents)))

        def rank(text: str, whole: View = whole, small: View = small) -> list[str]:
            query = parse_query(text)
            total, _, hits = small.search(query, whole.statistics(query.terms), HITS)
            return [hit.url for hit in hits] if total >= HITS else _best(whole, query)

        of_whole = _mrr(collection, _by_bm25f(whole))
        print(f"  {collection.name}: MRR@10 by BM25F {of_whole:.4f}, important {_mrr(collection, rank):.4f}")


# --- cache of postings ----------------------------------------------------------------------------


class _Lists(NamedTuple):
    """What a stream of queries reads."""

    places: Mapping[str, _Place]
    stream: list[str]  # entries, query by query
    n_queries: int

    def decoded_sizes(self) -> dict[str, int]:
        return {entry: DECODED_BYTES * place.doc_freq for entry, place in self.places.items()}

    def sizes(self) -> dict[str, int]:
        return {entry: place.size for entry, place in self.places.items()}


class _Cache(Protocol):
    """Keeps objects within a budget of bytes."""

    def touch(self, name: object, size: int) -> bool:
        """Ask for an object; False when it was not there and had to be read."""


class _LeastRecent:
    """Gives up what was not used for the longest."""

    def __init__(self, budget: int) -> None:
        self._budget = self._room = budget
        self._sizes: OrderedDict[object, int] = OrderedDict()

    def touch(self, name: object, size: int) -> bool:
        if name in self._sizes:
            self._sizes.move_to_end(name)
            return True
        if size > self._budget:
            return False
        self._sizes[name] = size
        self._room -= size
        while self._room < 0:
            self._room += self._sizes.popitem(last=False)[1]
        return False


class _GreedyDualSize:
    """GD-Size(1): every object costs the same to read, so large ones go first.

    An object has H = L + 1 / size when it is used; the one with the least H goes, and L becomes its H.
    """

    def __init__(self, budget: int) -> None:
        self._room = budget
        self._inflation = 0.0
        self._heights: dict[object, float] = {}
        self._heap: list[tuple[float, int, object, int]] = []
        self._n_touches = 0

    def touch(self, name: object, size: int) -> bool:
        is_hit = name in self._heights
        height = self._heights[name] = self._inflation + 1 / size
        self._n_touches += 1
        heapq.heappush(self._heap, (height, self._n_touches, name, size))
        if not is_hit:
            self._room -= size
            while self._room < 0:
                self._give_up()
        return is_hit

    def _give_up(self) -> None:
        height, _, name, size = heapq.heappop(self._heap)
        if self._heights.get(name) == height:
            self._inflation = height
            del self._heights[name]
            self._room += size


def test_least_recent_and_greedy_dual_size() -> None:
    least_recent, greedy = _LeastRecent(10), _GreedyDualSize(10)
    for each in (least_recent, greedy):
        assert [each.touch(*of) for of in (("small", 1), ("large", 8), ("next", 5))] == [False] * 3
    assert not least_recent.touch("small", 1)
    assert greedy.touch("small", 1)
    assert not greedy.touch("large", 8)


def _read_lists() -> _Lists:
    """Draw queries by Zipf's law, put the cache of results before them, and say which lists they read."""
    texts = _stretches(DISTINCT_QUERIES)
    random.Random(5).shuffle(texts)
    entries_of = [parse_query(text).terms for text in texts]
    entries = list(dict.fromkeys(entry for of_query in entries_of for entry in of_query))
    places = _lists_in(_whole(), entries)
    shares = 1 / np.arange(1, len(texts) + 1)
    drawn = np.random.default_rng(5).choice(len(texts), STREAM_QUERIES, p=shares / shares.sum()).tolist()
    results = _LeastRecent(RESULTS_CACHED)
    missed = [number for number in drawn if not results.touch(number, 1)]
    print(f"  {len(texts)} queries, {len(drawn)} times; {1 - len(missed) / len(drawn):.0%} answered before")
    stream = [entry for number in missed for entry in entries_of[number] if entry in places]
    return _Lists(places, stream, len(missed))


def test_cache_of_postings() -> None:
    lists = _read_lists()
    postings_bytes = _section_bytes(_whole(), "postings")
    n_reads = len(lists.stream)
    sizes = np.array([lists.places[entry].size for entry in lists.stream])
    print(
        f"  a query that is not cached reads {n_reads / lists.n_queries:.1f} lists, "
        f"{sizes.sum() / lists.n_queries / 1e3:.0f} kB of {postings_bytes / 1e6:.0f} MB; "
        f"median list {np.median(sizes):.0f} B"
    )
    print("  share of the postings that is kept: lists that are found there (that are read, a query)")
    view = _view(_whole())
    queries = [query for text in _typed() if (query := parse_query(text)).required]
    given = [(query, view.statistics(query.terms)) for query in queries]
    query_us = _times(lambda each: view.search(each[0], each[1], HITS), given).mean()
    warm = n_reads // 5
    for share in BUDGETS:
        budget = int(share * postings_bytes)
        figures = [
            ("4 KiB pages", *_pages_hit(lists, budget, warm)),
            ("lists, least recent", *_lists_hit(lists, _LeastRecent(budget), lists.sizes(), warm)),
            ("lists, GD-Size(1)", *_lists_hit(lists, _GreedyDualSize(budget), lists.sizes(), warm)),
        ]
        reads = n_reads / lists.n_queries
        shown = ", ".join(f"{name} {hits:.1%} ({reads * (1 - hits):.2f})" for name, hits, _ in figures)
        of_decoded, saved = _lists_hit(lists, _GreedyDualSize(budget), lists.decoded_sizes(), warm)
        saved_us = saved * DECODING_NS / 1e3 * reads
        print(
            f"  {share:4.0%}: {shown}; decoded, GD-Size(1) {of_decoded:.1%} "
            f"= at most {saved_us:.1f} us of {query_us:.0f} a query"
        )


def _lists_hit(lists: _Lists, kept: _Cache, sizes: Mapping[str, int], warm: int) -> tuple[float, float]:
    """Return the share of reads that hit, and the postings of those a read."""
    n_hits = n_postings = 0
    for number, entry in enumerate(lists.stream):
        if kept.touch(entry, sizes[entry]) and number >= warm:
            n_hits += 1
            n_postings += lists.places[entry].doc_freq
    n_reads = len(lists.stream) - warm
    return n_hits / n_reads, n_postings / n_reads


def _pages_hit(lists: _Lists, budget: int, warm: int) -> tuple[float, float]:
    """The same for lists all of whose pages are there."""
    kept = _LeastRecent(budget)
    n_hits = n_postings = 0
    for number, entry in enumerate(lists.stream):
        start, size, _ = lists.places[entry]
        pages = range(start // PAGE_BYTES, (start + size - 1) // PAGE_BYTES + 1)
        is_hit = sum(kept.touch(page, PAGE_BYTES) for page in pages) == len(pages)
        if is_hit and number >= warm:
            n_hits += 1
            n_postings += lists.places[entry].doc_freq
    n_reads = len(lists.stream) - warm
    return n_hits / n_reads, n_postings / n_reads


# --- two-level random access ----------------------------------------------------------------------


class _Rare(NamedTuple):
    """A rare and a common entry with, where they can meet, what the rare one leaves of the other."""

    rare: str
    common: str
    blocks: int  # of the common one
    needed: int  # that hold a document which may be the rare one's


def test_two_level_random_access() -> None:
    view = _view(_whole())
    _report_skips()
    pairs = _rare_pairs(view)
    statistics = view.statistics([entry for pair in pairs for entry in pair[:2]])

    def both(pair: _Rare) -> object:
        return view.search(Query((pair.rare, pair.common)), statistics, 0)

    skipping = _times(both, pairs)
    left_out = np.array([pair.blocks - pair.needed for pair in pairs]) * BLOCK * DECODING_NS / 1e3
    shares = [pair.needed / pair.blocks for pair in pairs]
    print(f"  {len(pairs)} pairs; blocks needed of the common list: median {np.median(shares):.1%}")
    _compared("all blocks -> those needed", skipping + left_out, skipping)


def _report_skips() -> None:
    """Print what the first level costs: an entry for each block, and the summary, of every packed list."""
    [part] = _whole().snapshot().segments
    doc_freqs = part.segment.entries().doc_freqs
    packed = doc_freqs[doc_freqs >= BLOCK]
    n_bytes = int(((-(-packed // BLOCK) + 1) * SKIP_WORDS * 4).sum())
    postings_bytes = _section_bytes(_whole(), "postings")
    print(
        f"  first level: {n_bytes / 1e6:.1f} MB for {len(packed)} lists, {n_bytes / postings_bytes:.1%} of "
        f"postings, {n_bytes / _searched_bytes(_whole()):.1%} of what is searched"
    )


def _rare_pairs(view: View) -> list[_Rare]:
    """Pair words of queries: on 10 to 100 pages, and on more than every tenth."""
    terms = list(dict.fromkeys(term for text in _stretches(4_000) for term in parse_query(text).terms))
    doc_freqs = view.statistics(terms).doc_freqs
    random_ = random.Random(6)
    commons = [term for term in terms if doc_freqs.get(term, 0) > SIZE / 10]
    commons = random_.sample(commons, min(40, len(commons)))
    rares = [term for term in terms if 10 <= doc_freqs.get(term, 0) <= 100]
    rares = random_.sample(rares, min(300, len(rares)))
    number_of = {url: number for number, url in enumerate(sorted(d.url for d in _documents()))}
    documents = {term: _pages_of(view, term, number_of) for term in (*commons, *rares)}
    pairs = []
    for rare in rares:
        common = random_.choice(commons)
        blocks = -(-len(documents[common]) // BLOCK)
        at = np.searchsorted(documents[common], documents[rare])
        needed = len(np.unique(np.minimum(at, len(documents[common]) - 1) // BLOCK))
        pairs.append(_Rare(rare, common, blocks, needed))
    return pairs


def _pages_of(view: View, term: str, number_of: Mapping[str, int]) -> Ints:
    statistics = view.statistics([term])
    query = Query((term,), (term,), (1.0,), mode=Mode.AND)
    _, _, hits = view.search(query, statistics, statistics.doc_freqs[term])
    return np.sort(np.array([number_of[hit.url] for hit in hits], np.int64))
