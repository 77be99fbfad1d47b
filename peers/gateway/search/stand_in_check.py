"""Comparing the hits of a member with those of its stand-ins, a check that nobody waits for.

A member that keeps pages of its slots to itself gives no hit that a witness could deny. So one search in
`SEARCHES_EACH` is asked again, of one member and of its stand-ins, over the same slots and with the same
statistics: both have the same pages, so both must give the same best hits. What one of them leaves out may be
in a commit that is late; what it leaves out a while later, too, is a contradiction as that of a witness is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import inf
from typing import Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.urls import has_host, host_of
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.gateway.search.doubts import AGAIN_AFTER_S, Doubt
from peers.gateway.search.plan import Share
from peers.gateway.search.shared_state import SharedState
from peers.gateway.search.stage import SEARCHING_S_MAX
from peers.index.wire_messages import Hit, HitsFound, SearchSlots

SEARCHES_EACH: Final = 20


class StandInCheck(Errand):
    """Compares the answers of one member and of its stand-ins, twice if they differ."""

    def __init__(self, number: int, me: str, peer: str, question: SearchSlots, view: SharedState) -> None:
        """Begin.

        Args:
          peer: whose answer is compared.
          question: of a search by score from its beginning.
          view: of this peer.
        """
        super().__init__(number, me, 0)
        self._shared = view
        self._peer = peer
        self._question = replace(question, wants_facets=False, floor=-inf)
        self._differed: set[Doubt] | None = None  # when they were compared before
        self._again_at = inf

    def start(self, now: float) -> list[Send]:
        self._epoch = self._shared.ownership.serving_epoch
        absent = (self._peer,)
        stand_ins = [share.peer for share in self._shared.plan(frozenset(absent)).stand_ins()]
        self._again_at = inf
        self._answers: dict[str, HitsFound] = {}
        self._rounds = [
            self._round((self._peer,), replace(self._question, absent=()), now),
            self._round(stand_ins, replace(self._question, absent=absent), now),
        ]
        if not stand_ins:
            self.is_done = True
            return []
        return [send for each in self._rounds for send in each.ask()]

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, HitsFound):
            return None
        for each in self._rounds:
            if each.accepts(source, message.request):
                each.settle(source.peer)
                self._answers[source.peer] = message
                return self._go_on(now)
        return None

    def wake(self, now: float) -> list[Send]:
        return self.start(now) if now >= self._again_at else self._go_on(now)

    def wake_at(self) -> float:
        if self._again_at < inf:
            return self._again_at
        return min(each.wake_at() for each in self._rounds if each.waiting)

    def ownership_changed(self, now: float) -> list[Send]:
        return self.refuse("")

    def refuse(self, reason: str) -> list[Send]:
        self.is_done = True
        return []

    def _round(self, peers: Sequence[str], question: SearchSlots, now: float) -> Round:
        question = replace(question, request=self._number_question())
        questions = dict.fromkeys(peers, question)
        return Round(question.request, "indexer", questions, frozenset(), now, SEARCHING_S_MAX)

    def _go_on(self, now: float) -> list[Send]:
        if not all(each.is_over(now) for each in self._rounds):
            return [send for each in self._rounds for send in each.wake(now)]
        if any(each.waiting for each in self._rounds) or not all(map(self._is_whole, self._answers.values())):
            return self.refuse("")
        differ = set(self._differences())
        if self._differed is None and differ:
            self._differed, self._again_at = differ, now + AGAIN_AFTER_S
            return []
        self._shared.note_contradictions(sorted(differ & (self._differed or set())), now)
        return self.refuse("")

    def _is_whole(self, answer: HitsFound) -> bool:
        return answer.epoch == self._epoch and not answer.missing and not answer.is_cut

    def _differences(self) -> Iterator[Doubt]:
        """Hits of one side that the other left out, each with its giver and the peer that lacks it."""
        ownership, plan = self._shared.ownership, self._shared.plan(frozenset((self._peer,)))
        own = self._answers[self._peer].hits
        for stand_in, answer in self._answers.items():
            if stand_in == self._peer:
                continue
            yield from (Doubt(url, stand_in, self._peer) for url in self._left_out(answer.hits, own))
            share = Share(stand_in, plan.absent)
            web = (hit for hit in own if has_host(hit.url))
            told = [hit for hit in web if plan.share_of(ownership.slot_of(host_of(hit.url))) == share]
            yield from (Doubt(url, self._peer, stand_in) for url in self._left_out(told, answer.hits))

    def _left_out(self, given: Iterable[Hit], by: Sequence[Hit]) -> Iterator[str]:
        """URLs of hits that are not among others, though there is room for them or worse ones are."""
        known = {hit.url for hit in by}
        worst = by[-1].score if len(by) >= self._question.k else -inf
        return (hit.url for hit in given if hit.score > worst and hit.url not in known and has_host(hit.url))
