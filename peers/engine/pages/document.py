"""A page as the index sees it: the fields that the parser extracts, replicas carry and segments store."""

from __future__ import annotations

import msgspec
import xxhash

from mesh.stamp import Stamp, VisitNumber


class Document(msgspec.Struct, frozen=True, array_like=True):
    """The searchable parts of one page; the canonical URL is its identity.

    Array-like on the wire: new fields go last, with a default.
    """

    url: str
    title: str = ""
    headings: str = ""  # h1 to h6 in page order, one a line
    text: str = ""  # what the page is about, one block a line, headings included
    # Texts of the links that point here, sorted; one that several hosts use as often, see `linkers`.
    anchors: tuple[str, ...] = ()
    language: str = ""  # primary subtag of <html lang>, else by the text; "" when neither tells
    fetched_at: float = 0.0  # seconds since the epoch
    type: str = ""  # media type, as "text/html"; "" when not known
    date: float = 0.0  # when the page says it was last changed, seconds since the epoch; 0.0 when it does not
    linking_hosts: int = 0  # other domains that are known to link here
    visit: VisitNumber = 0  # which one found it, see `mesh.stamp`
    boilerplate: str = ""  # visible text around that, such as menus: found, but hardly counts
    is_quotable: bool = True  # False: nothing of its text is to be shown (`nosnippet`)
    canonical: str = ""  # URL of the page that it says is shown for it, perhaps itself; "" when it says none
    # When the page says it was published, in ISO 8601 by the clock of who says so; "" when it does not.
    published: str = ""
    # Of the headings, one a line: the id that leads to it behind # (HTML), "" for none and for the first.
    # Of a directory, of the lines of its text: size, date and address of the entry, see `directory_entries`.
    heading_ids: str = ""

    @property
    def key(self) -> str:
        """The identity of the document in its index."""
        return self.url

    @property
    def text_chars(self) -> int:
        """How long its texts are; of the long ones."""
        return len(self.text) + len(self.boilerplate)

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.visit, self.fetched_at)


def content_digest(document: Document) -> int:
    """Return a digest of the words that copies of a page have in common, 63 bits; 0 without a main text.

    That is all their words, those around the main text too: a copy is not shown, and no word that is on it
    alone may be lost.
    """
    if not document.text:
        return 0
    words = f"{document.title}\n{document.text}\n{document.boilerplate}"
    return xxhash.xxh3_64_intdigest(words.encode(errors="replace")) >> 1
