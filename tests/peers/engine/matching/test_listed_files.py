"""Directories with a file of some size, age and name: by columns the same as by reading every line."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.matching.listed_files import has_words, is_asked_for, words_of_path
from peers.engine.matching.matching import found_by
from peers.engine.matching.matching_cost import matching_cost
from peers.engine.pages.directory_entries import ENTRIES_MAX, Entry, entries_in, lines_of
from peers.engine.pages.document import Document
from peers.engine.pages.kinds import LISTING
from peers.engine.queries.query_parser import read_query
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.engine.snapshot import View
from peers.text.analysis import analyse, atoms, frequency_entries

WORDS = ("Linux", "kernels", "数据库", "pg_dump", "X-900", "report", "résumé", "ノート", "C++")


def directory(number: int) -> Document:
    random = Random(number)
    entries = [
        Entry(
            random.choice("-_ .").join(random.sample(WORDS, random.randrange(1, 4))) + ".zip",
            random.choice((-1, 100, 5_000, 10**7)),
            date=random.choice((0, 10**9, 16 * 10**8)),
        )
        for _ in range(random.randrange(1, 7))
    ]
    names, details = lines_of(entries)
    return Document(
        f"http://a{number % 9}.test/{number}/", f"/{number}/", text=names, heading_ids=details, type=LISTING
    )


HOSTILE = [
    Document("http://h.test/0/", type=LISTING),
    Document(
        "http://h.test/1/", text="report\n" * 50, heading_ids="9" * 40 + "\n-1\t-5\n\t\t\t\t", type=LISTING
    ),
    Document("http://h.test/2/", text="report", heading_ids="5000\t1600000000\t\n" * 20_000, type=LISTING),
    Document("http://h.test/3/", text="report\n" * 3 * ENTRIES_MAX, heading_ids="٣\t١", type=LISTING),
    Document("http://h.test/4/", text="report", heading_ids="99999999\t1600000000\t"),  # no directory
]
DOCUMENTS = [*map(directory, range(200)), *HOSTILE]


@pytest.fixture(scope="module")
def view() -> View:
    index = Index.open(MemoryStorage())
    index.add([(n % 64, document) for n, document in enumerate(DOCUMENTS)])
    index.commit()
    return index.snapshot().everything()


@pytest.mark.parametrize(
    "words", ["", "linux", "kernel report", "数据库", "pg_dump", "x900", "resume", "C++ ノート"]
)
@pytest.mark.parametrize(
    "conditions", ["larger:4K", "newer:2015", "larger:200 newer:2015", "larger:0", "newer:1970"]
)
def test_columns_find_the_same_as_reading_every_line(view: View, words: str, conditions: str) -> None:
    query = read_query(f"{words} {conditions}").query
    [clause] = [clause for clause in query.clauses if clause[0].high != np.inf]
    literal = clause[0]
    without = found_urls(view, f"{words} type:listing")
    expected = {
        document.url
        for document in DOCUMENTS
        if document.type == LISTING
        and document.url in without
        and any(
            is_asked_for(
                entry, line, frozenset(literal.entries) - words_of_path(document.url, document.title), literal
            )
            for line, entry in zip(
                document.text.split("\n"), entries_in(document.text, document.heading_ids), strict=False
            )
        )
    }
    assert found_urls(view, f"{words} {conditions}") == expected


def found_urls(view: View, text: str) -> set[str]:
    query = read_query(text).query
    return {
        url
        for segment in view._segments
        for url in segment.segment.urls_of(found_by(segment, query).documents.tolist())
    }


@pytest.mark.parametrize("word", WORDS)
def test_a_look_at_a_name_denies_nothing_that_it_has(word: str) -> None:
    for number in range(100):
        for line in directory(number).text.split("\n"):
            entries = {*analyse(line), *atoms(line), *frequency_entries(line)}
            for entry in read_query(word).query.required:
                assert has_words(line, {entry}) == (entry in entries)


def test_what_finding_files_costs_is_paid_before(view: View) -> None:
    query = read_query("report larger:4K").query
    [segment] = view._segments
    assert matching_cost(segment, query) > 0
    found_by(segment, query)
    cost = matching_cost(segment, query)
    assert cost > 0
    terms = view.statistics(query.terms)
    n_found, _, _ = view.search(query, terms, 10, effort=Effort(100 * cost))
    assert n_found > 0
    with pytest.raises(EffortSpentError):
        view.facets(query, Effort(1))
