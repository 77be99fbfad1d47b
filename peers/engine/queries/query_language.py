"""The language of queries: from the typed text to a syntax tree, without its meaning.

    words, AND words   all of them
    "some words"       as they stand; “ ” „ 「 」 『 』 ＂ quote as well
    -x, NOT x          without it; x is a word, a phrase, an operator or a group; --x is a word
    x OR y, x | y      one of them; it joins its neighbours only, as people know it: a b OR c is a (b OR c)
    ( )                groups
    site: intitle: inurl: lang: type: class: after: before: larger: ...   see `Operator`
    http://...         alone: the page of that address, and pages that have it in their text

Full-width signs （ ） ： － ｜ count as their like. AND, OR and NOT are words of the language in capitals,
beside a word that is not, and where more than function words is left to look for: `IS NOT NULL` and a title
in capitals are words. In a sentence, which uses no other sign of the language, quotation marks, parentheses
and `e.g.` are those of its prose: it is read as its words.

Nothing typed is an error. What is malformed gets its best reading and a remark: a parenthesis or quotation
mark that is not closed ends with the text, one that was not opened is left out, as is an OR with nothing on
one side; what stands deeper than `DEPTH_MAX` is read without its parentheses. Where nothing is left, the
text is searched as it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from enum import StrEnum
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

import msgspec

from peers.text.function_words import FUNCTION_WORDS_OF, function_words_of

DEPTH_MAX: Final = 16  # of parentheses; people nest two or three
REMARKS_MAX: Final = 8
REMARK_CHARS_MAX: Final = 60  # of what was typed, in a remark or another sentence
# A text with as many words, this many of them function words, is a sentence; with less a sign must end it.
SENTENCE_WORDS_MIN: Final = 8
SENTENCE_FUNCTION_WORDS_MIN: Final = 3
ENDED_CHARS_MIN: Final = 8  # of a sentence in Chinese with a sign at its end


class Operator(StrEnum):
    """The operators, words that may stand before a colon."""

    SITE = "site"  # a host and its subdomains
    INTITLE = "intitle"  # a word or phrase in the title
    INURL = "inurl"
    INTEXT = "intext"  # a word or phrase in the main text
    DEFINE = "define"  # a word or phrase of which pages say what it is: these come first
    HOST = "host"  # as `SITE`
    LANG = "lang"  # zh, en-GB
    TYPE = "type"  # html, pdf, text/plain
    FILETYPE = "filetype"  # as `TYPE`
    AFTER = "after"  # 2024, 2024-05, 2024-05-01: from the beginning of that on
    BEFORE = "before"  # before the beginning of that
    LARGER = "larger"  # 500, 20K, 10MB, 1.5G: a directory has a file that has as many bytes
    NEWER = "newer"  # as of `AFTER`: a directory has a file that is of then or later
    CLASS = "class"  # of pages of the mesh, those below it too; * is any
    ASOF = "asof"  # 2026-11-25: pages as they were at the end of that
    BETWEEN = "between"  # 2026-11..2026-12-05: as they were at any moment of that
    COPIES = "copies"  # all: pages that are copies of others are results, too
    CACHE = "cache"  # the page of an address, and its stored copy
    LINK = "link"  # pages that have an address in their text; those that link to it the gateway lists
    RELATED = "related"  # pages with the words of a stored one, which the gateway puts in its place


class Oddity(StrEnum):
    """The reasons for a remark about a query."""

    QUOTE_OPEN = "quote_open"  # closing quotation mark missing
    PARENTHESIS_OPEN = "parenthesis_open"
    PARENTHESIS_EXTRA = "parenthesis_extra"
    OR_ALONE = "or_alone"  # nothing on one side of it
    NOT_ALONE = "not_alone"  # nothing behind it
    TOO_DEEP = "too_deep"
    NO_HOST = "no_host"  # from here on: searched as text, because it is none
    NO_LANGUAGE = "no_language"
    NO_TYPE = "no_type"
    NO_DATE = "no_date"
    ENDS_FIRST = "ends_first"  # the second date of a span is before the first
    NO_CLASS = "no_class"
    NO_SIZE = "no_size"
    NO_VALUE = "no_value"  # nothing behind the colon
    NO_OPERATOR = "no_operator"  # there is none of that name
    NO_COPY = "no_copy"  # the page of that address is not stored
    STORED_COPY = "stored_copy"  # it is
    NO_LINKS = "no_links"  # links to it are not listed: pages are searched that have it in their text
    BACKLINKS = "backlinks"  # they are listed elsewhere; else likewise
    WORDS_OF_PAGE = "words_of_page"  # that are searched, for pages like it
    SENTENCE = "sentence"  # its quotation marks and parentheses ask for nothing
    ONLY_EXCLUSIONS = "only_exclusions"  # nothing is asked for
    NO_WORDS = "no_words"  # likewise, but by signs
    TOO_LONG = "too_long"  # from here on it was left out
    TOO_MANY_WORDS = "too_many_words"  # the last ones were left out
    TOO_COMPLEX = "too_complex"  # its words are searched, its conditions left out
    COMMONEST_LEFT_OUT = "commonest_left_out"  # of so many words the rarest are searched
    NO_SUCH_PHRASE = "no_such_phrase"  # no page has what was quoted: its words are searched
    NO_DEFINITION = "no_definition"  # no page has what was to be defined: its words are searched
    NOT_DEFINED = "not_defined"  # none of the first pages says in a sentence what it is
    CUT_SHORT = "cut_short"  # it cost too much: the best of what was looked at is shown
    AS_OF = "as_of"  # pages are found as they were, and links to them as they are
    YET_TO_COME = "yet_to_come"  # of a time that is not over pages are found as they are
    NO_PAST = "no_past"  # pages are searched as they are: of then they are not kept for searches
    NO_CURSOR = "no_cursor"  # it is none of this query: its first page is shown


class Remark(msgspec.Struct, frozen=True, array_like=True):
    """A remark about a query, for the user that typed it."""

    oddity: Oddity
    text: str = ""  # what it is about, as it was typed


class Words(NamedTuple):
    """Words side by side, as they were typed."""

    text: str


class Phrase(NamedTuple):
    text: str


class Condition(NamedTuple):
    """An operator with its value."""

    operator: Operator
    value: str
    typed: str


class Not(NamedTuple):
    node: Node


class And(NamedTuple):
    """All of these; nothing asked for when there are none."""

    nodes: tuple[Node, ...]


class Or(NamedTuple):
    """One of these; there are two at least."""

    nodes: tuple[Node, ...]


Node: TypeAlias = "Words | Phrase | Condition | Not | And | Or"


class Remarks:
    """Those of one query, each once, in the order in which they were met."""

    def __init__(self) -> None:
        self._met: dict[Remark, None] = {}

    def note(self, oddity: Oddity, text: str = "") -> None:
        if len(self._met) < REMARKS_MAX:
            self._met[Remark(oddity, shortened(text))] = None

    def note_all(self, others: Remarks) -> None:
        for remark in others.all():
            self.note(remark.oddity, remark.text)

    def all(self) -> tuple[Remark, ...]:
        return tuple(self._met)


def shortened(text: str) -> str:
    """Return a typed text, or its beginning, to be shown in a sentence."""
    return text if len(text) <= REMARK_CHARS_MAX else text[: REMARK_CHARS_MAX - 1] + "…"


def read(text: str, remarks: Remarks) -> Node:
    """Read a query; never raises."""
    if alone := _ALONE.fullmatch(text):
        operator, address = alone[1], alone[2]
        return Condition(Operator(operator.lower()), address, text) if operator else Phrase(address)
    met = Remarks()
    tokens = list(_tokens(text, met))
    if any(map(_is_keyword, tokens)):
        tokens = _without_words_in_capitals(tokens)
    if _is_prose(text, tokens):
        tokens, met = _words_of_prose(tokens, met)
    node = _Reader(tokens, met).read()
    if any(map(_is_keyword, tokens)) and _asks_for_nothing(node):
        met = Remarks()
        node = _Reader(list(map(_as_word, tokens)), met).read()
    remarks.note_all(met)
    return Words(text) if _is_nothing(node) else node


def plain_texts(node: Node) -> tuple[str, ...]:
    """Return the texts that are asked for; none where there are conditions on anything else, as a site."""
    match node:
        case Words(text) | Phrase(text):
            return (text,)
        case And(nodes) | Or(nodes):
            parts = [plain_texts(each) for each in nodes if not isinstance(each, Not)]
            return tuple(text for part in parts for text in part) if all(parts) else ()
        case _:
            return ()


def conditions_in(node: Node) -> Iterator[Condition]:
    """Yield the conditions of a query, from left to right."""
    match node:
        case Condition():
            yield node
        case Not(inner):
            yield from conditions_in(inner)
        case And(nodes) | Or(nodes):
            for each in nodes:
                yield from conditions_in(each)


def address_alone(text: str) -> str:
    """Return the URL that is all that was typed, "" where there is more or none."""
    alone = _ALONE.fullmatch(text)
    return alone[2] if alone and not alone[1] else ""


class _Sign(StrEnum):
    WORD = "word"
    PHRASE = "phrase"
    CONDITION = "condition"
    OPEN = "open"
    CLOSE = "close"
    OR = "or"
    AND = "and"
    NOT = "not"
    MINUS = "minus"


class _Token(NamedTuple):
    sign: _Sign
    text: str = ""
    operator: str = ""
    typed: str = ""


_OPENING = '"“”„「『＂'
_QUOTES = '"“”„「」『』＂'
_TOKEN = re.compile(
    rf"""\s+
      | (?P<minus>(?<![^\s(（|｜])[-－−](?=[^\s)）|｜\-]))
      | (?<![^\s(（|｜\-－−])(?P<operator>{"|".join(Operator)})[:：]
            (?: [{_OPENING}](?P<quoted>[^{_QUOTES}]*)[{_QUOTES}]? | (?P<value>[^\s{_QUOTES}()（）|｜]*) )
      | [{_OPENING}](?P<phrase>[^{_QUOTES}]*)(?P<closing>[{_QUOTES}]?)
      | (?P<open>[(（])
      | (?P<close>[)）])
      | (?P<or>[|｜]+)
      | (?P<word>[^\s{_QUOTES}()（）|｜]+)
      | (?P<odd>.)""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_VALUES: Final = tuple(_OPENING + "(（")  # signs that begin the value of an operator
_KEYWORDS: Final = {"OR": _Sign.OR, "AND": _Sign.AND, "NOT": _Sign.NOT}
_SIGNS_OF_PROSE: Final = (_Sign.WORD, _Sign.PHRASE, _Sign.OPEN, _Sign.CLOSE)
_ENDS: Final = ("?", "？", "。", "！", "!")
_ABBREVIATIONS: Final = frozenset(("e.g.", "e.g.,", "i.e.", "i.e.,"))
# A word and a colon as people write operators elsewhere; no address, no port, no time, no name of C++.
_LIKE_OPERATOR: Final = re.compile(r"[a-z]{2,12}[:：](?![:：/]|\d+(?![\w.\-]))", re.ASCII | re.IGNORECASE)
# A URL, which may have signs of the language in it.
_ALONE: Final = re.compile(r"\s*(?:(cache|link|related)[:：])?(https?://\S+)\s*", re.IGNORECASE)
_SIGNS: Final = {"minus": _Sign.MINUS, "open": _Sign.OPEN, "close": _Sign.CLOSE, "or": _Sign.OR}


def _tokens(text: str, remarks: Remarks) -> Iterator[_Token]:
    for match in _TOKEN.finditer(text):
        name = match.lastgroup
        if match["operator"] is not None:
            value = match["quoted"] if match["quoted"] is not None else match["value"]
            yield _Token(_Sign.CONDITION, value, match["operator"].lower(), match[0])
        elif match["phrase"] is not None:
            if not match["closing"] and match["phrase"].strip():
                remarks.note(Oddity.QUOTE_OPEN)
            yield _Token(_Sign.PHRASE, match["phrase"])
        elif name == "word":
            like = _LIKE_OPERATOR.match(match[0])
            if like and (like.end() < match.end() or text[match.end() : match.end() + 1] in _VALUES):
                remarks.note(Oddity.NO_OPERATOR, match[0])
            yield _Token(_KEYWORDS.get(match[0], _Sign.WORD), match[0])
        elif name in _SIGNS:
            yield _Token(_SIGNS[name], match[0])


def _is_keyword(token: _Token) -> bool:
    return token.text in _KEYWORDS and token.sign is not _Sign.WORD and token.sign is not _Sign.PHRASE


def _as_word(token: _Token) -> _Token:
    return _Token(_Sign.WORD, token.text) if _is_keyword(token) else token


def _without_words_in_capitals(tokens: list[_Token]) -> list[_Token]:
    """Make words of keywords that nothing beside them tells to be more, and of such as OR AND in a row."""
    read: list[_Token] = []
    texts = [at for at, token in enumerate(tokens) if token.text and not _is_keyword(token)]
    for is_keyword, group in groupby(enumerate(tokens), lambda each: _is_keyword(each[1])):
        row = list(group)
        first, keywords = row[0][0], [token for _, token in row]
        if is_keyword:
            place = bisect_left(texts, first)
            is_told = any(_tells_keywords(tokens[at]) for at in texts[max(0, place - 1) : place + 1])
            if not is_told or any(token.sign is not _Sign.NOT for token in keywords[1:]):
                keywords = list(map(_as_word, keywords))
        read += keywords
    return read


def _tells_keywords(token: _Token) -> bool:
    """Tell whether a keyword beside it is one: it has a letter that is no capital, or is no mere word."""
    return token.sign is not _Sign.WORD or any(c.isalpha() and not c.isupper() for c in token.text)


def _asks_for_nothing(node: Node) -> bool:
    """Tell whether all that a node asks for is function words of two letters or more."""
    texts = plain_texts(node)
    words = {word for text in texts for word in text.lower().split()}
    return bool(words) and words <= FUNCTION_WORDS_OF["en"] and any(len(word) > 1 for word in words)


def _is_prose(text: str, tokens: list[_Token]) -> bool:
    """Tell whether a text is a sentence that uses no sign of the language but those that prose has, too."""
    if not all(token.sign in _SIGNS_OF_PROSE for token in tokens):
        return False
    if text.rstrip().endswith(_ENDS) and len(text) >= ENDED_CHARS_MIN and any(c >= "\u3400" for c in text):
        return True
    bare = [token.text.lower().strip(",;:?!.") for token in tokens if token.sign is _Sign.WORD]
    if len(bare) < SENTENCE_WORDS_MIN:
        return False
    return len(function_words_of(bare).intersection(bare)) >= SENTENCE_FUNCTION_WORDS_MIN


def _words_of_prose(tokens: list[_Token], met: Remarks) -> tuple[list[_Token], Remarks]:
    """Return the words of a sentence, and the remark that its other signs are not those of the language."""
    remarks = Remarks()
    for each in met.all():
        if each.oddity is Oddity.NO_OPERATOR:
            remarks.note(*msgspec.structs.astuple(each))
    if any(token.sign is not _Sign.WORD for token in tokens):
        remarks.note(Oddity.SENTENCE)
    words = [_Token(_Sign.WORD, token.text) for token in tokens if token.sign in (_Sign.WORD, _Sign.PHRASE)]
    return [word for word in words if word.text.lower() not in _ABBREVIATIONS], remarks


class _Reader:
    """Recursive descent; every method leaves the tokens that it does not understand to its caller."""

    def __init__(self, tokens: list[_Token], remarks: Remarks) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self._remarks = remarks

    def read(self) -> Node:
        nodes: list[Node] = []
        while True:
            nodes.append(self._sequence())
            if self._sign() is None:
                return _all_of(nodes)
            self._remarks.note(Oddity.PARENTHESIS_EXTRA)  # nothing else ends a sequence
            self._at += 1

    def _sign(self) -> _Sign | None:
        return self._tokens[self._at].sign if self._at < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _sequence(self) -> Node:
        nodes: list[Node] = []
        while self._sign() not in (None, _Sign.CLOSE):
            nodes.append(self._alternatives())
        return _all_of(nodes)

    def _alternatives(self) -> Node:
        nodes = [And(()) if self._sign() is _Sign.OR else self._factor()]
        while self._sign() is _Sign.OR:
            sign = self._take()
            more = And(()) if self._sign() in (None, _Sign.CLOSE, _Sign.OR) else self._factor()
            if _is_nothing(nodes[-1]) or _is_nothing(more):
                self._remarks.note(Oddity.OR_ALONE, sign.text)
            nodes.append(more)
        asked = [node for node in nodes if not _is_nothing(node)]
        return Or(tuple(asked)) if len(asked) > 1 else _all_of(asked)

    def _factor(self) -> Node:
        token = self._take()
        match token.sign:
            case _Sign.WORD:
                return Words(token.text)
            case _Sign.PHRASE:
                return Phrase(token.text) if token.text.strip() else And(())
            case _Sign.CONDITION:
                return Condition(Operator(token.operator), token.text, token.typed)
            case _Sign.OPEN:
                return self._group()
            case _Sign.AND:
                return And(())
            case _:
                return self._negation(token)

    def _negation(self, token: _Token) -> Node:
        is_negated = True
        while self._sign() in (_Sign.NOT, _Sign.MINUS):
            is_negated = not is_negated
            self._at += 1
        if self._sign() in (None, _Sign.OR, _Sign.CLOSE, _Sign.AND):
            if token.sign is _Sign.NOT:
                self._remarks.note(Oddity.NOT_ALONE, token.text)
            return And(())
        node = self._factor()
        return Not(node) if is_negated and not _is_nothing(node) else node

    def _group(self) -> Node:
        if self._depth == DEPTH_MAX:
            self._remarks.note(Oddity.TOO_DEEP)
            return And(())  # what is inside follows as if the parenthesis were not there
        self._depth += 1
        node = self._sequence()
        self._depth -= 1
        if self._sign() is None:
            self._remarks.note(Oddity.PARENTHESIS_OPEN)
        else:
            self._at += 1
        return node


def _is_nothing(node: Node) -> bool:
    return isinstance(node, And) and not node.nodes


def _all_of(nodes: list[Node]) -> Node:
    """Put nodes side by side: words that are next to each other become one text."""
    flat: list[Node] = []
    for node in nodes:
        for each in node.nodes if isinstance(node, And) else (node,):
            last = flat[-1] if flat else None
            if isinstance(each, Words) and isinstance(last, Words):
                flat[-1] = Words(f"{last.text} {each.text}")
            else:
                flat.append(each)
    return flat[0] if len(flat) == 1 else And(tuple(flat))
