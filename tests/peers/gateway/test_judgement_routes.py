"""Judging on a gateway: links, the blind page, grades, hostile requests, and what administrators read."""

from __future__ import annotations

import html
import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from starlette.applications import Starlette

from mesh.keys.decree import Signer
from mesh.keys.signed_token import TokenRight, sign_token
from peers.gateway.judging.judgement_page import SCRIPT
from peers.gateway.model.settings import GatewaySettings
from peers.gateway.routes import application
from peers.judging.agreement import cohens_kappa
from peers.judging.assessor_link import AssessorLink, key_of
from peers.judging.pool import Pool, PooledPage, PooledQuery
from peers.judging.trec import read_qrels
from tests.peers.gateway.asgi_client import Reply, ask
from tests.peers.gateway.fake_backend import MESH_ID, RIGHTS, ROOT, TOKEN, FakeBackend

FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "text/html"}
PAGES = tuple(
    PooledPage("1", f"http://h/{name}", f"Title {name}", "red apples", ((0, 3),)) for name in "abcd"
)
POOL = Pool(
    20, 7, (PooledQuery("1", "red apples"), PooledQuery("2", "pears")), (*PAGES, PooledPage("2", "x.txt"))
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "judging"


@pytest.fixture
def gateway(folder: Path) -> Starlette:
    return application(FakeBackend(settings=GatewaySettings(admin_token=TOKEN, judging_folder=str(folder))))


async def invited(gateway: Starlette, **wish: Any) -> dict[str, str]:
    asked = {"name": "fruit", "assessors": ["ann", "bob"], "pool": msgspec.to_builtins(POOL), **wish}
    reply = await ask(gateway, "/api/judging", "POST", RIGHTS, json.dumps(asked).encode())
    assert reply.status == 200, reply.text
    return {each["assessor"]: each["link"] for each in reply.json["links"]}


async def grade(gateway: Starlette, link: str, document: str, given: object, query: str = "1") -> Reply:
    body = urlencode({"query": query, "document": document, "grade": given}).encode()
    return await ask(gateway, link, "POST", FORM, body)


def documents(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'name="document" value="([^"]*)"', page)]


async def test_a_link_shows_one_query_in_a_blind_order_and_its_progress(gateway: Starlette) -> None:
    links = await invited(gateway)
    reply = await ask(gateway, links["ann"], headers=FORM)
    assert (reply.status, reply.headers["cache-control"]) == (200, "no-store")
    assert "Query 1 of 2" in reply.text
    assert "0 of 5 pages judged" in reply.text
    assert sorted(documents(reply.text)) == [page.document for page in PAGES]
    orders = {tuple(documents((await ask(gateway, link)).text)) for link in links.values()}
    assert len(orders) == 2  # each assessor has another one
    assert documents((await ask(gateway, links["ann"])).text) == documents(reply.text)  # and keeps it
    assert "<mark>red</mark> apples" in reply.text
    assert f"script-src {SCRIPT.source};" in reply.headers["content-security-policy"]
    assert (await ask(gateway, f"{links['ann']}?n=2")).text.count("<h2") == 1


async def test_a_grade_is_kept_and_leads_on_to_the_next_page_without_one(
    gateway: Starlette, folder: Path
) -> None:
    link = (await invited(gateway))["ann"]
    order = documents((await ask(gateway, link)).text)
    for place, document in enumerate(order[1:], 2):
        reply = await grade(gateway, link, document, 1)
        following = f"{link}?n=1#p{place + 1}" if place < 4 else f"{link}?n=1#p1"  # that was left out
        assert (reply.status, reply.headers["location"]) == (303, following)
    assert (await grade(gateway, link, order[0], 0)).headers["location"] == f"{link}?n=2#p1"
    page = (await ask(gateway, link)).text  # begins where judging goes on
    assert "Query 2 of 2" in page
    assert "4 of 5 pages judged" in page
    assert (await grade(gateway, link, "x.txt", 2, "2")).headers["location"] == f"{link}?n=2"
    page = (await ask(gateway, link)).text
    assert "All pages are judged" in page
    assert read_qrels(folder / "fruit.ann.qrels") == {
        "1": {**dict.fromkeys(order[1:], 1), order[0]: 0},
        "2": {"x.txt": 2},
    }


async def test_a_grade_is_shown_and_may_be_changed_and_sent_twice(gateway: Starlette, folder: Path) -> None:
    link = (await invited(gateway))["ann"]
    for given in (2, 2, 0):
        assert (await grade(gateway, link, "http://h/a", given)).status == 303
    page = (await ask(gateway, link)).text
    assert page.count('aria-pressed="true"') == 1
    assert re.search(r'value="0" aria-pressed="true"', page)
    assert read_qrels(folder / "fruit.ann.qrels") == {"1": {"http://h/a": 0}}


async def test_judging_goes_on_after_a_restart_and_by_a_new_link(gateway: Starlette, folder: Path) -> None:
    old = (await invited(gateway))["ann"]
    await grade(gateway, old, "http://h/a", 1)
    settings = GatewaySettings(admin_token=TOKEN, judging_folder=str(folder))
    again = application(FakeBackend(settings=settings))
    new = (await invited(again, pool=None, days=60))["ann"]
    assert new != old
    for link in (old, new):
        assert "1 of 5 pages judged" in (await ask(again, link)).text


async def test_a_chosen_language_stays(gateway: Starlette) -> None:
    link = (await invited(gateway))["ann"]
    page = (await ask(gateway, f"{link}?lang=zh")).text
    assert "非常相关" in page
    assert f'action="{link}?lang=zh"' in page
    body = urlencode({"query": "1", "document": "http://h/a", "grade": "1"}).encode()
    reply = await ask(gateway, f"{link}?lang=zh", "POST", FORM, body)
    assert "?n=1&lang=zh#p" in reply.headers["location"]


async def test_forged_and_ended_links_and_those_of_others_open_nothing(
    gateway: Starlette, folder: Path
) -> None:
    ann, bob = (await invited(gateway)).values()
    code = ann.rpartition("/")[2]
    ended = AssessorLink("fruit", "ann", 1_000)
    forged = [
        ann.replace("/ann/", "/bob/"),  # to judge in the name of another
        ann.replace("/fruit/", "/other/"),
        f"{ann[:-1]}{'1' if ann[-1] == '0' else '0'}",
        ann.replace(code, code.replace("-", "0-", 1)),  # a later end
        f"/judge/fruit/ann/{ended.code(key_of(TOKEN))}",
        f"/judge/fruit/ann/{AssessorLink('fruit', 'ann', 1 << 40).code(key_of('another-token-of-16'))}",
        "/judge/..%2F..%2Fetc/ann/9-9",
        "/judge/fruit/ann/" + "9" * 3_000,
    ]
    for link in forged:
        for reply in (await ask(gateway, link, headers=FORM), await grade(gateway, link, "http://h/a", 1)):
            assert reply.status == 404
            assert "This link is not one of ours" in reply.text or "not found" in reply.text
    assert [each.name for each in folder.glob("*.qrels")] == []
    assert (await grade(gateway, bob, "http://h/a", 1)).status == 303


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"query": "1", "document": "http://h/a"},
        {"query": "1", "document": "http://h/a", "grade": "3"},
        {"query": "1", "document": "http://h/a", "grade": "-1"},
        {"query": "1", "document": "http://h/a", "grade": "²"},
        {"query": "2", "document": "http://h/a", "grade": "1"},  # a page of another query
        {"query": "1", "document": "http://h/a 2\n1 0 http://h/b", "grade": "1"},  # a second line
        {"query": "1", "document": "http://evil/", "grade": "1"},
        {"query": "1", "document": "http://h/a", "grade": "1", **{f"f{n}": "x" for n in range(6)}},  # nine
    ],
)
async def test_a_form_that_is_none_of_ours_is_refused_with_a_sentence(
    gateway: Starlette, folder: Path, fields: dict[str, str]
) -> None:
    link = (await invited(gateway))["ann"]
    reply = await ask(gateway, link, "POST", FORM, urlencode(fields).encode())
    assert reply.status == 400
    assert "That is no grade of a page that is judged here" in reply.text
    assert not list(folder.glob("*.qrels"))


async def test_forms_of_a_megabyte_and_of_other_sites_are_refused(gateway: Starlette, folder: Path) -> None:
    link = (await invited(gateway))["ann"]
    large = await ask(gateway, link, "POST", FORM, b"query=1&document=" + b"a" * (1 << 20) + b"&grade=1")
    assert (large.status, "larger than 32768 bytes" in large.text) == (413, True)
    body = urlencode({"query": "1", "document": "http://h/a", "grade": "2"}).encode()
    for sent in ({"Origin": "http://evil.test"}, {"Sec-Fetch-Site": "cross-site"}):
        assert (await ask(gateway, link, "POST", FORM | sent, body)).status == 403
    for body in (b"\xff\xfe", b"query=%ff&document=%00&grade=1", b"&" * 10_000):
        assert (await ask(gateway, link, "POST", FORM, body)).status == 400
    assert not list(folder.glob("*.qrels"))


async def test_what_strangers_wrote_is_shown_as_text(gateway: Starlette) -> None:
    page = PooledPage(
        "1", "javascript:alert(1)", "<script>alert(1)</script>", "<img src=x>", ((0, 99), (-1, 2))
    )
    pool = Pool(1, 0, (PooledQuery("1", '"><b>q'),), (page,))
    link = (await invited(gateway, pool=msgspec.to_builtins(pool)))["ann"]
    shown = (await ask(gateway, link)).text
    assert "<script>alert" not in shown
    assert "<img src=x>" not in shown
    assert 'href="javascript' not in shown
    assert "<b>q" not in shown


async def test_who_has_a_link_has_no_other_right(gateway: Starlette) -> None:
    link = (await invited(gateway))["ann"]
    code = link.rpartition("/")[2]
    for headers in ({}, {"Authorization": f"Bearer {code}"}, {"Authorization": f"Bearer {link}"}):
        assert (await ask(gateway, "/api/judging?name=fruit", headers=headers)).status == 403
        assert (await ask(gateway, "/api/judging", "POST", headers, b"{}")).status == 403


async def test_a_token_to_read_reads_and_invites_nobody(gateway: Starlette) -> None:
    await invited(gateway)
    signed = sign_token(Signer(ROOT, MESH_ID), TokenRight.READ, "eve", time.time() + 60.0)
    reading = {"Authorization": f"Bearer {signed.text()}"}
    assert (await ask(gateway, "/api/judging?name=fruit", headers=reading)).status == 200
    assert (await ask(gateway, "/api/judging", "POST", reading, b"{}")).status == 403


async def test_administrators_read_all_judgements_and_kappa_is_that_by_hand(gateway: Starlette) -> None:
    """They agree on 3 of 5 pages, by chance on 2/5 x 3/5 + 2/5 x 2/5 = 10/25: (15 - 10) / (25 - 10)."""
    links = await invited(gateway)
    given = {"ann": [0, 0, 1, 1, 2], "bob": [0, 0, 1, 0, 1]}
    for assessor, grades in given.items():
        for page, each in zip(POOL.pages, grades, strict=True):
            assert (await grade(gateway, links[assessor], page.document, each, page.query)).status == 303
    told = (await ask(gateway, "/api/judging?name=fruit", headers=RIGHTS)).json
    assert (told["queries"], told["pages"]) == (2, 5)
    assert [(each["assessor"], each["judged"]) for each in told["assessors"]] == [("ann", 5), ("bob", 5)]
    assert all("judgements" not in each for each in told["assessors"])
    judgements = []
    for place, assessor in enumerate(("ann", "bob")):
        asked = (await ask(gateway, f"/api/judging?name=fruit&assessor={assessor}", headers=RIGHTS)).json
        judgements.append(asked["assessors"][place]["judgements"])
    one, other = judgements
    assert cohens_kappa(one, other).kappa == pytest.approx(1 / 3)
    listed = (await ask(gateway, "/api/judging", headers=RIGHTS)).json
    assert listed["pools"] == ["fruit"]


@pytest.mark.parametrize(
    ("change", "status", "why"),
    [
        ({"name": "../x"}, 400, "names of pools"),
        ({"assessors": ["a b"]}, 400, "names of pools"),
        ({"assessors": ["a"] * 101}, 400, "not understood"),
        ({"days": 0}, 400, "not understood"),
        ({"days": 10_000}, 400, "not understood"),
        ({"pool": []}, 400, "not understood"),
        ({"pool": {"depth": 1, "seed": 1, "queries": [], "pages": []}}, 400, "eval pool"),
        ({"name": "none", "pool": None}, 404, "no such pool"),
    ],
)
async def test_a_pool_or_an_invitation_that_makes_no_sense_is_refused(
    gateway: Starlette, folder: Path, change: dict[str, Any], status: int, why: str
) -> None:
    wish = {"name": "fruit", "assessors": ["ann"], "pool": msgspec.to_builtins(POOL), **change}
    reply = await ask(gateway, "/api/judging", "POST", RIGHTS, json.dumps(wish).encode())
    assert (reply.status, why in reply.json["error"]) == (status, True), reply.text
    assert not folder.exists()
    for body in (b"", b"[" * 5_000, b"\xff"):
        assert (await ask(gateway, "/api/judging", "POST", RIGHTS, body)).status == 400


async def test_a_gateway_without_a_folder_or_a_token_keeps_no_pools(folder: Path) -> None:
    without = application(FakeBackend())
    assert (await ask(without, "/api/judging", headers=RIGHTS)).status == 404
    code = AssessorLink("fruit", "ann", 1 << 40).code(key_of(TOKEN))
    assert (await ask(without, f"/judge/fruit/ann/{code}", headers=FORM)).status == 404
    settings = GatewaySettings(admin_token="", judging_folder=str(folder))
    tokenless = application(FakeBackend(settings=settings))
    assert (await ask(tokenless, f"/judge/fruit/ann/{code}", headers=FORM)).status == 404


async def test_a_disk_that_fails_takes_no_grade_and_says_so(
    gateway: Starlette, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = (await invited(gateway))["ann"]
    (folder / "fruit.ann.qrels").mkdir()
    reply = await grade(gateway, link, "http://h/a", 1)
    assert reply.status == 503
    assert "cannot be kept" in reply.text


@pytest.mark.parametrize("content", [None, b"no judgement\n"])
async def test_judgements_that_cannot_be_read_are_said_to_be_so(
    gateway: Starlette, folder: Path, content: bytes | None
) -> None:
    await invited(gateway)
    path = folder / "fruit.ann.qrels"
    path.mkdir() if content is None else path.write_bytes(content)
    reply = await ask(gateway, "/api/judging?name=fruit", headers=RIGHTS)
    assert reply.status == 502
    assert "ann" in reply.json["error"]
