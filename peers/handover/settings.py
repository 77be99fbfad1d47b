"""Patience and pace of moving slots: the settings for a person, and those that nobody needs to set."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from peers.handover.wire_messages import COMPARED_SLOTS_MAX


class HandoverSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and pace of moving slots."""

    again_s: Annotated[
        float, Meta(description="what is not answered by then is repeated; doubled each time")
    ] = 0.5
    again_max_s: Annotated[float, Meta(description="up to this pause")] = 4.0
    ask_s: Annotated[float, Meta(description="before a standby asks for what nobody has offered")] = 1.0
    # An answer to a dead peer's last ping may still license it: `SwimSettings.licence_s`, and a tenth for its
    # clock.
    fence_s: Annotated[
        float,
        Meta(description="from when another peer is held for dead until anybody may have its slots"),
    ] = 2.5
    retry_s: Annotated[float, Meta(description="before slots that could not be brought are tried again")] = (
        1.0
    )
    replicate_after_s: Annotated[
        float,
        Meta(description="from the death of a standby until another takes its place; restarts are over then"),
    ] = 20.0
    replicate_bytes_per_s: Annotated[
        float, Meta(description="pace of what is not urgent: a sixth of a gigabit")
    ] = 20e6
    tasks_max: Annotated[int, Meta(description="transfers at a time, per store")] = 4
    differing_s: Annotated[
        float,
        Meta(description="before what is said to differ is compared: most of it is on its way"),
    ] = 4.0
    compare_every_s: Annotated[
        float, Meta(description="how often a standby compares some slots with their owners")
    ] = 20.0
    compare_round_s: Annotated[float, Meta(description="after which it has compared all of them")] = 480.0
    compare_slots_min: Annotated[int, Meta(description="slots that it compares at a time at least")] = 256


class ExchangeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of the exchange of one store; it matters to no user, so nobody configures it."""

    group_slots_max: int = COMPARED_SLOTS_MAX  # compared at a time; at most COMPARED_SLOTS_MAX
    # Of one transfer; each some megabytes in memory; at most `pulling.PARTS_WAITING_MAX`.
    parts_in_flight_max: int = 4
    again_s: float = 2.0  # without any answer until then it is asked again; doubled each time
    tries_max: int = 4  # then the task ends with what it has
    transfers_max: int = 32  # going out at a time; who asks beyond that asks again
    transfers_per_peer_max: int = 8  # to one peer; with more it has lost the oldest
    idle_s: float = 30.0  # after which a transfer that nobody takes is forgotten
