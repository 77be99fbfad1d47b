"""Bytes of any kind from web servers cost at most the page: markup, documents, lists, robots.txt."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from bootstrap.demo_web import DemoWeb
from mesh.stamp import Stamp
from peers.crawler.model.messages import PageParsed, ParseFailed
from peers.crawler.model.robots import line_of, rules_for_status, sitemaps_named
from peers.crawler.parsing.extraction import extract
from peers.crawler.parsing.link_lists import pages_listed
from peers.exporting.rows import ExportTask, take_apart
from simulations.web_reports.page_columns import PageColumns
from simulations.web_reports.page_facts import StoredPages, take_facts
from tests.fuzzing.harness import Fuzzer, unharmed
from tests.helpers import fetched
from tests.peers.documents import files, old_files

URL = "http://a.test/folder/page"
AGENT = "tianmesh"
HTML = (
    "<!doctype html><html lang=zh><head><meta charset=utf-8><base href='/b/'><title>天网 &amp; mesh</title>"
    "<link rel=canonical href=c><meta name=robots content=nosnippet></head><body><nav><a href='/'>home</a>"
    "</nav><main><h1>搜索</h1><p>正文 <b>text</b> of a page, <a rel=nofollow href='x?y=1#z'>a link</a>.</p>"
    "<table><tr><td>1<td>2</table><pre> a\n b</pre><script>if (a < b) x = '</p>'</script>"
    "<![CDATA[ x ]]><!-- comment --><svg><title>t</title></svg><template><p>t</template></main></body></html>"
)
WEB = DemoWeb.load()
PAGES = [
    HTML.encode(),
    HTML.replace("utf-8", "gb18030").encode("gb18030"),
    HTML.encode("utf-16"),
    *(response.body for host in WEB.hosts for response in WEB.responses_of(host).values()),
]
SITEMAP = (
    b'<?xml version="1.0" encoding="UTF-8"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    b"<url><loc>http://a.test/1?a=1&amp;b=2</loc><lastmod>2024-05-06T07:08:09+02:00</lastmod></url>"
    b"<url><loc><![CDATA[http://a.test/2]]></loc></url></urlset>"
)
FEED = (
    b"<rss version='2.0'><channel><title>t</title><item><link>http://a.test/3</link><guid>4</guid>"
    b"<pubDate>Mon, 06 May 2024 07:08:09 GMT</pubDate><description>&lt;p&gt;x&lt;/p&gt;</description></item>"
    b"</channel></rss>"
)
LISTS = [
    SITEMAP,
    SITEMAP.replace(b"urlset", b"sitemapindex").replace(b"<url>", b"<sitemap>"),
    FEED,
    b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><link href='/5'/><updated>x</updated></entry></feed>",
    gzip.compress(SITEMAP),
    b"http://a.test/6\nhttp://a.test/7\r\n",
]
ROBOTS = [
    b"User-agent: tianmesh\nUser-agent: *\nDisallow: /a*b$\nAllow: /a/b.html\nCrawl-delay: 2\nSitemap: /s\n",
    "\ufeffuser agent : *, tianmesh/2\r\ndissallow:/搜索?q=%E5\rAllow /x # y\r\n".encode(),
    "User-agent: *\nDisallow: /搜索\n".encode("gb18030"),
    "User-agent: *\nDisallow: /\n".encode("utf-16"),
]
DOCUMENTS = [
    files.word(files.paragraph("text"), "http://a.test/l", title="t"),
    files.sheets("<row><c t='s'><v>0</v></c></row>", ["text"]),
    files.slides(),
    files.open_document("<text:p>text</text:p>"),
    files.book("<html><body><h1>a</h1><p>text</p></body></html>"),
    files.pdf(files.line("text of a page")),
    rb"{\rtf1\ansi\ansicpg936{\info{\title t}}\'cc\'ec text \u22825? {\field{\*\fldinst HYPERLINK x}}}",
    old_files.old_word(["text of a page\r", b"more\r"]),
    old_files.old_slides([old_files.text_of_slide("text")], ["box"]),
]


def parsed(body: bytes, **changes: Any) -> None:
    assert isinstance(extract(fetched(URL, body=body, **changes), 1), PageParsed | ParseFailed)


@pytest.mark.inputs(2_000)
def test_no_markup_harms_who_takes_it_apart(fuzzer: Fuzzer) -> None:
    with unharmed():
        fuzzer.check(parsed, PAGES)


def told_again(body: bytes) -> None:
    """Take apart what is stored of a page as exports and reports do."""
    page = extract(fetched(URL, body=body), 1)
    if isinstance(page, PageParsed) and page.records:
        stamp = Stamp(1, 7.0)
        exported = take_apart(ExportTask([(URL, stamp, page.records)], has_archive_links=True))
        reported = take_facts(StoredPages([(URL, 7.0, stamp, page.records)]))
        assert len(exported.rows) + exported.n_not_indexed == len(reported.pages) == 1
        columns = PageColumns()
        columns.add(reported.pages[0])
        assert len(columns.columns().number) == 1


@pytest.mark.inputs(1_000)
def test_no_markup_harms_exports_and_reports(fuzzer: Fuzzer) -> None:
    with unharmed():
        fuzzer.check(told_again, PAGES)


@pytest.mark.inputs(3_000)
def test_no_document_harms_who_reads_it(fuzzer: Fuzzer) -> None:
    with unharmed():
        fuzzer.check(lambda body: parsed(body, headers=()), DOCUMENTS)


@pytest.mark.inputs(10_000)
def test_no_list_of_pages_harms_who_reads_it(fuzzer: Fuzzer) -> None:
    with unharmed():
        for body in fuzzer.inputs(LISTS):
            for url in (URL, "http://a.test/sitemap.xml.gz"):
                listed = pages_listed(url, body)
                assert listed is None or all(each.url.startswith("http") for each in listed)


@pytest.mark.inputs(20_000)
def test_no_robots_txt_harms_who_goes_by_it(fuzzer: Fuzzer) -> None:
    with unharmed():
        for body in fuzzer.inputs(ROBOTS):
            rules = rules_for_status(200, body, AGENT)
            for path in ("/", "/a/b.html", "/%E6%90%9C%E7%B4%A2?q=%E5"):
                deciding = rules.deciding(f"http://a.test{path}")
                assert rules.allows(f"http://a.test{path}") is (deciding is None or deciding[0])
                if deciding is not None:
                    line_of(body, AGENT, deciding)
            sitemaps_named(URL, body)
