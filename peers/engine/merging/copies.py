"""Copy marks of an index: the documents that another page stands for, and how many such a page has.

A page of another peer may be the one that stands for a document, so an index cannot know it by itself. It
is told, of a document with some content, and keeps it as long as the document has that: when it is replaced
by one that says the same, too. A document with another content than it is told of is marked no more, since
nobody names it for what it says. Who searches leaves copies out; statistics are of all documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from peers.engine.pages.document import content_digest
from peers.engine.segments.builder import IndexedDocument
from peers.engine.segments.working_segment import WorkingSegment
from peers.kernel import Ints


class CopyMark(NamedTuple):
    """The copy mark of a document, valid as long as the document has this content."""

    content: int  # see `document.content_digest`
    n_copies: int  # for which it stands, or COPY, or FOLDED


def mark_copies(segments: Iterable[WorkingSegment], marks: Mapping[bytes, CopyMark]) -> None:
    """Set the copy marks of documents, by URL (UTF-8); to 0 where a document has another content."""
    urls = list(marks)
    for each in segments:
        numbers: dict[int, int] = {}
        for url, document in zip(urls, each.segment.find_urls(urls).tolist(), strict=True):
            if document >= 0:
                is_meant = each.segment.contents[document] == marks[url].content
                numbers[document] = marks[url].n_copies if is_meant else 0
        each.mark_copies(numbers)


def marks_kept(
    segments: Iterable[WorkingSegment], added: Mapping[bytes, IndexedDocument]
) -> dict[bytes, int]:
    """Return, by URL, the copy marks of documents that are replaced by some with the same content."""
    urls = list(added)
    kept: dict[bytes, int] = {}
    for each in segments:
        if not each.copies_file:
            continue
        documents = each.segment.find_urls(urls)
        is_known = (documents >= 0) & (each.copies[documents] != 0) & (each.live[documents] != 0)
        for number in np.flatnonzero(is_known).tolist():
            document, url = documents[number], urls[number]
            if each.segment.contents[document] == content_digest(added[url].document):
                kept[url] = int(each.copies[document])
    return kept


def marks_moved(source: WorkingSegment, documents: Ints) -> dict[int, int]:
    """Return the copy marks of a segment by the numbers of its documents in another; -1 for none there."""
    known = np.flatnonzero((documents >= 0) & (source.copies != 0))
    return dict(zip(documents[known].tolist(), source.copies[known].tolist(), strict=True))
