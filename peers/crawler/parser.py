"""Take a page apart: title, headings, visible text, links and what its robots meta says. Pure.

Theory of operation. The HTML parser of libxml2 (through lxml) reports start tags, end tags and text to a
collector; no tree is built. That is faster here than a tree and than walking one (see
`tests/benchmarks/bench_parser.py`) and safer: memory is bounded by what the collector keeps, deep pages are
not cut at depth 2,048, and a tag with 20,000 attributes takes 4 ms instead of 330. What remains costly is
an end tag without start, for which libxml2 searches all open elements; so depth times end tags is bounded.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import msgspec
from lxml import etree

from mesh.urls import URL_CHARS_MAX, canonical, canonical_links
from peers.crawler.charset import decode_text
from peers.crawler.dates import DATE_CHARS_MAX, META_RANKS, TIME_RANK, seconds_of
from peers.crawler.language import language_of
from peers.crawler.wire_messages import ANCHOR_CHARS_MAX

TEXT_CHARS_MAX: Final = 500_000  # kept of a page's text; Marginalia
TITLE_CHARS_MAX: Final = 1_000
HEADINGS_CHARS_MAX: Final = 20_000
LINKS_MAX: Final = 6_000  # per page, counted before duplicates go; Heritrix
ANCHORS_PER_URL_MAX: Final = 4  # distinct texts of links from one page to another
ELEMENTS_MAX: Final = 500_000  # 0.3 s; the largest real page seen has a fifth of that
DEPTH_MIN: Final = 256  # what is always allowed: libxml2's own limit
STACK_STEPS_MAX: Final = 200_000_000  # depth times end tags: 0.35 s
FEED_BYTES: Final = 65_536  # libxml2 reads what it was given to the end, even after a limit was reached
SNIFF_BYTES: Final = 2_048
BINARY_SHARE_MAX: Final = 0.02  # of control characters that no text has; random bytes have 0.1
ROBOTS_NAMES: Final = frozenset(("robots", "tianmesh"))


class NotHtml(Exception):
    """The body is no page, whatever its Content-Type says; the text says what it looks like."""


class Link(msgspec.Struct, frozen=True):
    """A link of a page, once per distinct text."""

    url: str  # canonical
    anchor: str  # white space folded, at most `ANCHOR_CHARS_MAX`; "" when it has no text


class ParsedPage(msgspec.Struct, frozen=True):
    """What a page says."""

    url: str
    title: str
    headings: str  # h1 to h6 in page order, one a line
    text: str  # visible text, one block a line, white space folded, headings included
    links: tuple[Link, ...]  # in page order; without rel=nofollow, empty when the page says nofollow
    language: str  # primary subtag of <html lang> in lower case, else by the text; "" when neither tells
    charset: str  # Python's name of the codec
    replacement_count: int  # characters that could not be decoded
    is_noindex: bool = False
    is_cut: bool = False  # longer or deeper than the limits; the rest was not read
    type: str = "text/html"  # media type that it was read as
    dates: tuple[str, ...] = ()  # what the page says of when it was changed, best first, as it stands there


def parse_page(
    url: str, body: bytes, content_type: str | None = None, robots_tag: str | None = None
) -> ParsedPage:
    """Parse a page of HTML, XHTML or plain text, however broken.

    Args:
      url: canonical, of the page.
      body: without content coding.
      content_type: the response header's value.
      robots_tag: that of X-Robots-Tag, which counts like the meta element.

    Raises:
      NotHtml: binary data under the name of text.
    """
    media_type = (content_type or "").partition(";")[0].strip().lower()
    kind = binary_kind(body, content_type)
    if kind is not None:
        raise NotHtml(kind)
    decoded = decode_text(body, content_type)
    if media_type == "text/plain" or (not media_type and _MARKUP.search(body, 0, SNIFF_BYTES) is None):
        media_type = "text/plain"
        page = _Page(title=_last_segment(url), text=_folded_lines(decoded.text[: 2 * TEXT_CHARS_MAX]))
    else:
        markup = (
            body if decoded.encoding == "utf-8" and not decoded.replacement_count else decoded.text.encode()
        )
        if media_type == "application/xhtml+xml":
            markup = _EMPTY_ELEMENT.sub(rb"<\1\2></\1>", markup)
        page = _read_markup(url, markup.replace(b"\0", b""))
    is_noindex, is_nofollow = _robots_words(f"{page.robots},{_unscoped(robots_tag)}")
    return ParsedPage(
        url=url,
        title=page.title[:TITLE_CHARS_MAX],
        headings=page.headings[:HEADINGS_CHARS_MAX],
        text=page.text[:TEXT_CHARS_MAX],
        links=() if is_nofollow else page.links,
        language=page.language or language_of(page.text),
        charset=decoded.encoding,
        replacement_count=decoded.replacement_count,
        is_noindex=is_noindex,
        is_cut=page.is_cut or len(page.text) > TEXT_CHARS_MAX,
        type=media_type if media_type in _TEXT_TYPES else "text/html",
        dates=page.dates,
    )


def binary_kind(body: bytes, content_type: str | None = None) -> str | None:
    """Say what binary data a body looks like by its first bytes; None when it may be text."""
    kind = next((name for magic, name in _MAGIC if body.startswith(magic)), None)
    if kind is not None:
        return kind
    head = body[:SNIFF_BYTES]
    is_utf16 = head.startswith((b"\xff\xfe", b"\xfe\xff")) or "utf-16" in (content_type or "").lower()
    n_binary = len(head) - len(head.translate(None, _BINARY_BYTES))
    return "binary data" if n_binary > BINARY_SHARE_MAX * len(head) and not is_utf16 else None


# WHATWG MIME sniffing, 7.1, what occurs under the name of text/html.
_MAGIC: Final = (
    (b"%PDF-", "PDF"),
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

_BLOCKS: Final = frozenset([
    "address", "article", "aside", "blockquote", "body", "br", "caption", "center", "dd", "details",
    "dialog", "dir", "div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frame",
    "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "html", "iframe", "legend", "li", "main",
    "menu", "nav", "ol", "optgroup", "option", "p", "pre", "section", "select", "summary", "table",
    "tbody", "td", "tfoot", "th", "thead", "title", "tr", "ul",
])  # fmt: skip
_HEADINGS: Final = frozenset(("h1", "h2", "h3", "h4", "h5", "h6"))
_INVISIBLE: Final = frozenset(("script", "style", "noscript", "template", "iframe", "noframes", "noembed"))
_SPECIAL: Final = frozenset(("a", "area", "frame", "iframe", "base", "meta", "img", "html", "title", "time"))
_NOTABLE: Final = _BLOCKS | _INVISIBLE | _SPECIAL  # asked first: most elements are none of these
_BREAK: Final = "\0"  # between blocks; pages have none, they were removed
_REFRESH: Final = re.compile(r"[\d.\s]*[;,\s]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_LANGUAGE: Final = re.compile(r"\s*([A-Za-z]{2,8})(?![A-Za-z])")
_TEXT_TYPES: Final = frozenset(("text/html", "application/xhtml+xml", "text/plain"))
_LINK_SPLIT: Final = re.compile(r"[\s,]+")


class _Page(msgspec.Struct):
    title: str = ""
    headings: str = ""
    text: str = ""
    links: tuple[Link, ...] = ()
    language: str = ""
    robots: str = ""
    is_cut: bool = False
    dates: tuple[str, ...] = ()


class _Enough(Exception):
    """A limit was reached: keep what there is."""


class _Collector:
    """Receives the parser's events. One per page."""

    def __init__(self, depth_max: int) -> None:
        self.depth_max = depth_max
        self.pieces: list[str] = []  # of the visible text, _BREAK between blocks
        self.hrefs: dict[tuple[str, str], None] = {}  # (href, text) in page order
        self.headings: list[str] = []
        self.title: str | None = None
        self.base = ""
        self.language = ""
        self.robots: list[str] = []
        self.is_cut = False
        self.dates: dict[int, str] = {}  # the first of each rank, see `dates`
        self._text_chars = 0
        self._depth = 0
        self._element_count = 0
        self._invisible = 0  # open elements whose text is not shown
        self._href: str | None = None  # of the open link
        self._link_at = 0  # in pieces
        self._image_texts: list[str] = []  # alternatives of the images in the open link
        self._heading_at = -1  # in pieces; -1 outside of headings
        self._title_at = -1

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._element_count += 1
        self._depth += 1
        if self._depth > self.depth_max or self._element_count > ELEMENTS_MAX:
            raise _Enough
        if tag not in _NOTABLE:
            return
        if tag in _BLOCKS:
            self.pieces.append(_BREAK)
            if tag in _HEADINGS:
                self._heading_at = len(self.pieces)
        if tag in _SPECIAL:
            self._start_special(tag, attributes)
        if tag in _INVISIBLE:
            self._invisible += 1

    def end(self, tag: str) -> None:
        self._depth -= 1
        if tag not in _NOTABLE:
            return
        if tag == "a":
            self._end_link()
        elif tag in _BLOCKS:
            if tag in _HEADINGS and self._heading_at >= 0:
                self.headings.append(self._text_since(self._heading_at))
                self._heading_at = -1
            elif tag == "title" and self._title_at >= 0:
                self.title = self._text_since(self._title_at)
                del self.pieces[self._title_at :]  # shown in the window's frame, not on the page
                self._title_at = -1
            self.pieces.append(_BREAK)
        if tag in _INVISIBLE:
            self._invisible -= 1

    def data(self, text: str) -> None:
        if self._invisible or self._text_chars > 2 * TEXT_CHARS_MAX:  # twice: white space goes later
            return
        self._text_chars += len(text)
        self.pieces.append(text)

    def close(self) -> None:
        """Called by lxml at the end of the page."""
        self._end_link()

    def _start_special(self, tag: str, attributes: dict[str, str]) -> None:
        match tag:
            case "a":
                self._end_link()
                href = attributes.get("href")
                if href is not None and not _is_nofollow(attributes):
                    self._href = href
                    self._link_at = len(self.pieces)
            case "img":
                if self._href is not None and "alt" in attributes:
                    self._image_texts.append(attributes["alt"])
            case "area":
                if not _is_nofollow(attributes):
                    self._add_link(attributes.get("href"), attributes.get("alt", ""))
            case "frame" | "iframe":
                self._add_link(attributes.get("src"), "")
            case "base":
                self.base = self.base or attributes.get("href", "")
            case "meta":
                self._start_meta(attributes)
            case "time":
                if "datetime" in attributes:
                    self.dates.setdefault(TIME_RANK, attributes["datetime"][:DATE_CHARS_MAX])
            case "html":
                match = _LANGUAGE.match(attributes.get("lang") or attributes.get("xml:lang") or "")
                self.language = self.language or (match.group(1).lower() if match else "")
            case "title":
                if self.title is None:  # later ones belong to <svg>
                    self._title_at = len(self.pieces)

    def _start_meta(self, attributes: dict[str, str]) -> None:
        content = attributes.get("content", "")
        if attributes.get("name", "").strip().lower() in ROBOTS_NAMES:
            self.robots.append(content)
        elif attributes.get("http-equiv", "").strip().lower() == "refresh" and not self._invisible:
            match = _REFRESH.match(content)
            self._add_link(match.group(1) if match else None, "")
        elif content:
            name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
            rank = META_RANKS.get(name.strip().lower())
            if rank is not None and seconds_of(content):
                self.dates.setdefault(rank, content[:DATE_CHARS_MAX])

    def _end_link(self) -> None:
        if self._href is not None:
            text = self._text_since(self._link_at) or _folded(" ".join(self._image_texts))
            self._add_link(self._href, text)
            self._href = None
        self._image_texts.clear()

    def _add_link(self, href: str | None, text: str) -> None:
        if href is None or href.startswith(("#", "javascript:")):
            return
        if len(self.hrefs) < LINKS_MAX:
            self.hrefs[href, text[:ANCHOR_CHARS_MAX]] = None
        else:
            self.is_cut = True

    def _text_since(self, piece_index: int) -> str:
        return _folded("".join(self.pieces[piece_index:]).replace(_BREAK, " "))


def _read_markup(url: str, markup: bytes) -> _Page:
    """Run the parser over UTF-8 markup without NULs."""
    depth_max = max(DEPTH_MIN, STACK_STEPS_MAX // (markup.count(b"</") + 1))
    collector = _Collector(depth_max)
    parser = etree.HTMLParser(target=collector, encoding="utf-8", huge_tree=True, no_network=True)
    try:
        for start in range(0, len(markup), FEED_BYTES):
            parser.feed(markup[start : start + FEED_BYTES])
        parser.close()
    except _Enough:
        collector.is_cut = True
        collector.close()
    except etree.XMLSyntaxError:  # nothing in it, or a character libxml2 gives up at: keep what came before
        collector.close()
    return _Page(
        title=collector.title or "",
        headings="\n".join(filter(None, collector.headings)),
        text=_folded_blocks("".join(collector.pieces)),
        links=_links(url, collector),
        language=collector.language,
        robots=",".join(collector.robots),
        is_cut=collector.is_cut,
        dates=tuple(text for _, text in sorted(collector.dates.items())),
    )


def _links(url: str, collector: _Collector) -> tuple[Link, ...]:
    """Resolve the links: distinct URLs, each with its distinct texts, or once with "" when it has none."""
    base = (canonical(collector.base, url) if collector.base else None) or url
    texts_of: dict[str, dict[str, None]] = {}
    targets = canonical_links(base, (href for href, _ in collector.hrefs))
    for target, (_, text) in zip(targets, collector.hrefs, strict=True):
        if target is not None:
            texts = texts_of.setdefault(target, {})
            if text and len(texts) < ANCHORS_PER_URL_MAX:
                texts[text] = None
    return tuple(Link(target, text) for target, texts in texts_of.items() for text in texts or ("",))


def _is_nofollow(attributes: dict[str, str]) -> bool:
    rel = attributes.get("rel")
    return rel is not None and "nofollow" in rel.lower().split()


def _robots_words(directives: str) -> tuple[bool, bool]:
    """Return whether robots directives forbid indexing, and following links."""
    words = frozenset(_LINK_SPLIT.split(directives.lower()))
    return not words.isdisjoint(("noindex", "none")), not words.isdisjoint(("nofollow", "none"))


def _unscoped(robots_tag: str | None) -> str:
    """Return the directives of an X-Robots-Tag that are for everybody or for us (`otherbot: noindex`)."""
    agent, colon, directives = (robots_tag or "").partition(":")
    if not colon or " " in agent.strip() or "," in agent:
        return robots_tag or ""
    return directives if agent.strip().lower() in ROBOTS_NAMES else ""


def _folded(text: str) -> str:
    return " ".join(text.split())


def _folded_blocks(text: str) -> str:
    return "\n".join(filter(None, [" ".join(block.split()) for block in text.split(_BREAK)]))


def _folded_lines(text: str) -> str:
    return "\n".join(filter(None, map(_folded, text.replace("\0", " ").splitlines())))


def _last_segment(url: str) -> str:
    return unquote(url[:URL_CHARS_MAX].partition("?")[0].rstrip("/").rpartition("/")[2])
