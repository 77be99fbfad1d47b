"""The words of a query in a stored copy."""

from __future__ import annotations

import re

import pytest

from peers.engine.excerpts.snippet import highlights_of
from peers.engine.queries.query_parser import parse_query
from peers.gateway.site.marked_snapshot import (
    MARKS_MAX,
    hrefs_in,
    jumps,
    style_of_links,
    with_marks,
    words_of,
)
from peers.text.analysis import query_terms

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
        ("<b>rewrite</b> it, Rewritten, rewriter's rewrit", "rewriting", ["rewrite", "rewriter", "rewrit"]),
        ("résumé re\u0301sumés resumed", "resume", ["résumé", "re\u0301sumés", "resumed"]),
        ("r&eacute;sum&eacute; &resume", "resume", []),
        ("X-900, X900 and max-900", "x-900", ["X-900", "X900", "900"]),
        ("搜尋引擎", "搜寻", ["搜尋"]),
        ("c++ c cc c", "C++", ["c++", "c", "c"]),
        ("a हिन्दी b हिन्द", "हिंदी", ["हिन्दी"]),
        ("カタカナ語", "カタカナ", ["カタ", "カナ"]),
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


def test_words_have_the_forms_of_the_language_of_the_page() -> None:
    for language, marked in (("de", ["Tabellen", "Tabelle"]), ("", ["Tabellen"])):
        assert _MARK.findall(with_marks("Tabellen, Tabelle, Tafel", "tabellen", language).markup) == marked


@pytest.mark.parametrize("query", ["rewriting words", "X-900", "C++ 搜寻", "Häuser", "हिन्दी"])
def test_the_words_that_an_excerpt_has_marked_are_marked(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.engine.queries.query_parser.query_terms", query_terms)
    text = "Rewrite a word, X900 and X-900, C++, 搜尋引擎 of häuser or हिंदी"
    places = highlights_of(text, parse_query(query))
    assert "".join(_MARK.findall(with_marks(text, query).markup)) == "".join(text[a:b] for a, b in places)


def test_marks_are_counted() -> None:
    assert with_marks("word " * (MARKS_MAX + 9), "word").markup.count("<mark") <= MARKS_MAX + 9
    assert with_marks("<b>word " * (MARKS_MAX + 9), "word").markup.count("<mark") == MARKS_MAX


@pytest.mark.parametrize(
    ("markup", "hrefs"),
    [
        ("<a href=x>1</a><A class='a b' HREF = \"y z\">2</A>", ("x", "y z")),
        ("<a data-href=x title='href=y' href='z?a=1&amp;b=2'>", ("z?a=1&b=2",)),
        ("<a\nhref=x/><a/href=y>", ("x/", "y")),
        ("<a href=x href=y><a href=x>", ("x",)),
        ("<abbr href=x><area href=y><a name=z><a href><a href=''><a hrefs=u>", ("",)),
        ("<a  href = x ><a title=a>b href=c", ("x",)),
        ("<a href='", ()),
    ],
)
def test_links_are_had_as_they_are_written(markup: str, hrefs: tuple[str, ...]) -> None:
    assert hrefs_in(markup, 9) == hrefs


def test_links_are_looked_for_as_long_as_there_is_room() -> None:
    assert hrefs_in("".join(f"<a href={n}>" for n in range(9)), 3) == ("0", "1", "2")


@pytest.mark.parametrize("href", ['"]{}</style><script>', "\\", "a\nb", "*/", "x{y}"])
def test_no_link_leaves_the_style_that_marks_it(href: str) -> None:
    style = style_of_links([href])
    assert re.fullmatch(r'<style>a\[href="(?:[A-Za-z0-9_-]|\\[0-9a-f]+ )*"\]\{[^{}<>"]*\}</style>', style)
