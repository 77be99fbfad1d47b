"""Which links a live search offers to the owners of their hosts."""

from __future__ import annotations

import pytest

from peers.gateway.live.live_search import LiveRequest, LiveSearch
from peers.gateway.model.messages import Coverage, FoundPage, PagesFound

HIT, OTHER = "http://a.test/hit", "http://a.test/other"
LINKS = [f"http://a.test/{number}" for number in range(10)]


def search(*, width: int = 20, steps: int = 3) -> LiveSearch:
    begun = LiveSearch(LiveRequest(q="glacier", fish=True, width=width, steps=steps), 0.0)
    hit = FoundPage(HIT, "Glaciers", "", (), (), 2.0, "a.test", 0.0, "a")
    begun.take_found(PagesFound(1, ("glacier",), 1, 0.1, Coverage(4, 4, 0), (hit,)))
    return begun


@pytest.mark.parametrize(("width", "count"), [(2, 3), (4, 6), (20, 10)])
def test_of_a_hit_links_are_followed_one_and_a_half_times_as_many_as_of_others(
    width: int, count: int
) -> None:
    swimming = search(width=width)
    swimming.take_links(HIT, LINKS)
    assert len(swimming.links_to_offer()) == count


@pytest.mark.parametrize(("steps", "count"), [(0, 0), (1, 10)])
def test_pages_that_do_not_fit_are_gone_on_from_for_so_many_clicks(steps: int, count: int) -> None:
    swimming = search(steps=steps)
    swimming.take_links(HIT, [OTHER])
    swimming.take_hastened([(OTHER, 0.0)])
    swimming.take_links(OTHER, LINKS)
    assert len(swimming.links_to_offer()) == count
