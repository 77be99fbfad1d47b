"""The network between the peers of a world: delay, loss, partitions.

It decides when a frame arrives, or that it never does; the world carries it. What it does not do:
bandwidth, and loss of what is already on its way when a partition begins.

A link keeps its order, as a ZeroMQ connection over TCP does: a frame never overtakes an earlier one
from the same peer to the same peer. Unicast and multicast are two connections, so they are two links.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

DELAY_MIN_S: Final = 0.001  # two machines in one building
DELAY_MEAN_S: Final = 0.020  # machines of one country; the tail is exponential


class Network:
    """Delay and loss of every frame, drawn from one generator."""

    def __init__(
        self,
        random: Random,
        *,
        delay_min_s: float = DELAY_MIN_S,
        delay_mean_s: float = DELAY_MEAN_S,
        loss: float = 0.0,
    ) -> None:
        """Make a network that is whole.

        Args:
          random: used by this network alone, so that what else is drawn does not change its draws.
          delay_min_s: what every frame takes at least.
          delay_mean_s: what a frame takes on average; minimum plus an exponential tail.
          loss: probability that a frame never arrives, as happens to what is queued for a connection
            that breaks, or in a publisher whose subscriber is too slow. 0 <= loss < 1.
        """
        assert 0 <= delay_min_s <= delay_mean_s
        assert 0 <= loss < 1
        self._random = random
        self._delay_min_s = delay_min_s
        self._tail_rate = 1 / (delay_mean_s - delay_min_s) if delay_mean_s > delay_min_s else 0.0
        self._loss = loss
        self._last: dict[tuple[str, str, bool], float] = {}  # arrival of the newest frame of a link
        self._sides: dict[str, int] = {}

    def arrival(self, source: str, target: str, *, is_multicast: bool, now: float) -> float | None:
        """When a frame sent `now` arrives, in seconds of the virtual clock; None when it is lost."""
        sides = self._sides
        if sides and sides.get(source, 0) != sides.get(target, 0):
            return None
        if self._loss and self._random.random() < self._loss:
            return None
        delay = self._delay_min_s
        if self._tail_rate:
            delay += self._random.expovariate(self._tail_rate)
        link = (source, target, is_multicast)
        at = max(now + delay, self._last.get(link, 0.0))
        self._last[link] = at
        return at

    def part(self, *sides: Iterable[str]) -> None:
        """Cut the peers into sides that do not hear each other; a peer not named is on the first."""
        self._sides = {peer: number for number, side in enumerate(sides) for peer in side}

    def heal(self) -> None:
        """End the partition; what was sent during it stays lost."""
        self._sides = {}
