"""What a commit does to an index."""

from __future__ import annotations

from mesh.document import Document
from mesh.linkers import with_anchors
from peers.engine.index import Index
from peers.index.messages import CommitDocuments


def commit_documents(index: Index, order: CommitDocuments) -> int:
    """Delete, add or replace documents, give others their new link texts, commit; return the generation.

    Documents of which a newer version is there are left out: it has come another way meanwhile. Link texts
    of a page that is not in the index are left out: the cell sends them only after the page, so this is a
    page that is not to be indexed.

    Raises:
      OSError: nothing changed for readers; the order may be given again.
      DamagedSegmentError: nothing changed; give the segment up and repeat the order.
    """
    changed = _with_new_anchors(index, order)
    if order.forgotten:
        index.delete_slots(order.forgotten)
    if order.removed:
        index.delete(order.removed)
    versions = index.versions([document.url.encode(errors="replace") for _, document in order.documents])
    documents = [
        item
        for item, version in zip(order.documents, versions.tolist(), strict=True)
        if not version > item[1].fetched_at  # NaN when there is none
    ]
    index.add([*documents, *changed])
    return index.commit()


def _with_new_anchors(index: Index, order: CommitDocuments) -> list[tuple[int, Document]]:
    if not order.anchors:
        return []
    in_batch = {document.url: document for _, document in order.documents}
    deleted, forgotten = set(order.removed), set(order.forgotten)
    committed = index.snapshot().everything()
    changed: list[tuple[int, Document]] = []
    for slot, url, anchors in order.anchors:
        document = in_batch.get(url)
        if document is None and slot not in forgotten and url not in deleted:
            document = committed.stored(url)
        linked = None if document is None else with_anchors(document, anchors)
        if linked is not None and linked is not document:
            changed.append((slot, linked))
    return changed
