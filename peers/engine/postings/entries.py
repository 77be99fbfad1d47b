"""The data that the dictionary of a segment has on the entries that are looked up."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from peers.engine.postings.dictionary import DOC_FREQ, END, NUMBER, START
from peers.kernel import Ints


class Entries(msgspec.Struct, frozen=True, gc=False):
    """Dictionary data of some entries of a segment: numbers, document frequencies and places of postings."""

    found: Ints  # (entries, FOUND_COLUMNS), as `look_up` finds it

    @property
    def numbers(self) -> Ints:
        """The number of each; -1: it is not there, and the rest is 0."""
        return self.found[:, NUMBER]

    @property
    def doc_freqs(self) -> Ints:
        """How many documents have each."""
        return self.found[:, DOC_FREQ]

    @property
    def starts(self) -> Ints:
        """Where the postings of each start."""
        return self.found[:, START]

    @property
    def ends(self) -> Ints:
        """Where the postings of each end."""
        return self.found[:, END]

    def at(self, places: Ints | Sequence[int] | slice) -> Entries:
        """Return some of them, in this order."""
        return Entries(self.found[places])

    def __len__(self) -> int:
        return len(self.found)
