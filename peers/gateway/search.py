"""One search from its text to the page of results.

Theory of operation
===================
Three rounds of questions. *Counting*: the statistics of the query's terms, from the peers whose counts
are not yet known. *Searching*: one multicast with the sums, answered by each peer with its best pages
over the slots it answers for; merged by score, ties by URL. *Reading*: excerpts of the pages on the
page of results, from the peers that gave them.

A search speaks for one epoch: the statistics and the hits it adds up were made under the same slot
table and live members, so that each slot is in it once. An answer made under another epoch is asked for
once more and then counts as missing. When the epoch changes here, or an index turns out to be newer
than its counts, the search begins anew: `RESTARTS_MAX` times, after that it answers with what it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, auto
from itertools import islice
from math import isfinite
from typing import Final

import msgspec

from mesh.actor import Address, Message, Send
from mesh.messages import (
    HITS_MAX,
    SNIPPETS_MAX,
    CountTerms,
    Excerpt,
    ExcerptsRead,
    Hit,
    HitsFound,
    ReadExcerpts,
    SearchSlots,
    TermsCounted,
)
from mesh.ownership import Ownership
from mesh.urls import host_of
from peers.gateway.errand import Errand
from peers.gateway.messages import Coverage, FoundPage, PagesFound, SearchPages
from peers.gateway.round import Round
from peers.gateway.term_statistics import TermStatistics, total_of
from peers.index.kernels import FIELD_COUNT
from peers.index.query import Mode, Query

COUNTING_S_MAX: Final = 1.0
SEARCHING_S_MAX: Final = 1.0
READING_S_MAX: Final = 0.5
RESTARTS_MAX: Final = 2  # one for a commit, one for a member that came or went


_encoder = msgspec.msgpack.Encoder()


class View:
    """What all searches of a peer share; the searcher keeps it up to date."""

    def __init__(self, ownership: Ownership) -> None:
        self.ownership = ownership
        self.statistics = TermStatistics()
        self.silent: set[str] = set()  # peers that let a limit pass and have not been heard since
        # What `SearcherStatistics` shows of them.
        self.restarts = 0
        self.fallbacks = 0
        self.incomplete = 0
        self.foreign_epochs = 0
        self.hits_refused = 0


class _Phase(Enum):
    COUNTING = auto()
    SEARCHING = auto()
    READING = auto()


class Search(Errand):
    """Answers one `SearchPages` by one `PagesFound`."""

    def __init__(self, number: int, me: str, order: SearchPages, query: Query, view: View) -> None:
        """Begin.

        Args:
          query: the text of the order, parsed.
          view: of this peer; its ownership may be replaced while the search runs.
        """
        super().__init__(number, me, order.ticket)
        self._view = view
        self._query = query
        self._k = min(max(order.k, 1), SNIPPETS_MAX)
        self._offset = min(max(order.offset, 0), HITS_MAX)
        self._restarts_left = RESTARTS_MAX
        self._is_fallback = False

    def start(self, now: float) -> list[Send]:
        self._started = now
        if self._query.is_empty:
            return self._end_without_asking()
        return self._count(now)

    def receive(self, source: Address, message: Message, now: float) -> list[Send] | None:
        # An answer must fit the question: a peer may send anything under its number.
        match self._phase, message:
            case _Phase.COUNTING, TermsCounted() as counted if self._round.accepts(source, counted.request):
                self._take_counts(source.peer, counted)
            case _Phase.SEARCHING, HitsFound() as found if self._round.accepts(source, found.request):
                self._take_hits(source.peer, found)
            case _Phase.READING, ExcerptsRead() as read if self._round.accepts(source, read.request):
                self._take_excerpts(source.peer, read)
            case _:
                return None
        return self._advance(now)

    def wake(self, now: float) -> list[Send]:
        repeated = self._round.wake(now)
        return self._advance(now) or repeated

    def wake_at(self) -> float:
        return self._round.wake_at()

    def ownership_changed(self, now: float) -> list[Send]:
        if self._phase is _Phase.READING or not self._may_restart():
            return []
        return self._count(now)

    def _end_without_asking(self) -> list[Send]:
        """A query without a letter in it matches nothing, wherever one looks."""
        slots = self._view.ownership.table.slot_count
        return self._end(PagesFound(self.ticket, (), 0, 0.0, Coverage(slots, slots, 0), ()))

    # --- Counting --------------------------------------------------------------------------------

    def _count(self, now: float) -> list[Send]:
        self._ownership = self._view.ownership
        self._statistics = self._view.statistics
        peers = self._statistics.lacking(self._ownership.slots_answered, self._query.terms)
        question = CountTerms(self._number_question(), self._query.terms)
        return self._ask(
            _Phase.COUNTING, question.request, dict.fromkeys(peers, question), COUNTING_S_MAX, now
        )

    def _take_counts(self, peer: str, counted: TermsCounted) -> None:
        shape = len(counted.field_lengths), len(counted.doc_freqs)
        if counted.epoch != self._ownership.epoch or shape != (FIELD_COUNT, len(self._query.terms)):
            self._take_as_missing(peer)
            return
        self._statistics.add(peer, self._query.terms, counted)
        self._round.settle(peer)

    # --- Searching -------------------------------------------------------------------------------

    def _search(self, now: float) -> list[Send]:
        terms = self._query.terms
        totals = self._statistics.totals(terms)
        self._generations: Mapping[str, int] = self._statistics.generations(terms)
        self._is_stale = False
        self._found: dict[str, HitsFound] = {}
        question = SearchSlots(
            request=self._number_question(),
            query=_encoder.encode(self._query),
            document_count=totals.document_count,
            field_lengths=totals.field_lengths,
            terms=terms,
            doc_freqs=totals.doc_freqs,
            k=min(self._offset + self._k, HITS_MAX),
        )
        peers = self._ownership.slots_answered
        return self._ask(
            _Phase.SEARCHING, question.request, dict.fromkeys(peers, question), SEARCHING_S_MAX, now
        )

    def _take_hits(self, peer: str, found: HitsFound) -> None:
        if found.epoch != self._ownership.epoch:
            self._take_as_missing(peer)
            return
        if self._generations.get(peer) != found.generation:
            self._statistics.forget(peer)
            self._is_stale = True
        self._found[peer] = found
        self._round.settle(peer)

    def _end_searching(self, now: float) -> list[Send]:
        if self._is_stale and self._may_restart():
            return self._count(now)
        can_fall_back = self._query.mode is Mode.AND and len(self._query.words) > 1
        if can_fall_back and not any(found.total for found in self._found.values()):
            self._query = self._query.with_mode(Mode.OR)
            self._is_fallback = True
            self._view.fallbacks += 1
            return self._count(now)
        return self._read(now)

    # --- Reading ---------------------------------------------------------------------------------

    def _read(self, now: float) -> list[Send]:
        self._excerpts: dict[tuple[str, str], Excerpt] = {}
        self._page = list(islice(self._ranked_hits(), self._offset, self._offset + self._k))
        urls: dict[str, list[str]] = {}
        for peer, hit in self._page:
            urls.setdefault(peer, []).append(hit.url)
        request = self._number_question()
        query = _encoder.encode(self._query)
        questions = {peer: ReadExcerpts(request, query, tuple(of_peer)) for peer, of_peer in urls.items()}
        return self._ask(_Phase.READING, request, questions, READING_S_MAX, now)

    def _ranked_hits(self) -> Iterator[tuple[str, Hit]]:
        """Peer and hit by falling score, ties by URL; without what a peer may not answer for."""
        candidates = [
            (-hit.score, hit.url, peer, hit)
            for peer, found in self._found.items()
            for hit in found.hits
            if isfinite(hit.score)
        ]
        candidates.sort(key=lambda candidate: candidate[:3])
        for _, url, peer, hit in candidates:
            if self._answers_for(peer, url):
                yield peer, hit
            else:
                self._view.hits_refused += 1

    def _answers_for(self, peer: str, url: str) -> bool:
        if not url.startswith(("http://", "https://")) or "/" not in url[8:]:
            return False
        slot = self._ownership.slot_of(host_of(url))
        return self._ownership.answerer_of(slot) == peer

    def _take_excerpts(self, peer: str, read: ExcerptsRead) -> None:
        self._excerpts |= {(peer, excerpt.url): excerpt for excerpt in read.excerpts}
        self._round.settle(peer)

    def _finish(self, now: float) -> list[Send]:
        coverage = self._coverage()
        self._view.incomplete += coverage.missing > 0
        return self._end(
            PagesFound(
                ticket=self.ticket,
                terms=self._query.terms,
                total=total_of(found.total for found in self._found.values()),
                seconds=now - self._started,
                coverage=coverage,
                hits=tuple(self._found_page(peer, hit) for peer, hit in self._page),
                is_fallback=self._is_fallback,
            )
        )

    def _found_page(self, peer: str, hit: Hit) -> FoundPage:
        excerpt = self._excerpts.get((peer, hit.url)) or Excerpt(hit.url, "", "", (), (), 0.0)
        return FoundPage(
            url=hit.url,
            title=excerpt.title,
            snippet=excerpt.snippet,
            highlights=excerpt.highlights,
            title_highlights=excerpt.title_highlights,
            score=hit.score,
            host=host_of(hit.url),
            fetched_at=excerpt.fetched_at,
            peer=peer,
        )

    def _coverage(self) -> Coverage:
        slots = self._ownership.table.slot_count
        answered = sum(self._ownership.slots_answered[peer] for peer in self._found)
        return Coverage(slots, answered, slots - answered)

    # --- All rounds ------------------------------------------------------------------------------

    def _ask(
        self, phase: _Phase, request: int, questions: Mapping[str, Message], limit_s: float, now: float
    ) -> list[Send]:
        self._phase = phase
        self._round = Round(request, "indexer", questions, self._view.silent, now, limit_s)
        return self._advance(now) or self._round.ask()

    def _advance(self, now: float) -> list[Send]:
        """Begin the next round if this one is over."""
        if not self._round.is_over(now):
            return []
        self._view.silent |= self._round.waiting
        match self._phase:
            case _Phase.COUNTING:
                return self._search(now)
            case _Phase.SEARCHING:
                return self._end_searching(now)
            case _Phase.READING:
                return self._finish(now)

    def _take_as_missing(self, peer: str) -> None:
        """Ask a peer of another epoch once more, when the round repeats; then wait no longer."""
        self._view.foreign_epochs += 1
        if self._round.is_repeated:
            self._round.settle(peer)

    def _may_restart(self) -> bool:
        if self._restarts_left == 0:
            return False
        self._restarts_left -= 1
        self._view.restarts += 1
        return True
