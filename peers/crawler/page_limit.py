"""How many pages this peer may still ask for, of those that the policy lets the whole mesh visit. Pure.

Theory of operation
===================
Members tell each other, with every ping, how many URLs of their slots have been visited, and which more they
have taken for themselves. Of what is left by what it has heard, a peer takes a part, and tells it at once;
the next one only when all others have spoken twice since, so that they have heard of the first. The part is
a quarter of an equal share: then what others have taken at the same moment, of which nobody has heard, cannot
make the sum overshoot. (With f the share taken in a round and x what is left, x' = x - f x'', which does not
oscillate for f up to 1/4.) Parts become smaller as the limit comes near; near the end each is one page.

So of N pages and n busy peers N - n to N are visited, and up to n more when all take the last ones at once.
Slots that change hands are counted by nobody for a while: nobody begins a visit for `SETTLING_S` after peers
have come or gone, and where a few slots move between peers that stay, at most a quarter of what is on their
way is visited beyond the limit. A member that lies about its count can end the crawl, or lengthen it by its
own part.
"""

from __future__ import annotations

from typing import Final

SETTLING_S: Final = 5.0  # after a change of owners, until all have counted what they have by now
CAUTION: Final = 4  # see above
ROUNDS: Final = 2  # in which all others speak: the first may have begun before we had told


class PageLimit:
    """The limit of the policy, and the part of this peer in the number of pages left."""

    def __init__(self) -> None:
        self.pages_max: int | None = None  # of the whole mesh; None for no limit
        self.is_given = False
        self._elsewhere = 0
        self._busy = 1  # peers, this one too
        self._peers: frozenset[str] = frozenset()
        self._round = self._next_round = 0
        self._here_max = 0  # as many pages this peer may visit, with those that it has

    def claim(self, visited: int) -> int:
        """Return the count that the others are told: the pages visited here, or as good as visited."""
        return visited if self.pages_max is None else max(visited, self._here_max)

    def has_room(self, here: int) -> bool:
        """May another page be asked for?

        Args:
          here: pages of this peer, visited and being visited.
        """
        return self.pages_max is None or here < self._here_max

    def is_reached(self, here: int) -> bool:
        """Has the mesh as many as it may have, but for some that nobody gets?"""
        return self.pages_max is not None and self._left(here) < self._busy and here >= self._here_max

    def change(self, pages_max: int | None) -> None:
        """Go by another policy."""
        self.pages_max, self.is_given = pages_max, pages_max is not None
        self._here_max = 0

    def share_with(self, peers: frozenset[str]) -> bool:
        """Note which peers crawl, this one too; tell whether this is new: then our part is given up."""
        if peers == self._peers:
            return False
        self._peers = peers
        self._here_max = 0
        self._next_round = self._round + ROUNDS
        return True

    def move(self, count: int) -> None:
        """Take no more and no less when slots with so many visited pages have come, or (< 0) gone."""
        self._here_max += count

    def hear(self, elsewhere: int, busy: int, rounds: int) -> None:
        """Know how many pages all others have, how many of them are busy, and how often all have said so."""
        self._elsewhere, self._busy, self._round = elsewhere, busy + 1, rounds

    def take(self, here: int, *, is_wanted: bool) -> bool:
        """Take another part of the pages left, or give back an unwanted one; tell whether there is news."""
        assert self.pages_max is not None
        before = self._here_max
        if len(self._peers) <= 1:
            self._here_max = self.pages_max
        elif not is_wanted:
            self._here_max = min(self._here_max, here)
        elif self._round >= self._next_round:
            left = self._left(here)
            part = max(left // (CAUTION * self._busy), int(left >= self._busy))
            self._here_max = here + part
            self._next_round = self._round + ROUNDS if part else self._next_round
        return self._here_max > before

    def _left(self, here: int) -> int:
        assert self.pages_max is not None
        return max(0, self.pages_max - self._elsewhere - here)
