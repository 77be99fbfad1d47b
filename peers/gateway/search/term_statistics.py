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


def _totals_of(rows: Sequence[Iterable[int]]) -> tuple[int, ...]:
    """`total_of` each column; of many columns none is over the limit."""
    sums = list(map(sum, zip(*rows, strict=True)))
    return tuple(sums) if max(sums, default=0) <= COUNT_MAX else tuple([min(n, COUNT_MAX) for n in sums])


class _Counts:
    """The counts of one share over one edition of its documents."""

    def __init__(self, counted: TermsCounted, edition: Edition) -> None:
        self.edition = edition
        self.document_count = counted.document_count
        self.field_lengths = counted.field_lengths
        self.doc_freqs: dict[str, int] = {}


class TermStatistics:
    """The counts of all shares under one epoch.

    A search asks a dozen times, between two changes, for the same terms: what was found last is remembered.
    """

    def __init__(self) -> None:
        self.n_forgotten = 0  # times that counts were dropped
        self._shares: dict[Share, _Counts] = {}
        self._asked: tuple[str, ...] | None = None  # the terms that were asked for last; None after a change
        self._known: dict[Share, Edition] = {}  # the editions of all shares that have counted them
        self._summed: Iterable[Share] | None = None  # whose totals of these terms were wanted last
        self._totals = TermTotals(0, (), ())

    def editions(self, shares: Iterable[Share], terms: tuple[str, ...]) -> dict[Share, Edition]:
        """Return the editions that shares have counted, of those that have counted all these terms.

        In one pass without a call for each: all that a gateway asks are looked at with every search.
        """
        if not terms:
            counted = self._shares
            return {share: counted[share].edition for share in shares if share in counted}
        if terms is not self._asked:
            wanted = set(terms)
            self._asked, self._summed = terms, None
            self._known = {
                share: counts.edition
                for share, counts in self._shares.items()
                if wanted <= counts.doc_freqs.keys()
            }
        known = self._known
        return {share: known[share] for share in shares if share in known}

    def lacking(self, shares: Collection[Share], terms: tuple[str, ...]) -> list[Share]:
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
        self._asked = None
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
        self._asked = None
        self.n_forgotten += 1

    def forget_stand_ins(self) -> None:
        self._shares = {share: counts for share, counts in self._shares.items() if not share.absent}
        self._asked = None
        self.n_forgotten += 1

    def totals(self, shares: Iterable[Share], terms: tuple[str, ...]) -> TermTotals:
        """Add up the counts of those shares that have counted all these terms."""
        known = self.editions(shares, terms)
        if not terms:
            return self._sum([self._shares[share] for share in known], terms)
        if shares is not self._summed:
            self._summed, self._totals = shares, self._sum([self._shares[share] for share in known], terms)
        return self._totals

    def _sum(self, counts: Sequence[_Counts], terms: Sequence[str]) -> TermTotals:
        if not counts:
            return TermTotals(0, (0,) * LENGTH_COUNT, (0,) * len(terms))
        lengths = [of_share.field_lengths for of_share in counts]
        doc_freqs = [map(of_share.doc_freqs.__getitem__, terms) for of_share in counts]
        return TermTotals(
            total_of([of_share.document_count for of_share in counts]),
            _totals_of(lengths),
            _totals_of(doc_freqs),
        )

    def __len__(self) -> int:
        """Counts held, over all shares."""
        return sum(len(counts.doc_freqs) for counts in self._shares.values())
