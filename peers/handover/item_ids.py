"""The ids of items as `SendItems` lists them: a set that takes eight bytes an id, as many as there may be."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator
from typing import Final

import numpy as np

from mesh.errors import RemoteProtocolError
from peers.handover.wire_messages import ITEM_ID_BYTES

FEW: Final = 16_384  # ids that may take 100 bytes each, for they are found ten times as fast


def item_ids_in(have: bytes) -> Collection[bytes]:
    """Return the ids in a list, which rise.

    Raises:
      RemoteProtocolError: it is no such list.
    """
    if len(have) % ITEM_ID_BYTES:
        raise RemoteProtocolError(f"{len(have)} bytes that are no ids")
    numbers = np.frombuffer(have, f">u{ITEM_ID_BYTES}")
    if (numbers[1:] < numbers[:-1]).any():
        raise RemoteProtocolError("ids that do not rise")
    if len(numbers) > FEW:
        return _SortedIds(have)
    return frozenset(have[at : at + ITEM_ID_BYTES] for at in range(0, len(have), ITEM_ID_BYTES))


class _SortedIds(Collection[bytes]):
    def __init__(self, have: bytes) -> None:
        native = np.frombuffer(have, f">u{ITEM_ID_BYTES}").astype(f"=u{ITEM_ID_BYTES}")
        self._numbers: memoryview[int] = native.data

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[bytes]:
        return (number.to_bytes(ITEM_ID_BYTES, "big") for number in self._numbers)

    def __contains__(self, item_id: object) -> bool:
        assert isinstance(item_id, bytes)
        number = int.from_bytes(item_id, "big")
        at = bisect_left(self._numbers, number)
        return at < len(self._numbers) and self._numbers[at] == number
