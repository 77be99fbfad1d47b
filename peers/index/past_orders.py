"""Orders about versions of pages that have been replaced, carried out on an index."""

from __future__ import annotations

import numpy as np

from mesh.actors.actor import Message
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import NO_SLOTS, encode_slots
from peers.engine.index import Index
from peers.engine.past_index import give_up, settle
from peers.index.messages import PastBehind, PastLost, PastSettled, SettlePast, SlotsDamaged


def settle_past(index: Index, order: SettlePast) -> PastSettled:
    """Let just these versions be found. DamagedSegmentError, OSError: repeat it."""
    if index.replaced is None and not any(page.lifetimes for page in order.pages):
        lacking: list[tuple[str, tuple[()]]] = [(page.url, ()) for page in order.pages]
        return PastSettled(tuple(lacking))
    settled = settle(index.past(), order.pages, index.snapshot())
    return PastSettled(tuple((page.url, more) for page, more in zip(order.pages, settled, strict=True)))


def past_given_up(index: Index, segment: str) -> list[tuple[str, Message]]:
    """Give up a damaged segment of replaced versions; return the news of it, none if it is no such."""
    if index.replaced is None or not give_up(index.past(), segment):
        return []
    behind = PastBehind(encode_slots(np.ones(SLOTS_MAX, np.bool_)))  # until the cell has said all anew
    return [("indexer", behind), ("cell", PastLost()), ("indexer", SlotsDamaged(NO_SLOTS))]
