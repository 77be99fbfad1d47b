"""`tianmesh graph hits`, against a gateway that answers from memory."""

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
    "silent": [],
    "hubs": [
        {"url": "http://hub.test/[b]\x1b[2J", "title": "", "score": 0.5, "links": 7, "is_result": False}
    ],
    "authorities": [{"url": "http://a.test/", "title": "A", "score": 0.75, "links": 9, "is_result": True}],
}


@pytest.fixture
def gateway(gateway: FakeGateway) -> FakeGateway:
    gateway.answers["/api/graph/hits"] = HITS
    return gateway


def test_authorities_and_hubs_are_listed(gateway: FakeGateway) -> None:
    lines = [line.split() for line in run(gateway, "graph", "hits", "crawler").splitlines()]
    assert lines[1] == ["0.7500", "9", "http://a.test/"]
    assert lines[3] == ["0.5000", "7", "http://hub.test/[b][2J"]
    assert " ".join(lines[-1]) == "2,345 links between domains, of 1,234 pages around 40 results"
    assert json.loads(run(gateway, "graph", "hits", "crawler", "--json")) == HITS
    gateway.answers["/api/graph/hits"] = {**HITS, "silent": ["bob"]}
    assert "no answer from bob" in result_of(gateway, "graph", "hits", "crawler").stderr
