"""The JSON of /api/search, of its posted parameters, and of /search with format=json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from peers.engine.queries.query import Sort
from peers.engine.rescoring.explanation import Explanation, printable
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound
from peers.gateway.site.pages import Reader, remark_text, word_of
from peers.gateway.site.sections import section_url
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX, FacetCounts, FacetValues
from peers.text.query_class import QueryClass, query_class

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel

_ENGLISH = Reader("en", False)


class SearchRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The JSON of POST /api/search."""

    q: str
    k: Annotated[int, Meta(ge=1, le=SNIPPETS_MAX)] = 10
    offset: Annotated[int, Meta(ge=0, le=HITS_MAX - 1)] = 0
    sort: Sort = Sort.SCORE
    cursor: str = ""
    facets: bool = False
    explain: bool = False
    verbatim: bool = False  # by no other words than these
    related: bool = False  # queries that go beyond this one are wanted


class ExplanationJson(msgspec.Struct, frozen=True):
    """A number and how it came about; see `explanation`."""

    name: str
    value: float
    formula: str
    parts: list[ExplanationJson]


class EntryJson(msgspec.Struct, frozen=True):
    """A file or folder of a directory."""

    name: str  # of a folder with / at its end
    url: str  # "" where nothing leads there
    size: int | None  # bytes; null when its server does not say
    is_rounded: bool  # the server says its size like 1.2M
    date: str  # the day of its last change; "" when its server does not say


class HitJson(msgspec.Struct, frozen=True):
    url: str
    title: str
    snippet: str
    score: float  # by which hits are ordered: sorted by date, seconds since the epoch
    host: str
    fetched_at: float  # seconds since the epoch, 0 when not known
    peer: str
    date: float  # of the last change, likewise
    type: str  # media type, "" when not known
    language: str  # primary subtag, likewise
    explanation: ExplanationJson | msgspec.UnsetType = msgspec.UNSET
    copies: int = 0  # pages with the same title and text that are not shown
    has_more_of_site: bool = False  # further results of its host stand behind those of others
    near_copies: int = 0  # pages with nearly the same text, as far as was looked, likewise
    is_confirmed: bool = False  # the gateway or a second member of the mesh knows the page, too
    also_at: list[str] = []  # URLs in other domains with the same title and text, one of each
    published: str = ""  # when the page says it was published, ISO 8601; "" when it does not
    section: str = ""  # the heading above the words of the snippet; "" at the beginning of the page
    section_url: str = ""  # that leads there; "" where nothing does
    synopsis: str = ""  # where `q` names a command or function: how the page says it is called, in lines
    entries: list[EntryJson] = []  # of a directory (`type` inode/directory), those that show why it was found
    # With `asof:` and `between:` the end of what was asked for, and when the version was replaced or gone,
    # seconds since the epoch; `until` is 0 of one that is there still.
    as_of: float | msgspec.UnsetType = msgspec.UNSET
    until: float | msgspec.UnsetType = msgspec.UNSET
    definition: str = ""  # with `define:` the sentence that says what it is, which `snippet` is then, too


class RemarkJson(msgspec.Struct, frozen=True):
    kind: str
    about: str  # what was typed
    text: str


class RelaxedJson(msgspec.Struct, frozen=True):
    """The requirements of a query that were given up to find more pages."""

    nowhere: list[str]  # words that are on no page and were left out
    is_any: bool  # too few pages have all words: any is enough
    with_all: int | None  # so many have all words; null when that was not counted


class FacetValueJson(msgspec.Struct, frozen=True, omit_defaults=True):
    value: str
    count: int
    below: str = ""  # of a class: that which it is below, among these; whose count has these pages, too


class FacetsJson(msgspec.Struct, frozen=True):
    hosts: list[FacetValueJson]
    languages: list[FacetValueJson]
    types: list[FacetValueJson]
    years: list[FacetValueJson]
    classes: list[FacetValueJson] | msgspec.UnsetType = msgspec.UNSET  # where the mesh has any


class FoundJson(msgspec.Struct, frozen=True):
    """An answer; fields are only ever added."""

    query: str
    terms: list[str]
    total: int
    took_ms: float
    coverage: Coverage
    hits: list[HitJson]
    is_exact: bool  # false: at least `total` pages match
    sort: str
    remarks: list[RemarkJson]
    relaxed: RelaxedJson
    next: str  # `cursor` of the page after this; "" when there is none
    is_cached: bool
    facets: FacetsJson | msgspec.UnsetType = msgspec.UNSET
    corrected: str = ""  # the query that was searched for instead, as a word typed is on no page
    suggestion: str = ""  # a query that finds far more pages
    also_called: list[str] = []  # other names of what `q` is a name of, by links of several domains
    related: list[str] | msgspec.UnsetType = msgspec.UNSET  # queries that go beyond this one, if wanted
    query_class: QueryClass = QueryClass.INFORMATIONAL  # as its words tell, which are wrong now and then


def found_json(
    query: str,
    found: PagesFound,
    took_s: float,
    related: tuple[str, ...] | None = None,
    classes: ClassModel | None = None,
) -> FoundJson:
    """Return an answer as programs get it.

    Args:
      query: as it was typed.
      took_s: seconds from the request to the answer.
      related: queries; None where none were wanted.
      classes: of the mesh, None where it has none.
    """
    return FoundJson(
        query=query,
        terms=[printable(term) for term in found.terms],
        total=found.total,
        took_ms=round(took_s * 1_000, 3),
        coverage=found.coverage,
        hits=[_hit(hit) for hit in found.hits],
        is_exact=found.is_exact,
        sort=found.order,
        remarks=remarks_json(found),
        relaxed=relaxed_json(query, found),
        next=found.next,
        is_cached=found.is_cached,
        facets=_facets(found.facets, classes) if found.facets else msgspec.UNSET,
        corrected=found.corrected,
        suggestion=found.suggestion,
        also_called=list(found.also_called),
        related=msgspec.UNSET if related is None else list(related),
        query_class=query_class(query),
    )


def remarks_json(found: PagesFound) -> list[RemarkJson]:
    return [RemarkJson(each.oddity, each.text, remark_text(_ENGLISH, each)) for each in found.remarks]


def relaxed_json(query: str, found: PagesFound) -> RelaxedJson:
    """Return the requirements that were given up. Args: query: as it was typed."""
    relaxed = found.relaxed
    nowhere = [word_of(entry, found.corrected or query) for entry in relaxed.nowhere]
    return RelaxedJson(nowhere, relaxed.is_any, relaxed.with_all)


def _hit(hit: FoundPage) -> HitJson:
    return HitJson(
        hit.url,
        hit.title,
        hit.snippet,
        hit.score,
        hit.host,
        hit.fetched_at,
        hit.peer,
        hit.date,
        hit.type,
        hit.language,
        _explanation(hit.explanation) if hit.explanation else msgspec.UNSET,
        hit.copies,
        hit.has_more_of_site,
        hit.near_copies,
        hit.is_confirmed,
        list(hit.also_at),
        hit.published,
        hit.section,
        section_url(hit),
        hit.synopsis,
        _entries(hit) if hit.entries else [],
        hit.as_of or msgspec.UNSET,
        hit.until if hit.as_of else msgspec.UNSET,
        hit.definition,
    )


def _entries(hit: FoundPage) -> list[EntryJson]:
    from peers.gateway.model.listed_file import listed_files

    return [
        EntryJson(each.name, each.url, each.size, each.is_rounded, each.day)
        for each in listed_files(hit.url, hit.entries)
    ]


def _explanation(explanation: Explanation) -> ExplanationJson:
    return ExplanationJson(
        printable(explanation.name),
        explanation.value,
        explanation.formula,
        [_explanation(part) for part in explanation.parts],
    )


def _facets(counts: FacetCounts, classes: ClassModel | None) -> FacetsJson:
    def values(of_facet: FacetValues) -> list[FacetValueJson]:
        return [FacetValueJson(value, count) for value, count in of_facet]

    return FacetsJson(
        values(counts.hosts),
        values(counts.languages),
        values(counts.types),
        values(counts.years),
        _classes(counts.classes, classes) if counts.classes else msgspec.UNSET,
    )


def _classes(counts: FacetValues, classes: ClassModel | None) -> list[FacetValueJson]:
    from peers.gateway.model.class_counts import parents_in  # loaded where a mesh has classes

    parents = parents_in(counts, classes)
    return [FacetValueJson(name, count, parents[name]) for name, count in counts]
