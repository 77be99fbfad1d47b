"""The section of a page that an excerpt is from: the heading above it, and the id that links lead to it by.

Headings stand in the text as lines of their own. The one above a place is the nearest line before it that
reads as one of them, if the next such line is the heading after that: of some pages headings count as what is
around the main text and are not in it, and a table of contents has lines like headings. Headings that read
alike, as `Options` in a manual, are told apart by the one that follows, else from the end.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from peers.engine.pages.document import Document

UNSEEN_AT_END_MAX: Final = 3  # headings behind the main text, as of a list of links


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
        self._ids = ids
        self._numbers_of: dict[str, list[int]] = {}
        for number, heading in enumerate(headings):
            if heading:
                self._numbers_of.setdefault(heading, []).append(number)
        # Links of headings to themselves: ¶ is always one, # and § where a site writes them behind all.
        last = {heading[-1:] for heading in headings[1:]}
        self._sign = last.pop() if last in ({"#"}, {"§"}) else "¶"

    @property
    def size_bytes(self) -> int:
        """About how many bytes it takes in memory."""
        return 300 * len(self._numbers_of)

    def section_at(self, text: str, place: int) -> Section:
        """Return the section that a place in the page's text is in; takes time in proportion to the text.

        Args:
          text: lines, headings among them.
          place: in characters.
        """
        if len(self._numbers_of) < 2:
            return Section()
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        above = next((line for line in reversed(text[:end].split("\n")) if line in self._numbers_of), "")
        number = self._number_of(above, text[end + 1 :].split("\n")) if above else 0
        if number == 0:
            return Section()
        title = above.removesuffix(self._sign).rstrip()
        return Section(title, self._ids[number] if number < len(self._ids) else "")

    def _number_of(self, heading: str, below: list[str]) -> int:
        """Return which of the headings one is by the lines below a place; 0 where that is not sure."""
        numbers = self._numbers_of[heading]
        following = next((line for line in below if line in self._numbers_of), "")
        if not following:
            return numbers[-1] if numbers[-1] >= len(self.headings) - 1 - UNSEEN_AT_END_MAX else 0
        numbers = [each for each in numbers if self.headings[each + 1 : each + 2] == [following]]
        n_below = below.count(heading) if len(numbers) > 1 else 0
        return numbers[-1 - n_below] if n_below < len(numbers) else 0
