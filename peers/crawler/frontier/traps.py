"""Budgets of patterns of URLs that bring near-copies of each other: crawler traps. Pure.

A trap is a site, or a part of one, that has pages without an end: session ids, calendars, endless paths,
parameters in any order. Their URLs are new for ever, what they show is not. So it is counted, for the
patterns that a URL belongs to, how many pages were seen, and how many of these were *new*: unlike the last
ones of the host, but for their digits and their title. A pattern may be asked for `FREE` pages, and for
`PER_NEW` more with each that was new. Where one page in so many is new it never comes to an end, however many
there are: a folder of 50,000 pages that differ is no trap.

A URL belongs to its folders, down to the third; and to its path with digits and long codes taken out, with
the sorted names of its parameters if it has any.

What is counted is in memory, of hosts that are there; a pattern that came to its end stays so after a restart
(`trap_rows`). Who takes a host over counts from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_plus

FREE: Final = 32
PER_NEW: Final = 8
FOLDERS_MAX: Final = 3
PATTERNS_MAX: Final = 512  # of a host; those that came last stay
SHAPES_MAX: Final = 2_048  # of its pages, likewise; 100 bytes each
_CODE: Final = re.compile(r"[0-9a-f]{8,}|[0-9]+", re.IGNORECASE)


class PatternCounts(NamedTuple):
    """The numbers of pages seen of a pattern, and of new ones among them."""

    n_seen: int
    n_new: int


class _Pattern:
    """The running counts of one pattern, and whether they exhaust it."""

    __slots__ = ("n_new", "n_seen")

    def __init__(self, n_seen: int = 0, n_new: int = 0) -> None:
        self.n_seen, self.n_new = n_seen, n_new

    @property
    def is_exhausted(self) -> bool:
        return self.n_seen >= FREE + PER_NEW * self.n_new


class PatternBudgets:
    """The patterns of one host."""

    def __init__(self, exhausted: Mapping[str, PatternCounts] | None = None) -> None:
        """Args: exhausted: the patterns found exhausted before the last restart."""
        self._patterns = {name: _Pattern(*counts) for name, counts in (exhausted or {}).items()}
        self._shapes: dict[int, None] = {}  # of the last pages, the latest last

    def is_trap(self, url: str) -> bool:
        """Has a pattern of a URL brought too many copies?"""
        for name in patterns_of(url):
            pattern = self._patterns.get(name)
            if pattern is not None and pattern.is_exhausted:
                return True
        return False

    def exhausted(self) -> dict[str, PatternCounts]:
        """Return the patterns that came to their end, the latest last."""
        patterns = self._patterns.items()
        return {name: PatternCounts(each.n_seen, each.n_new) for name, each in patterns if each.is_exhausted}

    def note(self, url: str, shape: int) -> bool:
        """Count a page; tell whether a pattern of it came to its end by that.

        Args:
          shape: of its text, see `extraction.text_shape`; 0 when that is not known: then it counts as new.
        """
        is_new, has_ended = shape not in self._shapes, False
        if shape:
            self._shapes.pop(shape, None)
            self._shapes[shape] = None
        for name in patterns_of(url):
            pattern = self._patterns.pop(name, None) or _Pattern()
            self._patterns[name] = pattern
            was_exhausted = pattern.is_exhausted
            pattern.n_seen += 1
            pattern.n_new += is_new
            has_ended = has_ended or (pattern.is_exhausted and not was_exhausted)
        _shorten(self._patterns, PATTERNS_MAX)
        _shorten(self._shapes, SHAPES_MAX)
        return has_ended


def _shorten(entries: dict[Any, Any], count: int) -> None:
    """Forget the oldest entries beyond `count`."""
    while len(entries) > count:
        del entries[next(iter(entries))]


def patterns_of(url: str) -> Iterator[str]:
    """Yield the patterns of a canonical URL."""
    path, _, query = url[url.index("/", 8) :].partition("?")
    at = 0
    for _ in range(FOLDERS_MAX):
        at = path.find("/", at + 1)
        if at < 0:
            break
        yield path[: at + 1]
    template, n_codes = _CODE.subn("0", path)
    if query:
        names = sorted({unquote_plus(part.partition("=")[0]) for part in query.split("&")})
        yield f"{template}?{'&'.join(names)}"
    elif n_codes:
        yield template
