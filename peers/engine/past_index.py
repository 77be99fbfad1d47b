"""The index of versions of pages that have been replaced, and views of all versions of a span of time.

It is an index like the other, in files of its own beside it, so that an ordinary search does not know of it.
Its documents are keyed by URL and lifetime (`pages.past`). What it is to have of a page is said as a whole,
by the holder of all versions of the page; what is lost, or was written by another program, comes again so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

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
    present: Snapshot,
    past: Snapshot | None,
    slots: SlotMask,
    span: TimeSpan,
    classes: ClassModel | None,
    repeats: Repeats,
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
    if past and span.begin < span.end:
        for part, is_repeated in zip(then, repeats.of(present, past), strict=True):
            # The next one is of the same slot, and begins when this one ends: in the span unless too late.
            part.allowed[(is_repeated != 0) & (part.live.segment.untils <= span.end)] = False
    parts = [(LiveSegment(live.segment, allowed), allowed) for live, allowed in now + then if allowed.any()]
    return View([SegmentView(live, allowed, classes) for live, allowed in parts])


_CELLS_A_MARK: Final = 4  # of each table of bits: an eighth to a quarter of them are taken
_ODD: Final = np.int64(0x1E3779B97F4A7C15)  # spreads times in whole seconds, which end in zeros, over a mark


class _Part(NamedTuple):
    """A segment, and its documents that are in a view."""

    live: LiveSegment
    allowed: Bytes


def _allowed(each: LiveSegment, slots: SlotMask, span: TimeSpan) -> Bytes:
    return each.live & slots[each.segment.slots] & (each.segment.fetched_at <= span.end)


class Repeats:
    """Tells which replaced versions are repeated by the next one; found once for a state of both indexes.

    Of versions without a main text it is not known whether they are the same.
    Of visits that find a page as it was the crawler makes no versions (`crawler.pages_in_progress`), but
    after the death of who made the one before; and imports bring such, and archives of earlier programs.
    """

    def __init__(self) -> None:
        self._found: tuple[tuple[int, int], list[Bytes]] = (-1, -1), []

    def of(self, present: Snapshot, past: Snapshot) -> list[Bytes]:
        """Return for each segment of the past which of its documents are such."""
        generations = present.generation, past.generation
        found = self._found  # which another thread may replace meanwhile, by that of another state
        if found[0] != generations:
            found = generations, _repeated(past.segments, [*present.segments, *past.segments])
            self._found = found
        return found[1]


def _repeated(then: Sequence[LiveSegment], versions: Sequence[LiveSegment]) -> list[Bytes]:
    """Find the replaced versions whose content and end are the content and begin of another of their page.

    In a time that is linear in all versions, and some microseconds for each that is repeated.
    """
    begun = [_marks(each, each.segment.fetched_at) for each in versions]
    ended = [_marks(each, each.segment.untils) for each in then]
    both = _common(_all_marks(begun), _all_marks(ended))
    found = [np.zeros(len(each.live), np.uint8) for each in then]
    if not len(both):
        return found
    next_ones = {
        (mark, _url(each, document))
        for each, (documents, marks) in zip(versions, begun, strict=True)
        for document, mark in _of_marks(documents, marks, both)
    }
    for each, is_repeated, (documents, marks) in zip(then, found, ended, strict=True):
        for document, mark in _of_marks(documents, marks, both):
            is_repeated[document] = (mark, _url(each, document)) in next_ones
    return found


def _marks(each: LiveSegment, times: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the live documents that have a main text, with marks of content and time."""
    documents = np.flatnonzero((each.live != 0) & (each.segment.contents != 0))
    contents = each.segment.contents[documents].view(np.int64)
    return documents, contents ^ _ODD * np.ascontiguousarray(times[documents], "<f8").view(np.int64)


def _common(begun: NDArray[np.int64], ended: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the marks that are in both: sorted are only those that two tables of bits do not tell apart."""
    for shift in (0, 32):
        n_bits = (_CELLS_A_MARK * max(len(begun), len(ended))).bit_length()
        cells_begun, cells_ended = (each >> shift & ((1 << n_bits) - 1) for each in (begun, ended))
        begun, ended = (
            begun[_is_marked(cells_ended, n_bits)[cells_begun]],
            ended[_is_marked(cells_begun, n_bits)[cells_ended]],
        )
    return np.intersect1d(begun, ended)


def _is_marked(cells: NDArray[np.int64], n_bits: int) -> NDArray[np.bool_]:
    is_marked = np.zeros(1 << n_bits, np.bool_)
    is_marked[cells] = True
    return is_marked


def _all_marks(parts: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *(marks for _, marks in parts)])


def _of_marks(
    documents: NDArray[np.int64], marks: NDArray[np.int64], wanted: NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    are_wanted = wanted[np.minimum(np.searchsorted(wanted, marks), len(wanted) - 1)] == marks
    return zip(documents[are_wanted].tolist(), marks[are_wanted].tolist(), strict=True)


def _url(each: LiveSegment, document: int) -> bytes:
    return each.segment.url(document).partition(b" ")[0]


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
