"""The words of a query in a stored copy."""

from __future__ import annotations

import re

import pytest

from peers.gateway.marked_copy import MARKS_MAX, jumps, with_marks, words_of

_MARK = re.compile(r"<mark[^>]*>(.*?)</mark>", re.DOTALL)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("the running searches", ("running", "searches")),
        ("北京大学", ("北京", "大学", "北京大学")),
        ('intitle:foo -bar "exact phrase" site:a.test', ("foo", "exact", "phrase")),
        ("", ()),
    ],
)
def test_words_are_those_that_are_asked_for(query: str, words: tuple[str, ...]) -> None:
    assert words_of(query) == words


@pytest.mark.parametrize(
    ("markup", "query", "marked"),
    [
        ("<p class=needle>A Needle, needles; pineneedle", "needle", ["Needle", "needles"]),
        ("<title>needle</title><script>needle</script><STYLE>needle</STYLE>a needle", "needle", ["needle"]),
        ("<!-- needle <b>needle</b> needle -->needle<!---->needle", "needle", ["needle", "needle"]),
        ("<!-- needle > needle", "needle", []),
        ("<svg><title>needle</title></svg ><p>needle", "needle", ["needle"]),
        ("在北京大学学习，北京", "北京大学", ["北京大学", "北京"]),
        ("a &lt; b &#39; lt 39", "lt 39", ["lt", "39"]),
        ("<needle", "needle", []),
        ("needle <", "needle", ["needle"]),
        ("c car", "c", ["c"]),
    ],
)
def test_marks_are_in_texts_and_nowhere_else(markup: str, query: str, marked: list[str]) -> None:
    copy = with_marks(markup, query)
    assert _MARK.findall(copy.markup) == marked
    assert re.sub(r"</?mark[^>]*>", "", copy.markup) == markup


def test_each_word_has_a_colour_and_a_jump_to_its_first_place() -> None:
    copy = with_marks("<p>one two one <b>two", "two one three")
    assert [word for _, word in copy.found] == ["two", "one"]
    assert len(set(re.findall("background:#(\\w+)", copy.markup))) == 2
    line = jumps(copy)
    places = re.findall("#(tianmesh-\\d+)", line)
    assert [copy.markup.count(f"id={place} ") for place in places] == [1, 1]
    assert jumps(with_marks("<p>four", "two")) == ""
    assert '"' not in copy.markup


def test_marks_are_counted() -> None:
    assert with_marks("word " * (MARKS_MAX + 9), "word").markup.count("<mark") <= MARKS_MAX + 9
    assert with_marks("<b>word " * (MARKS_MAX + 9), "word").markup.count("<mark") == MARKS_MAX
