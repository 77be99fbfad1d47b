"""The version of the parser, by which peers know that unchanged pages are to be read anew."""

from __future__ import annotations

from typing import Final

import msgspec
from xxhash import xxh3_64_hexdigest

from peers.crawler.model.messages import PARSER_VERSION
from peers.crawler.parsing.parser import parse_page

URL: Final = "http://www.site.test/a/b.html"
PAGE: Final = """<!doctype html><html lang="zh-CN"><head><meta charset="utf-8">
<title>片麻岩 Gneiss &amp; schist</title>
<meta name="description" content="Rocks"><meta name="date" content="2024-05-01"><base href="/c/">
<link rel="canonical" href="https://www.site.test/gneiss"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/rocks?b=2&amp;a=1#top">Rocks</a></li></ul></nav>
<main><h1 id="top">片麻岩</h1><p>片麻岩是一种变质岩，由长石、石英和云母组成。
Gneiss is a common <b>metamorphic</b> rock.</p>
<h2>Origin<br>起源</h2><p>It forms at <i>high</i> temperature; see
<a href="../d e.html" title="x">the origin</a> and
<a rel="nofollow" href="//other.test/">an advertisement</a>.
<table><tr><td>Quartz<td>30 %<tr><td>Mica<td>20 %</table>
<pre>  two  words
  kept</pre><p hidden>Not seen at first.</p></main>
<footer><p>© 2024 Site. All rights reserved.
<a href="mailto:x@site.test">Write</a></p></footer></body></html>"""
# Both change together: who changes how pages are read raises PARSER_VERSION, once a release.
READ_AS: Final = (1, "99afe5504ba2a2c4")


def test_pages_are_read_as_the_version_of_the_parser_says() -> None:
    page = parse_page(URL, PAGE.encode(), "text/html")
    assert (PARSER_VERSION, xxh3_64_hexdigest(msgspec.msgpack.encode(page))) == READ_AS
