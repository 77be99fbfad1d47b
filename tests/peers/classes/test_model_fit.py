from __future__ import annotations

from itertools import pairwise

import pytest

from mesh.errors import ConfigError
from mesh.keys.decree import DECREE_BYTES_MAX
from peers.classes.model_fit import class_rows, fitted_model, given_classes, scores_of
from peers.classes.report import METHODS, comparison_of
from peers.classes.samples import LabelledText
from peers.classes.vectors import counts_of, vectors_of
from peers.engine.pages.class_model import model_in
from tests.peers.classes.texts import SUBJECTS, samples_of


def paths_of(samples: list[LabelledText], is_abstaining: bool = True) -> tuple[list[tuple[str, ...]], int]:
    model = fitted_model(samples_of(40))
    rows = model_in(model.body)
    given = given_classes(model, [sample.text for sample in samples], is_abstaining=is_abstaining)
    found = [tuple(rows.rows[each].name for each in rows.path_of(int(number))) for number in given]
    return found, len(model.body)


def test_classes_of_a_tree_are_told_from_the_top_down() -> None:
    judged = samples_of(40, seed=9)
    found, n_bytes = paths_of(judged)
    right = sum(path == sample.path for path, sample in zip(found, judged, strict=True))
    above = sum(path[:1] == sample.path[:1] for path, sample in zip(found, judged, strict=True))
    assert right / len(judged) > 0.75
    assert above >= right
    assert n_bytes < DECREE_BYTES_MAX


def test_what_is_of_no_class_is_given_none() -> None:
    stranger = [LabelledText((), "无关 words nobody knows")]
    assert paths_of(stranger)[0] == paths_of(stranger, is_abstaining=False)[0] == [()]
    mixed = [LabelledText((), f"{one.text} {other.text}") for one, other in pairwise(samples_of(30, seed=8))]
    assert all(paths_of(mixed, is_abstaining=False)[0])
    model = fitted_model(samples_of(40))
    given = given_classes(model, [sample.text for sample in mixed])
    scores = scores_of(model, vectors_of([counts_of(sample.text) for sample in mixed], model.vocabulary))
    for number, of_text in zip(given.tolist(), scores.tolist(), strict=True):
        best = max(range(3), key=of_text.__getitem__)
        assert (number < 0) == (of_text[best] < model.rows[best].threshold)


def test_rows_are_parents_first_and_siblings_together() -> None:
    rows, numbers = class_rows(samples_of(3))
    assert [row.name for row in rows] == [
        "food",
        "science",
        "sports",
        "biology",
        "physics",
        "football",
        "tennis",
    ]
    assert [row.parent for row in rows] == [-1, -1, -1, 1, 1, 2, 2]
    assert [row.n_samples for row in rows] == [3, 6, 6, 3, 3, 3, 3]
    assert rows[0].examples == ("http://food.test/0", "http://food.test/1", "http://food.test/2")
    assert numbers[("science", "physics")] == 4


def test_samples_that_are_of_a_class_but_of_none_below_it_stay_there() -> None:
    samples = [
        sample._replace(path=sample.path[:1]) if n % 2 else sample for n, sample in enumerate(samples_of(60))
    ]
    model = fitted_model(samples)
    rows = model_in(model.body)
    given = given_classes(model, [f"{sample.text} laboratory theory" for sample in samples_of(20, 4)[:20]])
    assert {rows.rows[rows.path_of(int(number))[0]].name for number in given if number >= 0} == {"science"}


def test_a_model_is_made_to_fit() -> None:
    samples = samples_of(40)
    whole = fitted_model(samples)
    small = fitted_model(samples, len(whole.body) - 150)
    assert len(small.body) <= len(whole.body) - 150
    assert small.least > whole.least == 1
    assert len(model_in(small.body).weights.terms) < len(model_in(whole.body).weights.terms)
    with pytest.raises(ConfigError, match="more than 100 bytes for 7 classes"):
        fitted_model(samples, 100)


def test_errors_say_what_to_do() -> None:
    with pytest.raises(ConfigError, match="too few samples of b: give 2"):
        fitted_model([LabelledText(("a",), "x"), LabelledText(("a",), "y"), LabelledText(("b",), "z")])
    twice = [LabelledText(("a", "c"), "x"), LabelledText(("b", "C"), "y")] * 2
    with pytest.raises(ConfigError, match="two classes are called c"):
        fitted_model(twice)


def test_the_same_samples_make_the_same_model() -> None:
    assert fitted_model(samples_of(10)).body == fitted_model(samples_of(10)).body


def test_a_report_has_every_table_and_the_book_s_outcome_on_easy_classes() -> None:
    rows = list(comparison_of(samples_of(30)).rows())
    tables = {row.table for row in rows}
    assert tables == {
        "methods",
        "features, kNN, cosine",
        "cuts, kNN, cosine",
        "cuts, linear",
        "the model of a decree",
    }
    methods = {row.name: row for row in rows if row.table == "methods"}
    assert methods.keys() == METHODS.keys()
    assert methods["naive Bayes as printed"].micro <= methods["naive Bayes, smoothed"].micro
    assert methods["kNN, Euclid"].micro < methods["kNN, cosine"].micro
    assert methods["linear"].micro > 0.7
    levels = {row.name: row.micro for row in rows if row.table == "the model of a decree"}
    assert levels["SCut, level 1"] >= levels["SCut"] > 0.7
    assert all(0 <= row.micro <= 1 and 0 <= row.macro <= 1 for row in rows)
    assert len({sample.path for sample in samples_of(2)}) == len(SUBJECTS)
