from __future__ import annotations

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from peers.engine.excerpts.snippet import Snippet, highlights_of, searched_chars, snippet_of
from peers.engine.queries.query import Mode, Query
from peers.engine.queries.query_parser import parse_query
from peers.text.compounds import COMPOUND_PREFIX
from peers.text.stemming import FORM_PREFIX
from tests.peers.text.samples import any_text


def marked(text: str, query: str) -> str:
    """Return the excerpt of a text with its highlights in tags."""
    snippet = snippet_of(text, parse_query(query))
    shown, done = "", 0
    for start, end in snippet.highlights:
        shown += f"{snippet.text[done:start]}<mark>{snippet.text[start:end]}</mark>"
        done = end
    return shown + snippet.text[done:]


def test_a_short_text_is_shown_whole() -> None:
    assert marked("天网是搜索引擎", "搜索引擎") == "天网是<mark>搜索引擎</mark>"
    assert marked("", "a") == ""


def test_the_window_with_most_distinct_words_is_chosen() -> None:
    filler = "one thing after another. " * 40
    text = f"{filler}red red red red. {filler}red and green together. {filler}green. {filler}"
    assert "<mark>red</mark> and <mark>green</mark> together" in marked(text, "red green")


def test_chinese_windows_have_150_to_200_characters() -> None:
    text = "网页的内容很长，" * 200 + "两级映射机制在这里。" + "后面还有很多内容，" * 200
    snippet = snippet_of(text, parse_query("两级映射"))
    assert 150 <= len(snippet.text) <= 200
    assert [snippet.text[a:b] for a, b in snippet.highlights] == ["两级映射"]
    assert snippet.text[0] == snippet.text[-1] == "…"


def test_latin_windows_have_about_300_characters_and_whole_words() -> None:
    words = ["several", "ordinary", "machines", "answering", "questions", "together"] * 200
    text = " ".join([*words[:300], "needle", *words])
    snippet = snippet_of(text, parse_query("needle"))
    assert 280 <= len(snippet.text) <= 330
    assert set(re.findall(r"\w+", snippet.text)) <= {*words, "needle"}


def test_the_beginning_is_shown_when_nothing_matches() -> None:
    assert marked("no such\nthing " * 100, "other").startswith("no such thing no such thing")


def test_words_are_marked_whole_and_as_they_were_written() -> None:
    assert (
        marked("Cafety, CAFÉ: cafe\u0301!", "café") == "Cafety, <mark>CAFÉ</mark>: <mark>cafe\u0301</mark>!"
    )
    assert marked("GNU系统", "gnu") == "<mark>GNU</mark>系统"
    assert marked("中华人民共和国", "中华人民共和国") == "<mark>中华人民共和国</mark>"
    assert marked("½ ㌔ term", "term") == "½ ㌔ <mark>term</mark>"


def test_other_forms_of_a_word_are_marked() -> None:
    assert marked("Indexes of indexed and indexing; an indefinite", "index") == (
        "<mark>Indexes</mark> of <mark>indexed</mark> and <mark>indexing</mark>; an indefinite"
    )
    assert marked("studies, a study, a student", "studying") == (
        "<mark>studies</mark>, a <mark>study</mark>, a student"
    )


def test_a_model_is_marked_with_its_hyphen_and_without() -> None:
    for typed in ("X900", "x-900"):
        assert marked("An X-900, an X900; a max-900y", typed) == (
            "An <mark>X-900</mark>, an <mark>X900</mark>; a max-900y"
        )


def test_words_far_apart_are_shown_in_fragments_in_the_order_of_the_text() -> None:
    filler = "one thing after another. " * 40
    text = f"{filler}Here is the red one. {filler}Here is the green one. {filler}And blue. {filler}"
    snippet = snippet_of(text, parse_query("blue red green"))
    assert [snippet.text[a:b] for a, b in snippet.highlights] == ["red", "green", "blue"]
    assert snippet.text[0] == snippet.text[-1] == "…"
    assert snippet.text.count("…") == 4
    assert len(snippet.text) <= 330
    chinese = "后面还有很多内容，" * 100
    snippet = snippet_of(f"{chinese}两级映射。{chinese}搜索引擎。{chinese}", parse_query("搜索引擎 两级映射"))
    assert [snippet.text[a:b] for a, b in snippet.highlights] == ["两级映射", "搜索引擎"]
    assert 150 <= len(snippet.text) <= 200


def test_one_window_is_shown_where_it_has_all_words() -> None:
    filler = "one thing after another. " * 40
    snippet = snippet_of(f"{filler}red {filler} red and green {filler} green", parse_query("red green"))
    assert snippet.text.count("…") == 2
    assert [snippet.text[a:b] for a, b in snippet.highlights] == ["red", "green"]


def test_titles_are_highlighted_in_place() -> None:
    assert highlights_of("Search engines and search", parse_query("search")) == ((0, 6), (19, 25))


@settings(deadline=None, max_examples=400)
@given(any_text, any_text, st.integers(20, 400))
@example("\u0301", "天网", 20)  # folded to nothing
def test_snippets_are_bounded_lines_and_their_highlights_lie_in_them(
    text: str, query: str, columns: int
) -> None:
    snippet = snippet_of(text * 5, parse_query(query), columns)
    assert isinstance(snippet, Snippet)
    assert len(snippet.text) <= columns + 2
    assert "\n" not in snippet.text
    previous_end = -1
    for start, end in snippet.highlights:
        assert previous_end < start < end <= len(snippet.text)
        previous_end = end


def test_entries_without_a_letter_are_not_looked_for() -> None:
    entries = (COMPOUND_PREFIX, FORM_PREFIX, "word")
    query = Query(scoring=entries, weights=(1.0,) * len(entries), mode=Mode.OR)
    assert snippet_of("a word", query) == Snippet("a word", ((2, 6),), place=2)


def test_a_hostile_text_is_not_slow() -> None:
    snippet_of("a" * 1_000_000, parse_query("a b"))
    snippet_of("a " * 1_000_000, parse_query("a"))
    snippet_of("\u0301½" * 500_000, parse_query("1"))


def test_for_many_words_less_of_a_long_text_is_looked_through() -> None:
    text = "one thing after another. " * 4_000 + "Here is the needle."
    many = " ".join(f"word{number}" for number in range(60))
    assert "<mark>needle</mark>" in marked(text, "needle")
    assert "<mark>" not in marked(text, f"needle {many}")
    assert searched_chars(text, parse_query("needle")) == len(text)
    assert searched_chars(text, parse_query(f"needle {many}")) < len(text)


def test_many_words_that_begin_alike_are_all_marked() -> None:
    words = [f"q{letter}" for letter in "bcdefghijklmn"]
    assert marked(" ".join(words), " ".join(reversed(words))) == " ".join(f"<mark>{w}</mark>" for w in words)


def test_sentences_are_shown_rather_than_a_list() -> None:
    contents = "\n".join(f"{number}.1 Engine {number}" for number in range(12))
    text = f"{contents}\n{'Other words stand here. ' * 30}\n"
    text += "An engine is what moves the whole thing along, as long as it is fed.\n"
    assert marked(text, "engine").startswith("…")
    assert "An <mark>engine</mark> is what moves" in marked(text, "engine")


def test_more_words_of_the_query_count_more_than_sentences() -> None:
    text = (
        "\n".join(["Engine", "Search", "x"] * 6)
        + "\nSome more words are here. " * 30
        + "\nAn engine is here."
    )
    assert "<mark>Search</mark>" in marked(text, "search engine")


@pytest.mark.parametrize(
    ("typed", "text", "spans"),
    [
        ("हिंदी", "यह हिन्दी भाषा है", ["हिन्दी"]),
        ("ไทย", "เรียนภาษาไทยทุกวัน", ["ไทย"]),
        ("Gesamtkonzept", "Das Ge\u00adsamt\u00adkon\u00adzept ist", ["Ge\u00adsamt\u00adkon\u00adzept"]),
        ("محمد", "قال مُحَمَّد ذلك", ["مُحَمَّد"]),
        ("首页", "看首⻚吧", ["首⻚"]),
        ("학교", "학교에서 배운다", ["학교"]),
        ("タワー", "東京タワーへ", ["タワー"]),
        ("std::vector", "use std::vector here", ["std::vector"]),
    ],
)
def test_words_are_marked_as_they_are_written(typed: str, text: str, spans: list[str]) -> None:
    found = snippet_of(text, parse_query(typed))
    assert [found.text[start:end] for start, end in found.highlights] == spans
