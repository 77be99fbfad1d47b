"""Politeness, audited from the web server's side."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.client.admin_token import tokens_for
from mesh.client.gateway_client import GatewayClient
from tests.live.access_log import CLOCK_S, assert_one_connection_at_a_time, assert_polite, by_host
from tests.live.lab_process import setting, up, wait_for
from tests.live.mesh_processes import mesh_of
from tests.live.raw_web import answer, served
from tests.live.sites import NASTY_DELAY_S, demo_sites, nasty_site, split_sites
from tests.live.web import PORT, SECOND_PORT, TLS_PORT, ServedWeb, served_web

pytestmark = pytest.mark.live

DELAY_S = 0.3
SLOW_HOST = "slow.test"
SLOW_PAGES = 4
TOOK_S = 0.02
PAGES_PER_HOST = 10  # those of the trap host that come before its slow ones


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served_web([*demo_sites(), nasty_site()]) as web:
        yield web


def test_no_host_is_asked_before_its_delay_nor_twice_at_once(web: ServedWeb, tmp_path: Path) -> None:
    limits = setting("crawl.pages_per_host_max", PAGES_PER_HOST)
    with up(tmp_path, web, "--once", *limits, seeds=web.seeds, delay_s=DELAY_S) as lab:
        assert lab.end() == 0, lab.messages
    accesses = web.accesses()
    asked = by_host(accesses)
    assert asked.keys() == web.addresses.keys()
    for host, requests in asked.items():
        # A page of the nasty host is on port 1, which is another protocol's: if it is among the first, it is
        # counted and not asked for.
        n_unsent_max = int(host == "nasty.test")
        n_asked_max = PAGES_PER_HOST + 1  # and robots.txt
        assert n_asked_max - n_unsent_max <= len(requests) <= n_asked_max, host
    assert_polite(accesses, DELAY_S)
    assert_one_connection_at_a_time(accesses)

    # Its robots.txt wants more than our delay.
    trap = asked["nasty.test"]
    assert trap[0].is_robots
    assert NASTY_DELAY_S > DELAY_S
    assert_polite(trap[1:], NASTY_DELAY_S)
    # Others are not slowed down by it.
    fast = asked["www.postgresql.org"]
    assert fast[-1].ended_s - fast[0].began_s < 2 * DELAY_S * len(fast)


def test_book_6_2_schemes_and_ports_of_a_host_are_asked_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two peers, to one of which a host belongs whatever its scheme and port."""
    with served_web(split_sites(), has_origins=True) as web:
        monkeypatch.setenv("SSL_CERT_FILE", str(web.authority))
        seeds = [seed for url in web.seeds for seed in _on_all_origins(url)]
        limits = setting("crawl.pages_per_host_max", 3 * PAGES_PER_HOST)
        with up(tmp_path, web, "--peers", "2", "--once", *limits, seeds=seeds, delay_s=DELAY_S) as lab:
            assert lab.end() == 0, lab.messages
        accesses = web.accesses()
    asked = by_host(accesses)
    assert asked.keys() == web.addresses.keys()
    for host, requests in asked.items():
        ports = {request.server_port for request in requests}
        assert ports == {PORT, TLS_PORT, SECOND_PORT}, host
        robots = [request.server_port for request in requests if request.is_robots]
        assert sorted(robots) == sorted(ports), f"{host}: a robots.txt each"
        assert len(requests) <= 3 * PAGES_PER_HOST + len(robots), host
    assert_polite(accesses, DELAY_S)
    assert_one_connection_at_a_time(accesses)


def test_a_server_is_left_alone_for_a_hundred_times_as_long_as_it_took_where_that_is_wanted(
    tmp_path: Path,
) -> None:
    """As the crawler Scooter did."""

    def answer_to(host: str, path: str) -> bytes:
        if path == "/robots.txt":
            return answer(b"", status="404 Not Found")
        time.sleep(TOOK_S)
        links = "".join(f'<a href="/{number}">{number}</a>' for number in range(SLOW_PAGES - 1))
        return answer(f"<title>{path}</title>{links}".encode(), "Content-Type: text/html")

    wanted = {"crawl.delay_factor": 100.0}
    with served(answer_to) as slow:
        slow.write_resolver(tmp_path, [SLOW_HOST])
        web = ServedWeb(tmp_path, [], {SLOW_HOST: "127.0.0.1"})
        with mesh_of(tmp_path / "mesh", web, 1, replicas=1, delay_s=0.1, settings=wanted) as mesh:
            mesh.start(1)
            mesh.wait_until_met()
            client = GatewayClient(mesh.gateway(1), tokens_for(mesh.folder))
            assert client.add_seeds([f"http://{SLOW_HOST}/"])["accepted"] == 1
            client.close()
            wait_for(lambda: len(slow.accesses) == 1 + SLOW_PAGES, "all pages of a slow host")
    pages = [access for access in slow.accesses if not access.is_robots]
    for before, after in itertools.pairwise(pages):
        pause_s = after.began_s - before.ended_s
        assert pause_s >= 100 * (before.ended_s - before.began_s) - CLOCK_S, (before, after)


def _on_all_origins(url: str) -> list[str]:
    rest = url.removeprefix("http://")
    host, _, path = rest.partition("/")
    return [url, f"https://{rest}", f"http://{host}:{SECOND_PORT}/{path}"]
