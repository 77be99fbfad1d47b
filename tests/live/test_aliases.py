"""Real peers crawl a site that has two names under one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from mesh.trace import TracedPage
from simulations.world.aliased_web import SITE, AliasedWeb
from simulations.world.checks import reachable
from tests.live.archives import archived_urls
from tests.live.lab_process import up
from tests.live.played_web import played_web

pytestmark = pytest.mark.live

N_PAGES: Final = 300
DELAY_S: Final = 0.05
LETTERS: Final = str.maketrans("0123456789", "bdfghjklmn")  # pages that differ in digits alone are a trap


def name_of(url: str) -> str:
    """The path of a page in letters: the same under both names."""
    return urlsplit(url).path.translate(LETTERS)


def test_a_site_with_two_names_is_fetched_about_once_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    web = AliasedWeb(N_PAGES, hosts=(SITE, f"www.{SITE}"))
    trace = [
        TracedPage(url, float(number), 0.01, 1_000, tuple(web.targets(url)))
        for number, url in enumerate(reachable(web))
    ]
    assert len(trace) == 2 * N_PAGES
    with (
        played_web(trace, tmp_path, says=name_of) as played,
        up(tmp_path, played.served, "--once", "--peers", "2", seeds=web.seeds, delay_s=DELAY_S) as lab,
    ):
        assert lab.end(600) == 0, lab.messages
    stored = archived_urls(tmp_path / "mesh")
    assert len({urlsplit(url).path for url in stored}) == N_PAGES
    assert len(stored) < 1.6 * N_PAGES, "some before it was known, and a few ever after"
