"""The other members, and some of them by chance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from mesh.membership.model.members import MemberList

if TYPE_CHECKING:
    from random import Random


class Others:
    """Ids of the live members without this peer."""

    def __init__(self, me: str, members: MemberList, random: Random) -> None:
        self._me = me
        self._members = members
        self._random = random

    def all(self) -> list[str]:
        return [peer for peer in self._members.live() if peer != self._me]

    def some(self, count: int) -> list[str]:
        """Choose so many of them, all if there are fewer."""
        return self.some_of(self.all(), count)

    def some_of(self, peers: Sequence[str], count: int) -> list[str]:
        """Choose up to `count` of these peers at random."""
        return self._random.sample(peers, min(count, len(peers)))
