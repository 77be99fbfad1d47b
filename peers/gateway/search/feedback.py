"""Long queries take up words of the best pages: pseudo-relevance feedback (RM3).

Who types a sentence describes a subject, in words of which its pages use other ones too. So the words of the
`PAGES` best pages are added to the query, and it is searched again:

    weight(w) = idf(w) * sum over these pages of score * (1 + log tf(w)) / sum over all words of 1 + log tf
    expansion = the `ENTRIES` of most weight; scaled, so that together they weigh what the query does

The words of a page are told by the peer that gave it, and the statistics of the words are counted over the
mesh, so the expansion is the same however many peers there are. What is required stays what was typed, and so
do features and excerpts; where any word is enough, one of these is, too.

Not every query gains. One that looks for a page loses what it says of that page, so a query is expanded only
where it has `WORDS_MIN` words, and no page stands out: the tenth has `TENTH_MIN` of the best one's score.

Measured, nDCG@10, of known items MRR@10; `always` on 300 queries of known items, the rule on all of CMRC 2018
(every second), the help (every second) and the others:

                           not at all   always    by the rule   by rules fitted to the six others
    Cranfield              .4108        .4374     .4271         .4263
    CISI                   .3826        .3922     .3912         .3884
    NPL                    .4484        .4688     .4546         .4516
    CMRC 2018              .9901        - .009    .9901         .9890
    help, zh-CN, en-US     .648, .677   - .043    + .0003, 0    the same
    help, de               .635         - .064    the same      the same

By the rule, with 3 or 8 pages, 15 to 40 words and .7 to 1.5 of their weight it is within .012.
It takes three more questions to peers: words of five pages, their counts, which gateways keep, the search.

Source: Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD" (RM3), here with logs of frequencies.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from peers.engine.queries.query import EXPANSION_MAX, WEIGHT_MAX, Query, Sort
from peers.engine.searching.ranking import CollectionStatistics, idfs_of
from peers.index.wire_messages import TERMS_MAX, Vocabulary
from peers.text.stemming import FORM_PREFIX, form_of

PAGES: Final = 5
ENTRIES: Final = 30
COUNTED_MAX: Final = 128  # words, of the most weight before idf, that are counted
WORDS_MIN: Final = 8
TOLD: Final = 10  # pages whose scores tell whether one of them stands out
TENTH_MIN: Final = 0.45
COMMONEST: Final = 0.5  # share of all pages; words of more pages tell nothing
PAGES_MIN: Final = 2  # a word of one page alone leads to no other

assert ENTRIES <= EXPANSION_MAX


def may_expand(query: Query) -> bool:
    """Tell whether a query, before it is put into the language of its pages, is long enough."""
    if query.clauses or query.order is not Sort.SCORE:
        return False
    return sum(map(_is_word, query.scoring)) >= WORDS_MIN


def _is_word(entry: str) -> bool:
    """Count each word once: by its form if it has one; no pairs, compounds or names."""
    return entry.startswith(FORM_PREFIX) or (entry[0] > " " and not form_of(entry))


def stands_none_out(scores: Sequence[float]) -> bool:
    """Tell by the scores of the best pages, falling, whether there are ten that are about as good."""
    return len(scores) >= TOLD and scores[TOLD - 1] >= TENTH_MIN * scores[0]


def words_of(pages: Sequence[tuple[float, Vocabulary]], known: Sequence[str]) -> dict[str, float]:
    """Return the words of pages that are to be counted, and their weights without idf.

    Args:
      pages: the score of each, and its words.
      known: terms that are counted anyway.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for score, vocabulary in pages:
        logs = {entry: _log_frequency(count) for entry, count in vocabulary if _is_entry_of_text(entry)}
        total = sum(logs.values())
        for entry, log in logs.items():
            weights[entry] += max(0.0, score) * log / total
    best = sorted(weights, key=lambda entry: (-weights[entry], entry))[:COUNTED_MAX]
    room = TERMS_MAX - len(set(known))
    new = [entry for entry in best if entry not in set(known)]
    left_out = set(new[max(0, room) :])
    return {entry: weights[entry] for entry in best if entry not in left_out}


def expanded(query: Query, words: Mapping[str, float], statistics: CollectionStatistics) -> Query:
    """Return a query with those of the words that tell most."""
    pages_max = COMMONEST * statistics.document_count
    told = [word for word in words if PAGES_MIN <= statistics.doc_freqs.get(word, 0) <= pages_max]
    weights = {word: words[word] * idf for word, idf in zip(told, idfs_of(told, statistics), strict=True)}
    best = sorted(weights, key=lambda word: (-weights[word], word))[:ENTRIES]
    total = sum(weights[word] for word in best)
    if total <= 0:
        return query
    scale = sum(query.weights) / total
    told_weights = tuple(min(scale * weights[word], WEIGHT_MAX) for word in best)
    return msgspec.structs.replace(query, expansion=tuple(best), expansion_weights=told_weights)


def _is_entry_of_text(entry: str) -> bool:
    """A peer may send anything: no hosts, and no names of sites."""
    return entry.startswith(FORM_PREFIX) or entry[:1] > " "


def _log_frequency(count: int) -> float:
    # To 2^-24, as of all logarithms: those of different C libraries may differ in the last bit.
    return 1.0 + round(math.log(max(count, 1)) * (1 << 24)) / (1 << 24)
