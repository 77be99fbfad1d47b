"""The index of versions of pages that have been replaced, and views of all versions of a span of time.

It is an index like the other, in files of its own beside it, so that an ordinary search does not know of it.
Its documents are keyed by URL and lifetime (`pages.past`). What it is to have of a page is said as a whole,
by the holder of all versions of the page; what is lost, or was written by another program, comes again so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

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

    No document is a copy there: what is known of copies is of the pages as they are. So equal pages are
    folded by who merges the answers of all peers, by their content of then.
    """
    views: list[SegmentView] = []
    for each in present.segments:
        is_there = each.segment.fetched_at <= span.end
        views += _view(each, slots, is_there, classes)
    for each in past.segments if past else ():
        is_there = (each.segment.fetched_at <= span.end) & (each.segment.untils > span.begin)
        views += _view(each, slots, is_there, classes)
    return View(views)


def _view(
    each: LiveSegment, slots: SlotMask, is_there: NDArray[np.bool_], classes: ClassModel | None
) -> list[SegmentView]:
    allowed = each.live & slots[each.segment.slots] & is_there
    return [SegmentView(LiveSegment(each.segment, allowed), allowed, classes)] if allowed.any() else []


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
