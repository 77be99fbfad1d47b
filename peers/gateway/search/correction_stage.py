"""The stage of a search that asks for words like those that may be mistyped."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from mesh.actors.actor import Send
from peers.gateway.search.correction import Mistyped, likeliest, summed
from peers.gateway.search.plan import Plan, Share
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.stage import COUNTING_S_MAX, Answer, AskedRound, Stage, limit_of
from peers.gateway.search.statistics_stage import TermStage
from peers.gateway.search.term_statistics import edition_of
from peers.index.wire_messages import CountTerms, Similar, TermsCounted


class CorrectionStage(Stage):
    """Ask the shares of a plan; those that do not answer in time are not waited for, nor bridged.

    A share tells the likeliest words that it knows. If it knows more, it is asked once again to count those
    that others have told, so that the sums are those of one index with all pages.

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
        self._cut: set[Share] = set()  # that know of more words than they have told
        # Of all words that were told: what they may stand for. Empty while they are being told.
        self._parts: list[dict[str, set[tuple[int, int]]]] = []

    def begin(self, now: float) -> list[Send]:
        return self._ask_shares(self.plan.slots, now)

    def ask_further(self, now: float) -> list[Send]:
        """Have the words that others have told counted by those that left words out, once."""
        shares, self._cut = self._cut, set()
        if self._parts or not self.is_told_by_all:
            return []
        for number in range(len(self._mistyped)):
            parts: defaultdict[str, set[tuple[int, int]]] = defaultdict(set)
            for each in self._summed(number):
                parts[each.word].add((each.start, each.end))
            self._parts.append(parts)
        lacking = [share for share in self.plan.slots if share in shares and self._is_lacking(share)]
        for share in lacking:
            del self._told[share]
        return self._ask_shares(lacking, now)

    def _is_lacking(self, share: Share) -> bool:
        """Have others told words that a share has not?"""
        own = [{each.word for each in similar} for similar in self._told[share]]
        return any(parts.keys() - words for words, parts in zip(own, self._parts, strict=True))

    def _placed(self, counted: Sequence[Sequence[Similar]]) -> tuple[tuple[Similar, ...], ...]:
        """Put the words that a share has counted, each once, back to the parts of the typed one."""
        return tuple(
            tuple(
                msgspec.structs.replace(each, start=start, end=end)
                for each in {each.word: each for each in similar}.values()
                for start, end in sorted(parts.get(each.word, ()))
            )
            for similar, parts in zip(counted, self._parts, strict=True)
        )

    def _ask_shares(self, shares: Iterable[Share], now: float) -> list[Send]:
        words = tuple(each.letters for each in self._mistyped)
        wanted = tuple(map(tuple, self._parts))
        peers = defaultdict(list)
        for share in shares:
            peers[share.absent].append(share.peer)
        sends: list[Send] = []
        for absent, of_absent in peers.items():
            question = CountTerms(self._task.number_question(), (), absent, words, self._beside, wanted)
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
            self._told[share] = self._placed(message.similar) if self._parts else message.similar
            if message.is_cut:
                self._cut.add(share)

    def end(self, plan: Plan) -> None:
        self._shared.punctuality.note_silent(self._waiting())

    @property
    def is_told_by_all(self) -> bool:
        """Has every share of the plan told its words?"""
        return self._told.keys() == set(self.plan.slots)

    def told(self) -> list[tuple[Mistyped, list[Similar]]]:
        """Return the sums of all answers for each word."""
        return [
            (mistyped, likeliest(mistyped.letters, self._summed(number)))
            for number, mistyped in enumerate(self._mistyped)
        ]

    def _summed(self, number: int) -> list[Similar]:
        return summed([self._told[share][number] for share in sorted(self._told)])

    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        return []
