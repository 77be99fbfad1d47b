"""Relaxation: a query that asks for more than there is gives up some of its requirements.

All words must occur, and phrases as they stand. Where that leaves few pages, something is given up, and the
page of results says so:

1. Words that occur nowhere are left out; the statistics, which are counted first, tell which.
2. When fewer than `ENOUGH` pages have all the others, pages with any of them are shown, by their score, or
   those with other forms of the characters of a single one.
3. When no page at all has the phrases, or none a title or heading for what was to be defined, all that was
   done before is done with their words.

What decides are numbers over the whole mesh, so it is the same however many peers there are. The second
step needs no search to be taken when the rarest word is on fewer than `ENOUGH` pages.

Measured: MRR@10 of known-item queries on the LibreOffice help, zh-CN and en-US, 1,500 each by BM25F over
plain terms, then 500 each by the full model over forms and pairs.

                                                    BM25F         full model
    all words, any only when there is no page       .563   .536   .587   .653
    likewise, any of them when below 10 pages       .582   .579   .611   .680
    likewise, below 20                              .586   .580   .610   .690
    any of the words at once                        .587   .580   .613   .692
    all words' pages before all others              .581   .566   .607   .669
    below 20 the rarer half of the words first      .585   .578   .612   .685

So dropping the commonest words first gains nothing over taking any at once, and a page with all words need
not come before one that says more about fewer. Below 20 (two pages of results) costs next to nothing
against ranking by any words always, and above it reading is cheaper.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import msgspec

from peers.engine.queries.query import Literal, LiteralKind, Mode, Query
from peers.text.analysis import OTHER_FORM_WEIGHT

ENOUGH: Final = 20  # pages; see above
# Entries that score: a word in latin letters has two, itself and its form, a Chinese one three or four. Over
# 50,000 pages the commonest 176 cost .33 s, 79 of them .11 s.
SCORED_MAX: Final = 64


class Step(NamedTuple):
    """A query to search by, and the requirements that it gave up."""

    query: Query
    nowhere: tuple[str, ...] = ()  # required entries that are on no page
    is_any: bool = False  # one of the words is enough
    has_left_out: bool = False  # of more than `SCORED_MAX` entries the commonest neither score nor suffice
    is_unquoted: bool = False  # no page has the phrases, or what is to be defined: their words are enough
    enough: int = ENOUGH  # pages that make it the last one


def steps_of(query: Query, doc_freqs: Mapping[str, int], unquoted: Query | None = None) -> tuple[Step, ...]:
    """Return the queries to search by, in this order, until one finds `enough` pages or is the last.

    Args:
      doc_freqs: of the terms of both queries, over the mesh.
      unquoted: the query with words for its phrases and what is to be defined, None where it has neither.
    """
    steps = _steps(query, doc_freqs)
    if unquoted is not None:
        *first, last = steps
        plain = (step._replace(is_unquoted=True) for step in _steps(unquoted, doc_freqs))
        steps = (*first, last._replace(enough=1), *plain)
    return tuple(_by_rarest(step, doc_freqs) for step in steps)


def _by_rarest(step: Step, doc_freqs: Mapping[str, int]) -> Step:
    """Let the rarest entries alone score: the others tell least, and their lists are the longest."""
    query = step.query
    if len(query.scoring) <= SCORED_MAX:
        return step
    rarest = set(sorted(query.scoring, key=lambda entry: doc_freqs.get(entry, 0))[:SCORED_MAX])
    kept = [(e, weight) for e, weight in zip(query.scoring, query.weights, strict=True) if e in rarest]
    required = query.required
    if query.mode is Mode.OR:
        required = tuple(entry for entry in required if entry in rarest)
    query = msgspec.structs.replace(
        query,
        required=required,
        scoring=tuple(entry for entry, _ in kept),
        weights=tuple(weight for _, weight in kept),
    )
    return step._replace(query=query, has_left_out=True)


def _steps(query: Query, doc_freqs: Mapping[str, int]) -> tuple[Step, ...]:
    if query.mode is Mode.OR or not (query.required or query.alternatives):
        return (Step(query),)
    nowhere = [entry for entry in query.required if not doc_freqs.get(entry, 0)]
    kept = tuple(entry for entry in query.required if doc_freqs.get(entry, 0))
    pages = [doc_freqs[entry] for entry in kept]  # at most, with each requirement
    alternatives: list[tuple[Literal, ...]] = []
    for either in query.alternatives:
        if at_most := sum(min(doc_freqs.get(entry, 0) for entry in each.entries) for each in either):
            pages.append(at_most)
            alternatives.append(either)
        else:
            nowhere.append(either[0].entries[0])
    any_of = Step(query.with_mode(Mode.OR), tuple(nowhere), is_any=True)
    # Other forms of a word may be somewhere where it is not: parts of a name, another spelling.
    has_others = any(doc_freqs.get(entry, 0) for entry in query.scoring if entry not in kept)
    if not pages:
        return (any_of,) if has_others else (Step(query, tuple(nowhere)),)
    all_that_are = msgspec.structs.replace(query, required=kept, alternatives=tuple(alternatives))
    all_of = Step(all_that_are, tuple(nowhere))
    is_for_one = len(pages) == 1 and all(each.kind is LiteralKind.WORDS for e in alternatives for each in e)
    if is_for_one and not (OTHER_FORM_WEIGHT in query.weights and _is_written_otherwise(query, doc_freqs)):
        return (all_of,)
    return (any_of,) if min(pages) < ENOUGH else (all_of, any_of)


def _is_written_otherwise(query: Query, doc_freqs: Mapping[str, int]) -> bool:
    """Tell whether pages have Japanese forms of Chinese characters that were typed, or the other way."""
    entries = zip(query.scoring, query.weights, strict=True)
    return any(weight == OTHER_FORM_WEIGHT and doc_freqs.get(entry, 0) for entry, weight in entries)
