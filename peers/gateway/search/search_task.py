"""The order that a search carries out, and the state that all its stages share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final

from peers.engine.queries.native_forms import LANGUAGES, entries_of_languages, languages_among
from peers.engine.queries.query import LiteralKind, Sort
from peers.engine.queries.query_language import Oddity, Remark
from peers.engine.queries.query_parser import ParsedQuery, read_query
from peers.engine.rescoring.model import MODEL_DEPTH
from peers.gateway.aggregation.group_round import ReportedHits
from peers.gateway.model.messages import SearchPages
from peers.gateway.search.correction import Mended
from peers.gateway.search.cursor import Cursor, decode_cursor, digest_of
from peers.gateway.search.deduplication import needed_for
from peers.gateway.search.hit_list import NOTHING_CLICKED
from peers.gateway.search.page_words import with_telling_words
from peers.gateway.search.plan import Share
from peers.gateway.search.shared_state import SharedState
from peers.gateway.search.witnesses import Witnesses
from peers.index.wire_messages import HITS_MAX, SNIPPETS_MAX, TERMS_MAX
from peers.policy.rules import DAY_S
from peers.text.synonyms import NO_SYNONYMS

DEFINED_AMONG: Final = 64  # first results, of which those that define what is asked for come first
READINGS_MAX: Final = 4  # of a page of results, where hits are denied
RESTARTS_MAX: Final = 2  # for commits: an index that changes all the time is not chased
# Times that others are asked for those that turn out to be late in a search. Each time nearly all peers are
# asked, since each stands in for some of the slots; and where many are slow, others are late every time. 100
# peers, 10 of them slow and 5 dead, were asked 60 to 70 times for one search without a limit, for as long as
# it may take. With one, a dead peer is not bridged when one that is merely slow was late with it.
HEDGES_MAX: Final = 2
REREADINGS_MAX: Final = 3  # when pages are in other languages than was thought: known, none of them, all
YOUNG_S: Final = 1.5  # so long a search may begin anew; records of several members may change at once


def reading_of(
    order: SearchPages, view: SharedState, text: str, languages: Sequence[str] | None = None
) -> ParsedQuery:
    """Read the text of an order, or that which was meant; with synonyms unless it is verbatim.

    Args:
      languages: that pages are in; None for those of which the view knows.
    """
    synonyms = NO_SYNONYMS if order.is_verbatim else view.synonyms
    if languages is None:
        languages = view.languages or ()
    return read_query(text, order.order, order.hidden, synonyms, view.class_names, view.user_words, languages)


class SearchTask:
    """The order of a search as it was understood, and the mesh that is to carry it out.

    Attributes:
      me: id of this peer.
      order: as it came.
      view: of this peer; its ownership may be replaced while the search runs.
      ownership: the one that the search speaks for.
      reading: of what was typed; `query` has all its words, `terms` those whose statistics decide.
      remarks: on what was odd about the order.
      digest: tells its cursors from those of other queries.
      cursor: where to go on; None for the beginning.
      k: hits on the page.
      defined: what is to be defined, "" for nothing.
      offset: of the first of them, where there is no cursor.
      started: when it began.
      span: from when to when pages are found as they were; None for as they are.
      number_question: gives the next request number.
      witnesses: of its hits.
      reported: the answers of shares that are known on the word of aggregators.
      may_choose: whether the words of a page that tell most of it are to be chosen.
      may_mend: whether mistyped words are to be looked for.
      mended: the query that was meant, where that is another one (`correction`).
      hedges_left: times that others may still be asked for those that are late.
      clicked: by URL, the weight of what readers of this query open, where the policy gives it one.
      has_clicks: False when whoever keeps the log was silent.
      is_mended_by_all: False when some have not said which of their words are like those typed.
    """

    def __init__(
        self,
        me: str,
        order: SearchPages,
        reading: ParsedQuery,
        view: SharedState,
        number_question: Callable[[], int],
    ) -> None:
        self.me = me
        self.order = order
        self.view = view
        self.ownership = view.ownership
        self.reading = reading
        self._text = order.text
        self.query = reading.query
        self.remarks = reading.remarks
        may_define = "define" in order.text.lower()  # nearly no query has it
        self.defined = _term_to_define(order.text) if may_define else ""
        self.digest = digest_of(order.text, order.order)
        self.cursor: Cursor | None = decode_cursor(order.cursor, self.digest) if order.cursor else None
        if order.cursor and self.cursor is None:
            self.remarks += (Remark(Oddity.NO_CURSOR),)
        self.k = min(max(order.k, 1), SNIPPETS_MAX)
        self.offset = min(max(order.offset, 0), HITS_MAX)
        self.started = 0.0
        self.span = reading.span
        self.number_question = number_question
        self.witnesses = Witnesses(me, view)
        self.reported: dict[Share, ReportedHits] = {}
        self.may_choose = bool(order.page_words)
        self._languages = LANGUAGES if view.languages is None else view.languages
        self._languages_read = view.languages or ()
        self.terms = self._terms_of(reading)
        if order.page_words:
            words = [word for word, _ in order.page_words]
            self.terms = tuple(dict.fromkeys((*words, *self.terms)))[:TERMS_MAX]
        self.may_mend = not (order.is_verbatim or self.may_choose)
        self.mended: Mended | None = None
        self.is_mended_by_all = True
        self.hedges_left = HEDGES_MAX
        self.clicked: Mapping[str, float] = NOTHING_CLICKED
        self.has_clicks = True
        self._readings_left = READINGS_MAX
        self._restarts_left = RESTARTS_MAX
        self._rereadings_left = REREADINGS_MAX
        self._n_deeper = 0

    def check_span(self, now: float) -> None:
        """Search pages as they are where the mesh does not search the past that is asked for."""
        assert self.span is not None
        rules = self.view.policy.search_history
        is_kept = rules is not None and self.span[0] >= now - rules.keep_s
        # A day, or a longer time up to its end, is a moment: the end of today is no time to come.
        begun_s = self.span[0] - DAY_S if self.span[0] == self.span[1] else self.span[0]
        found = Oddity.YET_TO_COME if begun_s > now else Oddity.AS_OF
        self.remarks += (Remark(found if is_kept else Oddity.NO_PAST),)
        self.span = self.span if is_kept else None

    @property
    def searched_text(self) -> str:
        """The query that was meant where that is sure, else the one that was typed."""
        return self.mended.text if self.mended and self.mended.is_sure else self.order.text

    @property
    def is_in_tail(self) -> bool:
        """Does the page begin behind the folded hits?"""
        return self.cursor is not None and not self.cursor.is_head

    def take_mended(self, mended: Mended | None) -> bool:
        """Note the query that was meant; tell whether to search by that instead, beginning anew."""
        self.may_mend = False
        self.mended = mended
        if mended is None or not mended.is_sure:
            return False
        self._take_text(mended.text)
        return True

    def choose_words(self, doc_freqs: Mapping[str, int], page_count: int) -> None:
        """Search by the words that tell most of a page."""
        self.may_choose = False
        self._take_text(with_telling_words(self.order.text, self.order.page_words, doc_freqs, page_count))

    def take_languages(self, doc_freqs: Mapping[str, int]) -> bool:
        """Tell whether it has been read anew and is to be counted: pages are in other languages than thought.

        Words are looked for in the forms of the languages that any pages of the mesh are in, and no others:
        three words have fifty entries in all languages there are.
        """
        if not self.reading.has_forms or not self._rereadings_left:
            return False
        found = languages_among(self._languages, doc_freqs)
        if found == self._languages_read:
            if self.span is None:
                self.view.languages = found
            return False
        self._rereadings_left -= 1
        self._languages = LANGUAGES if found is None else found
        self._languages_read = found or ()
        self._take_text(self._text)
        return True

    def _take_text(self, text: str) -> None:
        self._text = text
        self.reading = reading_of(self.order, self.view, text, self._languages_read)
        self.defined = _term_to_define(text) if self.defined else ""
        self.query = self.reading.query
        self.terms = self._terms_of(self.reading)

    def _terms_of(self, reading: ParsedQuery) -> tuple[str, ...]:
        """Return the terms to be counted: those of a reading, and the languages that it goes by."""
        if not reading.has_forms:
            return reading.terms
        return tuple(dict.fromkeys((*reading.terms, *entries_of_languages(self._languages))))

    def is_shown(self, url: str) -> bool:
        """Tell whether a page may be in an answer to the order."""
        return self.view.policy.shows(url, self.order.hidden)

    @property
    def start(self) -> int:
        """How many results are before the page, in the head."""
        return self.cursor.rank if self.cursor else self.offset

    @property
    def is_spread(self) -> bool:
        """Do sites take turns? Not in the order of dates, nor where one was asked for."""
        if self.order.order is not Sort.SCORE:
            return False
        for each in chain.from_iterable(self.query.clauses):
            if each.kind is LiteralKind.SITE and not each.negated:
                return False
        return True

    def needed(self) -> int:
        """How many results, of which copies are one, have to be known before the page is final."""
        end = self.start + self.k
        if self.defined:
            end = max(end, DEFINED_AMONG)
        return needed_for(end) if self.is_spread else end

    def depth(self) -> int:
        """How many hits are asked of each share."""
        if self.is_in_tail:
            return self.k + 1
        wanted = self.needed()
        wanted = wanted if self.order.order is Sort.DATE else max(wanted, MODEL_DEPTH)
        return min((wanted << self._n_deeper) + 1, HITS_MAX)

    def may_go_deeper(self) -> bool:
        """Ask for leave to ask for twice as many hits, since many are copies."""
        if self.is_in_tail or self.depth() == HITS_MAX:
            return False
        self._n_deeper += 1
        return True

    def may_read_again(self) -> bool:
        """Ask for leave to read another page of results, since hits on this one were denied."""
        self._readings_left -= 1
        return self._readings_left > 0

    def is_young(self, now: float) -> bool:
        """May it begin anew under other owners?"""
        return now < self.started + YOUNG_S

    def may_restart(self, now: float) -> bool:
        """Ask for leave to begin anew since an index has changed, which uses up one of a few times."""
        if self._restarts_left == 0 or not self.is_young(now):
            return False
        self._restarts_left -= 1
        self.view.restarts += 1
        return True


def _term_to_define(text: str) -> str:
    from peers.engine.excerpts.definition import term_to_define  # loaded where somebody asks for a definition

    return term_to_define(text)
