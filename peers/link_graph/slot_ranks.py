"""Ranks of the pages of one slot, and the sums that they give to pages of other slots.

Theory of operation. PageRank as Brin and Page 1998 print it, section 2.1.1: of a page j

    W_j = (1 - d) + d * sum of W_i / n_i over all pages i != j that link to j

with n_i the number of pages that i links to, itself not counted. Ranks are near 1, and need not be scaled
when pages come or go. A page without links gives nothing: its rank is not spread over all pages, as others
have it, so the ranks sum to less than the number of pages.

A slot solves this for its own pages by Jacobi's iteration, while what comes from other slots stands still. Of
that it knows from each slot one *statement*: the sums that slot gives to pages here, all of them, with a
version. A statement replaces an older one as a whole. It is cumulative, the limit of all that a walk by
residuals would have pushed over these links, and no difference to what was said before: one that is lost,
comes twice or late changes nothing, and a link that is gone is a sum that is smaller. The iteration between
slots may take any order and any delay (chaotic relaxation: Chazan and Miranker 1969; of PageRank Kollias,
Gallopoulos and Szyld 2006), since a rank counts d times at most in all others together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Names: TypeAlias = npt.NDArray[np.int64]
Values: TypeAlias = npt.NDArray[np.float64]

DAMPING: Final = 0.85  # Brin and Page 1998
SWEEPS_MAX: Final = 1_000  # each leaves d of the error at most: a hundred are 1e-7 of it


class Version(NamedTuple):
    """Of statements of one slot the later is the greater one; no two owners of it make the same."""

    number: int
    teller: str  # the peer


class RankSums(NamedTuple):
    """The part of their ranks that pages of one slot give to some pages of another, by name."""

    names: Names  # of the pages, rising
    values: Values

    def distance(self, other: RankSums) -> float:
        """Return the sum of all differences; a page that is named by one alone has 0 in the other."""
        if np.array_equal(self.names, other.names):
            return float(np.abs(self.values - other.values).sum())
        names = np.union1d(self.names, other.names)
        difference = np.zeros(len(names))
        difference[np.searchsorted(names, self.names)] += self.values
        difference[np.searchsorted(names, other.names)] -= other.values
        return float(np.abs(difference).sum())


class Statement(NamedTuple):
    """All that one slot gives to another."""

    version: Version
    sums: RankSums


NO_VERSION: Final = Version(0, "")
NO_SUMS: Final = RankSums(np.zeros(0, np.int64), np.zeros(0))


class PageLinks(NamedTuple):
    """The pages that a page links to, by slot and name."""

    slots: Names
    names: Names


class SlotRows(NamedTuple):
    """A slot as it is kept and handed over. Links have to be; all else comes again, and sooner with this."""

    links: Mapping[int, PageLinks]  # by the name of the page
    given: Mapping[int, Statement]  # by the slot that makes it
    versions: Mapping[int, int]  # of the last statement for each slot: its number
    ranks: RankSums


@dataclass(slots=True)
class _Links:
    """Links of a slot to one slot, which may be itself, as arrays."""

    names: Names  # of the pages linked to, rising
    source: Names  # of each link: position of the page that has it
    target: Names  # and position in `names`, or in those of the slot when it is the slot itself
    share: Values  # of the rank of its page: d / n


class SlotRanks:
    """The pages of a slot: those that there are, and those that are only linked to."""

    def __init__(self, slot: int, rows: SlotRows | None = None) -> None:
        self.slot = slot
        self.given = dict(rows.given) if rows else {}
        self._versions = dict(rows.versions) if rows else {}
        self._links = dict(rows.links) if rows else {}
        self._n_links = sum(len(links.names) for links in self._links.values())
        self._ranks = rows.ranks if rows else NO_SUMS
        self._inner: _Links | None = None  # with those to other slots: None when links have changed
        self._outer: dict[int, _Links] = {}
        self._factors: dict[int, float] = {}
        self._from_outside: Values | None = None  # of each page; None when a statement has come

    @property
    def rows(self) -> SlotRows:
        return SlotRows(dict(self._links), dict(self.given), dict(self._versions), self._ranks)

    @property
    def ranks(self) -> RankSums:
        """The ranks of all known pages, as they were settled last."""
        return self._ranks

    @property
    def targets(self) -> Set[int]:
        """The slots that pages here link to, as it was settled last, or have linked to."""
        return self._versions.keys() | self._outer.keys()

    @property
    def n_links(self) -> int:
        """Return how many links all pages have."""
        return self._n_links

    def has_page(self, page: int) -> bool:
        """Is it one whose links are told here, though it may have none?"""
        return page in self._links

    def link(self, page: int, links: PageLinks) -> bool:
        """Replace the links of a page; return whether that changes any.

        Those to the page itself, and those that are there already, do not count.
        """
        order = np.lexsort((links.names, links.slots))
        slots, names = links.slots[order], links.names[order]
        is_link = (slots != self.slot) | (names != page)
        is_link[1:] &= (slots[1:] != slots[:-1]) | (names[1:] != names[:-1])
        before, after = self._links.get(page), PageLinks(slots[is_link], names[is_link])
        if before is not None and all(map(np.array_equal, before, after)):
            return False
        self._n_links += len(after.names) - (0 if before is None else len(before.names))
        self._links[page] = after
        self._inner = None
        return True

    def remove(self, page: int) -> bool:
        """Forget a page, and return whether it was there; it stays known as long as others link to it."""
        links = self._links.pop(page, None)
        if links is not None:
            self._n_links -= len(links.names)
            self._inner = None
        return links is not None

    def hear(self, source: int, statement: Statement) -> bool:
        """Take a statement of another slot if it is later than the one known; tell whether it was."""
        known = self.given.get(source)
        if known is not None and statement.version <= known.version:
            return False
        self.given[source] = statement
        self._from_outside = None
        if self._inner is not None and not np.isin(statement.sums.names, self._inner.names).all():
            self._inner = None
        return True

    def forget_versions(self, sources: Iterable[int]) -> None:
        """Have the next statements of these slots replace those that are held, of any version."""
        for source in sources:
            self.given[source] = self.given[source]._replace(version=NO_VERSION)

    def scale(self, factors: Mapping[int, float]) -> bool:
        """Take the statements of these slots times a factor, others as they are; tell whether that is new."""
        if factors == self._factors:
            return False
        self._factors = dict(factors)
        self._from_outside = None
        return True

    def settle(self, tolerance: float) -> None:
        """Rank the pages by sweeps over all links, until one changes them by this a page at most."""
        if self._inner is None:
            self._arrange()
        inner = self._inner
        assert inner is not None
        if self._from_outside is None:
            self._from_outside = self._sums_from_outside(inner.names)
        n = len(inner.names)
        base = 1.0 - DAMPING + self._from_outside
        ranks = self._ranks.values
        for _ in range(SWEEPS_MAX):
            before = ranks
            ranks = base + _summed(inner.target, before[inner.source] * inner.share, n)
            if np.abs(ranks - before).sum() <= tolerance * n:
                break
        self._ranks = RankSums(inner.names, ranks)

    def state(self, target: int, teller: str, after: int = 0) -> Statement:
        """Make the next statement for another slot, of a version above all before and above this count.

        Slots are counted each by itself, so that who names a great number for its own binds no other.
        """
        number = self._versions[target] = max(self._versions.get(target, 0), after) + 1
        return Statement(Version(number, teller), self.sums_for(target))

    def state_anew(self, target: int, teller: str) -> Statement:
        """Make a statement for another slot that counts from below again."""
        self._versions[target] = 0
        return self.state(target, teller)

    def sums_for(self, target: int) -> RankSums:
        """Return all that pages here give to another slot, as it was settled last."""
        links = self._outer.get(target)
        if links is None:
            return NO_SUMS
        weights = self._ranks.values[links.source] * links.share
        return RankSums(links.names, _summed(links.target, weights, len(links.names)))

    # --- Details

    def _arrange(self) -> None:
        """Make arrays of the links; ranks go on from those that there are."""
        pages = np.fromiter(self._links, np.int64, len(self._links))
        counts = np.array([len(each.names) for each in self._links.values()], np.int64)
        slots = np.concatenate([np.zeros(0, np.int64), *(each.slots for each in self._links.values())])
        names = np.concatenate([np.zeros(0, np.int64), *(each.names for each in self._links.values())])
        is_inner = slots == self.slot
        given = [each.sums.names for each in self.given.values()]
        known = np.unique(np.concatenate((pages, names[is_inner], *given)))
        source = np.repeat(np.searchsorted(known, pages), counts)
        share = np.repeat(DAMPING / np.maximum(counts, 1), counts)
        target = np.searchsorted(known, names[is_inner])
        self._inner = _Links(known, source[is_inner], target, share[is_inner])
        self._outer = {}
        for slot in np.unique(slots[~is_inner]).tolist():
            chosen = slots == slot
            there, position = np.unique(names[chosen], return_inverse=True)
            self._outer[slot] = _Links(there, source[chosen], position, share[chosen])
        self._ranks = RankSums(known, _taken_over(self._ranks, known))
        self._from_outside = None

    def _sums_from_outside(self, names: Names) -> Values:
        sums = np.zeros(len(names))
        for source, (_, given) in self.given.items():
            sums[np.searchsorted(names, given.names)] += given.values * self._factors.get(source, 1.0)
        return sums


def _summed(position: Names, weights: Values, n: int) -> Values:
    return np.bincount(position, weights, n).astype(np.float64, copy=False)


def _taken_over(ranks: RankSums, names: Names) -> Values:
    """The ranks of these pages, as far as there are any; of new ones the least that there can be."""
    values = np.full(len(names), 1.0 - DAMPING)
    _, new, old = np.intersect1d(names, ranks.names, assume_unique=True, return_indices=True)
    values[new] = ranks.values[old]
    return values
