"""Questions of gateways to the indexers of the mesh, and their answers: statistics, hits, excerpts."""

from __future__ import annotations

from math import inf
from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from mesh.actors.actor import Message
from mesh.urls import URL_CHARS_MAX
from mesh.wire_fields import Count, Key, Name, Url
from peers.engine.pages.near_copies import SKETCH_BYTES
from peers.engine.pages.suggested_texts import NAMES_MAX

TERMS_MAX: Final = 320  # distinct terms of one query, and the languages that pages may be in
HITS_MAX: Final = 1_000  # hits in one answer
FEATURES_MAX: Final = 32  # of a hit, besides its score
FACET_CHARS_MAX: Final = 300  # of a value; host names have 253 at most
FACET_VALUES_MAX: Final = 100  # that are told of one facet: of hosts, the most frequent ones
FACET_CLASSES_MAX: Final = 1_000  # of classes all are told, as many as a mesh may have
EXPLANATION_BYTES_MAX: Final = 65_536
SNIPPETS_MAX: Final = 100
MISTYPED_MAX: Final = 3  # words of one query
BESIDE_MAX: Final = 16
SIMILAR_MAX: Final = 128
SAMPLES_MAX: Final = 4
COMPLETIONS_MAX: Final = 64  # of one beginning, from one index
TYPED_CHARS_MAX: Final = 64  # of a beginning: more is none any more
ENTRIES_MAX: Final = 5  # of one directory that a result shows
FILE_BYTES_MAX: Final = 1 << 60
WORDS_MAX: Final = 24  # that a page is about
ABSENT_MAX: Final = 64  # peers that others answer for in one question

Term: TypeAlias = Annotated[str, Meta(max_length=256)]


class Similar(Message, frozen=True, array_like=True):
    """A word of the index for a part of one that was typed, and the pages that have it."""

    word: Term
    start: Count  # of the part, in characters
    end: Count
    pages: Count
    together: Count  # of them, those with the other words of the query
    samples: Annotated[tuple[Url, ...], Meta(max_length=SAMPLES_MAX)] = ()  # some of the pages


class CountTerms(Message, frozen=True, array_like=True, tag=40):
    """A gateway to every indexer: the statistics of these terms over the slots you answer for."""

    request: Count
    terms: Annotated[tuple[Term, ...], Meta(max_length=TERMS_MAX)]
    # Not empty: count over the slots that these answer for and you are the next best, and over no others.
    absent: Annotated[tuple[Name, ...], Meta(max_length=ABSENT_MAX)] = ()
    # Words that may be mistyped, for which similar ones are wanted, and entries of the rest of the query.
    mistyped: Annotated[tuple[Term, ...], Meta(max_length=MISTYPED_MAX)] = ()
    beside: Annotated[tuple[Term, ...], Meta(max_length=BESIDE_MAX)] = ()
    # Not empty: for each of the mistyped, the words that are to be counted; no others are looked for.
    wanted: Annotated[
        tuple[Annotated[tuple[Term, ...], Meta(max_length=SIMILAR_MAX)], ...],
        Meta(max_length=MISTYPED_MAX),
    ] = ()


class TermsCounted(Message, frozen=True, array_like=True, tag=41):
    """An indexer's answer. Statistics of peers that agree on the answerers add up to those of the mesh."""

    request: Count
    epoch: Key  # Ownership.serving_epoch that it was counted under
    generation: Count  # index commit it was counted on
    document_count: Count
    field_lengths: Annotated[tuple[Count, ...], Meta(max_length=16)]  # tokens per field, summed
    doc_freqs: Annotated[tuple[Count, ...], Meta(max_length=TERMS_MAX)]  # in the order asked
    missing: Count = 0  # slots of those asked for that it has not all of: they are not counted
    # For each of the words that may be mistyped.
    similar: Annotated[
        tuple[Annotated[tuple[Similar, ...], Meta(max_length=SIMILAR_MAX)], ...],
        Meta(max_length=MISTYPED_MAX),
    ] = ()
    is_cut: bool = False  # more words are like them than are told here


class Hit(Message, frozen=True, array_like=True):
    """A page that matches."""

    url: Url
    score: float  # what it is ordered by: with Order.DATE the date in seconds since the epoch
    features: Annotated[tuple[float, ...], Meta(max_length=FEATURES_MAX)] = ()  # as `ranking` orders them
    content: Count = 0  # digest of title and text, the same for copies; 0: like no other
    # By which near copies are found (`near_copies.Sketch`); empty: like no other.
    sketch: Annotated[bytes, Meta(max_length=SKETCH_BYTES)] = b""
    # Pages of the mesh with the same content for which it stands, as far as they are named; or
    # `live_segment.FOLDED`.
    copies: Count = 0


class SearchSlots(Message, frozen=True, array_like=True, tag=42):
    """A gateway to every indexer: your best pages, over the slots you answer for."""

    request: Count
    query: bytes  # the encoded query.Query, whose version the analysis version covers
    document_count: Count
    field_lengths: Annotated[tuple[Count, ...], Meta(max_length=16)]
    terms: Annotated[tuple[Term, ...], Meta(max_length=TERMS_MAX)]
    doc_freqs: Annotated[tuple[Count, ...], Meta(max_length=TERMS_MAX)]
    k: Annotated[int, Meta(ge=1, le=HITS_MAX)]
    absent: Annotated[tuple[Name, ...], Meta(max_length=ABSENT_MAX)] = ()  # as in `CountTerms`
    # Only pages behind this place in the order of hits are wanted, for pages of results far down.
    after_score: float = inf
    after_url: Annotated[str, Meta(max_length=URL_CHARS_MAX)] = ""
    wants_facets: bool = False
    floor: float = -inf  # k better pages are known of others: those below may be left out
    # Where fewer pages than this match: your best pages for that query, too. The terms are those of both.
    further_below: Count = 0
    further: bytes = b""


FacetValues: TypeAlias = Annotated[
    tuple[tuple[Annotated[str, Meta(max_length=FACET_CHARS_MAX)], Count], ...],
    Meta(max_length=FACET_CLASSES_MAX),
]


class FacetCounts(Message, frozen=True, array_like=True):
    """How many of the matching pages have which value, the most frequent first.

    Those of several peers are to be added up. Hosts that are not among the most frequent ones of a peer are
    left out; a host is all on one peer.
    """

    hosts: FacetValues = ()
    languages: FacetValues = ()
    types: FacetValues = ()
    years: FacetValues = ()  # four digits
    classes: FacetValues = ()  # in each also the pages of those below it; none where a mesh has no classes


class FurtherHits(Message, frozen=True, array_like=True):
    """The best pages for the query that `SearchSlots` has besides, as in `HitsFound`."""

    total: Count
    hits: Annotated[tuple[Hit, ...], Meta(max_length=HITS_MAX)]
    is_exact: bool = True
    facets: FacetCounts | None = None


class HitsFound(Message, frozen=True, array_like=True, tag=43):
    """An indexer's answer: at most k hits by falling score, ties by URL."""

    request: Count
    epoch: Key
    generation: Count
    total: Count  # all that matched
    hits: Annotated[tuple[Hit, ...], Meta(max_length=HITS_MAX)]
    missing: Count = 0  # as in `TermsCounted`: slots that were not searched
    is_exact: bool = True  # False: more may have matched than `total`
    facets: FacetCounts | None = None  # where they were asked for
    is_cut: bool = False  # True: it cost too much, and these are the best of what was looked at
    further: FurtherHits | None = None  # over the same documents, where wanted and not too dear


class ListedEntry(Message, frozen=True, array_like=True):
    """An entry of a directory, as `directory_entries.Entry` has it."""

    name: Annotated[str, Meta(max_length=1_000)]
    size: Annotated[int, Meta(ge=-1, le=FILE_BYTES_MAX)] = -1
    is_rounded: bool = False
    date: Annotated[int, Meta(ge=0, lt=10**11)] = 0
    address: Annotated[str, Meta(max_length=3_000)] = ""


class Excerpt(Message, frozen=True, array_like=True):
    """The parts of a page that a result shows."""

    url: Url
    title: Annotated[str, Meta(max_length=1_000)]
    snippet: Annotated[str, Meta(max_length=4_000)]
    highlights: Annotated[tuple[tuple[int, int], ...], Meta(max_length=1_000)]  # spans of snippet
    title_highlights: Annotated[tuple[tuple[int, int], ...], Meta(max_length=1_000)]
    fetched_at: float
    date: float = 0.0  # of the last change, seconds since the epoch; 0.0 when the page does not say
    type: Annotated[str, Meta(max_length=255)] = ""
    language: Annotated[str, Meta(max_length=255)] = ""
    explanation: Annotated[bytes, Meta(max_length=EXPLANATION_BYTES_MAX)] = b""  # an `Explanation`, if asked
    published: Annotated[str, Meta(max_length=40)] = ""  # as in `Document`
    section: Annotated[str, Meta(max_length=1_000)] = ""  # the heading above the words; "" at the beginning
    section_id: Annotated[str, Meta(max_length=200)] = ""  # that leads there
    synopsis: Annotated[str, Meta(max_length=1_000)] = ""  # of what the question names, if the page has one
    names: Annotated[tuple[Term, ...], Meta(max_length=NAMES_MAX)] = ()  # as `suggested_texts.names_of`
    # Of a directory, the entries that show why it was found.
    entries: Annotated[tuple[ListedEntry, ...], Meta(max_length=ENTRIES_MAX)] = ()
    definition: Annotated[str, Meta(max_length=1_000)] = ""  # the sentence that says what was to be defined
    words: Annotated[tuple[Term, ...], Meta(max_length=WORDS_MAX)] = ()  # that it is about, if wanted


class ReadExcerpts(Message, frozen=True, array_like=True, tag=44):
    """A gateway to an indexer: give excerpts of these hits, found by another of the team if there is one."""

    request: Count
    query: bytes
    urls: Annotated[tuple[Url, ...], Meta(max_length=SNIPPETS_MAX)]
    # Not empty: explain the scores, which were made with these statistics. As in `SearchSlots`.
    terms: Annotated[tuple[Term, ...], Meta(max_length=TERMS_MAX)] = ()
    doc_freqs: Annotated[tuple[Count, ...], Meta(max_length=TERMS_MAX)] = ()
    document_count: Count = 0
    field_lengths: Annotated[tuple[Count, ...], Meta(max_length=16)] = ()
    # A command or function, as `synopsis.called_name` has it: how is it called? "" if nobody asks that.
    name: Annotated[str, Meta(max_length=200)] = ""
    # What is to be defined, as `definition.term_to_define` has it; "" if nobody asks that.
    defined: Annotated[str, Meta(max_length=200)] = ""
    wants_words: bool = False  # those that a page is about, the weightiest first


class ExcerptsRead(Message, frozen=True, array_like=True, tag=45):
    """The indexer's answer, in the order asked. Pages that are in neither tuple are not in the mesh."""

    request: Count
    excerpts: Annotated[tuple[Excerpt, ...], Meta(max_length=SNIPPETS_MAX)]
    # Pages that it can say nothing of: it lacks some of their slots, or they are on their way.
    unsettled: Annotated[tuple[Url, ...], Meta(max_length=SNIPPETS_MAX)] = ()


class Completed(Message, frozen=True, array_like=True):
    """A completion of a beginning, a text or a word, and the pages that have it."""

    text: Term
    nearness: Count  # a `completions.Nearness`
    pages: Count
    samples: Annotated[tuple[Url, ...], Meta(max_length=SAMPLES_MAX)] = ()  # some of the pages


class CompleteTyped(Message, frozen=True, array_like=True, tag=46):
    """A gateway to every indexer: how may this go on, over the slots you answer for?"""

    request: Count
    typed: Annotated[str, Meta(max_length=TYPED_CHARS_MAX)]
    absent: Annotated[tuple[Name, ...], Meta(max_length=ABSENT_MAX)] = ()  # as in `CountTerms`


class TypedCompleted(Message, frozen=True, array_like=True, tag=47):
    """An indexer's answer, the nearest first; of texts that several peers have the pages add up."""

    request: Count
    completed: Annotated[tuple[Completed, ...], Meta(max_length=COMPLETIONS_MAX)]


class AskPast(Message, frozen=True, array_like=True, tag=143):
    """A gateway to an indexer: answer this of the pages as they were in a span of time.

    The answers are those of the question. URLs in them are keys, as `pages.past` has them.
    """

    begin: float  # seconds since the epoch
    end: float  # the same for a moment
    question: CountTerms | SearchSlots | ReadExcerpts

    @property
    def request(self) -> int:
        return self.question.request


Question: TypeAlias = CountTerms | SearchSlots | ReadExcerpts | CompleteTyped
