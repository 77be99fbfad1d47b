"""A drained peer may leave once others have all that it had."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mesh.membership.membership import MembershipStatistics
from peers.handover.handover import HandoverStatistics
from peers.leave_rule import may_leave
from peers.storage.cell import CellStatistics


def nothing(kind: Any, **values: Any) -> Any:
    return kind(**dict.fromkeys((field.name for field in msgspec.structs.fields(kind)), 0) | values)


def test_who_is_drained_and_has_nothing_left_may_leave() -> None:
    drained = nothing(MembershipStatistics, is_draining=True)
    assert may_leave(drained, nothing(HandoverStatistics), nothing(CellStatistics))


@pytest.mark.parametrize(
    "statistics",
    [
        (nothing(MembershipStatistics), nothing(HandoverStatistics), nothing(CellStatistics)),
        *(
            (
                nothing(MembershipStatistics, is_draining=True, serving=serving),
                nothing(HandoverStatistics, filled=filled),
                nothing(CellStatistics, pending=pending),
            )
            for serving, filled, pending in [(1, 0, 0), (0, 1, 0), (0, 0, 1)]
        ),
    ],
    ids=["not drained", "serves slots", "has rows of slots", "has pages not yet durable everywhere"],
)
def test_who_may_have_what_nobody_else_has_stays_a_member(
    statistics: tuple[MembershipStatistics, HandoverStatistics, CellStatistics],
) -> None:
    assert not may_leave(*statistics)
