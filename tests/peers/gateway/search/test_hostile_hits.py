"""Hits as a member that lies gives them: none leads to a page that is taken down, however it is spelt."""

from __future__ import annotations

from collections import Counter
from math import inf
from types import SimpleNamespace
from typing import Any, cast

import pytest

from mesh.actors.ownership import Ownership
from mesh.slots import SlotTable
from mesh.urls import host_of
from peers.engine.pages.past import Lifetime, past_key, read_key
from peers.gateway.search.merged_hits import hits_of
from peers.gateway.search.plan import NOBODY_ABSENT, Share
from peers.index.wire_messages import Hit, HitsFound
from peers.policy.rules import Action, Policy, Rule

VIEW = Ownership("ann", SlotTable({"ann": 100}, 64, 1), ("ann",))
TAKEN = "http://a.test/secret"
SHARE = Share("ann", NOBODY_ABSENT)


def shown(urls: list[str], span: tuple[float, float] | None) -> list[str]:
    """Return the URLs that are shown of hits that a member gives."""
    refused = Counter[str]()
    hides: Any = SimpleNamespace(has_denied=True, hides=lambda *_: False)
    view = SimpleNamespace(
        policy=Policy(rules=(Rule(action=Action.TAKE_DOWN, urls=(TAKEN,)),)),
        refuse_hit=lambda peer, _: refused.update([peer]),
    )
    task = SimpleNamespace(span=span, ownership=VIEW, view=view, witnesses=hides, reported={})
    plan = SimpleNamespace(share_of=lambda _: SHARE)
    hits = tuple(Hit(url, 1.0) for url in urls)
    found = HitsFound(1, b"", 1, len(hits), hits)
    told = hits_of(cast("Any", plan), {SHARE: found}, cast("Any", task), inf)
    return [hit.url if span is None else read_key(hit.url)[0] for _, hit in told]


@pytest.mark.parametrize(
    "spelling", [TAKEN, f"{TAKEN}#x", f"{TAKEN} #0", f"{TAKEN} b", "http://a.test/./secret"]
)
@pytest.mark.parametrize("span", [None, (0.0, 1.0)])
def test_no_spelling_of_a_page_that_is_taken_down_is_shown(
    spelling: str, span: tuple[float, float] | None
) -> None:
    assert host_of(spelling) == "a.test"
    key = spelling if span is None else past_key(spelling, Lifetime(0.0, inf))
    assert shown([key, "http://a.test/"], span) == ["http://a.test/"]


def test_nothing_behind_a_space_is_of_the_url_that_is_shown() -> None:
    assert read_key("http://a.test/open it #00") == ("http://a.test/open", None)
    assert read_key(past_key("http://a.test/", Lifetime(1.0, 2.0))) == ("http://a.test/", (1.0, 2.0))
    for odd in ("http://a.test/ #" + "0" * 31, "http://a.test/ #" + "zz" * 16, "http://a.test/ ", " #", ""):
        assert read_key(odd)[1] is None


def test_a_key_whose_host_is_cut_off_by_a_space_is_no_hit() -> None:
    """Its URL has no path, which nobody expects who draws the results."""
    assert shown(["http://a.test #/", "http://a.test b/", "http:// a.test/"], (0.0, 1.0)) == []
