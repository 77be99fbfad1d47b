"""The words of a query in a stored copy."""

from __future__ import annotations

import re

import pytest

from peers.gateway.site.marked_copy import MARKS_MAX, hrefs_in, jumps, style_of_links, with_marks, words_of

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
