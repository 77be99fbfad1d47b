"""Meshes that are saved while they crawl, wiped out and restored; and a peer that comes from the past."""

from __future__ import annotations

import json
import shutil
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from peers.exporting.peer_files import PeerFiles
from tests.live.access_log import assert_polite
from tests.live.chaos import Chaos
from tests.live.lab_process import get, search_all, tianmesh, wait_for
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.sites import split_sites
from tests.live.truth import Truth
from tests.live.web import ServedWeb, served_web

pytestmark = pytest.mark.live

PEERS: Final = 3
DELAY_S: Final = 0.1  # one host is asked 257 times, so that there is something left until its peer is back
EARLY: Final = 100  # pages stored when the first backup is made
MORE: Final = 60  # until the second one
QUERIES: Final = ("debian", "包", "the", '"free software"', "anarchism OR 软件")


def test_a_mesh_that_was_wiped_out_goes_on_from_its_backup(truth: Truth, tmp_path: Path) -> None:
    with (
        served_web(split_sites()) as web,
        mesh_of(tmp_path / "mesh", web, PEERS, delay_s=DELAY_S) as mesh,
    ):
        chaos = Chaos(mesh, truth)
        chaos.found(PEERS)
        _wait_for_pages(mesh, EARLY)
        _save(chaos, mesh.folder, tmp_path / "backup")
        _wait_for_pages(mesh, EARLY + MORE)
        acknowledged = _pages_on_disk(mesh)
        _save(chaos, mesh.folder, tmp_path / "backup")
        _wipe_out(chaos)
        restored_s = time.time()
        _restore(chaos, tmp_path / "backup", mesh.folder)
        mesh.start(0)
        mesh.start(*range(1, PEERS + 1))
        assert acknowledged <= _pages_on_disk(mesh)
        mesh.wait_until_idle()
        chaos.wait_until_whole()
        since = [access for access in web.accesses() if access.began_s > restored_s]
        assert {access.url for access in since if not access.is_robots}
        assert not acknowledged & {access.url for access in since}
        assert {access.url for access in web.accesses()} >= truth.pages
        assert_polite(since, DELAY_S)

        answers, n_asked = _answers(mesh), len(web.accesses())
        _save(chaos, mesh.folder, tmp_path / "backup")
        again = _save(chaos, mesh.folder, tmp_path / "backup")
        archives = sum(file.stat().st_size for file in mesh.folder.glob("peer-*/data/**/*.warc.gz"))
        assert archives
        assert again["bytes_copied"] <= again["bytes"] - archives  # the tables, and nothing of the archives
        _wipe_out(chaos)
        _restore(chaos, tmp_path / "backup", mesh.folder)
        mesh.start(0)
        mesh.start(*range(1, PEERS + 1))
        chaos.wait_until_whole()
        mesh.wait_until_balanced()
        _assert_answers(mesh, answers)
        chaos.assert_all_found()
        chaos.assert_archived()
        _assert_readable(mesh, truth)
        assert len(web.accesses()) == n_asked
        mesh.assert_logs_are_clean()


def test_a_peer_from_an_old_backup_catches_up_with_a_mesh_that_lives_on(truth: Truth, tmp_path: Path) -> None:
    with (
        served_web(split_sites()) as web,
        mesh_of(tmp_path / "mesh", web, PEERS, delay_s=DELAY_S) as mesh,
    ):
        chaos = Chaos(mesh, truth)
        chaos.found(PEERS)
        _wait_for_pages(mesh, EARLY)
        home = mesh.folder / "peer-1"
        _save(chaos, home, tmp_path / "backup")
        chaos.restart(1)  # so that it has had another life meanwhile
        mesh.wait_until_idle()
        chaos.wait_until_whole()
        answers, n_asked = _answers(mesh), len(web.accesses())

        for _ in range(2):
            mesh.kill(1)
            shutil.rmtree(home)
            _restore(chaos, tmp_path / "backup", home)
            mesh.start(1)
            chaos.say("peer-1 is back from its backup")
            chaos.wait_until_whole()
            mesh.wait_until_balanced()
            _assert_answers(mesh, answers)
        chaos.assert_all_found()
        chaos.assert_archived()
        _assert_only_these_were_asked(chaos, web, n_asked)
        mesh.assert_logs_are_clean()


def _wait_for_pages(mesh: Mesh, count: int) -> None:
    report = mesh.wait_until(lambda report: report["total"]["pages_stored"] > count, f"{count} pages")
    assert report["total"]["frontier"]["queued"] > 0, "the crawl is too short for this test"


def _pages_on_disk(mesh: Mesh) -> set[str]:
    """What the tables of all peers have, and so is acknowledged or about to be."""
    urls: set[str] = set()
    for number in range(1, PEERS + 1):
        with closing(PeerFiles(mesh.folder / f"peer-{number}" / "config.toml")) as files:
            urls |= {version.place.url for version in files.versions()}
    return urls


def _save(chaos: Chaos, data: Path, backup: Path) -> dict[str, Any]:
    done = tianmesh("backup", backup, "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    saved: dict[str, Any] = json.loads(done.stdout)
    chaos.say(
        f"backup {saved['number']} of {data.name}: {saved['bytes'] / 1e6:.1f} MB, "
        f"{saved['bytes_copied'] / 1e6:.1f} MB of it copied in {saved['seconds']:.1f} s"
    )
    return saved


def _restore(chaos: Chaos, backup: Path, data: Path) -> None:
    done = tianmesh("restore", backup, "--data", data, "--json")
    assert done.returncode == 0, done.stderr
    chaos.say(f"{data.name} restored in {json.loads(done.stdout)['seconds']:.1f} s")


def _wipe_out(chaos: Chaos) -> None:
    chaos.mesh.kill(*range(PEERS + 1))
    shutil.rmtree(chaos.mesh.folder)
    chaos.say("all peers and the bootstrap node have been killed, and their disks are lost")


def _answers(mesh: Mesh) -> dict[str, dict[str, float]]:
    """What all gateways answer, once they agree: the last texts of links are indexed a little later."""

    def agreed() -> dict[str, dict[str, float]]:
        first, *others = (_hits_of(gateway) for gateway in mesh.gateways())
        time.sleep(1.0)
        return first if all(each == first for each in (*others, _hits_of(mesh.gateways()[0]))) else {}

    answers = wait_for(agreed, "answers that agree")
    assert all(answers.values())
    return answers


def _hits_of(gateway: str) -> dict[str, dict[str, float]]:
    return {query: _hits(gateway, query) for query in QUERIES}


def _hits(gateway: str, query: str) -> dict[str, float]:
    return {hit["url"]: hit["score"] for hit in search_all(gateway, query, k=50)["hits"]}


def _assert_answers(mesh: Mesh, answers: dict[str, dict[str, float]]) -> None:
    """Every gateway answers as before, to the bit, once what the peer was brought is indexed."""
    wait_for(lambda: _answers(mesh) == answers, "answers as before")


def _assert_readable(mesh: Mesh, truth: Truth) -> None:
    for page in truth.known:
        status, body = get(mesh.gateways()[0], "/page", url=page.url)
        assert (status, page.url in body) == (200, True), page


def _assert_only_these_were_asked(chaos: Chaos, web: ServedWeb, n_asked: int) -> None:
    chaos.assert_log(web.accesses(), DELAY_S)
    assert len(web.accesses()) == n_asked
