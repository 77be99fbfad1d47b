"""`tianmesh graph hits` and `tianmesh search --groups`, against a gateway that answers from memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway, fake_gateway

HITS: dict[str, Any] = {
    "query": "crawler",
    "n_results": 40,
    "n_pages": 1_234,
    "n_links": 2_345,
    "coverage": {"slots": 8, "answered": 8, "missing": 0},
    "silent": [],
    "hubs": [
        {"url": "http://hub.test/[b]\x1b[2J", "title": "", "score": 0.5, "n_links": 7, "is_result": False}
    ],
    "authorities": [{"url": "http://a.test/", "title": "A", "score": 0.75, "n_links": 9, "is_result": True}],
}
GROUPS: dict[str, Any] = {
    "query": "jaguar",
    "by": "words",
    "total": 1_234,
    "is_exact": False,
    "n_grouped": 2,
    "coverage": {"slots": 8, "answered": 8, "missing": 0},
    "remarks": [],
    "relaxed": {"nowhere": [], "is_any": False, "with_all": None},
    "corrected": "",
    "groups": [
        {
            "names": ["cat", "[b]prey"],
            "query": "jaguar cat",
            "hits": [{"rank": 2, "url": "http://a.test/", "title": "Cats"}],
        },
        {"names": [], "query": "", "hits": [{"rank": 1, "url": "http://b.test/", "title": ""}]},
    ],
}


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as gateway:
        gateway.answers = {"/api/graph/hits": HITS, "/api/groups": GROUPS}
        yield gateway


def test_authorities_and_hubs_are_listed(gateway: FakeGateway) -> None:
    lines = [line.split() for line in run(gateway, "graph", "hits", "crawler").splitlines()]
    assert lines[1] == ["0.7500", "9", "http://a.test/"]
    assert lines[3] == ["0.5000", "7", "http://hub.test/[b][2J"]
    assert " ".join(lines[-1]) == "2,345 links between domains, of 1,234 pages around 40 results"
    assert json.loads(run(gateway, "graph", "hits", "crawler", "--json")) == HITS
    gateway.answers["/api/graph/hits"] = {**HITS, "silent": ["bob"]}
    assert "no answer from bob" in result_of(gateway, "graph", "hits", "crawler").stderr


def test_where_no_links_are_known_the_next_step_is_told(gateway: FakeGateway) -> None:
    none = {"n_results": 1, "n_pages": 0, "n_links": 0, "hubs": [], "authorities": []}
    gateway.answers["/api/graph/hits"] = {
        **HITS,
        **none,
        "coverage": {"slots": 8, "answered": 7, "missing": 1},
    }
    result = result_of(gateway, "graph", "hits", "crawler")
    assert result.stdout == "0 links between domains, of 0 pages around 1 result\n"
    assert "1 of 8 slots did not answer" in result.stderr
    assert "`tianmesh policy undo --since`" in result.stderr


def test_groups_are_listed_with_the_places_of_their_results(gateway: FakeGateway) -> None:
    lines = run(gateway, "search", "jaguar", "--groups", "words").splitlines()
    assert lines[0] == "the first 2 of at least 1,234 pages"
    assert lines[2:5] == ["cat, [b]prey (1)", "   2. Cats", "      http://a.test/"]
    assert lines[6:8] == ["others (1)", "   1. http://b.test/"]
    assert json.loads(run(gateway, "search", "jaguar", "--groups", "site", "--json")) == GROUPS
    assert result_of(gateway, "search", "jaguar", "--groups", "words", "--facets").exit_code == 2
    assert result_of(gateway, "search", "jaguar", "--groups", "words", "--live").exit_code == 2


def test_groups_tell_of_how_much_of_the_mesh_they_are_and_how_the_query_was_read(
    gateway: FakeGateway,
) -> None:
    gateway.answers["/api/groups"] = {
        **GROUPS,
        "total": 1,
        "coverage": {"slots": 8, "answered": 6, "missing": 2},
        "remarks": [{"kind": "quote_open", "about": "", "text": "A closing quotation mark is missing"}],
        "relaxed": {"nowhere": ["xyzzy"], "is_any": True, "with_all": 0},
        "corrected": "jaguar",
    }
    lines = run(gateway, "search", '"jagaur xyzzy', "--groups", "words").splitlines()
    assert lines[:5] == [
        "the first 2 of at least 1 page, some of the words are enough",
        "2 of 8 slots did not answer",
        "a word is on no page: results for jaguar",
        "A closing quotation mark is missing",
        "on no page: xyzzy",
    ]
