"""When a drained peer may leave the mesh: nobody waits for it any more then. Pure."""

from __future__ import annotations

from mesh.membership.membership import MembershipStatistics
from peers.handover.handover import HandoverStatistics
from peers.storage.cell import CellStatistics


def may_leave(membership: MembershipStatistics, handover: HandoverStatistics, cell: CellStatistics) -> bool:
    """Tell whether a peer is drained, and others have all that it had."""
    is_drained = membership.is_draining and membership.serving == 0
    return is_drained and handover.is_empty and not cell.pending
