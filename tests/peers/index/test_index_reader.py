"""What is read for excerpts is paid for before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from weakref import ReferenceType, ref

import numpy as np
import pytest

from peers.engine.files.directory import DirectoryStorage
from peers.engine.index import Index
from peers.engine.pages.document import Document
from peers.engine.pages.past import TimeSpan
from peers.engine.queries.query_parser import parse_query
from peers.engine.searching.effort import LEFT, Effort
from peers.engine.snapshot import View
from peers.index.index_reader import EXPLAINED_VISITS, PAST_VIEWS_KEPT, IndexReader, SnapshotReader

SLOTS = 4
CHARS = 4_000
URLS = [f"http://a.test/{number}" for number in range(8)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[SnapshotReader]:
    index = Index.open(DirectoryStorage(tmp_path))
    index.add([(1, Document(url, title="a title", text="word " * (CHARS // 5))) for url in URLS])
    index.commit()
    yield IndexReader(index).over(np.ones(SLOTS, np.bool_))
    index.close()


def test_explanations_are_given_as_far_as_the_effort_goes(reader: SnapshotReader) -> None:
    query = parse_query("word")
    statistics = reader.statistics(query.terms)
    whole = reader.excerpts(query, URLS, statistics)
    assert all(excerpt.explanation for excerpt in whole)
    unexplained = Effort(1 << 40)
    reader.excerpts(query, URLS, effort=unexplained)
    effort = Effort((1 << 40) - int(unexplained.cells[LEFT]) + EXPLAINED_VISITS * len(query.scoring) * 7 // 2)
    some = reader.excerpts(query, URLS, statistics, effort)
    assert [bool(excerpt.explanation) for excerpt in some] == [True] * 3 + [False] * 5
    assert [excerpt.url for excerpt in some] == URLS
    assert effort.is_spent


def test_excerpts_for_many_words_cost_more(reader: SnapshotReader) -> None:
    reader.excerpts(parse_query("word"), URLS)  # pages that were read are remembered
    effort = Effort(len(URLS) * CHARS // 4)
    assert len(reader.excerpts(parse_query("word nowhere"), URLS, effort=effort)) == len(URLS)
    assert not effort.is_spent
    many = parse_query(" ".join(f"word{number}" for number in range(60)))
    effort = Effort(len(URLS) * CHARS // 4)
    assert len(reader.excerpts(many, URLS, effort=effort)) < len(URLS)
    assert effort.is_spent


def test_nothing_is_quoted_of_a_page_that_does_not_want_it(tmp_path: Path) -> None:
    index = Index.open(DirectoryStorage(tmp_path))
    index.add([(1, Document(URLS[0], title="a title", text="a secret word", is_quotable=False))])
    index.commit()
    view = IndexReader(index).over(np.ones(SLOTS, np.bool_))
    query = parse_query("word")
    assert [hit.url for hit in view.search(query, view.statistics(query.terms), 10)[2]] == URLS[:1]
    (excerpt,) = view.excerpts(query, URLS[:1])
    assert (excerpt.title, excerpt.snippet, excerpt.highlights) == ("a title", "", ())
    index.close()


def test_the_memory_for_searches_of_other_days_does_not_grow_with_the_days_asked_for(tmp_path: Path) -> None:
    index = Index.open(DirectoryStorage(tmp_path))
    index.add([(1, Document(url, title="a title", text="word")) for url in URLS])
    index.commit()
    reader, views = IndexReader(index), list[ReferenceType[View]]()
    for day in range(10):
        span = TimeSpan(86_400.0 * day, 86_400.0 * day)
        views.append(ref(reader.over(np.ones(SLOTS, np.bool_), span)._view))
    assert sum(view() is not None for view in views) <= PAST_VIEWS_KEPT
    assert reader.over(np.ones(SLOTS, np.bool_), span)._view is views[-1]()
    index.close()
