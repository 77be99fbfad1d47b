"""The sections of a page: the one an excerpt is from, or a query asks for, and the id that leads to it.

Headings stand in the text as lines of their own. The one above a place is the nearest line before it that
reads as one of them, if the next such line is the heading after that: of some pages headings count as what is
around the main text and are not in it, and a table of contents has lines like headings. Headings that read
alike, as `Options` in a manual, are told apart by the one that follows, else from the end.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Final

import msgspec

from peers.engine.excerpts.snippet import SearchedText, line_told, may_be_in
from peers.engine.native.compiled import kernel
from peers.engine.pages.document import Document
from peers.engine.queries.query import Query
from peers.kernel import Codes
from peers.text.characters import codes_of
from peers.text.folding import fold

UNSEEN_AT_END_MAX: Final = 3  # headings behind the main text, as of a list of links
HEADINGS_SOUGHT_MAX: Final = 500  # among which a query's words are looked for


class Section(msgspec.Struct, frozen=True, gc=False):
    """A part of a page below a heading."""

    title: str = ""  # the heading; "" for the beginning of the page
    id: str = ""  # that leads to it behind #; "" where there is none


_BEGINNING: Final = Section()


class Outline:
    """The headings of a page and where they stand in its text; at the first it begins."""

    def __init__(self, document: Document, text: str) -> None:
        """Begin; takes time in proportion to the headings.

        Args:
          text: lines, headings among them.
        """
        headings = document.headings.split("\n")
        self.headings = headings
        self._ids = document.heading_ids.split("\n")
        self._text = text
        # Links of headings to themselves: ¶ is always one, # and § where a site writes them behind all.
        last = {heading[-1:] for heading in headings[1:]}
        self._sign = last.pop() if last in ({"#"}, {"§"}) else "¶"

    @property
    def ids(self) -> list[str]:
        """The ids of the headings; of a directory, the details beside the lines of its text."""
        return self._ids

    @property
    def size_bytes(self) -> int:
        """About how many bytes it takes in memory."""
        return 500 * max(len(self.headings), len(self._ids))

    def section_at(self, place: int) -> Section:
        """Return the section that a place in the text is in."""
        starts, numbers = self._places
        at = bisect_right(starts, place) - 1
        return self._section(numbers[at]) if at >= 0 else _BEGINNING

    def section_told(self, query: Query, title: SearchedText) -> tuple[Section, str] | None:
        """Return the section whose heading answers a query beyond the page's title, if one does: `line_told`.

        Returns:
          The section, and the text from its heading to the next one, "" where that is behind what is kept.
        """
        # Of most pages no heading has any of the words.
        number = 1 + line_told(self._sought, title, query) if may_be_in(self._folded, query) else 0
        if not number:
            return None
        section = self._section(number)
        starts, numbers = self._places
        if number not in numbers:
            return (section, "") if section.id else None
        at = len(numbers) - 1 - numbers[::-1].index(number)  # a table of contents says the same, before
        return section, self._text[starts[at] : (*starts, len(self._text))[at + 1]]

    @cached_property
    def _sought(self) -> SearchedText:
        """The headings after the first, in lines."""
        return SearchedText("\n".join(self.headings[1 : HEADINGS_SOUGHT_MAX + 1]))

    @cached_property
    def _folded(self) -> str:
        """The same, folded."""
        return fold("\n".join(self.headings[1 : HEADINGS_SOUGHT_MAX + 1]))

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        """Where lines of the text begin that read as headings, and which each is; 0 where that is not sure.

        Takes time in proportion to the text.
        """
        if len(self.headings) < 2 or not self._text:
            return [], []
        n_lines_max = len(self._text) // 2 + 1  # but for empty ones
        headings = codes_of("\n".join(self.headings))
        return _place_headings(codes_of(self._text), headings, n_lines_max, n_lines_max)

    def _section(self, number: int) -> Section:
        if number == 0:
            return _BEGINNING
        title = self.headings[number].removesuffix(self._sign).rstrip()
        return Section(title, self._ids[number] if number < len(self._ids) else "")


@kernel
def _place_headings(text: Codes, headings: Codes, starts: int, numbers: int) -> tuple[list[int], list[int]]:
    """Find the lines of a text that are headings, as the module says; none where all headings are alike.

    Args:
      headings: lines, in order.
      starts, numbers: room, for as many as the text has lines with anything in them.

    Returns:
      Where the lines begin, and the numbers of the headings, 0 where it is not sure which it is.
    """
