"""The hits of all peers, put into one order, and the part of it that a page shows.

The *head* are the `MODEL_DEPTH` best by BM25F, ordered anew by the full model (`peers.engine.model`); behind
it, the *tail* goes on in the order of BM25F. Sorted by date, there is no head. Both depend on the documents
alone, not on where they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from peers.engine.model import MODEL_DEPTH, Candidate, newest_of, reranked
from peers.gateway.cursor import Cursor
from peers.gateway.plan import Share
from peers.index.wire_messages import Hit


class RankedHit(NamedTuple):
    """A hit in its place."""

    share: Share  # where it is from
    hit: Hit  # as its peer scored it
    score: float  # by which it is ordered
    is_head: bool


class HitList:
    """The best hits of a search.

    Attributes:
      hits: in order.
    """

    def __init__(self, found: Sequence[tuple[Share, Hit]], scale: float | None) -> None:
        """Order hits.

        Args:
          found: the best of all shares, by falling score, ties by URL.
          scale: of the model's features, None when there is no head.
        """
        # Without features there is nothing to mix in: the order is that of the scores.
        has_head = scale is not None and any(hit.features for _, hit in found[:MODEL_DEPTH])
        n_head = MODEL_DEPTH if has_head else 0
        head = {hit.url: (share, hit) for share, hit in found[:n_head]}
        candidates = [Candidate(url, hit.score, hit.features) for url, (_, hit) in head.items()]
        self._candidates = candidates
        self._last_of_head = found[n_head - 1][1] if 0 < n_head <= len(found) else None
        self.hits = [
            RankedHit(*head[each.url], each.score, True) for each in reranked(candidates, scale or 0.0)
        ]
        self.hits += [RankedHit(share, hit, hit.score, False) for share, hit in found[n_head:]]

    @property
    def newest(self) -> float:
        """Date from which the model counts ages, of the head."""
        return newest_of(self._candidates)

    def start_of(self, cursor: Cursor) -> int:
        """Return the index of the first hit behind a cursor."""
        place = (-cursor.score, cursor.url)
        for number, each in enumerate(self.hits):
            if each.is_head != cursor.is_head or (-each.score, each.hit.url) > place:
                return number
        return len(self.hits)

    def cursor_behind(self, number: int, digest: bytes, step: int) -> Cursor:
        """Return the cursor for what comes after a hit."""
        last = self.hits[number]
        is_end_of_head = last.is_head and (number + 1 == len(self.hits) or not self.hits[number + 1].is_head)
        if is_end_of_head and self._last_of_head is not None:
            return Cursor(digest, step, False, self._last_of_head.score, self._last_of_head.url)
        return Cursor(digest, step, last.is_head, last.score, last.hit.url)
