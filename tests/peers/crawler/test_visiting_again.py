"""Pages that are visited again: when, in which turns, and what comes of them."""

from __future__ import annotations

import gzip
from math import inf
from typing import Any

import pytest
from xxhash import xxh3_64_digest

from mesh.actors.departures import GATHER_S
from mesh.stamp import Stamp
from mesh.tables.memory_table import MemoryTable
from mesh.urls import host_of
from peers.crawler.controller import IDLE_HORIZON_S
from peers.crawler.model.messages import PageParsed, ParseFailed, ParsePage, WebReached
from peers.crawler.model.url_rows import SAME, UrlRow, join_rows
from peers.crawler.model.web_request import FailureReason, FetchPage
from peers.crawler.pages_in_progress import WHOLE_EVERY
from peers.crawler.parsing.extraction import extract
from peers.storage.archive.warc import read_records
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import identity_of
from peers.storage.ledger.place import Place
from peers.storage.messages import PageStored, StorePage
from tests.helpers import fetched, owned_by, parsed, redirect
from tests.peers.crawler.desk import HOME, ORIGIN, Desk, asked, of_kind

AGAIN_S = 1_000.0
SECURE = "https://a.test"


def stored_once(*urls: str, **changes: Any) -> Desk:
    """A desk that has stored these pages of one host, a delay after each other, at about 1,000 s."""
    settings: dict[str, Any] = {"revisit_after_s": AGAIN_S, "robots_ttl_s": 1e9, "gone_visits": 1}
    desk = Desk(**settings | {"gone_after_s": 0.0} | changes).with_home_asked(*urls)
    for url in (HOME, *urls):
        desk.store(url, at=desk.now)
        desk.wake(desk.settings.delay_s)
    return desk


def row_at(desk: Desk, url: str) -> UrlRow:
    row = desk.controller._frontier.row_of(url, owned_by().slot_of(host_of(url)))
    assert row is not None
    return row


def test_a_page_is_visited_again_when_it_is_due_and_not_before() -> None:
    desk = stored_once()
    row = row_at(desk, HOME)
    assert (row.visit, row.outcome) == (1, "D200")
    assert AGAIN_S <= row.due_s - (desk.now - desk.settings.delay_s) < AGAIN_S + 1.0
    assert desk.observe().is_idle
    assert desk.controller.wake_at() == row.due_s
    desk.now = row.due_s - 0.1
    assert asked(desk.wake()) == []
    assert not desk.observe().is_idle, "it is due in a moment"
    assert asked(desk.wake(0.1)) == [HOME]
    desk.store(HOME, f"{ORIGIN}/new", at=desk.now)
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/new"]
    assert row_at(desk, HOME).visit == 2


def test_a_page_that_a_commit_has_settled_is_visited_again_when_it_is_due() -> None:
    """Nobody looked when that would be, so it was asked for with the next event of another kind."""
    desk = Desk(revisit_after_s=AGAIN_S, robots_ttl_s=1e9).with_home_asked()
    desk.store(HOME, at=desk.now)
    desk.controller.before_commit(desk.now)
    row = row_at(desk, HOME)
    assert row.outcome == "D200"
    assert desk.controller.wake_at() <= row.due_s


@pytest.mark.parametrize("status", [200, 404])
def test_a_visit_has_the_date_of_its_version_however_late_that_is_stored(status: int) -> None:
    desk = stored_once()
    desk.now = row_at(desk, HOME).due_s
    assert asked(desk.wake()) == [HOME]
    desk.tell(fetched(HOME, status, started_at=desk.now - 0.5))
    (stored,) = of_kind(desk.tell(parsed(HOME), "parser"), StorePage)
    desk.now += 53.0
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    row = row_at(desk, HOME)
    assert row.outcome in ("D200", "F404")
    assert (row.visit, row.visited_s) == stored.page.stamp
    assert AGAIN_S <= row.due_s - desk.now < AGAIN_S + 1.0


def test_of_two_visits_with_one_number_rows_and_versions_tell_the_same_one_as_the_later() -> None:
    rows, stamps = [], []
    for asked_s, delay_s in ((0.0, 53.0), (10.0, 0.0)):
        desk = Desk(revisit_after_s=AGAIN_S).with_home_asked()
        desk.tell(fetched(HOME, started_at=1_000.0 + asked_s))
        (stored,) = of_kind(desk.tell(parsed(HOME), "parser"), StorePage)
        desk.now = 1_000.0 + asked_s + delay_s
        desk.tell(PageStored(HOME, stored.page.stamp), "cell")
        desk.wake(GATHER_S)
        rows.append(row_at(desk, HOME))
        stamps.append(stored.page.stamp)
    joined = join_rows(*rows)
    assert (joined.visit, joined.visited_s) == max(stamps) == stamps[1]


def test_a_crawl_is_not_idle_while_a_page_that_is_due_waits_for_the_turn_of_its_host() -> None:
    desk = stored_once(f"{ORIGIN}/1", delay_s=100.0)
    assert desk.observe().is_idle
    desk.now = row_at(desk, f"{ORIGIN}/1").due_s + 1.0
    assert asked(desk.wake()) == [HOME]
    desk.store(HOME, at=desk.now)
    desk.wake(1.0)
    assert desk.controller.wake_at() > desk.now + IDLE_HORIZON_S
    assert not desk.observe().is_idle, "the other one was due before that"
    assert asked(desk.wake(99.0)) == [f"{ORIGIN}/1"]
    desk.store(f"{ORIGIN}/1", at=desk.now)
    desk.wake(1.0)
    assert desk.observe().is_idle


def test_a_crawl_is_idle_while_what_is_due_is_on_a_host_that_was_given_up() -> None:
    desk = stored_once(f"{ORIGIN}/1", give_up_s=500.0)
    desk.now = row_at(desk, f"{ORIGIN}/1").due_s + 1.0
    assert asked(desk.wake()) == [HOME]
    desk.fail(HOME, FailureReason.DNS)
    assert desk.observe().is_idle


def test_without_an_interval_each_page_is_visited_once() -> None:
    desk = Desk().with_home_asked()
    desk.store(HOME)
    assert asked(desk.wake(1e9)) == []
    assert row_at(desk, HOME).due_s == inf


def test_new_pages_and_known_ones_that_are_due_share_the_turns_of_their_host() -> None:
    known = [f"{ORIGIN}/known{n}" for n in range(4)]
    desk = stored_once(*known)
    desk.now += AGAIN_S
    fresh = [f"{ORIGIN}/new{n}" for n in range(4)]
    requested = asked(desk.wake())
    desk.seed(*fresh, depth=9)
    for _ in range(8):
        desk.fail(requested[-1], FailureReason.NOT_HTML)
        requested += asked(desk.wake(2.0))
    assert [url in fresh for url in requested] == [False, True] * 4 + [False]
    assert requested[::2] == [HOME, *known], "in the order in which they are due"


@pytest.mark.parametrize(("share", "n_known"), [(0.0, 0), (0.25, 2), (0.75, 6), (1.0, 8)])
def test_how_many_turns_known_pages_have_is_a_setting(share: float, n_known: int) -> None:
    known = [f"{ORIGIN}/known{n}" for n in range(9)]
    desk = stored_once(*known, revisit_share=share)
    desk.now += AGAIN_S
    fresh = [f"{ORIGIN}/new{n}" for n in range(9)]
    requested = asked(desk.seed(*fresh, depth=9))
    for _ in range(7):
        desk.fail(requested[-1], FailureReason.BODY_TOO_LARGE)
        requested += asked(desk.wake(2.0))
    assert abs(sum(url not in fresh for url in requested) - n_known) <= 1


@pytest.mark.parametrize("status", [404, 410])
def test_a_page_that_is_gone_is_a_newer_version_without_a_document(status: int) -> None:
    desk = stored_once()
    desk.now += AGAIN_S
    assert asked(desk.wake()) == [HOME]
    (order,) = of_kind(desk.tell(fetched(HOME, status, started_at=desk.now)), ParsePage)
    gone = extract(order.page, order.visit)
    assert isinstance(gone, PageParsed)
    (stored,) = of_kind(desk.tell(gone, "parser"), StorePage)
    assert (stored.page.status, stored.page.document, stored.page.fetched_at) == (status, None, desk.now)
    assert f"HTTP/1.1 {status}".encode() in gzip.decompress(stored.page.records)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    row = row_at(desk, HOME)
    assert (row.visit, row.outcome, row.is_stored) == (2, f"F{status}", False)
    desk.now += AGAIN_S + 1.0
    assert asked(desk.wake()) == [HOME], "it may come back"
    assert of_kind(desk.tell(fetched(HOME, status)), ParsePage) == [], "what is gone is gone once"


def visited_again(desk: Desk, status: int) -> list[ParsePage]:
    """Let the home page be due, and be answered so."""
    desk.now = max(desk.now, row_at(desk, HOME).due_s)
    assert asked(desk.wake()) == [HOME]
    return of_kind(desk.tell(fetched(HOME, status, started_at=desk.now)), ParsePage)


def test_a_page_is_shown_until_it_was_missed_often_and_long_enough() -> None:
    desk = stored_once(gone_visits=3, gone_after_s=5_000.0)
    assert visited_again(desk, 404) == []
    row = row_at(desk, HOME)
    assert (row.visit, row.outcome, row.is_stored, row.memory.misses) == (2, "F404", True, 1)
    missed_s = row.memory.missed_s
    for visit in (3, 4, 5, 6):
        desk.start()  # that it is missed survives the process
        assert asked(desk.started) == []
        assert visited_again(desk, 410) == []
        row = row_at(desk, HOME)
        assert (row.visit, row.is_stored, row.memory.missed_s) == (visit, True, missed_s)
    (order,) = visited_again(desk, 404)
    assert desk.now - missed_s >= 5_000.0
    (stored,) = of_kind(desk.tell(extract(order.page, order.visit), "parser"), StorePage)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    row = row_at(desk, HOME)
    assert (row.outcome, row.is_stored, row.memory.misses) == ("F404", False, 0)


def test_a_page_that_comes_back_in_time_was_never_gone() -> None:
    desk = stored_once(gone_visits=2, gone_after_s=1_500.0)
    assert visited_again(desk, 404) == []
    visited_again(desk, 200)
    desk.store(HOME, at=desk.now)
    desk.wake(2.0)
    assert row_at(desk, HOME).memory.misses == 0
    assert visited_again(desk, 404) == [], "it is missed for the first time again"


def test_a_page_that_is_missed_is_looked_for_in_time_however_seldom_pages_are_visited() -> None:
    desk = stored_once(revisit_after_s=1e7, gone_visits=2, gone_after_s=5_000.0)
    visited_again(desk, 404)
    row = row_at(desk, HOME)
    assert row.due_s == pytest.approx(row.visited_s + 5_000.0, abs=1.0)
    assert row.memory.interval_s == 1e7, "its interval is what it was"
    assert len(visited_again(desk, 404)) == 1


def test_a_page_without_an_answer_is_shown_for_much_longer() -> None:
    limits = {"gone_visits": 1, "gone_after_s": 0.0, "lost_visits": 3, "lost_after_s": 2_500.0}
    desk = stored_once(attempts_max=1, backoff_s=1.0, **limits)
    for visit in (2, 3, 4):
        assert visited_again(desk, 503) == []
        assert (row_at(desk, HOME).visit, row_at(desk, HOME).is_stored) == (visit, True)
        desk.now += 60.0
    desk.now = row_at(desk, HOME).due_s
    assert asked(desk.wake()) == [HOME]
    (stored,) = of_kind(desk.tell(fetched(HOME, 503)), StorePage)
    assert stored.page.document is None
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    assert (row_at(desk, HOME).outcome, row_at(desk, HOME).is_stored) == ("F503", False)


def test_a_page_that_was_never_there_is_no_version() -> None:
    desk = Desk(revisit_after_s=AGAIN_S).with_home_asked()
    assert of_kind(desk.tell(fetched(HOME, 404)), ParsePage) == []
    assert row_at(desk, HOME).outcome == "F404"


def test_a_page_that_moves_is_gone_and_its_target_is_a_link() -> None:
    desk = stored_once()
    desk.now += AGAIN_S
    desk.wake()
    (order,) = of_kind(desk.tell(redirect(HOME, f"{ORIGIN}/moved", started_at=desk.now)), ParsePage)
    moved = extract(order.page, order.visit)
    assert isinstance(moved, PageParsed)
    (stored,) = of_kind(desk.tell(moved, "parser"), StorePage)
    assert stored.page.document is None
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    assert asked(desk.wake(2.0)) == [f"{ORIGIN}/moved"]
    assert row_at(desk, HOME).outcome == "D301"


def test_noindex_that_comes_with_a_later_visit_is_a_version_without_a_document_until_it_goes() -> None:
    hidden = b'<meta name="robots" content="noindex"><p>text'
    desk = Desk(revisit_after_s=AGAIN_S, robots_ttl_s=1e9).with_home_asked()
    for visit, body in enumerate((b"<p>text", hidden, hidden, b"<p>text"), 1):
        (order,) = of_kind(desk.tell(fetched(HOME, body=body, started_at=desk.now)), ParsePage)
        read = extract(order.page, order.visit)
        assert isinstance(read, PageParsed)
        (stored,) = of_kind(desk.tell(read, "parser"), StorePage)
        assert (stored.page.status, stored.page.fetched_at) == (200, desk.now)
        assert (stored.page.document is None) is (body is hidden)
        assert body in gzip.decompress(stored.page.records), "the archive has it all the same"
        assert stored.page.visit == visit
        desk.tell(PageStored(HOME, stored.page.stamp), "cell")
        desk.wake(GATHER_S)
        row = row_at(desk, HOME)
        assert (row.visit, row.outcome, row.is_stored) == (visit, "D200", True)
        desk.now = row.due_s
        assert asked(desk.wake()) == [HOME]


def test_a_visit_that_fails_leaves_the_page_and_is_made_good_at_the_next_interval() -> None:
    desk = stored_once(attempts_max=1, backoff_s=1.0)
    desk.now += AGAIN_S
    desk.wake()
    desk.fail(HOME, FailureReason.TIMEOUT)
    row = row_at(desk, HOME)
    assert (row.outcome, row.visit, row.is_stored) == ("Ftimeout", 2, True)
    desk.now = row.due_s
    assert asked(desk.wake()) == [HOME]


def test_a_page_remembers_what_its_server_said_of_its_version() -> None:
    headers = (("ETag", '"7"'), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"))
    desk = Desk(revisit_after_s=AGAIN_S, robots_ttl_s=1e9).with_home_asked()
    for body in (b"one", b"one", b"other"):
        desk.tell(fetched(HOME, body=body, headers=headers, started_at=desk.now))
        (stored,) = of_kind(desk.tell(parsed(HOME, digest=xxh3_64_digest(body)), "parser"), StorePage)
        desk.tell(PageStored(HOME, stored.page.stamp), "cell")
        desk.wake(GATHER_S)
        row = row_at(desk, HOME)
        assert (row.etag, row.last_modified) == ('"7"', "Sun, 06 Nov 1994 08:49:37 GMT")
        assert row.digest == xxh3_64_digest(body)
        assert (row.changed_s == row.visited_s) is (row.visit in (1, 3))
        desk.now = row.due_s
        assert asked(desk.wake()) == [HOME]


VALIDATED = (("ETag", '"7"'), ("Last-Modified", "Sun, 06 Nov 1994 08:49:37 GMT"))


def stored_with_validators(**changes: Any) -> Desk:
    """A desk whose archive has the home page, of which the server has said ETag and date; it is due."""
    settings: dict[str, Any] = {"revisit_after_s": AGAIN_S, "robots_ttl_s": 1e9}
    desk = Desk(**settings | changes).with_home_asked()
    store_validated(desk)
    desk.now = row_at(desk, HOME).due_s
    return desk


def store_validated(desk: Desk) -> None:
    desk.tell(fetched(HOME, headers=VALIDATED, started_at=desk.now))
    (stored,) = of_kind(desk.tell(parsed(HOME, digest=b"one page"), "parser"), StorePage)
    keep_in_archive(desk, stored.page.stamp)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)


def question_in(sends: list[Any]) -> FetchPage:
    (question,) = of_kind(sends, FetchPage)
    assert isinstance(question, FetchPage)
    return question


def test_a_page_that_is_not_modified_is_neither_parsed_nor_stored_and_stays_as_it_is() -> None:
    desk = stored_with_validators()
    before = row_at(desk, HOME)
    for visit in (2, 3):
        desk.start()  # validators survive the process
        question = question_in(desk.started)
        assert (question.etag, question.last_modified) == ('"7"', VALIDATED[1][1])
        assert of_kind(desk.tell(fetched(HOME, 304, headers=(), started_at=desk.now)), ParsePage) == []
        desk.wake(GATHER_S)
        row = row_at(desk, HOME)
        assert (row.outcome, row.visit, row.is_stored) == ("D304", visit, True)
        assert (row.changed_s, row.digest, row.etag) == (before.changed_s, before.digest, before.etag)
        assert AGAIN_S <= row.due_s - row.visited_s < AGAIN_S + 1.0
        assert desk.observe().fetch_status == {"304": 1}
        desk.now = row.due_s


def test_a_page_that_was_not_modified_is_a_new_version_when_it_is() -> None:
    desk = stored_with_validators()
    desk.wake()
    desk.tell(fetched(HOME, 304))
    desk.now = row_at(desk, HOME).due_s
    assert question_in(desk.wake()).is_conditional
    (order,) = of_kind(desk.tell(fetched(HOME, started_at=desk.now)), ParsePage)
    assert order.visit == 3


@pytest.mark.parametrize("is_stored", [False, True])
def test_a_304_that_nobody_asked_for_says_nothing_of_the_page(is_stored: bool) -> None:
    desk = stored_once() if is_stored else Desk(revisit_after_s=AGAIN_S).with_home_asked()
    if is_stored:
        desk.now += AGAIN_S
        assert not question_in(desk.wake()).is_conditional
    assert of_kind(desk.tell(fetched(HOME, 304, headers=VALIDATED)), ParsePage) == []
    row = row_at(desk, HOME)
    assert (row.outcome, row.is_stored, row.etag) == ("Funasked_304", is_stored, "")
    assert desk.observe().fetch_status["unasked_304"] == 1


def test_only_what_the_archive_has_as_it_was_at_the_last_visit_is_asked_for_by_validators() -> None:
    desk = stored_with_validators(attempts_max=1, backoff_s=1.0)
    keep_in_archive(desk, Stamp(5, desk.now))  # by a peer that died before it could say so
    assert not question_in(desk.wake()).is_conditional

    desk = stored_with_validators(attempts_max=1, backoff_s=1.0)
    assert question_in(desk.wake()).is_conditional
    desk.fail(HOME, FailureReason.TIMEOUT)
    desk.now = row_at(desk, HOME).due_s
    assert not question_in(desk.wake()).is_conditional
    store_validated(desk)
    desk.now = row_at(desk, HOME).due_s
    assert question_in(desk.wake()).is_conditional

    desk = stored_with_validators()
    desk.cell_table = MemoryTable()
    desk.start()
    assert not question_in(desk.started).is_conditional, "the archive has nothing to be left as it is"

    desk = stored_with_validators()
    desk.wake()
    desk.tell(fetched(HOME, headers=VALIDATED, started_at=desk.now))
    (again,) = of_kind(desk.tell(parsed(HOME, digest=b"a new page"), "parser"), StorePage)
    desk.tell(PageStored(HOME, again.page.stamp), "cell")
    desk.wake(GATHER_S)
    desk.now = row_at(desk, HOME).due_s
    assert not question_in(desk.wake()).is_conditional, "the archive has only the version before"


def test_what_a_server_says_to_robots_beside_a_page_is_heard_though_the_page_is_not_modified() -> None:
    desk = stored_with_validators()
    assert question_in(desk.wake()).is_conditional
    desk.tell(fetched(HOME, 304, headers=(("X-Robots-Tag", "noindex"),)))
    desk.wake(GATHER_S)
    row = row_at(desk, HOME)
    assert (row.outcome, row.is_stored) == ("D304", True)
    assert row.due_s < desk.now + AGAIN_S / 2
    desk.now = max(desk.now, row.due_s) + 60.0
    assert not question_in(desk.wake()).is_conditional

    tagged = (*VALIDATED, ("X-Robots-Tag", "noarchive"))
    desk.tell(fetched(HOME, headers=tagged, started_at=desk.now))
    (stored,) = of_kind(desk.tell(parsed(HOME, digest=b"with tag"), "parser"), StorePage)
    keep_in_archive(desk, stored.page.stamp)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    desk.now = row_at(desk, HOME).due_s
    assert not question_in(desk.wake()).is_conditional, "what is said to robots is never left unheard"


def test_a_page_that_is_never_modified_is_asked_for_as_a_whole_once_in_a_while() -> None:
    desk = stored_with_validators()
    for _ in range(WHOLE_EVERY):
        assert question_in(desk.wake()).is_conditional
        desk.tell(fetched(HOME, 304, headers=()))
        desk.wake(GATHER_S)
        desk.now = row_at(desk, HOME).due_s
    assert not question_in(desk.wake()).is_conditional


def test_an_unchanged_page_is_read_again_once_when_the_parser_is_another() -> None:
    """It was read as an earlier program had it up to its 64th visit."""
    desk = stored_with_validators()
    for parser in (1, 2, 3):
        desk.now = row_at(desk, HOME).visited_s + 1.0
        restart(desk, parser)
        (kept,) = visit_whole(desk, b"one page", VALIDATED)
        assert kept.page.visit == row_at(desk, HOME).visit
        desk.now = row_at(desk, HOME).visited_s + 1.0
        restart(desk, parser)  # that it was read by this one survives the process
        for _ in range(2):
            assert question_in(desk.wake()).is_conditional
            desk.tell(fetched(HOME, 304, headers=(), started_at=desk.now))
            desk.wake(GATHER_S)
            desk.now = row_at(desk, HOME).due_s


def test_a_page_that_no_other_parser_has_read_is_not_read_as_a_whole_again() -> None:
    """A new folder has none of another one, whenever its pages were visited, until the parser is changed."""
    desk = Desk(revisit_after_s=AGAIN_S, robots_ttl_s=1e9)
    desk.now += 60.0
    desk.tell(WebReached(b"", 1), "fetcher")
    desk.now -= 60.0
    desk.with_home_asked()
    store_validated(desk)
    assert row_at(desk, HOME).visited_s < 1_060.0
    restart(desk, 1)
    assert question_in(desk.wake()).is_conditional
    desk.tell(fetched(HOME, 304, headers=(), started_at=desk.now))
    desk.wake(GATHER_S)
    restart(desk, 2)
    assert not question_in(desk.wake()).is_conditional


def restart(desk: Desk, parser: int) -> None:
    """Start it with this version of the parser, and wait until the home page is due."""
    desk.start()
    desk.tell(WebReached(b"", parser), "fetcher")
    desk.now = row_at(desk, HOME).due_s


def visit_whole(
    desk: Desk, digest: bytes, headers: tuple[tuple[str, str], ...] = (), **said: Any
) -> list[Any]:
    """Visit the home page, which its server sends as a whole; return what is stored of it."""
    assert not question_in(desk.wake()).is_conditional
    desk.tell(fetched(HOME, started_at=desk.now, headers=headers))
    stored = of_kind(desk.tell(parsed(HOME, digest=digest, **said), "parser"), StorePage)
    for each in stored:
        keep_in_archive(desk, each.page.stamp)
        desk.tell(PageStored(HOME, each.page.stamp), "cell")
    desk.wake(GATHER_S)
    desk.now = row_at(desk, HOME).due_s
    return stored


def test_a_page_without_validators_that_is_sent_again_as_it_was_is_no_version_of_its_own() -> None:
    """Each visit was one, so that history grew and a search of a span found the same page again and again."""
    desk = Desk(revisit_after_s=AGAIN_S, robots_ttl_s=1e9).with_home_asked()
    desk.tell(fetched(HOME, started_at=desk.now))
    (first,) = of_kind(desk.tell(parsed(HOME, digest=b"one page"), "parser"), StorePage)
    keep_in_archive(desk, first.page.stamp)
    desk.tell(PageStored(HOME, first.page.stamp), "cell")
    desk.wake(GATHER_S)
    before = row_at(desk, HOME)
    desk.now = before.due_s
    for visit in range(2, WHOLE_EVERY + 2):
        desk.start()  # what tells it survives the process
        desk.now += 60.0
        assert of_kind(_sent_again(desk), StorePage) == []
        desk.wake(GATHER_S)
        row = row_at(desk, HOME)
        assert (row.outcome, row.visit, row.is_stored) == (SAME, visit, True)
        assert (row.changed_s, row.digest) == (before.changed_s, before.digest)
        assert row.due_s - row.visited_s >= AGAIN_S
        desk.now = row.due_s
    (kept,) = visit_whole(desk, b"one page")
    assert kept.page.visit == WHOLE_EVERY + 2, "once in a while nothing is left as an earlier program read it"
    row = row_at(desk, HOME)
    assert (row.outcome, row.changed_s) == ("D200", before.changed_s)
    assert visit_whole(desk, b"one page") == []
    row = row_at(desk, HOME)
    (changed,) = visit_whole(desk, b"new page")
    assert changed.page.visit == row.visit + 1
    (back,) = visit_whole(desk, b"one page")
    assert back.page.visit == row.visit + 2
    assert visit_whole(desk, b"one page") == []
    assert len(visit_whole(desk, b"one page", document=None)) == 1, "it asks now not to be indexed"
    desk.cell_table = MemoryTable()
    desk.start()
    desk.now += 60.0
    assert len(of_kind(_sent_again(desk), StorePage)) == 1, "the archive has nothing to be left as it is"


@pytest.mark.parametrize("headers", [(), VALIDATED])
def test_a_version_that_was_damaged_is_stored_again_and_the_one_before_is_not_taken_for_it(
    headers: tuple[tuple[str, str], ...],
) -> None:
    """The page stayed as it was before its last change until it changed once more."""
    desk = Desk(revisit_after_s=AGAIN_S, robots_ttl_s=1e9).with_home_asked()
    desk.tell(fetched(HOME, started_at=desk.now))
    (first,) = of_kind(desk.tell(parsed(HOME, digest=b"one page"), "parser"), StorePage)
    keep_in_archive(desk, first.page.stamp)
    desk.tell(PageStored(HOME, first.page.stamp), "cell")
    desk.wake(GATHER_S)
    desk.now = row_at(desk, HOME).due_s
    assert len(visit_whole(desk, b"new page", headers=headers)) == 1
    if headers:
        assert question_in(desk.wake()).is_conditional
        desk.tell(fetched(HOME, 304, headers=()))
        desk.wake(GATHER_S)
        desk.now = row_at(desk, HOME).due_s
    else:
        assert visit_whole(desk, b"new page") == []
    ledger, identity = Ledger(desk.cell_table), identity_of(owned_by().slot_of(host_of(HOME)), HOME)
    damaged = ledger.newest(identity)
    assert damaged is not None
    assert ledger.drop_damaged(identity, damaged)
    newest = ledger.newest(identity)
    assert newest is not None
    assert newest.visit == 1
    assert len(visit_whole(desk, b"new page")) == 1


@pytest.mark.parametrize("is_not_modified", [True, False])
@pytest.mark.parametrize("n_visits", [2, 5])
def test_after_a_partition_the_next_visit_settles_which_version_rules(
    n_visits: int, *, is_not_modified: bool
) -> None:
    """Only the 64th did so where the other side's version was newer than the one that we had found."""
    desk = stored_with_validators()
    first = row_at(desk, HOME)
    for _ in range(n_visits):
        find_unchanged(desk, is_not_modified=is_not_modified)
    here = row_at(desk, HOME)
    theirs = Stamp(first.visit + 1, first.visited_s + 1.0)  # less than ours, and newer than what is stored
    assert theirs.visit < here.visit
    keep_in_archive(desk, theirs)
    (again,) = visit_whole(desk, first.digest, VALIDATED)
    assert again.page.stamp > theirs
    row = row_at(desk, HOME)
    assert (row.outcome, row.changed_s, row.digest) == ("D200", first.changed_s, first.digest)
    for _ in range(3):
        find_unchanged(desk, is_not_modified=is_not_modified)


def find_unchanged(desk: Desk, *, is_not_modified: bool) -> None:
    """Visit the home page, which is as it was; nothing is stored."""
    row = row_at(desk, HOME)
    assert question_in(desk.wake()).is_conditional
    if is_not_modified:
        desk.tell(fetched(HOME, 304, headers=(), started_at=desk.now))
    else:
        desk.tell(fetched(HOME, started_at=desk.now, headers=VALIDATED))
        assert of_kind(desk.tell(parsed(HOME, digest=row.digest), "parser"), StorePage) == []
    desk.wake(GATHER_S)
    desk.now = row_at(desk, HOME).due_s


def _sent_again(desk: Desk) -> list[Any]:
    desk.tell(fetched(HOME, started_at=desk.now))
    return desk.tell(parsed(HOME, digest=b"one page"), "parser")


def test_the_target_of_a_redirect_is_not_asked_for_by_the_validators_of_the_page() -> None:
    desk = stored_with_validators()
    assert question_in(desk.wake()).is_conditional
    (order,) = of_kind(desk.tell(redirect(HOME, f"{ORIGIN}/moved", started_at=desk.now)), ParsePage)
    moved = extract(order.page, order.visit)
    assert isinstance(moved, PageParsed)
    (stored,) = of_kind(desk.tell(moved, "parser"), StorePage)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    question = question_in(desk.wake(2.0))
    assert (question.url, question.is_conditional) == (f"{ORIGIN}/moved", False)


def test_visits_to_known_pages_do_not_use_up_the_budget_of_new_ones() -> None:
    desk = stored_once(pages_per_host_max=2)
    desk.now += AGAIN_S
    assert asked(desk.wake()) == [HOME]
    desk.store(HOME, f"{ORIGIN}/1", f"{ORIGIN}/2", at=desk.now)
    (url,) = asked(desk.wake(2.0))
    desk.tell(fetched(url, 404))
    desk.wake(2.0)
    states = [desk.state_of(f"{ORIGIN}/{n}") or "" for n in (1, 2)]
    assert sorted(states) == ["F404", "Xhost_budget"]


def test_pages_of_a_dead_port_come_again_when_it_is_tried_again() -> None:
    desk = Desk(backoff_max_s=100.0, robots_ttl_s=1e9).with_home_asked(f"{SECURE}/")
    desk.tell(fetched(HOME, 404))
    assert asked(desk.wake(2.0)) == [f"{SECURE}/robots.txt"]
    assert asked(desk.fail(f"{SECURE}/robots.txt", FailureReason.REFUSED)) == []
    assert asked(desk.wake(2.0)) == []
    assert desk.state_of(f"{SECURE}/") == "Xunreachable"
    assert asked(desk.wake(101.0)) == [f"{SECURE}/robots.txt"]
    assert asked(desk.allow(SECURE)) == [f"{SECURE}/"]


def test_what_is_due_again_survives_a_restart() -> None:
    desk = stored_once(f"{ORIGIN}/1")
    desk.start()
    assert desk.observe().is_idle
    desk.now += AGAIN_S
    assert asked(desk.wake()) == [HOME]


def test_a_page_that_its_site_newly_forbids_is_a_newer_version_without_a_document() -> None:
    desk = stored_once(robots_ttl_s=10.0)
    desk.now += AGAIN_S
    assert asked(desk.wake()) == [f"{ORIGIN}/robots.txt"]
    desk.tell(fetched(f"{ORIGIN}/robots.txt", 200, b"User-agent: *\nDisallow: /"))
    (stored,) = of_kind(desk.wake(desk.settings.delay_s), StorePage)
    assert stored.page.stamp == Stamp(2, desk.now)
    assert (stored.page.status, stored.page.document) == (0, None)
    (record,) = read_records(stored.page.records)
    assert (record.kind, record.url, record.block) == ("metadata", HOME, b"not-found-because: robots\r\n")
    assert row_at(desk, HOME).visit == 1, "not before the team has it"
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    row = row_at(desk, HOME)
    assert (row.visit, row.outcome, row.is_stored) == (2, "Xrobots", False)
    desk.now += AGAIN_S + 11.0
    desk.wake()
    assert of_kind(desk.wake(desk.settings.delay_s), StorePage) == [], "what is gone is gone once"


@pytest.mark.parametrize("is_seen_by", ["fetcher", "parser"])
def test_a_page_that_becomes_something_else_is_a_newer_version_without_a_document(is_seen_by: str) -> None:
    desk = stored_once()
    desk.now += AGAIN_S
    assert asked(desk.wake()) == [HOME]
    if is_seen_by == "fetcher":
        sends = desk.fail(HOME, FailureReason.NOT_HTML)
    else:
        desk.tell(fetched(HOME, body=b"\x89PNG", started_at=desk.now))
        sends = desk.tell(ParseFailed(HOME, FailureReason.NOT_HTML), "parser")
    (stored,) = of_kind(sends, StorePage)
    assert (stored.page.stamp, stored.page.document) == (Stamp(2, desk.now), None)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    row = row_at(desk, HOME)
    assert (row.visit, row.outcome, row.is_stored) == (2, "Fnot_html", False)


@pytest.mark.parametrize("reason", [FailureReason.TIMEOUT, FailureReason.BODY_TOO_LARGE, FailureReason.RESET])
def test_a_page_that_cannot_be_fetched_now_stays(reason: FailureReason) -> None:
    desk = stored_once(attempts_max=1)
    desk.now += AGAIN_S
    desk.wake()
    assert of_kind(desk.fail(HOME, reason), StorePage) == []
    assert row_at(desk, HOME).is_stored


def keep_in_archive(desk: Desk, stamp: Stamp, *, has_document: bool = True) -> None:
    """Have the cell know of a version that the frontier has not heard of: its crawler died first."""
    slot = owned_by().slot_of(host_of(HOME))
    place = Place(HOME, stamp.fetched_at, 200, 1, 2, 3, 4, has_document, stamp.visit)
    ledger = Ledger(desk.cell_table)
    ledger.keep(identity_of(slot, HOME), place)
    ledger.save()


def test_a_visit_comes_after_those_that_only_the_archive_knows_of() -> None:
    desk = stored_once()
    keep_in_archive(desk, Stamp(5, desk.now + 3_600.0))
    desk.now += AGAIN_S
    desk.wake()
    (order,) = of_kind(desk.tell(fetched(HOME, started_at=desk.now)), ParsePage)
    assert order.visit == 6
    (stored,) = of_kind(desk.tell(parsed(HOME), "parser"), StorePage)
    assert stored.page.stamp == Stamp(6, desk.now)
    desk.tell(PageStored(HOME, stored.page.stamp), "cell")
    desk.wake(GATHER_S)
    assert row_at(desk, HOME).visit == 6


def test_a_page_that_only_the_archive_knows_of_is_withdrawn_when_it_is_gone() -> None:
    desk = Desk(revisit_after_s=AGAIN_S, gone_visits=1, gone_after_s=0.0).with_home_asked()
    keep_in_archive(desk, Stamp(1, desk.now + 3_600.0))
    (order,) = of_kind(desk.tell(fetched(HOME, 404, started_at=desk.now)), ParsePage)
    assert order.visit == 2
