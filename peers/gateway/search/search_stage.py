"""The stage of a search that asks for the best pages, with the statistics of the whole mesh."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from itertools import islice
from math import ceil, inf
from typing import Final, NamedTuple

import msgspec

from mesh.actors.actor import Send
from peers.engine.queries.query import Sort
from peers.gateway.aggregation.group_round import GroupRound, Place, ReportedHits, end_of
from peers.gateway.errands.round import REPEAT_AFTER_S, Round
from peers.gateway.search.merged_hits import greatest_of, hits_of
from peers.gateway.search.plan import NOBODY_ABSENT, Plan, Share
from peers.gateway.search.relaxation import Step
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.stage import SEARCHING_S_MAX, Answer, AskedRound, Reported, slots_spoken_for
from peers.gateway.search.statistics_stage import TermStage
from peers.gateway.search.term_statistics import Edition, TermStatistics, TermTotals, edition_of, total_of
from peers.index.wire_messages import TERMS_MAX, HitsFound, SearchSlots, TermsCounted

# A share with fewer pages than so many times its part of those that are enough searches further at once. Of
# 300 queries on three peers 74 went on; with 1, 1.5 and 3 times, 56, 73 and 74 of them at once, and 49, 30
# and 73 answers were for nothing.
FURTHER_TIMES: Final = 1.5

_encoder = msgspec.msgpack.Encoder()


class Sums(NamedTuple):
    """The statistics that pages are scored with, and of how many slots they are."""

    totals: TermTotals
    slot_count: int


class SearchStage(TermStage):
    """Ask everybody, with the statistics of one plan, and the stand-ins of that and of later ones.

    Attributes:
      step: what is searched.
      sums: the statistics.
      encoded_query: of the step.
      greatest: the score that no page can have more of.
      question: as it was asked last, of the step alone.
      further_query: that of the next step, encoded, of which all are asked for hits in the same message: it
        saves a round where too little is found. Empty where it is not.
    """

    question: SearchSlots

    def __init__(
        self,
        task: SearchTask,
        plans: list[Plan],
        statistics: TermStatistics,
        counted_by: Plan,
        sums: Sums,
        step: Step,
        further: Step | None,
        now: float,
    ) -> None:
        """Begin.

        Args:
          counted_by: the plan whose statistics are used.
          further: what is searched next, where too little is found.
        """
        super().__init__(task, plans, statistics, SEARCHING_S_MAX, now)
        self.step = step
        self.sums = sums
        self.encoded_query = _encoder.encode(step.query)
        self.greatest = greatest_of(task, step.query, sums.totals)
        self._terms, self.further_query = step.query.terms, b""
        # Aggregators know nothing of it, and behind a place there is no further step.
        if further is not None and task.cursor is None and len(plans[0].slots) < task.view.aggregated_from:
            terms = tuple(dict.fromkeys(self._terms + further.query.terms))
            if len(terms) <= TERMS_MAX:
                self._terms, self.further_query = terms, _encoder.encode(further.query)
        doc_freqs = dict(zip(task.terms, sums.totals.doc_freqs, strict=True))
        self._doc_freqs = tuple([doc_freqs[term] for term in self._terms])
        self._counted_by = counted_by
        self._editions = statistics.editions(counted_by.slots, ())
        self._found: dict[Share, HitsFound] = {}
        self._editions_found: dict[Share, Edition] = {}
        self._searched = [NOBODY_ABSENT]
        self._has_doubted = False
        self._doubted: dict[Share, ReportedHits] = {}  # that are asked themselves, instead of being believed
        task.reported = {}

    def begin(self, now: float) -> list[Send]:
        lacking = [share for share in self.plans[0].slots if share not in self._found]
        sends = self._ask_to_search(lacking, self.plans[0], now)
        if self._counted_by.absent:
            sends += self._search_instead(self._counted_by, now)
        return sends

    def take(self, asked: AskedRound, message: Answer, share: Share, now: float) -> None:
        if isinstance(message, TermsCounted):
            self._take_counts(asked, share, message, now)
        elif isinstance(message, HitsFound):
            self._take_hits(asked, share, message, now)

    def take_further(self, before: SearchStage, plan: Plan) -> None:
        """Take the hits that came with those of the step before, if all shares gave them and none stands in.

        Where they do not, all are asked: who lacks slots, or has enough by itself, is so known to be bridged.
        """
        if plan is not self.plans[0] or before.further_query != self.encoded_query:
            return
        told = before.found_by(plan)
        found = {
            share: _further_in(each) for share, each in told.items() if each.further and not each.missing
        }
        if len(found) == len(plan.slots):
            self._found = found
            self._editions_found = {share: edition_of(each) for share, each in found.items()}

    def plan(self) -> Plan | None:
        """The plan that gives the hits of the answer, as soon as there is one."""
        for plan in self.plans:
            if self._is_whole(plan, self.editions_found) and self._is_counted_alike(plan):
                return plan
        return None if self.is_open else self._best_plan(self.editions_found)

    def better_plan(self) -> Plan | None:
        """A plan that has been counted since for every slot, or for more slots, and would score otherwise."""
        for plan in self._unsearched():
            slots = slots_spoken_for(plan, self.editions_counted)
            is_better = slots == self.plans[0].slot_count or slots > self.sums.slot_count
            if is_better and not self._is_counted_alike(plan):
                return plan
        return None

    def search_further(self, now: float) -> list[Send]:
        """Search by the plans that have been counted since."""
        return [send for plan in self._unsearched() for send in self._search_instead(plan, now)]

    def found_by(self, plan: Plan) -> Mapping[Share, HitsFound]:
        """The hits that the shares of a plan have found."""
        return {share: self._found[share] for share in plan.slots if share in self._found}

    def total(self, plan: Plan) -> int:
        """How many pages match, as far as the shares of a plan say."""
        return total_of([found.total for found in self.found_by(plan).values()])

    def doubtful(self, plan: Plan, end: Place, disputed: Set[Share] = frozenset()) -> set[Share]:
        """Return the shares that are to be asked themselves; when it was so before, all that were not.

        An aggregator gives the best hits of a group. Where some of these are of no use, because a plan leaves
        their member out, or they are refused, denied or taken down, worse ones may take their places.

        Args:
          end: the place of the last hit of those merged.
          disputed: shares with hits that are denied.
        """
        reported = self._task.reported
        groups = {reported[share].group for share in disputed}
        groups |= {each.group for each in reported.values() if each.end < end}
        if not groups:
            return set()
        return {
            share
            for share in plan.slots
            if share in reported and (self._has_doubted or reported[share].group in groups)
        }

    def ask_directly(self, shares: Set[Share], now: float) -> list[Send]:
        """Ask shares themselves that are known on the word of aggregators; those are believed no more."""
        sends: list[Send] = []
        self._has_doubted = True
        for share in shares:
            del self._found[share], self._editions_found[share]
            self._doubted[share] = self._task.reported.pop(share)
        self._limit_at = max(self._limit_at, now + REPEAT_AFTER_S)
        self.late_at = now + self._shared.punctuality.hedge_s
        for absent in sorted({share.absent for share in shares}):
            request = self._task.number_question()
            question = msgspec.structs.replace(self.question, request=request, absent=absent, floor=-inf)
            questions = {share.peer: question for share in sorted(shares) if share.absent == absent}
            silent = self._shared.punctuality.silent
            round_ = Round(request, "indexer", questions, silent, now, self._limit_at - now)
            self._asked.append(AskedRound(round_, HitsFound, absent))
            self._shared.punctuality.note_question(request, now, is_test=False)
            sends += round_.ask_each()
        self.update(now)
        return sends

    def editions_found(self, shares: Iterable[Share]) -> Mapping[Share, Edition]:
        """The editions that shares have searched, of those that have answered."""
        found = self._editions_found
        return {share: found[share] for share in shares if share in found}

    def forget_stale(self, plan: Plan) -> bool:
        """Forget the counts of indexes that have changed since; tell whether the plan has such."""
        counted = self.statistics.editions(self._found, ())
        stale = [share for share, edition in self._editions_found.items() if counted.get(share) != edition]
        for share in stale:
            self.statistics.forget(share)
        return any(share in plan.slots for share in stale)

    def _unsearched(self) -> list[Plan]:
        return [plan for plan in self.plans if plan.absent not in self._searched and self.is_counted(plan)]

    def _search_instead(self, plan: Plan, now: float) -> list[Send]:
        self._searched.append(plan.absent)
        return self._ask_to_search(plan.stand_ins(), plan, now)

    def _ask_to_search(self, shares: Iterable[Share], plan: Plan, now: float) -> list[Send]:
        """Ask shares that only this plan has, or all shares."""
        task, totals = self._task, self.sums.totals
        absent = NOBODY_ABSENT if plan is self.plans[0] else plan.absent
        question = SearchSlots(
            request=task.number_question(),
            query=self.encoded_query,
            document_count=totals.document_count,
            field_lengths=totals.field_lengths,
            terms=self._terms,
            doc_freqs=self._doc_freqs,
            k=task.depth(),
            absent=absent,
            wants_facets=task.order.wants_facets,
            floor=self._floor(plan),
        )
        if task.cursor is not None and task.is_in_tail:
            place = task.cursor
            question = msgspec.structs.replace(question, after_score=place.score, after_url=place.url)
        self.question = question
        if self.further_query and plan is self.plans[0]:
            below = min(self.step.enough, ceil(FURTHER_TIMES * self.step.enough / len(plan.slots)))
            question = msgspec.structs.replace(question, further_below=below, further=self.further_query)
        questions = {share.peer: question for share in shares}
        if not questions:
            return []
        return self._ask(question.request, questions, HitsFound, absent, now)

    def _floor(self, plan: Plan) -> float:
        """The least score that counts: so many better hits of other shares of the plan are known already."""
        if self._task.order.order is not Sort.SCORE:
            return -inf
        depth = self._task.depth()
        hits = hits_of(plan, self.found_by(plan), self._task, self.greatest)
        best = list(islice(hits, depth))
        return best[-1][1].score if len(best) == depth else -inf

    def _take_hits(self, asked: AskedRound, share: Share, found: HitsFound, now: float) -> None:
        if found.epoch != self._task.ownership.serving_epoch:
            self._take_as_foreign(asked, share, now)
            return
        edition = self._editions_found[share] = edition_of(found)
        self._shared.cache.note_edition(share, edition, now)
        self._found[share] = found
        doubted = self._doubted.pop(share, None)
        if doubted is not None and doubted.differs_from(found):
            self._shared.mistrust(doubted.aggregator, share.peer)
        asked.round.settle(share.peer)
        self._note_missing(share, found.missing)

    def _take_reported(
        self, asked: AskedRound, aggregator: str, answers: Mapping[str, Reported], now: float
    ) -> Collection[str]:
        round_, reported = asked.round, self._task.reported
        if asked.answer is not HitsFound or not isinstance(round_, GroupRound):
            return super()._take_reported(asked, aggregator, answers, now)
        end = end_of(answers.values(), round_.question)
        for peer, answer in answers.items():
            assert isinstance(answer, HitsFound)
            share, of_share = Share(peer, asked.absent), ReportedHits(aggregator, answer, end)
            if peer in round_.waiting:
                self.take(asked, answer, share, now)
                if self._found.get(share) is answer:
                    reported[share] = of_share
            elif share in self._found and share not in reported and of_share.differs_from(self._found[share]):
                self._shared.mistrust(aggregator, peer)
        return ()

    def _is_counted_alike(self, plan: Plan) -> bool:
        """Were its hits scored by its own statistics? The same pages on another peer give the same ones."""
        if plan is self._counted_by and self._editions == self.statistics.editions(plan.slots, ()):
            return True
        totals = self.statistics.totals(plan.slots, self._task.terms)
        return self.is_counted(plan) and totals == self.sums.totals


def _further_in(found: HitsFound) -> HitsFound:
    """Return the answer to the further query that an answer has."""
    assert found.further is not None
    total, hits, is_exact, facets = msgspec.structs.astuple(found.further)
    return msgspec.structs.replace(
        found, total=total, hits=hits, is_exact=is_exact, facets=facets, further=None
    )
