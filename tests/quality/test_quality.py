"""How well the engine ranks what others have judged, each figure with a margin below what is measured.

`make quality` prints the figures of all queries beside those of other engines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from peers.evaluation.commands import HELP_VARIABLE
from peers.evaluation.engines import Ours, Ranker, Tantivy, rank_all
from peers.evaluation.judged import HELP_PAGES, Collection, read_help, read_suite
from peers.evaluation.measures import means, measured
from tests.shared_data import shared


def some(collection: Collection, count: int) -> Collection:
    """Return the collection with so many of its queries, evenly taken."""
    names = list(collection.queries)[:: max(1, len(collection.queries) // count)]
    return replace(
        collection,
        queries={name: collection.queries[name] for name in names},
        judgements={name: collection.judgements[name] for name in names},
    )


def figures(ranker: Ranker, collection: Collection) -> Mapping[str, float]:
    run = rank_all(ranker, collection.queries, lambda: None)
    return means(measured(run, collection.judgements))


def help_pages(language: str) -> Collection:
    folder = os.environ.get(HELP_VARIABLE, "")
    pages = Path(folder) / HELP_PAGES.format(language.lower())
    if not folder or not pages.is_dir():
        pytest.skip(f"no pages of LibreOffice's help: {HELP_VARIABLE} names no folder with them")
    return some(read_help(pages, language, shared("judged")), 400)


@pytest.mark.more
def test_cranfield_is_ranked_better_than_by_six_engines() -> None:
    # Lucene .3656, Xapian .3702, FTS5 .3789, whoosh .3793, tantivy .3823, bm25s .3882
    collection = read_suite(shared("suites/ir/cranfield"))
    assert figures(Ours(collection), collection)["nDCG@10"] >= 0.395


@pytest.mark.more
def test_chinese_passages_are_found_as_well_as_by_tantivy_with_the_terms_of_jieba() -> None:
    collection = some(read_suite(shared("suites/ir/cmrc2018-known-item")), 600)
    ours, theirs = figures(Ours(collection), collection), figures(Tantivy(collection), collection)
    assert ours["MRR@10"] >= theirs["MRR@10"]


@pytest.mark.more
@pytest.mark.parametrize(("language", "least"), [("zh-CN", 0.64), ("en-US", 0.66)])
def test_pages_of_the_help_are_found_by_the_index_of_their_authors(language: str, least: float) -> None:
    collection = help_pages(language)
    assert figures(Ours(collection), collection)["MRR@10"] >= least
