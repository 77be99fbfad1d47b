"""A stored copy with the words of a query marked, each in its colour, and a line that jumps to them. Pure.

And with links marked, by how they are written: that takes a style before the copy, which stays as it is.

The copy is hostile and stays in its frame; it is taken apart at its brackets only, in a time that its length
bounds. A bracket inside of an attribute may put a mark into that attribute, and no more: it has no quotes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from peers.engine.query_language import And, Condition, Node, Operator, Or, Phrase, Remarks, Words, read
from peers.text.analysis import analyse
from peers.text.function_words import function_words_of

WORDS_MAX: Final = 12  # of a query that are marked
MARKS_MAX: Final = 5_000  # in one copy
STEM_CHARS_MIN: Final = 3  # of a word that is found with other endings
ENDING_CHARS_MAX: Final = 4  # behind the stem of a word
TAG_CHARS_MAX: Final = 4_096  # of a tag in which a link is looked for
# HTML standard, 13.2.5.33 to 38: attributes in whatever order, the first href counts.
_HREF: Final = re.compile(
    r"a(?:[\s/]+(?!href[\s=])[^\s/>=]*+(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>\"'][^\s>]*+))?+)*+"
    r"[\s/]+href\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>\"'][^\s>]*+))",
    re.IGNORECASE,
)
_NOT_PLAIN: Final = re.compile("[^A-Za-z0-9_-]")
_WORD: Final = re.compile(r"\w{1,60}")
_NAME: Final = re.compile("[A-Za-z]{1,20}")
# Elements whose text is not shown as text, or would lose its meaning.
_OPAQUE: Final = frozenset(
    ("script", "style", "title", "textarea", "iframe", "noframes", "xmp", "svg", "math")
)
# Light enough for black letters; they come again after twelve words, which there are not.
_COLOURS: Final = (
    "ff6", "9f9", "9ff", "fcf", "fc9", "ccf", "cf6", "fbb", "6fc", "dda", "9cf", "ddd",
)  # fmt: skip


class MarkedCopy(NamedTuple):
    """The markup of a copy with marks, and the words that are there with the numbers of their marks."""

    markup: str
    found: tuple[tuple[int, str], ...]


def words_of(query: str) -> tuple[str, ...]:
    """The words that a query asks for, as people know them; those that say nothing are left out."""
    words: dict[str, None] = {}
    for text in _texts(read(query, Remarks())):
        for run in _WORD.findall(text):
            terms = analyse(run)
            words |= dict.fromkeys([run] if len(terms) < 2 else terms)
    empty = function_words_of(dict.fromkeys(each.casefold() for each in words))
    return tuple(word for word in words if word.casefold() not in empty)[:WORDS_MAX]


def with_marks(markup: str, query: str) -> MarkedCopy:
    """Mark the words of a query in the texts of a page of HTML."""
    words = words_of(query)
    if not words:
        return MarkedCopy(markup, ())
    marks = _Marks(words)
    return MarkedCopy("".join(_marked(markup, marks)), tuple(sorted(marks.found.items())))


def jumps(copy: MarkedCopy) -> str:
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

    def __init__(self, words: tuple[str, ...]) -> None:
        self.found: dict[int, str] = {}  # words by their numbers
        self._words = words
        self._room = MARKS_MAX
        patterns = sorted(enumerate(words), key=lambda each: -len(each[1]))
        one_of = "|".join(f"(?P<w{number}>{_pattern_of(word)})" for number, word in patterns)
        self._pattern = re.compile(one_of, re.IGNORECASE)

    def in_text(self, text: str) -> str:
        return self._pattern.sub(self._mark, text) if text and self._room > 0 else text

    def _mark(self, match: re.Match[str]) -> str:
        self._room -= 1
        number = int((match.lastgroup or "w0")[1:])
        place = "" if number in self.found else f" id=tianmesh-{number}"
        self.found[number] = self._words[number]
        return f"<mark{place} style=background:#{_COLOURS[number]};color:#000>{match[0]}</mark>"


def _pattern_of(word: str) -> str:
    """How a word is found: as it is, or in Latin letters with other endings; in no character reference."""
    terms = analyse(word)
    stem = terms[0] if len(terms) == 1 and word.casefold().startswith(terms[0]) else word
    if not word.isascii():
        return re.escape(word)
    ending = rf"[^\W\d_]{{0,{ENDING_CHARS_MAX}}}" if len(stem) >= STEM_CHARS_MIN else ""
    return rf"(?<![^\W_])(?<!&)(?<!&#){re.escape(stem)}{ending}(?![^\W_])"


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
