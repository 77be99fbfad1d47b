"""A stored copy with the words of a query marked, each in its colour, and a line that jumps to them. Pure.

And with links marked, by how they are written: that takes a style before the copy, which stays as it is.

The copy is hostile and stays in its frame; it is taken apart at its brackets only, in a time that its length
bounds. A bracket inside of an attribute may put a mark into that attribute, and no more: it has no quotes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, NamedTuple

from peers.engine.excerpts.snippet import SoughtTerm, sought_terms
from peers.engine.excerpts.windows import ANYWHERE, FORMS, WHOLE
from peers.engine.queries.query_language import (
    And,
    Condition,
    Node,
    Operator,
    Or,
    Phrase,
    Remarks,
    Words,
    read,
)
from peers.text.analysis import TERM_CHARS_MAX, analyse, query_terms
from peers.text.compounds import compounds_of, spans_of
from peers.text.folding import INVISIBLE, AlignedText, fold
from peers.text.function_words import function_words_of
from peers.text.runs import ANY_LETTER, KIND_OF_CHARACTER, MARKS, RUN, RunKind
from peers.text.stemming import form_of, native_form_of, native_language

WORDS_MAX: Final = 12  # of a query that are marked
MARKS_MAX: Final = 5_000  # in one copy
TAG_CHARS_MAX: Final = 4_096  # of a tag in which a link is looked for
# HTML standard, 13.2.5.33 to 38: attributes in whatever order, the first href counts.
_HREF: Final = re.compile(
    r"a(?:[\s/]+(?!href[\s=])[^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+))?+)*+"
    r"[\s/]+href\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+))",
    re.IGNORECASE,
)
_NOT_PLAIN: Final = re.compile("[^A-Za-z0-9_-]")
# A piece of folded text, in braces, that is no part of a longer word.
_APART: Final = f"(?<!{ANY_LETTER})(?<![{MARKS}]){{}}(?!{ANY_LETTER})(?![{MARKS}])"
_NOWHERE: Final = "(?!)"
_NAME: Final = re.compile("[A-Za-z]{1,20}")
# Elements whose text is not shown as text, or would lose its meaning.
_OPAQUE: Final = frozenset(
    ("script", "style", "title", "textarea", "iframe", "noframes", "xmp", "svg", "math")
)
# Light enough for black letters; they come again after twelve words, which there are not.
_COLOURS: Final = (
    "ff6", "9f9", "9ff", "fcf", "fc9", "ccf", "cf6", "fbb", "6fc", "dda", "9cf", "ddd",
)  # fmt: skip


class MarkedSnapshot(NamedTuple):
    """The markup of a copy with marks, and the words that are there with the numbers of their marks."""

    markup: str
    found: tuple[tuple[int, str], ...]


def words_of(query: str) -> tuple[str, ...]:
    """The words that a query asks for, as people know them; those that say nothing are left out."""
    words: dict[str, None] = {}
    for text in _texts(read(query, Remarks())):
        for run in chain.from_iterable(map(_runs_of, text.split())):
            terms = analyse(run)
            is_said = len(terms) < 2 or run.isascii() or any(term < " " for term in terms)
            words |= dict.fromkeys([run] if is_said else terms)
    empty = function_words_of(dict.fromkeys(each.casefold() for each in words))
    return tuple(word for word in words if word.casefold() not in empty)[:WORDS_MAX]


def _runs_of(typed: str) -> list[str]:
    """Cut a text typed without a space into runs, but for words with signs, such as X-900."""
    folded = fold(typed)
    is_one = typed.isascii() and compounds_of(folded, spans_of(folded))
    return [typed] if is_one else RUN.findall(INVISIBLE.sub("", typed))


def with_marks(markup: str, query: str, language: str = "") -> MarkedSnapshot:
    """Mark the words of a query in the texts of a page of HTML, in the forms that excerpts have marked.

    Args:
      language: of the page, whose forms of words are marked besides the English ones.
    """
    words = words_of(query)
    if not words:
        return MarkedSnapshot(markup, ())
    marks = _Marks(words, language)
    return MarkedSnapshot("".join(_marked(markup, marks)), tuple(sorted(marks.found.items())))


def jumps(copy: MarkedSnapshot) -> str:
    """A line of links to the first place of each word, in its colour; "" when there is none."""
    links = " ".join(
        f'<a href="about:srcdoc#tianmesh-{number}" target="_self" style="background:#{_COLOURS[number]};'
        f'color:#000;padding:2px 6px;text-decoration:none">{html.escape(word)}</a>'
        for number, word in copy.found
    )
    return f'<div style="font:15px sans-serif;padding:8px">{links}</div>' if links else ""


def hrefs_in(markup: str, limit: int) -> tuple[str, ...]:
    """The distinct links of a page as a browser has their attribute, the first `limit` of them."""
    found: dict[str, None] = {}
    for part in markup.split("<"):
        # What is in comments and scripts may look like one: then there is nothing to be marked.
        match = _HREF.match(part[:TAG_CHARS_MAX]) if part[:1] in ("a", "A") else None
        if match is not None:
            found[html.unescape(match[1] or match[2] or match[3] or "")] = None
            if len(found) == limit:
                break
    return tuple(found)


def with_hrefs(markup: str, written: Mapping[str, str]) -> str:
    """Return a page with other links.

    Args:
      written: the new link by the old one, as a browser reads that; it is put in between double quotes.
    """
    parts = markup.split("<")
    for number, part in enumerate(parts):
        match = _HREF.match(part[:TAG_CHARS_MAX]) if part[:1] in ("a", "A") else None
        if match is None or match.lastindex is None:
            continue
        instead = written.get(html.unescape(match[match.lastindex] or ""))
        if instead is not None:
            start, end = match.span(match.lastindex)
            is_quoted = match.lastindex < 3
            quoted = f'"{html.escape(instead)}"'
            parts[number] = part[: start - is_quoted] + quoted + part[end + is_quoted :]
    return "<".join(parts)


def style_of_links(hrefs: Sequence[str]) -> str:
    """A style that puts a frame around links that are written so.

    Each character that could be anything but itself is escaped (CSS Syntax 3, 4.3.7), also for HTML.
    """
    chosen = ",".join(f'a[href="{_NOT_PLAIN.sub(_escaped, href)}"]' for href in hrefs)
    return f"<style>{chosen}{{outline:2px solid #2a2!important;outline-offset:1px}}</style>"


def _escaped(match: re.Match[str]) -> str:
    return f"\\{ord(match[0]):x} "


def _texts(node: Node) -> Iterator[str]:
    """Yield the words and phrases that a query asks for, without its other conditions."""
    match node:
        case Words(text) | Phrase(text) | Condition(Operator.INTITLE, text):
            yield text
        case And(nodes) | Or(nodes):
            for each in nodes:
                yield from _texts(each)


class _Marks:
    """Marks words in one text after the other."""

    def __init__(self, words: tuple[str, ...], language: str) -> None:
        self.found: dict[int, str] = {}  # words by their numbers
        self._words = words
        self._room = MARKS_MAX
        self._sought = [
            (number, term, each)
            for each in dict.fromkeys(("", native_language(language)))
            for number, word in enumerate(words)
            for term in sought_terms(_scoring_in(each, word), each)
        ]
        stands = {term.start: number for number, term, _ in reversed(self._sought) if not _is_word(term)}
        starts = {re.escape(term.start) for _, term, _ in self._sought if _is_word(term)}
        self._number_of: dict[str, int | None] = dict(stands)  # and of the words that were met
        wholes = {term.start for _, term, _ in self._sought if term.kind == WHOLE}
        patterns = [
            _APART.format(re.escape(each)) if each in wholes else re.escape(each)
            for each in sorted(stands, key=len, reverse=True)
        ]
        of_words = f"(?:{'|'.join(starts)})(?:{ANY_LETTER}|[{MARKS}])*+" if starts else _NOWHERE
        patterns.append(f"(?P<word>{of_words})")
        self._pattern = re.compile("|".join(patterns))

    def in_text(self, text: str) -> str:
        if not text or not self._room:
            return text
        aligned = AlignedText(text)
        parts, done = [], 0
        for match in self._pattern.finditer(aligned.folded):
            number = self._number(match)
            start, end = aligned.span(*match.span())
            if number is None or start < done or not self._room:
                continue
            parts += [text[done:start], self._mark(number, text[start:end])]
            done = end
        return "".join(parts) + text[done:]

    def _number(self, match: re.Match[str]) -> int | None:
        """Return the number of the word that was found, None where it is none."""
        text, start = match.string, match.start()
        if text.startswith("&", start - 1, start) or text.startswith("&#", max(0, start - 2), start):
            return None  # a character reference
        found = match[0]
        if match["word"] is None:
            return self._number_of[found]
        if start and KIND_OF_CHARACTER[ord(text[start - 1])] == RunKind.WORD:
            return None
        if found not in self._number_of:
            of_term = (n for n, term, language in self._sought if _is_found(found, term, language))
            self._number_of[found] = next(of_term, None)
        return self._number_of[found]

    def _mark(self, number: int, text: str) -> str:
        self._room -= 1
        place = "" if number in self.found else f" id=tianmesh-{number}"
        self.found[number] = self._words[number]
        return f"<mark{place} style=background:#{_COLOURS[number]};color:#000>{text}</mark>"


def _scoring_in(language: str, word: str) -> list[str]:
    """Return the entries that a word scores by where it is one of a language."""
    scoring = query_terms(word).scoring
    natives = {form_of(each): native_form_of(each, language) for each in scoring if each > " "}
    return [natives.get(entry, entry) for entry in scoring]


def _is_word(term: SoughtTerm) -> bool:
    """Tell whether a term is one word or the beginning of words, and not to be found as it stands."""
    return term.kind != ANYWHERE and RUN.fullmatch(term.start) is not None


def _is_found(word: str, term: SoughtTerm, language: str) -> bool:
    if term.kind != FORMS:
        return term.kind == WHOLE and word == term.start
    is_short = word.startswith(term.start) and len(word) <= TERM_CHARS_MAX
    return is_short and native_form_of(word, language) == term.form


def _marked(markup: str, marks: _Marks) -> Iterator[str]:
    first, *parts = markup.split("<")
    yield marks.in_text(first)
    opaque = ""  # the end of what is passed over
    for part in parts:
        yield "<"
        if opaque:
            comment_ends = opaque == "-->" and "-->" in part
            if not comment_ends and not (opaque != "-->" and part[: len(opaque)].lower() == opaque):
                yield part
                continue
        tag, bracket, text = part.partition("-->" if opaque == "-->" else ">")
        opaque = "" if opaque else _opaque_end(part)
        if opaque == "-->" and "-->" in part:
            tag, bracket, text = part.partition("-->")
            opaque = ""
        yield tag + bracket
        yield text if opaque else marks.in_text(text)


def _opaque_end(part: str) -> str:
    """The mark that ends the element, or comment, that begins here, if it holds no text; "" if it does."""
    if part.startswith("!--"):
        return "-->"
    name = _NAME.match(part)
    return f"/{name[0].lower()}" if name and name[0].lower() in _OPAQUE else ""
