"""Answers of an indexer to a gateway, over committed pages: a function of the question and the index.

Any thread may compute it: a snapshot does not change, whatever is committed meanwhile. In a simulation all is
answered at once, by `Answerer.answer`; live, the port "questions" decides which thread does it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from math import inf
from typing import TYPE_CHECKING, Final, Protocol

import msgspec

from mesh.actors.actor import Message
from mesh.keys.decree import Decree
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_set import SlotMask, decode_slots, encode_slot_list
from peers.engine.files.errors import DamagedSegmentError
from peers.engine.native.kernels import LENGTH_COUNT
from peers.engine.queries.query import Query
from peers.engine.searching import ranking
from peers.engine.searching.effort import Effort, EffortSpentError
from peers.index.messages import AnswerQuestion, DamageMet, QuestionAnswered
from peers.index.wire_messages import (
    AskPast,
    Completed,
    CompleteTyped,
    CountTerms,
    Excerpt,
    ExcerptsRead,
    FacetCounts,
    FurtherHits,
    Hit,
    HitsFound,
    Question,
    ReadExcerpts,
    SearchSlots,
    Similar,
    TermsCounted,
    TypedCompleted,
)
from peers.policy.decreed import classes_of

if TYPE_CHECKING:
    from peers.engine.pages.class_model import ClassModel
    from peers.engine.pages.past import TimeSpan

QUERY_BYTES_MAX: Final = 65_536  # encoded; the longest one that `parse_query` makes has some 20 kB
COUNT_MAX: Final = 1 << 50  # of documents or tokens in a mesh; sums stay exact in doubles
# For one question, in visits (see `engine.effort`): .1 to .2 s of a core. Over 50,000 pages all that is typed
# by people is below a twentieth of it, the most expensive query that may be typed at twice as much.
VISITS_MAX: Final = 8_000_000
MASKS_KEPT: Final = 8  # as many as a segment keeps views
QUERIES_KEPT: Final = 16  # decoded: excerpts are asked for with the query that was searched


class SlotsView(Protocol):
    """The documents of some slots at one commit.

    What is read from a medium may be damaged: all but `generation` raise DamagedSegmentError then, and not
    again when asked over slots without those of the segment. Where effort is given and that is not enough,
    `statistics` and `facets` raise EffortSpentError, the others return what they have.
    """

    generation: int  # tells it from the same documents at another commit, or in other classes

    def statistics(
        self, terms: Sequence[str], effort: Effort | None = None
    ) -> ranking.CollectionStatistics: ...

    def search(
        self,
        query: Query,
        statistics: ranking.CollectionStatistics,
        k: int,
        after: tuple[float, str] | None = None,
        floor: float = -inf,
        effort: Effort | None = None,
    ) -> tuple[int, bool, Sequence[Hit]]:
        """Return how many match, whether there may be more, and the k best by falling score, ties by URL.

        Args:
          after: score and URL of a hit: only those behind it are wanted.
          floor: hits with a lower score may be left out.
        """

    def facets(self, query: Query, effort: Effort | None = None) -> FacetCounts:
        """Count all pages that match."""

    def similar_words(
        self, typed: str, beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[Similar], bool]:
        """Return words like one that may be mistyped, and whether there are more.

        Args:
          beside: entries of the rest of the query.
        """

    def counted_words(
        self, typed: str, words: Sequence[str], beside: tuple[str, ...], effort: Effort
    ) -> tuple[list[Similar], bool]:
        """Return of these words those that are anywhere, and whether the effort left any out."""

    def completions(self, typed: str, effort: Effort) -> list[Completed]:
        """Return the completions of a beginning."""

    def excerpts(
        self,
        query: Query,
        urls: Sequence[str],
        explained_by: ranking.CollectionStatistics | None = None,
        effort: Effort | None = None,
        name: str = "",
        defined: str = "",
        *,
        wants_words: bool = False,
    ) -> list[Excerpt]:
        """Return the excerpts of these pages, in this order; pages not there are left out.

        Args:
          explained_by: the statistics of the search, when its scores are to be explained.
          name, defined, wants_words: as in `ReadExcerpts`.
        """


class IndexView(Protocol):
    """The committed documents of an index; any thread may commit more at any time."""

    def over(self, slots: SlotMask, span: TimeSpan | None = None) -> SlotsView:
        """Return the documents of the slots that are True, as of the last commit, or of a span."""

    def take_classes(self, classes: ClassModel | None) -> None:
        """Let documents be in these classes from now on."""

    def class_documents(self) -> None:
        """Find out which of those committed are in which; of others the first question about them does."""


class IndexAnswer(msgspec.Struct, frozen=True):
    """The message to the indexer, and whether it is all that could be said."""

    message: QuestionAnswered | DamageMet
    is_whole: bool = True  # False: more effort would give another answer


class Answerer:
    """Answers questions over an index.

    Attributes:
      classes: that documents may be in; None where the mesh has none.
      has_unclassed: whether `class_documents` has work.
    """

    def __init__(self, index: IndexView, slot_count: int) -> None:
        self.classes: ClassModel | None = None
        self.has_unclassed = False
        self._index = index
        self._slot_count = slot_count
        self._masks: dict[bytes, SlotMask] = {}  # by what they are encoded as, those used last behind

    def answer(self, order: AnswerQuestion, effort: Effort | None = None) -> IndexAnswer:
        """Answer with so much effort, by default as much as the question may cost."""
        effort = effort or effort_for(order)
        try:
            question = order.question
            if isinstance(question, AskPast):
                message = self._answer_past(order, question, effort)
            else:
                view = self._index.over(self._mask(order.slots))
                message = _answer_to(order, question, view, effort)
        except DamagedSegmentError as damage:
            slots = encode_slot_list(damage.slots.tolist(), SLOTS_MAX)
            return IndexAnswer(DamageMet(order, damage.segment, slots))
        return IndexAnswer(QuestionAnswered(order.gateway, message), not effort.is_spent)

    def _answer_past(self, order: AnswerQuestion, asked: AskPast, effort: Effort) -> Message | None:
        """Answer about pages as they were; None where no span is asked about."""
        span = span_of(asked)
        if span is None:
            return None
        return _answer_to(order, asked.question, self._index.over(self._mask(order.slots), span), effort)

    def follow_classes(self, decrees: Sequence[Decree]) -> None:
        """Answer by the classes in force from now on; `class_documents` does the work ahead."""
        self.classes = classes_of(decrees, self.classes)
        self._index.take_classes(self.classes)
        self.has_unclassed = self.classes is not None

    def class_documents(self) -> None:
        """Find out which documents are in which class: some 20 us each, in a thread."""
        self.has_unclassed = False
        self._index.class_documents()

    def _mask(self, slots: bytes) -> SlotMask:
        """Decode a set; the same mask for the same set, a few of which are asked about. Threads may race."""
        mask = self._masks.get(slots)
        if mask is None:
            mask = decode_slots(slots, self._slot_count)
        self._masks.pop(slots, None)
        self._masks[slots] = mask
        for oldest in list(self._masks)[:-MASKS_KEPT]:
            self._masks.pop(oldest, None)
        return mask


def effort_for(order: AnswerQuestion) -> Effort:
    """Return the effort that a question may cost: statistics are bounded by the terms in one question."""
    question = order.question
    if isinstance(question, AskPast):
        question = question.question
    is_bounded = isinstance(question, CountTerms) and not question.mistyped
    return Effort() if is_bounded else Effort(VISITS_MAX)


def span_of(asked: AskPast) -> TimeSpan | None:
    """Return the span that is asked about; None where it is none."""
    from peers.engine.pages.past import TimeSpan

    span = TimeSpan(asked.begin, asked.end)
    return span if span.is_sound else None


def _answer_to(order: AnswerQuestion, question: Question, view: SlotsView, effort: Effort) -> Message | None:
    if isinstance(question, CountTerms):
        return _count(order, question, view, effort)
    if isinstance(question, CompleteTyped):
        return TypedCompleted(question.request, tuple(view.completions(question.typed, effort)))
    query = query_of(question.query)
    if query is None:
        return None
    if isinstance(question, SearchSlots):
        return _search(order, question, query, view, effort)
    statistics = statistics_in(question) if question.terms else None
    excerpts = view.excerpts(
        query,
        question.urls,
        statistics,
        effort,
        question.name,
        question.defined,
        wants_words=question.wants_words,
    )
    unsettled = question.urls if effort.is_spent else order.unsettled
    if unsettled:
        here = {excerpt.url for excerpt in excerpts}
        unsettled = tuple([url for url in unsettled if url not in here])
    return ExcerptsRead(question.request, tuple(excerpts), unsettled)


def _count(order: AnswerQuestion, question: CountTerms, view: SlotsView, effort: Effort) -> Message | None:
    try:
        statistics = view.statistics(question.terms, effort)
    except EffortSpentError:
        return None
    doc_freqs = tuple(map(statistics.doc_freqs.get, question.terms, repeat(0)))
    if question.wanted:
        wanted = zip(question.mistyped, question.wanted, strict=False)
        told = [view.counted_words(*each, question.beside, effort) for each in wanted]
    else:
        told = [view.similar_words(word, question.beside, effort) for word in question.mistyped]
    return TermsCounted(
        question.request,
        order.epoch,
        view.generation,
        statistics.document_count,
        statistics.field_lengths,
        doc_freqs,
        order.missing,
        tuple([tuple(similar) for similar, _ in told]) if told else (),
        bool(told) and any(is_cut for _, is_cut in told),
    )


def _search(
    order: AnswerQuestion, question: SearchSlots, query: Query, view: SlotsView, effort: Effort
) -> Message | None:
    statistics = statistics_in(question)
    if statistics is None:
        return None
    has_place = question.after_score < inf  # NaN is no place either
    after = (question.after_score, question.after_url) if has_place else None
    floor = question.floor if question.floor < inf else -inf
    total, is_exact, hits = view.search(query, statistics, question.k, after, floor, effort)
    facets = _facets(view, query, effort) if question.wants_facets else None
    is_cut = effort.is_spent
    is_wanted = total < question.further_below and not is_cut
    return HitsFound(
        question.request,
        order.epoch,
        view.generation,
        total,
        tuple(hits),
        order.missing,
        is_exact,
        facets,
        is_cut,
        _further(question, statistics, view, effort) if is_wanted else None,
    )


def _further(
    question: SearchSlots, statistics: ranking.CollectionStatistics, view: SlotsView, effort: Effort
) -> FurtherHits | None:
    """Search by the further query; None where the effort is spent by that: it can be asked by itself."""
    query = query_of(question.further)
    if query is None:
        return None
    total, is_exact, hits = view.search(query, statistics, question.k, None, -inf, effort)
    facets = _facets(view, query, effort) if question.wants_facets else None
    return None if effort.is_spent else FurtherHits(total, tuple(hits), is_exact, facets)


def _facets(view: SlotsView, query: Query, effort: Effort) -> FacetCounts | None:
    try:
        return view.facets(query, effort)
    except EffortSpentError:
        return None


@lru_cache(maxsize=QUERIES_KEPT)
def query_of(encoded: bytes) -> Query | None:
    """Decode a query from another peer; None when it is none or over the limits of a query."""
    if len(encoded) > QUERY_BYTES_MAX:
        return None
    try:
        query = _decode_query(encoded)
        query.check_limits()
    except (ValueError, RecursionError):  # DecodeError and UnicodeDecodeError are ValueErrors
        return None
    return query


def statistics_in(question: SearchSlots | ReadExcerpts) -> ranking.CollectionStatistics | None:
    """Return the statistics that came with a query; None when they cannot be those of a mesh."""
    lengths, doc_freqs = question.field_lengths, question.doc_freqs
    if len(lengths) != LENGTH_COUNT or len(doc_freqs) != len(question.terms):
        return None
    if max(question.document_count, *lengths, *doc_freqs) > COUNT_MAX:
        return None
    field_lengths = (lengths[0], lengths[1], lengths[2], lengths[3], lengths[4])
    by_term = dict(zip(question.terms, doc_freqs, strict=True))
    return ranking.CollectionStatistics(question.document_count, field_lengths, by_term)


_decode_query = msgspec.msgpack.Decoder(Query).decode
