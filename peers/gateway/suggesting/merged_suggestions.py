"""One short list of the completions that all indexes tell of a beginning. Pure.

What stands in it never is from pages that may not be shown, nor a word that one page alone has. What a member
says goes on from the typed text has to do so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Final

from peers.engine.mending.completions import Nearness
from peers.engine.pages.suggested_texts import typed_key
from peers.gateway.model.member_lines import harmless
from peers.index.wire_messages import Completed

SUGGESTIONS_MAX: Final = 8
RELATED_MAX: Final = 6  # to a whole query
WORD_PAGES_MIN: Final = 2  # that have a word; a text may be the title of one page


@dataclass(slots=True)
class _Sum:
    """The numbers of all indexes together for one text."""

    text: str
    nearness: int
    pages: int = 0
    samples: set[str] = field(default_factory=set)


def merged(
    told: Iterable[Completed], typed: str, is_shown: Callable[[str], bool], listed: Sequence[str] = ()
) -> list[str]:
    """Return the likeliest completions, at most SUGGESTIONS_MAX, the likeliest first.

    Texts that begin with what was typed and words that go on from it take turns; then come texts that have
    it inside, then those that sound so, as pinyin does, and where nothing goes on from it those that are
    spelled nearly so. Of each kind those come first that most pages have, and of equal ones the shorter.

    Args:
      told: by all indexes, in any order: the result depends on their sums alone.
      is_shown: whether a page may be shown: what only others have is left out.
      listed: completions of the policy (`listed_words`), which come before other words.
    """
    begun = typed_key(typed)
    sums: dict[tuple[int, str], _Sum] = {}
    for each in told:
        text = harmless(each.text)
        if each.nearness <= Nearness.WORD and not typed_key(text).startswith(begun):
            continue
        so_far = sums.setdefault((each.nearness, text), _Sum(text, each.nearness))
        so_far.pages += each.pages
        so_far.samples.update(each.samples)
    # Its neighbours by a typo are noise where it has completions, also such as too few pages have.
    if any(each.nearness < Nearness.LIKE and any(map(is_shown, each.samples)) for each in sums.values()):
        sums = {key: each for key, each in sums.items() if not _is_respelled(each, begun)}
    known = sorted(
        (each for each in sums.values() if _is_of_enough(each, is_shown)),
        key=lambda each: (-each.pages, len(each.text), each.text),
    )
    texts, words, inside, alike = ([e.text for e in known if e.nearness == nearness] for nearness in Nearness)
    in_turn = filter(None, chain.from_iterable(zip_longest(texts, [*listed, *words])))
    typed_as = begun.rstrip()
    by_key: dict[str, str] = {}
    for text in chain(in_turn, inside, alike):
        by_key.setdefault(typed_key(text), text)
    return [text for key, text in by_key.items() if key != typed_as or text != typed][:SUGGESTIONS_MAX]


def beginning_of(query: str) -> str:
    """Return how the texts begin that contain a whole query: its last word is complete, Chinese may go on."""
    query = query.strip()
    return f"{query} " if typed_key(query)[-1:].isascii() else query


def related(told: Iterable[Completed], query: str, is_shown: Callable[[str], bool]) -> list[str]:
    """Return queries that contain one and go beyond it, at most RELATED_MAX, the likeliest first.

    Args:
      told: by all indexes, of `beginning_of` the query.
      is_shown: as in `merged`.
    """
    key = typed_key(query.strip())
    longer = [text for text in merged(told, beginning_of(query), is_shown) if len(typed_key(text)) > len(key)]
    return [text for text in longer if key in typed_key(text)][:RELATED_MAX]


def _is_respelled(each: _Sum, begun: str) -> bool:
    """Tell whether it is like the typed text by a typo: in the same script, not by its pinyin."""
    return each.nearness == Nearness.LIKE and typed_key(each.text).isascii() == begun.isascii()


def _is_of_enough(each: _Sum, is_shown: Callable[[str], bool]) -> bool:
    least = WORD_PAGES_MIN if _is_words(each) else 1
    return each.pages >= least and sum(map(is_shown, each.samples)) >= least


def _is_words(each: _Sum) -> bool:
    """Tell whether it is made of words rather than a page's own text: those are as they are compared."""
    return each.nearness == Nearness.WORD or (
        each.nearness == Nearness.LIKE and each.text == typed_key(each.text)
    )
