"""Where what strangers made enters, and shapes of it that may be dear to a loop."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import BytesIO
from typing import Final, NamedTuple

import h11

from mesh.errors import ConfigError, CorruptionError
from mesh.stamp import Stamp
from mesh.urls import canonical
from peers.crawler.fetching.content_encoding import Undecodable, decode
from peers.crawler.fetching.response_lines import head_end, readable_head
from peers.crawler.frontier.traps import patterns_of
from peers.crawler.model.robots import line_of, parse, sitemaps_named
from peers.crawler.parsing.charset import decode_text, with_query_in
from peers.crawler.parsing.dates import page_date
from peers.crawler.parsing.ftp_directory import listing_page
from peers.crawler.parsing.language import language_of
from peers.crawler.parsing.link_header import canonical_in_headers
from peers.crawler.parsing.link_lists import pages_listed
from peers.crawler.parsing.page_reader import read_page
from peers.crawler.parsing.parser import NotHtml, parse_page, robots_wish
from peers.crawler.parsing.parser_port import StoredText
from peers.crawler.parsing.xml_markup import readable_xml
from peers.documents.budget import Budget
from peers.documents.rtf import read_rtf
from peers.engine.queries.query_language import Remarks, read
from peers.exporting.markup_tags import archive_hrefs, tags_of
from peers.gateway.site.difference import difference
from peers.gateway.site.marked_snapshot import hrefs_in, style_of_links, with_marks
from peers.gateway.site.stored_page import file_headers, framed_html, stored_page, with_said
from peers.policy.policy_file import read_policy
from peers.storage.archive.warc import read_records, response_record
from peers.text.analysis import analyse, query_terms
from peers.text.keywords import keywords_of

URL: Final = "http://a.test/x"
QUERY_CHARS: Final = 16 << 10  # all that a head of a request has room for
# What a shape is made of, over and over: spaces and line ends, beginnings without ends, attributes, quotes,
# what is escaped, what is listed, nested.
PUMPS: Final = (
    " ",
    "\n",
    "\t \n",
    "a",
    "a ",
    "a\n",
    "0",
    "<",
    "<a ",
    "<a href=x>",
    "<p>",
    "<div>x",
    "</div>",
    "<li><b>",
    "<table>",
    "<!--",
    "<![CDATA[",
    "<base href=' ",
    "<meta ",
    "<script>",
    "<title>",
    "x='y' ",
    "x=\"'",
    '"',
    "\0",
    "&",
    "&amp;",
    "%",
    "%41",
    ",",
    ", rel=canonical; <",
    ";",
    ":",
    "=",
    "-",
    ".",
    "/",
    "//",
    "?a=b&",
    "(",
    "[",
    "{",
    "\\",
    "{\\b ",
    "*",
    "é",
    "水",
    "水 ",
    "e\u0301",
    "http://a.test/",
    "http://a.test/\n",
    "Disallow: /%\n",
    "Disallow: /*a*b*c\n",
    "Sitemap: x\n",
    "User-agent: a, *\n",
    "X: y\r\n",
    " y\r\n",
    "-2020",
    "a OR ",
    "-(",
    # The sign # is a number, another one each time.
    "w# ",
    "<a href=#>x</a>",
    "<a#>",
    "<meta name=robots content=x#>",
    "x#='y' ",
    "<url><loc>http://a.test/#</loc></url>",
    "http://a.test/#\n",
    "Disallow: /#*\n",
    "Allow: /\xe9#\n",
    "User-agent: a#\nAllow: /\n",
    "X#: y\r\n",
    "<https://a.test/#>; rel=next, ",
    "?x#=1&",
    "[a#]\n",
)


class Entry(NamedTuple):
    """One way in."""

    name: str
    take: Callable[[str], object]
    frames: tuple[tuple[str, str], ...] = (("", ""),)  # what stands before and behind a shape


def _parsed(text: str) -> None:
    with suppress(NotHtml):
        parse_page(URL, text.encode(), "text/html")


def _read(content_type: str) -> Callable[[str], object]:
    def take(text: str) -> None:
        with suppress(NotHtml):
            read_page(URL, text.encode(), content_type, ())

    return take


def _zipped(name: str, member: str, before: str = "", after: str = "") -> Callable[[str], object]:
    def take(text: str) -> None:
        file = BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("mimetype", name)
            archive.writestr(member, before + text + after)
        with suppress(NotHtml):
            read_page(URL, file.getvalue(), name, ())

    return take


def _records(text: str) -> bytes:
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    return response_record(URL, head.encode(), text.encode(), Stamp(1, 7.0))


def _shown(text: str) -> None:
    page = stored_page(URL, _records(text))
    framed_html(URL, with_said(page, StoredText(text[:200], text, base=text)))
    file_headers(f"{URL}{text}", page)


def _compared(text: str) -> None:
    difference(StoredText(text, text), StoredText(text[1:], text[::-1]))


def _warc(text: str) -> None:
    with suppress(CorruptionError):
        list(read_records(text.encode()))


def _policy(text: str) -> None:
    with suppress(ConfigError):
        read_policy(text, "policy")


def _head(text: str) -> None:
    received = bytearray(text.encode())
    end = head_end(received, 0)
    readable_head(bytes(received[:end] if end else received))


def _request(text: str) -> None:
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=16 << 10)
    with suppress(h11.RemoteProtocolError):
        connection.receive_data(text.encode())
        connection.next_event()


def _decoded(coding: str) -> Callable[[str], object]:
    def take(text: str) -> None:
        with suppress(Undecodable):
            decode(text.encode(), coding, 1 << 20)

    return take


ENTRIES: Final = (
    Entry("HTML", _parsed, (("", ""), ("<body><p>", "</p>"), ("<a href='", "'>x</a>"), ("<a ", ">"))),
    Entry(
        "elements",
        lambda text: (tags_of(text.encode()), archive_hrefs(text.encode())),
        (("", ""), ("<img ", ">"), ("<meta name=", ">"), ('<link rel="', '">'), ("<title>", "</title>")),
    ),
    Entry("main text", _parsed, (("<body><main><p>", "</p></main>"),)),
    Entry(
        "listing of an FTP server",
        lambda text: [
            listing_page("ftp://a.test/b/", f"{text}\n{text}".encode(), of)
            for of in ("text/ftp-dir; format=mlsd", "text/ftp-dir; format=list; on=2024-05-31")
        ],
        (
            ("", ""),
            ("type=", "; a"),
            ("-rw-r--r-- ", " 9 May 31 2024 a"),
            ("-rw-r--r-- 1 f f 9 May 31 2024 ", ""),
            ("05-31-24 12:00PM ", " a"),
        ),
    ),
    Entry("link list", lambda text: pages_listed(f"{URL}/sitemap.txt", text.encode())),
    Entry(
        "sitemap",
        lambda text: pages_listed(f"{URL}/sitemap.xml", text.encode()),
        (("<urlset><url><loc>", "</loc></url></urlset>"), ("<urlset ", "></urlset>"), ("<?", "?><urlset/>")),
    ),
    Entry(
        "references of XML",
        lambda text: readable_xml(text.encode(), decode_text(text.encode())),
        (("", "&"), ("&", ""), ("<![CDATA[", "]]>"), ("<!--", "&"), ("<!ENTITY", "&a;")),
    ),
    Entry(
        "bases of XML",
        lambda text: pages_listed(
            f"{URL}/sitemap.xml",
            b"<feed>%s<entry><link href='a'/>" % (b"<a xml:base='%s/'>" % text.encode()[:2_000] * 60),
        ),
    ),
    Entry(
        "feed",
        _read("application/rss+xml"),
        (("<rss><channel><item><title>", "</title></item></channel></rss>"), ("<rss ", "></rss>")),
    ),
    Entry(
        "robots.txt",
        lambda text: parse(text.encode(), "t"),
        (("User-agent: *\n", "\n"), ("User-agent: ", "")),
    ),
    Entry(
        "rules", lambda text: parse(f"User-agent: *\nDisallow: /{text}".encode(), "t").allows(f"{URL}{text}")
    ),
    Entry(
        "line of robots.txt",
        lambda text: line_of(f"User-agent: *\n{text}\n".encode(), "t", (False, "/b")),
    ),
    Entry("sitemaps named", lambda text: sitemaps_named(URL, text.encode()), (("", ""), ("Sitemap:", ""))),
    Entry(
        "Link headers",
        lambda text: canonical_in_headers(URL, [text]),
        (("", ""), ("<", ""), ("<x>; rel=", ""), ('<x>; rel="canonical"; anchor', "")),
    ),
    Entry("X-Robots-Tag", lambda text: robots_wish([text], text), (("", ""), ("tianmesh: ", ""))),
    Entry(
        "charset",
        lambda text: decode_text(text.encode(), text),
        (("", ""), ("<meta charset=", ">"), ("text/html; charset=", ""), ("<?xml encoding='", "'?>")),
    ),
    Entry(
        "bytes with a wrong charset",
        lambda text: [
            decode_text(
                f"<meta charset={label}>".encode() + text.encode() * 2 + b"\xb1\xb1", "a; charset=gbk"
            )
            for label in ("latin1", "windows-1251", "big5", "shift_jis")
        ],
        (("", ""), ("é", ""), ("\xd0", "\xb0"), ("~{", "~}"), ("\x1b$)A\x0e", "\x0f")),
    ),
    Entry(
        "query of a link", lambda text: with_query_in(f"?{text}é{text}", "gb18030"), (("", ""), ("é", "é"))
    ),
    Entry("bytes of no charset", lambda text: decode_text(text.encode("utf-16-le") + b"\xff\x81", None)),
    Entry("dates", lambda text: page_date([text], text, 7.0), (("", ""), ("2020-", ""), ("Mon, ", ""))),
    Entry("language", language_of),
    Entry("plain text", _read("text/plain")),
    Entry("JSON", _read("application/json")),
    Entry("RTF", lambda text: read_rtf(f"{{\\rtf1 {text}".encode(), Budget())),
    Entry(
        "Word",
        _zipped(
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            "word/document.xml",
            "<w:document xmlns:w='http://schemas.openxmlformats.org/wordprocessingml/2006/main'><w:p><w:t>",
            "</w:t></w:p></w:document>",
        ),
    ),
    Entry("open document", _zipped("application/vnd.oasis.opendocument.text", "content.xml", "<a>", "</a>")),
    Entry("book", _zipped("application/epub+zip", "META-INF/container.xml", "<a>", "</a>")),
    Entry("gzip", _decoded("gzip")),
    Entry("brotli", _decoded("br")),
    Entry("codings named", lambda text: _decoded(text)("x")),
    Entry("URL", lambda text: canonical(text, URL), (("", ""), ("http://", ""), ("http://a.test/", ""))),
    Entry("patterns of a URL", lambda text: list(patterns_of(URL + text))),
    Entry("query", lambda text: read(text[:QUERY_CHARS], Remarks()), (("", ""), ("title:", ""), ('"', '"'))),
    Entry("query terms", lambda text: query_terms(text[:QUERY_CHARS])),
    Entry("words", analyse),
    Entry("key words", lambda text: keywords_of(text, text, text)),
    Entry("policy", _policy, (("", ""), ('[[rules]]\nurls = ["', '"]'), ("a = ", ""))),
    Entry("WARC", _warc, (("", ""), ("WARC/1.1\r\n", "\r\n\r\n"))),
    Entry("head of an answer", _head, (("", ""), ("HTTP/1.1 200 OK\r\n", "\r\n\r\n"))),
    Entry("head of a request", _request, (("", ""), ("GET / HTTP/1.1\r\n", "\r\n\r\n"), ("GET /", ""))),
    Entry("stored page", _shown),
    Entry("difference", _compared),
    Entry(
        "links in a stored copy",
        lambda text: style_of_links(hrefs_in(text, 200)),
        (("", ""), ("<a ", ""), ("<a href='", "'>")),
    ),
    Entry(
        "marks in a stored copy",
        lambda text: with_marks(text, "a 0 lt"),
        (("", ""), ("<!--", ""), ("<svg>", "")),
    ),
)


def shapes(entry: Entry, n_chars: int) -> Iterator[tuple[str, str]]:
    """Yield a name and a text of about so many characters for each shape."""
    for before, after in entry.frames:
        for pump in PUMPS:
            count = n_chars // len(pump)
            parts = (pump.replace("#", str(number)) for number in range(count))
            yield f"{before}{pump!r}{after}", before + "".join(parts)[:n_chars] + after
