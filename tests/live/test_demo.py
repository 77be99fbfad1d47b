"""`tianmesh demo`: what a newcomer sees first."""

from __future__ import annotations

import json

import pytest

from tests.live.lab_process import tianmesh

pytestmark = pytest.mark.live

QUERIES = ["软件包 安装", "virtual host"]


def test_demo_once_crawls_indexes_and_answers_through_different_gateways() -> None:
    done = tianmesh("demo", "--once", "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    result = json.loads(done.stdout)  # one document and nothing else

    report = result["report"]
    total = report["total"]
    assert len(report["peers"]) == 3
    assert total["idle"]
    assert total["pages_stored"] == total["pages_fetched"] > 200
    assert 200 < total["pages_indexed"] <= total["pages_stored"]  # a page may ask not to be indexed
    assert total["documents"] == 2 * total["pages_indexed"]
    assert all(peer["pages_stored"] > 0 for peer in report["peers"])

    answers = result["answers"]
    assert [answer["query"] for answer in answers] == QUERIES
    assert len({answer["gateway"] for answer in answers}) == 2
    for answer in answers:
        assert answer["hits"]
        assert answer["coverage"] == {"slots": 50_000, "answered": 50_000, "missing": 0}


def test_demo_for_people_shows_progress_and_hits_apart() -> None:
    done = tianmesh("demo", "--once")
    assert done.returncode == 0, done.stderr
    assert all(query in done.stdout for query in QUERIES)
    assert "Traceback" not in done.stderr
    for text in ("starting 3 peers", "peer-1  http://127.0.0.1:", "indexed", "all"):
        assert text in done.stderr
