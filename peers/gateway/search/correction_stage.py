"""The stage of a search that asks for words like those that may be mistyped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from mesh.actors.actor import Send
from peers.gateway.search.correction import Mistyped, summed
from peers.gateway.search.plan import Plan, Share
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.stage import COUNTING_S_MAX, Answer, AskedRound, Stage, limit_of
from peers.gateway.search.statistics_stage import TermStage
from peers.gateway.search.term_statistics import edition_of
from peers.index.wire_messages import CountTerms, Similar, TermsCounted


class CorrectionStage(Stage):
    """Ask the shares of a plan; those that do not answer in time are not waited for, nor bridged.

    Attributes:
      counted, plan: what the search goes on with.
      is_stale: True when an index has changed since its terms were counted; they are to be counted anew.
    """

    def __init__(
        self,
        task: SearchTask,
        counted: TermStage,
        plan: Plan,
        mistyped: Sequence[Mistyped],
        beside: tuple[str, ...],
        now: float,
    ) -> None:
        super().__init__(task, [plan], limit_of(task, COUNTING_S_MAX, now), now)
        self.counted, self.plan = counted, plan
        self.is_stale = False
        self._mistyped = mistyped
        self._beside = beside
        self._told: dict[Share, tuple[tuple[Similar, ...], ...]] = {}

    def begin(self, now: float) -> list[Send]:
        words = tuple(each.letters for each in self._mistyped)
        peers = defaultdict(list)
        for share in self.plan.slots:
            peers[share.absent].append(share.peer)
        sends: list[Send] = []
        for absent, of_absent in peers.items():
            question = CountTerms(self._task.number_question(), (), absent, words, self._beside)
            sends += self._ask(
                question.request, dict.fromkeys(of_absent, question), TermsCounted, absent, now
            )
        return sends

    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        assert isinstance(message, TermsCounted)
        if message.epoch != self._task.ownership.serving_epoch:
            self._take_as_foreign(asked, share, now)
            return
        if edition_of(message) != self.counted.statistics.edition(share):
            self.counted.statistics.forget(share)
            self.is_stale = True
        asked.round.settle(share.peer)
        if len(message.similar) == len(self._mistyped) and share in self.plan.slots:
            self._told[share] = message.similar

    def end(self, plan: Plan) -> None:
        self._shared.punctuality.note_silent(self._waiting())

    @property
    def is_told_by_all(self) -> bool:
        """Has every share of the plan told its words?"""
        return self._told.keys() == set(self.plan.slots)

    def told(self) -> list[tuple[Mistyped, list[Similar]]]:
        """Return the sums of all answers for each word."""
        return [
            (mistyped, summed(similar[number] for similar in self._told.values()))
            for number, mistyped in enumerate(self._mistyped)
        ]

    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        return []
