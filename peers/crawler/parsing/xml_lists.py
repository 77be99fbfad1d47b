"""The URLs of a sitemap, an index of sitemaps or a feed in XML, however broken. Pure.

Nothing is fetched for it: no DTD is read and no entity is expanded. No tree is built, so memory is bounded by
the URLs that are kept.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lxml import etree

from mesh.urls import RAW_URL_CHARS_MAX, canonical, has_host
from peers.crawler.parsing.dates import DATE_CHARS_MAX

ELEMENTS_MAX: Final = 1_000_000  # 0.6 s; 50,000 URLs with all that the protocol says of each have 250,000
DEPTH_MAX: Final = 64  # of elements; a sitemap has four, a feed with XHTML in it some twenty
FEED_BYTES: Final = 65_536  # between two looks whether there are enough

_ROOTS: Final = frozenset(("urlset", "sitemapindex", "rss", "feed", "RDF"))
_ENTRIES: Final = frozenset(("url", "sitemap", "item", "entry"))
_BASE: Final = "{http://www.w3.org/XML/1998/namespace}base"  # XML Base, 3
_NAMED: Final = frozenset(("guid", "sitemap"))  # by a URL, or by something else
_DATES: Final = frozenset(("lastmod", "pubDate", "updated", "date"))  # of sitemaps, RSS, Atom, RSS 1.0


class ListedUrl(NamedTuple):
    """A URL that is listed."""

    url: str  # canonical
    changed: str = ""  # when its page was changed last, as it stands there


def entries_in_xml(url: str, markup: bytes, urls_max: int) -> list[ListedUrl] | None:
    """Read a list in XML, however broken; None if its first element is that of something else.

    Args:
      url: canonical, of the list.
      markup: in UTF-8, whatever it says.
    """
    collector = _Collector(url, urls_max)
    parser = etree.XMLParser(
        target=collector,
        recover=True,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        encoding="utf-8",
    )
    markup = markup.lstrip()  # nothing may stand before an XML declaration
    try:
        for start in range(0, len(markup), FEED_BYTES):
            parser.feed(markup[start : start + FEED_BYTES])
        parser.close()
    except _Enough:
        pass
    except etree.XMLSyntaxError:  # what came before the damage is kept
        pass
    return collector.entries if collector.is_list else None


class _Enough(Exception):
    """There is no need to read on."""


class _Collector:
    """Receives the parser's events. One per list."""

    def __init__(self, url: str, urls_max: int) -> None:
        self._bases = [url]  # of the list and of its open elements
        self._urls_max = urls_max
        self.is_list = False
        self.entries: list[ListedUrl] = []
        self._path: list[str] = []  # local names of the open elements
        self._found: list[str] = []  # URLs of the open entry, the best first
        self._changed = ""  # when that was changed
        self._pieces: list[str] | None = None  # of a text that may be a URL
        self._chars = 0
        self._element_count = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        parent = self._path[-1] if self._path else ""
        if not self._path:
            self.is_list = name in _ROOTS
            if not self.is_list:
                raise _Enough
        self._element_count += 1
        if len(self._path) == DEPTH_MAX or self._element_count > ELEMENTS_MAX:
            raise _Enough
        self._path.append(name)
        base = self._bases[-1]
        self._bases.append((_BASE in attributes and canonical(attributes[_BASE], base)) or base)
        if name in _ENTRIES:
            self._found, self._changed = [], ""
            self._begin_text(name == "sitemap")  # some indexes have no <loc>
        elif parent not in _ENTRIES:
            return
        elif name == "link" and "href" in attributes:
            if attributes.get("rel", "alternate") == "alternate":
                self._find(attributes["href"])
        elif name == "loc" or name in _DATES or (name in ("link", "guid") and parent == "item"):
            self._begin_text(True)

    def data(self, text: str) -> None:
        if self._pieces is not None and self._chars <= RAW_URL_CHARS_MAX:
            self._pieces.append(text)
            self._chars += len(text)

    def end(self, tag: str) -> None:
        name = self._path.pop() if self._path else ""
        text, self._pieces = "".join(self._pieces or ()).strip(), None
        if name in _DATES:
            self._changed = self._changed or text[:DATE_CHARS_MAX]
        elif name in ("loc", "link") or (name in _NAMED and not self._found and has_host(text)):
            self._find(text)
        del self._bases[1 + len(self._path) :]
        if name in _ENTRIES:
            self.entries += [ListedUrl(url, self._changed) for url in self._found]
            self._found = []
            if len(self.entries) >= self._urls_max:
                del self.entries[self._urls_max :]
                raise _Enough

    def _find(self, text: str) -> None:
        """Add the URL that a text stands for; a text that is escaped twice does not mean the escapes."""
        url = canonical(text.replace("&amp;", "&"), self._bases[-1]) if text else None
        if url is not None:
            self._found.append(url)

    def close(self) -> None:
        """Called by lxml at the end."""

    def _begin_text(self, is_url: bool) -> None:
        self._pieces, self._chars = ([] if is_url else None), 0


def _local(tag: str) -> str:
    """The name of an element without its namespace, which lists often have wrong, or its prefix."""
    return tag.rpartition("}")[2].rpartition(":")[2]
