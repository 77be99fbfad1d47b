"""`tianmesh up --once` where what is left is due later than anybody waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from bootstrap.standstill import LEFT_FOR_LATER
from tests.live.lab_process import setting, tianmesh, up
from tests.live.sites import gbk_site
from tests.live.web import served_web

pytestmark = pytest.mark.live


def test_a_crawl_that_goes_on_tomorrow_ends_today_and_says_what_is_left(tmp_path: Path) -> None:
    with served_web(gbk_site()) as web:
        limits = (*setting("crawl.requests_per_host_day_max", 5), *setting("mesh.replicas", 1))
        options = ("--once", "--wait", "1m", "--peers", "1", *limits)
        with up(tmp_path, web, *options, seeds=web.seeds) as lab:
            assert lab.end() == LEFT_FOR_LATER, lab.messages
        assert len(web.accesses()) == 5
    assert "all that is left is due in" in lab.messages
    assert "the host has been asked as often as it may be in a day" in lab.messages
    assert "stopped, nothing is lost" in lab.messages


def test_a_crawl_of_which_no_seed_is_taken_says_why_and_does_not_end_well(tmp_path: Path) -> None:
    options = ("--data", tmp_path / "mesh", "--peers", "1", *setting("gateway.listen", "127.0.0.1:0"))
    done = tianmesh("up", "http://127.0.0.9:1/", "--once", *options)
    assert done.returncode == 1
    assert "refused: 127.0.0.9 leads to 127.0.0.9, which is not public" in done.stderr
    assert "--allow-private" in done.stderr
