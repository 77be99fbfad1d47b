"""Questions of gateways about the history of a peer, and the answers."""

from __future__ import annotations

from typing import Annotated, Final

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.wire_fields import Count
from peers.history.event import Event
from peers.history.sample import Sample, Span, Time

SAMPLES_MAX: Final = 360
EVENTS_TOLD_MAX: Final = 200


class HistoryWanted(Message, frozen=True, array_like=True, tag=52):
    """A gateway to every historian: how was it in the last so many seconds? Answered by `HistoryTold`.

    Answers are of the last hour, day or 30 days, whichever is long enough.
    """

    request: Count
    span_s: Span


class HistoryTold(Message, frozen=True, array_like=True, tag=53):
    """Answer to `HistoryWanted`, as far as it is remembered; oldest first."""

    request: Count
    samples: Annotated[tuple[Sample, ...], Meta(max_length=SAMPLES_MAX)]
    events: Annotated[tuple[Event, ...], Meta(max_length=EVENTS_TOLD_MAX)]  # the last of them
    wanted_since_s: Time = 0.0  # mesh clock: since when slots are brought here; 0.0 while none is
    wanted_most: Count = 0  # slots to be brought here, at most since then
