"""The ranks of a small site on two real peers are those that a solver finds."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from peers.link_graph.slot_ranks import DAMPING
from tests.live.lab_process import Up, get, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HOSTS: Final = ("a.test", "b.test", "c.test", "d.test")
LINKS: Final = {
    "http://a.test/": ("http://a.test/1", "http://b.test/", "http://c.test/"),
    "http://a.test/1": ("http://a.test/", "http://d.test/"),
    "http://b.test/": ("http://c.test/",),
    "http://c.test/": ("http://a.test/", "http://b.test/", "http://d.test/"),
    "http://d.test/": (),
}
POLICY: Final = """
[[rules]]
action = "crawl"

[link_graph]
ranks = true
"""


def solved() -> dict[str, float]:
    """Solve the equations that Brin and Page print."""
    urls = list(LINKS)
    matrix = np.zeros((len(urls), len(urls)))
    for page, targets in enumerate(LINKS.values()):
        for target in targets:
            matrix[urls.index(target), page] = DAMPING / len(targets)
    ranks = np.linalg.solve(np.eye(len(urls)) - matrix, np.full(len(urls), 1 - DAMPING))
    return dict(zip(urls, ranks.tolist(), strict=True))


def ranked(lab: Up) -> dict[str, Any]:
    done = tianmesh("graph", "ranks", "--json", "--gateway", lab.gateways()[1])
    told: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"is_settled": False}
    return told


def test_two_peers_rank_a_site_as_a_solver_does(tmp_path: Path) -> None:
    def answer_to(host: str, path: str) -> bytes:
        if path == "/robots.txt":
            return answer(b"", "Content-Type: text/plain", status="404 Not Found")
        links = "".join(f'<a href="{url}">{url}</a> ' for url in LINKS[f"http://{host}{path}"])
        return answer(f"<title>{host}{path}</title><body>{links}".encode(), "Content-Type: text/html")

    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with served(answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, HOSTS)), "--peers", "2")
        again = setting("crawl.revisit_after_s", 8)
        with up(tmp_path, None, *options, *again, seeds=["http://a.test/"], delay_s=0.1) as lab:
            refused = tianmesh("graph", "ranks", "--gateway", lab.gateways()[0])
            assert refused.returncode == 1
            assert "ranks = true" in refused.stderr
            data = tmp_path / "mesh"
            done = tianmesh("policy", "set", policy, "--gateway", lab.gateways()[0], "--data", data)
            assert done.returncode == 0, done.stderr
            wait_for(lambda: (told := ranked(lab))["is_settled"] and told["n_pages"] == 5, "ranks at rest")
            exact = solved()
            told = ranked(lab)
            assert {page["url"]: page["rank"] for page in told["pages"]} == pytest.approx(exact, abs=2e-3)
            ranks = [page["rank"] for page in told["pages"]]
            assert ranks == sorted(ranks, reverse=True)
            assert told["pages"][0]["url"] == max(
                exact, key=exact.__getitem__
            )  # by a third; others are close
            hosts = {host["host"]: host["rank"] for host in told["hosts"]}
            of_host = exact["http://a.test/"] + exact["http://a.test/1"]
            assert hosts["a.test"] == pytest.approx(of_host, abs=2e-3)
            status, page = get(lab.gateways()[0], "/backlinks?url=http://b.test/")
            assert status == 200
            assert f"PageRank: {exact['http://b.test/']:.2f}" in page
            exported = tianmesh("export", "graph", "--config", data, "--out", tmp_path / "graph")
            assert exported.returncode == 0, exported.stderr
            lines = gzip.decompress((tmp_path / "graph" / "page-vertices.tsv.gz").read_bytes()).decode()
            rows = [line.split("\t") for line in lines.splitlines()]
            assert {row[1]: float(row[4]) for row in rows} == pytest.approx(exact, abs=1e-6)
