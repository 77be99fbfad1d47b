"""The section of a page that an excerpt is from: the heading above it, and the id that links lead to it by.

Headings stand in the text as lines of their own. The one above a place is the nearest line before it that
reads as one of them; a line of a table of contents counts as well, and names the same section. Of headings
that read alike, as `Options` in a manual, the ids are told apart by how many such lines are still to come.
"""

from __future__ import annotations

from typing import NamedTuple

from peers.engine.pages.document import Document


class Section(NamedTuple):
    """A part of a page below a heading."""

    title: str = ""  # the heading; "" for the beginning of the page
    id: str = ""  # that leads to it behind #; "" where there is none


class Outline:
    """The headings of a page; at the first it begins.

    Attributes:
      headings: in order; one that is empty where there are none.
    """

    def __init__(self, document: Document) -> None:
        """Begin; takes time in proportion to the headings."""
        headings = document.headings.split("\n")
        ids = document.heading_ids.split("\n")
        self.headings = headings
        self._first = headings[0]
        self._ids_of: dict[str, list[str]] = {}
        for number, heading in enumerate(headings):
            if heading:
                self._ids_of.setdefault(heading, []).append(ids[number] if number < len(ids) else "")

    @property
    def size_bytes(self) -> int:
        """About how many bytes it takes in memory."""
        return 300 * len(self._ids_of)

    def section_at(self, text: str, place: int) -> Section:
        """Return the section that a place in the page's text is in; takes time in proportion to the text.

        Args:
          text: lines, headings among them.
          place: in characters.
        """
        if len(self._ids_of) < 2:
            return Section()
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        for line in reversed(text[:end].split("\n")):
            ids = self._ids_of.get(line)
            if ids is not None:
                n_later = text[end:].split("\n").count(line) if len(ids) > 1 else 0
                number = len(ids) - 1 - n_later
                is_beginning = line == self._first and number <= 0
                return Section() if is_beginning else Section(line, ids[number] if number >= 0 else "")
        return Section()
