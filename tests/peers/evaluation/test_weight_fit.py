from __future__ import annotations

import random

import pytest

from peers.engine.pages.document import Document
from peers.engine.queries.query_parser import parse_query
from peers.engine.rescoring.model import ModelWeights
from peers.evaluation.engines import Ours, rank_all
from peers.evaluation.judged import Collection
from peers.evaluation.measures import measured
from peers.evaluation.weight_fit import (
    BOUNDS,
    FEATURES,
    FitSample,
    features_now,
    fit,
    kind_of_entry,
    left_out,
    point_now,
)


def collection(seed: int, *, titles_tell: bool) -> Collection:
    """Return pages each of which is looked for by its title, or by words of its text."""
    chance = random.Random(seed)
    words = [f"word{n}x" for n in range(60)]
    documents, queries, judgements = [], {}, {}
    for number in range(60):
        title, body = chance.sample(words, 3), chance.choices(words, k=20 + number)
        url = f"http://h/{number:03}"
        documents.append(Document(url=url, title=" ".join(title), text=" ".join(body)))
        queries[str(number)] = " ".join(chance.sample(title if titles_tell else body, 3))
        judgements[str(number)] = {url: 1}
    return Collection(f"c{seed}", tuple(documents), queries, judgements, True)


def test_matrices_rank_as_the_engine_does() -> None:
    given = collection(1, titles_tell=False)
    sample = FitSample(given)
    sample.take_candidates(point_now(), lambda: None)
    no_features = ModelWeights(**dict.fromkeys(FEATURES, 0.0))
    for ours, fitted in (
        (Ours(given, model=no_features), sample.judged_by_bm25f(point_now())),
        (Ours(given), sample.judged_by_model(features_now())),
    ):
        run = rank_all(ours, given.queries, lambda: None)
        values = measured(run, given.judgements)["MRR@10"]
        assert fitted.tolist() == pytest.approx([values[query] for query in given.queries])


def test_a_collection_left_out_is_judged_with_weights_fitted_to_the_others() -> None:
    telling, silent = FitSample(collection(2, titles_tell=True)), FitSample(collection(3, titles_tell=False))
    figures = {each.name: each for each in left_out([telling, silent], lambda what: None)}
    [alone] = left_out([silent], lambda what: None)
    assert figures["c3"].now == alone.now
    assert figures["c3"].others < alone.own  # titles tell in the other collection only


def test_a_title_gets_more_weight_where_titles_tell() -> None:
    telling, silent = FitSample(collection(2, titles_tell=True)), FitSample(collection(3, titles_tell=False))
    first, _ = fit([telling], lambda what: None)
    second, _ = fit([silent], lambda what: None)
    assert first.point["title"] >= second.point["title"]
    assert second.figures["c3"] >= second.before["c3"]
    assert second.point["title"] < point_now()["title"]


def test_fitted_weights_stay_within_bounds_and_are_judged_on_other_queries_too() -> None:
    bm25f, features = fit([FitSample(collection(4, titles_tell=False))], lambda what: None)
    assert all(low <= bm25f.point[name] <= high for name, (low, high) in BOUNDS.items())
    assert ModelWeights(**features.point)  # within its bounds
    assert 0 < bm25f.tested["c4"] <= 1
    assert bm25f.trained["c4"] >= bm25f.before["c4"] - 0.05


def test_every_entry_of_a_query_has_a_kind() -> None:
    query = parse_query("running 搜索引擎 C++ カタカナ")
    kinds = {kind_of_entry(entry) for entry in query.scoring}
    assert {"exact", "form", "word", "compound"} <= kinds
