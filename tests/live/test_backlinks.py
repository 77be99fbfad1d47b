"""Back-links of two real peers: from the policy to the list, and gone with the pages that had them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from tests.live.lab_process import Up, get, search, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HTML: Final = "Content-Type: text/html"
HOSTS: Final = ("a.test", "b.test", "c.test")
POLICY: Final = """
[[rules]]
action = "crawl"

[link_graph]
"""
TARGET: Final = "http://b.test/"


def listed(lab: Up, url: str) -> dict[str, Any]:
    done = tianmesh("backlinks", url, "--json", "--gateway", lab.gateways()[1])
    told: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"links": [done.stderr]}
    return told


def hits_of(lab: Up) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        tianmesh("graph", "hubs", "gneiss", "--json", "--gateway", lab.gateways()[1]).stdout
    )
    return told


def urls(told: dict[str, Any]) -> list[Any]:
    return sorted(link["url"] if isinstance(link, dict) else link for link in told["links"])


def test_pages_that_link_to_one_are_listed_by_each_gateway_and_go_with_their_links(tmp_path: Path) -> None:
    is_changed = False

    def answer_to(host: str, path: str) -> bytes:
        if path == "/robots.txt":
            return answer(b"", "Content-Type: text/plain", status="404 Not Found")
        links = {
            ("a.test", "/"): '<a href="http://b.test/">the second</a> <a href="/1">one</a>',
            ("a.test", "/1"): "nothing" if is_changed else '<a href="http://b.test/">again</a>',
            ("b.test", "/"): '<a href="http://c.test/">third</a>',
            ("c.test", "/"): '<a href="http://b.test/" rel="nofollow">no</a> <a href="http://a.test/1">x</a>',
        }
        body = f"<title>{host}{path}</title><body>gneiss {links.get((host, path), '')}"
        return answer(body.encode(), HTML)

    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    with served(answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, HOSTS)), "--peers", "2")
        again = setting("crawl.revisit_after_s", 8)
        with up(tmp_path, None, *options, *again, seeds=["http://a.test/"], delay_s=0.1) as lab:
            refused = tianmesh("backlinks", TARGET, "--gateway", lab.gateways()[0])
            assert refused.returncode == 1
            assert "[link_graph]" in refused.stderr
            done = tianmesh(
                "policy", "set", policy, "--gateway", lab.gateways()[0], "--data", tmp_path / "mesh"
            )
            assert done.returncode == 0, done.stderr
            both = ["http://a.test/", "http://a.test/1"]
            wait_for(lambda: urls(listed(lab, TARGET)) == both, "both links")
            told = listed(lab, "b.test")
            assert {link["text"] for link in told["links"]} == {"the second", "again"}
            assert {link["title"] for link in told["links"]} == {"a.test/", "a.test/1"}
            assert (told["n_links"], told["n_domains"], told["is_exact"]) == (2, 1, True)
            wait_for(lambda: urls(listed(lab, "http://c.test/")) == [TARGET], "the link of the target")
            status, page = get(lab.gateways()[0], f"/backlinks?url={TARGET}")
            assert status == 200
            assert "the second" in page
            wait_for(lambda: len(search(lab.gateways()[0], "gneiss")["hits"]) == 4, "all pages in the index")
            wait_for(lambda: hits_of(lab)["silent"] == [], "the answers of both peers")
            hits = hits_of(lab)
            assert {each["url"] for each in hits["authorities"]} >= {TARGET, "http://c.test/"}
            assert {each["url"] for each in hits["hubs"]} >= {*both, TARGET}
            status, page = get(lab.gateways()[1], "/hubs?q=gneiss")
            assert (status, TARGET in page) == (200, True)
            done = tianmesh("search", "gneiss", "--groups", "site", "--json", "--gateway", lab.gateways()[0])
            groups = json.loads(done.stdout)["groups"]
            assert sorted((each["names"], len(each["hits"])) for each in groups) == [
                (["a.test"], 2),
                (["b.test"], 1),
                (["c.test"], 1),
            ]
            is_changed = True
            wait_for(lambda: urls(listed(lab, TARGET)) == ["http://a.test/"], "the link that has gone")
