"""How many slots there can be; apart from `slots`, so that code that only checks a number loads no numpy."""

from __future__ import annotations

from typing import Final

SLOTS_MAX: Final = 65_536  # a slot fits an unsigned 16-bit number in keys and index segments
SLOT_SET_BYTES_MAX: Final = 1 + SLOTS_MAX // 8  # of `slot_set`: a list that would be longer is sent as a mask
