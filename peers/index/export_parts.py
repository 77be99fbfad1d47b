"""An export as the cell asks for it: numbered parts, the last one with all that is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from mesh.slot_set import SlotMask, decode_slots, encode_slots
from peers.engine.files.errors import DamagedSegmentError
from peers.engine.merging.export import ExportSizes
from peers.engine.snapshot import Snapshot
from peers.handover.wire_messages import BULK_BYTES_MAX
from peers.index.messages import DocumentsExported, ExportDocuments

_SIZES: Final = ExportSizes(bytes_max=BULK_BYTES_MAX)


class ExportParts:
    """An export of the documents that are committed when it is made, part by part."""

    def __init__(
        self, snapshot: Snapshot, damaged: SlotMask, order: ExportDocuments, slot_count: int
    ) -> None:
        """Begin; `damaged` are the slots of which documents were lost."""
        self._ticket = order.ticket
        self._slots = decode_slots(order.slots, slot_count)
        self._damaged = damaged[:slot_count]
        self._export = snapshot.export(self._slots, _SIZES)
        self._number = 0

    def next(self) -> DocumentsExported:
        """Make the next part; after the last one there is none."""
        content = next(self._export, b"")
        number, self._number = self._number, self._number + 1
        if content:
            return DocumentsExported(self._ticket, number, content, False)
        lacking = self._slots & self._damaged
        for damage in self.damage:
            lacking[damage.slots] |= self._slots[damage.slots]
        left_out = tuple(self._export.left_out)
        return DocumentsExported(self._ticket, number, b"", True, left_out, encode_slots(lacking))

    @property
    def damage(self) -> Sequence[DamagedSegmentError]:
        """The segments that turned out to be damaged so far, as errors."""
        return self._export.damaged
