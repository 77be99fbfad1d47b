"""The reader of HTML in C: the tokenizer's rules, what ends what, and its limits."""

from __future__ import annotations

from html.entities import html5

import pytest

from peers.crawler.parsing._markup import read_markup


def read(
    markup: str, *, chars: int = 1_000_000, elements: int = 1_000, links: int = 100
) -> tuple[str | None, list[str], str, list[tuple[str, str]], list[tuple[str, dict[str, str], bool]], bool]:
    title, headings, _, text, scores, _, found, noted, is_cut, _ = read_markup(
        markup.encode(), html5, chars, elements, links, 20, b"", b""
    )
    assert len(scores) == (len(text.split("\n")) if text else 0)
    return title, headings, text, list(found), noted, is_cut


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("a &amp; b&lt;c&gt;&quot;&#39;", "a & b<c>\"'"),
        ("&copy &copy; &notit; &notin; &unknown; &", "© © ¬it; ∉ &unknown; &"),
        ("&NotEqualTilde;&CounterClockwiseContourIntegral;", "≂̸∳"),
        ("&#65;&#x42;&#X43 &#x80;&#0;&#xD800;&#x110000;&#99999999999999999999;", "ABC €����"),
        ("&#; &#x; &#", "&#; &#x; &#"),
        ("1 < 2 <3 a<b", "1 < 2 <3 a"),  # the last is a tag that does not end
        ("a<!-- b --> c <!-->d<!--->e<!-- f --!> g<!-- h", "a c de g"),
        ("a<!doctype x>b<?php c ?>d</ e>f</>g<![CDATA[h]]>i", "abdfgi"),
        ("<p/>a<br/>b</p>c</br>d", "a\nb\nc\nd"),
        ("<P CLASS='>' ID=\">\" x=>a</P\n x>b", "a\nb"),
        ("<textarea><b>&lt;</textarea>c<xmp><b>&lt;</xmp>", "<b><c<b>&lt;"),
        ("<script>'</scripty>' <b> '</script >a<STYLE><b></style/>b", "ab"),
        ("<script><!-- <script> </script> --> </script>a", "a"),
        ("<script><!-- x --> </script>a", "a"),
        ("<noscript>no<p>no</noscript>a<template>no</template>b", "ab"),
        ("<div><noscript>no</div>a", "a"),
        ("<div></span>a</div>b", "a\nb"),
        ("a<plaintext><b></plaintext>", "a<b></plaintext>"),
        ("a\u3000\u00a0 b\x1cc\u2028d<p> \u200b </p>e", "a b c d\n\u200b\ne"),
        ("", ""),
    ],
)
def test_text_is_read_by_the_rules_of_the_standard(markup: str, text: str) -> None:
    assert read(markup)[2] == text


@pytest.mark.parametrize(
    ("markup", "links"),
    [
        ("<a href=x>a<b>b</b> c</a>d", [("x", "ab c")]),
        ("<A HREF = ' x ' href=y>a</A>", [(" x ", "a")]),
        ("<a href=x?a=1&b=2&amp;c&copy=3&reg;>a</a>", [("x?a=1&b=2&c&copy=3®", "a")]),
        ("<a href=x>a<a href=y>b", [("x", "a"), ("y", "b")]),
        ("<div><a href=x>a</div>b", [("x", "a")]),
        ("<p><a href=x>a<p>b</a>c", [("x", "a b")]),
        ("<table><td><a href=x>a<td>b", [("x", "a")]),
        ("<a href=x", []),
        ("<a href=x/>a</a>", [("x/", "a")]),
        ("<a href='x>a</a>", []),
        ("<!-- <a href=x> --><script><a href=x></script><title><a href=x></title>", []),
        ("<a href='#x'>a</a><a href=javascript:x>b</a><a>c</a>", []),
        ("<a rel='x NOFOLLOW' href=x>a</a><a rel=nofollows href=y>b</a>", [("y", "b")]),
        ("<a href=x><img alt=' p &amp; q'><img alt=r></a>", [("x", "p & q r")]),
        ("<iframe src=x><a href=y></iframe><area href=z alt=a>", [("x", ""), ("z", "a")]),
        ("<a href=x>" + "字" * 30 + "</a>", [("x", "字" * 20)]),
        (
            "<a href=x><svg><title>p</title></svg></a><svg><a xlink:href=y>q</a></svg>",
            [("x", "p"), ("y", "q")],
        ),
        ("<template><a href=x>a</a><iframe src=y></iframe></template><a href=z>b</a>", [("z", "b")]),
        (
            "<link rel=next href=x><link rel='PREV x' href=y><link rel=prefetch href=z>",
            [("x", ""), ("y", "")],
        ),
        (
            "<link rel=alternate hreflang=ko href=x><link rel='alternate stylesheet' hreflang=ko href=y>",
            [("x", "")],
        ),
        ("<embed src=x><object data=y><a href=z>a</a></object>", [("x", ""), ("y", ""), ("z", "a")]),
        ("<embed src=x type=image/png><object type='VIDEO/mp4' data=y></object>", []),
    ],
)
def test_links_are_those_that_a_browser_shows(markup: str, links: list[tuple[str, str]]) -> None:
    assert read(markup)[3] == links


def test_headings_end_with_what_is_around_them() -> None:
    assert read("<h1>a <b>b</b></h1><div><h2>c</div>d<h3></h3><h4>e")[1] == ["a b", "c", "e"]


@pytest.mark.parametrize(
    ("markup", "title", "text"),
    [
        ("<title>a &lt; <b></title>c<title>d</title>", "a < <b>", "c"),
        ("<title> </title><title>a</title>", "a", ""),
        ("<p hidden><title>a</title></p>b", "a", "b"),
        (
            "<template><title>a</title></template><noscript><title>b</title></noscript><title>c</title>",
            "c",
            "",
        ),
        ("<svg><title>a</title></svg>b<title>c</title>", "c", "b"),
        ("<math><title>a</title></math>b", None, "b"),
        ("<svg><g><path></svg><title>a</title>", "a", ""),
        ("<svg/><title>a</title>", "a", ""),
        ("<svg><title>a<p>b<title>c</title>", "c", ""),  # the first lacks its end, and has HTML inside
        ("<svg><path d=x><p>a</p><title>b</title>", "b", "a"),  # 13.2.6.5: <p> ends the drawing
        ("<svg></p><title>a</title>", "a", ""),
        ("<svg><foreignObject><title>a</title></foreignObject></svg>", "a", ""),
        ("<svg><style><![CDATA[ <title>a</title> > ]]></style></svg><title>b</title>", "b", ""),
        ("<svg><![CDATA[a<b>&amp;]]></svg>c", None, "a<b>&amp;c"),
        ("<svg><textarea><title>a</title></textarea>b</svg>", None, "b"),
        ("x", None, "x"),
    ],
)
def test_the_title_is_the_first_of_html_and_no_text(markup: str, title: str | None, text: str) -> None:
    assert (read(markup)[0], read(markup)[2]) == (title, text)


@pytest.mark.parametrize(
    ("markup", "text", "readings"),
    [
        (
            "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rp>(</rp><rt>じ</rt><rp>)</rp></ruby>の",
            "漢字の",
            "かんじ",
        ),
        ("<ruby>東<rp>(<rt>とう<rp>)<rb>京<rp>(<rt>きょう<rp>)</ruby>へ", "東京へ", "とうきょう"),
        ("<ruby>漢<rb>字<rtc><rt>kan<rt>ji</rtc></ruby>の", "漢字の", "kanji"),
        ("<ruby>\n 東\n <rt>とう</rt>\n 京 <rt>きょう</rt>\n</ruby>へ", "東京へ", "とうきょう"),
        ("<ruby>new <rt>a</rt>york<rt>b</rt></ruby> c<ruby>d<rt>e</rt></ruby>", "newyork cd", "ab\ne"),
        ("<rt>a</rt>b<rp>c</rp>", "b", "a"),
    ],
)
def test_readings_are_beside_the_words(markup: str, text: str, readings: str) -> None:
    found = read_markup(markup.encode(), html5, 1_000, 1_000, 100, 20, b"", b"")
    assert (found[3], found[5]) == (text, readings)
    assert read(f"<h1>{markup}</h1>")[1] == [text]


@pytest.mark.parametrize(
    ("head", "hrefs"),
    [
        ("<title>t</title><link rel=canonical href=a>", ["a"]),
        ("<link rel='x CANONICAL\n' href='a?b&amp;c&copy=3'><link rel=canonicals href=b>", ["a?b&c&copy=3"]),
        ("<!-- <link rel=canonical href=a> --><script><link rel=canonical href=b></script>", []),
        ("<template><link rel=canonical href=a></template><link title='rel=canonical' href=b>", []),
        ("<noscript><img><link rel=canonical href=a></noscript><link rel=canonical href=b>", ["b"]),
        ("<style>x</style> <link rel=canonical href=a></head> <link rel=canonical href=b><body>", ["a", "b"]),
        ("x<link rel=canonical href=a>", []),
        ("<img><link rel=canonical href=a>", []),
        ("<svg><link rel=canonical href=a></svg>", []),
        ("</p></span><link rel=canonical href=a></br><link rel=canonical href=b>", ["a"]),
        ("</html><link rel=canonical href=a>", []),
    ],
)
def test_canonical_addresses_are_named_in_the_head(head: str, hrefs: list[str]) -> None:
    for begin in ("", "\ufeff <!doctype html>\n", "<html><head>"):
        assert [each["href"] for tag, each, _ in read(begin + head)[4] if tag == "link"] == hrefs
    assert not read(f"<body>{head}")[4]


def test_rare_elements_are_told_with_their_attributes() -> None:
    markup = "<html LANG=en lang=de><meta name=a content='&lt;'><noscript><meta b></noscript><base href=/>"
    assert read(markup)[4] == [
        ("html", {"lang": "en"}, True),
        ("meta", {"name": "a", "content": "<"}, True),
        ("meta", {"b": ""}, False),
        ("base", {"href": "/"}, True),
    ]


def test_what_is_kept_is_bounded() -> None:
    links = "".join(f"<a href={number}>x</a>" for number in range(200))
    assert [len(found) for found in read(links)[3:4]] == [100]
    assert read(links)[5]
    assert not read(links, links=200)[5]
    title, _, text, *_, is_cut = read("<b>x" * 50, elements=10)
    assert (title, text, is_cut) == (None, "x" * 10, True)
    assert len(read("<p>word</p>" * 1_000, chars=100)[2]) < 200
    assert len(read("<meta x>" * 20_000, elements=50_000)[4]) == 10_000


def test_nothing_but_bytes_and_a_table_of_entities_is_taken() -> None:
    with pytest.raises(TypeError):
        read_markup("text", html5, 1, 1, 1, 1, b"", b"")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        read_markup(b"text", None, 1, 1, 1, 1, b"", b"")  # type: ignore[arg-type]
