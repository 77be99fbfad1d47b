"""News of an index for other actors: slots that have documents, and those that lost some with a segment."""

from __future__ import annotations

from mesh.actors.actor import Message
from mesh.slot_set import SlotMask, encode_slots
from peers.engine.index import Index
from peers.index.messages import SlotsDamaged, SlotsIndexed


def told_at_start(index: Index, slot_count: int) -> list[tuple[str, Message]]:
    """Return the news of an index that was just opened, with its receivers."""
    indexed = SlotsIndexed(encode_slots((index.slots() | index.damaged)[:slot_count]))
    return [*damage_told(index.damaged, slot_count), ("cell", indexed)]


def damage_told(slots: SlotMask, slot_count: int) -> list[tuple[str, Message]]:
    """Return the news that documents of these slots were lost, with its receivers; none without slots."""
    if not slots.any():
        return []
    told = SlotsDamaged(encode_slots(slots[:slot_count]))
    return [("indexer", told), ("cell", told)]


def given_up(index: Index, segment: str, slot_count: int) -> list[tuple[str, Message]]:
    """Put a damaged segment aside, and return the news of it, none if it was not in use. OSError."""
    if index.replaced is not None:
        from peers.index.past_orders import past_given_up

        if told := past_given_up(index, segment):
            return told
    return damage_told(index.put_aside(segment), slot_count)
