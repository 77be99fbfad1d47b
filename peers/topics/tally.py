"""The counts of one topic from the rows of visits, a stretch of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from mesh.slot_set import SlotMask
from peers.handover.item_store import Item, ItemStore, key_of, slot_in
from peers.topics.topic_list import KEY_BYTES, TOPIC_LEVEL
from peers.topics.visit_row import CONTENT_BYTES, GROUP_BYTES, levels_in
from peers.topics.wire_messages import ContentCounts, CountsTold, CountsWanted, SliceCounts

ROWS_MAX: Final = 2_000  # of one answer: 4 to 8 ms
_LEVEL_MASK: Final = 3
_IS_COUNTED: Final = 4  # is the content counted among those of all slices?
_IS_COUNTED_IN_SLICE: Final = 8


def counts_told(store: ItemStore, wanted: CountsWanted, epoch: bytes, answers: SlotMask) -> CountsTold:
    """Count the rows behind a place.

    Args:
      epoch: by which it is answered.
      answers: the slots that this peer answers for; others count the rows of all others.
    """
    tally = _Tally(wanted)
    room, place = ROWS_MAX, wanted.after[1:]
    for item in _items_behind(store, place, answers):
        if not room:
            following = tally.state(place) + place
            return CountsTold(wanted.request, epoch, tally.slices(), tally.together(), following)
        room -= 1
        place = key_of(item)
        tally.take(item)
    return CountsTold(wanted.request, epoch, tally.slices(), tally.together())


def _items_behind(store: ItemStore, place: bytes, answers: SlotMask) -> Iterator[Item]:
    """Yield the rows of some slots behind a place, in order, without reading those of others."""
    begun = slot_in(place) if place else -1
    slots: list[int] = np.flatnonzero(answers & store.filled_mask(len(answers))).tolist()
    if begun in slots:
        yield from store.items_of_slot_after(place)
    for slot in slots:
        if slot > begun:
            yield from store.items(slot)


class _Tally:
    """The sums so far, and the content whose rows are being counted."""

    def __init__(self, wanted: CountsWanted) -> None:
        self._key, self._first, self._end = wanted.key, wanted.first, wanted.end
        flags, place = (wanted.after[0] if wanted.after else 0), wanted.after[3:]
        self._group = place[:CONTENT_BYTES]
        self._in_slice = place[CONTENT_BYTES:GROUP_BYTES]
        self._level = min(flags & _LEVEL_MASK, TOPIC_LEVEL)
        self._is_counted, self._is_counted_in_slice = flags & _IS_COUNTED, flags & _IS_COUNTED_IN_SLICE
        self._by_slice: dict[int, list[int]] = {}
        self._together = [0, 0, 0]

    def take(self, item: Item) -> None:
        """Count a row; rows come in the order of their slots and names."""
        name, value = item.name, item.value
        if name[:CONTENT_BYTES] != self._group:
            self._group, self._in_slice = name[:CONTENT_BYTES], b""
            self._level = self._is_counted = self._is_counted_in_slice = 0
        if len(name) == CONTENT_BYTES:
            self._level = levels_in(value).get(self._key, 0)
            return
        in_slice = name[CONTENT_BYTES:GROUP_BYTES]
        number = int.from_bytes(in_slice, "big")
        if not self._first <= number < self._end or not _has_key(value, self._key):
            return
        if in_slice != self._in_slice:
            self._in_slice, self._is_counted_in_slice = in_slice, 0
        counts = self._by_slice.setdefault(number, [0] * 6)
        for level in range(self._level + 1):
            counts[level] += 1
            counts[level + 3] += not self._is_counted_in_slice
            self._together[level] += not self._is_counted
        self._is_counted, self._is_counted_in_slice = _IS_COUNTED, _IS_COUNTED_IN_SLICE

    def state(self, place: bytes) -> bytes:
        """Return all that has to be known to go on behind a place."""
        is_within = place[2 : 2 + CONTENT_BYTES] == self._group
        in_slice = place[2 + CONTENT_BYTES : 2 + GROUP_BYTES] == self._in_slice
        flags = self._level | self._is_counted | (self._is_counted_in_slice if in_slice else 0)
        return bytes([flags if is_within else 0])

    def slices(self) -> tuple[SliceCounts, ...]:
        return tuple(SliceCounts(number, *counts) for number, counts in sorted(self._by_slice.items()))

    def together(self) -> ContentCounts:
        return ContentCounts(*self._together)


def _has_key(value: bytes, key: bytes) -> bool:
    return any(value[place : place + KEY_BYTES] == key for place in range(1, len(value), KEY_BYTES))
