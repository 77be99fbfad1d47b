"""Patience and pace of moving slots."""

from __future__ import annotations

import msgspec

from peers.handover.wire_messages import COMPARED_SLOTS_MAX


class HandoverSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and pace of moving slots; `peers.sizes` makes them of the patience of a peer."""

    again_s: float = 0.5  # without an answer by then it is asked again; doubled each time
    again_max_s: float = 4.0  # up to this pause
    ask_s: float = 1.0  # before a standby asks for slots that nobody has offered
    # From when another peer is held for dead until anybody may have its slots. An answer to a dead peer's
    # last ping may still license it: `SwimSettings.licence_s`, and a tenth for its clock.
    fence_s: float = 2.5
    # From when a standby hears an owner again until it asks for what it missed. A cell waits 30 s for a page
    # to be kept that was on its way (`CellSettings.pages`).
    reunited_s: float = 35.0
    retry_s: float = 1.0  # before slots that could not be brought are tried again
    # From the death of a standby until another takes its place; restarts are over then.
    replicate_after_s: float = 20.0
    replicate_bytes_per_s: float = 20e6  # pace of work that is not urgent: a sixth of a gigabit
    tasks_max: int = 4  # transfers at a time, per store
    differing_s: float = 4.0  # before slots that are said to differ are compared: most of it is on its way
    # Between two comparisons of some slots by a standby with owners, which cost as much for few as for many.
    compare_every_s: float = 120.0
    compare_round_s: float = 480.0  # after which it has compared all of them
    compare_slots_min: int = 256  # slots that it compares at a time at least


class ExchangeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of the exchange of one store; it matters to no user, so nobody configures it."""

    group_slots_max: int = COMPARED_SLOTS_MAX  # compared at a time; at most COMPARED_SLOTS_MAX
    # Of one transfer; each some megabytes in memory; at most `incoming_transfers.PARTS_WAITING_MAX`.
    parts_in_flight_max: int = 4
    again_s: float = 2.0  # without any answer until then it is asked again; doubled each time
    tries_max: int = 4  # then the task ends with what it has
    transfers_max: int = 32  # going out at a time; who asks beyond that asks again
    transfers_per_peer_max: int = 8  # to one peer; with more it has lost the oldest
    idle_s: float = 30.0  # after which a transfer that nobody takes is forgotten
