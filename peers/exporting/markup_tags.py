"""The elements that a page of HTML has, by name, and the texts of some of them; for reports. Pure.

The parser of the crawler keeps texts and links only. One pass over the bytes: comments are passed over, and
so is the text of elements that has no markup in it (HTML standard, 13.2.5), to the end of the page where they
never end.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Final, NamedTuple

TITLE_BYTES_MAX: Final = 4_096
ATTRIBUTES_BYTES_MAX: Final = 4_096  # of an element, that are looked at
DESCRIPTION: Final = "meta description"
KEYWORDS: Final = "meta keywords"
ROBOTS: Final = "meta robots"

_NEXT: Final = re.compile(rb"<(?:!(--)|([A-Za-z][A-Za-z0-9]{0,15})(?=[\s/>]))")
# To the end of a tag: `>` inside of a value in quotation marks is none.
_ATTRIBUTES: Final = re.compile(rb"(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+>")
_META_NAME: Final = re.compile(
    rb"\bname\s*+=\s*+[\"']?+\s*+(description|keywords|robots)(?![\w.:-])", re.IGNORECASE
)
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
    at = 0
    while found := _NEXT.search(markup, at):
        if found[1]:
            at = markup.find(b"-->", found.end() - 2)  # `<!-->` is a whole comment
            if at < 0:
                break
            continue
        attributes = _ATTRIBUTES.match(markup, found.end())
        if attributes is None:
            break
        at = attributes.end()
        name = found[2].lower()
        names.add(name.decode())
        if name == b"meta":
            said = _META_NAME.search(attributes[0][:ATTRIBUTES_BYTES_MAX])
            names |= {f"meta {said[1].decode().lower()}"} if said else set()
        elif name in _ENDS:
            end = _ENDS[name].search(markup, at)
            if name == b"title" and title is None:
                text = markup[at : end.start() if end else None][:TITLE_BYTES_MAX]
                title = " ".join(unescape(text.decode("utf-8", "replace")).split())
            if end is None:
                break
            at = end.end()
    return PageTags(frozenset(names), title or "")
