"""The sections of a page: the one an excerpt is from, or a query asks for, and the id that leads to it.

Headings stand in the text as lines of their own. The one above a place is the nearest line before it that
reads as one of them, if the next such line is the heading after that: of some pages headings count as what is
around the main text and are not in it, and a table of contents has lines like headings. Headings that read
alike, as `Options` in a manual, are told apart by the one that follows, else from the end.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from functools import cached_property
from itertools import accumulate, compress, count
from typing import Final, NamedTuple

from peers.engine.excerpts.snippet import SearchedText, line_told
from peers.engine.pages.document import Document
from peers.engine.queries.query import Query

UNSEEN_AT_END_MAX: Final = 3  # headings behind the main text, as of a list of links
HEADINGS_SOUGHT_MAX: Final = 500  # among which a query's words are looked for


class Section(NamedTuple):
    """A part of a page below a heading."""

    title: str = ""  # the heading; "" for the beginning of the page
    id: str = ""  # that leads to it behind #; "" where there is none


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
        return self._section(numbers[at]) if at >= 0 else Section()

    def section_told(self, query: Query, title: SearchedText) -> tuple[Section, str] | None:
        """Return the section whose heading answers a query beyond the page's title, if one does: `line_told`.

        Returns:
          The section, and the text from its heading to the next one, "" where that is behind what is kept.
        """
        number = 1 + line_told(self._sought, title, query) if any(self.headings[1:]) else 0
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
    def _places(self) -> tuple[list[int], list[int]]:
        """Where lines of the text begin that read as headings, and which each is; 0 where that is not sure.

        Takes time in proportion to the text.
        """
        numbers_of: dict[str, list[int]] = {}  # of the headings that read so
        numbers_before: dict[tuple[str, str], list[int]] = {}  # and that another follows
        for number, heading in enumerate(self.headings):
            if heading:
                numbers_of.setdefault(heading, []).append(number)
                following = self.headings[number + 1] if number + 1 < len(self.headings) else ""
                numbers_before.setdefault((heading, following), []).append(number)
        if len(numbers_of) < 2:
            return [], []
        lines = self._text.split("\n")
        places = list(compress(count(), map(numbers_of.__contains__, lines)))
        ends = list(accumulate(map(len, lines), initial=0))  # without the line breaks before them
        starts = [ends[place] + place for place in places]
        numbers: list[int] = []
        n_below: Counter[str] = Counter()
        following = ""
        for place in reversed(places):
            line = lines[place]
            if following:
                candidates = numbers_before.get((line, following), [])
                n_same = n_below[line] if len(candidates) > 1 else 0
                numbers.append(candidates[-1 - n_same] if n_same < len(candidates) else 0)
            else:
                last = numbers_of[line][-1]
                numbers.append(last if last >= len(self.headings) - 1 - UNSEEN_AT_END_MAX else 0)
            n_below[line] += 1
            following = line
        return starts, numbers[::-1]

    def _section(self, number: int) -> Section:
        if number == 0:
            return Section()
        title = self.headings[number].removesuffix(self._sign).rstrip()
        return Section(title, self._ids[number] if number < len(self._ids) else "")
