"""Feeds, sitemaps and outlines in any encoding, with what is no XML in them."""

from __future__ import annotations

import pytest

from peers.crawler.parsing.charset import decode_text
from peers.crawler.parsing.link_lists import pages_listed
from peers.crawler.parsing.page_reader import read_page
from peers.crawler.parsing.parser import NotHtml
from peers.crawler.parsing.xml_markup import readable_xml

URL = "http://h.test/feed"
WORDS = {
    **dict.fromkeys(("utf-8", "utf-16", "utf-16-le", "gb18030", "gbk", "gb2312"), "中文新闻"),
    "big5": "中文新聞",
    **dict.fromkeys(("shift_jis", "euc-jp", "iso-2022-jp"), "日本のニュース"),
    "euc-kr": "한국어소식",
    **dict.fromkeys(("windows-1251", "koi8-r", "iso-8859-5", "ibm866"), "Новости"),
    **dict.fromkeys(("iso-8859-2", "windows-1250"), "Zprávy čtenářů"),
    **dict.fromkeys(("iso-8859-1", "windows-1252", "iso-8859-15"), "Café à Nîmes"),
    "windows-1253": "Ειδήσεις",
    "windows-1255": "חדשות",
    "windows-1256": "أخبار",
    "windows-874": "ข่าว",
}
CODECS = {"windows-874": "cp874"}


def feed_in(label: str, word: str, *, is_declared: bool = True) -> bytes:
    declaration = f'<?xml version="1.0" encoding="{label}"?>' if is_declared else ""
    return (
        f"{declaration}<rss version='2.0'><channel><title>{word}</title><link>http://h.test/</link>"
        f"<item><title>{word}</title><link>http://h.test/a?{word}&b</link><description>{word}</description>"
        "</item></channel></rss>"
    ).encode(CODECS.get(label, label))


@pytest.mark.parametrize(("label", "word"), WORDS.items())
def test_a_feed_is_read_in_every_encoding_that_pages_may_be_in(label: str, word: str) -> None:
    for is_declared in (True, False):
        body = feed_in(label, word, is_declared=is_declared)
        page = read_page(URL, body, f"application/rss+xml; charset={label}").page
        assert (page.title, page.text, page.type) == (word, f"{word}\n{word}\n{word}", "application/rss+xml")
    assert len(pages_listed(URL, body, "", f"text/xml; charset={label}") or ()) == 1
    page = read_page(URL, feed_in(label, word), "application/rss+xml").page
    assert page.title == word


def test_a_feed_in_no_known_encoding_is_none() -> None:
    with pytest.raises(NotHtml):
        read_page(URL, feed_in("gbk", "中文新闻").replace(b'"gbk"', b'"euc-tw"'), "text/xml")


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (b"<a>AT&T &amp; a?x=1&y=2 &</a>", b"<a>AT&amp;T &amp; a?x=1&amp;y=2 &amp;</a>"),
        (b"<a>&copy=3 &copy; &nope; &eacute;</a>", "<a>&amp;copy=3 © &amp;nope; é</a>".encode()),
        (b"<a>&#8217;&#x41;&#11;&#xFFFF;&#0;&#99999999;</a>", b"<a>&#8217;&#x41;</a>"),
        (b"<![CDATA[a&b &eacute;]]><!-- & -->&", b"<![CDATA[a&b &eacute;]]><!-- & -->&amp;"),
        (b"<a>&LT;b&GT; &lt;c&gt; &nbsp;</a>", "<a>&lt;b&gt; &lt;c&gt; \xa0</a>".encode()),
        (b"<![CDATA[a&b", b"<![CDATA[a&b"),
        (
            b"<!DOCTYPE a [<!ENTITY own 'x'>]><a>&own;&b</a>",
            b"<!DOCTYPE a [<!ENTITY own 'x'>]><a>&own;&amp;b</a>",
        ),
        (b"\xef\xbb\xbf<a>\x0b\x1f.</a>", b"\xef\xbb\xbf<a>.</a>"),
    ],
)
def test_references_that_are_none_are_mended_outside_of_what_has_none(given: bytes, made: bytes) -> None:
    assert readable_xml(given, decode_text(given)) == made


@pytest.mark.parametrize(
    ("loc", "url"),
    [
        ("http://h.test/a?x=1&y=2", "http://h.test/a?x=1&y=2"),
        ("http://h.test/a?x=1&amp;y=2", "http://h.test/a?x=1&y=2"),
        ("http://h.test/a?x=1&amp;amp;y=2", "http://h.test/a?x=1&y=2"),
        ("<![CDATA[http://h.test/a?x=1&y=2]]>", "http://h.test/a?x=1&y=2"),
        ("<![CDATA[http://h.test/a?x=1&amp;y=2]]>", "http://h.test/a?x=1&y=2"),
        ("http://h.test/?a=1&copy=2&lang=de", "http://h.test/?a=1&copy=2&lang=de"),
        ("http://h.test/caf&eacute;", "http://h.test/caf%C3%A9"),
        ("http://h.test/a&#38;b&#x26;c", "http://h.test/a&b&c"),
        ("http://h.test/über uns", "http://h.test/%C3%BCber%20uns"),
    ],
)
def test_a_sitemap_names_what_it_means(loc: str, url: str) -> None:
    for encoding in ("utf-8", "iso-8859-1"):
        markup = f"<?xml version='1.0' encoding='{encoding}'?><urlset><url><loc>{loc}</loc></url></urlset>"
        listed = pages_listed("http://h.test/sitemap.xml", markup.encode(encoding)) or ()
        assert [each.url for each in listed] == [url]


def test_xml_base_is_what_links_are_relative_to() -> None:
    feed = (
        b'<feed xml:base="/blog/"><entry xml:base="2024/"><link href="a"/>'
        b'</entry><entry><link href="b"/></entry><entry xml:base="http://i.test/x/y"><link href="c"/></entry>'
        b'<entry xml:base="javascript:1"><link href="d"/></entry></feed>'
    )
    urls = [f"http://h.test/blog/{name}" for name in ("2024/a", "b", "d")]
    urls.insert(2, "http://i.test/x/c")
    assert [each.url for each in pages_listed(URL, feed) or ()] == urls
    assert [link.url for link in read_page(URL, feed, "application/atom+xml").page.links][:3] == urls[:3]


def test_opml_has_its_feeds_and_their_titles_in_attributes() -> None:
    body = (
        '<?xml version="1.0" encoding="gbk"?><opml version="2.0"><head><title>订阅</title></head><body>'
        '<outline text="新闻"><outline text="天网" xmlUrl="/feed" htmlUrl="http://t.test/"/></outline></body></opml>'
    ).encode("gbk")
    for media_type in ("text/x-opml", "text/xml"):
        page = read_page(URL, body, media_type).page
        assert (page.title, page.text) == ("订阅", "订阅\n新闻\n天网")
        assert [(link.url, link.anchor) for link in page.links] == [
            ("http://t.test/", "天网"),
            (URL, "天网"),
        ]
