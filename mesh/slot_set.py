"""A set of slots as bytes, for messages: a mask over all slots in as few bytes as it needs.

b"L" then two bytes a slot, big endian, rising     for few slots
b"M" then one bit a slot, the first one highest    for many
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from mesh.errors import RemoteProtocolError
from mesh.slot_limits import SLOTS_MAX

SlotMask: TypeAlias = npt.NDArray[np.bool_]

_LIST: Final = b"L"
_MASK: Final = b"M"

SLOTS_WITHOUT_MASK: Final = 256

NO_SLOTS: Final = _LIST  # the empty set


def encode_slots(mask: SlotMask) -> bytes:
    """Return the shorter of the two forms; equal masks give equal bytes."""
    slots = np.flatnonzero(mask)
    if 2 * len(slots) <= (len(mask) + 7) // 8:
        return _LIST + slots.astype(">u2").tobytes()
    return _MASK + np.packbits(mask).tobytes()


def encode_slot_list(slots: Iterable[int], slot_count: int) -> bytes:
    """Return the same of slots one by one; of a few, without a mask: 1 us instead of 8."""
    slots = sorted(set(slots))
    if len(slots) <= SLOTS_WITHOUT_MASK and 2 * len(slots) <= (slot_count + 7) // 8:
        assert not slots or 0 <= slots[0] <= slots[-1] < slot_count
        return _LIST + struct.pack(f">{len(slots)}H", *slots)
    mask = np.zeros(slot_count, np.bool_)
    mask[slots] = True
    return encode_slots(mask)


def decode_any_slots(encoded: bytes) -> SlotMask:
    """Return a new mask of shape (SLOTS_MAX,), for who does not know how many slots the mesh has.

    Raises:
      RemoteProtocolError: no slot set.
    """
    mask = np.zeros(SLOTS_MAX, np.bool_)
    n_slots = 8 * (len(encoded) - 1) if encoded[:1] == _MASK else SLOTS_MAX
    if n_slots > SLOTS_MAX:
        raise RemoteProtocolError(f"{len(encoded)} bytes that are no slot set")
    mask[:n_slots] = decode_slots(encoded, n_slots)
    return mask


def decode_slots(encoded: bytes, slot_count: int) -> SlotMask:
    """Return a new mask of shape (slot_count,).

    Raises:
      RemoteProtocolError: no slot set, or of a mesh with more slots.
    """
    kind, content = encoded[:1], encoded[1:]
    if kind == _LIST and len(content) % 2 == 0:
        mask = np.zeros(slot_count, np.bool_)
        slots = np.frombuffer(content, ">u2")
        if len(slots) and int(slots.max()) >= slot_count:
            raise RemoteProtocolError(f"slot {int(slots.max())} of a mesh with {slot_count}")
        mask[slots] = True
        return mask
    if kind == _MASK and len(content) == (slot_count + 7) // 8:
        return np.unpackbits(np.frombuffer(content, np.uint8), count=slot_count).view(np.bool_)
    raise RemoteProtocolError(f"{len(encoded)} bytes that are no slot set")
