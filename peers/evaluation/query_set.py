"""A set of queries to judge engines by: so many of each class, drawn from those of a log. Pure.

Section 10.4 of the book takes 50 clear queries of each class. Clear here is what can be read: some letters,
neither one character nor a text that was pasted, none of the words to leave out. Classes are told by words
(`query_class`), so a person is to read what was drawn.

Source: Li, Yan, Wang 2004, section 10.4 and table 10-4.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from peers.text.folding import fold
from peers.text.query_class import QueryClass, query_class

if TYPE_CHECKING:
    from random import Random

CHARS_MIN: Final = 2
CHARS_MAX: Final = 60  # of the 4,077 distinct queries in SogouQ's sample three are longer


class ClassSample(NamedTuple):
    """The queries drawn of one class."""

    n_there: int  # clear ones that enough clients have asked
    queries: list[str]


def drawn_queries(
    clients: Mapping[str, int], per_class: int, min_clients: int, left_out: Iterable[str], random: Random
) -> dict[QueryClass, ClassSample]:
    """Draw distinct queries of each class, all with the same chance, however often they were asked.

    Args:
      clients: of each query in the log how many have asked it.
      left_out: words that a query may not contain, in any spelling.
    """
    words = [fold(word) for word in left_out]
    there: dict[QueryClass, list[str]] = {each: [] for each in QueryClass}
    for query in sorted(query for query, count in clients.items() if count >= min_clients):
        if _is_clear(query, words):
            there[query_class(query)].append(query)
    return {
        each: ClassSample(len(queries), random.sample(queries, min(per_class, len(queries))))
        for each, queries in there.items()
    }


def topics_of(drawn: Mapping[QueryClass, ClassSample]) -> Iterator[tuple[str, str]]:
    """Yield ids and texts; an id begins with the class: navigational-1."""
    for each, sample in drawn.items():
        for number, query in enumerate(sample.queries, 1):
            yield f"{each}-{number}", query


def _is_clear(query: str, left_out: Iterable[str]) -> bool:
    folded = fold(query)
    is_readable = query.isprintable() and any(letter.isalpha() for letter in query)
    return (
        CHARS_MIN <= len(query) <= CHARS_MAX and is_readable and not any(map(folded.__contains__, left_out))
    )
