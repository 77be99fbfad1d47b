"""Sites that are submitted to two real peers: with a meta element and a limit of pages, without a proof."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live.lab_process import Up, get, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

HTML: Final = "Content-Type: text/html"
HOSTS: Final = ("a.test", "b.test", "c.test")
POLICY: Final = """
[[rules]]
action = "crawl"
within_domain = true

[submissions]
pages_per_site = 4
moderation = true
"""


def submitted(lab: Up, *words: str) -> dict[str, Any]:
    done = tianmesh(*words, "--json", "--gateway", lab.gateways()[0])
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_proven_site_has_its_pages_visited_and_found_and_another_nothing(tmp_path: Path) -> None:
    codes: dict[str, str] = {}

    def answer_to(host: str, path: str) -> bytes:
        if path in ("/robots.txt", "/tianmesh-site.txt"):
            return answer(b"", "Content-Type: text/plain", status="404 Not Found")
        element = f'<meta name="tianmesh-site" content="{codes.get(host, "")}">'
        links = "".join(f'<a href="/{n}">page {n}</a>' for n in range(20))
        return answer(f"<title>{path}</title>{element}<body>gneiss of {host} {links}".encode(), HTML)

    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with served(answer_to) as web:
        resolver = web.write_resolver(tmp_path, HOSTS)
        options = (*setting("web.resolver", resolver), "--peers", "2")
        with up(tmp_path, None, *options, seeds=["http://c.test/1"], delay_s=0.1) as lab:
            lab.wait_until_idle()
            keys = ("--gateway", lab.gateways()[0], "--data", tmp_path / "mesh")
            assert get(lab.gateways()[0], "/submit")[0] == 404
            assert tianmesh("submit", "http://a.test/", "--gateway", lab.gateways()[0]).returncode == 1
            done = tianmesh("policy", "set", policy, *keys)
            assert done.returncode == 0, done.stderr
            wait_for(lambda: get(lab.gateways()[1], "/submit")[0] == 200, "the policy at both gateways")
            told = {host: submitted(lab, "submit", f"http://{host}/") for host in HOSTS}
            codes.update({host: each["code"] for host, each in told.items() if host != "b.test"})
            assert {each["state"] for each in told.values()} == {"moderated"}
            assert not {host for host, _ in web.requests} & {"a.test", "b.test"}
            for each in told.values():
                done = tianmesh("submissions", "accept", each["code"], *keys)
                assert done.returncode == 0, done.stderr

            def state(host: str) -> str:
                return str(submitted(lab, "submit", told[host]["code"])["state"])

            wait_for(lambda: state("a.test") == "done", "end of the crawl", 2 * PATIENCE_S)
            wait_for(lambda: state("c.test") == "done", "end of the submission of a known site")
            last = submitted(lab, "submit", told["b.test"]["code"])
            assert (last["state"], last["why"]) == ("proving", "none")
            page = get(lab.gateways()[1], f"/submit/{told['b.test']['code']}")
            assert page[0] == 200
            assert "http://b.test/tianmesh-site.txt" in page[1]
    asked = {host: {path for name, path in web.requests if name == host} for host in HOSTS}
    assert asked["b.test"] == {"/robots.txt", "/tianmesh-site.txt", "/"}
    pages = asked["a.test"] - {"/robots.txt", "/tianmesh-site.txt"}
    assert len(pages) == 4
    assert "/" in pages
    assert "/tianmesh-site.txt" not in asked["c.test"], "it was crawled already"
