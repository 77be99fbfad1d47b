"""The counts of terms by all peers, added up: the statistics that make scores the same everywhere.

Exactness: the numbers of one share are all of one generation of an index, and the shares of a plan all of
one epoch, whose slots do not overlap; so the sum is that of one peer holding everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from peers.engine.native.kernels import LENGTH_COUNT
from peers.gateway.search.plan import Share
from peers.index.answerer import COUNT_MAX
from peers.index.wire_messages import HitsFound, TermsCounted

TERMS_CACHED_MAX: Final = 20_000  # a share; 2 MB each; the oldest go first


class TermTotals(NamedTuple):
    """Sums over the mesh."""

    document_count: int
    field_lengths: tuple[int, ...]  # terms a field
    doc_freqs: tuple[int, ...]  # in the order of the terms asked


class Edition(NamedTuple):
    """The state of an index of which an answer speaks; those of one edition are about the same documents."""

    generation: int  # index commit
    missing: int  # slots of those asked for that the peer has not all of


def edition_of(answer: TermsCounted | HitsFound) -> Edition:
    return Edition(answer.generation, answer.missing)


def total_of(counts: Iterable[int]) -> int:
    """The sum, up to the most that indexers believe: a peer that claims more must not silence the others."""
    return min(sum(counts), COUNT_MAX)


class _Counts:
    """The counts of one share over one edition of its documents."""

    def __init__(self, counted: TermsCounted, edition: Edition) -> None:
        self.edition = edition
        self.document_count = counted.document_count
        self.field_lengths = counted.field_lengths
        self.doc_freqs: dict[str, int] = {}


class TermStatistics:
    """The counts of all shares under one epoch."""

    def __init__(self) -> None:
        self.n_forgotten = 0  # times that counts were dropped
        self._shares: dict[Share, _Counts] = {}

    def editions(self, shares: Iterable[Share], terms: Iterable[str]) -> dict[Share, Edition]:
        """Return the editions that shares have counted, of those that have counted all these terms.

        In one pass without a call for each: all that a gateway asks are looked at with every search.
        """
        wanted, known = set(terms), self._shares
        return {
            share: counts.edition
            for share in shares
            if (counts := known.get(share)) is not None and wanted <= counts.doc_freqs.keys()
        }

    def lacking(self, shares: Collection[Share], terms: Iterable[str]) -> list[Share]:
        """Those of the shares that have not yet counted all these terms."""
        known = self.editions(shares, terms)
        return [share for share in shares if share not in known]

    def edition(self, share: Share) -> Edition | None:
        """The edition that a share has counted; None when it has counted nothing."""
        counts = self._shares.get(share)
        return counts.edition if counts else None

    def add(self, share: Share, terms: Sequence[str], counted: TermsCounted) -> None:
        """Take in a share's counts of `terms`; those of another edition are forgotten.

        So are those of the same that are of other documents: somebody else has told them of the share.
        """
        assert (len(counted.field_lengths), len(counted.doc_freqs)) == (LENGTH_COUNT, len(terms))
        counts, edition = self._shares.get(share), edition_of(counted)
        told = edition, counted.document_count, counted.field_lengths
        if counts is None or (counts.edition, counts.document_count, counts.field_lengths) != told:
            self.n_forgotten += counts is not None
            counts = self._shares[share] = _Counts(counted, edition)
        counts.doc_freqs.update(zip(terms, counted.doc_freqs, strict=True))
        while len(counts.doc_freqs) > TERMS_CACHED_MAX:
            del counts.doc_freqs[next(iter(counts.doc_freqs))]
            self.n_forgotten += 1

    def contradict(self, share: Share, terms: Sequence[str], counted: TermsCounted) -> bool:
        """Are these other counts than those of the share that are known, of the same edition?"""
        counts = self._shares.get(share)
        if counts is None or counts.edition != edition_of(counted):
            return False
        known = [counts.doc_freqs.get(term, n) for term, n in zip(terms, counted.doc_freqs, strict=False)]
        lengths = counts.field_lengths
        told = counted.document_count, counted.field_lengths, counted.doc_freqs
        return (counts.document_count, lengths, tuple(known)) != told

    def forget(self, share: Share) -> None:
        """Drop the counts of this share, to be counted anew: its index has changed."""
        self._shares.pop(share, None)
        self.n_forgotten += 1

    def forget_stand_ins(self) -> None:
        self._shares = {share: counts for share, counts in self._shares.items() if not share.absent}
        self.n_forgotten += 1

    def totals(self, shares: Iterable[Share], terms: Sequence[str]) -> TermTotals:
        """Add up the counts of those shares that have counted all these terms."""
        counts = [self._shares[share] for share in self.editions(shares, terms)]
        if not counts:
            return TermTotals(0, (0,) * LENGTH_COUNT, (0,) * len(terms))
        lengths = [of_share.field_lengths for of_share in counts]
        doc_freqs = [map(of_share.doc_freqs.__getitem__, terms) for of_share in counts]
        return TermTotals(
            total_of([of_share.document_count for of_share in counts]),
            tuple(map(total_of, zip(*lengths, strict=True))),
            tuple(map(total_of, zip(*doc_freqs, strict=True))),
        )

    def __len__(self) -> int:
        """Counts held, over all shares."""
        return sum(len(counts.doc_freqs) for counts in self._shares.values())
