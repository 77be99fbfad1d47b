"""One list of results from two rankings, each of which has picked half of them: team-draft interleaving.

Theory of operation
===================
Two captains pick by turns from the same results, each the best of its own ranking that nobody has picked. In
each round of two picks a coin says which of them is first. A reader sees one list and clicks; a click counts
for the captain that has picked that result. The coins are fair: where both pick results of equal worth, each
gets a click as often as the other, whatever readers make of places.

Coins come from the query and a *draw*, 1 to `DRAWS`, so that the pages of one list fit together and lists can
be remembered. Draws 2n - 1 and 2n have opposite coins: over all draws each ranking is first equally often,
for every query.

Source: Radlinski, Kurup, Joachims, "How does clickthrough data reflect retrieval quality?", CIKM 2008.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from hashlib import blake2b
from typing import Final, TypeVar

DRAWS: Final = 16
_COINS: Final = 512  # of one digest; then they begin anew

Item = TypeVar("Item")


class Team(IntEnum):
    """The ranking by which a result was picked."""

    FIRST = 0  # that in force
    SECOND = 1  # that it is compared with


def coins_of(query: str, draw: int) -> Callable[[int], Team]:
    """Return the coin of each round, from 0: the team that picks first.

    Args:
      draw: 1 to `DRAWS`.
    """
    assert 1 <= draw <= DRAWS
    said = f"{(draw - 1) // 2}\n{query}".encode("utf-8", "replace")
    bits = int.from_bytes(blake2b(said, digest_size=_COINS // 8, person=b"team draft").digest())
    other_side = (draw - 1) % 2
    return lambda number: Team((bits >> number % _COINS & 1) ^ other_side)


def team_draft(
    first: Sequence[Item], second: Sequence[Item], coin: Callable[[int], Team]
) -> Iterator[tuple[Item, Team]]:
    """Yield the items of two rankings in the order in which they are picked, each once, with its team.

    Args:
      first: items by the first ranking, all different; where a ranking lacks items the other one picks them.
      second: likewise by the second.
      coin: of a round, from 0, the team that picks first in it.
    """
    rankings, places, picked = (first, second), [0, 0], set[Item]()
    for number in range(len(first) + len(second)):
        beginner = coin(number)
        for team in (beginner, Team(1 - beginner)):
            ranking = rankings[team]
            while places[team] < len(ranking) and ranking[places[team]] in picked:
                places[team] += 1
            if places[team] < len(ranking):
                item = ranking[places[team]]
                picked.add(item)
                yield item, team
