"""Words of the mesh by which Chinese queries are cut."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peers.engine.queries.query_parser import read_query
from peers.text.analysis import QueryTerms, query_terms
from peers.text.segmentation import NO_USER_WORDS, UserWords, known_words_of, words_of
from peers.text.synonyms import NO_SYNONYMS
from peers.text.user_words import LINE_CHARS_MAX, cut_with, user_words_of, word_in
from tests.peers.text.samples import han_text

CLUB = user_words_of(["爱心社 12 n"])


def terms_with(text: str, user_words: UserWords) -> QueryTerms:
    return query_terms(text, NO_SYNONYMS, user_words)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("爱心社", "爱心社"),
        ("爱心社 12", "爱心社"),
        ("爱心社 12 n", "爱心社"),
        ("爱心社 nz", "爱心社"),
        ("單片機 3", "单片机"),
    ],
)
def test_lines_are_those_of_a_user_dictionary_of_jieba(line: str, word: str) -> None:
    assert word_in(line) == word


@pytest.mark.parametrize(
    "line",
    [
        "",
        " ",
        "社",
        "爱心社 n 12",
        "爱心社  12",
        "爱心社\t12",
        "爱心社 12 N",
        "爱心社 -1",
        "爱心社 1\n",
        "天网2.0 5",
        "tianmesh 5",
        "爱 心 社",
        "爱" * 11,
        "爱心社 " + "1" * LINE_CHARS_MAX,
        "\x01爱心",
    ],
)
def test_other_lines_have_no_word(line: str) -> None:
    assert word_in(line) is None
    assert user_words_of([line]) == NO_USER_WORDS


def test_a_word_of_the_mesh_is_one_word_and_the_rest_is_cut_as_always() -> None:
    assert words_of("北大爱心社招新") == ["北大", "爱心", "社招", "新"]
    assert cut_with("北大爱心社招新", CLUB) == ["北大", "爱心社", "招新"]
    assert cut_with("招新", CLUB) == words_of("招新")


def test_the_longest_word_wins_from_the_left() -> None:
    words = user_words_of(["爱心社", "爱心社团", "社团"])
    assert cut_with("爱心社团", words) == ["爱心社团"]


def test_no_word_of_the_dictionary_is_cut() -> None:
    assert known_words_of("中国人民") == ["中国", "人民"]
    assert cut_with("中国人民", user_words_of(["国人"])) == words_of("中国人民")


def test_all_of_a_word_is_required_and_none_of_its_parts_score() -> None:
    without, with_it = terms_with("爱心社", NO_USER_WORDS), terms_with("爱心社", CLUB)
    assert "社" in without.required
    assert with_it.required == ("\x01爱心", "\x01心社")
    assert "爱心社" in with_it.scoring
    assert {"爱心", "社"}.isdisjoint(with_it.scoring)


def test_queries_are_read_by_the_words_of_the_mesh_wherever_they_stand() -> None:
    for text in ("爱心社", "爱心社 OR 搜索", "(爱心社 搜索) OR linux"):
        reading = read_query(text, user_words=CLUB)
        assert "爱心社" in reading.query.scoring
        literals = [literal for clause in reading.query.clauses for literal in clause]
        assert "社" not in [entry for literal in literals for entry in literal.entries]
        assert "爱心社" not in read_query(text).query.scoring
    assert read_query('"爱心社"', user_words=CLUB).query.clauses == read_query('"爱心社"').query.clauses


@given(han_text, st.frozensets(st.text("爱心社的我们北京大学", min_size=2, max_size=4), max_size=5))
def test_a_cut_covers_its_run(run: str, words: frozenset[str]) -> None:
    assert "".join(cut_with(run, words)) == run
    assert terms_with(run, NO_USER_WORDS) == query_terms(run)
