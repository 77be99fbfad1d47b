"""How much the versions of each host take, and until when its versions are let go for that.

A host that takes more than it may loses the versions that were followed by others longest ago, in steps of an
hour: of each host there is a *cut*, and what was followed before that is kept no longer. Cuts only rise. The
versions that are kept with a cut say all that is needed to find the next, so that peers which let go at other
times come to the same. The newest versions count and stay, whatever they take.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from math import floor, inf
from struct import Struct
from typing import Final

from xxhash import xxh3_64_digest

from mesh.tables.table import Table
from mesh.urls import host_of
from peers.storage.ledger.ledger_keys import CUT, pack_slot

STEP_S: Final = 3_600.0
_TIME: Final = Struct(">d")


class HostCuts:
    """The cuts in the table of a cell, by slot and hash of the host."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self.are_on = False  # else none holds, whatever the table says

    def of(self, slot: int, url: str) -> float:
        """Return the cut of the host of a URL; -inf for none."""
        value = self._table.get(_key(slot, host_of(url))) if self.are_on else None
        return -inf if value is None else float(_TIME.unpack(value)[0])

    def lift(self, slot: int, host: str, cut_s: float) -> bool:
        """Have a host keep less from now on; False when it keeps no more than that already."""
        key = _key(slot, host)
        value = self._table.get(key)
        if value is not None and _TIME.unpack(value)[0] >= cut_s:
            return False
        self._table.put(key, _TIME.pack(cut_s))
        return True


class HostBytes:
    """The bytes that the versions of each host of a slot take, as a walk over them comes along."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._totals: Counter[str] = Counter()
        self._by_step: defaultdict[str, Counter[int]] = defaultdict(Counter)  # of what may go

    def add(self, url: str, n_bytes: int, followed_s: float | None) -> None:
        """Count a version.

        Args:
          followed_s: when the one after it came; None for one that stays.
        """
        host = host_of(url)
        self._totals[host] += n_bytes
        if followed_s is not None:
            self._by_step[host][floor(followed_s / STEP_S)] += n_bytes

    def cuts(self) -> dict[str, float]:
        """Return the hosts that take too much, and up to where they are to be cut."""
        found: dict[str, float] = {}
        for host, total in self._totals.items():
            steps = self._by_step.get(host, Counter())
            for step in sorted(steps):
                if total <= self._bytes_max:
                    break
                total -= steps[step]
                found[host] = (step + 1) * STEP_S
        return found


def _key(slot: int, host: str) -> bytes:
    return CUT + pack_slot(slot) + bytes(xxh3_64_digest(host.encode()))
