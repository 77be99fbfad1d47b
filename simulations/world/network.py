"""The network between the peers of a world: delay, loss, repetition, partitions.

It decides when a frame arrives, or that it never does; the world carries it. What it does not do:
bandwidth, and loss of what is already on its way when a partition begins.

A link keeps its order, as a ZeroMQ connection over TCP does: a frame never overtakes an earlier one
from the same peer to the same peer. Unicast and multicast are two connections, so they are two links.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations, product
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
        self._random = random
        self._last: dict[tuple[str, str, bool], float] = {}  # arrival of the newest frame of a link
        self._cuts: set[tuple[str, str]] = set()
        self.set_delay(delay_min_s, delay_mean_s)
        self.set_loss(loss)
        self.set_repetition(0.0)
        self._healthy = delay_min_s, delay_mean_s, loss

    def set_delay(self, delay_min_s: float, delay_mean_s: float) -> None:
        """Be as slow as this from now on; frames on their way are not overtaken."""
        assert 0 <= delay_min_s <= delay_mean_s
        self._delay_min_s = delay_min_s
        self._tail_rate = 1 / (delay_mean_s - delay_min_s) if delay_mean_s > delay_min_s else 0.0

    def set_loss(self, loss: float) -> None:
        """Lose this share of the frames from now on."""
        assert 0 <= loss < 1
        self._loss = loss

    def set_repetition(self, repetition: float) -> None:
        """Bring this share of the frames twice from now on, as a sender does that is not sure."""
        assert 0 <= repetition < 1
        self._repetition = repetition

    def arrival(self, source: str, target: str, *, is_multicast: bool, now: float) -> float | None:
        """When a frame sent `now` arrives, in seconds of the virtual clock; None when it is lost."""
        if self._cuts and (source, target) in self._cuts:
            return None
        if self._loss and self._random.random() < self._loss:
            return None
        return self._after_delay((source, target, is_multicast), now)

    def repetition(self, source: str, target: str, *, is_multicast: bool, now: float) -> float | None:
        """When the same frame arrives once more; None, mostly, when it does not."""
        if not self._repetition or self._random.random() >= self._repetition:
            return None
        return self._after_delay((source, target, is_multicast), now)

    def reaches(self, source: str, target: str) -> bool:
        """Does anything sent now get from one peer to the other?"""
        return (source, target) not in self._cuts

    def cut(self, links: Iterable[tuple[str, str]]) -> None:
        """Lose all frames of these links, each from its first peer to its second, until `mend`."""
        self._cuts.update(links)

    def mend(self, links: Iterable[tuple[str, str]]) -> None:
        """Let frames pass again; those sent meanwhile stay lost."""
        self._cuts.difference_update(links)

    def part(self, *sides: Iterable[str]) -> None:
        """Cut the peers into sides that do not hear each other."""
        for one, other in permutations([list(side) for side in sides], 2):
            self.cut(product(one, other))

    def heal(self) -> None:
        """Mend all links and be as quick and reliable as in the beginning."""
        self._cuts.clear()
        self.clear_up()

    def clear_up(self) -> None:
        """Be as quick and reliable as in the beginning; links that are cut stay so."""
        delay_min_s, delay_mean_s, loss = self._healthy
        self.set_delay(delay_min_s, delay_mean_s)
        self.set_loss(loss)
        self.set_repetition(0.0)

    def _after_delay(self, link: tuple[str, str, bool], now: float) -> float:
        delay = self._delay_min_s
        if self._tail_rate:
            delay += self._random.expovariate(self._tail_rate)
        at = max(now + delay, self._last.get(link, 0.0))
        self._last[link] = at
        return at
