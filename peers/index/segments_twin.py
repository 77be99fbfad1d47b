"""The port "segments" of a simulation, which carries out its orders at once."""

from __future__ import annotations

from mesh.actors.actor import Message
from mesh.errors import LocalProtocolError
from mesh.slot_set import NO_SLOTS, decode_slots
from peers.engine.files.errors import CorruptIndexError, DamagedSegmentError
from peers.engine.index import Index
from peers.engine.merging.adoption import check_segment
from peers.handover.wire_messages import BULK_BYTES_MAX
from peers.index.commit import commit_documents
from peers.index.damage import given_up, told_at_start
from peers.index.export_parts import ExportParts
from peers.index.messages import (
    AdoptDocuments,
    CommitDocuments,
    DocumentsAdopted,
    DocumentsCommitted,
    ExportDocuments,
    GiveUpSegment,
    NextDocuments,
    SettlePast,
    SlotsDamaged,
    SlotsRepaired,
    StopExport,
)


class SegmentsTwin:
    """Takes the messages of the port and returns its answers, each with the actor it is for."""

    def __init__(self, index: Index, slot_count: int) -> None:
        """Commit to an index in memory (`Index(MemoryStorage())`) of a mesh with so many slots."""
        self._index = index
        self._slot_count = slot_count
        self._exports: dict[int, ExportParts] = {}

    def begin(self) -> list[tuple[str, Message]]:
        """Return the news that the port sends when it starts to run."""
        return told_at_start(self._index, self._slot_count)

    def receive(self, message: Message) -> list[tuple[str, Message]]:
        try:
            return self._carry_out(message)
        except DamagedSegmentError as damage:
            return [*self._give_up(damage.segment), *self.receive(message)]

    def _carry_out(self, message: Message) -> list[tuple[str, Message]]:
        match message:
            case CommitDocuments():
                generation = commit_documents(self._index, message)
                self._index.merge_if_needed()
                return [("indexer", DocumentsCommitted(message.batch, generation))]
            case ExportDocuments(ticket):
                snapshot, damaged = self._index.snapshot(), self._index.damaged
                self._exports[ticket] = ExportParts(snapshot, damaged, message, self._slot_count)
                return self._export(ticket)
            case NextDocuments(ticket):
                return self._export(ticket)
            case StopExport(ticket):
                self._exports.pop(ticket, None)
                return []
            case AdoptDocuments(ticket, slots, content, removed):
                try:
                    segment = check_segment(content, decode_slots(slots, self._slot_count), BULK_BYTES_MAX)
                except CorruptIndexError:
                    return [("cell", DocumentsAdopted(ticket, self._index.generation, ()))]
                pages = self._index.adopt_checked(segment, dict(removed))
                return [("cell", DocumentsAdopted(ticket, self._index.commit(), tuple(pages)))]
            case GiveUpSegment(segment):
                told = self._give_up(segment)
                return told or [("indexer", SlotsDamaged(NO_SLOTS))]
            case SlotsRepaired(slots):
                self._index.mend(decode_slots(slots, self._slot_count))
                return []
            case SettlePast():
                from peers.index.past_orders import settle_past

                return [("cell", settle_past(self._index, message))]
        raise LocalProtocolError(f"segments does not understand {type(message).__name__}")

    def _give_up(self, segment: str) -> list[tuple[str, Message]]:
        return given_up(self._index, segment, self._slot_count)

    def _export(self, ticket: int) -> list[tuple[str, Message]]:
        export = self._exports.get(ticket)
        if export is None:
            return []
        part = export.next()
        told: list[tuple[str, Message]] = [("cell", part)]
        if part.is_last:
            del self._exports[ticket]
            for damage in export.damage:
                told += self._give_up(damage.segment)
        return told
