"""`tianmesh log`, against a gateway in memory: figures, files, and the policies that it makes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.errors import ConfigError
from mesh.keys.decree import Signer, appoint
from mesh.keys.key_file import new_signing_key, save_administrator
from mesh.keys.signing_key import SigningKey
from peers.gateway.model.log_json import (
    ClickJson,
    ComparedJson,
    ListShownJson,
    LoggedQueryJson,
    LogPartJson,
    PageShownJson,
    RareQueriesJson,
)
from peers.gateway.model.status import MemberRow, report_of
from peers.policy.edits import keeping_log
from peers.policy.log_rules import QueryLogRules, SecondRanking, SecondWeights, query_digest
from peers.policy.rules import EVERYTHING, Policy, policy_in
from peers.query_log.log_files import read_log
from peers.query_log.log_row import result_digest
from simulations.traces.query_statistics import statistics_of
from tests.peers.commands.running import result_of, run
from tests.peers.fake_gateway import FakeGateway, fake_gateway

DAY = date(2027, 1, 31)
PEERS = ("ann", "bob")


def logged(query: str, clients: int, *clicks: ClickJson, seconds: int = 0) -> LoggedQueryJson:
    """A query of which all clients saw the first page, and some the second."""
    pages = (PageShownJson(1, clients, 10), PageShownJson(2, seconds, 10))
    return LoggedQueryJson(DAY, query, clients, pages, clicks)


@pytest.fixture
def gateway() -> Iterator[FakeGateway]:
    with fake_gateway() as gateway:
        clicked = ClickJson(1, "http://a.test/", 3), ClickJson(12, "http://b.test/", 1)
        first = (logged("glacier", 20, *clicked, seconds=5),)
        rare = (RareQueriesJson(DAY, (3, 1, 0, 0)),)
        gateway.log = {
            ("ann", ""): LogPartJson(PEERS, "ann", first, rare, "0a"),
            ("ann", "0a"): LogPartJson(PEERS, "ann", (logged("北京大学", 10),), (), ""),
            ("bob", ""): LogPartJson(PEERS, "bob", (logged("weather", 5),), (), ""),
        }
        yield gateway


@pytest.fixture
def key(tmp_path: Path) -> str:
    key, root = new_signing_key(), SigningKey.of_secret(b"r" * 32)
    save_administrator(tmp_path / "admin.key", Signer(key, b"mesh", appoint(root, b"mesh", key.public)))
    return str(tmp_path / "admin.key")


def rules_of(gateway: FakeGateway) -> QueryLogRules | None:
    return policy_in(gateway.decrees[-1].body).query_log


def test_figures_count_rare_queries_and_draw_pages_and_clicks_of_the_others(gateway: FakeGateway) -> None:
    found = json.loads(run(gateway, "log", "stats", "--json"))
    assert found["distinct"] == 3 + 4
    assert found["requests"] == 20 + 5 + 10 + 5 + 3 + 2
    assert found["page_shares"][:2] == [35 / 40, 5 / 40]
    assert (found["clicks"]["clicks"], found["clicks"]["pages"]) == (4, 2)
    assert found["concentration"]["20"] == 25 / 45
    assert found["order"] is found["repeats"] is None
    assert "page 2 of results" in run(gateway, "log", "stats")


def test_what_many_ask_for_and_the_mesh_lacks_is_told_by_the_last_day(gateway: FakeGateway) -> None:
    def asked(query: str, day: int, clients: int, hits: int) -> LoggedQueryJson:
        return LoggedQueryJson(date(2027, 1, day), query, clients, (PageShownJson(1, clients, hits),), ())

    had, still_lacking, crawled_since = (
        asked("had", 1, 9, 10),
        asked("lacking", 1, 5, 2),
        asked("new", 1, 7, 0),
    )
    later = asked("new", 2, 7, 10), asked("lacking", 2, 6, 1), asked("gone [b]", 2, 6, 0)
    by_link = LoggedQueryJson(DAY, "lacking", 5, (PageShownJson(2, 5, 0),), ())
    gateway.log = {
        ("ann", ""): LogPartJson(PEERS, "ann", (had, still_lacking, by_link, crawled_since), (), ""),
        ("bob", ""): LogPartJson(PEERS, "bob", later, (), ""),
    }
    found = json.loads(run(gateway, "log", "unmet", "--json"))
    assert found == [
        {"query": "lacking", "clients": 16, "hits": 1, "day": "2027-01-02"},
        {"query": "gone [b]", "clients": 6, "hits": 0, "day": "2027-01-02"},
    ]
    assert [each["query"] for each in json.loads(run(gateway, "log", "unmet", "--hits", "1", "--json"))] == [
        "gone [b]"
    ]
    assert "gone [b]" in run(gateway, "log", "unmet")


def test_what_is_exported_is_read_as_the_log_of_another_engine(gateway: FakeGateway, tmp_path: Path) -> None:
    queries, clicks = tmp_path / "queries.log", tmp_path / "clicks.log"
    said = json.loads(run(gateway, "log", "export", str(queries), "--clicks", str(clicks), "--json"))
    assert said == {"requests": 40, "clicks": 4, "queries_left_out": 4}
    found = statistics_of(read_log(queries))
    assert (found.layout, found.requests, found.distinct) == ("the book's query log", 40, 3)
    assert found.page_shares[:2] == [35 / 40, 5 / 40]
    entries = list(read_log(clicks).entries)
    assert {(each.query, each.url, each.rank, each.page) for each in entries} == {
        ("glacier", "http://a.test/", 1, 1),
        ("glacier", "http://b.test/", 12, 2),
    }


def test_a_log_that_begins_has_nothing_of_the_days_before(gateway: FakeGateway, key: str) -> None:
    said = run(gateway, "log", "keep", "--days", "30", "--clicks", "--key", key)
    assert "logged for 30 days" in said
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    assert rules_of(gateway) == QueryLogRules(days=30, clicks=True, forgotten_to=yesterday)
    run(gateway, "log", "keep", "--days", "0", "--key", key)
    assert rules_of(gateway) is None


def test_forgetting_is_a_policy_that_names_no_query(gateway: FakeGateway, key: str) -> None:
    with pytest.raises(ConfigError, match="no log of searches"):
        run(gateway, "log", "forget", "my name", "--key", key)
    run(gateway, "log", "keep", "--key", key)
    run(gateway, "log", "forget", " my  name", "--key", key)
    run(gateway, "log", "forget", "other", "--key", key)
    rules = rules_of(gateway)
    assert rules is not None
    assert [each.digest for each in rules.forgotten] == [
        query_digest(text).hex() for text in ("my name", "other")
    ]
    assert b"my name" not in gateway.decrees[-1].body
    run(gateway, "log", "forget", "--all", "--key", key)
    run(gateway, "log", "forget", "--before", "2020-01-01", "--key", key)  # takes nothing back
    rules = rules_of(gateway)
    assert rules is not None
    assert rules.forgotten_to == datetime.now(UTC).date()
    assert len(rules.forgotten) == 2


def told_json(gateway: FakeGateway) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(run(gateway, "log", "rankings", "--json"))
    return told


def test_rankings_are_compared_over_days_and_peers_by_a_sign_test(gateway: FakeGateway) -> None:
    """9 against 1: p = 2 (1 + 10) / 1,024."""
    compared = (ComparedJson(DAY, "titles.00000001", 1, 4, 2), ComparedJson(DAY, "older.00000000", 3, 4, 0))
    parts = gateway.log
    parts["ann", ""] = replace(parts["ann", ""], compared=compared)
    parts["ann", "0a"] = replace(
        parts["ann", "0a"], compared=(ComparedJson(DAY, "titles.00000001", 0, 2, 0),)
    )
    later = ComparedJson(DAY + timedelta(days=1), "titles.00000001", 0, 3, 1)
    parts["bob", ""] = replace(parts["bob", ""], compared=(later,))
    older, titles = told_json(gateway)
    assert (titles["test"]["wins"], titles["test"]["losses"], titles["test"]["ties"]) == (9, 1, 3)
    assert titles["test"]["p"] == pytest.approx(22 / 1024)
    assert titles["by_peer"] == {"ann": [6, 1, 2], "bob": [3, 0, 1]}
    assert (titles["first_day"], titles["last_day"]) == ("2027-01-31", "2027-02-01")
    assert (older["comparison"], older["test"]["p"]) == ("older.00000000", 1.0)
    printed = run(gateway, "log", "rankings")
    assert "titles.00000001: readers prefer the second ranking" in printed
    assert "older.00000000: no difference is shown" in printed


def test_nothing_is_claimed_where_nothing_was_compared(gateway: FakeGateway) -> None:
    assert "no ranking was compared" in run(gateway, "log", "rankings")
    assert told_json(gateway) == []


def test_keeping_no_clicks_ends_a_comparison_that_wants_them() -> None:
    second = SecondRanking(name="titles", weights=SecondWeights(title=0.9))
    policy = Policy(rules=EVERYTHING.rules, query_log=QueryLogRules(days=7, clicks=True, second=second))
    for clicks, kept in ((True, second), (False, None)):
        rules = keeping_log(policy, 9, DAY, clicks=clicks).query_log
        assert rules is not None
        assert rules.second == kept


@pytest.mark.parametrize("words", [(), ("name", "--all"), ("--all", "--before", "2027-01-01")])
def test_forgetting_wants_one_thing(gateway: FakeGateway, key: str, words: tuple[str, ...]) -> None:
    assert result_of(gateway, "log", "forget", *words, "--key", key).exit_code != 0


def with_lists(gateway: FakeGateway) -> None:
    """Two queries, whose results stood in two orders; half as many look at the second place."""
    urls = [f"http://{name}.test/" for name in "abc"]

    def shown(worths: dict[str, float], order: list[str]) -> ListShownJson:
        clicks = tuple(round(1_000 * worths[url] / place) for place, url in enumerate(order, 1))
        return ListShownJson(tuple(result_digest(url).hex() for url in order), 1_000, clicks)

    queries = []
    for query, worth in (("glacier", 0.4), ("weather", 0.8)):
        worths = {urls[0]: worth, urls[1]: worth / 2, urls[2]: worth / 4}
        lists = tuple(shown(worths, order) for order in (urls, urls[1:] + urls[:1], urls[::-1]))
        queries.append(LoggedQueryJson(DAY, query, 3_000, (PageShownJson(1, 3_000, 3),), (), lists))
    gateway.log = {
        ("ann", ""): LogPartJson(PEERS, "ann", tuple(queries[:1]), (), ""),
        ("bob", ""): LogPartJson(PEERS, "bob", tuple(queries[1:]), (), ""),
    }


def test_clicks_tell_how_far_readers_look_and_which_ranking_is_better(
    gateway: FakeGateway, tmp_path: Path
) -> None:
    with_lists(gateway)
    queries, run_file = tmp_path / "topics.tsv", tmp_path / "run.txt"
    queries.write_text("1\tglacier\n2\tweather\n3\tnever asked\n", encoding="utf-8")
    best = "".join(
        f"{n} Q0 http://{name}.test/ {rank} 1.0 x\n" for n in (1, 2, 3) for rank, name in enumerate("abc", 1)
    )
    run_file.write_text(best, encoding="utf-8")
    arguments = ("log", "clicks", "--queries", str(queries), "--run", str(run_file))
    found = json.loads(run(gateway, *arguments, "--json"))
    assert (found["lists"], found["clients"]) == (6, 6_000)
    assert [each["examined"] for each in found["ranks"][:3]] == pytest.approx([1.0, 0.5, 1 / 3], abs=0.03)
    assert found["ranks"][1]["effect"] == pytest.approx(2.0, abs=0.1)
    # By hand: gains 1, .631, .5 of worths 4 : 2 : 1.
    expected = (4 + 2 * 0.6309 + 0.5) / 7
    assert found["ranking"]["normalised"]["value"] == pytest.approx(expected, abs=0.01)
    printed = run(gateway, *arguments)
    assert "in the policy, [query_log]: examined = [1, 0.5" in printed
    assert "neither is shown to be better" in printed or "is better than that which was shown" in printed


@pytest.mark.parametrize("n_gateways", [0, 1, 2])
def test_who_has_one_gateway_is_told_what_a_click_needs_there_to_count(
    gateway: FakeGateway, n_gateways: int
) -> None:
    with_lists(gateway)
    members = [
        MemberRow(id=f"peer{n}", state="alive", gateway=f"http://h{n}:80" if n < n_gateways else "")
        for n in range(3)
    ]
    gateway.reports = [report_of([], members)]
    assert ("click_gateways = 1" in run(gateway, "log", "clicks")) == (n_gateways == 1)


def test_a_log_without_lists_and_half_a_ranking_are_said_to_be_that(gateway: FakeGateway) -> None:
    with pytest.raises(ConfigError, match="log keep --clicks"):
        run(gateway, "log", "clicks")
    with pytest.raises(ConfigError, match="give both"):
        run(gateway, "log", "clicks", "--run", "run.txt")
