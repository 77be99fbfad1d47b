"""A live search by the command: over a real gateway to the peers that crawl, and to a real web server."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest

from tests.live.lab_process import get, search, setting, tianmesh, up, wait_for
from tests.live.raw_web import answer, served

pytestmark = pytest.mark.live

HOSTS: Final = ("a.test", "b.test")
DELAY_S: Final = 1.0
PLAIN: Final = 60  # pages of each host, all linked to before the one that is searched for
HTML: Final = "Content-Type: text/html"


def answer_to(host: str, path: str) -> bytes:
    if path == "/robots.txt":
        return answer(b"", "Content-Type: text/plain")
    links = "".join(f"<a href=/{number}>number {number}</a> " for number in range(PLAIN))
    last = "<a href=/last>all about moraines</a>" if host == "a.test" else ""
    text = {"/": f"glaciers {links}{last}", "/last": "what glaciers leave behind"}.get(path, f"page {path}")
    return answer(f"<title>{host}{path}</title><body>{text}".encode(), HTML)


def test_a_live_search_has_the_page_that_it_waits_for_visited_first_and_nobody_sooner(tmp_path: Path) -> None:
    with served(answer_to) as web:
        options = (*setting("web.resolver", web.write_resolver(tmp_path, HOSTS)), "--peers", "2")
        seeds = [f"http://{host}/" for host in HOSTS]
        with up(tmp_path, None, *options, seeds=seeds, delay_s=DELAY_S) as lab:
            gateway = lab.gateways()[0]
            wait_for(lambda: search(gateway, "moraines")["total"], "entrance in the index")
            command = ("search", "--live", "glaciers moraines", "--gateway", gateway, "--data", lab.folder)
            done = tianmesh(*command, "--seconds", "20", "--json")
            assert done.returncode == 0, done.stderr
            told = json.loads(done.stdout)
            status, page = get(gateway, "/live", q="glaciers")
    assert "http://a.test/last" in told["new"], done.stderr
    assert told["is_over"]
    wanted = {each["url"]: each["is_stored"] for each in told["wanted"]}
    assert wanted["http://a.test/last"]
    assert "pages fetched" in done.stderr
    assert status == 403  # who is not signed in may not begin one
    assert "<form" in page
    asked = [path for host, path in web.requests if host == "a.test"]
    assert asked.index("/last") < PLAIN // 2, "it came in its ordinary turn"
    for host in HOSTS:
        begun = [each.began_s for each in web.accesses if each.host == host]
        assert all(later - sooner > 0.9 * DELAY_S for sooner, later in pairwise(sorted(begun)[1:]))
