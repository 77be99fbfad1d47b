"""`tianmesh graph hubs`, against a gateway that answers from memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

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


@pytest.fixture
def gateway(gateway: FakeGateway) -> FakeGateway:
    gateway.answers["/api/graph/hubs"] = HITS
    return gateway


def test_authorities_and_hubs_are_listed(gateway: FakeGateway) -> None:
    lines = [line.split() for line in run(gateway, "graph", "hubs", "crawler").splitlines()]
    assert lines[1] == ["0.7500", "9", "http://a.test/"]
    assert lines[3] == ["0.5000", "7", "http://hub.test/[b][2J"]
    assert " ".join(lines[-1]) == "2,345 links between domains, of 1,234 pages around 40 results"
    assert json.loads(run(gateway, "graph", "hubs", "crawler", "--json")) == HITS
    gateway.answers["/api/graph/hubs"] = {**HITS, "silent": ["bob"]}
    assert "no answer from bob" in result_of(gateway, "graph", "hubs", "crawler").stderr


def test_where_no_links_are_known_the_next_step_is_told(gateway: FakeGateway) -> None:
    none = {"n_results": 1, "n_pages": 0, "n_links": 0, "hubs": [], "authorities": []}
    gateway.answers["/api/graph/hubs"] = {
        **HITS,
        **none,
        "coverage": {"slots": 8, "answered": 7, "missing": 1},
    }
    result = result_of(gateway, "graph", "hubs", "crawler")
    assert result.stdout == "0 links between domains, of 0 pages around 1 result\n"
    assert "1 of 8 slots did not answer" in result.stderr
    assert "`tianmesh policy undo --since`" in result.stderr
