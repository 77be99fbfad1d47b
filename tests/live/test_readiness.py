"""A mesh that has just been started again: commands that want all of it wait until it is there."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from bootstrap.provision import MeshFolder, create_mesh, write_bootstrap, write_peer
from mesh.client.gateway_client import GatewayClient
from mesh.config import DoorConfig
from tests.live.lab_process import COMMAND, get, node, tianmesh, wait_for
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

PAGES: Final = 60  # on as many hosts, so that every peer has its share


@contextmanager
def started(mesh: MeshFolder) -> Iterator[tuple[str, ExitStack]]:
    """The gateway of the first of three peers; what is put on the stack ends before them."""
    with ExitStack() as stack:
        write_bootstrap(mesh)
        door = stack.enter_context(node("bootstrap", mesh.folder / "bootstrap" / "config.toml"))
        doors = (DoorConfig(endpoint=door["door"], key=door["key"]),)
        for number in (1, 2, 3):
            write_peer(mesh, number, {"member.doors": doors, "gateway.listen": "127.0.0.1:0"})
        yield stack.enter_context(node("peer", mesh.folder / "peer-1" / "config.toml"))["gateway"], stack


def start_others(mesh: MeshFolder, stack: ExitStack) -> None:
    for number in (2, 3):
        stack.enter_context(node("peer", mesh.folder / f"peer-{number}" / "config.toml"))


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Pages, each with a word of its own, and a query for each; one more is longer than a query may be."""
    pages, topics = tmp_path / "pages.jsonl", tmp_path / "topics.tsv"
    with pages.open("w") as out:
        for number in range(PAGES):
            url = f"http://host{number}.test/"
            out.write(json.dumps({"url": url, "title": "A page", "text": f"the word zqx{number}q"}) + "\n")
    long = "a narrative of many words " * 80
    topics.write_text("".join(f"{number}\tzqx{number}q\n" for number in range(PAGES)) + f"long\t{long}\n")
    return pages, topics


def test_a_run_right_after_a_restart_is_complete(files: tuple[Path, Path], tmp_path: Path) -> None:
    pages, topics = files
    mesh = create_mesh(tmp_path / "mesh", "restarted", 2)
    with started(mesh) as (gateway, stack):
        start_others(mesh, stack)
        imported = tianmesh("import", pages, "--gateway", gateway, "--data", mesh.folder)
        assert imported.returncode == 0, imported.stderr
        with GatewayClient(gateway) as client:
            wait_for(lambda: client.status()["total"]["pages_indexed"] == PAGES, "pages in the index")

    with started(mesh) as (gateway, stack):
        assert get(gateway, "/healthz")[0] == 200
        status, waiting = get(gateway, "/readyz")
        assert status == 503
        assert json.loads(waiting)["waits_for"]
        command = [*COMMAND, "search", "--queries", str(topics), "--run", str(tmp_path / "run"), "--json"]
        with (tmp_path / "told").open("wb") as told:
            asking = subprocess.Popen(
                [*command, "--gateway", gateway], stdout=subprocess.PIPE, stderr=told, start_new_session=True
            )
        wait_for(lambda: "waiting until" in (tmp_path / "told").read_text(), "word that it waits")
        start_others(mesh, stack)
        report, _ = asking.communicate(timeout=3 * PATIENCE_S)
        assert asking.returncode == 0, (tmp_path / "told").read_text()
        assert get(gateway, "/readyz")[0] == 200

    assert json.loads(report)["incomplete"] == []
    assert json.loads(report)["cut"] == ["long"]
    assert "query long has more than" in (tmp_path / "told").read_text()
    found = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
    assert {(row[0], row[2]) for row in found if row[3] == "1"} >= {
        (f"{number}", f"http://host{number}.test/") for number in range(PAGES)
    }
