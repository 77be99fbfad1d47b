"""The types of fields in messages between peers: plain values with limits, checked while decoding.

A field longer or larger than its limit makes the whole frame a `RemoteProtocolError`, counted against its
sender. Limits of a single conversation stand with its messages, in the file `wire_messages.py` of its room.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from mesh.slot_limits import SLOT_SET_BYTES_MAX, SLOTS_MAX
from mesh.urls import URL_CHARS_MAX

Url: TypeAlias = Annotated[str, Meta(min_length=1, max_length=URL_CHARS_MAX)]
Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=64)]
Key: TypeAlias = Annotated[bytes, Meta(max_length=128)]
Slot: TypeAlias = Annotated[int, Meta(ge=0, lt=SLOTS_MAX)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]
SlotSet: TypeAlias = Annotated[bytes, Meta(max_length=SLOT_SET_BYTES_MAX)]  # `slot_set.encode_slots`
