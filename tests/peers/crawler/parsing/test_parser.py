from __future__ import annotations

import tracemalloc
from urllib.parse import quote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from peers.crawler.model.wire_messages import ANCHOR_CHARS_MAX
from peers.crawler.parsing.parser import (
    ANCHORS_PER_URL_MAX,
    HEADINGS_CHARS_MAX,
    LINKS_MAX,
    TEXT_CHARS_MAX,
    TITLE_CHARS_MAX,
    Link,
    NotHtml,
    ParsedPage,
    SyntaxErrors,
    binary_kind,
    parse_page,
)
from tests.processor import processor_seconds
from tests.shared_data import shared

URL = "http://a.test/d/page.html?q"


def parsed(markup: str, content_type: str | None = "text/html") -> ParsedPage:
    return parse_page(URL, markup.encode(), content_type)


def urls(markup: str) -> list[str]:
    return [link.url for link in parsed(markup).links]


def test_a_page_is_taken_apart() -> None:
    page = parsed(
        """<!DOCTYPE html><html lang="zh-CN"><head><meta charset=utf-8><title> 天网
        搜索 </title><style>p { color: red }</style></head>
        <body><h1>第一 <em>章</em></h1><p>One <b>b</b>old   word.<br>Next&nbsp;line &amp; more.</p>
        <script>var x = "<p>no</p>";</script><noscript>no</noscript><template>no</template>
        <ul><li>a<li><a href="b.html">b</a></ul><h2>Second</h2></body></html>"""
    )
    assert page.title == "天网 搜索"
    assert page.headings == "第一 章\nSecond"
    assert page.text == "第一 章\nOne bold word.\nNext line & more.\na\nb\nSecond"
    assert page.links == (Link("http://a.test/d/b.html", "b"),)
    assert page.language == "zh"
    assert (page.charset, page.replacement_count, page.is_cut) == ("utf-8", 0, False)


def test_inline_elements_do_not_break_words() -> None:
    assert parsed("<p>a<b>b</b><span>c</span><wbr>d<td>e</p>").text == "abcd\ne"


def test_links_are_those_of_a_area_frame_and_iframe() -> None:
    markup = """<a href=1>one</a><map><area href=2 alt=two></map><iframe src=3>no</iframe><frame src=4>
      <a name=x>no</a><link href=5><img src=6><a href="">self</a>"""
    assert parsed(f"<frameset>{markup}").links[:1] == (Link("http://a.test/d/1", "one"),)
    assert urls(markup) == [
        "http://a.test/d/1",
        "http://a.test/d/2",
        "http://a.test/d/3",
        "http://a.test/d/4",
        URL,
    ]


def test_feeds_of_a_page_are_links() -> None:
    markup = """<link rel="Alternate home" type="application/rss+xml; x" href=1>
      <link rel=alternate type=application/atom+xml href=2 /><link rel=alternate type=text/html href=3>
      <link rel=stylesheet type=application/rss+xml href=4><link rel=alternate type=application/rss+xml>"""
    assert urls(markup) == ["http://a.test/d/1", "http://a.test/d/2"]


@pytest.mark.parametrize(
    "href",
    [
        "#top",
        "javascript:void(0)",
        "JavaScript:x",
        "data:text/html,x",
        "mailto:a@b",
        "ftp://x/",
        "http://[",
        "tel:1",
    ],
)
def test_what_leads_to_no_page_is_no_link(href: str) -> None:
    assert urls(f'<a href="{href}">x</a>') == []


@pytest.mark.parametrize(
    ("label", "word", "query"),
    [
        ("utf-8", "洪", "%E6%B4%AA"),
        ("gb2312", "洪", "%BA%E9"),
        ("big5", "港", "%B4%E4"),
        ("shift_jis", "日本ソ", "%93%FA%96%7B%83%5C"),
        ("euc-jp", "日本", "%C6%FC%CB%DC"),
        ("iso-2022-jp", "日", "%1B%24BF%7C%1B%28B"),
        ("euc-kr", "한국", "%C7%D1%B1%B9"),
        ("windows-1251", "мир", "%EC%E8%F0"),
        ("koi8-r", "мир", "%CD%C9%D2"),
        ("iso-8859-1", "é", "%E9"),
        ("gb2312", "洪😀", "%BA%E9%26%23128512%3B"),
        ("utf-16", "日", "%E6%97%A5"),
    ],
)
def test_whatwg_url_4_4_a_query_is_in_the_encoding_of_its_page_and_a_path_in_utf8(
    label: str, word: str, query: str
) -> None:
    markup = f'<p>{word[0] * 8}<a href="3.asp?k={word}1&l=%41#{word}">y</a><a href="/{word[0]}#?{word}">z</a>'
    body = markup.encode(label, "xmlcharrefreplace")
    page = parse_page("http://h.test/dir/page", body, f"text/html; charset={label}")
    assert [link.url for link in page.links] == [
        f"http://h.test/dir/3.asp?k={query}1&l=A",
        f"http://h.test/{quote(word[0])}",
    ]


def test_links_are_resolved_against_the_first_base() -> None:
    markup = "<a href=x>1</a><base href='/e/f.html'><base href='/g/'><a href=y>2</a><a href='?z'>3</a>"
    assert urls(markup) == ["http://a.test/e/x", "http://a.test/e/y", "http://a.test/e/f.html?z"]
    assert urls("<base target=x><base href=/e/><a href=x>1</a>") == ["http://a.test/e/x"]


@pytest.mark.parametrize("base", ["http://[", "javascript:x", "data:,", ""])
def test_a_first_base_that_is_no_url_means_that_of_the_page(base: str) -> None:
    assert urls(f"<base href='{base}'><base href=/e/><a href=x>1</a>") == ["http://a.test/d/x"]


@pytest.mark.parametrize(
    "around",
    [
        "<!--%s-->",
        "<template>%s</template>",
        "<noscript>%s</noscript>",
        "<svg>%s</svg>",
        "<title>%s</title>",
        "<script>%s</script>",
        "<textarea>%s</textarea>",
        "<iframe>%s</iframe>",
    ],
)
def test_a_base_that_is_no_element_of_the_page_is_none(around: str) -> None:
    assert urls(around % "<base href=/e/>" + "<a href=x>1</a>") == ["http://a.test/d/x"]


def test_links_to_one_page_are_joined_and_keep_their_distinct_texts() -> None:
    markup = "<a href=x>one</a><a href='x#f'> one </a><a href='./x'>two</a><a href=x></a>"
    markup += "<a href=y><a href=y#g></a>"
    assert parsed(markup).links == (
        Link("http://a.test/d/x", "one"),
        Link("http://a.test/d/x", "two"),
        Link("http://a.test/d/y", ""),
    )


def test_texts_of_a_link_are_limited_in_length_and_number() -> None:
    markup = f"<a href=x>{'字' * 500}</a>" + "".join(f"<a href=x>{number}</a>" for number in range(50))
    links = parsed(markup).links
    assert len(links) == ANCHORS_PER_URL_MAX
    assert len(links[0].anchor) == ANCHOR_CHARS_MAX


def test_a_picture_in_a_link_speaks_by_its_alternative_text() -> None:
    assert parsed("<a href=x><img alt=' the  logo '></a>").links[0].anchor == "the logo"
    assert parsed("<a href=x><img alt=logo>text</a>").links[0].anchor == "text"


def test_links_per_page_are_limited() -> None:
    page = parsed("".join(f"<a href={number}>x</a>" for number in range(LINKS_MAX + 10)))
    assert len(page.links) == LINKS_MAX
    assert page.is_cut


def test_nofollow_links_are_dropped() -> None:
    assert urls("<a href=x rel='external NoFollow'>1</a><a href=y rel=next>2</a>") == ["http://a.test/d/y"]


@pytest.mark.parametrize(
    ("content", "is_noindex", "is_nofollow"),
    [
        ("noindex", True, False),
        ("NOINDEX, NoFollow", True, True),
        ("nofollow,noarchive", False, True),
        ("none", True, True),
        ("index, follow", False, False),
        ("max-snippet:20", False, False),
        ("", False, False),
    ],
)
def test_robots_directives_of_meta_and_header(content: str, is_noindex: bool, is_nofollow: bool) -> None:
    body = b"<p><a href=x>y</a>"
    meta = b'<meta name=Robots content="%s">' % content.encode()
    for page in (
        parse_page(URL, meta + body, "text/html"),
        parse_page(URL, body, "text/html", [content]),
        parse_page(URL, body, "text/html", [f"tianmesh: {content}"]),
        parse_page(URL, body, "text/html", ["otherbot: noindex, nofollow", content]),
    ):
        assert page.is_noindex == is_noindex
        assert bool(page.links) != is_nofollow
    assert not parse_page(URL, body, "text/html", [f"otherbot: {content}"]).is_noindex


@pytest.mark.parametrize(
    ("refresh", "targets"),
    [
        ("0; url=/t", ["http://a.test/t", "http://a.test/d/x"]),
        ("5;URL='t'", ["http://a.test/d/t", "http://a.test/d/x"]),
        ("0; url=x", ["http://a.test/d/x"]),
        ("0; url=#top", ["http://a.test/d/x"]),
        ("300", ["http://a.test/d/x"]),
        ("", ["http://a.test/d/x"]),
    ],
)
def test_a_refresh_of_the_server_leads_on_as_that_of_a_page(refresh: str, targets: list[str]) -> None:
    body = b"<p><a href=x>y</a>"
    assert [link.url for link in parse_page(URL, body, "text/html", (), refresh).links] == targets
    assert parse_page(URL, body, "text/html", ["nofollow"], refresh).links == ()
    text = parse_page(URL, b"words", "text/plain", (), refresh)
    assert [link.url for link in text.links] == targets[: len(targets) - 1 or "url=x" in refresh]


@pytest.mark.parametrize(
    ("content", "is_noarchive", "is_nosnippet"),
    [
        ("NoArchive", True, False),
        ("nocache", True, False),
        ("nosnippet, noarchive", True, True),
        ("max-snippet: 0", False, True),
        ("max-snippet:-1, max-image-preview:large", False, False),
        ("none", False, False),
    ],
)
def test_directives_about_what_may_be_shown(content: str, is_noarchive: bool, is_nosnippet: bool) -> None:
    meta = b'<meta name=robots content="%s">' % content.encode()
    for page in (parse_page(URL, meta, "text/html"), parse_page(URL, b"<p>", "text/html", [content])):
        assert (page.is_noarchive, page.is_nosnippet) == (is_noarchive, is_nosnippet)
        assert not page.is_noindex or content == "none"


@pytest.mark.parametrize("content", ["0; url=/next", "5;URL='/next'", "0, url = /next", "0;/next"])
def test_a_refresh_is_a_link(content: str) -> None:
    assert urls(f'<meta http-equiv=Refresh content="{content}">') == ["http://a.test/next"]


def test_a_refresh_to_itself_or_for_browsers_without_scripts_is_none() -> None:
    assert urls("<meta http-equiv=refresh content=30>") == []
    assert urls("<noscript><meta http-equiv=refresh content='0; url=/no'></noscript>") == []


@pytest.mark.parametrize(
    ("tag", "language"), [("EN-us", "en"), ("zh-Hans-CN", "zh"), ("", ""), ("中文", ""), ("x", "")]
)
def test_language_is_the_primary_subtag(tag: str, language: str) -> None:
    assert parsed(f"<html lang='{tag}'>x").language == language


def test_the_title_of_a_drawing_is_not_that_of_the_page_but_found() -> None:
    page = parsed("<svg><title>picture</title></svg><p>x")
    assert (page.title, page.text, page.boilerplate) == ("x", "x", "picture")


def test_a_title_without_end_does_not_raise() -> None:
    assert parsed("<title>half").title == "half"
    assert parsed("<title></title>").title == ""


@pytest.mark.parametrize("title", ["", "Untitled Document", "New Page 1", "Home", "index.html", "欢迎访问！"])
def test_book_7_1_a_title_that_says_nothing_is_replaced_by_the_first_heading_or_line(title: str) -> None:
    head = f"<title>{title}</title>"
    assert parsed(f"{head}<p>Some text<h1>Welcome</h1><h2>Our rivers</h2>").title == "Our rivers"
    assert parsed(f"{head}<p>Some text").title == "Some text"
    assert parsed(f"{head}<p>{'long ' * 99}").title == title
    assert parsed(f"<title>{title} of rivers</title><h1>x</h1>").title == f"{title} of rivers".strip()


def test_long_parts_are_cut() -> None:
    page = parsed(f"<title>{'t' * 5000}</title><h1>{'h ' * 20000}</h1><p>{'w ' * 600_000}")
    assert len(page.title) == TITLE_CHARS_MAX
    assert len(page.headings) == HEADINGS_CHARS_MAX
    assert len(page.text) + len(page.boilerplate) == TEXT_CHARS_MAX
    assert page.is_cut


def test_plain_text_is_a_page_too() -> None:
    page = parse_page(
        "http://a.test/docs/read%20me.txt?x", b"One  two\n\n <a href=x>three</a>\r\n", "text/plain"
    )
    assert page.title == "read me.txt"
    assert page.text == "One two\n<a href=x>three</a>"
    assert page.links == ()


@pytest.mark.parametrize(
    ("body", "count"), [(b"<!DOCTYPE HTML><a href=x>y</a>", 1), (b"just a < b <c text", 0)]
)
def test_without_a_type_the_body_decides(body: bytes, count: int) -> None:
    assert len(parse_page(URL, body).links) == count


def test_empty_elements_of_xhtml_do_not_swallow_the_page() -> None:
    markup = "<html><head><script src='x'/><title/></head><body><a name='y'/><p>text</p></body></html>"
    assert parsed(markup, "application/xhtml+xml").text == "text"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"%PDF-1.7 ...", "PDF"),
        (b"%!PS-Adobe-3.0\n%%Title: (A paper)\n72 720 moveto (Hello) show showpage", "PostScript"),
        (b"\x1b%-12345X@PJL ENTER LANGUAGE=POSTSCRIPT\r\n%!PS-Adobe-3.0\n", "printer"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "PNG"),
        (b"PK\x03\x04" + b"word" * 50, "ZIP"),
        (b"\x1f\x8b\x08\0" + b"x" * 50, "gzip"),
        (bytes(range(256)) * 400, "binary data"),
        (bytes(5000), "binary data"),
    ],
)
def test_binary_data_as_html_is_refused(body: bytes, kind: str) -> None:
    for media_type in ("text/html", "text/plain", "application/postscript", None):
        with pytest.raises(NotHtml, match=kind):
            parse_page(URL, body, media_type)


def test_some_nuls_in_text_are_tolerated() -> None:
    assert parsed("<p>" + "some text " * 50 + "a\0b").text.endswith("ab")


def test_chinese_pages_in_gbk_are_read() -> None:
    meta = "<meta http-equiv=Content-Type content='text/html; charset=gb2312'>"
    markup = f"<html><head>{meta}<title>天网搜索引擎</title><p>镕"
    page = parse_page(URL, markup.encode("gbk"), "text/html")
    assert (page.title, page.text, page.charset) == ("天网搜索引擎", "镕", "gb18030")


@pytest.mark.parametrize(
    "markup", ["", " ", "<", "</", "</p>", "<!--", "<!doctype html>", "<a href=", "<![CDATA[", "\ufeff"]
)
def test_fragments_do_not_raise(markup: str) -> None:
    page = parsed(markup)
    assert page.links == ()


def test_deep_pages_are_read_to_the_end() -> None:
    page = parsed("<div>" * 100_000 + "deep<a href=x>y</a>")
    assert page.text == "deepy"
    assert len(page.links) == 1


ENDS = 100_000


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * ENDS + "</x>" * ENDS,
        "<b>" * ENDS + "</i>" * ENDS,
        "<div>" * 2_000 + "</x>" * (10 * ENDS),
        "<p " + " ".join(f"a{number}=1" for number in range(ENDS)) + ">",
        "<p " + " ".join(f'a{number}=">"' for number in range(ENDS)) + ">",
        f"<p a='{'x' * 5_000_000}'>",
        "<table>" * 5_000 + "<td>" * ENDS,
        "<a href=x>y" * ENDS,
        "<form>" * ENDS + "<option>" * ENDS,
        "&amp;" * (10 * ENDS),
        "<" * (10 * ENDS),
        "<title>" * ENDS,
        "<svg><title>x</title>" * ENDS,
        "<a " * (10 * ENDS),
    ],
    ids=lambda markup: markup[:12],
)
@pytest.mark.parametrize("content_type", ["text/html", "application/xhtml+xml"])
def test_hostile_markup_costs_little(markup: str, content_type: str) -> None:
    body = markup.encode()
    assert processor_seconds(lambda: parse_page(URL, body, content_type)) < 15.0  # it takes .1 to .6


def test_the_memory_of_a_page_is_bounded_by_what_is_kept() -> None:
    markup = b"<p>some text <b>and</b> more</p>" * 250_000  # 8 MB
    tracemalloc.start()
    try:
        parse_page(URL, markup, "text/html")
        assert tracemalloc.get_traced_memory()[1] < 10 * len(markup)
    finally:
        tracemalloc.stop()


@given(st.text(alphabet="<>/=\"' abphreftilmsc!-&;\n\0中", max_size=300))
def test_any_markup_is_parsed(markup: str) -> None:
    text = "<p>" + "text " * 40 + markup
    assume(binary_kind(text.encode()) is None)  # which NULs make of it
    page = parsed(text)
    assert page.text.startswith("text")
    assert all(link.url.startswith(("http://", "https://")) for link in page.links)


@given(st.binary(max_size=300))
def test_any_bytes_are_parsed_or_refused(body: bytes) -> None:
    try:
        page = parse_page(URL, body, "text/html")
    except NotHtml:
        return
    page.text.encode()


@pytest.mark.more
def test_scrapy_link_extractor_pages() -> None:
    folder = shared("suites/scrapy-bombs/link_extractor")
    page = parse_page(
        "http://example.com/index.html", (folder / "linkextractor.html").read_bytes(), "text/html"
    )
    assert {link.url for link in page.links} >= {
        "http://example.com/sample1.html",
        "http://example.com/sample2.html",
    }
    latin1 = parse_page(
        "http://example.com/", (folder / "linkextractor_latin1.html").read_bytes(), "text/html"
    )
    assert any("sample_%C3%B1.html" in link.url for link in latin1.links)


@pytest.mark.parametrize(
    ("markup", "named"),
    [
        ('<link rel="canonical" href="https://b.test/x?a=1&amp;b=2">', "https://b.test/x?a=1&b=2"),
        ("<LINK HREF=/ Rel='Canonical' />", "http://a.test/"),
        ("<link href=x rel=canonical>", "http://a.test/d/x"),
        ('<base href="http://c.test/"><link rel="canonical" href="y">', "http://c.test/y"),
        ('<link rel="stylesheet" href="canonical.css"><link rel="canonical" href="z">', "http://a.test/d/z"),
        ('<link rel="canonical">', ""),
        ('<link rel="canonical" href="mailto:a@b.test">', ""),
        ('<p>canonical</p><link rel="alternate" href="w">', ""),
        ('<link rel="canonical" href="x"><link rel="canonical" href="y">', ""),
        ('<link rel="canonical" href="x"><link rel="canonical" href="/d/x#y">', "http://a.test/d/x"),
        (
            '<link rel="canonical" href=" "><link rel="canonical" href="tel:1"><link rel=canonical href=x>',
            "http://a.test/d/x",
        ),
    ],
)
def test_rfc6596_a_page_names_its_address(markup: str, named: str) -> None:
    page = parse_page("http://a.test/d/", f"<html><head>{markup}</head><p>text".encode(), "text/html")
    assert page.canonical == named


NO_ERRORS = SyntaxErrors(0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    "markup",
    [
        "<title>a</title><p>ok<ul><li>a<li>b</ul><table><tr><td>x</table>",  # end tags that may be left out
        "<html><head><title>x</title><body><p>a</p><br/><img src=a alt='a=b'><!--a--></body></html>",
        "<svg><path d='x' /><title>a</title></svg><svg/><math><mi>x</mi></math>",
        "<script>if (a</b>/c) '<div>'</script><textarea><b></textarea>",
        "<table><colgroup><col></colgroup><tr><td>a</tr></tbody></table>",
    ],
)
def test_markup_as_the_standard_asks_has_no_errors(markup: str) -> None:
    assert parse_page(URL, f"<!DOCTYPE html>{markup}".encode(), "text/html").syntax_errors == NO_ERRORS


@pytest.mark.parametrize(
    ("markup", "errors"),
    [
        ("<div>x<span>", SyntaxErrors(2, 0, 0, 0, 0)),
        ("<div><b>x</div>", SyntaxErrors(1, 0, 0, 0, 0)),
        ("</div>x</p></img>", SyntaxErrors(0, 3, 0, 0, 0)),
        ("<p>a<div>b</div></p>", SyntaxErrors(0, 1, 0, 0, 0)),
        ("<b>a<i>b</b>c</i>", SyntaxErrors(0, 0, 1, 0, 0)),
        ("<a href=x>a<a href=y>b</a>", SyntaxErrors(0, 0, 1, 0, 0)),
        ("<p a=1 A=2 b='x'c=3 d= e\"=1 f=a\"b>", SyntaxErrors(0, 0, 0, 4, 0)),
        ("<div/>x</div><p>a</p class=a>", SyntaxErrors(0, 1, 0, 2, 0)),
        ("<!x><?php ?><!--><!--ok--><!-- not ended", SyntaxErrors(0, 0, 0, 0, 4)),
    ],
)
def test_errors_of_syntax_are_counted_by_kind(markup: str, errors: SyntaxErrors) -> None:
    assert parse_page(URL, f"<!DOCTYPE html>{markup}".encode(), "text/html").syntax_errors == errors


@pytest.mark.parametrize(
    ("doctype", "count"),
    [
        ("", 1),
        ("<!doctype html >", 0),
        ('<!DOCTYPE html SYSTEM "about:legacy-compat">', 0),
        ('<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN">', 1),
        ("<!doctype xhtml>", 1),
    ],
)
def test_a_page_has_the_document_type_html(doctype: str, count: int) -> None:
    errors = parse_page(URL, f"{doctype}<p>a".encode(), "text/html").syntax_errors
    assert errors == NO_ERRORS._replace(in_declarations=count)


def test_what_is_no_html_has_no_errors_of_syntax() -> None:
    assert parse_page(URL, b"<div>", "text/plain").syntax_errors is None


def test_headings_are_told_with_the_ids_that_lead_to_them() -> None:
    page = parsed(
        """<body id=top><h1 id=first>T</h1><p>x<h2 id=own>A</h2><section id="b b"><h2>B</h2></section>
        <section id=around><h2>C</h2>text</section><h3><a name=inside></a>D</h3><a name=before></a>
        <h3>E</h3><h3>F</h3><div id=far>text<h3>G</h3></div><h2 id="&#x5929;网">H</h2><h2 id=none></h2>"""
    )
    assert page.headings == "T\nA\nB\nC\nD\nE\nF\nG\nH"
    assert page.heading_ids == "\nown\nb b\naround\ninside\nbefore\n\n\n天网"
    assert parsed("<h1 id=a>T</h1><h2>A</h2>").heading_ids == ""
    assert parsed(f"<h1>T</h1><h2 id={'a' * 101}>A</h2>").heading_ids == ""
    assert parsed("<h1>T</h1><h2 id='a\nb'>A</h2><h2 id=c>C</h2>").heading_ids == "\n\nc"


def test_ids_of_headings_are_cut_between_two() -> None:
    ids = [f"{number:090}" for number in range(300)]
    page = parsed("<h1>T</h1>" + "".join(f"<h2 id={each}>A</h2>" for each in ids))
    kept = page.heading_ids.split("\n")[1:]
    assert 100 < len(kept) < 300
    assert kept == ids[: len(kept)]


def test_the_code_of_a_submitted_site_is_read_where_it_is_an_element_and_nowhere_else() -> None:
    def code(markup: str) -> str:
        return parse_page("http://a.test/", markup.encode(), "text/html").site_code

    element = '<meta name="Tianmesh-Site" content=" abc234 ">'
    assert code(f"<html><head><title>x</title>{element}</head><body>y</body>") == "abc234"
    assert code(f"<html><head><!-- {element} --></head><body>y</body>") == ""
    assert code(f"<html><body><textarea>{element}</textarea></body>") == ""
    assert code(f"<html><body><script>'{element}'</script></body>") == ""
    assert code(f"<html><body><template>{element}</template></body>") == ""
    assert code("<html><body>&lt;meta name=tianmesh-site content=abc234&gt;</body>") == ""
    assert len(code(f'<meta name="tianmesh-site" content="{"a" * 5_000}">')) == 64
