"""Facets as they travel: the most frequent values of each, within the limits of a message."""

from __future__ import annotations

from collections.abc import Mapping

from peers.engine.matching.facets import Facets
from peers.index.wire_messages import FACET_CHARS_MAX, FACET_VALUES_MAX, FacetCounts, FacetValues


def facet_counts(facets: Facets) -> FacetCounts:
    """Return the most frequent values of the facets that an engine has counted."""
    return FacetCounts(
        most_frequent(facets.hosts),
        most_frequent(facets.languages),
        most_frequent(facets.types),
        most_frequent(facets.years),
        tuple(facets.classes.items()),
    )


def most_frequent(values: Mapping[str, int], n_max: int = FACET_VALUES_MAX) -> FacetValues:
    """Return the values with the highest counts, the highest first, ties by name; none that is too long."""
    fitting = (item for item in values.items() if len(item[0]) <= FACET_CHARS_MAX)
    return tuple(sorted(fitting, key=lambda item: (-item[1], item[0]))[:n_max])
