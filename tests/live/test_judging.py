"""People judge at real peers, which are killed meanwhile; readers tell by clicks which ranking is better."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import pytest

from peers.judging.pool import read_pool
from peers.judging.trec import read_qrels
from tests.live.lab_process import get, kill_all, tianmesh, up, wait_for
from tests.live.web import ServedWeb, served_web
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.live

QUERY = "packages debian"
POLICY = """
[[rules]]
action = "crawl"

[query_log]
days = 7
clicks = true
second = {name = "titles", weights = {title = 2.0, proximity = 0.0}}
"""


class Answer(NamedTuple):
    """The answer of a gateway to a browser, which goes nowhere by itself."""

    status: int
    location: str
    page: str


@pytest.fixture(scope="module")
def web() -> Iterator[ServedWeb]:
    with served_web() as web:
        yield web


def told(*arguments: str | Path) -> Any:
    done = tianmesh(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def browse(gateway: str, target: str, cookie: str = "", form: dict[str, str] | None = None) -> Answer:
    headers = {"Cookie": cookie} if cookie else {}
    method, body = ("GET", None) if form is None else ("POST", urlencode(form))
    with closing(HTTPConnection(urlsplit(gateway).netloc, timeout=PATIENCE_S)) as connection:
        connection.request(method, target, body, headers)
        response = connection.getresponse()
        return Answer(response.status, response.headers.get("Location", ""), response.read().decode())


def judge(gateway: str, link: str, document: str, grade: int) -> None:
    form = {"query": "1", "document": document, "grade": str(grade)}
    assert browse(gateway, link, form=form).status == 303


def test_a_grade_survives_that_all_peers_are_killed_once_it_was_answered(
    web: ServedWeb, tmp_path: Path
) -> None:
    pool, topics, run = (tmp_path / name for name in ("pool.json", "topics", "run"))
    topics.write_text(f"1\t{QUERY}\n")
    with up(tmp_path, web, seeds=web.seeds) as lab:
        lab.wait_until_idle()
        gateway = lab.gateways()[0]
        there = ("--gateway", gateway, "--data", tmp_path / "mesh")
        assert tianmesh("search", "--queries", topics, "--run", run, "--gateway", gateway).returncode == 0
        told("eval", "pool", run, "--queries", topics, "--out", pool, "--gateway", gateway)
        links = told("eval", "invite", pool, "--assessor", "ann", "--assessor", "bob", *there)["links"]
        ann, bob = (each["link"] for each in links)
        pages = read_pool(pool).pages
        documents = [page.document for page in pages][:3]
        for grade, document in enumerate(documents):
            judge(gateway, ann, document, grade)
        judge(gateway, bob, documents[0], 0)
        kill_all(lab)
    with up(tmp_path, web) as lab:
        [gateway] = [each for each in lab.gateways() if get(each, ann)[0] == 200]  # others do not know it
        judge(gateway, ann, documents[0], 2)
        assert f"3 of {len(pages)} pages judged" in get(gateway, ann)[1]
        there = ("--gateway", gateway, "--data", tmp_path / "mesh")
        found = told("eval", "judgements", pool, *there)["assessors"]
        assert [(each["assessor"], each["judged"]) for each in found] == [("ann", 3), ("bob", 1)]
        assert lab.interrupt() == 0
    assert read_qrels(tmp_path / "pool.ann.qrels") == {"1": dict(zip(documents, (2, 1, 2), strict=True))}
    assert read_qrels(tmp_path / "pool.bob.qrels") == {"1": {documents[0]: 0}}


def test_clicks_of_readers_that_agreed_are_counted_for_a_ranking(web: ServedWeb, tmp_path: Path) -> None:
    policy, results = tmp_path / "policy.toml", "/search?" + urlencode({"q": QUERY})
    policy.write_text(POLICY)
    with up(tmp_path, web, seeds=web.seeds) as lab:
        lab.wait_until_idle()
        gateway = lab.gateways()[0]
        there = ("--gateway", gateway, "--data", tmp_path / "mesh")
        assert tianmesh("policy", "set", policy, *there).returncode == 0
        wait_for(lambda: 'href="/compare' in browse(gateway, results).page, "second ranking at the gateway")
        assert "credit=" not in browse(gateway, results).page
        cookie = "tianmesh-compare=yes"
        page = browse(gateway, results, cookie).page
        links = [unescape(each) for each in re.findall(r'href="(/go\?[^"]+)"', page) if "credit=" in each]
        assert links
        for _ in range(3):  # the same again counts no more
            answer = browse(gateway, links[0], cookie)
            assert (answer.status, urlsplit(answer.location).scheme) == (302, "http")
        rankings = ("log", "rankings", *there)
        [found] = wait_for(lambda: told(*rankings), "click in the log")
        test = found["test"]
        assert found["comparison"].startswith("titles.")
        assert (test["wins"] + test["losses"], test["ties"], test["p"]) == (1, 0, 1.0)
        assert "no difference is shown" in tianmesh(*rankings).stdout
        assert lab.interrupt() == 0
