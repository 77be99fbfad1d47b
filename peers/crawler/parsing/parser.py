"""Take a page apart: title, headings, visible text, links and the wishes of its robots meta. Pure.

Theory of operation. The markup is read in C (`_markup.c`), in one pass that builds no tree and calls no
Python: a thousand calls for the events of a parser took 0.44 ms of a page of 17 kB, a whole page now takes
0.3 (see `tests/benchmarks/bench_parser.py`). Memory is bounded by what is kept, deep pages are not cut, and
no markup costs more than the time to read it. Here are the limits, and what is rare: the meaning of meta
elements, addresses.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html.entities import html5
from typing import Final, NamedTuple
from urllib.parse import unquote

import msgspec

from mesh.domains import may_speak_for
from mesh.urls import URL_CHARS_MAX, canonical, canonical_links, host_of
from peers.crawler.model.wire_messages import ANCHOR_CHARS_MAX
from peers.crawler.parsing._markup import read_markup
from peers.crawler.parsing.charset import decode_text, has_wide_or_shifted, with_query_in
from peers.crawler.parsing.dates import LINES_MAX, META_RANKS, Said, dates_said, said_by_data, said_by_element
from peers.crawler.parsing.language import language_of, language_of_page
from peers.crawler.parsing.link_header import only_one
from peers.crawler.parsing.main_text import NETWORKS, parted
from peers.documents.formats import named_media_type
from peers.documents.titles import title_of_page

TEXT_CHARS_MAX: Final = 500_000  # kept of a page's text; Marginalia
TITLE_CHARS_MAX: Final = 1_000
HEADINGS_CHARS_MAX: Final = 20_000
HEADING_IDS_CHARS_MAX: Final = 10_000
LINKS_MAX: Final = 6_000  # per page, counted before duplicates go; Heritrix
ANCHORS_PER_URL_MAX: Final = 4  # distinct texts of links from one page to another
ELEMENTS_MAX: Final = 500_000  # the largest real page seen has a fifth of that
SNIFF_BYTES: Final = 2_048
BINARY_SHARE_MAX: Final = 0.02  # of control characters that no text has; random bytes have 0.1
ROBOTS_NAMES: Final = frozenset(("robots", "tianmesh"))
SITE_NAME: Final = "tianmesh-site"  # of the meta element by which a site shows that it was submitted
SITE_CODE_CHARS_MAX: Final = 64


class NotHtml(Exception):
    """The body is no page, regardless of its Content-Type; the text names the format it looks like."""


class Link(msgspec.Struct, frozen=True):
    """A link of a page, once per distinct text."""

    url: str  # canonical
    anchor: str  # white space folded, at most `ANCHOR_CHARS_MAX`; "" when it has no text


class SyntaxErrors(NamedTuple):
    """How many errors the markup of a page has, of each kind that can be told as it is read.

    Source: the parse errors of WHATWG HTML, 13.2.2; those of references, of text in tables and of the order
    of head and body are not counted. An element that is not closed counts once, wherever that is noticed.
    """

    unclosed: int  # elements that have no end tag, and need one
    stray: int  # end tags of nothing that is open
    misnested: int  # elements that end inside of others, links in links, HTML inside of drawings
    in_tags: int  # attributes twice, glued or misspelt; `/` of what is not void; attributes of end tags
    in_declarations: int  # no document type, and comments that are none


class ParsedPage(msgspec.Struct, frozen=True):
    """The content of a page: its texts, links and metadata."""

    url: str
    title: str
    headings: str  # h1 to h6 in page order, one a line
    text: str  # what the page is about, one block a line, white space folded, headings included
    links: tuple[Link, ...]  # in page order; without rel=nofollow, empty when the page says nofollow
    # Primary subtag of <html lang> in lower case, unless the text is surely of another; else by the text; "".
    language: str
    charset: str  # Python's name of the codec
    replacement_count: int  # characters that could not be decoded
    is_noindex: bool = False
    is_cut: bool = False  # longer than the limits; the rest was not read
    type: str = "text/html"  # media type that it was read as
    dates: tuple[str, ...] = ()  # what the page says of when it was changed, best first
    boilerplate: str = ""  # the text around that, such as menus, and what is `hidden` at first, likewise
    is_noarchive: bool = False  # no copy of it is to be shown
    is_nosnippet: bool = False  # nothing of its text is to be shown
    canonical: str = ""  # URL of the page that it says is to be shown for it; "" when it says none
    base: str = ""  # canonical URL that its links are relative to; "" for its own
    published: tuple[str, ...] = ()  # what the page says of when it was published, best first
    syntax_errors: tuple[int, int, int, int, int] | None = None  # `SyntaxErrors`; None of what is no HTML
    heading_ids: str = ""  # as in `Document`
    icon: str = ""  # URL of the icon that an entrance names for its site; "" for none that is wanted
    site_code: str = ""  # by which the page says that its site was submitted; "" for none


class RobotsWish(NamedTuple):
    """The wishes of a page or its server for robots: no index, no links, no archive, no snippet."""

    is_noindex: bool
    is_nofollow: bool
    is_noarchive: bool
    is_nosnippet: bool


def parse_page(
    url: str,
    body: bytes,
    content_type: str | None = None,
    robots_tags: Sequence[str] = (),
    refresh: str = "",
    *,
    finds_ftp: bool = False,
) -> ParsedPage:
    """Parse a page of HTML, XHTML or plain text, however broken; raise NotHtml where it is binary data.

    Args:
      url: canonical, of the page.
      body: without content coding.
      content_type: the response header's value.
      robots_tags: values of all X-Robots-Tag, which count like the meta element.
      refresh: the value of Refresh, which does so too.
      finds_ftp: links to directories of FTP servers are wanted, too; a link to a file there is one.
    """
    media_type = named_media_type(content_type)
    if (kind := binary_kind(body, content_type)) is not None:
        raise NotHtml(kind)
    decoded = decode_text(body, content_type)
    if decoded.is_noise:
        raise NotHtml("text in an unknown encoding")
    if media_type == "text/plain" or not (media_type or _MARKUP.search(decoded.text[:SNIFF_BYTES].encode())):
        media_type = "text/plain"
        page = _Page(title=last_segment(url), text=_folded_lines(decoded.text[: 2 * TEXT_CHARS_MAX]))
    else:
        markup = decoded.text.encode() if decoded.encoding != "utf-8" or decoded.replacement_count else body
        if media_type == "application/xhtml+xml":
            markup = _EMPTY_ELEMENT.sub(rb"<\1\2></\1>", markup)
        page = _read_markup(url, markup.replace(b"\0", b""), decoded.encoding, finds_ftp=finds_ftp)
    wish = robots_wish(robots_tags, page.robots)
    return ParsedPage(
        url=url,
        title=page.title[:TITLE_CHARS_MAX],
        headings=page.headings[:HEADINGS_CHARS_MAX],
        text=page.text[:TEXT_CHARS_MAX],
        boilerplate=page.boilerplate[: max(0, TEXT_CHARS_MAX - len(page.text))],
        links=() if wish.is_nofollow else _led_by(refresh, url, page.links) if refresh else page.links,
        language=language_of_page(page.language, page.text)
        or language_of(page.text)
        or language_of(page.boilerplate),
        charset=decoded.encoding,
        replacement_count=decoded.replacement_count,
        is_noindex=wish.is_noindex,
        is_cut=page.is_cut or len(page.text) + len(page.boilerplate) > TEXT_CHARS_MAX,
        type=media_type if media_type in _TEXT_TYPES else "text/html",
        dates=page.dates,
        published=page.published,
        is_noarchive=wish.is_noarchive,
        is_nosnippet=wish.is_nosnippet,
        canonical=page.canonical,
        base=page.base,
        syntax_errors=page.syntax_errors,
        heading_ids=page.heading_ids,
        icon="" if wish.is_nofollow or wish.is_noarchive or wish.is_nosnippet else page.icon,
        site_code=page.site_code,
    )


def robots_wish(robots_tags: Sequence[str], directives: str = "") -> RobotsWish:
    """Return the wishes for robots in response headers and meta elements.

    Args:
      robots_tags: values of all X-Robots-Tag.
      directives: of meta elements, with commas between them.
    """
    words = _robots_words(",".join((directives, *map(_unscoped, robots_tags))))
    return RobotsWish(
        bool(words & _NOINDEX), bool(words & _NOFOLLOW), bool(words & _NOARCHIVE), bool(words & _NOSNIPPET)
    )


def binary_kind(body: bytes, content_type: str | None = None) -> str | None:
    """Name the kind of binary data that a body looks like by its first bytes; None when it may be text."""
    kind = next((name for magic, name in _MAGIC if body.startswith(magic)), None)
    if kind is not None:
        return kind
    head = body[:SNIFF_BYTES]
    n_binary = len(head) - len(head.translate(None, _BINARY_BYTES))
    if n_binary <= BINARY_SHARE_MAX * len(head) or "utf-16" in (content_type or "").lower():
        return None
    return None if has_wide_or_shifted(head) else "binary data"


# WHATWG MIME sniffing, 7.1, what occurs under the name of text/html.
_MAGIC: Final = (
    (b"%PDF-", "PDF"),
    # Programs that draw pages, as a printer or a file for DOS has them before: to run them takes Ghostscript.
    *(
        (begin, "PostScript, which nothing here runs")
        for begin in (b"%!PS", b"\x04%!PS", b"\xc5\xd0\xd3\xc6")
    ),
    (b"\x1b%-12345X", "a job for a printer"),
    (b"\x89PNG\r\n", "PNG"),
    (b"GIF8", "GIF"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"RIFF", "RIFF"),
    (b"PK\x03\x04", "ZIP"),
    (b"\x1f\x8b\x08", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"Rar!\x1a\x07", "RAR"),
    (b"\x7fELF", "ELF"),
    (b"OggS\0", "Ogg"),
    (b"ID3", "MP3"),
    (b"\0\0\1\0", "icon"),
    (b"wOFF", "font"),
    (b"wOF2", "font"),
)
_BINARY_BYTES: Final = bytes((*range(0x09), 0x0B, *range(0x0E, 0x1B), *range(0x1C, 0x20)))
_MARKUP: Final = re.compile(
    rb"<(?:!doctype\s+html|html|head|body|title|meta|table|div|p|a|h1|br|script|style|b|!--|\?xml)[\s/>-]",
    re.IGNORECASE,
)
# In XHTML these may be empty elements; to an HTML parser the rest of the page would be inside.
_EMPTY_ELEMENT: Final = re.compile(rb"<(script|style|title|iframe|textarea|a|div|span|p)((?:\s[^<>]*)?)/>")

ICONS_READ_MAX: Final = 8  # of a page, in search of one that is wanted
_DRAWING: Final = re.compile(r"\.svgz?$", re.IGNORECASE)
REFRESH_CHARS_MAX: Final = 4_096  # of what a meta element says of where the page leads by itself
_REFRESH: Final = re.compile(r"[\d.\s]*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"\s*([A-Za-z]{2,8})(?![A-Za-z])")
_TEXT_TYPES: Final = frozenset(("text/html", "application/xhtml+xml", "text/plain"))
# What others of the same sort mean as well; Google and Bing describe them all.
_NOINDEX: Final = frozenset(("noindex", "none"))
_NOFOLLOW: Final = frozenset(("nofollow", "none"))
_NOARCHIVE: Final = frozenset(("noarchive", "nocache"))
_NOSNIPPET: Final = frozenset(("nosnippet", "max-snippet:0"))
_WITH_VALUES: Final = frozenset(
    ("max-snippet", "max-image-preview", "max-video-preview", "unavailable_after")
)
_LINK_SPLIT: Final = re.compile(r"[\s,]+")


def _led_by(refresh: str, url: str, links: tuple[Link, ...]) -> tuple[Link, ...]:
    """Return links, before them that to where a server has its page lead by itself."""
    target = refreshed_to(refresh)
    first = resolved_links(url, [(target, "")]) if target else ()
    return (*(link for link in first if all(link.url != other.url for other in links)), *links)


def refreshed_to(content: str) -> str:
    """Return where a page leads by itself, as a meta element or a header says it; "" for nowhere."""
    match = _REFRESH.match(content[:REFRESH_CHARS_MAX])
    target = match[1] if match else ""
    return "" if target.startswith(("#", "javascript:")) else target


class _Page(msgspec.Struct):
    title: str = ""
    headings: str = ""
    heading_ids: str = ""
    text: str = ""
    boilerplate: str = ""
    links: tuple[Link, ...] = ()
    language: str = ""
    robots: str = ""
    is_cut: bool = False
    dates: tuple[str, ...] = ()
    published: tuple[str, ...] = ()
    canonical: str = ""
    base: str = ""
    syntax_errors: tuple[int, int, int, int, int] | None = None
    icon: str = ""
    site_code: str = ""


def _read_markup(url: str, markup: bytes, encoding: str, *, finds_ftp: bool) -> _Page:
    """Read UTF-8 markup without NULs.

    Args:
      encoding: that it came in, in which the queries of its links are asked.
    """
    title, headings, ids, text, scores, unseen, hrefs, noted, is_cut, errors = read_markup(
        markup,
        html5,
        2 * TEXT_CHARS_MAX,  # twice: white space goes later
        ELEMENTS_MAX,
        LINKS_MAX,
        ANCHOR_CHARS_MAX,
        *NETWORKS,
    )
    body, boilerplate = parted(text, scores)
    notes, icons = _Notes(), list[str]()
    for tag, attributes, is_live in noted:
        if tag == "icon":  # on most pages, and of use on few
            icons.append(attributes["href"])
        else:
            notes.take(tag, attributes, is_live)
    lines = "\n".join(headings)
    base = (canonical(notes.base, url) or "") if notes.base else ""
    dates, published = dates_said(
        url, notes.dates, text.split("\n", LINES_MAX), (title or "", *headings[:1]), notes.locale
    )
    targets = [*((target, "") for target in notes.refreshes), *hrefs]
    return _Page(
        title=title_of_page(title or "", lines, body),
        headings=lines,
        heading_ids=_lines_of_ids(ids) if len(ids) > 1 else "",
        text=body,
        boilerplate="\n".join(filter(None, (boilerplate, unseen))),
        links=resolved_links(base or url, targets, encoding, with_ftp=finds_ftp),
        language=notes.language,
        robots=",".join(notes.robots),
        is_cut=is_cut,
        dates=dates,
        published=published,
        canonical=only_one(canonical_links(base or url, notes.canonicals)) if notes.canonicals else "",
        base=base,
        syntax_errors=errors,
        icon=icon_named(url, base or url, icons) if icons and url.endswith("/") else "",
        site_code=notes.site_code,
    )


def _lines_of_ids(ids: Sequence[str]) -> str:
    """Return a line for each heading, with its id; empty lines at the end are left out.

    The first heading has none: at its place a page begins.
    """
    lines = "\n".join(("", *ids[1:])).rstrip("\n")
    return (
        lines if len(lines) <= HEADING_IDS_CHARS_MAX else lines[: lines.rfind("\n", 0, HEADING_IDS_CHARS_MAX)]
    )


class _Notes:
    """The statements of elements that are not for show. One per page."""

    def __init__(self) -> None:
        self.base: str | None = None
        self.canonicals: list[str] = []  # what the page names as its address (RFC 6596)
        self.language = self.locale = ""  # primary subtag, and the whole
        self.robots: list[str] = []
        self.refreshes: list[str] = []  # where the page leads by itself
        self.dates: list[Said] = []
        self.site_code = ""

    def take(self, tag: str, attributes: dict[str, str], is_live: bool) -> None:
        match tag:
            case "base":  # HTML standard, 4.2.3: the first that has an address, be it empty or none
                if self.base is None and is_live:
                    self.base = attributes.get("href")
            case "link":
                if attributes["href"].strip():  # 4.2.4.3: else it is no link
                    self.canonicals.append(attributes["href"])
            case "meta":
                self._take_meta(attributes, is_live)
            case "time" | "dated":
                self.dates.append(said_by_element(tag == "time", attributes))
            case "script":
                self.dates += said_by_data(attributes["text"])
            case "html":
                named = attributes.get("lang") or attributes.get("xml:lang") or ""
                match = _LANGUAGE.match(named)
                if match and not self.language:
                    self.language, self.locale = match.group(1).lower(), named.strip().lower()

    def _take_meta(self, attributes: dict[str, str], is_live: bool) -> None:
        content = attributes.get("content", "")
        if attributes.get("name", "").strip().lower() in ROBOTS_NAMES:
            self.robots.append(content)
        elif attributes.get("http-equiv", "").strip().lower() == "refresh" and is_live:
            self.refreshes += filter(None, (refreshed_to(content),))
        elif content:
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
            name = name.strip().lower()
            rank = META_RANKS.get(name)
            if rank is not None:
                self.dates.append(Said(*rank, content))
            elif name == SITE_NAME and is_live:
                self.site_code = content.strip()[:SITE_CODE_CHARS_MAX]


def icon_named(url: str, base: str, hrefs: Sequence[str]) -> str:
    """Return the URL of the first icon that is wanted; "" for none, as on all pages but an entrance.

    The root of its origin speaks for the icon of all pages there. Wanted is one on a host of the site's own
    registrable domain, where its own robots.txt is asked, and no drawing (SVG), which may have scripts.

    Args:
      url: canonical, of the page.
      base: what its links are relative to.
      hrefs: as the page has them.
    """
    if url.index("/", 8) != len(url) - 1:
        return ""
    host = host_of(url)
    for icon in canonical_links(base, hrefs[:ICONS_READ_MAX]):
        is_image = icon is not None and icon != url and not _DRAWING.search(icon.partition("?")[0])
        if icon is not None and is_image and may_speak_for(host, host_of(icon)):
            return icon
    return ""


def resolved_links(
    base: str, hrefs: Sequence[tuple[str, str]], encoding: str = "utf-8", *, with_ftp: bool = False
) -> tuple[Link, ...]:
    """Resolve links: distinct URLs, each with its distinct texts, or once with "" when it has none.

    Args:
      encoding: of the page, as `charset` has it.
      with_ftp: those to FTP servers are some, too.
    """
    if encoding != "utf-8":
        hrefs = [(href if href.isascii() else with_query_in(href, encoding), text) for href, text in hrefs]
    texts_of: dict[str, dict[str, None]] = {}
    targets = canonical_links(base, [href for href, _ in hrefs], with_ftp=with_ftp)
    for target, (_, text) in zip(targets, hrefs, strict=True):
        if target is not None:
            texts = texts_of.setdefault(target, {})
            if text and len(texts) < ANCHORS_PER_URL_MAX:
                texts[text] = None
    return tuple([Link(target, text) for target, texts in texts_of.items() for text in texts or ("",)])


def _robots_words(directives: str) -> frozenset[str]:
    """Return the directives, those with a value as `name:value`."""
    if ":" in directives:
        directives = ":".join(map(str.strip, directives.split(":")))
    return frozenset(_LINK_SPLIT.split(directives.lower()))


def _unscoped(robots_tag: str) -> str:
    """Return the directives of an X-Robots-Tag that are for everybody or for us (`otherbot: noindex`)."""
    agent, colon, directives = robots_tag.partition(":")
    agent = agent.strip().lower()
    if not colon or " " in agent or "," in agent or agent in _WITH_VALUES:
        return robots_tag
    return directives if agent in ROBOTS_NAMES else ""


def _folded(text: str) -> str:
    return " ".join(text.split())


def _folded_lines(text: str) -> str:
    return "\n".join(filter(None, map(_folded, text.replace("\0", " ").splitlines())))


def last_segment(url: str) -> str:
    """Return the name of a file as its URL has it: the title of a document that has none."""
    return unquote(url[:URL_CHARS_MAX].partition("?")[0].rstrip("/").rpartition("/")[2])
