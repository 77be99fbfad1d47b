"""One search from its text to the page of results.

Theory of operation
===================
Stages of questions (`stage`). *Checking*, where a page of results is remembered: has an index changed since?
*Counting* (`statistics_stage`): the statistics of the query's terms, from the peers whose counts are not yet
known. *Searching* (`search_stage`): one multicast with the sums, answered by each peer with its best pages
over the slots it answers for; merged by score, ties by URL (`merged_hits`). A peer on which few pages have
all words sends those with any of them, too, which is the answer where few have all in the mesh. *Reading*
(`excerpt_stage`): excerpts of the pages on the page of results, from peers that know these pages as well as
those that gave them (`witnesses`); a hit that is denied makes room for another.

A search speaks for one *serving epoch*: the statistics and the hits it adds up were made under the same
table of who answers for what, so that each slot is in it once. Who answers under another is asked again
until both agree. When it changes here, a young search begins anew; when an index turns out to be another
than was counted, too, but `RESTARTS_MAX` times only.

*Hedging.* Peers that are late, and those that lack some of their slots, are bridged: the others are asked
for the slots that they are the next best for. What then is taken for an answer is a *plan* (`plan`): all
peers for themselves, or all but the absent ones, for which others stand in. Whatever plan is answered
first and leaves out no slot is the answer; the others are dropped as a whole, so every slot counts once.
Statistics and hits are those of one plan: its stand-ins count, too, before their hits are asked for. When
no plan can be whole, the one with the most slots is taken, when nobody is waited for any more: so an
answerer with missing slots is replaced by stand-ins if they miss fewer, and not otherwise.
`punctuality` says who is bridged from the start, after what time the others are, and how often.

*Aggregators.* A question to many peers goes to the aggregators of groups (`aggregation`), whose reports are
taken as the answers of their members, each of which counts in plans by itself. Their word is enough for hits
that nobody denies and for counts that nobody contradicts. Members are asked themselves where their aggregator
is late, where a hit of the group is denied or of no use, as others in it may have better ones then, and where
it has told something else than is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from math import inf

import msgspec

from mesh.actors.actor import Address, Message, Send
from peers.engine.queries.query import Sort
from peers.engine.queries.query_parser import ParsedQuery as QueryReading
from peers.gateway.aggregation.wire_messages import GroupAnswered
from peers.gateway.errands.errand import Errand
from peers.gateway.model.messages import Coverage, PagesFound, SearchPages
from peers.gateway.search.correction import beside, mistyped_in
from peers.gateway.search.correction_stage import CorrectionStage
from peers.gateway.search.excerpt_stage import ExcerptStage
from peers.gateway.search.hit_list import NOTHING_CLICKED
from peers.gateway.search.merged_hits import MergedHits
from peers.gateway.search.plan import Plan, Share
from peers.gateway.search.relaxation import ENOUGH, Step, steps_of
from peers.gateway.search.result_cache import CachedPage
from peers.gateway.search.search_stage import SearchStage, Sums
from peers.gateway.search.search_task import SearchTask
from peers.gateway.search.shared_state import SharedState
from peers.gateway.search.stage import Stage, slots_spoken_for
from peers.gateway.search.statistics_stage import GenerationStage, StatisticsStage, TermStage
from peers.gateway.search.term_statistics import edition_of
from peers.index.wire_messages import ExcerptsRead, HitsFound, TermsCounted


class Search(Errand):
    """Answers one `SearchPages` by one `PagesFound`: goes from stage to stage, and back where it must."""

    _stage: Stage
    _steps: tuple[Step, ...]  # of the query, by the sums that it was counted with last

    def __init__(
        self,
        number: int,
        me: str,
        order: SearchPages,
        reading: QueryReading,
        view: SharedState,
        cached: CachedPage | None = None,
    ) -> None:
        """Begin.

        Args:
          reading: of the text of the order.
          view: of this peer; its ownership may be replaced while the search runs.
          cached: a page of results that is the answer if no index has changed since.
        """
        super().__init__(number, me, order.ticket)
        self._task = SearchTask(me, order, reading, view, self._number_question)
        self._shared = view
        self._cached = cached
        self._policy = view.policy  # that the page of results is made under
        self._step_number = self._task.cursor.step if self._task.cursor else 0
        self._with_all: int | None = None  # pages that have all words
        self._is_counted = True  # by all shares of the plan, at the last search

    def take_clicks(self, clicked: Mapping[str, float] | None) -> None:
        """Order by the pages that readers open, too; None where nobody tells of them. Before it starts."""
        self._task.clicked = clicked or NOTHING_CLICKED
        self._task.has_clicks = clicked is not None

    def start(self, now: float) -> list[Send]:
        self._task.started = now
        if self._task.span is not None:
            self._task.check_span(now)
        if self._task.query.is_empty:
            return self._end_without_asking()
        return self._check(now) if self._cached else self._count(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        if not isinstance(message, TermsCounted | HitsFound | ExcerptsRead):
            return self._take_group(source, message, now) if isinstance(message, GroupAnswered) else None
        stage = self._stage
        asked = stage.asked_for(source, message)
        if asked is None:
            return None
        stage.take(asked, message, Share(source.peer, asked.absent), now)
        return self._bridge(stage.bridge_incomplete, now) + self._advance(now)

    def wake(self, now: float) -> list[Send]:
        stage = self._stage
        if isinstance(stage, GenerationStage) and now >= stage.late_at:
            return self._count(now)  # which knows what to do with those that are late
        sends = self._advance(now)
        if self._stage is not stage or self.is_done:
            return sends
        return sends + stage.repeat(now) + self._bridge(stage.bridge_late, now)

    def wake_at(self) -> float:
        return inf if self.is_done else self._stage.wake_at()

    def ownership_changed(self, now: float) -> list[Send]:
        if isinstance(self._stage, ExcerptStage) or not self._task.is_young(now):
            return []
        self._shared.restarts += 1
        return self._count(now)

    def _take_group(self, source: Address, message: GroupAnswered, now: float) -> list[Send] | None:
        sends = self._stage.take_group(source, message, now)
        return None if sends is None else sends + self._advance(now)

    def _end_without_asking(self) -> list[Send]:
        """A query without a letter in it matches nothing, wherever one looks."""
        slots = self._shared.ownership.table.slot_count
        coverage = Coverage(slots, slots, 0)
        return self._end(PagesFound(self.ticket, (), 0, 0.0, coverage, (), remarks=self._task.remarks))

    # --- From stage to stage ---------------------------------------------------------------------

    def _advance(self, now: float) -> list[Send]:
        """Begin the next stage if this one is over."""
        stage = self._stage
        stage.update(now)
        if stage.is_waiting_for_all():
            return []
        match stage:
            case GenerationStage():
                return self._end_checking(now)
            case StatisticsStage():
                plan = stage.plan()
                if plan is None:
                    return []
                if not stage.is_whole and (sends := stage.ask_further(now)):
                    return sends
                stage.end(plan)
                return self._search(stage, plan, now)
            case CorrectionStage():
                if stage.is_open:
                    return []
                return stage.ask_further(now) or self._end_correcting(stage, now)
            case SearchStage():
                plan = stage.plan()
                return (
                    self._search_further(stage, now)
                    if plan is None
                    else self._end_searching(stage, plan, now)
                )
            case ExcerptStage():
                return [] if stage.is_open and not stage.is_read() else self._end_reading(stage, now)
        raise AssertionError(stage)

    def _begin(self, stage: Stage, now: float) -> list[Send]:
        """Ask the first questions of a stage, unless it is over before it has begun."""
        self._stage = stage
        sends = stage.begin(now)
        more = self._advance(now)
        return sends + more if self._stage is stage and not self.is_done else more

    def _bridge(self, bridge: Callable[[float], list[Send]], now: float) -> list[Send]:
        """Have others asked; where that makes a plan that is counted already, for their hits at once."""
        stage = self._stage
        before = len(stage.plans)
        sends = bridge(now)
        if len(stage.plans) > before and isinstance(stage, SearchStage):
            sends += self._search_further(stage, now)
        return sends

    def _check(self, now: float) -> list[Send]:
        self._task.ownership = self._shared.ownership
        return self._begin(GenerationStage(self._task, now), now)

    def _end_checking(self, now: float) -> list[Send]:
        page = self._cached
        assert page is not None
        if self._policy is not self._shared.policy or not self._shared.cache.is_current(page, now):
            return self._count(now)
        self._shared.cache.hits += 1
        seconds = now - self._task.started
        return self._end(
            msgspec.structs.replace(page.answer, ticket=self.ticket, seconds=seconds, is_cached=True)
        )

    def _count(self, now: float) -> list[Send]:
        self._task.ownership = self._shared.ownership
        return self._begin(StatisticsStage(self._task, now), now)

    def _search(self, counted: TermStage, plan: Plan, now: float) -> list[Send]:
        """Search with the statistics of this plan."""
        task, statistics = self._task, counted.statistics
        slots = slots_spoken_for(plan, counted.editions_counted)
        sums = Sums(statistics.totals(plan.slots, task.terms), slots)
        if task.may_choose:
            task.choose_words(self._doc_freqs(sums), sums.totals.document_count)
            return self._count(now)
        if task.take_languages(self._doc_freqs(sums)):
            return self._count(now)
        self._is_counted = counted.is_counted(plan)
        # While slots are missing, or a share is late to count, a word may be on a page there.
        if task.may_mend and self._is_counted and slots == task.ownership.table.slot_count:
            task.may_mend = False
            text, n_pages = task.order.text, sums.totals.document_count
            listed = task.view.synonyms.keys() | task.view.user_words  # nobody means another word by them
            doc_freqs = self._doc_freqs(sums)
            mistyped = [each for each in mistyped_in(text, doc_freqs, n_pages) if each.letters not in listed]
            if mistyped:
                rest = beside(text, task.reading.query.required, doc_freqs, mistyped)
                return self._begin(CorrectionStage(task, counted, plan, mistyped, rest, now), now)
        return self._search_by(sums, counted, plan, now)

    def _search_by(self, sums: Sums, counted: TermStage, plan: Plan, now: float) -> list[Send]:
        """Search with these sums over a plan, although indexes may have changed since they were counted."""
        reading, doc_freqs = self._task.reading, self._doc_freqs(sums)
        query = reading.with_native_forms(doc_freqs)
        unquoted = reading.unquoted_with_native_forms(doc_freqs)
        if not self._is_counted:
            doc_freqs = {term: max(n, 1) for term, n in doc_freqs.items()}
        self._steps = steps_of(query, doc_freqs, unquoted)
        return self._search_step(sums, counted, plan, now)

    def _search_step(self, sums: Sums, counted: TermStage, plan: Plan, now: float) -> list[Send]:
        """Search by the next one of the steps."""
        steps, task = self._steps, self._task
        self._step_number = min(self._step_number, len(steps) - 1)
        step, *later = steps[self._step_number : self._step_number + 2]
        further = later[0] if later else None
        stage = SearchStage(task, counted.plans, counted.statistics, plan, sums, step, further, now)
        if isinstance(counted, SearchStage):
            stage.take_further(counted, plan)
        return self._begin(stage, now)

    def _doc_freqs(self, sums: Sums) -> dict[str, int]:
        return dict(zip(self._task.terms, sums.totals.doc_freqs, strict=True))

    def _end_correcting(self, stage: CorrectionStage, now: float) -> list[Send]:
        """Search by the query that was meant where that is sure, by the typed one otherwise."""
        stage.end(stage.plan)
        task = self._task
        is_told_by_all = stage.is_told_by_all
        task.is_mended_by_all = is_told_by_all and not stage.is_disputed
        if stage.is_stale:  # pages that are new may have the word: it is counted anew before it is mended
            task.may_mend = task.may_restart(now)
            return self._count(now)
        is_another = task.take_mended(stage.mended)
        if is_another or not is_told_by_all:  # who was silent may be gone, and others have its slots
            return self._count(now)
        if not stage.is_counted and task.may_restart(now):
            return self._count(now)
        return self._search(stage.counted, stage.plan, now)

    def _search_further(self, stage: SearchStage, now: float) -> list[Send]:
        """Go on with plans that have been counted since: anew, if their counts are different."""
        better = stage.better_plan()
        if better is not None and self._task.may_restart(now):
            return self._search(stage, better, now)
        return stage.search_further(now)

    def _end_searching(self, stage: SearchStage, plan: Plan, now: float) -> list[Send]:
        stage.end(plan)
        if stage.forget_stale(plan) and self._task.may_restart(now):
            return self._count(now)
        is_last = self._step_number + 1 == len(self._steps)
        if not is_last and stage.total(plan) < stage.step.enough:
            self._with_all = stage.total(plan) if stage.step.enough == ENOUGH else None
            self._step_number += 1
            self._shared.fallbacks += 1
            return self._search_step(stage.sums, stage, plan, now)
        return self._read(stage, plan, now)

    def _read(self, searched: SearchStage, plan: Plan, now: float) -> list[Send]:
        self._plan, self._searched = plan, searched
        self._policy = self._shared.policy
        found, step, task = searched.found_by(plan), searched.step, self._task
        self._merged = MergedHits(
            task, plan, found, searched.sums.totals, searched.greatest, step, self._step_number
        )
        if task.reported and (doubtful := searched.doubtful(plan, self._merged.end)):
            return self._ask_directly(searched, doubtful, now)
        if self._merged.is_short and task.may_go_deeper():
            return self._search_step(searched.sums, searched, plan, now)
        page, query, totals = self._merged.to_read, searched.encoded_query, searched.sums.totals
        return self._begin(ExcerptStage(task, searched.plans, page, query, totals, now), now)

    def _ask_directly(self, searched: SearchStage, shares: Set[Share], now: float) -> list[Send]:
        """Go back to searching: these are not to be known on the word of aggregators any longer."""
        self._stage = searched
        return searched.ask_directly(shares, now)

    def _end_reading(self, stage: ExcerptStage, now: float) -> list[Send]:
        plan, searched = self._plan, self._searched
        stage.end(plan)
        if self._policy is not self._shared.policy:  # what has been taken down since is not to be shown
            return self._read(searched, plan, now)
        witnesses = self._task.witnesses
        if stage.disputed:
            doubtful = searched.doubtful(plan, self._merged.end, stage.disputed)
            return self._ask_directly(searched, doubtful, now)
        if stage.has_denials and self._task.may_read_again():
            return self._read(searched, plan, now)
        coverage = self._coverage()
        self._shared.incomplete += coverage.missing > 0
        self._shared.cache.misses += 1
        seconds = now - self._task.started
        is_whole = self._task.is_mended_by_all and self._task.has_clicks
        is_poor = self._merged.is_cut or witnesses.has_denied or not is_whole
        answer = self._merged.answer(stage.excerpt_of, coverage, self._with_all, seconds)
        is_of_now = self._task.span is None
        if (
            not coverage.missing
            and self._task.order.order is Sort.SCORE
            and not self._task.is_in_tail
            and is_of_now
        ):
            self._shared.to_compare = searched.question
        if not coverage.missing and not plan.absent and stage.is_read() and self._is_counted and not is_poor:
            editions = {share: edition_of(found) for share, found in searched.found_by(plan).items()}
            self._shared.cache.keep(self._task.order, answer, editions)
        return self._end(answer)

    def _coverage(self) -> Coverage:
        """Say how many slots are in the answer: counted, else the scores are of others, and searched."""
        slots = self._task.ownership.table.slot_count
        answered = min(
            slots_spoken_for(self._plan, self._searched.editions_found), self._searched.sums.slot_count
        )
        return Coverage(slots, answered, slots - answered)
