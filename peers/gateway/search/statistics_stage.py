"""The stages of a search that count: how often its terms occur, and whether an index has changed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from mesh.actors.actor import Send
from peers.engine.native.kernels import LENGTH_COUNT
from peers.gateway.search.plan import NOBODY_ABSENT, Absent, Plan, Share
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.stage import COUNTING_S_MAX, Answer, AskedRound, Reported, Stage, limit_of
from peers.gateway.search.term_statistics import Edition, TermStatistics, edition_of
from peers.index.wire_messages import CountTerms, TermsCounted

FURTHER_MAX: Final = 2  # times that others are asked because those who were asked have not told all


class TermStage(Stage):
    """A stage in which terms are counted, if not only that.

    Attributes:
      statistics: under the ownership that the search speaks for.
    """

    def __init__(
        self, task: SearchTask, plans: list[Plan], statistics: TermStatistics, limit_s: float, now: float
    ) -> None:
        super().__init__(task, plans, limit_of(task, limit_s, now), now)
        self.statistics = statistics
        # Told by which aggregator, of shares that are asked themselves instead.
        self._doubted_counts: dict[Share, tuple[str, TermsCounted]] = {}

    def is_counted(self, plan: Plan) -> bool:
        return self._slots_told(plan, self.editions_counted) is not None

    def editions_counted(self, shares: Iterable[Share]) -> Mapping[Share, Edition]:
        """The editions of which shares have counted all terms, of those that have."""
        return self.statistics.editions(shares, self._task.terms)

    def end(self, plan: Plan) -> None:
        waiting = self._waiting()
        if not self.is_open:
            self._shared.punctuality.note_silent(waiting)
        else:
            self._shared.bridged += plan.absent != NOBODY_ABSENT
            self._shared.punctuality.note_tardy(waiting.intersection(plan.absent))

    def _ask_to_count(self, shares: Collection[Share], absent: Absent, now: float) -> list[Send]:
        """Ask those shares that have not counted all terms."""
        lacking = self.statistics.lacking(shares, self._task.terms)
        if not lacking:
            return []
        question = CountTerms(self._task.number_question(), self._task.terms, absent)
        questions = {share.peer: question for share in lacking}
        return self._ask(question.request, questions, TermsCounted, absent, now)

    def _ask_stand_ins(self, plan: Plan, now: float) -> list[Send]:
        return self._ask_to_count(plan.stand_ins(), plan.absent, now)

    def _take_counts(self, asked: AskedRound, share: Share, counted: TermsCounted, now: float) -> None:
        if counted.epoch != self._task.ownership.serving_epoch:
            self._take_as_foreign(asked, share, now)
            return
        self._shared.cache.note_edition(share, edition_of(counted), now)
        shape = len(counted.field_lengths), len(counted.doc_freqs)
        if shape == (LENGTH_COUNT, len(self._task.terms)):
            self.statistics.add(share, self._task.terms, counted)
            doubted = self._doubted_counts.pop(share, None)
            if doubted is not None and self._contradicts(share, doubted[1]):
                self._shared.mistrust(doubted[0], share.peer)
            asked.round.settle(share.peer)
            self._note_missing(share, counted.missing)

    def _take_reported(
        self, asked: AskedRound, aggregator: str, answers: Mapping[str, Reported], now: float
    ) -> Collection[str]:
        """Take in counts, as long as they do not contradict those that are known, from any source."""
        waiting, doubted = asked.round.waiting, []
        for peer, answer in answers.items():
            share = Share(peer, asked.absent)
            assert isinstance(answer, TermsCounted)
            if not self._contradicts(share, answer):
                if peer in waiting:
                    self.take(asked, answer, share, now)
            elif peer in waiting:
                self._doubted_counts[share] = aggregator, answer
                doubted.append(peer)
            else:
                self._shared.mistrust(aggregator, peer)
        return doubted

    def _contradicts(self, share: Share, counted: TermsCounted) -> bool:
        """Are these other counts than those known of the share, from the same state of its index?"""
        is_ours = counted.epoch == self._task.ownership.serving_epoch
        return is_ours and self.statistics.contradict(share, self._task.terms, counted)

    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        plan = self._shared.plan(late | self._incomplete | self._known_late())
        is_new = plan not in self.plans and plan.stand_ins() and self._task.hedges_left
        if not is_new or not self._may_hedge(late, now):
            return []
        self._task.hedges_left -= 1
        return self._bridge(plan, now)

    def _known_late(self) -> frozenset[str]:
        """Peers that are left out together with those that are late."""
        return frozenset()


class StatisticsStage(TermStage):
    """Ask for the statistics of those terms of the query that have no known counts yet.

    Counts are shared by all searches, and those of an index that has changed are forgotten with the first
    answer that tells so, be it to another search: then they are asked for again.

    Attributes:
      is_whole: whether the last `plan` speaks for all slots.
    """

    def __init__(self, task: SearchTask, now: float) -> None:
        self.is_whole = True
        self._further_left = FURTHER_MAX
        everybody = task.view.plan(frozenset())
        self._bridged = task.view.plan(task.view.punctuality.tardy)
        plans = [everybody, self._bridged] if self._bridged.stand_ins() else [everybody]
        view, span = task.view, task.span
        statistics = view.statistics if span is None else view.statistics_of(span)
        super().__init__(task, plans, statistics, COUNTING_S_MAX, now)

    def begin(self, now: float) -> list[Send]:
        sends = self._ask_to_count(self.plans[0].slots, NOBODY_ABSENT, now)
        return sends + self._ask_to_count(self._bridged.stand_ins(), self._bridged.absent, now)

    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        assert isinstance(message, TermsCounted)
        self._take_counts(asked, share, message, now)

    def ask_further(self, now: float) -> list[Send]:
        """Where nobody is waited for and no plan is whole: make one of all that have answered.

        Ask for counts that have been forgotten since, and have only the silent bridged, not all that were
        late before.
        """
        if now >= self._limit_at or not self._further_left:
            return []
        silent, sends = self._waiting(), []
        if self._task.hedges_left:
            sends = self._bridge(self._shared.plan(silent), now)
            self._task.hedges_left -= bool(sends)
        asked: dict[Absent, dict[Share, None]] = {}
        for share in (share for plan in self.plans for share in plan.slots if share.peer not in silent):
            asked.setdefault(share.absent, {})[share] = None
        for absent, shares in asked.items():
            sends += self._ask_to_count(shares, absent, now)
        self._further_left -= 1
        self.update(now)
        return sends

    def plan(self) -> Plan | None:
        """The plan to search by, as soon as there is one."""
        tardy = self._shared.punctuality.tardy
        for plan in self.plans:
            is_whole = self._is_whole(plan, self.editions_counted)
            if is_whole and (not tardy or tardy.isdisjoint(share.peer for share in plan.slots)):
                return plan
        if self.is_open:
            return None
        plan = self._best_plan(self.editions_counted)
        self.is_whole = self._is_whole(plan, self.editions_counted)
        return plan

    def _known_late(self) -> frozenset[str]:
        return frozenset(self._shared.punctuality.tardy)


class GenerationStage(Stage):
    """Ask all for their generations: a page of results that was shown before may be right still."""

    def __init__(self, task: SearchTask, now: float) -> None:
        plans = [task.view.plan(frozenset())]
        super().__init__(task, plans, limit_of(task, COUNTING_S_MAX, now), now)

    def begin(self, now: float) -> list[Send]:
        question = CountTerms(self._task.number_question(), ())
        questions = {share.peer: question for share in self.plans[0].slots}
        return self._ask(question.request, questions, TermsCounted, NOBODY_ABSENT, now)

    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        assert isinstance(message, TermsCounted)
        if message.epoch != self._task.ownership.serving_epoch:
            self._take_as_foreign(asked, share, now)
            return
        self._shared.cache.note_edition(share, edition_of(message), now)
        asked.round.settle(share.peer)

    def end(self, plan: Plan) -> None:
        """Nobody is waited for: those that are late are known when they are asked to count."""

    def _ask_instead(self, late: set[str], now: float) -> list[Send]:
        return []
