"""Each check finds what it is there for."""

from __future__ import annotations

from simulations.webs.web import SyntheticWeb
from simulations.world.checks import (
    duplicates,
    impolite,
    judge,
    missing_copies,
    pages_by_peer,
    reachable,
)
from simulations.world.ports import LoggedRequest


def request(
    url: str, at_s: float, *, status: int = 200, seconds: float = 1.0, peer: str = "a"
) -> LoggedRequest:
    return LoggedRequest(at_s, at_s + seconds, url, peer, status)


A, B = "http://a.test/1", "http://b.test/1"


def test_a_page_asked_for_twice_is_a_duplicate() -> None:
    assert duplicates([request(A, 0), request(B, 1), request(A, 9)]) == [A]
    assert duplicates([request(A, 0, status=404), request(A, 9, status=404)]) == [A]


def test_a_page_may_be_asked_for_again_after_a_failure_that_may_pass() -> None:
    log = [request(A, 0, status=0), request(A, 5, status=503), request(A, 9)]
    assert duplicates(log) == []


def test_robots_txt_may_be_asked_for_again() -> None:
    robots = "http://a.test/robots.txt"
    assert duplicates([request(robots, 0), request(robots, 90_000)]) == []


def test_a_request_before_the_delay_after_the_answer_is_impolite() -> None:
    assert len(impolite([request(A, 0), request(A, 2.9)], lambda host: 2.0)) == 1
    assert impolite([request(A, 0), request(A, 3.0)], lambda host: 2.0) == []


def test_a_request_during_another_to_the_same_host_is_impolite() -> None:
    assert len(impolite([request(A, 0), request(A, 0.5)], lambda host: 0.0)) == 1


def test_hosts_do_not_wait_for_each_other() -> None:
    assert impolite([request(A, 0), request(B, 0.5)], lambda host: 10.0) == []


def test_copies_are_expected_on_every_peer_of_the_team() -> None:
    stored = {"a": {A: 1, B: 1}, "b": {A: 1}}
    assert missing_copies([A, B], lambda url: ("a", "b"), stored) == [f"{B} on b"]


def test_times_of_pages_are_told_by_peer_without_robots_and_errors() -> None:
    log = [
        request(A, 5),
        request(B, 1),
        request("http://a.test/robots.txt", 0),
        request("http://a.test/2", 0, status=404),
    ]
    assert pages_by_peer(log, ["a", "b"]) == {"a": [2.0, 6.0], "b": []}


def test_a_crawl_that_stops_early_breaks_promises() -> None:
    web = SyntheticWeb(1, 100)
    pages = list(reachable(web))
    log = [request(url, 10.0 * number) for number, url in enumerate(pages[:60])]
    findings = judge(
        log,
        web,
        delay_of=lambda host: 2.0,
        teams=lambda url: ("a", "b"),
        stored={"a": dict.fromkeys(pages[:60]), "b": dict.fromkeys(pages[:50])},
        unbalanced_messages=3,
    )
    assert (findings.unreached, findings.under_replicated, findings.unbalanced_messages) == (40, 10, 3)
    assert findings.total == 53
    assert f"not reached: {pages[60]}" in findings.examples
