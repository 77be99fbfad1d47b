"""Having a sealed row of an entity kept, and finding one."""

from __future__ import annotations

from collections.abc import Set
from functools import reduce
from typing import Final

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from peers.entities.sealed_row import SealedRow, is_row, joined, slot_of_key
from peers.entities.wire_messages import UNTRUE, KeepSealed, ReadSealed, SealedKept, SealedTold
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.owner_orders import Current, OwnerOrders
from peers.gateway.errands.round import Round
from peers.gateway.model.messages import FindRow, KeepRow, RowAnswered, RowFound

READ_S_MAX: Final = 2.0
_NOBODY: Final[Set[str]] = frozenset()
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


class RowLookup(Errand):
    """Answers one `FindRow` by one `RowFound`: the rows of the team, joined.

    That none has a row is known once each has said so by a policy with entities: who is late may have it.
    """

    def __init__(self, number: int, me: str, order: FindRow, ownership: Ownership) -> None:
        super().__init__(number, me, order.ticket)
        self._public = order.public
        self._rows: list[SealedRow] = []
        team = ownership.team_of(slot_of_key(order.public, ownership.table.slot_count))
        self._team = [peer for peer in team if peer in ownership.alive]
        self._untold = set(self._team) or {""}  # where none lives, nobody can say

    def start(self, now: float) -> list[Send]:
        request = self._number_question()
        questions = dict.fromkeys(self._team, ReadSealed(request, self._public))
        self._round = Round(request, _ACTOR, questions, _NOBODY, now, READ_S_MAX)
        return self._end_if_over(now) or self._round.ask_each()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, SealedTold) or not self._round.accepts(source, message.request):
            return None
        self._round.settle(source.peer)
        if message.is_on:
            self._untold.discard(source.peer)
        if message.row is not None and is_row(self._public, message.row):
            self._rows.append(message.row)
        return self._end_if_over(now)

    def wake(self, now: float) -> list[Send]:
        repeated = self._round.wake(now)
        return self._end_if_over(now) or repeated

    def wake_at(self) -> float:
        return self._round.wake_at()

    def _end_if_over(self, now: float) -> list[Send]:
        if not self._round.is_over(now):
            return []
        row = reduce(joined, self._rows) if self._rows else None
        return self._end(RowFound(self.ticket, not self._untold, row))
