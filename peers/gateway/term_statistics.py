"""What the peers have counted of terms, added up: the statistics that make scores the same everywhere.

Exactness: the numbers of one peer are all of one generation of its index, and the peers all of one
epoch, whose slots do not overlap; so the sum is that of one peer holding everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from mesh.messages import TermsCounted
from peers.index.indexer import COUNT_MAX
from peers.index.kernels import FIELD_COUNT

TERMS_CACHED_MAX: Final = 20_000  # a peer; 2 MB each; the oldest go first


class Totals(NamedTuple):
    """Sums over the mesh."""

    document_count: int
    field_lengths: tuple[int, ...]  # terms a field
    doc_freqs: tuple[int, ...]  # in the order of the terms asked


def total_of(counts: Iterable[int]) -> int:
    """The sum, at most what indexers believe: a peer that claims more must not silence the others."""
    return min(sum(counts), COUNT_MAX)


class _PeerCounts:
    """What one peer counted on one generation."""

    def __init__(self, counted: TermsCounted) -> None:
        self.generation = counted.generation
        self.document_count = counted.document_count
        self.field_lengths = counted.field_lengths
        self.doc_freqs: dict[str, int] = {}


class TermStatistics:
    """The counts of all peers under one epoch."""

    def __init__(self) -> None:
        self._peers: dict[str, _PeerCounts] = {}

    def lacking(self, peers: Collection[str], terms: Collection[str]) -> set[str]:
        """The peers among these that have not yet counted all these terms."""
        return {peer for peer in peers if not self._knows(peer, terms)}

    def add(self, peer: str, terms: Sequence[str], counted: TermsCounted) -> None:
        """Take in a peer's counts of `terms`; those of another generation are forgotten."""
        assert (len(counted.field_lengths), len(counted.doc_freqs)) == (FIELD_COUNT, len(terms))
        counts = self._peers.get(peer)
        if counts is None or counts.generation != counted.generation:
            counts = self._peers[peer] = _PeerCounts(counted)
        counts.doc_freqs.update(zip(terms, counted.doc_freqs, strict=True))
        while len(counts.doc_freqs) > TERMS_CACHED_MAX:
            del counts.doc_freqs[next(iter(counts.doc_freqs))]

    def forget(self, peer: str) -> None:
        """Count anew what this peer has: its index has changed."""
        self._peers.pop(peer, None)

    def generations(self, terms: Collection[str]) -> Mapping[str, int]:
        """The generation of each peer whose counts `totals` adds up."""
        return {peer: counts.generation for peer, counts in self._peers.items() if self._knows(peer, terms)}

    def totals(self, terms: Sequence[str]) -> Totals:
        """Add up the counts of the peers that have counted all these terms."""
        counts = [counts for peer, counts in self._peers.items() if self._knows(peer, terms)]
        lengths = zip(*(of_peer.field_lengths for of_peer in counts), strict=True)
        return Totals(
            total_of(of_peer.document_count for of_peer in counts),
            tuple(map(total_of, lengths)) or (0,) * FIELD_COUNT,
            tuple(total_of(of_peer.doc_freqs[term] for of_peer in counts) for term in terms),
        )

    def __len__(self) -> int:
        """Counts held, over all peers."""
        return sum(len(counts.doc_freqs) for counts in self._peers.values())

    def _knows(self, peer: str, terms: Collection[str]) -> bool:
        counts = self._peers.get(peer)
        return counts is not None and all(term in counts.doc_freqs for term in terms)
