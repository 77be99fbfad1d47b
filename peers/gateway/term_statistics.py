"""What the peers have counted of terms, added up: the statistics that make scores the same everywhere.

Exactness: the numbers of one part are all of one generation of an index, and the parts of a plan all of
one epoch, whose slots do not overlap; so the sum is that of one peer holding everything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final, NamedTuple

from peers.engine.kernels import FIELD_COUNT
from peers.gateway.plan import Part
from peers.index.indexer import COUNT_MAX
from peers.index.wire_messages import HitsFound, TermsCounted

TERMS_CACHED_MAX: Final = 20_000  # a part; 2 MB each; the oldest go first


class Totals(NamedTuple):
    """Sums over the mesh."""

    document_count: int
    field_lengths: tuple[int, ...]  # terms a field
    doc_freqs: tuple[int, ...]  # in the order of the terms asked


class Version(NamedTuple):
    """Of what an answer speaks; answers of one version are about the same documents."""

    generation: int  # index commit
    missing: int  # slots of those asked for that the peer has not all of


def version_of(answer: TermsCounted | HitsFound) -> Version:
    return Version(answer.generation, answer.missing)


def total_of(counts: Iterable[int]) -> int:
    """The sum, at most what indexers believe: a peer that claims more must not silence the others."""
    return min(sum(counts), COUNT_MAX)


class _Counts:
    """What one part counted on one version of its documents."""

    def __init__(self, counted: TermsCounted) -> None:
        self.version = version_of(counted)
        self.document_count = counted.document_count
        self.field_lengths = counted.field_lengths
        self.doc_freqs: dict[str, int] = {}


class TermStatistics:
    """The counts of all parts under one epoch."""

    def __init__(self) -> None:
        self._parts: dict[Part, _Counts] = {}

    def knows(self, part: Part, terms: Collection[str]) -> bool:
        """Has it counted all these terms?"""
        counts = self._parts.get(part)
        return counts is not None and all(term in counts.doc_freqs for term in terms)

    def lacking(self, parts: Iterable[Part], terms: Collection[str]) -> list[Part]:
        """Those of the parts that have not yet counted all these terms."""
        return [part for part in parts if not self.knows(part, terms)]

    def version(self, part: Part) -> Version | None:
        """Of what was counted; None when nothing was."""
        counts = self._parts.get(part)
        return counts.version if counts else None

    def add(self, part: Part, terms: Sequence[str], counted: TermsCounted) -> None:
        """Take in a part's counts of `terms`; those of another version are forgotten."""
        assert (len(counted.field_lengths), len(counted.doc_freqs)) == (FIELD_COUNT, len(terms))
        counts = self._parts.get(part)
        if counts is None or counts.version != version_of(counted):
            counts = self._parts[part] = _Counts(counted)
        counts.doc_freqs.update(zip(terms, counted.doc_freqs, strict=True))
        while len(counts.doc_freqs) > TERMS_CACHED_MAX:
            del counts.doc_freqs[next(iter(counts.doc_freqs))]

    def forget(self, part: Part) -> None:
        """Count anew what this part has: its index has changed."""
        self._parts.pop(part, None)

    def forget_stand_ins(self) -> None:
        self._parts = {part: counts for part, counts in self._parts.items() if not part.absent}

    def totals(self, parts: Iterable[Part], terms: Sequence[str]) -> Totals:
        """Add up the counts of those parts that have counted all these terms."""
        counts = [self._parts[part] for part in parts if self.knows(part, terms)]
        lengths = zip(*(of_part.field_lengths for of_part in counts), strict=True)
        return Totals(
            total_of(of_part.document_count for of_part in counts),
            tuple(map(total_of, lengths)) or (0,) * FIELD_COUNT,
            tuple(total_of(of_part.doc_freqs[term] for of_part in counts) for term in terms),
        )

    def __len__(self) -> int:
        """Counts held, over all parts."""
        return sum(len(counts.doc_freqs) for counts in self._parts.values())
