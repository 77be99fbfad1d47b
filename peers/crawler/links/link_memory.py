"""Which links were brought to their owners a moment ago: most links of a page are on the next one, too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from peers.crawler.model.course import UNLIMITED
from peers.crawler.model.wire_messages import FoundLink, LinkUse

Key: TypeAlias = tuple[str, ...]


class LinkMemory:
    """Remembers the last links, some hundred bytes each; one that it forgets is brought once more."""

    def __init__(self, links_max: int) -> None:
        """Args: links_max: of each of two generations."""
        self._links_max = links_max
        self._now: set[Key] = set()
        self._before: set[Key] = set()

    def new(self, links: Iterable[FoundLink]) -> list[FoundLink]:
        """Return the links that are to be brought to their owners, and remember that these were."""
        found = []
        for link in links:
            key: Key = (link.url, link.anchor, link.linker)
            if link.use is not LinkUse.FETCH:  # another page may have it followed
                key = (*key, link.use.name)
            if link.moved_from:
                key = (*key, link.moved_from)
            if link.parent or link.is_ahead or link.levels != UNLIMITED or link.steps != UNLIMITED:
                # The same link on another page may be followed where this one is not, or sooner.
                key = (*key, f"{link.use} {link.parent} {link.levels} {link.steps} {link.is_ahead}")
            if not link.changed_s and (key in self._now or key in self._before):
                continue
            self._now.add(key)
            if len(self._now) >= self._links_max:
                self._before, self._now = self._now, set()
            found.append(link)
        return found

    def note(self, url: str) -> None:
        """Remember that a bare link to a URL was brought."""
        self._now.add((url, "", ""))

    def forget(self) -> None:
        """Have all links brought again, as links that were left out before may be wanted now."""
        self._now, self._before = set(), set()
