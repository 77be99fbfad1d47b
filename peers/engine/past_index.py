"""The index of versions of pages that have been replaced, and views of all versions of a span of time.

It is an index like the other, in files of its own beside it, so that an ordinary search does not know of it.
Its documents are keyed by URL and lifetime (`pages.past`). What it is to have of a page is said as a whole,
by the holder of all versions of the page; what is lost, or was written by another program, comes again so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask
from peers.engine.index import Index
from peers.engine.pages.linkers import with_anchors
from peers.engine.pages.past import Lifetime, PastPage, TimeSpan, past_document, past_key
from peers.engine.segments.live_segment import LiveSegment, SegmentView
from peers.engine.segments.segment import Segment
from peers.engine.snapshot import Snapshot, View
from peers.kernel import Bytes

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel


def settle(past: Index, pages: Sequence[PastPage], present: Snapshot) -> list[tuple[Lifetime, ...]]:
    """Let just these versions of pages be found, and commit; return of each page those that are lacking.

    Args:
      past: the index of replaced versions.
      present: the pages as they are: one that says that none of its text is to be shown speaks for its past.

    Raises:
      DamagedSegmentError, OSError: repeat it.
    """
    view = present.everything()
    lacking = [_settle_page(past, page, view) for page in pages]
    past.commit()
    past.merge_if_needed()
    return lacking


def give_up(past: Index, segment: str) -> bool:
    """Put a damaged segment aside; False when it is none of these. OSError."""
    if not any(each.segment.name == segment for each in past.snapshot().segments):
        return False
    past.put_aside(segment)
    past.mend(np.ones(SLOTS_MAX, np.bool_))  # whoever knows the versions says anew which there are
    return True


def view_of_span(
    present: Snapshot, past: Snapshot | None, slots: SlotMask, span: TimeSpan, classes: ClassModel | None
) -> View:
    """Return the documents of the slots that are True as they were in a span: of a moment, one for a page.

    A version that the next one repeats counts once in a span that has both. No document is a copy there: what
    is known of copies is of the pages as they are. So equal pages are folded by who merges the answers of all
    peers, by their content of then.
    """
    now = [_Part(each, _allowed(each, slots, span)) for each in present.segments]
    replaced = past.segments if past else ()
    then = [
        _Part(each, _allowed(each, slots, span) & (each.segment.untils > span.begin)) for each in replaced
    ]
    if span.begin < span.end:
        _leave_out_repeated(then, [*now, *then])
    parts = [(LiveSegment(live.segment, allowed), allowed) for live, allowed in now + then if allowed.any()]
    return View([SegmentView(live, allowed, classes) for live, allowed in parts])


class _Part(NamedTuple):
    """A segment, and its documents that are in a view."""

    live: LiveSegment
    allowed: Bytes

    def marks(self, times: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the documents of the view that have a main text, with marks of content and time."""
        documents = np.flatnonzero(self.allowed & (self.live.segment.contents != 0))
        contents = self.live.segment.contents[documents].view(np.int64)
        return documents, contents ^ np.ascontiguousarray(times[documents], "<f8").view(np.int64)


def _allowed(each: LiveSegment, slots: SlotMask, span: TimeSpan) -> Bytes:
    return each.live & slots[each.segment.slots] & (each.segment.fetched_at <= span.end)


def _leave_out_repeated(then: list[_Part], parts: list[_Part]) -> None:
    """Leave out each replaced version that the next one repeats, if that is in the span as well.

    Of versions without a main text it is not known whether they are the same.
    Of visits that find a page as it was the crawler makes no versions (`crawler.pages_in_progress`), but
    after the death of who made the one before; and imports bring such, and archives of earlier programs.
    """
    begun = [part.marks(part.live.segment.fetched_at) for part in parts]
    ended = [part.marks(part.live.segment.untils) for part in then]
    both = np.intersect1d(_all_marks(begun), _all_marks(ended))
    if not len(both):
        return
    next_ones = {
        (mark, _url(part, document))
        for part, (documents, marks) in zip(parts, begun, strict=True)
        for document, mark in _of_marks(documents, marks, both)
    }
    for part, (documents, marks) in zip(then, ended, strict=True):
        for document, mark in _of_marks(documents, marks, both):
            if (mark, _url(part, document)) in next_ones:
                part.allowed[document] = False


def _all_marks(parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(marks for _, marks in parts)])


def _of_marks(
    documents: NDArray[np.int64], marks: NDArray[np.int64], wanted: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    are_wanted = np.isin(marks, wanted)
    return zip(documents[are_wanted].tolist(), marks[are_wanted].tolist(), strict=True)


def _url(part: _Part, document: int) -> bytes:
    return part.live.segment.url(document).partition(b" ")[0]


def _settle_page(past: Index, page: PastPage, present: View) -> tuple[Lifetime, ...]:
    here = {key.decode(): place for key, place in _here(past, page.url)}
    wanted = {past_key(page.url, lifetime): lifetime for lifetime in page.lifetimes}
    past.delete(here.keys() - wanted.keys())
    if not wanted:
        return ()
    now = present.stored(page.url)
    given = {document.fetched_at: document for document in page.documents}
    lacking: list[Lifetime] = []
    for key, lifetime in wanted.items():
        before = here[key][0].stored(here[key][1]) if key in here else None
        document = before or given.get(lifetime.since)
        if document is None:
            lacking.append(lifetime)
            continue
        document = with_anchors(document, page.texts)
        if now is not None and not now.is_quotable:
            document = msgspec.structs.replace(document, is_quotable=False)
        if document != before:
            past.add([(page.slot, past_document(document, lifetime.until))])
    return tuple(lacking)


def _here(past: Index, url: str) -> Iterator[tuple[bytes, tuple[Segment, int]]]:
    """Yield the keys of the versions of a page that are committed, and where they are."""
    prefix = url.encode() + b" "
    for each in past.snapshot().segments:
        segment = each.segment
        document = bisect_left(range(segment.document_count), prefix, key=segment.url)
        while document < segment.document_count and segment.url(document).startswith(prefix):
            if each.live[document]:
                yield segment.url(document), (segment, document)
            document += 1
