"""A member is found out by many pages of many domains, and by nothing less."""

from __future__ import annotations

from peers.crawler.auditing.verdicts import DOMAINS_MIN, REMEMBERED_S, SHARE_MIN, Verdicts


def differing(verdicts: Verdicts, *hosts: str, ip: str = "", now: float = 0.0) -> str:
    """Note pages of hosts that differ; return the last evidence."""
    evidence = ""
    for host in hosts:
        evidence = verdicts.note_differing("peer", f"http://{host}/", ip, now)
    return evidence


def test_pages_of_three_domains_find_a_member_out_with_their_urls() -> None:
    verdicts = Verdicts()
    assert differing(verdicts, "a.test", "b.test") == ""
    evidence = differing(verdicts, "c.test")
    assert evidence == "3 of 3 pages, at 3 domains: http://a.test/ http://b.test/ http://c.test/"
    assert verdicts.is_suspect("peer")
    assert not verdicts.is_suspect("other")


def test_pages_of_one_domain_find_nobody_out_however_many_they_are() -> None:
    verdicts = Verdicts()
    assert differing(verdicts, *(f"h{number}.a.test" for number in range(50))) == ""
    assert not verdicts.is_suspect("peer")


def test_domains_at_one_public_address_count_once() -> None:
    assert differing(Verdicts(), "a.test", "b.test", "c.test", ip="8.8.8.8") == ""
    verdicts = Verdicts()
    differing(verdicts, "a.test", ip="8.8.8.8")
    differing(verdicts, "b.test", ip="9.9.9.9")
    assert differing(verdicts, "c.test", ip="1.1.1.1") != ""


def test_a_member_most_of_whose_pages_are_as_it_says_is_not_found_out() -> None:
    verdicts = Verdicts()
    for number in range(round(DOMAINS_MIN / SHARE_MIN)):
        verdicts.note_alike("peer", f"http://good{number}.test/", 0.0)
    assert differing(verdicts, "a.test", "b.test", "c.test") == ""


def test_findings_are_forgotten_after_a_day() -> None:
    verdicts = Verdicts()
    differing(verdicts, "a.test", "b.test")
    assert differing(verdicts, "c.test", now=REMEMBERED_S + 1.0) == ""
