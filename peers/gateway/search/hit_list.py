"""The hits of all peers, put into one order, and the part of it that a page shows.

The `MODEL_DEPTH` best by BM25F are ordered anew by the full model (`peers.engine.rescoring.model`); behind
them, the order of BM25F goes on. Sorted by date, nothing is ordered anew. The *head* are the first
`FOLDED_DEPTH` of that order, which are folded (`deduplication`) as a whole; the *tail* behind it goes on hit
by hit, so that what is far down costs no more than what is above. All depends on the documents alone, not on
where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

import msgspec

from mesh.domains import registrable_domain
from mesh.urls import host_of
from peers.engine.rescoring.model import MODEL_DEPTH, Candidate, ModelWeights, newest_of, reranked
from peers.gateway.search.cursor import Cursor
from peers.gateway.search.deduplication import Likeness, Placed, folded, spread
from peers.gateway.search.plan import Share
from peers.index.wire_messages import Hit

FOLDED_DEPTH: Final = 300  # thirty pages
NO_TEAM: Final = -1
NOTHING_CLICKED: Final[Mapping[str, float]] = MappingProxyType({})
UNDER_MAX: Final = 3  # of one result: more than there should be, see `copies.groups`


class RankedHit(msgspec.Struct, frozen=True, gc=False):
    """A hit in its place; a structure, as there are dozens in a search."""

    share: Share  # where it is from
    hit: Hit  # as its peer scored it
    score: float  # by which it is ordered
    is_candidate: bool  # of the full model
    copies: int = 0  # that it stands for
    near_copies: int = 0  # likewise
    has_more_of_site: bool = False  # which come later
    under: tuple[RankedHit, ...] = ()  # its copies in other domains, one of each
    team: int = NO_TEAM  # the ranking that has picked it, `judging.team_draft.Team`


class Draft(NamedTuple):
    """A second ranking, and how it picks results by turns with the one in force."""

    weights: ModelWeights
    query: str
    draw: int  # 1 to `judging.team_draft.DRAWS`


class HitList:
    """The best hits of a search.

    Attributes:
      hits: those to be shown, in order.
      n_head: of these, those in the head.
    """

    def __init__(
        self,
        found: Sequence[tuple[Share, Hit]],
        scale: float | None,
        *,
        is_head: bool = True,
        is_spread: bool = False,
        has_copies: bool = False,
        draft: Draft | None = None,
        clicked: Mapping[str, float] = NOTHING_CLICKED,
    ) -> None:
        """Order hits.

        Args:
          found: the best of all shares, by falling score, ties by URL.
          scale: of the model's features, None when nothing is ordered anew.
          is_head: whether they are the first ones; else those behind a place in the tail.
          is_spread: whether sites take turns.
          has_copies: whether copies are results, too, so that nothing is folded.
          clicked: by URL, the weight of what readers open, see `rescoring.model.Candidate`.
          draft: by which a second ranking orders the same candidates, too; None for the one in force alone.
        """
        # Without features there is nothing to mix in: the order is that of the scores.
        has_model = scale is not None and any(hit.features for _, hit in found[:MODEL_DEPTH])
        n_candidates = MODEL_DEPTH if has_model else 0
        of_url = {hit.url: (share, hit) for share, hit in found[:n_candidates]}
        self._candidates = [Candidate(url, hit.score, hit.features) for url, (_, hit) in of_url.items()]
        if clicked is not NOTHING_CLICKED:
            self._candidates = [
                msgspec.structs.replace(each, clicked=clicked.get(each.url, 0.0)) for each in self._candidates
            ]
        ranked = [
            RankedHit(*of_url[each.url], each.score, True)
            for each in reranked(self._candidates, scale or 0.0, has_clicks=clicked is not NOTHING_CLICKED)
        ]
        if draft is not None:
            ranked = _drafted(ranked, self._candidates, scale or 0.0, draft)
        ranked += [RankedHit(share, hit, hit.score, False) for share, hit in found[n_candidates:]]
        n_head = FOLDED_DEPTH if is_head else 0
        head = _folded(ranked[:n_head], is_spread=is_spread, has_copies=has_copies)
        self.n_head = len(head)
        # Where the tail begins, if it is known.
        self._last_of_head = found[n_head - 1][1] if 0 < n_head <= len(found) else None
        self.hits = head + ranked[n_head:]

    @property
    def newest(self) -> float:
        """Date from which the model counts ages, of the head."""
        return newest_of(self._candidates)

    def start_of(self, cursor: Cursor) -> int:
        """Return the index of the first hit behind a cursor."""
        if not cursor.is_head:
            return 0
        if 0 < cursor.rank <= len(self.hits) and self.hits[cursor.rank - 1].hit.url == cursor.url:
            return cursor.rank
        # Something was indexed since.
        places = (number for number, each in enumerate(self.hits, 1) if each.hit.url == cursor.url)
        return next(places, min(cursor.rank, len(self.hits)))

    def cursor_behind(self, number: int, digest: bytes, step: int) -> Cursor:
        """Return the cursor for the results behind a hit."""
        last = self.hits[number]
        if number >= self.n_head:
            return Cursor(digest, step, False, last.score, last.hit.url)
        if number + 1 == self.n_head and self._last_of_head is not None:
            return Cursor(digest, step, False, self._last_of_head.score, self._last_of_head.url)
        return Cursor(digest, step, True, last.score, last.hit.url, number + 1)


def _drafted(
    ranked: list[RankedHit], candidates: Sequence[Candidate], scale: float, draft: Draft
) -> list[RankedHit]:
    """Return the same hits as both rankings pick them; without teams where both order them alike."""
    # Loaded where rankings are compared.
    from peers.judging.team_draft import coins_of, team_draft

    of_url = {each.hit.url: each for each in ranked}
    by_second = reranked(candidates, scale, draft.weights, has_clicks=True)
    first, second = [*of_url], [each.url for each in by_second]
    if first == second:
        return ranked
    picked = team_draft(first, second, coins_of(draft.query, draft.draw))
    return [msgspec.structs.replace(of_url[url], team=team) for url, team in picked]


def _folded(ranked: Sequence[RankedHit], *, is_spread: bool, has_copies: bool) -> list[RankedHit]:
    if has_copies:
        placed = [Placed(number) for number in range(len(ranked))]
    else:
        placed = folded([Likeness(each.hit.content, each.hit.sketch, each.hit.copies) for each in ranked])
    if is_spread:
        sites = [host_of(each.hit.url) for each in ranked]
        placed = spread(placed, sites)
    return [
        _in_place(ranked, each)
        if each.copies or each.near_copies or each.has_more_of_site or each.copy_numbers
        else ranked[each.number]
        for each in placed
    ]


def _in_place(ranked: Sequence[RankedHit], placed: Placed) -> RankedHit:
    return msgspec.structs.replace(
        ranked[placed.number],
        copies=placed.copies,
        near_copies=placed.near_copies,
        has_more_of_site=placed.has_more_of_site,
        under=_elsewhere(ranked, placed) if placed.copy_numbers else (),
    )


def _elsewhere(ranked: Sequence[RankedHit], shown: Placed) -> tuple[RankedHit, ...]:
    """Return the first of the copies of a result in each other domain."""
    of_domain: dict[str, RankedHit] = {}
    for number in (shown.number, *shown.copy_numbers):
        of_domain.setdefault(registrable_domain(host_of(ranked[number].hit.url)), ranked[number])
    return tuple(of_domain.values())[1 : 1 + UNDER_MAX]
