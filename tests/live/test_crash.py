"""Peers that are killed in the middle of a crawl, and go on where they were."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from peers.crawler.model.settings import CrawlSettings
from tests.live.access_log import page_counts
from tests.live.archives import archived_urls
from tests.live.lab_process import Up, kill, kill_all, up
from tests.live.reachable import reachable
from tests.live.sites import GBK_HOST, gbk_site, made_sites
from tests.live.web import PORT, ServedWeb, served_web

pytestmark = pytest.mark.live

EARLY = 150  # pages stored when it happens
# What one peer may have to fetch again: pages in progress, and those settled since its last commit.
REPEATED_MAX = 2 * CrawlSettings().pages_in_progress_max


@pytest.fixture
def web() -> Iterator[ServedWeb]:
    with served_web(made_sites(hosts=5, pages=180, words=150)) as web:
        yield web


def test_crawl_goes_on_after_one_peer_was_killed(web: ServedWeb, tmp_path: Path) -> None:
    with up(tmp_path, web, "--once", seeds=web.seeds) as lab:
        busy = max(_in_the_middle(lab)["peers"], key=lambda peer: peer["frontier"]["queued"])
        kill(busy["pid"])
        assert lab.end() == 1
        assert "was killed by signal 9" in lab.messages
        assert "Traceback" not in lab.messages
    repeated = _finish(tmp_path, web)
    assert repeated <= REPEATED_MAX  # the others have ended cleanly


def test_crawl_goes_on_after_all_peers_were_killed_at_once(web: ServedWeb, tmp_path: Path) -> None:
    with up(tmp_path, web, "--once", seeds=web.seeds) as lab:
        _in_the_middle(lab)
        kill_all(lab)
    assert _finish(tmp_path, web) <= 3 * REPEATED_MAX


def test_nothing_is_lost_or_repeated_after_ctrl_c(web: ServedWeb, tmp_path: Path) -> None:
    with up(tmp_path, web, seeds=web.seeds) as lab:
        _in_the_middle(lab)
        assert lab.interrupt() == 0
        assert "goes on" in lab.messages
        assert "Traceback" not in lab.messages
    assert _finish(tmp_path, web) == 0


def test_private_addresses_stay_allowed_when_a_mesh_goes_on_without_seeds(tmp_path: Path) -> None:
    with served_web(gbk_site()) as web:
        seed = f"http://{web.addresses[GBK_HOST]}:{PORT}/"
        with up(tmp_path, None, "--peers", "1", seeds=[seed], delay_s=1.0) as lab:
            lab.wait_until(lambda report: report["total"]["pages_stored"] > 0)
            assert lab.interrupt() == 0
        result = tmp_path / "report.json"
        with up(tmp_path, None, "--once", "--report", result) as lab:
            assert lab.end() == 0, lab.messages
    assert len(json.loads(result.read_text())["peers"]) == 1  # as many as there were
    assert len(archived_urls(tmp_path / "mesh")) > 10


def _in_the_middle(lab: Up) -> dict[str, Any]:
    report = lab.wait_until(lambda report: report["total"]["pages_stored"] > EARLY)
    assert report["total"]["frontier"]["queued"] > 0
    return report


def _finish(folder: Path, web: ServedWeb) -> int:
    """Start the lab again without seeds; when all is as it must be, return how many fetches were repeated."""
    result = folder / "report.json"
    with up(folder, web, "--once", "--report", result) as lab:
        assert lab.end() == 0, lab.messages
    accesses = web.accesses()
    expected = reachable(web)
    copies = archived_urls(folder / "mesh")  # reads every record there is
    assert copies.keys() == expected.pages
    assert min(copies.values()) >= 2  # with R = 2; more where the first fetch was not settled
    total = json.loads(result.read_text())["total"]
    assert total["pages_indexed"] == len(expected.pages)
    assert total["documents"] == 2 * len(expected.pages)
    asked = page_counts(accesses)
    assert asked.keys() >= expected.pages
    return sum(asked.values()) - len(asked)
