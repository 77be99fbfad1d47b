"""The features of the best pages of a peer that the ranking model needs besides their score.

Everything is read from the columns and postings of the segments, for the hits of one answer only. It depends
on the page, the query and the statistics of the mesh, not on what else the peer has: sums are taken entry by
entry in one order, never by a library that might take them otherwise.

A word of the query is found near others in any of its forms: those that end in the commonest English ways and
are in the dictionary, since the entries of forms have frequencies but no positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from peers.engine.matching.occurrence_lookup import NO_UNIT
from peers.engine.native.compiled import kernel
from peers.engine.native.kernels import BODY
from peers.engine.native.lists import Postings
from peers.engine.postings.dictionary import Lexicon
from peers.engine.queries.query import Query
from peers.engine.rescoring.model import Features, scale_in_order
from peers.engine.searching.ranking import CollectionStatistics, idfs_of, in_scoring_order
from peers.engine.segments.segment import Segment
from peers.engine.snapshot import Best, View
from peers.kernel import FewFloats, Ints, Lengths, Numbers, Strings
from peers.text.runs import RunKind, kind_of
from peers.text.stemming import FORM_PREFIX, form_of, native_form_of, native_forms_in

TITLE: Final = 0
URL: Final = 4
_MEASURED: Final = 4  # features of a document that are in postings

FORMS_CACHED: Final = 4_096
_ENDINGS: Final = (
    "", "s", "es", "ed", "ing", "e", "er", "ers", "or", "ors", "ion", "ions", "ation", "ations", "ly",
    "y", "ies", "ied", "al", "ally", "ity", "ment", "ments", "able", "ive", "ization", "ize", "ized",
)  # fmt: skip
_DOUBLED: Final = ("ed", "ing", "er")
_NATIVE_ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    language: ("", *endings.split())
    for language, endings in {
        "de": "e en er em es ern n s ens ung ungen t te ten",
        "fr": "e s es er ez ent ant ee ees eur eurs ion ions ment",
        "es": "a o as os e es ar er ir ado ada ados adas ando cion",
        "pt": "a o as os e es ar er ir ado ada ados adas ando cao",
        "it": "a o i e are ere ire ato ata ati ate ando zione zioni",
        "nl": "e en s er ers t d de den ing ingen je jes",
        "sv": "a ar or er en et arna erna orna ade ning ningar s t",
        "da": "e er en et erne ede ning ninger s t",
        "no": "e er en et ene ede ing inger s t a",
    }.items()
}
_PAIR_PREFIX: Final = "\x01"


class _Plan(NamedTuple):
    """Values computed from a query once, the same for all segments."""

    entries: tuple[str, ...]  # those that score, then further forms of words
    units: list[int]  # in the proximity, of each of them
    shares: list[float]  # of each scoring entry in the score that a page could have; their sum is 1
    are_counted: list[bool]  # scoring entries whose occurrences, together, are words of a field, each once
    idf: list[float]  # of each unit
    total_idf: float
    average_body: float


def features_of(
    view: View, query: Query, statistics: CollectionStatistics, urls: Sequence[str]
) -> list[tuple[float, ...]]:
    """Return the raw `Features` of pages of a view, zeros for pages that are not there.

    Args:
      statistics: of the mesh, as for `View.search`.

    Raises:
      DamagedSegmentError.
    """
    found: list[tuple[float, ...]] = [Features()] * len(urls)
    located = list(view.located(urls))
    places = [place for _, _, places in located for place in places.tolist()]
    here = [urls[place] for place in places]
    of_segments = [(view.segment, documents) for view, documents, _ in located]
    for place, features in zip(places, _measured(query, statistics, of_segments, here), strict=True):
        found[place] = features
    return found


def features_of_best(
    query: Query, statistics: CollectionStatistics, pages: Sequence[Best]
) -> list[tuple[float, ...]]:
    """Return the raw `Features` of pages found. DamagedSegmentError."""
    found: list[tuple[float, ...]] = [Features()] * len(pages)
    of_segments: dict[str, list[int]] = {}
    numbers: list[int] = []
    for place, page in enumerate(pages):
        of_segments.setdefault(page.view.segment.name, []).append(place)
        numbers.append(page.document)
    located = []
    order: list[int] = []
    for places in of_segments.values():
        places.sort(key=numbers.__getitem__)
        order += places
        documents = np.array([numbers[place] for place in places], np.int64)
        located.append((pages[places[0]].view.segment, documents))
    urls = [pages[place].url for place in order]
    for place, features in zip(order, _measured(query, statistics, located, urls), strict=True):
        found[place] = features
    return found


def depths_of(urls: Sequence[str]) -> list[float]:
    """Return how many segments the paths of canonical URLs have, 0 for the front page of a host.

    So it is of the keys of replaced versions, where a space and # stand behind the URL (`pages.past`).
    """
    return [url.partition("?")[0].partition("#")[0].rstrip("/ ").count("/") - 2.0 for url in urls]


@lru_cache(maxsize=FORMS_CACHED)
def words_of_form(form: str, language: str = "") -> tuple[str, ...]:
    """Return words that a form (its entry) may stand for: not all, none of another form, in byte order."""
    stem = form.removeprefix(FORM_PREFIX)
    words = [stem + ending for ending in (_NATIVE_ENDINGS.get(language, ("",)) if language else _ENDINGS)]
    if not language:
        words += [stem + stem[-1:] + ending for ending in _DOUBLED]
    if not language and stem.endswith("i"):
        words += [stem[:-1] + "y"]
    # In the order of dictionaries, where each is looked up from where the one before was.
    words = sorted(set(words))
    forms = native_forms_in(words, language)
    return tuple([word for word, own in zip(words, forms, strict=True) if own == form])


def _plan(query: Query, statistics: CollectionStatistics) -> _Plan:
    scoring = in_scoring_order(query.scoring, statistics)
    weight_of = dict(zip(query.scoring, query.weights, strict=True))
    idf = idfs_of(scoring, statistics)
    occur = [statistics.doc_freqs.get(entry, 0) > 0 for entry in scoring]
    scale = scale_in_order(idf, [weight_of[entry] for entry in scoring], occur) or 1.0
    shares = [
        value * weight_of[entry] / scale if does else 0.0
        for entry, value, does in zip(scoring, idf, occur, strict=True)
    ]
    entries, units = list(scoring), [NO_UNIT] * len(scoring)
    unit_idf: list[float] = []
    number_of = {entry: number for number, entry in enumerate(scoring)}
    beside = _beside(number_of, query.language)
    for number, entry in enumerate(scoring):
        if entry in beside:
            continue
        words = _words_of(entry, number_of, query.language)
        if words is None:
            continue
        for word in words:
            if word in number_of:
                units[number_of[word]] = len(unit_idf)
            else:
                entries.append(word)
                units.append(len(unit_idf))
        unit_idf.append(idf[number] if occur[number] else 0.0)
    total_body = statistics.field_lengths[BODY]
    return _Plan(
        tuple(entries),
        units,
        shares,
        [entry not in beside and _is_counted(entry, number_of, query.language) for entry in scoring],
        unit_idf,
        float(np.array(unit_idf).sum()),
        total_body / max(1, statistics.document_count) or 1.0,
    )


def _beside(scoring: dict[str, int], language: str) -> set[str]:
    """Return the English forms that score beside the own ones of their words in a language."""
    if not language:
        return set()
    words = [entry for entry in scoring if entry[0] > " "]
    natives = {native_form_of(word, language) for word in words}
    return {form for word in words if (form := form_of(word)) in scoring and form not in natives}


def _words_of(entry: str, scoring: dict[str, int], language: str) -> Sequence[str] | None:
    """Return the entries with positions that stand for a scoring one in the proximity, None if none do."""
    if entry.startswith(FORM_PREFIX):
        return words_of_form(entry, language)
    if entry.startswith(_PAIR_PREFIX):
        return (entry,)
    is_word = kind_of(entry) is RunKind.WORD
    return (entry,) if is_word and native_form_of(entry, language) not in scoring else None


def _is_counted(entry: str, scoring: dict[str, int], language: str) -> bool:
    """Leave out words with a counted form, and pairs, which stand beside the words of their characters."""
    if entry.startswith(FORM_PREFIX):
        return True
    return entry[0] > " " and native_form_of(entry, language) not in scoring


def _measured(
    query: Query,
    statistics: CollectionStatistics,
    located: Sequence[tuple[Segment, Ints]],
    urls: Sequence[str],
) -> list[tuple[float, ...]]:
    """Measure the documents, rising, of some segments; their URLs are in the same order."""
    if not urls:
        return []
    plan = _plan(query, statistics)
    measured: list[tuple[float, ...]] = []
    depths = depths_of(urls)
    for segment, documents in located:
        n = len(documents)
        found, (damage, positions_damage) = _measure(
            segment.lists, segment.lexicon, *plan, documents.tolist(), segment.lengths, _MEASURED * n, 2
        )
        segment.refuse_postings(damage)
        segment.refuse_positions(positions_damage)
        of_kernel = [found[start : start + n] for start in range(0, _MEASURED * n, n)]
        linking_hosts = segment.linking_hosts[documents].astype(np.float64).tolist()
        dates = segment.dates[documents].astype(np.float64).tolist()
        of_urls = depths[len(measured) : len(measured) + n]
        measured += zip(*of_kernel, linking_hosts, of_urls, dates, strict=True)
    return measured


@kernel
def _measure(
    postings: Postings,
    lexicon: Lexicon,
    entries: Strings,
    units: Numbers,
    shares: FewFloats,
    are_counted: Numbers,
    idf: FewFloats,
    total_idf: float,
    average_body: float,
    documents: Numbers,
    lengths: Lengths,
    room: int,
    damage: int,
) -> tuple[list[float], list[int]]:
    """Compute the features that depend on postings: proximity, title, URL and coverage.

    Args:
      entries: as in `_Plan`, as all up to the average; of `units` below 256, or NO_UNIT.
      documents: rising. lengths: of all documents of the segment.
      room: for `_MEASURED` numbers of each document. damage: for two.

    Returns:
      The proximities of all documents, then title, URL and coverage of all; the first damaged block of
      postings, and of positions, that was met, or -1.
    """
