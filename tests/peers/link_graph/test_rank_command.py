"""`tianmesh graph ranks`, against a gateway that answers from memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

RANKS: dict[str, Any] = {
    "n_pages": 1_234,
    "n_left_out": 0,
    "is_settled": True,
    "silent": [],
    "pages": [{"url": "http://a.test/[b]\x1b[2J", "rank": 1_012.5}, {"url": "http://b.test/", "rank": 0.15}],
    "hosts": [{"host": "a.test", "rank": 1_500.0, "n_pages": 3}],
}


@pytest.fixture
def gateway(gateway: FakeGateway) -> FakeGateway:
    gateway.answers["/api/graph/ranks"] = RANKS
    return gateway


def test_pages_and_hosts_are_listed_with_their_ranks(gateway: FakeGateway) -> None:
    lines = run(gateway, "graph", "ranks").splitlines()
    assert [line.split() for line in lines[1:3]] == [
        ["1,012.50", "http://a.test/[b][2J"],
        ["0.15", "http://b.test/"],
    ]
    assert lines[4].split() == ["1,500.00", "a.test"]
    assert lines[-1] == "1,234 pages with a rank"
    assert json.loads(run(gateway, "graph", "ranks", "--json")) == RANKS


def test_what_is_missing_or_still_changing_is_said(gateway: FakeGateway) -> None:
    gateway.answers["/api/graph/ranks"] = {**RANKS, "is_settled": False, "n_left_out": 7, "silent": ["bob"]}
    result = result_of(gateway, "graph", "ranks")
    assert result.stdout.endswith("and ranks still change\n")
    assert "the links of 7 pages count for nothing" in result.stderr
    assert "no answer from bob" in result.stderr
    gateway.answers["/api/graph/ranks"] = {**RANKS, "n_pages": 0, "pages": [], "hosts": []}
    assert "`tianmesh policy undo --since`" in result_of(gateway, "graph", "ranks").stderr
    assert result_of(gateway, "graph", "ranks", "--limit", "0").exit_code == 2
