"""The first results of a search, grouped by their words, kinds or sites. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from peers.engine.pages.kinds import kind_of
from peers.engine.queries.query_language import Remarks, Words, read
from peers.gateway.grouping.word_groups import groups_by_words
from peers.gateway.model.messages import FoundPage, PagesFound
from peers.text.stemming import form_of

GROUPED_MAX: Final = 60  # results


class GroupedBy(StrEnum):
    """The ways to group results."""

    WORDS = "words"  # that the pages are about
    KIND = "kind"  # of documents, as `type:` has it
    SITE = "site"


class Group(NamedTuple):
    """Results that have something in common."""

    names: tuple[str, ...]  # words, or one kind or host; () for results in no group
    hits: tuple[FoundPage, ...]  # in their order
    narrowed_by: str = ""  # what narrows the query to such pages; "" for nothing


def grouped(found: PagesFound, by: GroupedBy) -> list[Group]:
    """Return the groups, and last the results that are in none."""
    if by is GroupedBy.KIND:
        return _by_value(found.hits, lambda hit: kind_of(hit.type) or hit.type, "type:")
    if by is GroupedBy.SITE:
        return _by_value(found.hits, lambda hit: hit.host, "site:")
    asked = {_form(term) for term in found.terms}
    words = [[word for word in hit.words if _form(word) not in asked] for hit in found.hits]

    def hits(places: Iterable[int]) -> tuple[FoundPage, ...]:
        return tuple(found.hits[place] for place in places)

    groups, others = groups_by_words(words)
    named = [Group(each.words, hits(each.places), next(filter(_is_plain, each.words), "")) for each in groups]
    return [*named, Group((), hits(others))] if others else named


def _is_plain(word: str) -> bool:
    """Is it a word in a query, too, and no operator or sign that a member puts among those of a page?"""
    return isinstance(read(word, Remarks()), Words)


def _form(word: str) -> str:
    small = word.casefold()
    return form_of(small) or small


def _by_value(hits: Sequence[FoundPage], value_of: Callable[[FoundPage], str], operator: str) -> list[Group]:
    """Return a group for each value, the largest first, of equals that with the first result."""
    of_value: dict[str, list[FoundPage]] = {}
    for hit in hits:
        of_value.setdefault(value_of(hit), []).append(hit)
    known = sorted((value for value in of_value if value), key=lambda value: -len(of_value[value]))  # stable
    groups = [Group((value,), tuple(of_value[value]), f"{operator}{value}") for value in known]
    return [*groups, Group((), tuple(of_value[""]))] if "" in of_value else groups
