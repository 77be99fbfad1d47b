"""Words that links call the same pages by, as synonyms of short queries: rankings with and without.

    python -m tests.benchmarks.bench_link_synonyms FOLDER_OF_UNPACKED_PACKAGES

Two words are taken for one where the pages that links call by the one are those that links call by the
other: the cosine of the two sets. How alike they have to be is chosen on the help of LibreOffice in two
languages; the third, which had no part in that, judges. Queries are those of one or two words that have such
a word. [io]
"""

from __future__ import annotations

import os
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import combinations
from math import sqrt
from pathlib import Path
from typing import Final

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.evaluation.engines import ViewRanker, rank_all
from peers.evaluation.judged import HELP_LANGUAGES, HELP_PAGES, Collection, read_collection
from peers.evaluation.measures import differences, measured
from peers.text.folding import fold
from peers.text.function_words import function_words_of
from peers.text.runs import RunKind, kind_of, runs_of
from peers.text.segmentation import words_of
from peers.text.synonyms import Synonyms, is_word
from tests.shared_data import SHARED as SHARED_DATA

PAGES_MIN: Final = 2  # that both words are used for
LIKENESSES: Final = (0.3, 0.5, 0.7, 0.9)
WORDS_OF_SHORT: Final = 2
OTHERS_MAX: Final = 3  # synonyms of a word
MEASURE: Final = "MRR@10"
SHARED: Final = Path(os.environ.get("BENCH_SHARED") or SHARED_DATA)


def words_in(text: str) -> list[str]:
    """The words of a text that may have synonyms, folded."""
    words = [
        word
        for run in runs_of(fold(text))
        for word in (words_of(run) if kind_of(run) is RunKind.HAN else [run])
        if is_word(word)
    ]
    return [word for word in words if word not in function_words_of(words)]


def likenesses_of(collection: Collection) -> dict[tuple[str, str], float]:
    """The cosines of the sets of pages that links call by either word, of words that share PAGES_MIN."""
    called: dict[str, set[str]] = defaultdict(set)
    for document in collection.documents:
        for text in set(document.anchors):
            words = words_in(text)
            for word in words if len(words) <= WORDS_OF_SHORT else ():
                called[word].add(document.url)
    by_page: dict[str, list[str]] = defaultdict(list)
    for word, urls in called.items():
        for url in urls:
            by_page[url].append(word)
    shared = Counter(pair for words in by_page.values() for pair in combinations(sorted(words), 2))
    return {
        (a, b): n / sqrt(len(called[a]) * len(called[b])) for (a, b), n in shared.items() if n >= PAGES_MIN
    }


def synonyms_at(likenesses: Mapping[tuple[str, str], float], least: float) -> Synonyms:
    alike: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for (a, b), likeness in likenesses.items():
        if likeness >= least:
            alike[a].append((-likeness, b))
            alike[b].append((-likeness, a))
    return {word: tuple(other for _, other in sorted(others)[:OTHERS_MAX]) for word, others in alike.items()}


def gain_of(collection: Collection, synonyms: Synonyms, *, is_told: bool = False) -> float:
    """The difference in MRR@10 on short queries that have a synonym, times their number."""
    queries = {
        query: text
        for query, text in collection.queries.items()
        if (words := words_in(text))
        and len(words) <= WORDS_OF_SHORT
        and any(word in synonyms for word in words)
    }
    if len(queries) < 2:
        return 0.0
    judged = {query: collection.judgements[query] for query in queries}
    index = Index.open(MemoryStorage())
    index.add([(0, document) for document in collection.documents])
    index.commit()
    view = index.snapshot().everything()
    without, with_them = (
        measured(rank_all(ViewRanker(view, synonyms=each), queries, lambda: None), judged)
        for each in ({}, synonyms)
    )
    [found] = [each for each in differences(with_them, without) if each.measure == MEASURE]
    if is_told:
        n_all = len(collection.queries)
        print(
            f"  {collection.name}: {len(queries)} of {n_all} queries, {len(synonyms)} words "
            f"with others; {MEASURE} {found.other_mean:.4f} without, {found.mean:.4f} with, "
            f"{found.better} better, {found.worse} worse, p {found.p:.3f}"
        )
    return (found.mean - found.other_mean) * len(queries)


def main(pages: Path) -> None:
    """Choose on two languages, judge on the third."""
    collections = {
        language: read_collection(f"lo.{language}", pages / HELP_PAGES.format(language.lower()), SHARED)
        for language in HELP_LANGUAGES
    }
    likenesses = {language: likenesses_of(collection) for language, collection in collections.items()}
    gains = {
        (language, least): gain_of(collection, synonyms_at(likenesses[language], least))
        for language, collection in collections.items()
        for least in LIKENESSES
    }
    for left_out, collection in collections.items():
        others = [language for language in collections if language != left_out]
        least = max(LIKENESSES, key=lambda each: sum(gains[language, each] for language in others))
        gained = sum(gains[language, least] for language in others)
        print(f"{left_out} left out: likeness {least}, gain on the others {gained:+.2f} queries")
        gain_of(collection, synonyms_at(likenesses[left_out], least), is_told=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
