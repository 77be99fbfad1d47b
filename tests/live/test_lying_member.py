"""A certified member puts ten invented pages before the hits of every search: nobody sees one of them."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from mesh.client.admin_token import tokens_for
from tests.benchmarks.filled_mesh import fill
from tests.demo_texts import demo_documents
from tests.live.lab_process import wait_for
from tests.live.lying_peer import INVENTED
from tests.live.mesh_processes import Mesh, mesh_of
from tests.live.web import ServedWeb
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

# By size of the mesh, a member that owns hosts of the pages: else it has nothing to put lies before.
LIARS: Final = {3: 3, 5: 5, 9: 4}
QUERIES: Final = ("search", "web", "the", "a", "in", "搜索", "page", "index")
BETWEEN_S: Final = 1.5  # rounds of searches: a contradiction is judged half a minute after it


@pytest.mark.parametrize("peers", [3, *(pytest.param(size, marks=pytest.mark.more) for size in (5, 9))])
def test_invented_hits_are_shown_to_nobody_and_end_in_quarantine(peers: int, tmp_path: Path) -> None:
    liar = LIARS[peers]
    honest = [number for number in range(1, peers + 1) if number != liar]
    documents = demo_documents()
    hosts = sorted({document.url.split("/")[2] for document in documents})
    (tmp_path / "resolver.json").write_text("{}")
    web = ServedWeb(tmp_path, [], dict.fromkeys(hosts, "127.0.0.1"))
    with mesh_of(tmp_path / "mesh", web, peers) as mesh:
        mesh.commands[liar] = (sys.executable, "-m", "tests.live.lying_peer")
        mesh.start(*range(1, peers + 1))
        mesh.wait_until_met()
        mesh.wait_until_balanced()
        assert any(mesh.team_of(host)[0] == liar for host in hosts)
        fill([mesh.gateway(number) for number in honest], tokens_for(mesh.folder)(), documents)
        mesh.wait_until_idle()

        began_s = time.monotonic()
        n_searches = 0
        while not all(_quarantined(mesh, number, liar) for number in honest):
            assert time.monotonic() < began_s + 2 * PATIENCE_S
            for number in honest:
                for words in QUERIES:
                    _wait_until_confirmed(mesh, number, f"{words} OR w{n_searches}", liar)
                    n_searches += 1
            time.sleep(BETWEEN_S)
        seconds = time.monotonic() - began_s
        print(f"\n{n_searches} searches, in quarantine after {seconds:.0f} s")
        for number in honest:
            [line] = [line for line in mesh.log(number).splitlines() if "member in quarantine" in line]
            assert mesh.peer_id(liar) in line
            assert INVENTED in line


def _search(mesh: Mesh, number: int, query: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{mesh.gateway(number)}/api/search?k=10&q={quote(query)}") as answer:
        found: dict[str, Any] = json.load(answer)
    return found


def _wait_until_confirmed(mesh: Mesh, number: int, query: str, liar: int) -> None:
    """Ask until a second member knows each hit, but where that is no more believed; no answer has a lie.

    A witness that is late leaves a hit to who gave it.
    """

    def is_confirmed() -> bool:
        found = _search(mesh, number, query)
        assert found["hits"]
        assert not any(INVENTED in hit["url"] for hit in found["hits"]), found
        return not found["coverage"]["missing"] and all(
            hit["is_confirmed"] or liar in mesh.team_of(hit["host"]) for hit in found["hits"]
        )

    wait_for(is_confirmed, f"answer to {query!r} that others confirm")


def _quarantined(mesh: Mesh, number: int, liar: int) -> bool:
    told = mesh.row(number, seen_by=number)["misconduct"]
    return any(each["peer"] == mesh.peer_id(liar) and each["is_quarantined"] for each in told)
