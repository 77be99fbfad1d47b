"""A disk that fills up: discovery stops, search goes on, nothing is lost, and space makes it go on.

Of all that a peer writes: archive, table, index, history, log, small files, backups and exports.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

import pytest

from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap, write_peer
from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient, GatewayError
from mesh.config import DoorConfig
from tests.live.access_log import page_counts
from tests.live.archives import archived_urls
from tests.live.lab_process import COMMAND, get, node, search_all, tianmesh, up, wait_for
from tests.live.reachable import reachable
from tests.live.sites import Site, made_sites
from tests.live.web import ServedWeb, served_web, unavailable
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

SMALL, LARGE = "22m", "256m"
QUIET_S = 3.0
PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
FILLER: Final = "filler"
PAGES: Final = 40


def sites() -> tuple[Site, ...]:
    """Some 40 MB of text; a disk of 22 MB is full before all is stored, and some of that indexed."""
    return made_sites(hosts=3, pages=300, words=6_000)


@contextmanager
def mounted(folder: Path, size: str) -> Iterator[Path]:
    """A small file system of its own in a folder."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("only root on Linux can mount a small disk")
    folder.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tianmesh-test", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        unavailable(f"cannot mount a small disk: {done.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "mesh" / "peer-1" / "data", SMALL) as folder:
        yield folder


def fill(disk: Path, left_bytes: int = 0) -> None:
    """Leave so little space on a disk."""
    with (disk / FILLER).open("ab", buffering=0) as filler:
        size = 1 << 20
        while size:
            try:
                filler.write(bytes(size))
            except OSError:
                size //= 2
        filler.truncate(filler.tell() - left_bytes)


def free(disk: Path) -> None:
    (disk / FILLER).unlink()


def configured(tmp_path: Path) -> tuple[MeshFolder, Path]:
    """The only peer of a mesh, by its configuration."""
    mesh = create_mesh(tmp_path / "mesh", "small", 1)
    write_peer(mesh, 1, {"gateway.listen": "127.0.0.1:0"})
    return mesh, mesh.folder / "peer-1" / "config.toml"


def pages_file(tmp_path: Path) -> Path:
    """Pages to be imported, each on a host and with a word of its own; some megabytes."""
    pages = tmp_path / "pages.jsonl"
    lines = (
        {"url": f"http://host{number}.test/", "title": "A page", "text": f"zqx{number}q " + words(number)}
        for number in range(PAGES)
    )
    pages.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return pages


def words(number: int) -> str:
    return " ".join(f"word{number * 7919 + at}" for at in range(3_000))


def ended(config: Path) -> str:
    """Start a peer that cannot, and return its last words."""
    command = [*COMMAND, "peer", "--config", str(config)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    return done.stderr


def status(gateway: str) -> dict[str, Any]:
    with GatewayClient(gateway) as client:
        report: dict[str, Any] = client.status()
    return report


def test_full_disk_stops_the_crawl_and_space_lets_it_go_on(disk: Path, tmp_path: Path) -> None:
    with served_web(sites()) as web:
        with up(tmp_path, web, "--peers", "1", "--set", "mesh.replicas=1", seeds=web.seeds) as lab:
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


def test_first_starts_on_a_full_disk_are_sentences_and_a_later_one_is_none_the_worse(tmp_path: Path) -> None:
    _, config = configured(tmp_path)
    with mounted(config.parent / "data", "1m") as disk:
        # Too little for: the mark of the disk, LMDB's lock file, its headers, a commit, the archive.
        for n_pages_left in (0, 1, 2, 3, 2):
            fill(disk, n_pages_left * PAGE_BYTES)
            said = ended(config)
            assert said.startswith("tianmesh: ")
            assert "free some" in said
            assert said.count("\n") == 1
            free(disk)
        with node("peer", config) as told:
            assert get(told["gateway"], "/readyz")[0] == 200
    assert (config.parent / "log").read_text() == ""


def test_table_history_log_and_orders_wait_for_space_and_a_peer_starts_without_any(tmp_path: Path) -> None:
    """All of the peer is on the disk, its log and its token, too."""
    with mounted(tmp_path / "mesh", "8m") as disk:
        mesh, config = configured(tmp_path)
        pages = pages_file(tmp_path)
        with node("peer", config) as told:
            gateway = told["gateway"]
            imported = tianmesh("import", pages, "--gateway", gateway, "--data", mesh.folder)
            assert imported.returncode == 0, imported.stderr
            wait_for(lambda: status(gateway)["total"]["pages_indexed"] == PAGES, "pages in the index")
            with _filled_table(gateway, mesh, disk):
                assert len(search_all(gateway, "zqx7q")["hits"]) == 1
                assert get(gateway, "/api/history")[0] == 200
                refused = tianmesh("backup", disk / "backup", "--data", mesh.folder)
                assert refused.returncode == 1
                assert "no space is left for the backup" in refused.stderr
                refused = tianmesh("export", "jsonl", "--config", mesh.folder, "--out", disk / "out")
                assert refused.returncode == 1
                assert "no space is left for the export" in refused.stderr
                free(disk)
            wait_for(lambda: not status(gateway)["total"]["disk_full"], "a commit")
            fill(disk)
        configuration = config.read_text()
        with node("peer", config) as told:
            assert len(search_all(told["gateway"], "zqx7q")["hits"]) == 1
            free(disk)
        assert config.read_text() == configuration
        log = (config.parent / "log").read_text()
    assert "Traceback" not in log
    assert log.count("commit failed") <= 1


@contextmanager
def _filled_table(gateway: str, mesh: MeshFolder, disk: Path) -> Iterator[None]:
    """Seed so many hosts that the table has no space for them, while nothing else wants any."""
    urls = [f"http://seed{number}.test/" for number in range(1_000)]

    def seed() -> None:
        with suppress(GatewayError), GatewayClient(gateway, tokens_for(mesh.folder)) as client:
            client.add_seeds(urls)  # nobody answers before a commit

    fill(disk, 2 * PAGE_BYTES)
    seeding = Thread(target=seed)
    seeding.start()
    try:
        wait_for(lambda: status(gateway)["total"]["disk_full"], "table without space")
        yield
    finally:
        seeding.join()


def test_peer_that_never_gets_ready_keeps_nobody_waiting(tmp_path: Path) -> None:
    mesh = create_mesh(tmp_path / "mesh", "three", 2)
    pages = pages_file(tmp_path)
    # Enough for its share, for a segment that is taken anew, and for both of a merge; 2 MB were not always.
    with mounted(mesh.folder / "peer-2" / "data", "8m") as disk, ExitStack() as stack:
        write_bootstrap(mesh)
        door = stack.enter_context(node("bootstrap", mesh.folder / "bootstrap" / "config.toml"))
        doors = (DoorConfig(endpoint=door["door"], key=door["key"]),)
        for number in (1, 2, 3):
            write_peer(mesh, number, {"member.doors": doors, "gateway.listen": "127.0.0.1:0"})
        configs = [mesh.folder / f"peer-{number}" / "config.toml" for number in (1, 2, 3)]
        with node("peer", configs[0]) as told, node("peer", configs[2]):
            gateway = told["gateway"]
            imported = tianmesh("import", pages, "--gateway", gateway, "--data", mesh.folder)
            assert imported.returncode == 0, imported.stderr
            wait_for(lambda: status(gateway)["total"]["pages_indexed"] == PAGES, "pages in the index")
        fill(disk, 40 * PAGE_BYTES)  # enough to start, too little for its share
        with node("peer", configs[1]) as full, node("peer", configs[0]) as told, node("peer", configs[2]):
            gateway = told["gateway"]

            def is_left_out() -> bool:
                told_of = {peer["id"]: peer for peer in status(gateway)["peers"]}
                peer = told_of.get(full["id"], {"disk_full": False})
                return len(told_of) == 3 and peer["disk_full"] and not peer["slots"]["answered"]

            wait_for(is_left_out, "peer that is full and answers for nothing")
            wait_for(lambda: get(gateway, "/readyz")[0] == 200, "answers for all slots")
            assert len(search_all(gateway, "zqx7q")["hits"]) == 1
            free(disk)

            def is_ready() -> bool:
                peers = status(gateway)["peers"]
                return all(peer["slots"]["answered"] == peer["slots"]["owned"] for peer in peers)

            wait_for(is_ready, "share of every peer")
            assert len(search_all(full["gateway"], "zqx7q")["hits"]) == 1
