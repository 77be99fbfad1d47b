"""Hosts that were given up are asked before their time by who has mended what failed."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from itertools import pairwise
from math import inf
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.actors.actor import Send
from mesh.keys.decree import POLICY, Decree
from mesh.membership.model.messages import DecreesInForce
from mesh.slots import slot_of
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import fingerprint, host_of
from peers.crawler.doubted_rows import BYTES_AT_ONCE, ROWS_AT_ONCE, walk_on
from peers.crawler.explanations import UndoneVisits, crawl_facts_in
from peers.crawler.frontier.frontier import Frontier
from peers.crawler.frontier.items import host_hash
from peers.crawler.frontier.keys import TEXTS, URL
from peers.crawler.frontier.url_queues import LinkTo
from peers.crawler.model.messages import CallAlias, WebReached
from peers.crawler.model.politeness import HostRecord, after_failure, join, recalled
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import UrlRow, visitor_tag
from peers.crawler.model.web_request import FailureReason, FetchPage
from peers.crawler.model.wire_messages import CrawlExplained, ExplainCrawl, FoundLink, LinksFound
from peers.policy.rules import EVERYTHING, Policy, Undo, policy_bytes
from peers.storage.messages import LinkTextsChanged, PageStored
from tests.helpers import ME, SLOT_COUNT, fetched, parsed
from tests.peers.crawler.desk import HOME, MINE, OTHER, ROBOTS, Desk, asked, of_kind

SETTINGS = CrawlSettings()
GIVEN_UP = HostRecord("a.test", next_fetch_s=1_000.0 + SETTINGS.give_up_s, given_up=True)


def desk_that_gave_up(count: int = 1) -> Desk:
    """One whose hosts lead to private addresses."""
    desk = Desk(delay_s=0.0, hosts_per_domain_max=10, fetches_in_flight_max=10_000)
    robots = asked(desk.seed(HOME, *(f"http://h{n}.a.test/" for n in range(1, count))))
    while robots:
        sends = [send for url in robots for send in desk.fail(url, FailureReason.PRIVATE_ADDRESS)]
        robots = asked(sends + desk.wake())
    assert desk.controller._frontier.given_up_count == count
    assert asked(desk.wake(60.0)) == []
    return desk


def run(desk: Desk) -> list[str]:
    """What is asked until nothing is due for a while."""
    urls: list[str] = []
    while desk.controller.wake_at() <= desk.now + 1.0:
        desk.now = max(desk.now, desk.controller.wake_at())
        urls += asked(desk.wake())
    return urls


def reached(desk: Desk, how: bytes) -> list[str]:
    """What is asked since the web is reached in this way."""
    return asked(desk.tell(WebReached(how), "fetcher")) + run(desk)


def policy(*allowed: str, number: int = 1) -> DecreesInForce:
    body = policy_bytes(replace(EVERYTHING, allow_private=allowed))
    return DecreesInForce(POLICY, (Decree(POLICY, "", number, 0.0, inf, body, b"", b""),))


def test_a_seed_has_its_host_asked_again_at_once() -> None:
    desk = desk_that_gave_up()
    assert asked(desk.seed(f"{HOME}other", depth=1)) == [], "a link of a page is no seed"
    assert asked(desk.seed(HOME, is_ahead=True) + desk.wake()) == [ROBOTS]


def test_seeds_that_are_no_urls_recall_nobody() -> None:
    """A member that sent one ended the peer that took it."""
    desk = desk_that_gave_up()
    assert asked(desk.seed("a.test", "", "http://", is_ahead=True) + desk.wake()) == []


@pytest.mark.parametrize("count", [1, 5, 3 * ROWS_AT_ONCE])
def test_a_policy_that_allows_more_has_all_hosts_asked_again_parked_ones_too(count: int) -> None:
    desk = desk_that_gave_up(count)
    urls = asked(desk.tell(policy("a.test"), "membership"))
    answered: set[str] = set()
    while new := {*urls, *run(desk)} - answered:
        answered |= new
        urls = [url for each in new for url in asked(desk.fail(each, FailureReason.PRIVATE_ADDRESS))]
    assert len(answered) == count
    assert asked(desk.tell(policy("a.test", number=2), "membership")) + run(desk) == []


def test_the_request_says_what_the_policy_allows() -> None:
    desk = Desk(delay_s=0.0)
    desk.tell(policy("a.test", "10.0.0.0/8"), "membership")
    (request,) = of_kind(desk.seed(HOME), FetchPage)
    assert request.allow_private == ("a.test", "10.0.0.0/8")


def test_a_peer_that_reaches_the_web_in_another_way_asks_again_after_its_start() -> None:
    desk = desk_that_gave_up()
    assert reached(desk, b"one") == [ROBOTS], "how it was reached before is not known"
    desk.fail(ROBOTS, FailureReason.PRIVATE_ADDRESS)
    desk.start()
    assert reached(desk, b"one") == []
    desk.start()
    assert reached(desk, b"two") == [ROBOTS]


def test_who_hears_late_that_a_host_was_given_up_does_not_give_it_up_again() -> None:
    anew = recalled(GIVEN_UP, SETTINGS, 2.0, 1_060.0)
    assert (anew.given_up, anew.next_fetch_s) == (False, 1_060.0)
    assert join(anew, GIVEN_UP) == join(GIVEN_UP, anew) == anew
    once_more = replace(anew, given_up=True, next_fetch_s=2_000.0)
    assert join(once_more, GIVEN_UP) == once_more


def test_a_host_that_was_asked_in_vain_is_left_alone_for_its_delay_all_the_same() -> None:
    asked_in_vain = replace(GIVEN_UP, failures=5)
    assert recalled(asked_in_vain, SETTINGS, 300.0, 1_060.0).next_fetch_s == 1_300.0
    assert recalled(replace(GIVEN_UP, given_up=False), SETTINGS, 2.0, 1_060.0).recalled == 0


def test_a_host_that_is_given_up_at_its_first_failure_has_failed() -> None:
    hasty = CrawlSettings(host_failures_max=1)
    lost = after_failure(HostRecord("a.test"), hasty, 5.0, 1_000.0)
    assert (lost.given_up, lost.failures) == (True, 1)
    assert recalled(lost, hasty, 300.0, 1_060.0).next_fetch_s == 1_300.0


def undo_policy(since: float, until: float, peer: str | None = None) -> Policy:
    times = (datetime.fromtimestamp(each, UTC) for each in (since, until))
    return replace(EVERYTHING, undo=(Undo(since=next(times), until=next(times), peer=peer),))


def undoing(since: float, until: float, number: int = 1, peer: str | None = None) -> DecreesInForce:
    body = policy_bytes(undo_policy(since, until, peer))
    return DecreesInForce(POLICY, (Decree(POLICY, "", number, 0.0, inf, body, b"", b""),))


def answer_all(desk: Desk, sends: list[Send]) -> list[FetchPage]:
    """Answer what is asked now and in the next ten seconds, each with a page; return what it was."""
    requests: list[FetchPage] = []
    for _ in range(100):
        new = of_kind(sends, FetchPage)
        requests += new
        sends = [send for request in new for send in desk.store(request.url, at=desk.now)] + desk.wake(0.1)
    return requests


def test_visits_that_are_not_believed_are_made_again_once_and_ask_for_all_of_each_page() -> None:
    desk = Desk(delay_s=0.0, revisit_after_s=9_000.0).with_home_asked(f"{HOME}gone")
    desk.tell(fetched(HOME, headers=(("Content-Type", "text/html"), ("ETag", '"forged"'))))
    desk.tell(parsed(HOME), "parser")
    desk.tell(PageStored(HOME, Stamp(1, 1_000.0)), "cell")
    desk.wake(1.0)
    desk.tell(fetched(f"{HOME}gone", 404))
    desk.now = 2_000.0
    assert asked(desk.seed(f"{HOME}late")) == [f"{HOME}late"]
    desk.store(f"{HOME}late", at=2_000.0)
    desk.wake(1.0)
    assert answer_all(desk, desk.tell(undoing(1_100.0, 1_200.0), "membership")) == []
    requests = answer_all(desk, desk.tell(undoing(900.0, 1_500.0, 2), "membership"))
    assert sorted(request.url for request in requests) == [HOME, f"{HOME}gone"]
    assert not any(request.is_conditional for request in requests)
    assert answer_all(desk, desk.tell(undoing(900.0, 1_501.0, 3), "membership")) == []


def test_the_visits_of_one_peer_are_undone_and_counted_and_those_of_others_stay() -> None:
    desk = Desk(peers=(ME, OTHER), replicas=2, delay_s=0.0, revisit_after_s=9_000.0)
    desk.with_home_asked(origin=MINE)
    desk.store(f"{MINE}/")
    desk.wake(1.0)
    url, host = f"{MINE}/theirs", host_of(MINE + "/")
    frontier, slot = desk.controller._frontier, slot_of(host, SLOT_COUNT)
    theirs = UrlRow(host_hash(host), 0, 0, 0, "D200", 1, inf, 1_000.0, 1_000.0, b"somepage", url=url)
    frontier.merge_visited(slot, fingerprint(url), theirs._replace(visitor=visitor_tag(OTHER)), url)
    assert answer_all(desk, desk.tell(undoing(900.0, 1_500.0, 1, "third"), "membership")) == []
    undone = desk.controller._visits.early_revisits
    assert undone.undone == UndoneVisits(1_500.0)
    requests = answer_all(desk, desk.tell(undoing(900.0, 1_500.0, 2, OTHER), "membership"))
    assert [request.url for request in requests] == [url]
    assert undone.undone == UndoneVisits(1_500.0, 1, (url,))
    row = frontier.row_of(url, slot)
    assert row is not None
    assert row.visitor == visitor_tag(ME)


def test_link_texts_that_only_the_undone_peer_told_go_and_what_others_told_stays() -> None:
    desk = Desk(peers=(ME, OTHER), replicas=2, delay_s=0.0, revisit_after_s=9_000.0)
    desk.with_home_asked(origin=MINE)
    home = f"{MINE}/"
    desk.store(home)
    for number, (peer, text) in enumerate(((OTHER, "false"), (OTHER, "both"), (ME, "both"), (ME, "true"))):
        desk.tell(LinksFound(50 + number, (FoundLink(home, text),)), "controller", peer)
    assert desk.anchors_of(home) == ("both", "false", "true")
    desk.tell(undoing(0.0, 500.0, 1, OTHER), "membership")
    run(desk)
    assert desk.anchors_of(home) == ("both", "false", "true"), "it told them later"
    desk.tell(undoing(900.0, 90_000.0, 2, OTHER), "membership")
    sends = [send for _ in range(9) for send in desk.wake(1.0)]
    assert desk.anchors_of(home) == ("both", "true")
    assert desk.controller._visits.early_revisits.undone.texts == 1
    assert home in [told.url for told in of_kind(sends, LinkTextsChanged)]


def test_nothing_is_undone_in_a_slot_that_is_being_forgotten() -> None:
    """Pages of it with other link texts were counted for ever, and when it came back not told any more."""
    desk = Desk(peers=(ME, OTHER), replicas=2, delay_s=0.0, revisit_after_s=9_000.0)
    desk.with_home_asked(origin=MINE)
    home = f"{MINE}/"
    desk.store(home)
    desk.tell(LinksFound(50, (FoundLink(home, "false"),)), "controller", OTHER)
    desk.wake(9.0)
    frontier, slot = desk.controller._frontier, slot_of(host_of(home), SLOT_COUNT)
    frontier.changed_texts.take(9)
    frontier.stop([slot])
    frontier.drop([slot])
    frontier.forget_later([slot])
    desk.tell(undoing(900.0, 90_000.0, 1, OTHER), "membership")
    run(desk)
    assert desk.controller._visits.early_revisits.undone == UndoneVisits(90_000.0)
    frontier.slots.forget_some(100)
    assert (list(frontier.rows_from(b"", 9)), frontier.changed_texts.count) == ([], 0)


def listed(desk: Desk, peer: str, since_s: float = 0.0, until_s: float = 90_000.0) -> UndoneVisits | None:
    """Return the listing of a controller: all that it has by the word of a member alone."""
    sends = desk.tell(ExplainCrawl(1, peer, since_s, until_s), "searcher", OTHER)
    return crawl_facts_in(of_kind(sends, CrawlExplained)[0].facts).told_alone


def test_what_a_member_alone_has_told_is_listed_as_it_would_be_undone_and_nothing_changes() -> None:
    desk = Desk(peers=(ME, OTHER), replicas=2, delay_s=0.0, revisit_after_s=9_000.0)
    desk.with_home_asked(origin=MINE)
    home, url, host = f"{MINE}/", f"{MINE}/theirs", host_of(MINE + "/")
    desk.store(home)
    frontier, slot = desk.controller._frontier, slot_of(host, SLOT_COUNT)
    theirs = UrlRow(host_hash(host), 0, 0, 0, "D200", 1, inf, 1_000.0, 1_000.0, b"somepage", url=url)
    frontier.merge_visited(slot, fingerprint(url), theirs._replace(visitor=visitor_tag(OTHER)), url)
    for number, (peer, page, text) in enumerate(((OTHER, home, "false"), (OTHER, url, "x"), (ME, url, "x"))):
        desk.tell(LinksFound(50 + number, (FoundLink(page, text),)), "controller", peer)
    run(desk)
    rows = list(frontier.rows_from(b"", 1_000))
    assert listed(desk, OTHER) == UndoneVisits(90_000.0, is_done=False)
    assert run(desk) == []
    assert listed(desk, OTHER) == UndoneVisits(90_000.0, 1, (url,), texts=1), "one text others told, too"
    for peer, since_s in (("third", 0.0), (OTHER, 80_000.0)):
        listed(desk, peer, since_s)
        run(desk)
        assert listed(desk, peer, since_s) == UndoneVisits(90_000.0)
    assert list(frontier.rows_from(b"", 1_000)) == rows
    desk.tell(undoing(0.0, 90_000.0, 1, OTHER), "membership")
    run(desk)
    assert desk.controller._visits.early_revisits.undone == UndoneVisits(90_000.0, 1, (url,), texts=1)


def test_a_turn_of_the_walk_ends_with_the_bytes_it_may_look_at_and_leaves_no_row_out() -> None:
    frontier = Frontier(MemoryTable(), SETTINGS)
    texts = tuple(f"{number:03}{'x' * 197}" for number in range(32))
    urls = [f"http://a.test/{number}" for number in range(100)]
    frontier.add([LinkTo(url, "a.test", 7, entries=texts, is_queued=False) for url in urls], 0.0)
    seen: list[bytes] = []
    rows: list[bytes] = []

    def look(key: bytes, row: bytes) -> bool:
        seen.append(key)
        rows.append(row)
        return True

    turns = 0
    key: bytes | None = b""
    while key is not None:
        key = walk_on(frontier, key, (TEXTS, URL), look)
        assert sum(map(len, rows[:-1])) < BYTES_AT_ONCE
        rows.clear()
        turns += 1
    assert len(seen) == len(set(seen)) == len(urls)
    assert turns > 5


def test_a_question_about_another_member_waits_until_the_walk_for_the_first_has_ended() -> None:
    desk = Desk(peers=(ME, OTHER), replicas=2, delay_s=0.0, revisit_after_s=9_000.0)
    assert listed(desk, "one") == UndoneVisits(90_000.0, is_done=False)
    assert listed(desk, "two") == UndoneVisits(is_done=False)
    run(desk)
    assert listed(desk, "one") == UndoneVisits(90_000.0)
    listed(desk, "two")
    run(desk)
    assert listed(desk, "two") == UndoneVisits(90_000.0)


def test_a_host_is_no_alias_any_more_once_visits_of_its_pages_are_undone() -> None:
    desk = Desk(delay_s=0.0, revisit_after_s=9_000.0).with_home_asked()
    desk.store(HOME)
    desk.wake(1.0)
    state = desk.controller._frontier.find(host_of(HOME))
    assert state is not None
    desk.tell(CallAlias(state.host, "a.test"), "aliases")
    assert state.record.alias_of == "a.test"
    answer_all(desk, desk.tell(undoing(900.0, 1_500.0), "membership"))
    assert state.record.alias_of == ""


def test_visits_are_undone_some_at_a_time_and_none_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("peers.crawler.early_revisits.VISITS_AT_ONCE", 3)
    desk = Desk(delay_s=0.0, revisit_after_s=9_000.0).with_home_asked(*(f"{HOME}{n}" for n in range(10)))
    for url in (HOME, *(f"{HOME}{n}" for n in range(10))):
        desk.store(url)
    desk.wake(1.0)
    frontier, early_revisits = desk.controller._frontier, desk.controller._visits.early_revisits
    with monkeypatch.context() as patch:
        marked = Mock(wraps=frontier.merge_visited)
        patch.setattr(frontier, "merge_visited", marked)
        early_revisits.change_policy(undo_policy(900.0, 1_500.0))
        counts = [0]
        while early_revisits.at_s < inf:
            early_revisits.do_some(desk.now)
            counts.append(marked.call_count)
    assert counts[-1] == len({call.args[1] for call in marked.call_args_list}) == 11
    assert max(b - a for a, b in pairwise(counts)) == 3


def test_the_undoing_of_visits_goes_on_after_a_restart() -> None:
    desk = Desk(delay_s=0.0, revisit_after_s=9_000.0).with_home_asked()
    desk.store(HOME)
    desk.wake(1.0)
    desk.controller._visits.early_revisits.note(b"undo", struct.pack(">ddI", 900.0, 1_500.0, 0))
    desk.start()
    assert [request.url for request in answer_all(desk, desk.started)] == [HOME]
