"""The entries of a directory that show why it was found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from peers.engine.excerpts.snippet import SearchedText, words_in_lines
from peers.engine.matching.listed_files import is_asked_for, words_of_path
from peers.engine.pages.directory_entries import Entry, entries_in
from peers.engine.queries.query import Literal, LiteralKind, Query

SHOWN_MAX: Final = 5
TRIED_MAX: Final = 500  # entries of the right size and age whose words are looked at: most are told by a look


def entries_shown(
    url: str, title: str, names: SearchedText, details: Sequence[str], query: Query
) -> list[Entry]:
    """Choose entries: those that a question asks for by size and date, first those with most of its words.

    Args:
      names, details: the lines of the document, as `directory_entries` has them.
    """
    lines = names.text.split("\n")
    if not names.is_whole:  # the last line is cut; files behind it are found, and not shown
        lines.pop()
    entries = list(entries_in(names.text, details))[: len(lines)]
    counts = words_in_lines(names, query)
    order = sorted(range(len(entries)), key=lambda line: -counts.get(line, 0))
    literal = next(_files_asked_for(query), None)
    if literal is None:
        most = max(counts.values(), default=0)
        return [entries[line] for line in order[:SHOWN_MAX] if counts.get(line, 0) == most]
    wanted = frozenset(literal.entries) - words_of_path(url, title)
    bare = Literal(LiteralKind.FILE, low=literal.low, high=literal.high)
    right = [line for line in order if is_asked_for(entries[line], "", frozenset(), bare)]
    shown: list[Entry] = []
    for line in right[:TRIED_MAX]:
        if is_asked_for(entries[line], lines[line], wanted, literal):
            shown.append(entries[line])
        if len(shown) == SHOWN_MAX:
            break
    return shown


def text_of_entries(entries: Iterable[Entry]) -> str:
    """Return entries in one line, with sizes and dates, for answers without structure."""
    return " · ".join(" ".join(filter(None, (each.name, each.size_text, each.day))) for each in entries)


def _files_asked_for(query: Query) -> Iterator[Literal]:
    for clause in query.clauses:
        if len(clause) == 1 and clause[0].kind is LiteralKind.FILE and not clause[0].negated:
            yield clause[0]
