"""`tianmesh search`, for one query and for a file of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from peers.engine.queries.query_parser import QUERY_CHARS_MAX
from peers.mesh_readiness import NotReady
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import HITS, WAITING, FakeGateway

GROUPS: dict[str, Any] = {
    "query": "jaguar",
    "by": "words",
    "total": 1_234,
    "is_exact": False,
    "n_grouped": 2,
    "coverage": {"slots": 8, "answered": 8, "missing": 0},
    "remarks": [],
    "relaxed": {"nowhere": [], "is_any": False, "with_all": None},
    "corrected": "",
    "groups": [
        {
            "names": ["cat", "[b]prey"],
            "query": "jaguar cat",
            "hits": [{"rank": 2, "url": "http://a.test/", "title": "Cats"}],
        },
        {"names": [], "query": "", "hits": [{"rank": 1, "url": "http://b.test/", "title": ""}]},
    ],
}


def test_search_shows_what_was_found_and_what_was_odd(gateway: FakeGateway) -> None:
    shown = run(gateway, "search", "a b", "--facets", "--explain", "--sort", "date", "-k", "2")
    assert gateway.searches == [
        {"q": "a b", "k": "2", "offset": "0", "sort": "date", "facets": "1", "explain": "1"}
    ]
    assert "at least 250 pages, some of the words are enough" in shown
    assert "A closing quotation mark is missing" in shown
    assert shown.count("2 more copies") == shown.count("more from this site: site:h0.test") == 1
    assert "on no page: xyzzy" in shown
    assert "2. Page 1" in shown
    assert "[b] text" in shown
    assert "1.000000 score = bm25f" in shown
    assert "hosts h1.test 9" in shown
    assert "--cursor 2" in shown


def test_search_goes_on_behind_a_cursor(gateway: FakeGateway) -> None:
    assert "1. Page 7" in run(gateway, "search", "a", "--cursor", "7", "-k", "1")


def test_more_results_than_a_gateway_gives_at_once_are_asked_for_in_parts(gateway: FakeGateway) -> None:
    answer = json.loads(run(gateway, "search", "a", "-k", "230", "--facets", "--json"))
    assert [hit["url"] for hit in answer["hits"]] == [f"http://h{n}.test/" for n in range(230)]
    assert answer["next"] == "230"
    assert answer["facets"]["hosts"] == [{"value": "h1.test", "count": 9}]
    assert [each["k"] for each in gateway.searches] == ["100", "100", "30"]
    assert ["facets" in each for each in gateway.searches] == [True, False, False]
    assert len(json.loads(run(gateway, "search", "a", "-k", "1000", "--json"))["hits"]) == HITS


def test_groups_are_listed_with_the_places_of_their_results(gateway: FakeGateway) -> None:
    gateway.answers["/api/groups"] = GROUPS
    lines = run(gateway, "search", "jaguar", "--groups", "words").splitlines()
    assert lines[0] == "the first 2 of at least 1,234 pages"
    assert lines[2:5] == ["cat, [b]prey (1)", "   2. Cats", "      http://a.test/"]
    assert lines[6:8] == ["others (1)", "   1. http://b.test/"]
    assert json.loads(run(gateway, "search", "jaguar", "--groups", "site", "--json")) == GROUPS
    assert result_of(gateway, "search", "jaguar", "--groups", "words", "--facets").exit_code == 2
    assert result_of(gateway, "search", "jaguar", "--groups", "words", "--live").exit_code == 2


def test_groups_tell_of_how_much_of_the_mesh_they_are_and_how_the_query_was_read(
    gateway: FakeGateway,
) -> None:
    gateway.answers["/api/groups"] = {
        **GROUPS,
        "total": 1,
        "coverage": {"slots": 8, "answered": 6, "missing": 2},
        "remarks": [{"kind": "quote_open", "about": "", "text": "A closing quotation mark is missing"}],
        "relaxed": {"nowhere": ["xyzzy"], "is_any": True, "with_all": 0},
        "corrected": "jaguar",
    }
    lines = run(gateway, "search", '"jagaur xyzzy', "--groups", "words").splitlines()
    assert lines[:5] == [
        "the first 2 of at least 1 page, some of the words are enough",
        "2 of 8 slots did not answer",
        "a word is on no page: results for jaguar",
        "A closing quotation mark is missing",
        "on no page: xyzzy",
    ]


# --- A file of queries ---


@pytest.fixture
def files(tmp_path: Path) -> tuple[str | Path, ...]:
    """The arguments of a run of two queries."""
    (tmp_path / "topics").write_text("q1\tred\nq2\tgreen\n")
    return "search", "--queries", tmp_path / "topics", "--run", tmp_path / "run", "-k", "3"


def test_a_run_is_written_in_the_columns_of_trec(
    gateway: FakeGateway, files: tuple[str | Path, ...], tmp_path: Path
) -> None:
    report = json.loads(run(gateway, *files, "--json"))
    assert (report["queries"], report["hits"], report["incomplete"], report["cut"]) == (2, 6, [], [])
    lines = (tmp_path / "run").read_text().splitlines()
    assert lines[0] == "q1 Q0 http://h0.test/ 1 1.0 tianmesh"
    assert [line.split()[0] for line in lines] == ["q1"] * 3 + ["q2"] * 3


@pytest.mark.parametrize("option", [("--sort", "date"), ("--facets",), ("--explain",), ("--cursor", "7")])
def test_what_a_run_would_not_obey_is_refused(
    gateway: FakeGateway, files: tuple[str | Path, ...], option: tuple[str, ...]
) -> None:
    result = result_of(gateway, *files, *option)
    assert result.exit_code == 2
    assert "a run has the best pages of each query" in result.stderr
    assert gateway.searches == []


def test_a_mesh_that_does_not_become_ready_is_not_asked(
    gateway: FakeGateway, files: tuple[str | Path, ...], tmp_path: Path
) -> None:
    gateway.readiness = [WAITING]
    (tmp_path / "run").write_text("a run of yesterday")
    result = result_of(gateway, *files, "--wait", "0")
    assert isinstance(result.exception, NotReady)
    assert "3 of 10 slots without an answer after 0 s (bob brings" in str(result.exception)
    assert gateway.searches == []
    assert (tmp_path / "run").read_text() == "a run of yesterday"
    assert result_of(gateway, *files, "--wait", "0", "--partial").exit_code == 0
    assert len(gateway.searches) == 2


def test_incomplete_answers_are_told_and_end_with_one(
    gateway: FakeGateway, files: tuple[str | Path, ...], tmp_path: Path
) -> None:
    gateway.incomplete = {"green"}
    result = result_of(gateway, *files, "--wait", "0.5")
    assert result.exit_code == 1
    assert [each["q"] for each in gateway.searches].count("green") > 1
    assert "1 of 2 answers did not speak for the whole mesh: those to q2" in result.stderr
    assert len((tmp_path / "run").read_text().splitlines()) == 6
    gateway.searches.clear()
    assert result_of(gateway, *files, "--partial").exit_code == 0
    assert [each["q"] for each in gateway.searches] == ["red", "green"]


def test_a_query_that_meets_a_change_of_the_mesh_is_asked_again(
    gateway: FakeGateway, files: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_to = FakeGateway.answer_to

    def answer(self: FakeGateway, asked: dict[str, str]) -> dict[str, Any]:
        self.incomplete = {"green"} if len(self.searches) < 4 else set()
        return answer_to(self, asked)

    monkeypatch.setattr(FakeGateway, "answer_to", answer)
    assert json.loads(run(gateway, *files, "--json"))["incomplete"] == []
    assert [each["q"] for each in gateway.searches] == ["red", "green", "green", "green"]


def test_an_empty_run_ends_with_one(gateway: FakeGateway, files: tuple[str | Path, ...]) -> None:
    gateway.found_nothing = True
    result = result_of(gateway, *files)
    assert result.exit_code == 1
    assert "no query found any page" in result.stderr


def test_a_long_query_is_cut_and_named_and_the_run_goes_on(
    gateway: FakeGateway, files: tuple[str | Path, ...], tmp_path: Path
) -> None:
    narrative = "relevant documents tell of 爬虫 " * 200
    (tmp_path / "topics").write_text(f"q1\t{narrative}\nq2\tgreen\n", encoding="utf-8")
    result = result_of(gateway, *files)
    assert result.exit_code == 0
    assert f"query q1 has more than {QUERY_CHARS_MAX:,} characters: its end was left out" in result.stderr
    asked, green = (each["q"] for each in gateway.searches)
    assert green == "green"
    assert narrative.startswith(asked + " ")
    assert QUERY_CHARS_MAX - 20 < len(asked) <= QUERY_CHARS_MAX


def test_a_query_that_is_refused_is_named(
    gateway: FakeGateway, files: tuple[str | Path, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeGateway, "answer_to", lambda self, asked: {"error": "no"}[asked["q"]])
    result = result_of(gateway, *files)
    assert "query q1: " in str(result.exception)
