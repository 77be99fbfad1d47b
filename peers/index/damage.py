"""The actors that are told that documents were lost with a damaged segment."""

from __future__ import annotations

from mesh.actors.actor import Message
from mesh.slot_set import SlotMask, encode_slots
from peers.index.messages import SlotsDamaged


def damage_told(slots: SlotMask, slot_count: int) -> list[tuple[str, Message]]:
    """Return the news that documents of these slots were lost, with its receivers; none without slots."""
    if not slots.any():
        return []
    told = SlotsDamaged(encode_slots(slots[:slot_count]))
    return [("indexer", told), ("cell", told)]
