"""Words of a mesh in queries (`user_words`): rankings with and without, on halves that had no part in them.

BENCH_HELP_PAGES=packages BENCH_QBQTC=QBQTC/dataset pytest tests/benchmarks/bench_user_words.py -s

Words are those that `tianmesh words discover` finds in the titles of a collection and in every second query
(of QBQTC in `dev.json`), and those that it finds in these queries alone (`--queries --min-clients 1`).
Judged are the other queries (of QBQTC those of `test_public.json` that `dev.json` has not) that have one of
them. QBQTC's titles are pages without text; a title is right for a query from grade 1.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.evaluation.engines import ViewRanker, rank_all
from peers.evaluation.judged import Collection, collections_in, read_collection
from peers.evaluation.measures import differences, measured
from peers.text.folding import fold
from peers.text.query_words import simple_queries, unknown_words
from peers.text.runs import RunKind, kind_of, runs_of
from peers.text.segmentation import UserWords, words_of
from peers.text.user_words import cut_with, user_words_of
from peers.text.word_discovery import discover_words
from tests.shared_data import SHARED

HELP_PAGES = os.environ.get("BENCH_HELP_PAGES", "")
QBQTC = os.environ.get("BENCH_QBQTC", "")
JUDGED = Path(os.environ.get("BENCH_SHARED") or SHARED)
CHINESE = ("cmrc2018-known-item", "lo.zh-CN")
MEASURES = ("MRR@10", "P@10")


def halves(collection: Collection) -> tuple[list[str], list[str]]:
    """The queries from which words are taken, and those that are judged, by id."""
    if collection.name == "QBQTC":
        fit = [query for query in collection.queries if query.startswith("dev")]
        texts = {collection.queries[query] for query in fit}
        left = [query for query, text in collection.queries.items() if text not in texts]
        return fit, left
    queries = list(collection.queries)
    return queries[::2], queries[1::2]


def qbqtc(folder: Path) -> Collection:
    """A title is a page; grade 0 is none."""
    urls: dict[str, str] = {}
    queries: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    for name in ("dev", "test_public"):
        for line in (folder / f"{name}.json").read_text("utf-8").splitlines():
            row = json.loads(line)
            url = urls.setdefault(row["title"], f"http://title.test/{len(urls)}")
            query = f"{name} {row['query']}"
            if int(row["label"]):
                queries[query] = row["query"]
                judgements.setdefault(query, {})[url] = int(row["label"])
    documents = tuple(Document(url, title=title) for title, url in urls.items())
    return Collection("QBQTC", documents, queries, judgements, is_known_item=True)


def collections() -> Iterator[Collection]:
    for name, folder in collections_in(JUDGED, Path(HELP_PAGES) if HELP_PAGES else None):
        if name in CHINESE and folder is not None:
            yield read_collection(name, folder, JUDGED)
    if QBQTC:
        yield qbqtc(Path(QBQTC))


def vocabularies(collection: Collection, fit: list[str]) -> Mapping[str, UserWords]:
    texts = [collection.queries[query] for query in fit]
    titles = [document.title for document in collection.documents]
    asked = Counter(part for text in dict.fromkeys(texts) for part in simple_queries(text))
    return {
        "titles and queries": user_words_of(each.word for each in discover_words(titles + texts)),
        "queries alone": user_words_of(each.word for each in unknown_words(asked, 1)),
    }


def has_one(text: str, words: UserWords) -> bool:
    runs = [run for run in runs_of(fold(text)) if kind_of(run) is RunKind.HAN]
    return any(cut_with(run, words) != words_of(run) for run in runs)


def test_words_of_a_mesh_in_queries_that_had_no_part_in_them() -> None:
    found = list(collections())
    if not found:
        pytest.skip("no collection is here")
    for collection in found:
        index = Index.open(MemoryStorage())
        index.add([(0, document) for document in collection.documents])
        index.commit()
        view = index.snapshot().everything()
        fit, left = halves(collection)
        for name, words in vocabularies(collection, fit).items():
            queries = {q: collection.queries[q] for q in left if has_one(collection.queries[q], words)}
            print(f"\n{collection.name}, {len(words)} words of {name}, {len(queries)} of {len(left)} queries")
            if len(queries) < 2:
                continue
            judged = {query: collection.judgements[query] for query in queries}
            without, with_words = (
                measured(rank_all(ViewRanker(view, user_words=each), queries, lambda: None), judged)
                for each in (frozenset[str](), words)
            )
            for each in differences(with_words, without):
                if each.measure in MEASURES:
                    print(
                        f"  {each.measure} {each.other_mean:.4f} without, {each.mean:.4f} with, "
                        f"{each.better} better, {each.worse} worse, p {each.p:.3f}"
                    )
            assert set(without) == set(with_words)


def test_book_10_2_a_hundred_words_asked_alone() -> None:
    """Of the ten best titles, how many have the word as it stands, before and after it is known?"""
    if not QBQTC:
        pytest.skip("no QBQTC is here")
    collection = qbqtc(Path(QBQTC))
    titles = {document.url: fold(document.title) for document in collection.documents}
    known = vocabularies(collection, halves(collection)[0])["titles and queries"]
    frequent = [
        word
        for word in sorted(known)
        if len(word) <= 4 and has_one(word, known) and sum(word in title for title in titles.values()) >= 10
    ]
    drawn = Random(1).sample(frequent, 100)
    index = Index.open(MemoryStorage())
    index.add([(0, document) for document in collection.documents])
    index.commit()
    view = index.snapshot().everything()
    for name, words in (("before", frozenset[str]()), ("after", user_words_of(drawn))):
        ranker = ViewRanker(view, user_words=words)
        shares = [[word in titles[hit.document] for hit in ranker.rank(word)[:10]] for word in drawn]
        share = sum(sum(each) / len(each) for each in shares) / len(shares)
        print(f"\n100 of {len(frequent)} words, {name}: {share:.3f} of the first ten titles have it")
        assert all(shares)
