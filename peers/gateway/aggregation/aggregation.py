"""An errand for another gateway: it asks the members of a group, and tells the best of their answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from math import inf, isfinite
from typing import Final, TypeAlias

from msgspec.structs import replace

from mesh.actors.actor import Address, Message, Send
from mesh.actors.conduct import Offence
from mesh.actors.ownership import Ownership
from mesh.urls import has_host, host_of
from peers.engine.queries.query import Sort
from peers.engine.searching.ranking import RankingWeights, greatest_score
from peers.gateway.aggregation.group_round import place_of
from peers.gateway.aggregation.wire_messages import AskGroup, GroupAnswered
from peers.gateway.errands.errand import Errand
from peers.gateway.errands.round import Round
from peers.index.answerer import query_of, statistics_in
from peers.index.wire_messages import Hit, HitsFound, SearchSlots, TermsCounted

# Twice what an index that is well takes, and less than any gateway waits before it asks others
# (`punctuality.HEDGE_S_MIN`): who is later than this does not make the rest of its group late.
PATIENCE_S: Final = 0.02
ANSWERS_S_MAX: Final = 1.0  # as long as a gateway waits for them
AGGREGATIONS_MAX: Final = 64  # at once, for all gateways: the errands of our own people have room beside them
_WEIGHTS: Final = RankingWeights()  # as all indexes have them

Answers: TypeAlias = dict[str, TermsCounted | HitsFound]  # by member
RefuseHit: TypeAlias = Callable[[str, Offence], None]


class Aggregation(Errand):
    """Answers one `AskGroup` when all have answered, or after a while, and then for each that is late."""

    def __init__(
        self, number: int, gateway: Address, order: AskGroup, ownership: Ownership, refuse_hit: RefuseHit
    ) -> None:
        """Begin.

        Args:
          gateway: the searcher that asks.
          ownership: by which hits are judged; those of members that answer under another are not told.
          refuse_hit: is told the member and the offence of a hit that no honest one gives.
        """
        super().__init__(number, ownership.me, 0)
        self._gateway = gateway
        self._order = order
        self._ownership = ownership
        self._refuse_hit = refuse_hit
        self._answers: Answers = {}  # that have not been told

    def start(self, now: float) -> list[Send]:
        question = replace(self._order.question, request=self._number_question())
        greatest = self._greatest_score()
        self._greatest = greatest or 0.0
        served = self._ownership.slots_answered if greatest is not None else ()
        questions = {peer: question for peer in self._order.members if peer in served}
        self._round = Round(question.request, "indexer", questions, frozenset(), now, ANSWERS_S_MAX)
        self._tell_at, self._ends_at = now + PATIENCE_S, now + ANSWERS_S_MAX
        return self._round.ask_each() if questions else self.refuse("")

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        answer = HitsFound if isinstance(self._order.question, SearchSlots) else TermsCounted
        if not isinstance(message, answer) or not self._round.accepts(source, message.request):
            return None
        self._round.settle(source.peer)
        self._answers[source.peer] = message
        return self.wake(now)

    def wake(self, now: float) -> list[Send]:
        self.is_done = self._round.is_over(now)
        if not self._answers or not (self.is_done or now >= self._tell_at):
            return []
        answers, self._answers = self._answers, {}
        return [self._told(answers)]

    def wake_at(self) -> float:
        return self._tell_at if self._answers else self._ends_at

    def refuse(self, reason: str) -> list[Send]:
        """Have the gateway ask the members itself."""
        self.is_done = True
        return [Send(self._gateway, GroupAnswered(self._order.question.request, ()))]

    def _told(self, answers: Answers) -> Send:
        question = self._order.question
        if isinstance(question, SearchSlots):
            answers = self._best_of(answers, question)
        return Send(self._gateway, GroupAnswered(question.request, tuple(answers.items())))

    def _best_of(self, answers: Answers, question: SearchSlots) -> Answers:
        """Leave the best k hits of all members together, in the order of a gateway."""
        best: dict[str, list[Hit]] = {peer: [] for peer in answers}
        for peer, hit in islice(self._hits_of(answers, question), question.k):
            best[peer].append(hit)
        return {peer: replace(answers[peer], hits=tuple(hits)) for peer, hits in best.items()}

    def _hits_of(self, answers: Mapping[str, Message], question: SearchSlots) -> Iterator[tuple[str, Hit]]:
        """Those that their members may give, the best first; a gateway would blame us for any others."""
        epoch = self._ownership.serving_epoch
        found = [(peer, each) for peer, each in answers.items() if isinstance(each, HitsFound)]
        given = [(peer, hit) for peer, each in found if each.epoch == epoch for hit in each.hits]
        places = [(*place_of(hit), n) for n, (_, hit) in enumerate(given) if isfinite(hit.score)]
        for _, url, n in sorted(places):
            peer, hit = given[n]
            if not has_host(url) or self._answerer_of(url, question.absent) != peer:
                self._refuse_hit(peer, Offence.FOREIGN_HITS)
            elif hit.score > self._greatest:
                self._refuse_hit(peer, Offence.IMPOSSIBLE_SCORES)
            else:
                yield peer, hit

    def _answerer_of(self, url: str, absent: tuple[str, ...]) -> str | None:
        """Return the member that gives the page: its own, or while others are absent in their place."""
        ownership = self._ownership
        owner, *others = ownership.serving.team_of(ownership.slot_of(host_of(url))) or (None,)
        if not absent:
            return owner
        return next((peer for peer in others if peer not in absent), None) if owner in absent else None

    def _greatest_score(self) -> float | None:
        """Return the score that no page can have more of; None where the question cannot be."""
        question = self._order.question
        if not isinstance(question, SearchSlots):
            return inf
        query, statistics = query_of(question.query), statistics_in(question)
        if query is None or statistics is None:
            return None
        if query.order is not Sort.SCORE:
            return inf
        return greatest_score(query.scoring, query.weights, statistics, _WEIGHTS)
