from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.application import app
from peers.judging.pool import Shown, blind_order, pool_of, read_pool
from peers.judging.trec import Ranked, write_run
from tests.peers.fake_gateway import fake_gateway

OURS = {"1": [Ranked("http://h/a", 3.0), Ranked("http://h/b", 2.0)], "2": [Ranked("http://h/c", 1.0)]}
THEIRS = {"1": [Ranked("http://h/b", 9.0), Ranked("http://h/d", 8.0), Ranked("http://h/e", 7.0)]}
TOPICS = [("1", "red apples"), ("2", "green pears"), ("3", "no results")]


def test_a_pool_has_the_first_results_of_all_runs_once() -> None:
    pool = pool_of([OURS, THEIRS], TOPICS, 2, 7)
    found = Counter((page.query, page.document) for page in pool.pages)
    assert found == Counter(
        [("1", "http://h/a"), ("1", "http://h/b"), ("1", "http://h/d"), ("2", "http://h/c")]
    )
    assert [each.text for each in pool.queries] == ["red apples", "green pears"]


def test_results_stand_rank_by_rank_and_tell_no_engine() -> None:
    """Of each rank every engine is first as often as the others."""
    rankings = [["a1", "a2"], ["b1", "b2"], ["c1"]]
    random = Random(1)
    orders = [blind_order(rankings, 9, random) for _ in range(3_000)]
    assert all({*order[:3]} == {"a1", "b1", "c1"} and {*order[3:]} == {"a2", "b2"} for order in orders)
    for place, expected in ((0, 1_000), (3, 1_500)):
        for count in Counter(order[place] for order in orders).values():
            assert abs(count - expected) < 120  # four standard deviations


def test_the_same_seed_gives_the_same_order_and_another_one_another() -> None:
    run = {"1": [Ranked(f"a{n}", 1.0) for n in range(20)]}
    other = {"1": [Ranked(f"b{n}", 1.0) for n in range(20)]}
    orders = [pool_of([run, other], TOPICS, 20, seed).pages for seed in (5, 5, 6)]
    assert orders[0] == orders[1] != orders[2]


def test_a_result_that_cannot_be_shown_is_passed_over_and_the_next_one_taken() -> None:
    run = {"1": [Ranked(f"http://h/{name}", 1.0) for name in "axbyc"], "2": [Ranked("http://h/x", 1.0)]}

    def shown(document: str, text: str) -> Shown | None:
        return None if document[-1] in "xy" else Shown(f"{text} {document}", "", ())

    pool = pool_of([run], TOPICS, 3, 0, shown)
    assert [(page.document, page.title) for page in pool.pages] == [
        (f"http://h/{name}", f"red apples http://h/{name}") for name in "abc"
    ]
    assert [each.query for each in pool.queries] == ["1"]  # of the other nothing is left


def test_a_run_of_other_queries_is_refused() -> None:
    with pytest.raises(ConfigError, match="lacks 2"):
        pool_of([OURS], [("1", "red")], 2, 0)
    with pytest.raises(ConfigError, match="no run has any result"):
        pool_of([{}], TOPICS, 2, 0)


@pytest.mark.parametrize("content", ["", "[]", '{"depth": 1}'])
def test_a_file_that_is_no_pool_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "pool").write_text(content)
    with pytest.raises(ConfigError, match="is no pool"):
        read_pool(tmp_path / "pool")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_run(tmp_path / "ours", OURS.items(), "ours")
    write_run(tmp_path / "theirs", THEIRS.items(), "theirs")
    (tmp_path / "topics").write_text("".join(f"{query}\t{text}\n" for query, text in TOPICS))
    return tmp_path


def pooled(folder: Path, *more: str) -> dict[str, int]:
    words = ["eval", "pool", "ours", "theirs", "--queries", "topics", "--out", "pool.json", "--json"]
    at = [str(folder / word) if (folder / word).exists() or "." in word else word for word in words]
    result = CliRunner().invoke(app, [*at, *more])
    assert result.exit_code == 0, result.output
    report: dict[str, int] = json.loads(result.stdout)
    return report


def test_the_command_writes_titles_and_excerpts_of_the_copies_and_no_engine(folder: Path) -> None:
    with fake_gateway() as gateway:
        text = "Of fruit: green, and " + "many more, " * 60 + "red apples of the north."
        for name in "abd":
            gateway.pages[f"http://h/{name}"] = {"title": f"Page {name}", "text": text}
        report = pooled(folder, "--gateway", gateway.url, "--depth", "2", "--seed", "7")
    assert report == {"queries": 1, "pages": 3, "left_out": 1, "depth": 2, "seed": 7}
    pool = read_pool(folder / "pool.json")
    assert {page.title for page in pool.pages} == {"Page a", "Page b", "Page d"}
    assert {page.excerpt[start:end] for page in pool.pages for start, end in page.highlights} == {
        "red",
        "apples",
    }
    written = (folder / "pool.json").read_text()
    assert "ours" not in written
    assert "theirs" not in written


def test_a_pool_of_no_pages_needs_no_mesh(folder: Path) -> None:
    assert pooled(folder, "--no-pages", "--gateway", "http://127.0.0.1:1")["pages"] == 5


def test_a_mesh_that_does_not_answer_makes_no_pool(folder: Path) -> None:
    """A page that could not be asked for is not one that is not there."""
    words = ["eval", "pool", str(folder / "ours"), "--queries", str(folder / "topics"), "--out"]
    result = CliRunner().invoke(app, [*words, str(folder / "p.json"), "--gateway", "http://127.0.0.1:1"])
    assert result.exit_code != 0
    assert not (folder / "p.json").exists()
