"""What an index is told of copies: for which documents another page stands, and for how many one does.

A page of another peer may be the one that stands for a document, so an index cannot know it by itself. It
is told, of a document with some content, and keeps it as long as the document has that: when it is replaced
by one that says the same, too. Who searches leaves copies out; statistics are of all documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from peers.engine.builder import IndexedDocument
from peers.engine.document import content_digest
from peers.engine.working_segment import WorkingSegment
from peers.kernel import Ints


class CopyMark(NamedTuple):
    """What is told of a document with some content."""

    content: int  # see `document.content_digest`
    n_copies: int  # for which it stands, or COPY, or FOLDED


def mark_copies(segments: Iterable[WorkingSegment], marks: Mapping[bytes, CopyMark]) -> None:
    """Note what is told of the documents of these URLs (UTF-8), as far as they have that content."""
    urls = list(marks)
    for each in segments:
        numbers: dict[int, int] = {}
        for url, document in zip(urls, each.segment.find_urls(urls).tolist(), strict=True):
            if document >= 0 and each.segment.contents[document] == marks[url].content:
                numbers[document] = marks[url].n_copies
        each.mark_copies(numbers)


def marks_kept(
    segments: Iterable[WorkingSegment], added: Mapping[bytes, IndexedDocument]
) -> dict[bytes, int]:
    """Return what is known of documents that are replaced by some with the same content."""
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
    """Return what is known of the documents of a segment by their numbers in another; -1 for none there."""
    known = np.flatnonzero((documents >= 0) & (source.copies != 0))
    return dict(zip(documents[known].tolist(), source.copies[known].tolist(), strict=True))
