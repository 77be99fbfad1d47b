"""Who is told that documents were lost with a damaged segment."""

from __future__ import annotations

from mesh.actor import Message
from mesh.slot_set import SlotMask, encode_slots
from peers.index.messages import SlotsDamaged


def damage_told(slots: SlotMask, slot_count: int) -> list[tuple[str, Message]]:
    """Return who is told that documents of these slots were lost; nobody when there are none."""
    if not slots.any():
        return []
    told = SlotsDamaged(encode_slots(slots[:slot_count]))
    return [("indexer", told), ("cell", told)]
