"""Has segments built in a process, so that they do not take the interpreter from the event loop. [io]

A thread that inverts texts has the interpreter's lock for half of its time. A segment of 512 documents,
4.5 MB of text, costs the loop 11 ms for the way there and back, the thread 3, and the process 640.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

import trio

from mesh.process.workshop import Answer, Workshop, WorkshopFault
from peers.engine.files.errors import CorruptIndexError, OutdatedIndexError
from peers.engine.files.storage import Buffer
from peers.engine.segments.builder import IndexedDocument, build_encoded
from peers.engine.segments.segment import Segment
from peers.index.segment_process import order_of

# Bytes of documents: fewer are inverted here, in some 40 ms. A process takes .6 s to begin, and 100 MB.
SMALL_BYTES: Final = 1 << 18

logger = logging.getLogger(__name__)


class SegmentBuilder:
    """The `build` of an index, for the threads of trio that commit."""

    def __init__(self, workshop: Workshop, small_bytes: int = SMALL_BYTES) -> None:
        self.workshop = workshop  # whose processes serve `segment_process`; to be run by who has the index
        self._small_bytes = small_bytes

    def __call__(self, documents: Sequence[IndexedDocument]) -> Iterable[Buffer]:
        """Build a segment of documents with distinct URLs, and wait for it; here, should the process fail.

        Raises:
          trio.Cancelled: the peer ends.
        """
        if sum(len(item.encoded) for item in documents) < self._small_bytes:
            return build_encoded(documents)
        answers: list[Answer] = []
        trio.from_thread.run(self.workshop.carry_out, [order_of(documents)], answers.append)
        (answer,) = answers
        if isinstance(answer, WorkshopFault):
            logger.error(
                "its process ended, fault=%s: segment built here documents=%d", answer, len(documents)
            )
        elif _is_of(answer, documents):
            return [answer]
        else:
            logger.error("its process talks nonsense: segment built here documents=%d", len(documents))
        return build_encoded(documents)


def _is_of(content: bytes, documents: Sequence[IndexedDocument]) -> bool:
    """Is this a whole segment of these documents? Its other content is believed, as it is of a thread."""
    try:
        segment = Segment("of a process", memoryview(content))
        segment.verify()
    except (CorruptIndexError, OutdatedIndexError, ValueError):
        return False
    placed = sorted((item.document.url.encode(), item.slot) for item in documents)
    numbers = range(segment.document_count)
    return list(zip(map(segment.url, numbers), segment.slots.tolist(), strict=False)) == placed
