"""Whether a search would speak for every slot now, and if not, which peers are waited for."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf

from mesh.actors.actor import Address, Message, Send
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.model.messages import CheckReadiness, Coverage, Lacking, ReadinessTold
from peers.gateway.search.plan import NOBODY_ABSENT, Absent, Plan, Share
from peers.gateway.search.search_task import YOUNG_S
from peers.gateway.search.shared_state import SharedState
from peers.gateway.search.stage import COUNTING_S_MAX
from peers.index.wire_messages import CountTerms, TermsCounted


class Readiness(Errand):
    """Answers one `CheckReadiness` by one `ReadinessTold`.

    All are asked to count no terms at all, which costs an index nothing, and tell how many of their slots
    they lack; then the others, as a search would, for the slots of those that lack some or are silent.
    """

    def __init__(self, number: int, me: str, order: CheckReadiness, view: SharedState) -> None:
        super().__init__(number, me, order.ticket)
        self._shared = view

    def start(self, now: float) -> list[Send]:
        self._started = now
        return self._begin(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, TermsCounted) or not self._round.accepts(source, message.request):
            return None
        if message.epoch != self._ownership.serving_epoch:
            self._round.ask_again(source.peer, now)
            return []
        self._missing[Share(source.peer, self._absent)] = message.missing
        self._round.settle(source.peer)
        return self._advance(now)

    def wake(self, now: float) -> list[Send]:
        if self._round.is_over(now):
            return self._advance(now)
        return self._round.wake(now)

    def wake_at(self) -> float:
        return self._round.wake_at() if not self.is_done else inf

    def ownership_changed(self, now: float) -> list[Send]:
        if now < self._started + YOUNG_S:
            return self._begin(now)
        return self._end(self._told(self._own))

    def _begin(self, now: float) -> list[Send]:
        self._ownership = self._shared.ownership
        self._missing: dict[Share, int] = {}  # slots that a share lacks; of those that have answered
        self._own = self._shared.plan(frozenset())
        return self._ask(self._own.slots, NOBODY_ABSENT, now)

    def _ask(self, shares: Iterable[Share], absent: Absent, now: float) -> list[Send]:
        self._absent = absent
        question = CountTerms(self._number_question(), (), absent)
        questions = {share.peer: question for share in shares}
        silent = self._shared.punctuality.silent
        self._round = Round(question.request, "indexer", questions, silent, now, COUNTING_S_MAX)
        return self._round.ask() + self._advance(now)

    def _advance(self, now: float) -> list[Send]:
        """Ask others once for the slots that are missing; then tell the readiness."""
        if not self._round.is_over(now):
            return []
        bridge = self._shared.plan({share.peer for share in self._own.slots if self._lacks(share)})
        if self._absent == NOBODY_ABSENT and bridge.stand_ins():
            return self._ask(bridge.stand_ins(), bridge.absent, now)
        return self._end(self._told(bridge))

    def _lacks(self, share: Share) -> int:
        """How many of its slots a share does not answer for: all when it has said nothing."""
        slots = self._own.slots[share]
        return min(self._missing.get(share, slots), slots)

    def _told(self, bridge: Plan) -> ReadinessTold:
        slots = self._ownership.table.slot_count
        answered = max(self._spoken_for(self._own), self._spoken_for(bridge))
        if answered == slots:
            return ReadinessTold(self.ticket, Coverage(slots, slots, 0))
        lacking = [
            Lacking(share.peer, self._lacks(share), share in self._missing)
            for share in self._own.slots
            if self._lacks(share)
        ]
        unserved = slots - self._own.slot_count
        return ReadinessTold(
            self.ticket, Coverage(slots, answered, slots - answered), tuple(lacking), unserved
        )

    def _spoken_for(self, plan: Plan) -> int:
        return sum(max(slots - self._missing.get(share, slots), 0) for share, slots in plan.slots.items())
