"""The answers of all shares of a plan made into one page of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from math import inf, isfinite
from operator import attrgetter
from typing import Final, TypeAlias

import msgspec

from mesh.actors.conduct import Offence
from mesh.urls import has_host, host_of, is_canonical
from peers.engine.pages.suggested_texts import typed_key
from peers.engine.queries.query import Query, Sort
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.queries.query_parser import unquoted_oddity
from peers.engine.rescoring.explanation import Explanation
from peers.engine.rescoring.model import Candidate, ModelWeights, explain_mix, scale_of
from peers.engine.searching.ranking import CollectionStatistics, RankingWeights, greatest_score
from peers.gateway.aggregation.group_round import BEHIND_ALL
from peers.gateway.model.member_lines import harmless
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound, Relaxed
from peers.gateway.search.hit_list import Draft, HitList, RankedHit
from peers.gateway.search.plan import Plan, Share
from peers.gateway.search.relaxation import Step
from peers.gateway.search.search_task import DEFINED_AMONG, SearchTask
from peers.gateway.search.term_statistics import TermTotals, total_of
from peers.index.facet_counts import most_frequent
from peers.index.wire_messages import (
    FACET_CLASSES_MAX,
    SNIPPETS_MAX,
    Excerpt,
    FacetCounts,
    Hit,
    HitsFound,
)
from peers.policy.rules import Policy

NAMED_AMONG: Final = 3  # of the first hits, one that has the typed name
_WEIGHTS: Final = RankingWeights()  # as all indexes have them
EXPLANATION_DEPTH_MAX: Final = 8  # honest ones have four levels

ExcerptOf: TypeAlias = Callable[[str], Excerpt | None]  # of a URL on the page; None when nobody sent it

# In C: there is an answer of each peer.
_IS_EXACT: Final = attrgetter("is_exact")
_IS_CUT: Final = attrgetter("is_cut")
_decode_explanation = msgspec.msgpack.Decoder(Explanation).decode


def hits_of(
    plan: Plan, found: Mapping[Share, HitsFound], task: SearchTask, greatest: float
) -> Iterator[tuple[Share, Hit]]:
    """Those of a plan's shares that they may answer for, by falling score, ties by URL.

    Neither what the policy takes down is among them, though an index may still have it, nor what a witness
    denies.

    Args:
      greatest: the score that no page can have more of, by the statistics that hits were scored by.
    """
    given = [(share, hit) for share, answer in found.items() for hit in answer.hits]
    places = [(-hit.score, hit.url, n) for n, (_, hit) in enumerate(given) if isfinite(hit.score)]
    share_of: dict[str, Share | None] = {}  # by host
    is_past = task.span is not None
    policy, witnesses = task.view.policy, task.witnesses
    takes_down, has_denied = policy.takes_down, witnesses.has_denied
    for _, url, place in sorted(places):
        share, hit = given[place]
        page = url.partition(" ")[0] if is_past else url
        host = host_of(page) if has_host(page) else ""
        if host not in share_of:
            share_of[host] = plan.share_of(task.ownership.slot_of(host)) if host else None
        if share_of[host] != share:
            task.view.refuse_hit(_giver_of(share, task), Offence.FOREIGN_HITS)
        elif hit.score > greatest:
            task.view.refuse_hit(_giver_of(share, task), Offence.IMPOSSIBLE_SCORES)
        elif not (
            (takes_down and _is_taken_down(page, policy)) or (has_denied and witnesses.hides(url, share.peer))
        ):
            yield share, hit


def _is_taken_down(url: str, policy: Policy) -> bool:
    """Is it taken down, or another spelling that no index has, of a page that may be?"""
    return policy.is_taken_down(url) or not is_canonical(url)


def _giver_of(share: Share, task: SearchTask) -> str:
    """Return the peer that has said so: aggregators refuse such hits, and report none of them."""
    reported = task.reported.get(share)
    return reported.aggregator if reported else share.peer


def greatest_of(task: SearchTask, query: Query, totals: TermTotals) -> float:
    """Return the score that no page can have more of; no bound where hits are not ordered by scores."""
    if task.order.order is not Sort.SCORE:
        return inf
    return greatest_score(query.scoring, query.weights, statistics_of(task, totals), _WEIGHTS)


def statistics_of(task: SearchTask, totals: TermTotals) -> CollectionStatistics:
    """The counts of the terms of a search, in the form that ranking takes."""
    a, b, c, d, e = totals.field_lengths
    doc_freqs = dict(zip(task.terms, totals.doc_freqs, strict=True))
    return CollectionStatistics(totals.document_count, (a, b, c, d, e), doc_freqs)


def _draft_of(task: SearchTask) -> Draft | None:
    """Return the draft of the order by the second ranking of the policy; None where it has none."""
    rules = task.view.policy.query_log
    if rules is None or rules.second is None:
        return None
    return Draft(ModelWeights(**rules.second.weights.given), task.searched_text, task.order.draw)


class MergedHits:
    """The hits of a plan in one order, and the page of them that was asked for.

    Attributes:
      page: its hits, in order.
      to_read: the same, and what stands under them.
      end: behind it, there may be further hits.
    """

    def __init__(
        self,
        task: SearchTask,
        plan: Plan,
        found: Mapping[Share, HitsFound],
        totals: TermTotals,
        greatest: float,
        step: Step,
        step_number: int,
    ) -> None:
        """Put into order.

        Args:
          found: what came of the shares of the plan.
          totals: the statistics that hits were scored by.
          greatest: as for `hits_of`.
          step: what was searched, and its number among the query's.
        """
        self._task = task
        self._found = found
        self._step = step
        has_head = task.order.order is Sort.SCORE and not task.is_in_tail
        self._scale = scale_of(step.query, statistics_of(task, totals)) if has_head else None
        # As many as each share gave: what is behind these others may have, too.
        depth = task.depth()
        hits = list(islice(hits_of(plan, found, task, greatest), depth))
        self._goes_on = len(hits) == depth
        self.end = (-hits[-1][1].score, hits[-1][1].url) if self._goes_on else BEHIND_ALL
        self._draft = _draft_of(task) if task.order.draw and has_head else None
        self._list = HitList(
            hits,
            self._scale,
            is_head=not task.is_in_tail,
            is_spread=task.is_spread,
            has_copies=task.query.has_copies,
            draft=self._draft,
            clicked=task.clicked,
        )
        self._step_number = step_number
        self._defined = task.defined if task.defined and has_head and task.start < DEFINED_AMONG else ""
        self._is_any_defined = False
        self._total = total_of([answer.total for answer in found.values()])
        if self._defined:
            self._begin_with_those_that_define()
            return
        start = task.offset
        if task.cursor is not None:
            # The hit that a cursor names stands elsewhere in this order where those that define came first.
            is_by_place = task.defined and has_head
            start = task.cursor.rank if is_by_place else self._list.start_of(task.cursor)
        self._start = start
        self.page = self._list.hits[start : start + task.k]
        self.to_read = self._with_what_is_under()
        self._next = self._cursor_behind(start + len(self.page), step_number) if self.page else ""

    def answer(
        self, excerpt_of: ExcerptOf, coverage: Coverage, with_all: int | None, seconds: float
    ) -> PagesFound:
        """Make the answer to the order.

        Args:
          with_all: pages that have all words, if that was counted.
          seconds: that the search took.
        """
        task, step = self._task, self._step
        if self._defined:
            self._order_by_definitions(excerpt_of)
        mended = task.mended
        suggestion = mended.text if mended and not mended.is_sure else ""
        if task.view.user_words and not suggestion:
            suggestion = self._listed_word(with_all)
        return PagesFound(
            ticket=task.order.ticket,
            terms=task.query.terms,
            total=self._total,
            seconds=seconds,
            coverage=coverage,
            hits=tuple(self._found_page(each, excerpt_of) for each in self.page if not self._is_denied(each)),
            is_exact=all(map(_IS_EXACT, self._found.values())),
            relaxed=Relaxed(step.nowhere, step.is_any, with_all),
            remarks=task.remarks + tuple(self._remarks()),
            facets=_facets(self._found) if task.order.wants_facets else None,
            next=self._next,
            order=task.order.order,
            corrected=mended.text if mended and mended.is_sure else "",
            suggestion=suggestion,
            also_called=() if self._start else self._other_names(excerpt_of),
            teams=self._teams() if self._draft else (),
        )

    def _begin_with_those_that_define(self) -> None:
        """Have the results read among which those that define the term will come first."""
        task, hits = self._task, self._list.hits
        # A cursor tells the place in the order by definitions, which is not known yet.
        start = self._start = task.start
        end = min(start + task.k, SNIPPETS_MAX)
        hits[:end] = [msgspec.structs.replace(each, under=()) for each in hits[:end]]
        self.page = hits[start:end]
        self.to_read = hits[: max(end, DEFINED_AMONG)]
        self._next = ""

    def _order_by_definitions(self, excerpt_of: ExcerptOf) -> None:
        """Put those first that define the term most surely, and leave the rest in its order."""
        from peers.engine.excerpts.definition import strength_of  # loaded where somebody asks for one

        hits, start, end = self._list.hits, self._start, self._start + len(self.page)
        n_head = min(DEFINED_AMONG, self._list.n_head)

        def strength(ranked: RankedHit) -> int:
            excerpt = excerpt_of(ranked.hit.url)
            return strength_of(self._defined, excerpt.definition) if excerpt and excerpt.definition else 0

        strengths = {each.hit.url: strength(each) for each in hits[:n_head]}
        self._is_any_defined = any(strengths.values())
        hits[:n_head] = sorted(hits[:n_head], key=lambda each: -strengths[each.hit.url])  # stable
        self.page = hits[start:end]
        self._next = self._cursor_behind(end, self._step_number) if self.page else ""

    def _mentions(self, sentence: str) -> tuple[tuple[int, int], ...]:
        from peers.engine.excerpts.definition import mentions_in

        return tuple(mentions_in(self._defined, sentence))

    def _listed_word(self, with_all: int | None) -> str:
        """Return the query with a word that the policy lists for one like it that is on no page; else ""."""
        has_none = bool(self._step.nowhere) or with_all == 0 or not self._total
        if not has_none or self._task.mended is not None or self._task.order.is_verbatim:
            return ""
        from peers.engine.mending.listed_words import meant  # loaded where the policy has words

        return meant(self._task.view.user_words, self._task.order.text)

    def _teams(self) -> tuple[int, ...]:
        return tuple(each.team for each in self.page if not self._is_denied(each))

    def _other_names(self, excerpt_of: ExcerptOf) -> tuple[str, ...]:
        """Return how links call the first of the best hits that they call as the query does, too."""
        for each in self.page[:NAMED_AMONG]:
            excerpt = excerpt_of(each.hit.url)
            if excerpt is not None and excerpt.names and not self._is_denied(each):
                typed = typed_key(self._task.searched_text.strip())
                names = {typed_key(name): name for name in map(harmless, excerpt.names)}
                if typed in names:
                    return tuple(name for key, name in names.items() if key != typed)
        return ()

    @property
    def is_short(self) -> bool:
        """Are there hits that were not asked for, and might be on the page?"""
        return self._goes_on and len(self._list.hits) <= self._task.needed()

    @property
    def is_cut(self) -> bool:
        """Whether a share has not looked at all there is."""
        return any(map(_IS_CUT, self._found.values()))

    def _with_what_is_under(self) -> list[RankedHit]:
        """Return all hits to read; leave under hits only those that can be read: nothing is shown unread."""
        to_read = self.page[:]
        for place, each in enumerate(self.page):
            if each.under:
                under = each.under[: SNIPPETS_MAX - len(to_read)]
                self.page[place] = msgspec.structs.replace(each, under=under)
                to_read += under
        return to_read

    def _is_denied(self, ranked: RankedHit) -> bool:
        return self._task.witnesses.hides(ranked.hit.url, ranked.share.peer)

    def _remarks(self) -> Iterator[Remark]:
        if self._step.is_unquoted and self._total:
            yield Remark(unquoted_oddity(self._task.query))
        elif self._defined and self._total and not self._is_any_defined:
            yield Remark(Oddity.NOT_DEFINED, self._defined)
        if self._step.has_left_out:
            yield Remark(Oddity.COMMONEST_LEFT_OUT)
        if self.is_cut:
            yield Remark(Oddity.CUT_SHORT)

    def _cursor_behind(self, end: int, step_number: int) -> str:
        """The cursor behind the hit before `end`, "" when nothing is there."""
        has_more = end < len(self._list.hits) or (self._goes_on and self._total > end)
        if not has_more:
            return ""
        return self._list.cursor_behind(end - 1, self._task.digest, step_number).encode()

    def _found_page(self, ranked: RankedHit, excerpt_of: ExcerptOf) -> FoundPage:
        key = ranked.hit.url
        excerpt = excerpt_of(key) or Excerpt(key, "", "", (), (), 0.0)
        snippet, highlights, section = harmless(excerpt.snippet), excerpt.highlights, excerpt.section
        definition = harmless(excerpt.definition) if self._defined else ""
        if definition:  # which may stand elsewhere on the page
            snippet, highlights, section = definition, self._mentions(definition), ""
        url, until = (key, 0.0) if self._task.span is None else _page_and_end(key)
        return FoundPage(
            url=url,
            title=harmless(excerpt.title),
            snippet=snippet,
            highlights=highlights,
            title_highlights=excerpt.title_highlights,
            score=ranked.score,
            host=host_of(url),
            fetched_at=excerpt.fetched_at,
            peer=ranked.share.peer,
            date=excerpt.date,
            published=excerpt.published,
            type=excerpt.type,
            language=excerpt.language,
            explanation=self._explanation(ranked, excerpt.explanation),
            copies=ranked.copies,
            has_more_of_site=ranked.has_more_of_site,
            near_copies=ranked.near_copies,
            also_at=self._also_at(ranked) if ranked.under else (),
            section=section and harmless(section),
            section_id=excerpt.section_id if section else "",
            synopsis=excerpt.synopsis and "\n".join(map(harmless, excerpt.synopsis.split("\n"))),
            entries=excerpt.entries,
            definition=definition,
            words=tuple(map(harmless, excerpt.words)) if excerpt.words else (),
            is_confirmed=self._task.witnesses.have_confirmed(key, ranked.share.peer),
            as_of=self._task.span[1] if self._task.span else 0.0,
            until=until,
        )

    def _also_at(self, ranked: RankedHit) -> tuple[str, ...]:
        return tuple(each.hit.url.partition(" ")[0] for each in ranked.under if not self._is_denied(each))

    def _explanation(self, ranked: RankedHit, encoded: bytes) -> Explanation | None:
        """Put the parts of the full model on top of the explanation that the peer of a page gives."""
        if not encoded:
            return None
        try:
            bm25f = _decode_explanation(encoded)
        except (ValueError, RecursionError):  # DecodeError and UnicodeDecodeError are ValueErrors
            return None
        if not _is_shallow(bm25f, EXPLANATION_DEPTH_MAX):
            return None
        if not ranked.is_candidate or self._scale is None:
            return bm25f
        url, hit = ranked.hit.url, ranked.hit
        candidate = Candidate(url, hit.score, hit.features, self._task.clicked.get(url, 0.0))
        return explain_mix(candidate, bm25f, self._scale, self._list.newest)


def _page_and_end(key: str) -> tuple[str, float]:
    """Return the URL of a page as it was, and when that was over; 0.0 where it is so still."""
    from peers.engine.pages.past import read_key

    url, lifetime = read_key(key)
    return url, lifetime.until if lifetime is not None and isfinite(lifetime.until) else 0.0


def _facets(found: Mapping[Share, HitsFound]) -> FacetCounts:
    """Add up the facet counts of the shares, of none more than it says that pages match."""
    sums: dict[str, Counter[str]] = {name: Counter() for name in FacetCounts.__struct_fields__}
    for answer in found.values():
        most = answer.total if answer.is_exact else inf
        for name, values in sums.items():
            for value, count in getattr(answer.facets, name, ()):
                values[value] += count if count <= most else answer.total
    classes = most_frequent(sums.pop("classes"), FACET_CLASSES_MAX)
    return FacetCounts(**{name: most_frequent(values) for name, values in sums.items()}, classes=classes)


def _is_shallow(explanation: Explanation, depth: int) -> bool:
    """Is it nested no deeper than this? It comes from a peer, and is shown recursively."""
    return depth > 0 and all(_is_shallow(part, depth - 1) for part in explanation.parts)
