"""A host of crawler traps beside honest ones."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.live.access_log import by_host
from tests.live.archives import archived_urls
from tests.live.lab_process import setting, up
from tests.live.reachable import reachable
from tests.live.sites import gbk_site, nasty_site
from tests.live.web import REFUSING_HOST, served_web

pytestmark = pytest.mark.live

# The page that is too slow is tried again behind all others of its depth: this ends before, and saves
# two time-outs of 30 s. The seeds bring the traps that are deeper before it.
PAGES_PER_HOST = 27
TRAPS = ("/deep/", "/cal?d=1", "/chain/1", "/loop/a")
REASONS = {
    *("404", "410", "429", "500", "503", "301", "302"),
    *("robots", "host_budget", "dns", "refused", "timeout", "body_too_large", "not_html"),
}


def test_traps_cost_their_own_host_only(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with served_web([*gbk_site(), nasty_site()]) as web:
        seeds = [*web.seeds, f"http://{REFUSING_HOST}/", *(f"http://nasty.test{path}" for path in TRAPS)]
        limits = setting("crawl.pages_per_host_max", PAGES_PER_HOST)
        with up(tmp_path, web, "--once", "--report", report, *limits, seeds=seeds) as lab:
            assert lab.end() == 0, lab.messages
        accesses = web.accesses()
        honest = reachable(web, without=["nasty.test"]).pages
    total = json.loads(report.read_text())["total"]

    assert total["fetch_status"].keys() >= REASONS, total["fetch_status"]
    targets = {access.target for access in by_host(accesses)["nasty.test"]}
    assert not any(target.startswith("/robotted/") for target in targets)
    assert len(targets) <= PAGES_PER_HOST + 1
    assert "/b/c" in targets  # /a/../b/./c as browsers ask for it
    stored = archived_urls(tmp_path / "mesh")
    assert honest <= stored.keys()
    others = {urlsplit(url).path for url in stored.keys() - honest}
    assert "/chain/end.html" in others
    assert not others & {"/slow.html", "/big.html", "/liar.html", "/500", "/robotted/x"}
    # An endless site costs memory and disk in proportion to its budget only.
    assert max(peer["rss_bytes"] for peer in json.loads(report.read_text())["peers"]) < 600e6
