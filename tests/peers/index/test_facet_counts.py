from __future__ import annotations

from collections import Counter

from peers.engine.matching.facets import Facets
from peers.index.facet_counts import facet_counts, most_frequent
from peers.index.wire_messages import FACET_CHARS_MAX, FACET_VALUES_MAX, FacetCounts


def test_what_travels_is_bounded() -> None:
    values = Counter(
        {f"h{number:04}": number for number in range(1_000)} | {"x" * (FACET_CHARS_MAX + 1): 5_000}
    )
    sent = most_frequent(values)
    assert len(sent) == FACET_VALUES_MAX
    assert sent[:2] == (("h0999", 999), ("h0998", 998))
    assert most_frequent(Counter({"b": 1, "a": 1})) == (("a", 1), ("b", 1))


def test_every_facet_is_told() -> None:
    facets = Facets(Counter(h=4), Counter(zh=3), Counter({"text/html": 2}), Counter({"2004": 1}))
    told = FacetCounts((("h", 4),), (("zh", 3),), (("text/html", 2),), (("2004", 1),))
    assert facet_counts(facets) == told
