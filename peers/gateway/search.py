"""One search from its text to the page of results.

Theory of operation
===================
Three rounds of questions. *Counting*: the statistics of the query's terms, from the peers whose counts
are not yet known. *Searching*: one multicast with the sums, answered by each peer with its best pages
over the slots it answers for; merged by score, ties by URL. *Reading*: excerpts of the pages on the
page of results, from the peers that gave them.

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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from math import inf, isfinite
from typing import Final

import msgspec

from mesh.actor import Address, Message, Send
from mesh.messages import (
    HITS_MAX,
    SNIPPETS_MAX,
    CountTerms,
    Excerpt,
    ExcerptsRead,
    FacetCounts,
    Hit,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)
from mesh.urls import host_of
from peers.engine.explanation import Explanation
from peers.engine.kernels import FIELD_COUNT
from peers.engine.model import MODEL_DEPTH, Candidate, explain_mix, scale_of
from peers.engine.query import Order, Reading
from peers.engine.query_language import Oddity, Remark
from peers.engine.ranking import Statistics
from peers.gateway.cursor import decode_cursor, digest_of
from peers.gateway.errand import Errand
from peers.gateway.hit_list import HitList, RankedHit
from peers.gateway.messages import Coverage, FoundPage, PagesFound, Relaxed, SearchPages
from peers.gateway.plan import NOBODY_ABSENT, Absent, Part, Plan
from peers.gateway.relaxation import ENOUGH, steps_of
from peers.gateway.result_cache import CachedPage
from peers.gateway.round import REPEAT_AFTER_S, Round
from peers.gateway.term_statistics import Version, total_of, version_of
from peers.gateway.view import View
from peers.index.facet_counts import most_frequent

COUNTING_S_MAX: Final = 1.0
SEARCHING_S_MAX: Final = 1.0
READING_S_MAX: Final = 0.5
EXPLANATION_DEPTH_MAX: Final = 8  # honest ones have four levels
RESTARTS_MAX: Final = 2  # for commits: an index that changes all the time is not chased
YOUNG_S: Final = 1.5  # so long a search may begin anew; records of several members may change at once


_encoder = msgspec.msgpack.Encoder()
_decode_explanation = msgspec.msgpack.Decoder(Explanation).decode


class _Phase(Enum):
    CHECKING = auto()
    COUNTING = auto()
    SEARCHING = auto()
    READING = auto()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A round under way: what its answers are, and on whose behalf they are given."""

    round: Round
    answer: type[TermsCounted] | type[HitsFound] | type[ExcerptsRead]
    absent: Absent


class Search(Errand):
    """Answers one `SearchPages` by one `PagesFound`."""

    def __init__(
        self,
        number: int,
        me: str,
        order: SearchPages,
        reading: Reading,
        view: View,
        cached: CachedPage | None = None,
    ) -> None:
        """Begin.

        Args:
          reading: of the text of the order.
          view: of this peer; its ownership may be replaced while the search runs.
          cached: a page of results that is the answer if no index has changed since.
        """
        super().__init__(number, me, order.ticket)
        self._view = view
        self._order = order
        self._cached = cached
        self._query = reading.query
        self._terms = reading.query.terms
        self._remarks = reading.remarks
        self._digest = digest_of(order.text, order.order)
        self._cursor = decode_cursor(order.cursor, self._digest) if order.cursor else None
        if order.cursor and self._cursor is None:
            self._remarks += (Remark(Oddity.NO_CURSOR),)
        self._step_number = self._cursor.step if self._cursor else 0
        self._with_all: int | None = None  # pages that have all words
        self._k = min(max(order.k, 1), SNIPPETS_MAX)
        self._offset = min(max(order.offset, 0), HITS_MAX)
        self._restarts_left = RESTARTS_MAX
        self._late_at = inf  # when those that have not answered are late
        self._asked: list[_Asked] = []  # of this phase
        self._open: list[_Asked] = []  # those of them that are not over

    def start(self, now: float) -> list[Send]:
        self._started = now
        if self._query.is_empty:
            return self._end_without_asking()
        return self._check(now) if self._cached else self._count(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        asked = self._asked_for(source, message)
        if asked is None:
            return None
        part = Part(source.peer, asked.absent)
        match message:
            case TermsCounted():
                self._take_counts(asked, part, message, now)
            case HitsFound():
                self._take_hits(asked, part, message, now)
            case ExcerptsRead():
                self._take_excerpts(asked, part, message)
        return self._bridge_incomplete(now) + self._advance(now)

    def wake(self, now: float) -> list[Send]:
        if self._phase is _Phase.CHECKING and now >= self._late_at:
            return self._count(now)  # which knows what to do with those that are late
        asked_before = self._asked
        sends = self._advance(now)
        if self._asked is not asked_before or self.is_done:
            return sends
        for asked in self._asked:
            sends += asked.round.wake(now)
        return sends + self._bridge_late(now)

    def wake_at(self) -> float:
        return min(self._late_at, *(asked.round.wake_at() for asked in self._open), inf)

    def ownership_changed(self, now: float) -> list[Send]:
        if self._phase is _Phase.READING or not self._is_young(now):
            return []
        self._view.restarts += 1
        return self._count(now)

    def _end_without_asking(self) -> list[Send]:
        """A query without a letter in it matches nothing, wherever one looks."""
        slots = self._view.ownership.table.slot_count
        coverage = Coverage(slots, slots, 0)
        return self._end(PagesFound(self.ticket, (), 0, 0.0, coverage, (), remarks=self._remarks))

    # --- Checking --------------------------------------------------------------------------------

    def _check(self, now: float) -> list[Send]:
        """Ask all for their generations."""
        self._ownership = self._view.ownership
        self._plans = [self._view.plan(frozenset())]
        self._begin(_Phase.CHECKING, COUNTING_S_MAX, now)
        question = CountTerms(self._number_question(), ())
        questions = {part.peer: question for part in self._plans[0].slots}
        return self._ask(question.request, questions, TermsCounted, NOBODY_ABSENT, now)

    def _end_checking(self, now: float) -> list[Send]:
        page = self._cached
        assert page is not None
        if not self._view.cache.is_current(page, now):
            return self._count(now)
        self._view.cache.hits += 1
        seconds = now - self._started
        return self._end(
            msgspec.structs.replace(page.answer, ticket=self.ticket, seconds=seconds, is_cached=True)
        )

    # --- Counting --------------------------------------------------------------------------------

    def _count(self, now: float) -> list[Send]:
        self._ownership = self._view.ownership
        self._statistics = self._view.statistics
        everybody = self._view.plan(frozenset())
        bridged = self._view.plan(self._view.punctuality.tardy)
        self._plans = [everybody, bridged] if bridged.stand_ins() else [everybody]
        self._begin(_Phase.COUNTING, COUNTING_S_MAX, now)
        sends = self._ask_to_count(everybody.slots, NOBODY_ABSENT, now)
        sends += self._ask_to_count(bridged.stand_ins(), bridged.absent, now)
        return self._send_or_advance(sends, now)

    def _ask_to_count(self, parts: Iterable[Part], absent: Absent, now: float) -> list[Send]:
        """Ask those parts that have not counted all terms."""
        lacking = self._statistics.lacking(parts, self._terms)
        if not lacking:
            return []
        question = CountTerms(self._number_question(), self._terms, absent)
        questions = {part.peer: question for part in lacking}
        return self._ask(question.request, questions, TermsCounted, absent, now)

    def _take_counts(self, asked: _Asked, part: Part, counted: TermsCounted, now: float) -> None:
        shape = len(counted.field_lengths), len(counted.doc_freqs)
        if counted.epoch != self._ownership.serving_epoch:
            self._take_as_foreign(asked, part, now)
            return
        self._view.cache.note_version(part, version_of(counted), now)
        if self._phase is _Phase.CHECKING:
            asked.round.settle(part.peer)
        elif shape == (FIELD_COUNT, len(self._terms)):
            self._statistics.add(part, self._terms, counted)
            asked.round.settle(part.peer)
            self._note_missing(part, counted.missing)

    def _counted_plan(self) -> Plan | None:
        """The plan to search by, as soon as there is one."""
        tardy = self._view.punctuality.tardy
        for plan in self._plans:
            is_whole = self._is_whole(plan, self._version_counted)
            if is_whole and tardy.isdisjoint(part.peer for part in plan.slots):
                return plan
        return None if self._open else self._best_plan(self._version_counted)

    def _is_counted(self, plan: Plan) -> bool:
        return not self._statistics.lacking(plan.slots, self._terms)

    def _version_counted(self, part: Part) -> Version | None:
        is_known = self._statistics.knows(part, self._terms)
        return self._statistics.version(part) if is_known else None

    # --- Searching -------------------------------------------------------------------------------

    def _search(self, plan: Plan, now: float) -> list[Send]:
        """Ask everybody, with the statistics of this plan, and its stand-ins."""
        self._totals = self._statistics.totals(plan.slots, self._terms)
        steps = steps_of(self._query, dict(zip(self._terms, self._totals.doc_freqs, strict=True)))
        self._step_number = min(self._step_number, len(steps) - 1)
        self._step, self._is_last_step = steps[self._step_number], self._step_number == len(steps) - 1
        self._encoded_query = _encoder.encode(self._step.query)
        self._counted_by = plan
        self._versions = {part: self._statistics.version(part) for part in plan.slots}
        self._found: dict[Part, HitsFound] = {}
        self._searched = [NOBODY_ABSENT]
        self._begin(_Phase.SEARCHING, SEARCHING_S_MAX, now)
        sends = self._ask_to_search(self._plans[0].slots, self._plans[0], now)
        if plan.absent:
            sends += self._search_instead(plan, now)
        return self._send_or_advance(sends, now)

    def _search_instead(self, plan: Plan, now: float) -> list[Send]:
        self._searched.append(plan.absent)
        return self._ask_to_search(plan.stand_ins(), plan, now)

    def _ask_to_search(self, parts: Iterable[Part], plan: Plan, now: float) -> list[Send]:
        """Ask parts that only this plan has, or all parts."""
        absent = NOBODY_ABSENT if plan is self._plans[0] else plan.absent
        question = SearchSlots(
            request=self._number_question(),
            query=self._encoded_query,
            document_count=self._totals.document_count,
            field_lengths=self._totals.field_lengths,
            terms=self._terms,
            doc_freqs=self._totals.doc_freqs,
            k=self._depth(),
            absent=absent,
            wants_facets=self._order.wants_facets,
            floor=self._floor(plan),
        )
        if self._cursor and not self._cursor.is_head:
            place = self._cursor
            question = msgspec.structs.replace(question, after_score=place.score, after_url=place.url)
        questions = {part.peer: question for part in parts}
        return self._ask(question.request, questions, HitsFound, absent, now)

    def _depth(self) -> int:
        """How many hits are asked of each part: one more than is shown tells of a next page."""
        if self._cursor and not self._cursor.is_head:
            return self._k + 1
        # Behind a cursor in the head the page may begin with its last hit.
        wanted = self._k + (MODEL_DEPTH if self._cursor else self._offset)
        return min((wanted if self._order.order is Order.DATE else max(wanted, MODEL_DEPTH)) + 1, HITS_MAX)

    def _floor(self, plan: Plan) -> float:
        """The least score that counts: so many better hits of other parts of the plan are known already."""
        if self._order.order is not Order.SCORE:
            return -inf
        best = list(islice(self._hits(plan), self._depth()))
        return best[-1][1].score if len(best) == self._depth() else -inf

    def _take_hits(self, asked: _Asked, part: Part, found: HitsFound, now: float) -> None:
        if found.epoch != self._ownership.serving_epoch:
            self._take_as_foreign(asked, part, now)
            return
        self._view.cache.note_version(part, version_of(found), now)
        self._found[part] = found
        asked.round.settle(part.peer)
        self._note_missing(part, found.missing)

    def _found_plan(self) -> Plan | None:
        """The plan whose hits are the answer, as soon as there is one."""
        for plan in self._plans:
            if self._is_whole(plan, self._version_found) and self._is_counted_alike(plan):
                return plan
        return None if self._open else self._best_plan(self._version_found)

    def _is_counted_alike(self, plan: Plan) -> bool:
        """Were its hits scored by its own statistics? The same pages on another peer give the same ones."""
        if plan is self._counted_by and self._versions == {
            part: self._statistics.version(part) for part in plan.slots
        }:
            return True
        totals = self._statistics.totals(plan.slots, self._terms)
        return self._is_counted(plan) and totals == self._totals

    def _version_found(self, part: Part) -> Version | None:
        found = self._found.get(part)
        return version_of(found) if found else None

    def _search_further(self, now: float) -> list[Send]:
        """Search by the plans that have been counted since."""
        sends: list[Send] = []
        for plan in self._plans:
            if plan.absent in self._searched or not self._is_counted(plan):
                continue
            has_all_slots = plan.slot_count == self._plans[0].slot_count
            if has_all_slots and not self._is_counted_alike(plan) and self._may_restart(now):
                return self._search(plan, now)
            sends += self._search_instead(plan, now)
        return sends

    def _end_searching(self, plan: Plan, now: float) -> list[Send]:
        self._plan = plan
        self._end_round(plan)
        if self._forget_stale(plan) and self._may_restart(now):
            return self._count(now)
        if not self._is_last_step and self._total() < ENOUGH:
            self._with_all = self._total()
            self._step_number += 1
            self._view.fallbacks += 1
            return self._search(plan, now)
        return self._read(now)

    def _total(self) -> int:
        return total_of(found.total for found in self._answers().values())

    def _forget_stale(self, plan: Plan) -> bool:
        """Forget the counts of indexes that have changed since; tell whether the plan has such."""
        stale = [part for part in self._found if self._statistics.version(part) != self._version_found(part)]
        for part in stale:
            self._statistics.forget(part)
        return any(part in plan.slots for part in stale)

    def _answers(self) -> Mapping[Part, HitsFound]:
        """What came of the parts of the plan."""
        return self._found_by(self._plan)

    def _found_by(self, plan: Plan) -> Mapping[Part, HitsFound]:
        return {part: self._found[part] for part in plan.slots if part in self._found}

    # --- Reading ---------------------------------------------------------------------------------

    def _read(self, now: float) -> list[Send]:
        self._excerpts: dict[tuple[str, str], Excerpt] = {}
        is_tail = self._cursor is not None and not self._cursor.is_head
        has_head = self._order.order is Order.SCORE and not is_tail
        self._scale = scale_of(self._step.query, self._mesh_statistics()) if has_head else None
        # As many as each part gave: what is behind these others may have, too.
        best = list(islice(self._hits(self._plan), self._depth()))
        self._list = HitList(best, self._scale)
        start = self._list.start_of(self._cursor) if self._cursor else self._offset
        self._page = self._list.hits[start : start + self._k]
        self._next = self._next_cursor(start + len(self._page)) if self._page else ""
        self._readers: dict[str, list[str]] = {}  # of whom each page has been asked
        self._begin(_Phase.READING, READING_S_MAX, now)
        sends = self._ask_to_read(((each.part.peer, each.hit.url) for each in self._page), now)
        return self._send_or_advance(sends, now)

    def _next_cursor(self, end: int) -> str:
        """The cursor behind the hit before `end`, "" when nothing is there."""
        has_more = end < len(self._list.hits) or (end >= HITS_MAX and self._total() > end)
        return self._list.cursor_behind(end - 1, self._digest, self._step_number).encode() if has_more else ""

    def _is_exact(self) -> bool:
        return all(found.is_exact for found in self._answers().values())

    def _mesh_statistics(self) -> Statistics:
        """The statistics that hits were scored by."""
        a, b, c, d, e = self._totals.field_lengths
        doc_freqs = dict(zip(self._terms, self._totals.doc_freqs, strict=True))
        return Statistics(self._totals.document_count, (a, b, c, d, e), doc_freqs)

    def _hits(self, plan: Plan) -> Iterator[tuple[Part, Hit]]:
        """Those of a plan's parts that they may answer for, by falling score, ties by URL."""
        given = [(part, hit) for part, found in self._found_by(plan).items() for hit in found.hits]
        places = [(-hit.score, hit.url, n) for n, (_, hit) in enumerate(given) if isfinite(hit.score)]
        part_of: dict[str, Part | None] = {}  # by host
        for _, url, place in sorted(places):
            part, hit = given[place]
            host = host_of(url) if _is_web(url) else ""
            if host not in part_of:
                part_of[host] = plan.part_of(self._ownership.slot_of(host)) if host else None
            if part_of[host] == part:
                yield part, hit
            else:
                self._view.hits_refused += 1

    def _ask_to_read(self, wanted: Iterable[tuple[str, str]], now: float) -> list[Send]:
        """Ask for excerpts.

        Args:
          wanted: peers, and URLs of the page of results.
        """
        urls: dict[str, list[str]] = {}
        for peer, url in wanted:
            urls.setdefault(peer, []).append(url)
            self._readers.setdefault(url, []).append(peer)
        if not urls:
            return []
        request = self._number_question()
        # This peer last: it answers at once, and the others need not wait for that.
        peers = sorted(urls, key=lambda peer: peer == self._me)
        questions = {peer: self._reading_question(request, urls[peer]) for peer in peers}
        return self._ask(request, questions, ExcerptsRead, NOBODY_ABSENT, now)

    def _reading_question(self, request: int, urls: list[str]) -> ReadExcerpts:
        question = ReadExcerpts(request, self._encoded_query, tuple(urls))
        if not self._order.wants_explanations:
            return question
        totals = self._totals
        return msgspec.structs.replace(
            question,
            terms=self._terms,
            doc_freqs=totals.doc_freqs,
            document_count=totals.document_count,
            field_lengths=totals.field_lengths,
        )

    def _take_excerpts(self, asked: _Asked, part: Part, read: ExcerptsRead) -> None:
        for excerpt in read.excerpts:
            if part.peer in self._readers.get(excerpt.url, ()):
                self._excerpts[part.peer, excerpt.url] = excerpt
        asked.round.settle(part.peer)

    def _excerpt_of(self, url: str) -> Excerpt | None:
        return next(
            (self._excerpts[peer, url] for peer in self._readers[url] if (peer, url) in self._excerpts), None
        )

    def _readers_instead(self, late: set[str]) -> list[tuple[str, str]]:
        """Others of the teams, and the URLs whose excerpts these do not send."""
        wanted = []
        for url, readers in self._readers.items():
            if self._excerpt_of(url) is None and late.issuperset(readers):
                team = self._ownership.serving.team_of(self._ownership.slot_of(host_of(url)))
                wanted += [(peer, url) for peer in team if peer not in late][:1]
        return wanted

    def _is_read(self) -> bool:
        return all(self._excerpt_of(url) is not None for url in self._readers)

    def _finish(self, now: float) -> list[Send]:
        coverage = self._coverage()
        self._view.incomplete += coverage.missing > 0
        self._view.cache.misses += 1
        answer = self._answer(coverage, now)
        versions = {part: version_of(found) for part, found in self._answers().items()}
        if not coverage.missing and not self._plan.absent and self._is_read():
            self._view.cache.keep(self._order, answer, versions)
        return self._end(answer)

    def _answer(self, coverage: Coverage, now: float) -> PagesFound:
        return PagesFound(
            ticket=self.ticket,
            terms=self._terms,
            total=self._total(),
            seconds=now - self._started,
            coverage=coverage,
            hits=tuple(map(self._found_page, self._page)),
            is_exact=self._is_exact(),
            relaxed=Relaxed(self._step.nowhere, self._step.is_any, self._with_all),
            remarks=self._remarks,
            facets=self._facets() if self._order.wants_facets else None,
            next=self._next,
            order=self._order.order,
        )

    def _found_page(self, ranked: RankedHit) -> FoundPage:
        url = ranked.hit.url
        excerpt = self._excerpt_of(url) or Excerpt(url, "", "", (), (), 0.0)
        return FoundPage(
            url=url,
            title=excerpt.title,
            snippet=excerpt.snippet,
            highlights=excerpt.highlights,
            title_highlights=excerpt.title_highlights,
            score=ranked.score,
            host=host_of(url),
            fetched_at=excerpt.fetched_at,
            peer=ranked.part.peer,
            date=excerpt.date,
            type=excerpt.type,
            language=excerpt.language,
            explanation=self._explanation(ranked, excerpt.explanation),
        )

    def _explanation(self, ranked: RankedHit, encoded: bytes) -> Explanation | None:
        """Put the parts of the full model on top of what the peer of a page explains."""
        if not encoded:
            return None
        try:
            bm25f = _decode_explanation(encoded)
        except (ValueError, RecursionError):  # DecodeError and UnicodeDecodeError are ValueErrors
            return None
        if not _is_shallow(bm25f, EXPLANATION_DEPTH_MAX):
            return None
        if not ranked.is_head or self._scale is None:
            return bm25f
        candidate = Candidate(ranked.hit.url, ranked.hit.score, ranked.hit.features)
        return explain_mix(candidate, bm25f, self._scale, self._list.newest)

    def _facets(self) -> FacetCounts:
        """Add up what the parts counted."""
        sums: dict[str, Counter[str]] = {name: Counter() for name in FacetCounts.__struct_fields__}
        for found in self._answers().values():
            for name, values in sums.items():
                for value, count in getattr(found.facets, name, ()):
                    values[value] += count
        return FacetCounts(**{name: most_frequent(values) for name, values in sums.items()})

    def _coverage(self) -> Coverage:
        slots = self._ownership.table.slot_count
        answered = _slots_spoken_for(self._plan, self._version_found)
        return Coverage(slots, answered, slots - answered)

    # --- Plans -----------------------------------------------------------------------------------

    def _is_whole(self, plan: Plan, version: Callable[[Part], Version | None]) -> bool:
        """Does it speak for all slots that anybody serves?"""
        return _slots_spoken_for(plan, version) == self._plans[0].slot_count

    def _best_plan(self, version: Callable[[Part], Version | None]) -> Plan:
        """The one that speaks for most slots, of equal ones that with the fewest stand-ins."""
        return max(self._plans, key=lambda plan: _slots_spoken_for(plan, version))

    def _note_missing(self, part: Part, missing: int) -> None:
        if missing and not part.absent:
            self._view.punctuality.note_tardy((part.peer,))
            self._incomplete.add(part.peer)

    def _bridge_incomplete(self, now: float) -> list[Send]:
        """Have others answer for those that have told that they cannot."""
        if not self._incomplete:
            return []
        return self._bridge(self._view.plan(self._incomplete | self._view.punctuality.tardy), now)

    def _bridge_late(self, now: float) -> list[Send]:
        """Have others answer for those that have not yet; again and again, for others may be late then."""
        if now < self._late_at:
            return []
        late = {peer for asked in self._asked for peer in asked.round.waiting}
        self._late_at = now + self._view.punctuality.hedge_s if late else inf
        if self._phase is _Phase.READING:
            wanted = self._readers_instead(late)
            return self._ask_to_read(wanted, now) if wanted and self._may_hedge(late, now) else []
        known_late = self._view.punctuality.tardy if self._phase is _Phase.COUNTING else frozenset()
        plan = self._view.plan(late | self._incomplete | known_late)
        if plan in self._plans or not plan.stand_ins() or not self._may_hedge(late, now):
            return []
        return self._bridge(plan, now)

    def _may_hedge(self, late: set[str], now: float) -> bool:
        asked = len(self._plans[0].slots)
        if self._view.punctuality.may_hedge(late, asked, now - self._began):
            return True
        self._view.hedges_denied += 1
        return False

    def _bridge(self, plan: Plan, now: float) -> list[Send]:
        """Go on with one more plan."""
        if plan in self._plans or not plan.stand_ins():
            return []
        self._view.hedges += 1
        self._plans.append(plan)
        sends = self._ask_to_count(plan.stand_ins(), plan.absent, now)
        return sends + (self._search_further(now) if self._phase is _Phase.SEARCHING else [])

    # --- All rounds ------------------------------------------------------------------------------

    def _begin(self, phase: _Phase, limit_s: float, now: float) -> None:
        self._phase = phase
        self._began = now
        # However often it begins anew, a search ends, and asks for hits as long as an answer may take.
        latest = self._started + COUNTING_S_MAX + SEARCHING_S_MAX
        is_last = phase is _Phase.READING
        self._limit_at = now + (limit_s if is_last else min(limit_s, max(latest - now, REPEAT_AFTER_S)))
        self._late_at = now + self._view.punctuality.hedge_s
        self._asked, self._open = [], []
        self._incomplete: set[str] = set()

    def _ask(
        self,
        request: int,
        questions: Mapping[str, Message],
        answer: type[TermsCounted] | type[HitsFound] | type[ExcerptsRead],
        absent: Absent,
        now: float,
    ) -> list[Send]:
        punctuality = self._view.punctuality
        round_ = Round(request, "indexer", questions, punctuality.silent, now, self._limit_at - now)
        self._asked.append(_Asked(round_, answer, absent))
        if answer is not ExcerptsRead:
            punctuality.note_question(request, now, is_test=answer is HitsFound and not absent)
        return round_.ask()

    def _asked_for(self, source: Address, message: Message) -> _Asked | None:
        """The round that this answers. An answer must fit: a peer may send anything under its number."""
        if not isinstance(message, TermsCounted | HitsFound | ExcerptsRead):
            return None
        for asked in self._asked:
            if isinstance(message, asked.answer) and asked.round.accepts(source, message.request):
                return asked
        return None

    def _send_or_advance(self, sends: list[Send], now: float) -> list[Send]:
        """Send these questions, unless the round is over before it has begun."""
        asked = self._asked
        more = self._advance(now)
        return sends + more if self._asked is asked and not self.is_done else more

    def _advance(self, now: float) -> list[Send]:
        """Begin the next round if this one is over."""
        self._open = [asked for asked in self._asked if not asked.round.is_over(now)]
        if self._is_waiting_for_all():
            return []
        match self._phase:
            case _Phase.CHECKING:
                return self._end_checking(now)
            case _Phase.COUNTING:
                plan = self._counted_plan()
                if plan is None:
                    return []
                self._end_round(plan)
                return self._search(plan, now)
            case _Phase.SEARCHING:
                plan = self._found_plan()
                return self._search_further(now) if plan is None else self._end_searching(plan, now)
            case _Phase.READING:
                if self._open and not self._is_read():
                    return []
                self._end_round(self._plan)
                return self._finish(now)

    def _is_waiting_for_all(self) -> bool:
        """Does the only plan lack an answer? Asked first: it is cheap, and so most of the time."""
        return len(self._plans) == 1 and len(self._asked) == 1 and bool(self._open)

    def _end_round(self, plan: Plan) -> None:
        """Note who let it wait."""
        waiting = {peer for asked in self._asked for peer in asked.round.waiting}
        if not self._open:
            self._view.punctuality.note_silent(waiting)
        elif self._phase is _Phase.READING:
            self._view.punctuality.note_tardy(waiting)
        else:
            self._view.bridged += plan.absent != NOBODY_ABSENT
            self._view.punctuality.note_tardy(waiting.intersection(plan.absent))

    def _take_as_foreign(self, asked: _Asked, part: Part, now: float) -> None:
        """Its tables are not ours, or not yet: soon one of us knows more."""
        self._view.foreign_epochs += 1
        asked.round.ask_again(part.peer, now)

    def _is_young(self, now: float) -> bool:
        return now < self._started + YOUNG_S

    def _may_restart(self, now: float) -> bool:
        if self._restarts_left == 0 or not self._is_young(now):
            return False
        self._restarts_left -= 1
        self._view.restarts += 1
        return True


def _is_web(url: str) -> bool:
    """Has it a host at all?"""
    return url.startswith(("http://", "https://")) and "/" in url[8:]


def _is_shallow(explanation: Explanation, depth: int) -> bool:
    """Is it nested no deeper than this? It comes from a peer, and is shown recursively."""
    return depth > 0 and all(_is_shallow(part, depth - 1) for part in explanation.parts)


def _slots_spoken_for(plan: Plan, version: Callable[[Part], Version | None]) -> int:
    versions = ((slots, version(part)) for part, slots in plan.slots.items())
    return sum(max(slots - of_part.missing, 0) for slots, of_part in versions if of_part is not None)
