"""Make a query from a text typed in the language of `query_language`.

* Words outside of everything else must all occur, in any field, in some form (`analysis.query_terms`).
* Phrases, and whatever is excluded, are literal: they stand in one field as they were typed.
* Alternatives and groups become clauses in conjunctive normal form. Side by side, several site:, lang: or
  type: mean one of them, since no page has two, and so do several class:.
* Words, larger: and newer: beside each other are of one file of a directory.
* All that is asked for positively scores, whether it must occur or not.

Nothing typed is an error: see `ParsedQuery.remarks`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import chain
from math import inf
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import unquote

import ada_url
import msgspec

from peers.engine.pages.filter_entries import CLASS_PREFIX, HOST_PREFIX, LANGUAGE_PREFIX, TYPE_PREFIX
from peers.engine.pages.kinds import NAMES
from peers.engine.pages.site_names import NAME_WEIGHT, name_in
from peers.engine.queries.native_forms import (
    LANGUAGES,
    NativeForms,
    has_forms,
    native_forms,
    with_native_forms,
)
from peers.engine.queries.query import (
    ANY_FIELD,
    CLAUSES_MAX,
    HEADINGS_FIELD,
    LITERAL_ENTRIES_MAX,
    LITERALS_MAX,
    REQUIRED_MAX,
    SCORING_MAX,
    TEXT_FIELD,
    TITLE_FIELD,
    URL_FIELD,
    Literal,
    LiteralKind,
    Mode,
    Query,
    Sort,
    phrase_of,
)
from peers.engine.queries.query_language import (
    And,
    Condition,
    Node,
    Not,
    Oddity,
    Operator,
    Or,
    Phrase,
    Remark,
    Remarks,
    Words,
    read,
)
from peers.text.analysis import EitherOf, QueryTerms, query_terms
from peers.text.regional_words import WAYS_MAX
from peers.text.segmentation import NO_USER_WORDS, UserWords
from peers.text.synonyms import NO_SYNONYMS, Synonyms

# The longest of 50,000 real queries (TREC terabyte) has fewer than 300 characters.
QUERY_CHARS_MAX: Final = 1000
WORD_CHARS_MAX: Final = 100  # of what is not cut in two
COUNTED_MAX: Final = 256  # terms that are counted at once; with languages up to `wire_messages.TERMS_MAX`
NO_CLASSES: Final[Set[str]] = frozenset()
ANY_CLASS: Final = "*"


class ParsedQuery(NamedTuple):
    """How a typed query was understood."""

    query: Query
    remarks: tuple[Remark, ...]  # on what was odd about it
    natives: tuple[NativeForms, ...] = ()  # the languages besides English that it may be in
    unquoted: Query | None = None  # with words for what is quoted or to be defined, None where nothing is
    # From when to when, in seconds since the epoch, pages are to be found as they were; None for as they are.
    span: tuple[float, float] | None = None
    has_forms: bool = False  # are there words that may have others in another language?

    @property
    def terms(self) -> tuple[str, ...]:
        """The distinct entries needed to decide, by their statistics, how to search."""
        unquoted = self.unquoted.terms if self.unquoted else ()
        natives = chain.from_iterable([each.entries for each in self.natives])
        return tuple(dict.fromkeys((*self.query.terms, *unquoted, *natives)))

    def with_native_forms(self, doc_freqs: Mapping[str, int]) -> Query:
        """Return the query in the language that the statistics of `terms` say it means."""
        return with_native_forms(self.query, self.natives, doc_freqs)

    def unquoted_with_native_forms(self, doc_freqs: Mapping[str, int]) -> Query | None:
        """Return, likewise, the query to search when no page has the phrases, or the text to be defined."""
        return self.unquoted and with_native_forms(self.unquoted, self.natives, doc_freqs)


def read_query(
    text: str,
    order: Sort = Sort.SCORE,
    without: Sequence[str] = (),
    synonyms: Synonyms = NO_SYNONYMS,
    classes: Set[str] = NO_CLASSES,
    user_words: UserWords = NO_USER_WORDS,
    languages: Collection[str] = LANGUAGES,
) -> ParsedQuery:
    """Read a query as typed; never raises. Parts beyond the limits are left out, with a remark.

    Args:
      without: domains of which nothing is found, whatever is typed; at most `LITERAL_ENTRIES_MAX`.
      synonyms: what the owner of the mesh says that words mean as well.
      classes: names of those that pages of the mesh may be in, case folded.
      user_words: by which Chinese is cut, besides those of the dictionary.
      languages: as for `native_forms`.
    """
    remarks = Remarks()
    taken = cut_at_word(text, QUERY_CHARS_MAX)
    if len(taken) < len(text.rstrip()):
        remarks.note(Oddity.TOO_LONG, text[len(taken) :].strip())
    terms_of = partial(query_terms, user_words=user_words) if user_words else query_terms
    compiler = _Compiler(remarks, without, synonyms, classes, terms_of)
    node = read(taken, remarks)
    query = compiler.query(node, order)
    if query.is_empty and taken.strip():
        remarks.note(Oddity.ONLY_EXCLUSIONS if compiler.has_conditions else Oddity.NO_WORDS)
    query.check_limits()
    unquoted = None
    if _is_any(query, ANY_FIELD) or _is_any(query, _FIELDS[Operator.DEFINE]):
        unquoted = _Compiler(Remarks(), without, synonyms, classes, terms_of).query(_unquoted(node), order)
    natives = native_forms(compiler.typed, compiler.language, languages)
    may_be_native = has_forms(compiler.typed)
    reading = ParsedQuery(query, remarks.all(), natives, unquoted, compiler.span, may_be_native)
    if len(reading.terms) > COUNTED_MAX:
        reading = reading._replace(natives=())
    return reading if len(reading.terms) <= COUNTED_MAX else reading._replace(unquoted=None)


def cut_at_word(text: str, chars_max: int) -> str:
    """The beginning of a text, up to a space where there is one in the last words, as not in Chinese."""
    if len(text) <= chars_max:
        return text
    head = text[: chars_max + 1]
    end = max(head.rfind(space) for space in " \t\n\u3000")
    return head[: end if end > chars_max - WORD_CHARS_MAX else chars_max].rstrip()


def parse_query(text: str, mode: Mode = Mode.AND) -> Query:
    """Return the query that was typed, without remarks."""
    return read_query(text).query.with_mode(mode)


_Clause: TypeAlias = tuple[Literal, ...]
TermsOf: TypeAlias = Callable[[str, Synonyms], QueryTerms]

_UNITED: Final = (
    LiteralKind.SITE,
    LiteralKind.LANGUAGE,
    LiteralKind.TYPE,
    LiteralKind.CLASS,
)  # side by side they mean one of them
_FIELDS: Final = {
    Operator.INTITLE: TITLE_FIELD,
    Operator.INURL: URL_FIELD,
    Operator.INTEXT: TEXT_FIELD,
    Operator.DEFINE: TITLE_FIELD | HEADINGS_FIELD | TEXT_FIELD,
    Operator.CACHE: URL_FIELD,
    Operator.LINK: TEXT_FIELD,
}
_SPANS: Final = (Operator.ASOF, Operator.BETWEEN)
_UNKNOWN: Final = {
    Operator.SITE: Oddity.NO_HOST,
    Operator.HOST: Oddity.NO_HOST,
    Operator.LANG: Oddity.NO_LANGUAGE,
    Operator.TYPE: Oddity.NO_TYPE,
    Operator.FILETYPE: Oddity.NO_TYPE,
    Operator.AFTER: Oddity.NO_DATE,
    Operator.BEFORE: Oddity.NO_DATE,
    Operator.LARGER: Oddity.NO_SIZE,
    Operator.NEWER: Oddity.NO_DATE,
    Operator.ASOF: Oddity.NO_DATE,
    Operator.BETWEEN: Oddity.NO_DATE,
    Operator.CLASS: Oddity.NO_CLASS,
    Operator.RELATED: Oddity.NO_COPY,
}


class _TooComplex(Exception):
    """An expression has more clauses than a query may have."""


class _Compiler:
    """Turns the tree of a query into a `Query`."""

    def __init__(
        self,
        remarks: Remarks,
        without: Sequence[str],
        synonyms: Synonyms,
        classes: Set[str],
        terms_of: TermsOf,
    ) -> None:
        self._remarks = remarks
        self._terms_of = terms_of
        self._synonyms = synonyms
        self._classes = classes
        entries = tuple(HOST_PREFIX + domain for domain in without)
        self._hidden: list[_Clause] = [(Literal(LiteralKind.SITE, entries, negated=True),)] if entries else []
        self._bare: list[str] = []  # texts of which every word is required
        self._scoring: list[Words | Phrase] = []  # more texts that are asked for
        self._clauses: dict[_Clause, None] = {}
        self._united: dict[LiteralKind, dict[str, None]] = {}  # entries of which one must occur
        self._has_copies = False
        self.span: tuple[float, float] | None = None
        self._file: Literal | None = None  # that a directory must have, without the words

    def query(self, node: Node, order: Sort) -> Query:
        for each in node.nodes if isinstance(node, And) else (node,):
            self._add(each)
        terms = self._terms_of(" ".join(self._bare), self._synonyms)
        scoring = dict(zip(terms.scoring, terms.weights, strict=True))
        for text in self._scoring:
            more = self._terms_of(text.text, self._synonyms if isinstance(text, Words) else NO_SYNONYMS)
            for entry, weight in zip(more.scoring, more.weights, strict=True):
                scoring.setdefault(entry, weight)
        if name := name_in(self.typed):
            scoring[name] = NAME_WEIGHT
        if self._file is not None:
            named = msgspec.structs.replace(self._file, entries=terms.required[:LITERAL_ENTRIES_MAX])
            self._clauses = {(named,): None, **self._clauses}
        clauses = tuple(self._fitting_clauses())
        room = min(CLAUSES_MAX - len(clauses), (LITERALS_MAX - sum(map(len, clauses))) // WAYS_MAX)
        is_over = len(terms.required) > REQUIRED_MAX or len(terms.alternatives) > room
        if is_over or len(scoring) > SCORING_MAX:
            self._remarks.note(Oddity.TOO_MANY_WORDS)
        return Query(
            required=terms.required[:REQUIRED_MAX],
            scoring=tuple(scoring)[:SCORING_MAX],
            weights=tuple(scoring.values())[:SCORING_MAX],
            clauses=clauses,
            order=order,
            has_copies=self._has_copies,
            alternatives=tuple(map(_either, terms.alternatives[:room])),
        )

    @property
    def typed(self) -> str:
        """All texts that are asked for."""
        return " ".join([*self._bare, *(each.text for each in self._scoring)])

    @property
    def language(self) -> str:
        """The only one that pages may be in, "" for any."""
        wanted = self._united.get(LiteralKind.LANGUAGE, {})
        return next(iter(wanted)).removeprefix(LANGUAGE_PREFIX) if len(wanted) == 1 else ""

    @property
    def has_conditions(self) -> bool:
        return bool(self._united or self._clauses)

    def _fitting_clauses(self) -> Iterator[_Clause]:
        united = [(Literal(kind, tuple(e)[:LITERAL_ENTRIES_MAX]),) for kind, e in self._united.items()]
        n_literals = 0
        for number, clause in enumerate((*self._hidden, *united, *self._clauses)):
            n_literals += len(clause)
            if number >= CLAUSES_MAX or n_literals > LITERALS_MAX:
                self._remarks.note(Oddity.TOO_COMPLEX)
                return
            yield clause

    def _add(self, node: Node) -> None:
        """Take in one of the nodes that all must hold."""
        if isinstance(node, Words):
            self._bare.append(node.text)
            return
        if isinstance(node, Condition) and node.operator is Operator.COPIES and node.value.strip() == "all":
            self._has_copies = True
            return
        if isinstance(node, Condition) and node.operator in _SPANS and (span := _span_of(node)) is not None:
            self.span = span
            return
        literal = self._condition(node) if isinstance(node, Condition) else None
        if isinstance(node, Condition) and literal is None:
            self._bare.append(node.typed)
            return
        if literal is not None and literal.kind is LiteralKind.FILE:
            self._file = _of_one_file(self._file, literal)
            return
        if literal is not None and literal.kind in _UNITED:
            self._united.setdefault(literal.kind, {}).update(dict.fromkeys(literal.entries))
            return
        self._scoring += _texts_asked_for(node, self._classes)
        try:
            clauses = self._normal_form(node, is_negated=False)
        except _TooComplex:
            self._remarks.note(Oddity.TOO_COMPLEX)
            texts = _texts_asked_for(node, self._classes)
            words = [_clauses_of_words(self._terms_of(each.text, self._synonyms)) or [()] for each in texts]
            clauses = [tuple(chain.from_iterable(first for first, *_ in words))[:LITERALS_MAX]]
        for clause in clauses or []:
            if clause:
                self._clauses[clause] = None

    def _normal_form(self, node: Node, *, is_negated: bool) -> list[_Clause] | None:
        """Return the clauses that say the same as a node; None when it asks for nothing.

        Raises:
          _TooComplex: there are too many.
        """
        match node:
            case Not(inner):
                return self._normal_form(inner, is_negated=not is_negated)
            case And(nodes) | Or(nodes):
                parts = [self._normal_form(each, is_negated=is_negated) for each in nodes]
                known = [part for part in parts if part is not None]
                is_any = isinstance(node, Or) is not is_negated
                if not known:
                    return None
                return _any_of(known) if is_any else list(chain.from_iterable(known))
            case Words(text):
                if is_negated:
                    return _clause_of([phrase_of(word, negated=True) for word in text.split()])
                return _clauses_of_words(self._terms_of(text, self._synonyms))
            case Phrase(text):
                return _clause_of([phrase_of(_bare(text), negated=is_negated)])
            case Condition():
                literal = self._condition(node)
                if literal is None:
                    return self._normal_form(Words(node.typed), is_negated=is_negated)
                return [(msgspec.structs.replace(literal, negated=is_negated),)]

    def _condition(self, condition: Condition) -> Literal | None:
        """Return the literal for an operator; None, with a remark, when its value makes no sense."""
        literal = _literal_of(condition.operator, condition.value.strip(), self._classes)
        if literal is None:
            is_empty = not condition.value.strip()
            oddity = Oddity.NO_VALUE if is_empty else _UNKNOWN.get(condition.operator, Oddity.NO_VALUE)
            if oddity is Oddity.NO_DATE and _ends_first(condition):
                oddity = Oddity.ENDS_FIRST
            self._remarks.note(oddity, condition.typed)
        elif condition.operator is Operator.LINK:
            self._remarks.note(Oddity.NO_LINKS, condition.typed)
        return literal


def _texts_asked_for(node: Node, classes: Set[str]) -> list[Words | Phrase]:
    """Return the texts in a node that are not excluded: they score. Synonyms of words do, too."""
    match node:
        case Words():
            return [node]
        case Phrase(text):
            return [Phrase(_bare(text))]
        case Condition(operator, value) if operator in _FIELDS:
            return [Phrase(_bare(value))]
        case Condition(operator, value, typed) if _literal_of(operator, value.strip(), classes) is None:
            return [Words(typed)]
        case And(nodes) | Or(nodes):
            return [text for each in nodes for text in _texts_asked_for(each, classes)]
        case _:
            return []


def unquoted_oddity(query: Query) -> Oddity:
    """Return the oddity of a query of which only the unquoted form was found."""
    return Oddity.NO_SUCH_PHRASE if _is_any(query, ANY_FIELD) else Oddity.NO_DEFINITION


def _is_any(query: Query, fields: int) -> bool:
    """Is any phrase asked for in just these fields?"""
    return any(
        literal.kind is LiteralKind.PHRASE and literal.fields == fields and not literal.negated
        for literal in chain.from_iterable(query.clauses)
    )


def _unquoted(node: Node) -> Node:
    """Return a node with words for the phrases that are asked for, and for texts to be defined."""
    match node:
        case Phrase(text) | Condition(Operator.DEFINE, text):
            return Words(_bare(text))
        case And(nodes):
            return And(tuple(map(_unquoted, nodes)))
        case Or(nodes):
            return Or(tuple(map(_unquoted, nodes)))
        case _:
            return node


def _clauses_of_words(terms: QueryTerms) -> list[_Clause] | None:
    """Return the clauses that say that all words of a text occur; None when there are none."""
    words = [(Literal(LiteralKind.WORDS, terms.required[:LITERAL_ENTRIES_MAX]),)] if terms.required else []
    return [*words, *map(_either, terms.alternatives)] or None


def _either(word: EitherOf) -> _Clause:
    """Return the clause for a word that pages have in one of several ways."""
    return tuple(
        Literal(LiteralKind.PHRASE, way, tuple(range(len(way))))
        if len(way) > 1
        else Literal(LiteralKind.WORDS, way)
        for way in word.ways
    )


def _clause_of(literals: Sequence[Literal | None]) -> list[_Clause] | None:
    clause = tuple(literal for literal in literals if literal is not None)
    return [clause] if clause else None


def _any_of(parts: Sequence[list[_Clause]]) -> list[_Clause]:
    """Return the clauses that hold where all clauses of some part do: by the law of distribution."""
    clauses: list[_Clause] = [()]
    for part in parts:
        clauses = [tuple(dict.fromkeys(a + b)) for a in clauses for b in part]
        if len(clauses) > CLAUSES_MAX or sum(map(len, clauses)) > LITERALS_MAX:
            raise _TooComplex
    return clauses


def _literal_of(operator: Operator, value: str, classes: Set[str]) -> Literal | None:
    match operator:
        case Operator.SITE | Operator.HOST:
            host = _host_of(value)
            return Literal(LiteralKind.SITE, (HOST_PREFIX + host,)) if host else None
        case Operator.LANG:
            language = _language_of(value)
            return Literal(LiteralKind.LANGUAGE, (LANGUAGE_PREFIX + language,)) if language else None
        case Operator.TYPE | Operator.FILETYPE:
            types = _types_of(value)
            return Literal(LiteralKind.TYPE, tuple(TYPE_PREFIX + each for each in types)) if types else None
        case Operator.CLASS:
            name = value.casefold()
            is_known = name in classes or (name == ANY_CLASS and bool(classes))
            return Literal(LiteralKind.CLASS, (CLASS_PREFIX + name,)) if is_known else None
        case _ if operator in _FIELDS:
            return phrase_of(_bare(value), fields=_FIELDS[operator])
        case Operator.AFTER:
            since = _seconds_of(value)
            return None if since is None else Literal(LiteralKind.DATE, low=since)
        case Operator.BEFORE:
            until = _seconds_of(value)
            return None if until is None else Literal(LiteralKind.DATE, high=until)
        case Operator.LARGER:
            size = _bytes_of(value)
            return None if size is None else Literal(LiteralKind.FILE, low=size, high=-inf)
        case Operator.NEWER:
            since = _seconds_of(value)
            return None if since is None else Literal(LiteralKind.FILE, high=since)
        case _:
            return (
                None  # of COPIES and of spans, which are understood in front of the whole query; of RELATED
            )


def _of_one_file(first: Literal | None, other: Literal) -> Literal:
    """Return the literal for one file that two others describe."""
    if first is None:
        return other
    return msgspec.structs.replace(first, low=max(first.low, other.low), high=max(first.high, other.high))


def _bare(text: str) -> str:
    """Return a text as it is; a URL as in the URL field, without scheme, escapes and fragment."""
    address = _ADDRESS.match(text)
    return unquote(text[address.end() :].partition("#")[0], errors="replace") if address else text


_ADDRESS: Final = re.compile(r"\s*https?://(?=\S)", re.IGNORECASE)


def _host_of(site: str) -> str:
    """Return the host that was meant, as canonical URLs spell it, "" when there is none."""
    try:
        host: str = ada_url.URL(site if "://" in site else f"http://{site.lstrip('*.')}").hostname
    except ValueError:
        return ""
    return host


_LANGUAGE = re.compile("([A-Za-z]{2,3})(?:[-_][A-Za-z0-9-_]*)?")
_LANGUAGE_NAMES: Final = {
    "中文": "zh",
    "汉语": "zh",
    "chinese": "zh",
    "英文": "en",
    "英语": "en",
    "english": "en",
    "日文": "ja",
    "日语": "ja",
    "日本語": "ja",
    "japanese": "ja",
    "한국어": "ko",
    "korean": "ko",
    "german": "de",
    "french": "fr",
}


def _language_of(value: str) -> str:
    """Return the primary subtag (RFC 5646) of a language as typed, "" when it is no language."""
    named = _LANGUAGE_NAMES.get(value.lower())
    match = _LANGUAGE.fullmatch(value)
    return named or (match[1].lower() if match else "")


_MEDIA_TYPE = re.compile("[a-z]+/[a-z0-9.+-]+")


def _types_of(value: str) -> tuple[str, ...]:
    """Return the media types that were meant, none when there is no such."""
    name = value.lower().removeprefix(".")
    return NAMES.get(name, (name,) if _MEDIA_TYPE.fullmatch(name) else ())


_DATE = re.compile(r"(\d{4})(?:[-/.年](\d{1,2})(?:[-/.月](\d{1,2})日?|月)?|年)?", re.ASCII)


def _seconds_of(value: str) -> float | None:
    """Return when a year, month or day (UTC) begins, in seconds since the epoch; None when it is none."""
    period = _period_of(value)
    return None if period is None else period[0]


def _period_of(value: str) -> tuple[float, float] | None:
    """Return when a year, month or day (UTC) begins and ends, likewise."""
    match = _DATE.fullmatch(value)
    if match is None:
        return None
    year, month, day = match.groups()
    try:
        begins = datetime(int(year), int(month or 1), int(day or 1), tzinfo=UTC)
        ends = begins + timedelta(days=1)
        while (ends.month == begins.month and not day) or (ends.year == begins.year and not month):
            ends += timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    return (begins - _EPOCH) / timedelta(seconds=1), (ends - _EPOCH) / timedelta(seconds=1) - _MOMENT_S


def _span_of(condition: Condition) -> tuple[float, float] | None:
    """Return the moment, or the span, that is asked for; None when it makes no sense."""
    span = _ends_of(condition)
    return span if span is not None and span[0] <= span[1] else None


def _ends_first(condition: Condition) -> bool:
    span = _ends_of(condition) if condition.operator in _SPANS else None
    return span is not None and span[0] > span[1]


def _ends_of(condition: Condition) -> tuple[float, float] | None:
    """Return the begin and the end that are asked for, as they were typed; None when they make no sense."""
    first, dots, last = condition.value.strip().partition("..")
    begin, end = _period_of(first), _period_of(last or first)
    if begin is None or end is None or bool(dots) != (condition.operator is Operator.BETWEEN):
        return None
    return (begin[0] if dots else end[1]), end[1]


_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)\s?([kmgt]?)(?:i?b)?", re.ASCII | re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def _bytes_of(value: str) -> float | None:
    """Return a size as typed, in bytes; units are of 1,024, as in directories. None when it is none."""
    match = _SIZE.fullmatch(value)
    return float(match[1]) * _UNITS[match[2].lower()] if match else None


_MOMENT_S: Final = 1e-6  # what a time is kept to
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
