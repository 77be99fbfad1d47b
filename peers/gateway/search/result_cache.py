"""Pages of results that were shown before, to be shown again while nothing has changed.

A page is kept with what it speaks of: the serving epoch and the generation of every index that was asked. It
is shown again only while all of them are known to be the same. What is known of a generation comes with every
answer of its peer, to whatever question; it counts for `FRESH_S`, then the peers are asked for nothing but
their generations, and that tells for all pages kept. So invalidation is exact, up to that time: a commit
makes all pages made before it useless, and none is shown that a search begun `FRESH_S` ago would not show.

The pages used last are kept, as many as fit: queries repeat soon or not at all, and pages are much alike in
size and cost, so weighing these (GD-Size) has nothing to choose between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from peers.gateway.model.messages import PagesFound, SearchPages
from peers.gateway.search.plan import NOBODY_ABSENT, Share
from peers.gateway.search.term_statistics import Edition

# A commit takes longer; and asking all peers twenty times a second costs them nothing worth mentioning.
FRESH_S: Final = 0.05
# Of Python objects, for a byte of the message encoded; measured by sys.getsizeof over all of an answer.
OBJECT_BYTES_FACTOR: Final = 2

_encoder = msgspec.msgpack.Encoder()


class CachedPage(NamedTuple):
    """An answer and the editions of all indexes that it speaks of."""

    answer: PagesFound
    editions: Mapping[Share, Edition]
    size_bytes: int


class ResultCache:
    """The pages of one serving epoch.

    Attributes:
      hits: searches answered by a page from here.
      misses: those that were not.
      size_bytes: of all pages kept, estimated.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self.hits = 0
        self.misses = 0
        self.size_bytes = 0
        self._pages: OrderedDict[SearchPages, CachedPage] = OrderedDict()
        self._told: dict[str, tuple[Edition, float]] = {}  # by peer: what it said last, and when

    def note_edition(self, share: Share, edition: Edition, now: float) -> None:
        """Note the edition of the index that a peer answers from."""
        if share.absent == NOBODY_ABSENT:
            self._told[share.peer] = edition, now

    def find(self, order: SearchPages) -> CachedPage | None:
        """Return the page that was shown for the same order and may still be right."""
        key = _key(order)
        page = self._pages.get(key)
        if page is None:
            return None
        if any(self._is_outdated(share, edition) for share, edition in page.editions.items()):
            self._drop(key)
            return None
        self._pages.move_to_end(key)
        return page

    def is_current(self, page: CachedPage, now: float) -> bool:
        """Is it known that nothing has changed?"""
        return all(self._is_confirmed(share, edition, now) for share, edition in page.editions.items())

    def keep(self, order: SearchPages, answer: PagesFound, editions: Mapping[Share, Edition]) -> None:
        """Remember an answer that speaks for all slots."""
        key = _key(order)
        size_bytes = OBJECT_BYTES_FACTOR * len(_encoder.encode(answer))
        self._drop(key)
        if size_bytes > self._bytes_max:
            return
        self._pages[key] = CachedPage(answer, dict(editions), size_bytes)
        self.size_bytes += size_bytes
        self.limit(self._bytes_max)

    def limit(self, bytes_max: int) -> None:
        """Keep no more than so many bytes of pages from now on."""
        self._bytes_max = bytes_max
        while self.size_bytes > bytes_max:
            self._drop(next(iter(self._pages)))

    def clear(self) -> None:
        """Forget all: others answer for slots than before."""
        self._pages.clear()
        self._told.clear()
        self.size_bytes = 0

    def __len__(self) -> int:
        return len(self._pages)

    def _drop(self, key: SearchPages) -> None:
        page = self._pages.pop(key, None)
        if page is not None:
            self.size_bytes -= page.size_bytes

    def _is_outdated(self, share: Share, edition: Edition) -> bool:
        told = self._told.get(share.peer)
        return told is not None and told[0] != edition

    def _is_confirmed(self, share: Share, edition: Edition, now: float) -> bool:
        told = self._told.get(share.peer)
        return told is not None and told[0] == edition and now - told[1] <= FRESH_S


def _key(order: SearchPages) -> SearchPages:
    return msgspec.structs.replace(order, ticket=0)
