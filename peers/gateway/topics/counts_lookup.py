"""The counts of a topic, added up over all peers; each tells those of a stretch of its rows at a time."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import chain
from math import inf
from operator import add
from typing import Final

from msgspec.structs import astuple

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.model.messages import CountsSummed, CountTopic
from peers.topics.wire_messages import ContentCounts, CountsTold, CountsWanted, SliceCounts

COUNT_S_MAX: Final = 20.0  # 10,000,000 rows a peer, on a machine that has other things to do
ROUND_S_MAX: Final = 3.0
_NOBODY: Final[frozenset[str]] = frozenset()
_PLAIN: Final = SliceCounts(0)


class CountsLookup(Errand):
    """Answers one `CountTopic` by one `CountsSummed`, or says why nobody has counted.

    A peer that tells what it was not asked for lies: its counts are left out, and it is named. So is one that
    does not tell all of its counts in time. What is counted is exact: all contents of the others' slots.
    """

    def __init__(self, number: int, me: str, order: CountTopic, ownership: Callable[[], Ownership]) -> None:
        super().__init__(number, me, order.ticket)
        self._order = order
        self._ownership = ownership
        self._round: Round | None = None
        self._end_s = inf

    def start(self, now: float) -> list[Send]:
        self._end_s = now + COUNT_S_MAX
        order = self._order
        self._behind = max(0, int((now - order.starts_s) // order.slice_s))
        self._first = max(0, self._behind - order.kept)
        return self._begin(now)

    def _begin(self, now: float) -> list[Send]:
        """Begin anew: slots have other answerers, so the sums so far are of no use."""
        ownership = self._ownership()
        self._epoch = ownership.serving_epoch
        self._slices: dict[str, dict[int, SliceCounts]] = {}  # by peer
        self._together: dict[str, ContentCounts] = {}
        self._left_out: dict[str, bool] = {}  # peers that lie, and those that are silent: False
        self._slots = ownership.slots_answered
        self._places = dict.fromkeys(self._slots, b"")  # of those that have more to tell
        if not self._places:
            return self.refuse("nobody answers for any slot")
        return self._ask(now)

    def _ask(self, now: float) -> list[Send]:
        request, order = self._number_question(), self._order
        questions = {
            peer: CountsWanted(request, order.key, self._epoch, self._first, self._behind, place)
            for peer, place in sorted(self._places.items())
        }
        self._round = Round(request, "topics", questions, _NOBODY, now, ROUND_S_MAX)
        return self._round.ask_each()

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        round_ = self._round
        if round_ is None or not isinstance(message, CountsTold):
            return None
        if not round_.accepts(source, message.request):
            return None
        if message.epoch != self._epoch:
            round_.ask_again(source.peer, now)
            return []
        if not all(self._first <= each.slice < self._behind for each in message.slices):
            return self._leave_out(round_, source.peer, now)
        round_.settle(source.peer)
        self._take(source.peer, message)
        if message.next:
            self._places[source.peer] = message.next
        else:
            del self._places[source.peer]
        return self._go_on(now)

    def _leave_out(self, round_: Round, peer: str, now: float) -> list[Send]:
        self._drop(round_, peer, is_liar=True)
        if not (self._together or self._places):
            return self.refuse(f"{peer} counts what was not asked for")
        return self._go_on(now)

    def _drop(self, round_: Round, peer: str, *, is_liar: bool) -> None:
        round_.settle(peer)
        self._left_out[peer] = is_liar
        for told in (self._slices, self._together, self._places):
            told.pop(peer, None)

    def wake(self, now: float) -> list[Send]:
        assert self._round is not None
        is_late = now >= self._end_s
        if not is_late and not self._round.is_over(now):
            return self._round.wake(now)
        late = sorted(self._places if is_late else self._round.waiting)
        for peer in late:
            self._drop(self._round, peer, is_liar=False)
        if not (self._together or self._places):
            return self.refuse(f"no counts of {', '.join(late)}")
        return self._go_on(now)

    def wake_at(self) -> float:
        return self._end_s if self._round is None else min(self._round.wake_at(), self._end_s)

    def ownership_changed(self, now: float) -> list[Send]:
        return [] if self._ownership().serving_epoch == self._epoch else self._begin(now)

    def _go_on(self, now: float) -> list[Send]:
        assert self._round is not None
        if self._round.waiting:
            return []
        if self._places:
            return self._ask(now)
        slices: dict[int, SliceCounts] = {}
        for each in chain.from_iterable(told.values() for told in self._slices.values()):
            slices[each.slice] = _added(slices.get(each.slice, _PLAIN), each)
        together = reduce(_added_contents, self._together.values(), ContentCounts())
        order = self._order
        left_s = order.starts_s + (self._behind + 1) * order.slice_s - now
        told = tuple(slices[number] for number in sorted(slices))
        left_out, silent = (
            tuple(sorted(peer for peer, is_liar in self._left_out.items() if is_liar is wanted))
            for wanted in (True, False)
        )
        missing_share = sum(map(self._slots.__getitem__, self._left_out)) / sum(self._slots.values())
        return self._end(
            CountsSummed(self.ticket, self._behind, told, together, left_s, left_out, silent, missing_share)
        )

    def _take(self, peer: str, told: CountsTold) -> None:
        slices = self._slices.setdefault(peer, {})
        for each in told.slices:
            slices[each.slice] = _added(slices.get(each.slice, _PLAIN), each)
        self._together[peer] = _added_contents(self._together.get(peer, ContentCounts()), told.together)


def _added(one: SliceCounts, other: SliceCounts) -> SliceCounts:
    _, *counts = map(add, astuple(one), astuple(other))
    return SliceCounts(other.slice, *counts)


def _added_contents(one: ContentCounts, other: ContentCounts) -> ContentCounts:
    return ContentCounts(*map(add, astuple(one), astuple(other)))
