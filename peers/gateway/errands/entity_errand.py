"""Having a sealed row of an entity kept, and finding one."""

from __future__ import annotations

from functools import reduce
from typing import Final

from mesh.actors.actor import Message
from mesh.actors.ownership import Ownership
from peers.entities.sealed_row import SealedRow, is_row, joined, slot_of_key
from peers.entities.wire_messages import UNTRUE, KeepSealed, ReadSealed, SealedKept, SealedTold
from peers.gateway.errands.owner_orders import Current, OwnerOrders
from peers.gateway.errands.team_errand import RowsErrand
from peers.gateway.model.messages import FindRow, KeepRow, RowAnswered, RowFound

_ACTOR: Final = "entities"


class RowErrand(OwnerOrders):
    """Answers one `KeepRow` by one `RowAnswered`."""

    actor = _ACTOR
    silence = "the peers that keep this entity do not answer"

    def __init__(self, number: int, me: str, order: KeepRow, current: Current) -> None:
        slot = slot_of_key(order.public, current().table.slot_count)
        steps = [(slot, lambda request: KeepSealed(request, order.public, order.row))]
        super().__init__(number, me, order.ticket, steps, current)

    def refusal_in(self, message: Message) -> tuple[int, str] | None:
        return (message.request, message.refusal) if isinstance(message, SealedKept) else None

    def answer(self, refusal: str) -> Message:
        return RowAnswered(self.ticket, refusal)

    def nowhere(self) -> Message:
        return self.answer(UNTRUE)


class RowLookup(RowsErrand):
    """Answers one `FindRow` by one `RowFound`: the rows of the team, joined."""

    actor = _ACTOR

    def __init__(self, number: int, me: str, order: FindRow, ownership: Ownership) -> None:
        slot = slot_of_key(order.public, ownership.table.slot_count)
        super().__init__(number, me, order.ticket, slot, ownership)
        self._public = order.public
        self._rows: list[SealedRow] = []

    def _question(self, request: int, peer: str) -> Message:
        return ReadSealed(request, self._public)

    def _request_of(self, message: Message) -> int | None:
        return message.request if isinstance(message, SealedTold) else None

    def _take(self, peer: str, answer: Message) -> None:
        assert isinstance(answer, SealedTold)
        if answer.is_on:
            self._untold.discard(peer)
        if answer.row is not None and is_row(self._public, answer.row):
            self._rows.append(answer.row)

    def _gathered(self) -> Message:
        row = reduce(joined, self._rows) if self._rows else None
        return RowFound(self.ticket, self.is_complete, row)
