"""Engines that rank a collection in this process: ours, and others that are installed.

Ours has a collection in one index in memory and does what peers and gateway do: all words, or any where that
leaves few pages; candidates by BM25F, features of these, the full model. The
others get the same texts: title and page, and the texts of links beside them. What they are fed: tantivy and
Lucene their own English analysis where the collection is English; otherwise everybody gets the terms of our
segmenter (jieba in search mode, words in lower case), bm25s stemmed English without stop words, as its
authors advise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol, TypeAlias

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.queries.query import Query
from peers.engine.queries.query_parser import read_query
from peers.engine.rescoring.features import features_of
from peers.engine.rescoring.model import MODEL_DEPTH, Candidate, ModelWeights, reranked, scale_of
from peers.engine.searching.ranking import CollectionStatistics, RankingWeights
from peers.engine.snapshot import DocumentHit, View
from peers.evaluation.judged import Collection
from peers.gateway.search.relaxation import steps_of
from peers.judging.trec import Ranked
from peers.text.analysis import analyse
from peers.text.segmentation import NO_USER_WORDS, UserWords
from peers.text.synonyms import NO_SYNONYMS, Synonyms

RUN_DEPTH: Final = 100  # hits of a query in a run

Advance: TypeAlias = Callable[[], None]  # called once a query


class NotInstalled(Exception):
    """An engine is not installed here; the text names the missing part."""


class Ranker(Protocol):
    """A collection in an engine."""

    def rank(self, text: str) -> list[Ranked]:
        """Return the RUN_DEPTH best documents for a query in words, the best first."""


def rank_all(ranker: Ranker, queries: Mapping[str, str], advance: Advance) -> dict[str, list[Ranked]]:
    """Have an engine answer all queries."""
    run = {}
    for query, text in queries.items():
        run[query] = ranker.rank(text)
        advance()
    return run


class ViewRanker:
    """Our engine over the documents of a view, as peers and gateway do it."""

    def __init__(
        self,
        view: View,
        weights: RankingWeights | None = None,
        model: ModelWeights | None = None,
        user_words: UserWords = NO_USER_WORDS,
        synonyms: Synonyms = NO_SYNONYMS,
    ) -> None:
        self._view = view
        self._synonyms = synonyms
        self._user_words = user_words
        self._weights = weights or RankingWeights()
        self._model = model or ModelWeights()

    def rank(self, text: str) -> list[Ranked]:
        reading = read_query(text, synonyms=self._synonyms, user_words=self._user_words)
        statistics = self._view.statistics(reading.terms)
        query = reading.with_native_forms(statistics.doc_freqs)
        unquoted = reading.unquoted_with_native_forms(statistics.doc_freqs)
        hits: list[DocumentHit] = []
        for step in steps_of(query, statistics.doc_freqs, unquoted):
            query = step.query
            total, _, hits = self._view.search(query, statistics, RUN_DEPTH, self._weights)
            if total >= step.enough:
                break
        return self._reranked(query, statistics, hits)

    def _reranked(
        self, query: Query, statistics: CollectionStatistics, hits: Sequence[DocumentHit]
    ) -> list[Ranked]:
        """Put hits in the order of the full model."""
        head, tail = hits[:MODEL_DEPTH], hits[MODEL_DEPTH:]
        features = features_of(self._view, query, statistics, [hit.url for hit in head])
        candidates = [Candidate(hit.url, hit.score, each) for hit, each in zip(head, features, strict=True)]
        ranked = reranked(candidates, scale_of(query, statistics), self._model)
        # Features only add to scores: the tail stays behind.
        run = [Ranked(each.url, each.score) for each in ranked]
        return run + [Ranked(hit.url, hit.score) for hit in tail]


class Ours(ViewRanker):
    """Our engine: one index in memory."""

    name: Final = "tianmesh"

    def __init__(
        self,
        collection: Collection,
        *,
        weights: RankingWeights | None = None,
        model: ModelWeights | None = None,
    ) -> None:
        index = Index.open(MemoryStorage())
        index.add([(0, document) for document in collection.documents])
        index.commit()
        super().__init__(index.snapshot().everything(), weights, model)


class Tantivy:
    """tantivy through its Python bindings, BM25 over two fields."""

    name: Final = "tantivy"

    def __init__(self, collection: Collection) -> None:
        try:
            import tantivy
        except ImportError as error:
            raise NotInstalled("no tantivy") from error
        self._is_english = is_english(collection)
        tokenizer = "en_stem" if self._is_english else "terms"
        schema = tantivy.SchemaBuilder()
        for field in ("title", "body"):
            schema.add_text_field(field, stored=False, tokenizer_name=tokenizer)
        schema.add_unsigned_field("number", stored=True, fast=True)
        self._index = tantivy.Index(schema.build())
        analyzer = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
        self._index.register_tokenizer("terms", analyzer)
        writer = self._index.writer(50_000_000, 1)
        for number, document in enumerate(collection.documents):
            page = tantivy.Document()
            page.add_text("title", self._fed(document.title))
            page.add_text("body", self._fed(body_of(document)))
            page.add_unsigned("number", number)
            writer.add_document(page)
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()
        self._searcher = self._index.searcher()
        self._urls = [document.url for document in collection.documents]

    def rank(self, text: str) -> list[Ranked]:
        words = "".join(c if c.isalnum() or c.isspace() else " " for c in text)
        query, _ = self._index.parse_query_lenient(self._fed(words), ["title", "body"])
        hits = self._searcher.search(query, RUN_DEPTH).hits
        return [Ranked(self._urls[self._searcher.doc(at)["number"][0]], score) for score, at in hits]

    def _fed(self, text: str) -> str:
        return text if self._is_english else " ".join(analyse(text))


class Bm25s:
    """bm25s, Lucene's BM25 over title and page together."""

    name: Final = "bm25s"

    def __init__(self, collection: Collection) -> None:
        try:
            import bm25s
            import Stemmer
            from bm25s.stopwords import STOPWORDS_EN
        except ImportError as error:
            raise NotInstalled("no bm25s") from error
        self._stem: Callable[[list[str]], list[str]] = Stemmer.Stemmer("english").stemWords
        self._stop_words = frozenset(STOPWORDS_EN) if is_english(collection) else frozenset()
        self._bm25 = bm25s.BM25(method="lucene")
        texts = [self._fed(f"{document.title}\n{body_of(document)}") for document in collection.documents]
        self._bm25.index(texts, show_progress=False)
        self._urls = [document.url for document in collection.documents]

    def rank(self, text: str) -> list[Ranked]:
        known = [term for term in self._fed(text) if term in self._bm25.vocab_dict]
        if not known:
            return []
        numbers, scores = self._bm25.retrieve([known], k=min(RUN_DEPTH, len(self._urls)), show_progress=False)
        return [
            Ranked(self._urls[number], float(score))
            for number, score in zip(numbers[0].tolist(), scores[0].tolist(), strict=True)
            if score > 0
        ]

    def _fed(self, text: str) -> list[str]:
        return self._stem([term for term in analyse(text) if term not in self._stop_words])


def is_english(collection: Collection) -> bool:
    """Tell whether next to nothing of a collection is in another script than ours."""
    sample = "".join(text for text in collection.queries.values())
    return sum(c.isascii() for c in sample) > 0.99 * len(sample)


def body_of(document: Document) -> str:
    """Return the text of a page, besides its title, that engines without our fields search."""
    return "\n".join((document.text, document.boilerplate, *document.anchors))
