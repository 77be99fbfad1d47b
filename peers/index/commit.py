"""The changes that a commit makes to an index."""

from __future__ import annotations

from collections.abc import Sequence

from mesh.stamp import BEFORE_ALL, Stamp
from peers.engine.index import Index
from peers.index.messages import CommitDocuments


def commit_documents(index: Index, order: CommitDocuments) -> int:
    """Delete, add or replace documents, give others link texts and marks, commit; return the generation.

    A version that is older than what is there changes nothing: a newer one has come another way meanwhile.
    Link texts of a page that is not in the index are left out: the cell sends them only after the page, so
    this is a page that is not to be indexed.

    Raises:
      OSError: nothing changed for readers; the order may be given again.
      DamagedSegmentError: nothing changed; give the segment up and repeat the order.
    """
    if order.forgotten:
        index.delete_slots(order.forgotten)
        if index.replaced is not None:
            index.past().delete_slots(order.forgotten)
            index.past().commit()
    ruling = _not_older(index, order.removed)
    index.delete(url for (url, _), rules in zip(order.removed, ruling, strict=True) if rules)
    ruling = _not_older(index, [(document.url, document.stamp) for _, document in order.documents])
    index.add([item for item, rules in zip(order.documents, ruling, strict=True) if rules])
    if order.anchors:
        index.relink({url: anchors for _, url, anchors in order.anchors})
    if order.marks:
        index.mark_copies({url.encode(): mark for url, mark in order.marks})
    return index.commit()


def _not_older(index: Index, versions: Sequence[tuple[str, Stamp]]) -> list[bool]:
    """Tell of each version whether it is at least as new as the one in the index."""
    there = index.versions([url.encode(errors="replace") for url, _ in versions])
    return [stamp >= (other or BEFORE_ALL) for (_, stamp), other in zip(versions, there, strict=True)]
