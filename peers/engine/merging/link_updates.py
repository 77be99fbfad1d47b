"""Give documents of a segment other link texts, without analysing the rest of their content again.

A page is found by the texts of links that other pages have, which come after it and change. A document is its
own texts and these; so a segment is merged with one that has only the latter, field by field, and becomes
what it would be if all had been indexed at once, byte for byte. That costs a copy of the whole segment.

Measured on the 256 pages of the demo web (9,000 characters), each twenty times under another URL; CPU ms,
where indexing one anew takes 1.0:

    of them with other texts           100 %    50 %    10 %     5 %     1 %
    for a document of the segment       .187    .147    .090    .071    .086
    for one with other texts            .187    .295    .910    1.61    10.8

In a crawl of 4,623 other pages it saves 15 % of the processor time, and 77 MB at the peak: before, each page
was indexed 1.5 times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from peers.engine.files.scratch import Scratch, in_memory
from peers.engine.merging.copies import marks_moved
from peers.engine.merging.segment_merge import MergedSegment, NewLinks, merge_segments
from peers.engine.pages.document import Document
from peers.engine.pages.filter_entries import LANGUAGE_PREFIX
from peers.engine.pages.linkers import with_anchors
from peers.engine.postings.dictionary import DOC_FREQ, START
from peers.engine.postings.format import documents_of
from peers.engine.segments.builder import IndexedDocument, build_links, prepared
from peers.engine.segments.live_segment import LiveSegment
from peers.engine.segments.segment import Segment
from peers.engine.segments.segment_format import SegmentData, encode_segment
from peers.engine.segments.working_segment import WorkingSegment
from peers.kernel import Ints
from peers.text.line_languages import LANGUAGES

# Of the live documents of a segment: from so many on it costs less to write all anew than to index these,
# which leaves as many deleted ones, and a segment more to be merged.
RELINKED_SHARE_MIN: Final = 1 / 16


def relink_segments(
    working: list[WorkingSegment],
    entries: Mapping[bytes, Sequence[str]],
    write: Callable[[SegmentData], WorkingSegment],
    scratch: Scratch = in_memory,
) -> Iterator[tuple[int, Document]]:
    """Replace segments in which many documents get new link texts; yield the documents of all others that do.

    Those come with their slots and their new texts, and are to be indexed anew.

    Args:
      entries: by URL (UTF-8), as `linkers.with_anchors` takes them.

    Raises:
      DamagedSegmentError. OSError.
    """
    urls = list(entries)
    few: list[tuple[Segment, dict[int, Sequence[str]]]] = []
    for at, each in enumerate(working):
        documents = each.segment.find_urls(urls)
        places = np.flatnonzero((documents >= 0) & (each.live[documents] != 0)).tolist()
        here = {int(documents[place]): entries[urls[place]] for place in places}
        if not here or len(here) < RELINKED_SHARE_MIN * each.live.sum():
            few.append((each.segment, here))
        elif merged := relinked(each.share(), here, scratch):
            working[at] = write(merged.data)
            working[at].mark_copies(marks_moved(each, merged.documents[0]))
    for segment, here in few:
        for number, told in here.items():
            document = segment.stored(number)
            linked = with_anchors(document, told)
            if linked is not document:
                yield int(segment.slots[number]), linked


def relinked(
    source: LiveSegment, entries: Mapping[int, Sequence[str]], scratch: Scratch = in_memory
) -> MergedSegment | None:
    """Return a segment with new link data for some of its live documents; None where nothing is new.

    Args:
      entries: by the number of the document, as `linkers.with_anchors` takes them.

    Raises:
      DamagedSegmentError. OSError: there is no room for it.
    """
    segment = source.segment
    changed: list[int] = []
    outlines: list[IndexedDocument] = []
    numbers = np.array(sorted(entries), np.int64)
    for number, raw in zip(numbers.tolist(), segment.encoded_documents(numbers), strict=True):
        document = _decode(raw)
        linked = with_anchors(document, entries[number])
        if linked is not document:
            changed.append(number)
            outline = msgspec.structs.replace(linked, headings="", text="", boilerplate="")
            outlines.append(prepared(int(segment.slots[number]), outline))
    if not changed:
        return None
    links = build_links(outlines, _other_languages(segment, changed, outlines))
    content = b"".join(encode_segment(links))
    new = NewLinks(Segment(f"links of {segment.name}", memoryview(content)), np.array(changed, np.int64))
    return merge_segments([source], scratch, links=new)


def _other_languages(
    segment: Segment, numbers: Sequence[int], documents: Sequence[IndexedDocument]
) -> list[str]:
    """Return of each document the language besides its own that it is marked as having a part in, or ""."""
    marks = segment.look_up([LANGUAGE_PREFIX + language for language in LANGUAGES])
    segment.check_postings(marks)
    others = [""] * len(numbers)
    for language, (start, n) in zip(LANGUAGES, marks.found[:, [START, DOC_FREQ]].tolist(), strict=True):
        if n == 0:
            continue
        is_marked = np.zeros(segment.document_count, np.bool_)
        is_marked[_documents_of(segment, start, n)] = True
        for place in np.flatnonzero(is_marked[numbers]).tolist():
            if documents[place].document.language != language:
                others[place] = language
    return others


def _documents_of(segment: Segment, start: int, n: int) -> Ints:
    documents = np.empty(n + 4, np.int64)
    documents_of(segment.postings, segment.postings_words, start, n, documents)
    return documents[:n]


_decode = msgspec.msgpack.Decoder(Document).decode
