"""Messages that bring visits of pages to the slots of their contents, and counts of them to gateways."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final

import msgspec
from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count, Key
from peers.topics.topic_list import KEPT_MAX, KEY_BYTES, TopicKey

ROWS_MAX: Final = 250  # in one batch: some 10 kB; 40 ms of the longest rows that a member can write
NAME_BYTES: Final = 20  # of `visit_row`
VALUE_BYTES_MAX: Final = 1 + 64 * (KEY_BYTES + 1)
PLACE_BYTES_MAX: Final = 3 + NAME_BYTES
SLICES_TOLD_MAX: Final = KEPT_MAX + 2

Slice = Annotated[int, Meta(ge=0, lt=1 << 32)]


class ToldVisit(msgspec.Struct, frozen=True, array_like=True):
    """One visit of a page; see `visit_row`."""

    name: Annotated[bytes, Meta(min_length=NAME_BYTES, max_length=NAME_BYTES)]
    keys: Annotated[bytes, Meta(max_length=VALUE_BYTES_MAX)]
    levels: Annotated[bytes, Meta(max_length=VALUE_BYTES_MAX)] = b""  # of its content, where it was read

    @property
    def number(self) -> int:
        """The number of its content, that modulo the number of slots is its slot."""
        return int.from_bytes(self.name[:8], "big")


class VisitsTold(Message, frozen=True, array_like=True, tag=160):
    """Visits of a peer to the one that answers for the slots of the contents; repeated until noted."""

    waits_for_company: ClassVar[bool] = True
    batch: Count
    visits: Annotated[tuple[ToldVisit, ...], Meta(max_length=ROWS_MAX)]


class VisitsNoted(Message, frozen=True, array_like=True, tag=161):
    """Promise of the receiver: they are in its store, durably, but for those that it may not keep."""

    is_promise: ClassVar[bool] = True
    waits_for_company: ClassVar[bool] = True
    batch: Count


class SliceCounts(msgspec.Struct, frozen=True, array_like=True):
    """Pages of one slice: all, those with a related string, those with a string of the topic.

    Then the same of contents, each of which counts once in a slice.
    """

    slice: Slice
    pages: Count = 0
    related: Count = 0
    topic: Count = 0
    contents: Count = 0
    related_contents: Count = 0
    topic_contents: Count = 0


class ContentCounts(msgspec.Struct, frozen=True, array_like=True):
    """Contents of all slices together, each of which counts once."""

    contents: Count = 0
    related: Count = 0
    topic: Count = 0


class CountsWanted(Message, frozen=True, array_like=True, tag=162):
    """A gateway to the topics of a peer: give the counts behind this place. By `CountsTold`."""

    request: Count
    key: TopicKey
    epoch: Key  # `Ownership.serving_epoch` by which the gateway asks
    first: Slice  # of the slices that are wanted
    end: Slice  # behind them
    after: Annotated[bytes, Meta(max_length=PLACE_BYTES_MAX)] = b""  # `next` of the answer before


class CountsTold(Message, frozen=True, array_like=True, tag=163):
    """Answer to `CountsWanted`: the sums over the rows of a stretch."""

    request: Count
    epoch: Key  # by which it was answered; where it is another one, nothing is counted
    slices: Annotated[tuple[SliceCounts, ...], Meta(max_length=SLICES_TOLD_MAX)] = ()
    together: ContentCounts = ContentCounts()
    next: Annotated[bytes, Meta(max_length=PLACE_BYTES_MAX)] = b""  # to go on behind; empty at the end
