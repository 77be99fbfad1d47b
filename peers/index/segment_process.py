"""A process of the index's `mesh.process.workshop`: `python -m peers.index.segment_process`. [io]

It inverts the texts of documents, which costs a peer more than all else that it does with a page, but
taking it apart.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from mesh.process.workshop_process import LOG_FORMAT, WorkLimits, serve
from peers.engine.pages.document import Document
from peers.engine.segments.builder import IndexedDocument, build_encoded

COMMAND: Final = (sys.executable, "-P", "-m", "peers.index.segment_process")
# A segment takes a second, for 8 MB of documents; arrays with room for the worst case are written to in part.
LIMITS: Final = WorkLimits(cpu_s=60.0, memory_bytes=4 << 30)


def order_of(documents: Sequence[IndexedDocument]) -> bytes:
    """Encode the documents that a segment is to be built of."""
    return msgspec.msgpack.encode([(item.slot, item.encoded) for item in documents])


def carry_out(order: bytes) -> bytes:
    """Return the content of the segment."""
    placed = _decode_order(order)
    documents = [IndexedDocument(slot, _decode_document(encoded), encoded) for slot, encoded in placed]
    return b"".join(build_encoded(documents))


_decode_order = msgspec.msgpack.Decoder(list[tuple[int, bytes]]).decode
_decode_document = msgspec.msgpack.Decoder(Document).decode

if __name__ == "__main__":
    logging.basicConfig(format=LOG_FORMAT)
    serve(carry_out, LIMITS)
