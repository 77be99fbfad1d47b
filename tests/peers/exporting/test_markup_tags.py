"""The elements of pages, however they are written."""

from __future__ import annotations

import pytest

from peers.exporting.markup_tags import ARCHIVE_LINKS_MAX, archive_hrefs, tags_of


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
    assert tags_of(b'<meta content="name=robots">').names == {"meta"}
    assert "meta robots" in tags_of(b'<meta name="ROBOTS" content="none">').names


@pytest.mark.parametrize(
    "part", [b"<a ", b'<a ="', b"<a ='\"", b"<a='\">", b"<!--", b"<script>", b"<title>", b"<meta name= "]
)
def test_no_markup_takes_more_than_the_time_to_read_it(part: bytes) -> None:
    """Quadratic time would be some minutes."""
    assert len(tags_of(part * 200_000).names) <= 2
    assert archive_hrefs(b"<img " + part * 200_000) == []


def test_what_a_page_is_shown_with_are_its_archive_links() -> None:
    markup = b"""<link rel="alternate Stylesheet" href=a.css><link rel=canonical href=no>
    <link rel='shortcut icon' href='i.ico'><script src="s.js?a=1&amp;b=2"></script><body background=b.png>
    <img alt="src=no" SRC = p.png src=no><img src="data:image/png;base64,AAAA"><img src="">
    <video poster=v.jpg src='v.mp4'><source src=w.webm></video><a href=no>x</a><iframe src=no></iframe>
    <object data=o.swf><input type=image src=in.gif>"""
    assert archive_hrefs(markup) == [
        ("a.css", "link"),
        ("i.ico", "link"),
        ("s.js?a=1&b=2", "script"),
        ("b.png", "body"),
        ("p.png", "img"),
        ("v.mp4", "video"),
        ("v.jpg", "video"),
        ("w.webm", "source"),
        ("o.swf", "object"),
        ("in.gif", "input"),
    ]


def test_archive_links_are_half_as_many_as_links_to_pages() -> None:
    assert len(archive_hrefs(b"<img src=x>" * (ARCHIVE_LINKS_MAX + 10))) == ARCHIVE_LINKS_MAX == 3_000
