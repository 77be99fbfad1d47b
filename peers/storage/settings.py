"""The patience and the limits of a cell, in one value."""

from __future__ import annotations

import msgspec

from mesh.actors.delivery import DeliverySettings
from peers.handover.settings import ExchangeSettings
from peers.storage.cell_store import PART_RECORDS_BYTES
from peers.storage.compaction import CompactionSettings, RetentionSettings
from peers.storage.indexing import IndexingSettings
from peers.storage.scrubber import ScrubSettings


class CellSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and limits of a cell."""

    # Of one member: what it does not answer in 30 s is left to comparison. How many pages wait is bounded by
    # who gives them to us: it waits with others until these are stored.
    pages: DeliverySettings = DeliverySettings(
        again_s=2.0, again_max_s=16.0, give_up_s=30.0, window=256, window_bytes=32 << 20
    )
    # So many slots at a time because a newcomer has none of them, and every group costs some round trips.
    exchange: ExchangeSettings = ExchangeSettings()
    part_bytes: int = PART_RECORDS_BYTES  # of the records in one part of a transfer
    indexing: IndexingSettings = IndexingSettings()
    scrub: ScrubSettings = ScrubSettings()
    compaction: CompactionSettings = CompactionSettings()
    retention: RetentionSettings = RetentionSettings()
    # Replicas waiting for our archive; more are not taken, their owner repeats them.
    replica_bytes_max: int = 64 << 20
    readers_max: int = 256  # gateways waiting for a page; more get no answer and ask another peer
    # Slots that were brought count as synchronised when they are indexed, or after this at the latest: a
    # hundred thousand pages, parsed by one thread.
    index_wait_s: float = 300.0
    entries_per_turn: int = 1_024  # that are forgotten, or marked anew: some milliseconds
    turn_pause_s: float = 0.02  # for messages, and a commit, in between
    repair_again_s: float = 60.0  # until others are asked again for what is damaged, doubled each time
    repair_again_max_s: float = 3_600.0
    repairs_per_look: int = 256  # damaged versions that others are asked for at a time
