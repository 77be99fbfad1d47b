"""XML that is no page: its texts, and of a feed its entries. Pure.

Sources: RFC 4287 (Atom), RSS 0.9 to 2.0, OPML 2.0, XML Base. What entries say stands in feeds as markup
inside of text; it is read as pages are.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import urljoin

from peers.documents.budget import Budget
from peers.documents.content import (
    HREF_CHARS_MAX,
    LINKS_MAX,
    Content,
    Lack,
    ReadMarkup,
    TextLimit,
    Unreadable,
)
from peers.documents.office_package import primary_subtag
from peers.documents.xml_events import Enough, read_xml

_FEEDS: Final = frozenset(("rss", "feed", "RDF"))
_ENTRIES: Final = frozenset(("item", "entry"))
_MARKUP: Final = frozenset(("description", "summary", "content", "encoded"))
_DATES: Final = frozenset(("updated", "modified", "date"))
_SAID: Final = frozenset(("title", "subtitle", "name", "category", *_MARKUP))
PIECE_CHARS_MAX: Final = 1_000_000  # of the text of one element


def read_xml_document(body: bytes, budget: Budget, read_markup: ReadMarkup) -> Content:
    """Read a document.

    Args:
      body: in UTF-8, whatever it declares.
      read_markup: reads what is markup inside of a text.

    Raises:
      Unreadable: it is no XML.
    """
    reader = _Reader(budget, read_markup)
    body = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_whole = read_xml(body, reader, budget, has_doctype=True, encoding="utf-8")
    if not reader.root:
        raise Unreadable(Lack.DAMAGED, "no XML")
    return Content(
        title=reader.title,
        headings="\n".join(reader.headings),
        text=reader.lines.text(),
        links=tuple(reader.links),
        language=reader.language,
        dates=tuple(reader.dates),
        is_cut=reader.lines.is_cut or not is_whole,
        boilerplate=reader.boilerplate.text(),
    )


class _Reader:
    """Receives the events of a document."""

    def __init__(self, budget: Budget, read_markup: ReadMarkup) -> None:
        self._budget = budget
        self._read_markup = read_markup
        self.root = ""
        self.title = ""
        self.headings: list[str] = []  # titles of entries
        self.lines = TextLimit()
        self.boilerplate = TextLimit()
        self.links: list[tuple[str, str]] = []
        self.dates: list[str] = []
        self.language = ""
        self._pieces: list[str] = []
        self._chars = 0
        self._is_entry = False
        self._bases = [""]  # of the open elements

    @property
    def is_feed(self) -> bool:
        return self.root in _FEEDS

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._take_text("")  # before the first child
        if not self.root:
            self.root = name
            self.language = primary_subtag(attributes.get("lang", ""))
        if name in _ENTRIES:
            self._is_entry = True
        base = self._bases[-1]
        self._bases.append(_joined(base, attributes.get("base", "")[:HREF_CHARS_MAX]))
        if name == "outline":
            self._take_outline(attributes)
        href = attributes.get("href", "")
        if href and (not self.is_feed or attributes.get("rel", "alternate") == "alternate"):
            self._add_link(href)

    def text(self, text: str) -> None:
        if self._chars < PIECE_CHARS_MAX:
            self._pieces.append(text)
            self._chars += len(text)

    def end(self, name: str) -> None:
        self._take_text(name)
        self._bases.pop()
        if name in _ENTRIES:
            self._is_entry = False
        if self.lines.is_full or (name in _ENTRIES and self._budget.is_spent):
            raise Enough

    def _take_text(self, name: str) -> None:
        """Take the text before a tag: `name` of the element that it ends, or none."""
        text = "".join(self._pieces).strip()
        self._pieces, self._chars = [], 0
        if not text:
            return
        if not self.is_feed:
            self.lines.add(text)
            if name == "title":
                self.title = self.title or " ".join(text.split())
        elif name in _SAID:
            self._take_said(name, text)
        elif name == "link" or (name in ("guid", "id") and text.startswith(("http://", "https://"))):
            self._add_link(text)
        elif name in _DATES and not self.dates:
            self.dates.append(text)
        elif name == "language":
            self.language = self.language or primary_subtag(text)

    def _take_said(self, name: str, text: str) -> None:
        if name in _MARKUP and "<" in text:
            content = self._read_markup(text.encode())
            for line in content.text.split("\n"):
                self.lines.add(line)
            for line in content.boilerplate.split("\n"):
                self.boilerplate.add(line)
            self.links += content.links[: LINKS_MAX - len(self.links)]
            return
        self.lines.add(text)
        if name == "title":
            title = " ".join(text.split())
            if self._is_entry:
                self.headings.append(title)
            else:
                self.title = self.title or title

    def _take_outline(self, attributes: dict[str, str]) -> None:
        """Take the attributes of OPML 2.0: a line of an outline, or a feed and its site."""
        title = attributes.get("text") or attributes.get("title") or ""
        self.lines.add(title)
        for name in ("htmlUrl", "xmlUrl", "url"):
            if name in attributes:
                self._add_link(attributes[name], title)

    def _add_link(self, target: str, text: str = "") -> None:
        if len(self.links) < LINKS_MAX:
            target = target[:HREF_CHARS_MAX]
            self.links.append((_joined(self._bases[-1], target), text))


def _joined(base: str, target: str) -> str:
    """Resolve a link against the URL that XML Base names; "" for a link that cannot be resolved."""
    try:
        return urljoin(base, target)[:HREF_CHARS_MAX]
    except ValueError:
        return ""
