"""People are invited by a command, judge over HTTP, and another command fetches what they have judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import msgspec
import pytest
import trio
from typer.testing import CliRunner

from peers.application import app
from peers.judging.pool import Pool, PooledPage, PooledQuery, write_pool
from peers.judging.trec import read_qrels, write_qrels
from tests.peers.fake_gateway import fake_gateway
from tests.peers.gateway.fake_searcher import FakeSearcher
from tests.peers.gateway.test_http_port import UNLIMITED, running

POOL = Pool(9, 1, (PooledQuery("1", "red"),), tuple(PooledPage("1", f"http://h/{each}") for each in "abcde"))
GRADES = {"ann": (0, 0, 1, 1, 2), "bob": (0, 0, 1, 0, 1)}  # kappa 1/3, as by hand in test_judgement_routes.py


def run(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["eval", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    return told


def _judge(url: str, grades: tuple[int, ...]) -> None:
    for page, grade in zip(POOL.pages, grades, strict=True):
        form = {"query": page.query, "document": page.document, "grade": grade}
        with urlopen(Request(url, urlencode(form).encode())) as answer:
            assert answer.status == 200


def _all_of_it(gateway: str, folder: Path) -> None:
    pool = folder / "pool.json"
    write_pool(pool, POOL)
    token = ("--token", f"@{folder / 'token'}", "--gateway", gateway)
    (folder / "token").write_text(UNLIMITED.admin_token)
    told = run("invite", pool, "--assessor", "ann", "--assessor", "bob", *token)
    assert (told["queries"], told["pages"]) == (1, 5)
    assert run("judgements", pool, *token) == {
        "pages": 5,
        "assessors": [],
        "invited": ["ann", "bob"],
    }
    shown = CliRunner().invoke(app, ["eval", "judgements", str(pool), *map(str, token)]).stdout
    assert "invited, nothing so far: ann, bob" in shown
    for each in told["links"]:
        _judge(each["url"], GRADES[each["assessor"]])
    # One grade was given in a terminal: it stays, and where the gateway has another that one counts.
    write_qrels(folder / "pool.ann.qrels", {"1": {"http://h/a": 2}, "0": {"old": 1}})
    fetched = run("judgements", pool, *token)
    assert [(each["assessor"], each["judged"]) for each in fetched["assessors"]] == [("ann", 5), ("bob", 5)]
    files = [folder / "pool.ann.qrels", folder / "pool.bob.qrels"]
    assert read_qrels(files[0])["0"] == {"old": 1}
    (pair,) = run("agreement", *files)["pairs"]
    assert pair["agreement"]["n_pages"] == 5
    assert pair["agreement"]["kappa"] == pytest.approx(1 / 3)


async def test_what_people_judge_in_browsers_is_what_agreement_reads(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(UNLIMITED, judging_folder=str(tmp_path / "judging"))
    async with running(FakeSearcher(), settings) as http:
        await trio.to_thread.run_sync(_all_of_it, f"http://127.0.0.1:{http.port}", tmp_path)


def test_a_name_that_no_gateway_takes_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    write_pool(tmp_path / "my pool.json", POOL)
    words = ["eval", "invite", str(tmp_path / "my pool.json"), "--assessor", "ann"]
    result = CliRunner().invoke(app, [*words, "--gateway", "http://127.0.0.1:1"])
    assert result.exit_code != 0
    assert "is no name of a pool" in str(result.exception)


@pytest.mark.parametrize(
    ("assessor", "judgements"),
    [
        ("../../evil", {"1": {"a": 1}}),
        ("ann", {"1": {"a 2\n1 0 b": 1}}),
        ("ann", {"1 0 x 2\n1": {"a": 1}}),
        ("ann", {"1": {"a": "1"}}),
    ],
)
def test_a_gateway_that_lies_writes_no_file(tmp_path: Path, assessor: str, judgements: Any) -> None:
    write_pool(tmp_path / "pool.json", POOL)
    told = {"assessor": assessor, "judged": 1, "judgements": judgements}
    with fake_gateway() as gateway:
        gateway.judging = {"name": "pool", "queries": 1, "pages": 5, "assessors": [told]}
        words = ["eval", "judgements", str(tmp_path / "pool.json"), "--gateway", gateway.url]
        result = CliRunner().invoke(app, words)
    assert result.exit_code != 0
    assert [each.name for each in tmp_path.iterdir()] == ["pool.json"]
