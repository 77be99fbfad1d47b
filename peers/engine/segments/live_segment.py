"""A segment with its live documents, and its views: the documents of some slots.

The view of a segment is cheap to keep (a byte a document) and dear to make (a pass over all its documents),
so each segment keeps the last ones made, and snapshots share the segments that a commit did not change.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from mesh.slot_set import SlotMask
from peers.engine.native.kernels import FIELD_COUNT, sum_lengths
from peers.engine.pages.filter_entries import UNQUOTABLE
from peers.engine.postings.format import documents_of
from peers.engine.searching.batch import SearchScope
from peers.engine.searching.effort import Effort
from peers.engine.searching.scoring import normalise
from peers.engine.segments.segment import Segment
from peers.kernel import Bytes, Floats

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

# Of a peer's own slots, of all, and of those it answers for one, another or both of two absent peers; as
# many again while responsibility changes.
VIEWS_KEPT = 8

# Of each document for how many copies it stands, or one of these:
COPY: Final = -1  # another page stands for it, and it is not found
# One of another domain does: it is found, and shown under that. No group has so many, and who does not know
# this reads it as a page that is shown.
FOLDED: Final = (1 << 31) - 2
Copies: TypeAlias = NDArray[np.int32]
_Kept = TypeVar("_Kept")


class LiveSegment:
    """A segment and which of its documents are not deleted; immutable."""

    def __init__(
        self, segment: Segment, live: Bytes, copies: Copies | None = None, before: LiveSegment | None = None
    ) -> None:
        """Keep the arrays of live documents, 1 or 0 for each, and of copies; they do not change any more.

        Args:
          before: the same segment with other documents live: what does not depend on that is taken over.
        """
        self.segment = segment
        self.live = live
        self.copies = np.zeros(len(live), np.int32) if copies is None else copies
        self.live_count = int(live.sum())
        self._views: dict[bytes, SegmentView] = {}  # by mask, those used last behind
        self._norms: tuple[Floats, Floats] | None = None if before is None else before._norms

    def of_slots(self, key: bytes, slots: SlotMask, classes: ClassModel | None = None) -> SegmentView:
        """Return the live documents of the slots that are True; `key` stands for these, and the classes."""
        view = self._views.pop(key, None)
        if view is None:
            view = SegmentView(self, self.live & slots[self.segment.slots], classes)
        keep(self._views, key, view)
        return view

    def kept_norms(self, model: Floats) -> Floats | None:
        """Return `norms` if they are those made last."""
        kept = self._norms
        if kept is not None and (kept[0] is model or np.array_equal(kept[0], model)):
            return kept[1]
        return None

    def norms(self, model: Floats) -> Floats:
        """Return `normalise` of all documents, 48 bytes each; the last ones made are kept for all views."""
        norms = self.kept_norms(model)
        if norms is None:
            norms = np.empty((FIELD_COUNT, self.segment.document_count))
            normalise(self.segment.lengths, model, norms)
            self._norms = model, norms
        return norms


class SegmentView:
    """A segment, those of its live documents that count, and the classes that these may be in."""

    def __init__(self, live: LiveSegment, allowed: Bytes, classes: ClassModel | None = None) -> None:
        self.live = live
        self.classes = classes
        self.segment = live.segment
        self.allowed = allowed
        totals = np.zeros(FIELD_COUNT, np.int64)
        self.document_count = sum_lengths(self.segment.lengths, allowed, totals)
        self.is_whole = self.document_count == self.segment.document_count
        self.field_lengths: list[int] = totals.tolist()
        self._scope: SearchScope | None = None

    def scope(self, model: Floats, effort: Effort) -> SearchScope:
        """Return the scope of kernels, the documents to search with their norms; the one made last is kept.

        Raises:
          EffortSpentError: norms would have to be made, and there is too little left for that.
        """
        kept = self._scope
        if kept is not None and kept.model is model:
            return kept
        if self.live.kept_norms(model) is None:
            effort.spend(self.segment.document_count)
        self._scope = kept = SearchScope(self.allowed, self.is_whole, self.live.norms(model), model)
        return kept

    @cached_property
    def without_copies(self) -> SegmentView:
        """The same view without documents that are copies of others, here or on another peer."""
        is_copy = self.live.copies == COPY
        if not (is_copy & self.allowed).any():
            return self
        return SegmentView(self.live, self.allowed & ~is_copy, self.classes)

    @cached_property
    def quotable(self) -> SegmentView:
        """The same view without documents of which no text may be shown. DamagedSegmentError."""
        known = self.segment.look_up([UNQUOTABLE])
        if not known.doc_freqs[0]:
            return self
        self.segment.check_postings(known)
        segment, n = self.segment, int(known.doc_freqs[0])
        documents = np.empty(n + 4, np.int64)
        documents_of(segment.postings, segment.postings_words, int(known.starts[0]), n, documents)
        quotable = self.allowed.copy()
        quotable[documents[:n]] = 0
        return SegmentView(self.live, quotable, self.classes)


def stands_for_others(n_copies: int) -> bool:
    """Tell whether a page with this number is the one that is shown of its group, be it alone."""
    return 0 <= n_copies < FOLDED


def keep(kept: dict[bytes, _Kept], key: bytes, value: _Kept, most: int = VIEWS_KEPT) -> None:
    """Put a value behind the others, and drop the first ones if there are more than `most`.

    Threads may race here: the worst that happens is that something is made twice.
    """
    kept[key] = value
    for oldest in list(kept)[:-most]:
        kept.pop(oldest, None)
