"""Which ports of a relay are lent to which peer: three each, the same ones again where that can be."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final

PORTS_EACH: Final = 3  # inbox, multicast, door
RELAYED_MAX: Final = 64  # peers of one relay, however many ports it has


class PortLeases:
    """The ports of one relay, in threes."""

    def __init__(self, ports: range) -> None:
        """Args: ports: those that may be lent, three to each peer; one or two left over are not lent."""
        last = min(len(ports) // PORTS_EACH, RELAYED_MAX)
        self._firsts = tuple(ports.start + PORTS_EACH * index for index in range(last))
        self._lent: dict[str, int] = {}  # by peer the first of its three

    def __len__(self) -> int:
        return len(self._lent)

    def offers(self, peer: str, before: int, claimed: Set[int]) -> Iterator[int]:
        """Yield the ports that may be lent to a peer, the best first: the first port of each free three.

        Args:
          before: the first that it had last; 0 when it had none.
          claimed: ports under which other members were known last, so that they have them when they are back.
        """
        taken = {first for other, first in self._lent.items() if other != peer}
        free = [first for first in self._firsts if first not in taken]
        yield from (first for first in free if first == before)
        others = [first for first in free if first != before]
        yield from (first for first in others if first not in claimed)
        yield from (first for first in others if first in claimed)

    def lend(self, peer: str, first: int) -> None:
        assert first in self._firsts, f"port {first} is none of ours"
        assert first not in self._lent.values() or self._lent.get(peer) == first, f"port {first} is lent"
        self._lent[peer] = first

    def end(self, peer: str) -> None:
        self._lent.pop(peer, None)
