"""Ways of mapping keys (hosts, domains, URLs, directories) to peers, and the state that each remembers.

The first three are those of Li, Yan, Wang 2004, section 6.2: the hash mod n; the same with a table of the
hosts that are elsewhere; the array of logical nodes. Then ours, weighted rendezvous over slots; consistent
hashing (Karger et al. 1997) with V points for each peer; and jump hash (Lamping and Veach 2014).

A mapping is made for some peers, numbered 0 to n-1, and changed by one that comes or one that goes: always
the last one, since jump hash can lose no other.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
import xxhash

from simulations.model.streamed_web import owners
from simulations.traces.columns import Ints

Hashes = npt.NDArray[np.uint64]
POINTS: Final = 100  # V, of a peer on the ring


def hashes_of(keys: list[str]) -> Hashes:
    """Hash keys as `mesh.slots` does hosts."""
    return np.fromiter((xxhash.xxh3_64_intdigest(key.encode()) for key in keys), np.uint64, len(keys))


class Mapping(Protocol):
    """A way of mapping keys to peers."""

    @property
    def entries(self) -> int:
        """How much all peers have to know alike."""

    def peers_of(self, keys: Hashes) -> Ints:
        """The peer of each key."""

    def resized(self, n: int) -> Mapping:
        """The mapping after a peer has come or gone: of one peer more or less."""


class ModN:
    """Scheme 1: hash mod n."""

    entries = 0

    def __init__(self, n: int) -> None:
        self._n = n

    def peers_of(self, keys: Hashes) -> Ints:
        return (keys % np.uint64(self._n)).astype(np.int64)

    def resized(self, n: int) -> ModN:
        return ModN(n)


class HostTable:
    """Scheme 2: hash mod the n of the beginning, and a table of the keys that are elsewhere."""

    def __init__(self, n: int, keys: Hashes) -> None:
        self._first = n
        self._n = n
        self._keys = np.sort(keys)
        self._peer = self.base(self._keys)

    def base(self, keys: Hashes) -> Ints:
        return (keys % np.uint64(self._first)).astype(np.int64)

    @property
    def entries(self) -> int:
        """Keys that are elsewhere."""
        return int((self._peer != self.base(self._keys)).sum())

    def peers_of(self, keys: Hashes) -> Ints:
        return self._peer[np.searchsorted(self._keys, keys)]

    def resized(self, n: int) -> HostTable:
        """Every peer gives the newcomer its part; those of one that goes are dealt out."""
        table = HostTable.__new__(HostTable)
        table._first, table._n, table._keys = self._first, n, self._keys
        table._peer = self._peer.copy()
        if n > self._n:
            for peer in range(self._n):
                mine = np.flatnonzero(self._peer == peer)
                table._peer[mine[: len(mine) // n]] = self._n
        else:
            orphans = np.flatnonzero(self._peer == n)
            table._peer[orphans] = np.arange(len(orphans)) % n
        return table


class SlotArray:
    """Scheme 3: hash mod m, and an array with the peer of each logical node."""

    def __init__(self, n: int, m: int) -> None:
        self._array = np.arange(m) * n // m

    @property
    def entries(self) -> int:
        """Length of the array."""
        return len(self._array)

    def peers_of(self, keys: Hashes) -> Ints:
        return self._array[(keys % np.uint64(len(self._array))).astype(np.int64)]

    def resized(self, n: int) -> SlotArray:
        array = self._array.copy()
        before = int(array.max()) + 1
        if n > before:
            for peer in range(before):
                mine = np.flatnonzero(array == peer)
                array[mine[: len(mine) // n]] = before
        else:
            orphans = np.flatnonzero(array == n)
            array[orphans] = np.arange(len(orphans)) % n
        result = SlotArray.__new__(SlotArray)
        result._array = array
        return result


class Rendezvous:
    """Ours: slots, ranked by weighted rendezvous; `mesh.slots` itself."""

    entries = 0

    def __init__(self, n: int, m: int) -> None:
        self._m = m
        self._owner = _slot_owners(n, m)

    def peers_of(self, keys: Hashes) -> Ints:
        return self._owner[(keys % np.uint64(self._m)).astype(np.int64)]

    def resized(self, n: int) -> Rendezvous:
        return Rendezvous(n, self._m)


@lru_cache(maxsize=64)
def _slot_owners(n: int, m: int) -> Ints:
    """The peer of each slot, by number."""
    # `SlotTable` sorts its peers by name.
    number = np.array([int(name[1:]) for name in sorted(f"p{number}" for number in range(n))])
    owner: Ints = number[owners(n, m).astype(np.int64)]
    return owner


class Ring:
    """Consistent hashing: a key is that peer's of which a point follows next on a circle."""

    def __init__(self, n: int, points: int = POINTS) -> None:
        self._points = points
        places = hashes_of([f"peer {peer} point {point}" for peer in range(n) for point in range(points)])
        order = np.argsort(places)
        self._places, self._peer = places[order], np.repeat(np.arange(n), points)[order]

    @property
    def entries(self) -> int:
        """Points on the circle."""
        return len(self._places)

    def peers_of(self, keys: Hashes) -> Ints:
        return self._peer[np.searchsorted(self._places, keys) % len(self._places)]

    def resized(self, n: int) -> Ring:
        return Ring(n, self._points)


class Jump:
    """Jump hash: a key jumps on to larger and larger peers, and stays before the first that is not there."""

    entries = 0

    def __init__(self, n: int) -> None:
        self._n = n

    def peers_of(self, keys: Hashes) -> Ints:
        state = keys.copy()
        at = np.full(len(keys), -1, np.int64)
        jump = np.zeros(len(keys), np.int64)
        going = np.arange(len(keys))
        with np.errstate(over="ignore"):
            while len(going):
                at[going] = jump[going]
                state[going] = state[going] * np.uint64(2862933555777941757) + np.uint64(1)
                divisor = ((state[going] >> np.uint64(33)) + np.uint64(1)).astype(np.float64)
                jump[going] = ((at[going] + 1) * (float(1 << 31) / divisor)).astype(np.int64)
                going = going[jump[going] < self._n]
        return at

    def resized(self, n: int) -> Jump:
        return Jump(n)
