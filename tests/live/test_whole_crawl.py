"""A whole crawl of real sites by three peers, audited from the web server's side."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient
from mesh.urls import NO_URL
from tests.live.access_log import Access, assert_one_connection_at_a_time, page_counts
from tests.live.archives import archived_urls
from tests.live.dev_web import dev_sites
from tests.live.lab_process import Up, get, search_all, up, wait_for
from tests.live.reachable import Reachable, reachable
from tests.live.sites import GBK_HOST, demo_sites, gbk_site
from tests.live.web import ServedWeb, served_web

pytestmark = pytest.mark.live

REPORT_FIELDS: Final = {
    *("pages_fetched", "pages_stored", "pages_indexed", "urls_seen", "fetch_status", "bytes_fetched"),
    *("links_found", "links_sent", "messages_sent", "bytes_sent", "seconds", "cpu_seconds"),
    *("pages_per_second", "private_bytes", "rss_bytes", "documents", "index_bytes", "archive_bytes"),
}
QUERIES: Final = ("软件包 安装", "虚拟主机", "postgresql vacuum", '"virtual host"', "virtual host -proxy")


class Crawled(NamedTuple):
    """A finished crawl whose peers have ended."""

    web: ServedWeb
    folder: Path
    report: dict[str, Any]
    accesses: list[Access]
    expected: Reachable


@pytest.fixture(scope="module", params=["demo", pytest.param("dev", marks=pytest.mark.more)])
def crawled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    folder = tmp_path_factory.mktemp(request.param)
    report = folder / "report.json"
    with served_web(demo_sites() if request.param == "demo" else [*dev_sites(), *gbk_site()]) as web:
        with up(folder, web, "--peers", "3", "--once", "--report", report, seeds=web.seeds) as lab:
            assert lab.end() == 0, lab.messages
        accesses = web.accesses()
        yield Crawled(web, folder, json.loads(report.read_text()), accesses, reachable(web))


@pytest.fixture(scope="module")
def mesh(crawled: Crawled) -> Iterator[Up]:
    """The same peers, started again on what they have."""
    with up(crawled.folder, crawled.web) as lab:
        gateways = lab.gateways()
        wait_for(lambda: all(get(each, "/readyz")[0] == 200 for each in gateways), "answers of all slots")
        yield lab


def test_every_reachable_page_is_stored_and_no_other(crawled: Crawled) -> None:
    stored = archived_urls(crawled.folder / "mesh")
    assert len(crawled.expected.pages) > 200
    assert stored.keys() - crawled.expected.pages == set()
    assert crawled.expected.pages - stored.keys() == set()
    assert set(stored.values()) == {2}  # owner and standby


def test_every_url_is_asked_for_once_and_robots_txt_once_a_host(crawled: Crawled) -> None:
    often = {url: n for url, n in page_counts(crawled.accesses).items() if n != 1}
    assert often == {}
    robots = Counter(access.host for access in crawled.accesses if access.is_robots)
    assert robots == dict.fromkeys(crawled.web.addresses, 1)
    assert_one_connection_at_a_time(crawled.accesses)


def test_report_agrees_with_the_log_of_the_web_server(crawled: Crawled) -> None:
    total, peers = crawled.report["total"], crawled.report["peers"]
    assert len(peers) == 3
    for row in [*peers, total]:
        assert row.keys() >= REPORT_FIELDS
    for peer in peers:
        assert {"id", "pid", "endpoint", "gateway"} <= peer.keys()
    pages = len(crawled.expected.pages)
    assert total["pages_fetched"] == total["pages_stored"] == pages
    assert total["pages_indexed"] == pages
    assert total["documents"] == 2 * pages

    asked = Counter(str(access.status) for access in crawled.accesses if not access.is_robots)
    said = {what: n for what, n in total["fetch_status"].items() if what.isdigit()}
    # What turns out to be no HTML has status 200 too, but counts under that reason.
    said["200"] += total["fetch_status"].get("not_html", 0)
    assert said == asked


def test_any_gateway_gives_the_same_hits_and_scores(mesh: Up) -> None:
    for query in QUERIES:
        answers = [search_all(gateway, query) for gateway in mesh.gateways()]
        found = [[(hit["url"], hit["score"]) for hit in answer["hits"]] for answer in answers]
        assert found[0], query
        assert found[1:] == found[:1] * 2, query
        assert {answer["total"] for answer in answers} == {answers[0]["total"]}


def test_restarted_mesh_fetches_nothing_again(crawled: Crawled, mesh: Up) -> None:
    report = mesh.wait_until_idle()
    assert report["total"]["pages_stored"] == len(crawled.expected.pages)
    assert report["total"]["pages_fetched"] == 0
    ours = [access for access in crawled.web.accesses() if access.agent != "oracle"]
    assert len(ours) == len(crawled.accesses)


def test_stored_copy_of_a_gbk_page_is_readable_at_any_gateway(mesh: Up) -> None:
    hit = search_all(mesh.gateways()[0], f"软件包 site:{GBK_HOST}")["hits"][0]
    assert urlsplit(hit["url"]).hostname == GBK_HOST
    for gateway in mesh.gateways():
        status, body = get(gateway, "/page", url=hit["url"])
        assert status == 200
        assert "软件包" in body
        assert "\ufffd" not in body


def test_seeds_health_and_metrics_at_any_gateway(crawled: Crawled, mesh: Up) -> None:
    for gateway in mesh.gateways():
        assert get(gateway, "/healthz")[0] == 200
        assert get(gateway, "/metrics")[0] == 403
        request = Request(
            f"{gateway}/metrics", headers={"Authorization": f"Bearer {tokens_for(mesh.folder)()}"}
        )
        with urlopen(request) as answer:
            counters = answer.read()
        assert b"# TYPE tianmesh_" in counters
        assert b"\ntianmesh_transport_messages_sent " in counters
        assert all(
            f"\ntianmesh_{whose}_{kind}_bytes ".encode() in counters
            for whose in ("process", "workshop")
            for kind in ("private", "rss")
        )
    client = GatewayClient(mesh.gateways()[1], tokens_for(mesh.folder))
    known = client.add_seeds([crawled.web.seeds[0], "no url"])
    client.close()
    invalid = [{"url": "no url", "reason": NO_URL}]
    assert known == {"accepted": 1, "invalid": invalid, "left_out": [], "private": []}
    assert mesh.wait_until_idle()["total"]["pages_fetched"] == 0
