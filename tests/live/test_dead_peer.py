"""A peer that dies after the crawl: its standbys answer for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.live.lab_process import kill, node, search, search_all, up, wait_for
from tests.live.web import ServedWeb, served_web

pytestmark = pytest.mark.live

QUERY = "debian copies:all"  # which of several copies is shown is not settled for a moment


@pytest.fixture
def web() -> Iterator[ServedWeb]:
    with served_web() as web:
        yield web


def test_searches_cover_all_slots_again_when_a_peer_has_died(web: ServedWeb, tmp_path: Path) -> None:
    with up(tmp_path, web, seeds=web.seeds) as lab:
        report = lab.wait_until_idle()
        before = _found(search_all(lab.gateways()[0], QUERY, k=50))
        assert before
        victim = max(report["peers"], key=lambda peer: peer["pages_indexed"])
        kill(victim["pid"])
        others = [gateway for gateway in lab.gateways() if gateway != victim["gateway"]]
        for gateway in others:
            _wait_for_full_coverage(gateway, before)

        assert lab.process.poll() is None
        wait_for(lambda: "was killed by signal 9" in lab.messages, "word of its end")
        pages = report["total"]["pages_indexed"]
        lab.wait_until(lambda report: bool(report["total"]["pages_indexed"] == pages))

        # Started again by hand, as the message says, it takes its place.
        name = next(line.split()[0] for line in lab.messages.splitlines() if "was killed" in line)
        with node("peer", tmp_path / "mesh" / name / "config.toml"):
            wait_for(lambda: len(lab.status()["peers"]) == 3, "third peer")
            for gateway in others:
                _wait_for_full_coverage(gateway, before)


def _wait_for_full_coverage(gateway: str, before: dict[str, float]) -> None:
    """Until then the answer says what is missing, and what it has is right."""

    def is_whole() -> bool:
        answer = search(gateway, QUERY, k=50)
        coverage = answer["coverage"]
        assert coverage["answered"] + coverage["missing"] == coverage["slots"] == 50_000
        assert coverage["missing"] or _found(answer) == before
        return not coverage["missing"]

    wait_for(is_whole, f"answer of {gateway} for all slots")


def _found(answer: dict[str, Any]) -> dict[str, float]:
    return {hit["url"]: hit["score"] for hit in answer["hits"]}
