"""The elements that a page of HTML has, by name, and the texts and links of some of them. Pure.

The parser of the crawler keeps texts and links to pages only; reports and exports want to know more. One pass
over the bytes: comments are passed over, and so is the text of elements that has no markup in it (HTML
standard, 13.2.5), to the end of the page where they never end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple

from peers.crawler.parsing.parser import LINKS_MAX

TITLE_BYTES_MAX: Final = 4_096
ATTRIBUTES_BYTES_MAX: Final = 4_096  # of an element, that are looked at
DESCRIPTION: Final = "meta description"
KEYWORDS: Final = "meta keywords"
ROBOTS: Final = "meta robots"
METAS: Final = frozenset((DESCRIPTION, KEYWORDS, ROBOTS))
SHOWN_WITH: Final = frozenset(("stylesheet", "icon"))  # relations of link elements

ARCHIVE_LINKS_MAX: Final = LINKS_MAX // 2
ARCHIVE_ATTRIBUTES: Final = {
    b"img": (b"src",),
    b"script": (b"src",),
    b"link": (b"href",),
    b"video": (b"src", b"poster"),
    b"audio": (b"src",),
    b"source": (b"src",),
    b"track": (b"src",),
    b"embed": (b"src",),
    b"object": (b"data",),
    b"input": (b"src",),
    b"body": (b"background",),
}
_NEXT: Final = re.compile(rb"<(?:!(--)|([A-Za-z][A-Za-z0-9]{0,15})(?=[\s/>]))")
# To the end of a tag: `>` inside of a value in quotation marks is none.
_ATTRIBUTES: Final = re.compile(rb"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+>")
# With its value, in quotation marks or without; the first of a name counts.
_ATTRIBUTE: Final = re.compile(rb"([^\s=>/\"']++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]++)))?+")
_ENDS: Final = {
    name: re.compile(rb"</" + name + rb"(?=[\s/>])", re.IGNORECASE)
    for name in (b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes")
}


class PageTags(NamedTuple):
    """The elements of a page."""

    names: frozenset[str]  # in lower case, and `meta description` and its like
    title: str  # text of the first title element, white space folded; "" for none


def tags_of(markup: bytes) -> PageTags:
    """Find the elements of a page in an encoding that has ASCII in it."""
    names: set[str] = set()
    title: str | None = None
    for name, attributes, text in _elements(markup):
        names.add(name.decode())
        if name == b"meta":
            named = f"meta {_values(attributes).get(b'name', '').lower()}"
            names |= {named} & METAS
        elif name == b"title" and title is None:
            title = " ".join(unescape(text[:TITLE_BYTES_MAX].decode("utf-8", "replace")).split())
    return PageTags(frozenset(names), title or "")


def archive_hrefs(markup: bytes) -> list[tuple[str, str]]:
    """Return the links to parts of a page, as it has them: each with the name of its element.

    They are no links to pages, but to all that it is shown with: pictures, scripts, style sheets, icons,
    sound and films; at most `ARCHIVE_LINKS_MAX`, half as many as links to pages (Li, Yan, Wang 2004, 3.4).

    Args:
      markup: in UTF-8.
    """
    found: list[tuple[str, str]] = []
    for name, attributes, _ in _elements(markup):
        wanted = ARCHIVE_ATTRIBUTES.get(name)
        if wanted is None:
            continue
        values = _values(attributes)
        if name == b"link" and SHOWN_WITH.isdisjoint(values.get(b"rel", "").lower().split()):
            continue
        hrefs = (values.get(each, "") for each in wanted)
        found += [(href, name.decode()) for href in hrefs if href and not href.startswith("data:")]
        if len(found) >= ARCHIVE_LINKS_MAX:
            break
    return found[:ARCHIVE_LINKS_MAX]


def _elements(markup: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Yield the name of each element, its attributes, and its text when that has no markup in it."""
    at = 0
    while found := _NEXT.search(markup, at):
        if found[1]:
            at = markup.find(b"-->", found.end() - 2)  # `<!-->` is a whole comment
            if at < 0:
                return
            continue
        attributes = _ATTRIBUTES.match(markup, found.end())
        if attributes is None:
            return
        at = attributes.end()
        name = found[2].lower()
        text = b""
        if name in _ENDS:
            end = _ENDS[name].search(markup, at)
            text = markup[at : end.start() if end else None]
            at = end.end() if end else len(markup)
        yield name, attributes[0][:ATTRIBUTES_BYTES_MAX], text


def _values(attributes: bytes) -> dict[bytes, str]:
    """Return the attributes of an element, their names in lower case."""
    values: dict[bytes, str] = {}
    for name, *quoted in _ATTRIBUTE.findall(attributes):
        values.setdefault(name.lower(), unescape(b"".join(quoted).decode("utf-8", "replace")).strip())
    return values
