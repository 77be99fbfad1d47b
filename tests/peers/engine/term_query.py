"""Queries for entries of the dictionary as they are."""

from __future__ import annotations

from collections.abc import Iterable

from peers.engine.queries.query import Mode, Query


def term_query(terms: Iterable[str], mode: Mode = Mode.AND) -> Query:
    """Return the query for plain terms of the dictionary, all of which score alike."""
    distinct = tuple(dict.fromkeys(terms))
    return Query(required=distinct, scoring=distinct, weights=(1.0,) * len(distinct), mode=mode)
