from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner

from mesh.errors import ConfigError
from peers.application import app
from peers.evaluation.query_set import drawn_queries, topics_of
from peers.judging.trec import read_topics
from peers.text.query_class import QueryClass

NAVIGATIONAL, INFORMATIONAL, TRANSACTIONAL = QueryClass
CLIENTS = {f"site{number}.com": 5 for number in range(30)} | {
    f"about {number} things": 9 for number in range(30)
}


def test_so_many_distinct_queries_of_each_class_are_drawn() -> None:
    drawn = drawn_queries(CLIENTS | {"free music": 7}, 10, 5, (), Random(1))
    assert {each: sample.n_there for each, sample in drawn.items()} == {
        NAVIGATIONAL: 30,
        INFORMATIONAL: 30,
        TRANSACTIONAL: 1,
    }
    assert {each: len({*sample.queries}) for each, sample in drawn.items()} == {
        NAVIGATIONAL: 10,
        INFORMATIONAL: 10,
        TRANSACTIONAL: 1,
    }


def test_a_query_is_drawn_with_the_same_chance_however_often_it_was_asked() -> None:
    clients = {f"about {number}": 5 * 10**number for number in range(4)}
    counts = Counter(
        drawn_queries(clients, 1, 5, (), Random(seed))[INFORMATIONAL].queries[0] for seed in range(2_000)
    )
    assert all(abs(count - 500) < 4 * (2_000 * 3 / 16) ** 0.5 for count in counts.values())
    assert len(counts) == 4


def test_the_order_of_the_log_does_not_matter_and_the_seed_does() -> None:
    backwards = dict(reversed(CLIENTS.items()))
    assert drawn_queries(CLIENTS, 5, 5, (), Random(1)) == drawn_queries(backwards, 5, 5, (), Random(1))
    assert drawn_queries(CLIENTS, 5, 5, (), Random(1)) != drawn_queries(CLIENTS, 5, 5, (), Random(2))


@pytest.mark.parametrize(
    "query", ["x", "2008", "!?", "a" * 61, "rare words", "Über Äpfel", "a\u200bb\x1b[31m"]
)
def test_a_query_that_is_not_clear_is_not_drawn(query: str) -> None:
    clients = {query: 4 if query == "rare words" else 5}
    drawn = drawn_queries(clients, 5, 5, ("aPFEL",), Random(0))
    assert not any(sample.queries for sample in drawn.values())


def test_ids_tell_the_class() -> None:
    drawn = drawn_queries({"site.com": 5, "free music": 5, "peace": 5}, 5, 5, (), Random(0))
    assert [query for query, _ in topics_of(drawn)] == [
        "navigational-1",
        "informational-1",
        "transactional-1",
    ]


def test_the_command_writes_a_file_of_queries(tmp_path: Path) -> None:
    lines = [
        f"{client}\t{query}" for client in range(5) for query in ("red panda", "www.panda.test", "panda")
    ]
    log = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + "".join(
        f"{line}\t2006-03-01 07:17:12\t\t\n" for line in [*lines, "1\tseldom"]
    )
    (tmp_path / "log").write_text(log)
    (tmp_path / "words").write_text("red\n\n")
    words = ["eval", "queries", str(tmp_path / "log"), "--out", str(tmp_path / "topics"), "--json"]
    told = json.loads(CliRunner().invoke(app, [*words, "--without", str(tmp_path / "words")]).stdout)
    assert told["informational"] == {"there_are": 1, "drawn": 1}
    assert read_topics(tmp_path / "topics") == [
        ("navigational-1", "www.panda.test"),
        ("informational-1", "panda"),
    ]
    result = CliRunner().invoke(app, [*words, "--min-clients", "6"])
    assert isinstance(result.exception, ConfigError)
