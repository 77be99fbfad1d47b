"""A set of slots as bytes, for messages: a mask over all slots in as few bytes as it needs.

b"L" then two bytes a slot, big endian, rising     for few slots
b"M" then one bit a slot, the first one highest    for many
b"E" then what follows                             for those between, as a peer's share of a mesh is

The slots are n numbers of which each is split into its low l bits and what is above. There are l (one byte),
n and how many bytes a mask has (two bytes each, big endian), the low bits of all numbers one after the other,
and a bitmap in which the i-th number has the bit i + what is above; both end with a byte. That is 2 + l bits
a slot: an eighth of 50,000 takes 3.9 kB instead of 6.3, where 3.4, .54 bits for each of all, are the least on
average.

Source: Elias, "Efficient storage and retrieval by content and address of static files", J. ACM 1974.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from mesh.errors import RemoteProtocolError
from mesh.slot_limits import SLOTS_MAX

SlotMask: TypeAlias = npt.NDArray[np.bool_]

_LIST: Final = b"L"
_MASK: Final = b"M"
_SPLIT: Final = b"E"
_SPLIT_HEAD: Final = struct.Struct(">cBHH")
_LOW_BITS_MAX: Final = 15

SLOTS_WITHOUT_MASK: Final = 256
_REMEMBERED: Final = 16  # sets of the third form, some 50 kB each when they are read

NO_SLOTS: Final = _LIST  # the empty set


def encode_slots(mask: SlotMask) -> bytes:
    """Return the shortest form, for a few slots of the first two; equal masks give equal bytes."""
    n_slots = int(np.count_nonzero(mask))
    mask_bytes = (len(mask) + 7) // 8
    if 2 * n_slots <= mask_bytes and n_slots <= SLOTS_WITHOUT_MASK:
        return _LIST + mask.nonzero()[0].astype(">u2").tobytes()
    packed = np.packbits(mask).tobytes()
    is_between = SLOTS_WITHOUT_MASK < n_slots < 4 * mask_bytes  # two bits of each are never spared
    if is_between and (split := _split(packed, n_slots)):
        return split
    if 2 * n_slots <= mask_bytes:
        return _LIST + mask.nonzero()[0].astype(">u2").tobytes()
    return _MASK + packed


# What all stores are to compare, and have compared, is one set: it is made and read once for all of them.
@lru_cache(maxsize=_REMEMBERED)
def _split(packed: bytes, n: int) -> bytes:
    """Return the third form of a mask with so many slots, if it has no more bytes than that, else nothing."""
    (slots,) = np.unpackbits(np.frombuffer(packed, np.uint8)).nonzero()
    last, mask_bytes = int(slots[-1]), len(packed)
    n_low = min(max(((last + 1) // n).bit_length() - 1, 0), _LOW_BITS_MAX)
    above = slots >> n_low
    if _SPLIT_HEAD.size + (n * n_low + 7) // 8 + (int(above[-1]) + n + 7) // 8 > mask_bytes:
        return b""
    low = np.unpackbits(slots.astype(">u2").view(np.uint8)).reshape(n, 16)[:, 16 - n_low :]
    bitmap = np.zeros(int(above[-1]) + n, np.uint8)
    bitmap[above + np.arange(n)] = 1
    head = _SPLIT_HEAD.pack(_SPLIT, n_low, n, mask_bytes)
    return head + np.packbits(low).tobytes() + np.packbits(bitmap).tobytes()


@lru_cache(maxsize=_REMEMBERED)
def _joined(encoded: bytes, slot_count: int) -> npt.NDArray[np.int64]:
    """Return the slots of the third form, for reading only. RemoteProtocolError."""
    if len(encoded) > _SPLIT_HEAD.size:
        _, n_low, n, _ = _SPLIT_HEAD.unpack_from(encoded)
        end = _SPLIT_HEAD.size + (n * n_low + 7) // 8
        (above,) = np.unpackbits(np.frombuffer(encoded[end:], np.uint8)).nonzero()
        if n_low <= _LOW_BITS_MAX and 0 < n == len(above) and above[-1] >> 3 == len(encoded) - end - 1:
            low = np.frombuffer(encoded[_SPLIT_HEAD.size : end], np.uint8)
            bits = np.unpackbits(low, count=n * n_low).reshape(n, n_low)
            slots: npt.NDArray[np.int64] = above - np.arange(n) << n_low
            slots |= bits @ (1 << np.arange(n_low)[::-1])
            if slots[-1] < slot_count and (slots[1:] > slots[:-1]).all():
                return slots
    raise RemoteProtocolError(f"{len(encoded)} bytes that are no slot set")


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
    """Return a new mask of shape (SLOTS_MAX,), for callers that do not know the mesh's number of slots.

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
        try:
            mask[slots] = True
        except IndexError as error:
            raise RemoteProtocolError(f"slot {int(slots.max())} of a mesh with {slot_count}") from error
        return mask
    if kind == _SPLIT:
        mask = np.zeros(slot_count, np.bool_)
        mask[_joined(encoded, slot_count)] = True
        return mask
    if kind == _MASK and len(content) == (slot_count + 7) // 8:
        return np.unpackbits(np.frombuffer(content, np.uint8), count=slot_count).view(np.bool_)
    raise RemoteProtocolError(f"{len(encoded)} bytes that are no slot set")
