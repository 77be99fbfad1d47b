"""Words that signs or scripts are part of: C++, C#, .NET, AT&T, A/B, node.js, 3.14, 1,000, T恤, 卡拉OK.

Signs separate words, so the atoms of these are c, at t, node js, t 恤: found, but among everything that
has them. What is written together is an entry of its own besides, without positions, by rules that look at
the neighbours only:

    c++  c#       a word with ++, or with # where no word follows
    .net          a word in letters with a dot before, at the start of what is written together
    pg_column_compression    two to eight words with _ between each two: a name
    x-forwarded-for    two to four words with - between each two, of which the first begins with no digit
    at&t  a/b  node.js  3.14  std::vector    two to four words or names with & / . or :: between each two
    --no-cache    words joined by hyphens, behind two hyphens
    x-900         letters, a hyphen and a number; its entry is that of x900, `stemming`
    1,000         a number in groups of three digits; its entry is that of the plain digits, `stemming`
    t恤  拉ok     a word of up to three characters with the Chinese character before or after it

Dates and apostrophes make no entries: 2004-05-06 is found by its words side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final, NamedTuple

from peers.text.runs import KIND_OF_CHARACTER, RUN, RunKind, kind_of
from peers.text.stemming import MODEL_CHARS_MAX, form_of, number_form

COMPOUND_PREFIX: Final = "\x06"

MARKED_CHARS_MAX: Final = 16  # of a word with ++, # or a dot before it
CHAIN_WORDS_MAX: Final = 4  # more is a path
NAME_WORDS_MAX: Final = 8
CHAIN_CHARS_MAX: Final = 40
MIXED_CHARS_MAX: Final = 3  # of the word beside a Chinese character
NAME_LINK: Final = "_"
LINKS: Final = "&/._"
SCOPE: Final = "::"
GROUPING: Final = ","
HYPHEN: Final = "-"
DIGITS: Final = "0123456789"

_GROUPED: Final = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+")
_OPTION: Final = re.compile(r"--[a-z0-9]{1,16}(?:-[a-z0-9]{1,16}){0,3}(?![\w-])")


class Meaning(IntEnum):
    """The pages that a compound in a query asks for; of several with a word the greatest counts."""

    PARTS = 0  # those with its parts, which all that have it have
    EITHER = 1  # those that have it, or its parts side by side: X900, X 900
    WHOLE = 2  # those that have it: c++ is not c


class Compound(NamedTuple):
    """An entry that runs of a text have together."""

    entry: str
    first: int  # index of the first run
    last: int  # and of the last
    meaning: Meaning


class Span(NamedTuple):
    """A run and where it is."""

    start: int
    end: int
    kind: RunKind


def spans_of(folded: str) -> list[Span]:
    """Return where the runs of a folded text are."""
    return [Span(match.start(), match.end(), kind_of(match[0])) for match in RUN.finditer(folded)]


def compounds_of(folded: str, spans: list[Span]) -> list[Compound]:
    """Return the compounds of a folded text with these `spans_of` it, each kind by rising place."""
    found = [
        Compound(entry, i, i, Meaning.WHOLE)
        for i, span in enumerate(spans)
        if span.kind is RunKind.WORD
        for entry in marked(folded, span.start, span.end)
    ]
    if HYPHEN in folded:
        options = ((i, option(folded, span.start)) for i, span in enumerate(spans))
        found += [Compound(entry, i, i, Meaning.PARTS) for i, entry in options if entry]
        for first, last in _chains(folded, spans, (HYPHEN,)):
            if last == first + 1 and (entry := model(folded, spans[first].start, spans[last].end)):
                found.append(Compound(entry, first, last, Meaning.EITHER))
            elif last - first < CHAIN_WORDS_MAX and (entry := _hyphened(folded, spans[first], spans[last])):
                found.append(Compound(entry, first, last, Meaning.PARTS))
    if NAME_LINK in folded:
        for first, last in _chains(folded, spans, (NAME_LINK,)):
            if last - first < NAME_WORDS_MAX and (entry := _joined(folded, spans[first], spans[last])):
                found.append(Compound(entry, first, last, Meaning.PARTS))
    for first, last in _chains(folded, spans, (*LINKS, SCOPE)):
        n_names = 1 + sum(folded[span.end] != NAME_LINK for span in spans[first:last])
        if 1 < n_names <= CHAIN_WORDS_MAX and (entry := _joined(folded, spans[first], spans[last])):
            found.append(Compound(entry, first, last, Meaning.PARTS))
    if GROUPING in folded:
        for first, last in _chains(folded, spans, (GROUPING,)):
            if entry := grouped_number(folded, spans[first].start, spans[last].end):
                found.append(Compound(entry, first, last, Meaning.WHOLE))
    for i, (left, right) in enumerate(pairwise(spans)):
        if left.end == right.start and (entry := mixed(folded, left.start, left.end, right.end)):
            found.append(Compound(entry, i, i + 1, Meaning.PARTS))
    return found


def _joined(folded: str, first: Span, last: Span) -> str:
    is_short = last.end - first.start <= CHAIN_CHARS_MAX
    return COMPOUND_PREFIX + folded[first.start : last.end] if is_short else ""


def _hyphened(folded: str, first: Span, last: Span) -> str:
    return "" if folded[first.start] in DIGITS else _joined(folded, first, last)


def _chains(folded: str, spans: Sequence[Span], links: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last run of every longest row of words with a link between each two."""
    first = 0
    for last, span in enumerate(spans):
        follower = spans[last + 1] if last + 1 < len(spans) else None
        is_linked = (
            follower is not None
            and span.kind is follower.kind is RunKind.WORD
            and follower.start - span.end <= len(SCOPE)
            and folded[span.end : follower.start] in links
        )
        if not is_linked:
            if last > first:
                yield first, last
            first = last + 1


def marked(folded: str, start: int, end: int) -> list[str]:
    """Return the entries of the word folded[start:end] with the signs beside it."""
    if end - start > MARKED_CHARS_MAX:
        return []
    found, word = [], folded[start:end]
    if folded.startswith("++", end) and not folded.startswith("+", end + 2):
        found.append(f"{COMPOUND_PREFIX}{word}++")
    elif folded.startswith("#", end) and not is_word_at(folded, end + 1):
        found.append(f"{COMPOUND_PREFIX}{word}#")
    if folded.startswith(".", start - 1, start) and word.isalpha():
        before = folded[start - 2] if start >= 2 else " "
        if before != "." and not _is_part_of_word(before):
            found.append(f"{COMPOUND_PREFIX}.{word}")
    return found


def _is_part_of_word(character: str) -> bool:
    return KIND_OF_CHARACTER[ord(character)] == RunKind.WORD


def is_word_at(folded: str, place: int) -> bool:
    """Tell whether a word is at a place."""
    return place < len(folded) and KIND_OF_CHARACTER[ord(folded[place])] == RunKind.WORD


def option(folded: str, start: int) -> str:
    """Return the entry of the option with its first word at a place, "" when there is none."""
    before = folded[start - 3 : start - 2] if start >= 3 else " "
    if not folded.startswith("--", max(0, start - 2), start) or before == "-" or _is_part_of_word(before):
        return ""
    match = _OPTION.match(folded, start - 2)
    return COMPOUND_PREFIX + match[0] if match and len(match[0]) <= CHAIN_CHARS_MAX else ""


def model(folded: str, start: int, end: int) -> str:
    """Return the entry of letters, a hyphen and a number, "" when it is something else."""
    letters, _, digits = folded[start:end].partition(HYPHEN)
    is_model = letters.isalpha() and digits[:1].isdigit() and end - start <= MODEL_CHARS_MAX + 1
    return form_of(letters + digits) if is_model else ""


def grouped_number(folded: str, start: int, end: int) -> str:
    """Return the entry of a number in groups, "" when it is something else with commas."""
    is_number = end - start <= CHAIN_CHARS_MAX and _GROUPED.fullmatch(folded, start, end)
    return number_form(folded[start:end].replace(GROUPING, "")) if is_number else ""


def mixed(folded: str, start: int, border: int, end: int) -> str:
    """Return the entry of two runs that touch at a border, "" when neither is a short word by a character."""
    if RunKind.UNSPACED in (KIND_OF_CHARACTER[ord(folded[start])], KIND_OF_CHARACTER[ord(folded[border])]):
        return ""
    if KIND_OF_CHARACTER[ord(folded[start])] == RunKind.WORD:
        return COMPOUND_PREFIX + folded[start : border + 1] if border - start <= MIXED_CHARS_MAX else ""
    if KIND_OF_CHARACTER[ord(folded[border])] == RunKind.WORD:
        return COMPOUND_PREFIX + folded[border - 1 : end] if end - border <= MIXED_CHARS_MAX else ""
    return ""  # Han and kana
