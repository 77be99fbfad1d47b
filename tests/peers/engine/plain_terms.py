"""Queries of words as they are typed, for tests of what is done with queries, whatever they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from peers.text.analysis import QueryTerms, analyse
from peers.text.synonyms import NO_SYNONYMS, Synonyms


def plain_query_terms(text: str, synonyms: Synonyms = NO_SYNONYMS) -> QueryTerms:
    """Do as `analysis.query_terms`, but for terms alone: no forms, pairs, synonyms, nothing left out."""
    terms = tuple(dict.fromkeys(analyse(text)))
    return QueryTerms(terms, terms, (1.0,) * len(terms))


@contextmanager
def plain_terms() -> Iterator[None]:
    """Let queries be read so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("peers.engine.queries.query_parser.query_terms", plain_query_terms)
        patch.setattr("peers.engine.queries.query_parser.native_forms", lambda text, wanted, languages: ())
        patch.setattr("peers.engine.queries.query_parser.has_forms", lambda text: False)
        patch.setattr("peers.engine.queries.query_parser.name_in", lambda text: "")
        yield
