from __future__ import annotations

import random
from math import inf, nan

import numpy as np
import pytest

from peers.engine.rescoring.explanation import Explanation
from peers.engine.rescoring.model import (
    COMPENSATED_DAYS,
    Candidate,
    Features,
    ModelWeights,
    explain_mix,
    linkedness,
    newest_of,
    newness,
    reranked,
    scale_of,
)
from peers.engine.searching.ranking import CollectionStatistics
from tests.peers.engine.term_query import term_query

NOTHING = ModelWeights(**dict.fromkeys(ModelWeights.__struct_fields__, 0.0))


def weights(**of_features: float) -> ModelWeights:
    """Return weights that leave out all other features."""
    return ModelWeights(**{**dict.fromkeys(ModelWeights.__struct_fields__, 0.0), **of_features})


def some_counts(chance: random.Random) -> list[float]:
    """Hosts that link to a page, its depth, its age in seconds."""
    return [float(chance.randrange(50)), float(chance.randrange(6)), chance.random() * 1e8]


def candidates(seed: int, count: int = 100) -> list[Candidate]:
    chance = random.Random(seed)
    return [
        Candidate(
            f"http://h/{number}",
            chance.random() * 10,
            Features(*[chance.random() for _ in range(4)], *some_counts(chance)),
        )
        for number in range(count)
    ]


def test_without_weights_the_order_is_that_of_bm25f() -> None:
    given = candidates(1)
    assert reranked(given, 7.0, NOTHING) == sorted(given, key=lambda each: (-each.score, each.url))


def test_the_mix_is_the_same_whatever_order_the_candidates_come_in() -> None:
    given = candidates(2)
    expected = reranked(given, 3.0)
    random.Random(3).shuffle(given)
    assert reranked(given, 3.0) == expected


@pytest.mark.parametrize("name", ["proximity", "title", "url", "coverage"])
def test_a_feature_adds_scale_times_weight_times_value(name: str) -> None:
    given = Candidate("http://h/", 2.0, Features(**{name: 0.5}))
    (found,) = reranked([given], 8.0, weights(**{name: 0.25}))
    assert found.score == 2.0 + 8.0 * 0.25 * 0.5


def test_pages_that_more_hosts_link_to_come_first() -> None:
    few = Candidate("http://a/", 1.0, Features(linking_hosts=1))
    many = Candidate("http://b/", 1.0, Features(linking_hosts=100))
    assert [each.url for each in reranked([few, many], 1.0, weights(linking_hosts=0.1))] == [
        many.url,
        few.url,
    ]


def test_the_front_page_comes_before_what_is_deep() -> None:
    deep = Candidate("http://a/b/c/d", 1.0, Features(depth=3))
    front = Candidate("http://z/", 1.0, Features(depth=0))
    assert [each.url for each in reranked([deep, front], 1.0, weights(depth=0.1))] == [front.url, deep.url]


def test_the_newer_of_two_pages_comes_first_and_no_clock_is_asked() -> None:
    year = 365 * 86_400.0
    old = Candidate("http://a/", 1.0, Features(date=10 * year))
    new = Candidate("http://b/", 1.0, Features(date=11 * year))
    ranked = reranked([old, new], 1.0, weights(freshness=1.0))
    assert [(each.url, each.score) for each in ranked] == [(new.url, 2.0), (old.url, 1.5)]


def test_book_10_3_a_new_page_is_compensated_for_links_it_had_no_time_to_get() -> None:
    values = newness(np.array([0.0, 1.0, 30.0, COMPENSATED_DAYS, 10 * COMPENSATED_DAYS])).tolist()
    assert values[:2] == [1.0, 1.0]
    assert 1.0 > values[2] > values[3] == values[4] == 0.0


def test_a_new_page_counts_as_one_that_two_hosts_link_to() -> None:
    day = 86_400.0
    new = Candidate("http://new/", 1.0, Features(date=1_000 * day))
    linked = [Candidate(f"http://{n}/", 1.0, Features(linking_hosts=n, date=100 * day)) for n in (1, 3)]
    only_links = weights(linking_hosts=ModelWeights().linking_hosts, newness=ModelWeights().newness)
    ranked = reranked([new, *linked], 1.0, only_links)
    assert [each.url for each in ranked] == ["http://3/", "http://new/", "http://1/"]
    told = explain_mix(new, Explanation("bm25f", 1.0, "given"), 1.0, 1_000 * day, only_links)
    assert [part.name for part in told.parts] == ["bm25f", "linking hosts", "newness"]


def test_links_from_everywhere_are_worth_one() -> None:
    assert linkedness(np.array([0.0, 1e12])).tolist() == [0.0, 1.0]


def test_an_explanation_of_the_mix_comes_to_the_score() -> None:
    given = candidates(4)
    newest = newest_of(given)
    expected = {each.url: each.score for each in reranked(given, 5.0)}
    for each in given:
        explanation = explain_mix(each, Explanation("bm25f", each.score, "given"), 5.0, newest)
        assert explanation.value == expected[each.url]
        assert explanation.value == pytest.approx(sum(part.value for part in explanation.parts))


def test_the_scale_counts_entries_that_occur_with_their_weights() -> None:
    query = term_query(["red", "green", "nowhere"])
    statistics = CollectionStatistics(10, (0, 0, 0, 10, 0), {"red": 5, "green": 5})
    single = scale_of(term_query(["red"]), statistics)
    assert scale_of(query, statistics) == pytest.approx(2 * single)


@pytest.mark.parametrize(
    "told",
    [(), (0.5,), (nan,) * 7, (inf,) * 7, (2.0, 0, 0, 0, 0, 0, 0), (0, 0, 0, 0, -1.0, 0, 0), (0.0,) * 8],
)
def test_features_that_no_honest_peer_sends_count_as_none(told: tuple[float, ...]) -> None:
    honest = Candidate("http://a/", 1.0, Features(proximity=0.5, date=1e9))
    (found,) = (
        each for each in reranked([honest, Candidate("http://z/", 1.0, told)], 1.0) if each.url == "http://z/"
    )
    (expected,) = (
        each
        for each in reranked([honest, Candidate("http://z/", 1.0, Features())], 1.0)
        if each.url == "http://z/"
    )
    assert found.score == expected.score


def test_a_weight_out_of_bounds_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 2"):
        ModelWeights(proximity=3.0)
