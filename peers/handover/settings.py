"""Patience and pace of moving slots: what a person may set."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


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
