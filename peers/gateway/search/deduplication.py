"""One result for one page: copies become one, and no site fills a page of results alone.

Copies are pages with the same title and text (`engine.document.content_digest`), under whatever addresses:
with and without `index.html`, `www.` or a parameter, by http and https, on mirrors. Most of them are not
among the hits: the mesh has named which one stands for them (`peers.copies`), and it tells for how many.
Those of other domains are, some of them: they stand under the one that is shown. Near copies have nearly the
same text (`engine.near_copies`): another version, an edition for another machine. The best of them is shown,
and how many there are besides. What is like results shown above it stands behind the first of
these; what is like such as are not shown, does not for that. So what becomes of a hit depends on those before
it alone.

Results come in blocks of ten, a page's worth. A block takes at most two of a site, while others are among
the next `LOOKAHEAD`; what it leaves comes in the blocks after it, so nothing is lost. What is in a block
depends on the order of the hits alone, not on how many are asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from peers.engine.pages.near_copies import near_copies, sketches_of
from peers.engine.segments.live_segment import FOLDED

BLOCK: Final = 10
OF_SITE_MAX: Final = 2  # results of one site in a block
LOOKAHEAD: Final = 10  # results behind a block of which some may come into it


class Placed(msgspec.Struct, frozen=True, gc=False):
    """The hit that stands in a place, and the copies that it stands for."""

    number: int  # of the hit
    copies: int = 0  # that it stands for
    near_copies: int = 0  # likewise
    has_more_of_site: bool = False  # others of its site had to wait
    copy_numbers: tuple[int, ...] = ()  # those of its copies that are hits, in their order


class Likeness(msgspec.Struct, frozen=True, gc=False):
    """The digest and the sketch of a hit, by which hits that are alike are found."""

    content: int  # digest; 0 is like no other
    sketch: bytes = b""  # empty is like no other
    copies: int = 0  # for which it stands, whether they are among the hits or not; or FOLDED: it gives way


def folded(hits: Sequence[Likeness]) -> list[Placed]:
    """Return, in the place of the first of the hits that are alike, the one that is shown.

    That is the first, or of its copies the first that gives way to none, if that is a hit.

    Args:
      hits: in their order.
    """
    told = [hit.content for hit in hits if hit.content]
    have_like_texts = near_copies(sketches_of([hit.sketch for hit in hits]))
    if len(set(told)) == len(told) and not have_like_texts.any():
        return [Placed(number, _count(hit)) for number, hit in enumerate(hits)]
    contents = np.array([hit.content for hit in hits], np.uint64)  # other peers may send any 64 bits
    are_copies = (contents[:, None] == contents[None, :]) & (contents != 0)
    are_alike = are_copies | have_like_texts
    np.fill_diagonal(are_alike, False)
    have_others = are_alike.any(axis=1).tolist()
    is_folded = np.zeros(len(hits), np.bool_)
    placed = []
    for number, has_others in enumerate(have_others):
        if is_folded[number]:
            continue
        if not has_others:
            placed.append(Placed(number, _count(hits[number])))
            continue
        others = are_alike[number] & ~is_folded
        are_near = others & ~are_copies[number]
        copies = [number, *np.flatnonzero(others & are_copies[number]).tolist()]
        shown = next((each for each in copies if hits[each].copies < FOLDED), number)
        copies.remove(shown)
        n_copies = max(len(copies), _count(hits[shown]))
        n_near = sum(1 + _count(hits[each]) for each in np.flatnonzero(are_near).tolist())
        placed.append(Placed(shown, n_copies, n_near, copy_numbers=tuple(copies)))
        is_folded |= others
    return placed


def _count(hit: Likeness) -> int:
    """How many copies a hit stands for."""
    return 0 if hit.copies == FOLDED else hit.copies


def spread(placed: Sequence[Placed], sites: Sequence[str]) -> list[Placed]:
    """Return the same, in blocks.

    Args:
      sites: by the number of the hit.
    """
    ordered: list[Placed] = []
    waiting = list(placed)
    while waiting:
        block, waiting = _block(waiting, sites)
        ordered += block
    return ordered


def needed_for(end: int) -> int:
    """Return how many results have to be known before the blocks up to a place are final."""
    return -(-end // BLOCK) * BLOCK + LOOKAHEAD


def _block(waiting: list[Placed], sites: Sequence[str]) -> tuple[list[Placed], list[Placed]]:
    """Return the next block, and the results that wait behind it."""
    window, behind = waiting[: BLOCK + LOOKAHEAD], waiting[BLOCK + LOOKAHEAD :]
    counts: Counter[str] = Counter()
    chosen: list[Placed] = []
    left: list[Placed] = []
    for each in window:
        site = sites[each.number]
        if len(chosen) < BLOCK and counts[site] < OF_SITE_MAX:
            counts[site] += 1
            chosen.append(each)
        else:
            left.append(each)
    n_missing = BLOCK - len(chosen)
    filling, left = left[:n_missing], left[n_missing:]
    block = chosen + filling
    _mark_last(
        block, {sites[each.number] for each in left if counts[sites[each.number]] >= OF_SITE_MAX}, sites
    )
    return block, left + behind


def _mark_last(block: list[Placed], crowded: set[str], sites: Sequence[str]) -> None:
    """Mark the last result of each of these sites, which have more."""
    last = {sites[each.number]: place for place, each in enumerate(block)}
    for site in crowded:
        block[last[site]] = msgspec.structs.replace(block[last[site]], has_more_of_site=True)
