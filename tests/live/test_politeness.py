"""Politeness, audited from the web server's side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.access_log import assert_one_connection_at_a_time, assert_polite, by_host
from tests.live.lab_process import up
from tests.live.sites import demo_sites, nasty_site, split_sites
from tests.live.web import PORT, SECOND_PORT, TLS_PORT, ServedWeb, served_web

pytestmark = pytest.mark.live

DELAY_S = 0.3
PAGES_PER_HOST = 10  # those of the trap host that come before its slow ones


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served_web([*demo_sites(), nasty_site()]) as web:
        yield web


def test_no_host_is_asked_before_its_delay_nor_twice_at_once(web: ServedWeb, tmp_path: Path) -> None:
    limits = ["--pages-per-host", str(PAGES_PER_HOST)]
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
    assert_polite(trap[1:], 1.0)
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
        limits = ["--pages-per-host", str(3 * PAGES_PER_HOST)]
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


def _on_all_origins(url: str) -> list[str]:
    rest = url.removeprefix("http://")
    host, _, path = rest.partition("/")
    return [url, f"https://{rest}", f"http://{host}:{SECOND_PORT}/{path}"]
