"""Politeness, audited from the web server's side."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.access_log import assert_one_connection_at_a_time, assert_polite, by_host
from tests.live.lab_process import up
from tests.live.web import ServedWeb, served_web

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

DELAY_S = 0.3
PAGES_PER_HOST = 10  # those of the trap host that come before its slow ones


@pytest.fixture(scope="module")
def web(packages: Path) -> Iterator[ServedWeb]:
    with served_web(packages, nasty=True) as web:
        yield web


def test_no_host_is_asked_before_its_delay_nor_twice_at_once(web: ServedWeb, tmp_path: Path) -> None:
    limits = ["--pages-per-host", str(PAGES_PER_HOST)]
    with up(tmp_path, web, "--once", *limits, seeds=web.seeds, delay_s=DELAY_S) as lab:
        assert lab.end(90) == 0, lab.messages
    accesses = web.accesses()
    asked = by_host(accesses)
    assert asked.keys() == web.addresses.keys()
    for host, requests in asked.items():
        assert len(requests) == PAGES_PER_HOST + 1, host  # and robots.txt
    assert_polite(accesses, DELAY_S)
    assert_one_connection_at_a_time(accesses)

    # Its robots.txt wants more than our delay.
    trap = asked["nasty.test"]
    assert trap[0].is_robots
    assert_polite(trap[1:], 1.0)
    # Others are not slowed down by it.
    fast = asked["www.postgresql.org"]
    assert fast[-1].ended_s - fast[0].began_s < 2 * DELAY_S * len(fast)
