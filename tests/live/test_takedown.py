"""A page is taken down while one of five peers is away: nobody shows it, nor the one that returns."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from mesh.gateway_client import GatewayClient
from tests.live.known_pages import KnownPage
from tests.live.lab_process import tianmesh, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.truth import Truth
from tests.live.web import SMALL_HOSTS, served_web

pytestmark = pytest.mark.live

DOWN_S_MAX = 100.0


def test_page_that_is_taken_down_is_gone_everywhere_also_at_a_peer_that_was_away(
    packages: Path, small_truth: Truth, tmp_path: Path
) -> None:
    with (
        served_web(packages, SMALL_HOSTS, gbk=True, is_split=True) as web,
        mesh_of(tmp_path / "mesh", web, 5, delay_s=0.0) as mesh,
    ):
        mesh.start(*range(1, 6))
        mesh.wait_until_met()
        mesh.seed()
        mesh.wait_until_idle()
        mesh.wait_until_balanced()
        page = small_truth.known[0]
        assert all(_shows(gateway, page) for gateway in mesh.gateways())
        away = mesh.team_of(page.host)[1]
        mesh.kill(away)
        _order(mesh, "takedown", page.url, "--reason", "asked by its author")
        began = time.monotonic()
        wait_for(lambda: not any(_shows(each, page) for each in mesh.gateways()), "the take-down", DOWN_S_MAX)
        print(f"taken down at four peers after {time.monotonic() - began:.1f} s")

        mesh.start(away)
        began = time.monotonic()
        while time.monotonic() < began + 10.0:  # not in its first answer, and not later
            assert not _shows(mesh.gateway(away), page)
            time.sleep(0.2)
        mesh.wait_until_balanced()
        _stop_copies(mesh, page)
        assert not any(_shows(gateway, page) for gateway in mesh.gateways())
        assert page.url not in _exported(mesh, tmp_path)

        _order(mesh, "takedown", page.url, "--undo")
        wait_for(lambda: all(_shows(each, page) for each in mesh.gateways()), "the page again", DOWN_S_MAX)
        assert page.url in _exported(mesh, tmp_path)
        mesh.assert_logs_are_clean()


def _shows(gateway: str, page: KnownPage) -> bool:
    """Is it among the answers to its rarest word, or is there a stored copy?"""
    with GatewayClient(gateway) as client:
        hits = client.search(page.word, 10)["hits"]
    is_found = page.url in [hit["url"] for hit in hits]
    return is_found or _has_copy(gateway, page.url)


def _has_copy(gateway: str, url: str) -> bool:
    """Does it show a stored copy?"""
    try:
        with urlopen(f"{gateway}/page?{urlencode({'url': url})}", timeout=100):
            return True
    except HTTPError:
        return False


def _stop_copies(mesh: Mesh, page: KnownPage) -> None:
    """Stop an owner of the page, so that another copy answers."""
    mesh.stop(mesh.team_of(page.host)[0])
    mesh.wait_until_balanced()


def _order(mesh: Mesh, *arguments: str) -> None:
    key = str(mesh.folder / "admin.key")
    options = ["--gateway", mesh.gateways()[0], "--key", key, "--data", str(mesh.folder)]
    done = tianmesh(*arguments, *options)
    assert done.returncode == 0, done.stderr


def _exported(mesh: Mesh, folder: Path) -> set[str]:
    out = folder / f"export-{time.monotonic_ns()}"
    done = tianmesh("export", "jsonl", "--config", str(mesh.folder), "--out", str(out))
    assert done.returncode == 0, done.stderr
    with gzip.open(out / "pages.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {json.loads(line)["url"] for line in lines}
