"""`tianmesh backlinks`, against a gateway that answers from memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway

URL = "https://www.example.org/"


def part(start: int, n: int, following: int | None, **changes: Any) -> dict[str, Any]:
    links = [
        {"url": f"http://a.test/{start + k}", "title": "[b]\x1b[2Jt", "text": "a\nb", "fetched_at": 1.0}
        for k in range(n)
    ]
    told = {"url": URL, "n_links": 5, "n_domains": 1, "is_exact": True, "start": start, "next": following}
    return {**told, "links": links, **changes}


@pytest.fixture
def gateway(gateway: FakeGateway) -> FakeGateway:
    gateway.backlinks = {0: part(0, 3, 3), 3: part(3, 2, None)}
    return gateway


def test_all_parts_are_listed_up_to_the_limit(gateway: FakeGateway) -> None:
    lines = run(gateway, "backlinks", URL).splitlines()
    assert [line.split()[0] for line in lines[:-1]] == [f"http://a.test/{n}" for n in range(5)]
    assert lines[-1] == f"5 pages of 1 domain link to {URL}"
    told = json.loads(run(gateway, "backlinks", URL, "--limit", "4", "--json"))
    assert (len(told["links"]), told["n_links"], told["is_exact"]) == (4, 5, True)


def test_where_there_is_none_it_says_since_when_links_are_known(gateway: FakeGateway) -> None:
    gateway.backlinks = {0: part(0, 0, None, n_links=0, n_domains=0)}
    result = result_of(gateway, "backlinks", URL)
    assert result.stdout == f"0 pages of 0 domains link to {URL}\n"
    assert "`tianmesh policy undo --since` has those visited again" in result.stderr
    assert json.loads(result_of(gateway, "backlinks", URL, "--json").stdout)["links"] == []


def test_estimates_are_said_to_be_such_and_texts_do_not_steer_the_terminal(gateway: FakeGateway) -> None:
    gateway.backlinks = {0: part(0, 1, None, is_exact=False)}
    said = run(gateway, "backlinks", "www.example.org")
    assert "about 5 pages of about 1 domain" in said
    assert "[b][2Jt" in said
    assert "\x1b" not in said
    assert result_of(gateway, "backlinks", URL, "--limit", "0").exit_code == 2
