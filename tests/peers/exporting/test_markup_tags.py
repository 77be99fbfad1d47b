"""The elements of pages, however they are written."""

from __future__ import annotations

import pytest

from peers.exporting.markup_tags import tags_of


def test_elements_are_named_once_in_lower_case() -> None:
    found = tags_of(b"<HTML><h1 class=x>One</h1><H1>two</H1><br/><img\nsrc='a'></html>")
    assert found.names == {"html", "h1", "br", "img"}


@pytest.mark.parametrize(
    ("markup", "names"),
    [
        (b"<p><!-- <b>no</b> --><i>", {"p", "i"}),
        (b"<p><!--><i>", {"p", "i"}),
        (b"<script>'<b>'</script><i>", {"script", "i"}),
        (b"<style>a<b></STYLE ><i>", {"style", "i"}),
        (b"<textarea><b></textarea><i>", {"textarea", "i"}),
        (b'<a title="x <b> y>z"><i>', {"a", "i"}),
        (b"<a title = '>'><i>", {"a", "i"}),
        (b'<a href=x"><i>', {"a", "i"}),  # a quotation mark inside of a value begins none
        (b"1 < 2, <3, <b2>, a<i", {"b2"}),
        (b"<p><script>never ends <b>", {"p", "script"}),
        (b"<p><!-- never ends <b>", {"p"}),
        (b"<p><a href='never ends <b>", {"p", "a"}),  # its quotation mark is a letter
        (b"<p><a href=never ends", {"p"}),
        (b"", set()),
    ],
)
def test_text_that_looks_like_an_element_is_none(markup: bytes, names: set[str]) -> None:
    assert tags_of(markup).names == names


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        (b"<title>A &amp; B\n c</title><title>second</title>", "A & B c"),
        (b"<title> </title>", ""),
        (b"<svg><title></title>", ""),
        ("<TITLE lang=zh>中文 <b>".encode(), "中文 <b>"),
        (b"<title>\xff</title>", "\ufffd"),
        (b"no title", ""),
    ],
)
def test_the_title_is_the_text_of_its_first_element(markup: bytes, title: str) -> None:
    assert tags_of(markup).title == title


def test_meta_elements_are_told_by_their_names() -> None:
    markup = b"""<meta content="a > b" NAME = Description><meta name='keywords' content=x><meta charset=utf-8>
    <meta name="robots.more"><meta property=description>"""
    assert tags_of(markup).names == {"meta", "meta description", "meta keywords"}
    assert "meta robots" in tags_of(b'<meta name="ROBOTS" content="none">').names


@pytest.mark.parametrize(
    "part", [b"<a ", b'<a ="', b"<a ='\"", b"<a='\">", b"<!--", b"<script>", b"<title>", b"<meta name= "]
)
def test_no_markup_takes_more_than_the_time_to_read_it(part: bytes) -> None:
    """Quadratic time would be some minutes."""
    assert len(tags_of(part * 200_000).names) <= 2
