from __future__ import annotations

import pytest

from peers.text.analysis import EitherOf, query_terms
from peers.text.synonyms import is_word, synonyms_of

GROUPS = (("北大", "北京大學"), ("postgres", "PostgreSQL"), ("k8s", "kubernetes"), ("校长", "president"))
SYNONYMS = synonyms_of(GROUPS)


def test_each_word_of_a_group_has_the_others_folded() -> None:
    assert SYNONYMS["北京大学"] == ("北大",)
    assert SYNONYMS["postgresql"] == ("postgres",)
    assert synonyms_of([("a", "b"), ("b", "c")])["b"] == ("a", "c")
    assert synonyms_of([("one", "two words"), ("same", "Same")]) == {}


@pytest.mark.parametrize("text", ["postgres", "Ελλάδα", "北大", "x" * 64])
def test_word_of_one_script_can_have_synonyms(text: str) -> None:
    assert is_word(text)


@pytest.mark.parametrize("text", ["", " ", "two words", "node.js", "大", "北大pku", "北京大学数学科学学院长"])
def test_no_other_text_can(text: str) -> None:
    assert not is_word(text)


def test_either_word_is_required_and_the_typed_one_scores_more() -> None:
    terms = query_terms("postgres tuning", SYNONYMS)
    assert terms.required == ("\x03tune",)
    assert terms.alternatives == (EitherOf((("\x03postgr",), ("\x03postgresql",))),)
    weights = dict(zip(terms.scoring, terms.weights, strict=True))
    assert 0 < weights["\x03postgresql"] < weights["\x03postgr"]


def test_chinese_and_latin_words_can_mean_the_same() -> None:
    [way] = query_terms("校长", SYNONYMS).alternatives
    assert way.ways == (("\x01校长",), ("\x03presid",))
    [back] = query_terms("president", SYNONYMS).alternatives
    assert back.ways == way.ways[::-1]


def test_synonyms_of_the_mesh_go_before_words_of_other_regions() -> None:
    [word] = query_terms("软件", synonyms_of([("软件", "程序", "应用")])).alternatives
    assert word.ways == (("\x01软件",), ("\x01程序",), ("\x01应用",))


def test_a_word_inside_of_another_one_has_none() -> None:
    assert query_terms("东北大学", SYNONYMS) == query_terms("东北大学")
    assert query_terms("k8s.io", SYNONYMS) == query_terms("k8s.io")
    assert query_terms("std::postgres", SYNONYMS) == query_terms("std::postgres")
