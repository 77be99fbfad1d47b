"""A disk that fills up: discovery stops, search goes on, nothing is lost, and space makes it go on."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.access_log import page_counts
from tests.live.archives import archived_urls
from tests.live.lab_process import search_all, up
from tests.live.reachable import reachable
from tests.live.sites import made_sites
from tests.live.web import ServedWeb, served_web, unavailable

pytestmark = pytest.mark.live

# Some 40 MB of text; a disk of 22 MB is full before all is stored, of which some is in the index then.
SITES = made_sites(hosts=3, pages=300, words=6_000)
SMALL, LARGE = "22m", "256m"
QUIET_S = 3.0


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a small disk")
    folder = tmp_path / "mesh" / "peer-1" / "data"
    folder.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL}", "tianmesh-test", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        unavailable(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_full_disk_stops_the_crawl_and_space_lets_it_go_on(disk: Path, tmp_path: Path) -> None:
    with served_web(SITES) as web:
        with up(tmp_path, web, "--peers", "1", "--replicas", "1", seeds=web.seeds) as lab:
            lab.wait_until(lambda report: report["total"]["disk_full"])
            stopped = _wait_until_nothing_is_fetched(web)
            # What waits is tried again now and then, and there seems to be space until it fails.
            report = lab.wait_until(lambda report: report["total"]["disk_full"])
            assert report["total"]["frontier"]["queued"] > 0
            assert search_all(lab.gateways()[0], "page")["hits"]

            subprocess.run(["mount", "-o", f"remount,size={LARGE}", str(disk)], check=True)
            total = lab.wait_until_idle()["total"]
            assert not total["disk_full"]
            assert lab.interrupt() == 0
        asked = page_counts(web.accesses())
        expected = reachable(web)
        assert len(stopped) < len(asked)
        assert max(asked.values()) == 1  # what waited for space was kept, and not fetched again
        copies = archived_urls(tmp_path / "mesh")
        assert copies == dict.fromkeys(expected.pages, 1)
        assert total["pages_indexed"] == total["documents"] == len(expected.pages)
    log = (tmp_path / "mesh" / "peer-1" / "log").read_text()
    assert "Traceback" not in log
    for what in ("index", "archive"):
        lines = [line for line in log.splitlines() if "disk full" in line and f"the {what}" in line]
        assert len(lines) <= 1, lines
    assert "fetching stops for now" in log


def _wait_until_nothing_is_fetched(web: ServedWeb) -> Counter[str]:
    """What had been asked for when for a while nothing more was."""
    deadline = time.monotonic() + 300.0
    asked = page_counts(web.accesses())
    while time.monotonic() < deadline:
        time.sleep(QUIET_S)
        later = page_counts(web.accesses())
        if later == asked:
            return asked
        asked = later
    raise AssertionError("the crawl does not stop")
