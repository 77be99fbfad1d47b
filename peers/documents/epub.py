"""EPUB: books, chapter by chapter. Pure.

A chapter is XHTML; it is read as pages are, by whatever reads those.

Source: EPUB 3.3, 4 (container) and 5 (package document).
"""

from __future__ import annotations

import posixpath
from typing import Final
from urllib.parse import unquote

from peers.documents.budget import Budget
from peers.documents.content import LINKS_MAX, Content, Lack, ReadMarkup, TextLimit, Unreadable
from peers.documents.office_package import Properties
from peers.documents.xml_events import read_xml
from peers.documents.zip_file import ZipMembers

CHAPTERS_MAX: Final = 2_000
_DRM: Final = (b"http://ns.adobe.com/adept", b"xmlenc#aes")  # fonts are obfuscated by other means
_CHAPTER_TYPES: Final = ("application/xhtml+xml", "text/html", "")


def read_epub(body: bytes, budget: Budget, read_markup: ReadMarkup) -> Content:
    """Read a book.

    Args:
      read_markup: reads a chapter.

    Raises:
      Unreadable
    """
    book = ZipMembers(body, budget)
    container = _Elements("rootfile")
    read_xml(book.read("META-INF/container.xml"), container, budget, has_doctype=True)
    package = next((each.get("full-path", "") for each in container.found), "")
    if package not in book:
        raise Unreadable(Lack.DAMAGED, "no package document")
    markup = book.read(package)
    properties = Properties(markup, budget)
    lines, boilerplate = TextLimit(), TextLimit()
    headings: list[str] = []
    links: list[tuple[str, str]] = []
    chapters = _chapters(markup, posixpath.dirname(package), budget)
    for name in chapters:
        if lines.is_full or budget.is_spent:
            lines.is_cut = True
            break
        chapter = read_markup(book.read(name))
        for line in chapter.text.split("\n"):
            lines.add(line)
        for line in chapter.boilerplate.split("\n"):
            boilerplate.add(line)
        headings += chapter.headings.split("\n")
        links += chapter.links[: LINKS_MAX - len(links)]
    text = lines.text()
    if not text:
        encryption = book.read("META-INF/encryption.xml")
        is_encrypted = any(sign in encryption for sign in _DRM)
        raise Unreadable(Lack.ENCRYPTED if is_encrypted else Lack.DAMAGED, "no text in its chapters")
    return Content(
        title=properties.title,
        headings="\n".join(filter(None, headings)),
        text=text,
        links=tuple(links),
        language=properties.language,
        dates=properties.dates,
        is_cut=lines.is_cut,
        boilerplate=boilerplate.text(),
    )


def _chapters(package: bytes, folder: str, budget: Budget) -> list[str]:
    """Names of the members that are chapters, in the order of reading."""
    items, spine = _Elements("item"), _Elements("itemref")
    for elements in (items, spine):
        read_xml(package, elements, budget, has_doctype=True)
    hrefs = {
        each.get("id", ""): each.get("href", "")
        for each in items.found
        if each.get("media-type", "") in _CHAPTER_TYPES
    }
    order = (hrefs.get(each.get("idref", ""), "") for each in spine.found)
    return [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in order if href]


class _Elements:
    """Receives events, and keeps the attributes of the elements of one name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.found: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == self._name and len(self.found) < CHAPTERS_MAX:
            self.found.append(attributes)

    def end(self, name: str) -> None:
        """Nothing follows from it."""

    def text(self, text: str) -> None:
        """There is none."""
