"""Features against the same, worked out of the texts in plain Python."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from peers.engine.files.storage import MemoryStorage
from peers.engine.index import Index
from peers.engine.matching.occurrence_lookup import (
    NO_UNIT,
    PLACE_DOCUMENT_SHIFT,
    PLACE_POSITION_SHIFT,
    PLACES_PER_ENTRY_MAX,
    gather,
)
from peers.engine.native.kernels import FIELD_COUNT
from peers.engine.pages.document import Document
from peers.engine.queries.query import Mode, Query
from peers.engine.queries.query_parser import parse_query
from peers.engine.rescoring.features import depths_of, features_of, features_of_best, words_of_form
from peers.engine.rescoring.model import Features
from peers.engine.rescoring.proximity import proximities
from peers.engine.searching.ranking import CollectionStatistics
from peers.engine.snapshot import View
from tests.peers.engine.samples import index_of, random_documents


def view_of(*documents: Document) -> View:
    return index_of([(0, document) for document in documents]).snapshot().everything()


def features(view: View, text: str, *urls: str) -> list[Features]:
    query = parse_query(text, Mode.OR)
    return [Features(*each) for each in features_of(view, query, view.statistics(query.terms), urls)]


FILLER = [Document(url=f"http://h/filler/{n}", text="other words stand here") for n in range(20)]


def test_words_side_by_side_are_nearer_than_words_far_apart() -> None:
    near = Document(url="http://h/near", text="red apples and so much more than anybody wanted")
    far = Document(url="http://h/far", text="red and so much more than anybody wanted apples")
    view = view_of(near, far, *FILLER)
    one, other, nothing = features(view, "red apples", near.url, far.url, FILLER[0].url)
    assert one.proximity > other.proximity > nothing.proximity == 0.0


def test_other_forms_of_a_word_are_as_near() -> None:
    one = Document(url="http://h/one", text="functions adding numbers")
    other = Document(url="http://h/other", text="function add numbers")
    found = features(view_of(one, other, *FILLER), "adding function", one.url, other.url)
    assert found[0].proximity == found[1].proximity > 0.1


def test_words_of_different_fields_are_not_near() -> None:
    document = Document(url="http://h/a", title="red", text="apples")
    assert features(view_of(document, *FILLER), "red apples", document.url)[0].proximity == 0.0


def test_a_single_word_has_nothing_to_be_near_to() -> None:
    document = Document(url="http://h/a", text="red red red")
    assert features(view_of(document, *FILLER), "red", document.url)[0].proximity == 0.0


def test_a_title_that_is_the_query_has_one() -> None:
    exact = Document(url="http://h/exact", title="Red Apples")
    longer = Document(url="http://h/longer", title="Red apples and where they grow")
    half = Document(url="http://h/half", title="Red")
    view = view_of(exact, longer, half, *FILLER)
    values = [each.title for each in features(view, "red apple", exact.url, longer.url, half.url)]
    assert 0 < values[1] < values[0]
    assert 0 < values[2] < values[0]
    assert values[0] > 0.85  # the exact form of apple is not there


def test_a_chinese_title_that_is_the_query_has_one() -> None:
    document = Document(url="http://h/a", title="插入表格")
    assert features(view_of(document, *FILLER), "插入表格", document.url)[0].title > 0.9


def test_coverage_is_the_weight_of_what_occurs_anywhere() -> None:
    both = Document(url="http://h/both", title="red", text="apples")
    one = Document(url="http://h/one", text="apples")
    found = features(view_of(both, one, *FILLER), "red apples", both.url, one.url)
    assert found[0].coverage == pytest.approx(1.0)
    assert 0.2 < found[1].coverage < 0.8


def test_words_of_the_url_count() -> None:
    named = Document(url="http://h/red/apples.html", text="x")
    found = features(view_of(named, *FILLER), "red apples", named.url, FILLER[0].url)
    assert found[0].url == pytest.approx(1.0)
    assert found[1].url == 0.0


def test_raw_features_of_the_page_come_with_them() -> None:
    document = Document(url="http://h/a/b/c.html?x=/1/", text="red", fetched_at=1e9)
    found = features(view_of(document), "red", document.url)[0]
    assert (found.depth, found.date) == (3.0, 1e9)


@pytest.mark.parametrize(
    ("url", "depth"),
    [
        ("http://h/", 0),
        ("http://h/a", 1),
        ("http://h/a/", 1),
        ("http://h/a/b?c=/d/e#/f", 2),
        ("http://h/?a/b", 0),
    ],
)
def test_depth_counts_segments_of_the_path(url: str, depth: int) -> None:
    assert depths_of([url]) == [depth]


def test_a_page_that_is_not_there_has_no_features() -> None:
    assert features(view_of(*FILLER), "other words", "http://h/nowhere") == [Features()]


@pytest.mark.parametrize(
    "text", ["search engine", "天网 engine 搜索引擎", "the of 北京大学 peer", "2004 x86 café"]
)
def test_features_are_the_same_however_documents_are_spread(text: str) -> None:
    documents = random_documents(11, 120)
    query = parse_query(text, Mode.OR)
    whole = index_of(documents).snapshot().everything()
    chance = random.Random(4)
    shares: list[list[tuple[int, Document]]] = [[], [], []]
    for document in documents:
        chance.choice(shares).append(document)
    views = [index_of(share).snapshot().everything() for share in shares]
    statistics = sum((view.statistics(query.terms) for view in views), CollectionStatistics())
    assert statistics == whole.statistics(query.terms)
    for view, share in zip(views, shares, strict=True):
        urls = [document.url for _, document in share]
        assert features_of(view, query, statistics, urls) == features_of(whole, query, statistics, urls)
        one_by_one = [features_of(whole, query, statistics, [url])[0] for url in urls]
        assert one_by_one == features_of(whole, query, statistics, urls)


def test_features_are_the_same_from_one_segment_and_from_many() -> None:
    documents = random_documents(12, 90)
    index = Index.open(MemoryStorage())
    for start in range(0, 90, 30):
        index.add(documents[start : start + 30])
        index.commit()
    query = parse_query("search engine 天网", Mode.OR)
    one, many = index_of(documents).snapshot().everything(), index.snapshot().everything()
    statistics = one.statistics(query.terms)
    urls = [document.url for _, document in documents]
    assert features_of(many, query, statistics, urls) == features_of(one, query, statistics, urls)


def test_features_of_the_best_are_those_of_their_urls() -> None:
    documents = random_documents(12, 90)
    index = Index.open(MemoryStorage())
    for start in range(0, 90, 30):
        index.add(documents[start : start + 30])
        index.commit()
    query = parse_query("search engine 天网", Mode.OR)
    view = index.snapshot().everything()
    statistics = view.statistics(query.terms)
    _, _, best = view.best(query, statistics, 50)
    urls = [each.url for each in best]
    assert len({each.view for each in best}) == 3
    assert features_of_best(query, statistics, best) == features_of(view, query, statistics, urls)


def test_all_shares_are_between_0_and_1() -> None:
    documents = random_documents(13, 200)
    view = index_of(documents).snapshot().everything()
    urls = [document.url for _, document in documents]
    for text in ("search engine", "天网 搜索引擎 index", "the of a", "mesh peer crawler 2004"):
        for each in features(view, text, *urls):
            assert all(0 <= value <= 1 for value in each[:4])


def test_a_query_without_entries_has_no_shares() -> None:
    view = view_of(*FILLER)
    found = features_of(view, Query(), CollectionStatistics(20, (0, 0, 0, 0, 0), {}), [FILLER[0].url])
    assert Features(*found[0])[:4] == (0.0, 0.0, 0.0, 0.0)


def test_forms_of_a_word_have_its_stem() -> None:
    assert {"add", "adds", "adding", "added"} <= set(words_of_form("\x03add"))
    assert {"copy", "copies", "copied"} <= set(words_of_form("\x03copi"))
    assert {"stop", "stopped", "stopping"} <= set(words_of_form("\x03stop"))


def test_places_of_an_entry_are_those_of_its_words_in_the_body() -> None:
    documents = [
        Document(url="http://h/a", title="red", text="red blue red"),
        Document(url="http://h/b", text="blue"),
        Document(url="http://h/c", headings="red", text="x y red", anchors=("red red",)),
    ]
    part, _, _ = next(view_of(*documents).located([document.url for document in documents]))
    segment = part.segment
    wanted = np.array([0, 2])
    # Of the entries but the last; two documents behind another.
    frequencies = np.zeros((3, 3, FIELD_COUNT), np.int64)
    entries = ["red", "nosuchword", "blue", "x"]
    found = gather(segment, entries, np.array([7, 8, NO_UNIT, 9]), wanted, 1, frequencies)
    places = [
        (place >> PLACE_DOCUMENT_SHIFT, (place >> PLACE_POSITION_SHIFT) & 0xFFFF, place & 255)
        for place in sorted(found.tolist())
    ]
    assert places == [(1, 0, 7), (1, 2, 7), (2, 0, 9), (2, 2, 7)]
    none = [0] * FIELD_COUNT
    assert frequencies[0].tolist() == [none, [1, 0, 0, 2, 0, 0], [0, 2, 1, 1, 0, 0]]
    assert frequencies[1].tolist() == [none, none, none]
    assert frequencies[2].tolist() == [none, [0, 0, 0, 1, 0, 0], none]


def test_no_more_places_of_an_entry_are_read_than_the_limit() -> None:
    document = Document(url="http://h/a", text="red " * (PLACES_PER_ENTRY_MAX + 50))
    part, documents, _ = next(view_of(document).located([document.url]))
    frequencies = np.zeros((1, 1, FIELD_COUNT), np.int64)
    places = gather(part.segment, ["red"], np.array([0]), documents, 0, frequencies)
    assert len(places) == PLACES_PER_ENTRY_MAX
    assert frequencies[0, 0, 3] == PLACES_PER_ENTRY_MAX + 50


def plain_proximity(positions: list[tuple[int, int]], idf: list[float], length: float) -> float:
    """Return the proximity as its formula is written, of (position, unit) in order."""
    nearness = dict.fromkeys(range(len(idf)), 0.0)
    for (at, unit), (next_at, next_unit) in itertools.pairwise(positions):
        if unit != next_unit and next_at > at:
            nearness[unit] += idf[next_unit] / (next_at - at) ** 2
            nearness[next_unit] += idf[unit] / (next_at - at) ** 2
    k = 1.2
    half = k * (0.5 + 0.5 * length)
    total = sum(min(1.0, idf[u]) * a * (k + 1) / (a + half) for u, a in nearness.items())
    return min(1.0, total / sum(idf))


def test_proximity_is_that_of_the_formula() -> None:
    chance = random.Random(6)
    idf = [0.3, 2.0, 5.0]
    lengths = [0.1, 1.0, 3.0, 1.0]
    texts = [sorted((chance.randrange(60), chance.randrange(3)) for _ in range(n)) for n in (12, 3, 30)]
    texts.insert(3, [])
    places = sorted(
        document << PLACE_DOCUMENT_SHIFT | at << PLACE_POSITION_SHIFT | unit
        for document, text in enumerate(texts)
        for at, unit in text
    )
    found = proximities(np.array(places), np.array(idf), np.array(lengths))
    expected = [plain_proximity(text, idf, length) for text, length in zip(texts, lengths, strict=True)]
    assert found == pytest.approx(expected)


def test_hosts_that_link_to_a_page_are_told_as_they_are_known() -> None:
    document = Document(url="http://h/a", text="red", linking_hosts=7, fetched_at=2e9, date=1e9)
    found = features(view_of(document), "red", document.url)[0]
    assert (found.linking_hosts, found.date) == (7.0, 1e9)
