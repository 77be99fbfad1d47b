"""What we owe a host, rule by rule."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from peers.crawler.explanations import Hold
from peers.crawler.model import politeness
from peers.crawler.model.politeness import Blame, HostRecord
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.web_request import FailureReason
from peers.crawler.url_explainer import hold_by_clock

SETTINGS = CrawlSettings(delay_s=2.0, backoff_s=30.0, backoff_max_s=100.0, give_up_s=1_000.0)
HOST = HostRecord("a.test", next_fetch_s=50.0)
NOW = 60.0

times = st.floats(0.0, 1e6)
hosts = st.builds(HostRecord, st.just("a.test"), times, st.integers(0, 9), st.integers(0, 9), st.booleans())


@given(hosts, times, times, st.integers(0, 3))
def test_no_rule_puts_a_clock_back(host: HostRecord, now: float, pause_s: float, attempts: int) -> None:
    for after in (
        politeness.wait_until(host, now),
        politeness.after_question(host, pause_s, now),
        politeness.with_page_asked(host),
        politeness.after_success(host),
        politeness.after_failure(host, SETTINGS, pause_s, now, attempts=attempts),
        politeness.given_up(host, SETTINGS, now),
        politeness.with_courage(host),
        politeness.inherited(host, now, pause_s),
        politeness.join(host, politeness.after_question(host, pause_s, now)),
    ):
        assert after.next_fetch_s >= host.next_fetch_s
        assert after.fetched >= host.fetched


def test_the_delay_is_the_longest_of_ours_and_of_what_robots_txts_want() -> None:
    assert politeness.delay_s((), SETTINGS) == 2.0
    assert politeness.delay_s((None, 0.5), SETTINGS) == 2.0
    assert politeness.delay_s((5.0, None, 7.0), SETTINGS) == 7.0


def test_an_origin_that_wants_more_than_we_wait_is_left_out_and_has_no_say() -> None:
    longest_s = SETTINGS.crawl_delay_max_s
    assert politeness.is_honoured(longest_s, SETTINGS)
    assert not politeness.is_honoured(longest_s + 1, SETTINGS)
    assert politeness.delay_s((longest_s + 1, 7.0), SETTINGS) == 7.0


def test_the_back_off_doubles_up_to_its_limit_and_then_the_host_is_given_up() -> None:
    host, pauses = HOST, []
    for _ in range(SETTINGS.host_failures_max):
        now = host.next_fetch_s
        host = politeness.after_failure(host, SETTINGS, 2.0, now)
        pauses.append(host.next_fetch_s - now)
    assert pauses == [30.0, 60.0, 100.0, 100.0, 1_000.0]
    assert host.given_up
    assert politeness.with_courage(host) == HostRecord("a.test", host.next_fetch_s)


def test_the_longest_of_back_off_delay_and_retry_after_counts() -> None:
    def pause_s(delay_s: float, retry_after_s: float) -> float:
        host = politeness.after_failure(HOST, SETTINGS, delay_s, NOW, retry_after_s=retry_after_s)
        return host.next_fetch_s - NOW

    assert pause_s(2.0, 0.0) == 30.0
    assert pause_s(45.0, 0.0) == 45.0
    assert pause_s(45.0, 120.0) == 120.0
    assert pause_s(2.0, 1e6) == SETTINGS.retry_after_max_s


def test_a_page_that_has_failed_before_says_nothing_new_of_its_host() -> None:
    once = politeness.after_failure(HOST, SETTINGS, 2.0, NOW)
    assert politeness.after_failure(once, SETTINGS, 2.0, NOW, attempts=1).failures == 1
    assert politeness.after_failure(HOST, SETTINGS, 2.0, NOW, attempts=1).failures == 1


def test_every_reason_has_who_is_to_blame() -> None:
    blames = {
        blame: {reason for reason in FailureReason if politeness.blame_for(reason) is blame}
        for blame in Blame
    }
    assert blames[Blame.NOBODY] == {"unlicensed", "address_busy", "dns_open", "policy"}
    assert blames[Blame.US] == {"local", "no_contact"}
    assert blames[Blame.HOPELESS_HOST] == {"dns", "private_address"}
    assert "timeout" in blames[Blame.HOST]
    assert {"decoding", "not_html"} <= blames[Blame.PAGE]


def test_budgets_have_reasons() -> None:
    settings = CrawlSettings(pages_per_host_max=3, requests_per_domain_max=9, origins_per_host_max=2)
    assert politeness.budget_reason(HostRecord("a.test", fetched=2), 8, settings) is None
    assert politeness.budget_reason(HostRecord("a.test", fetched=2), 9, settings) == "domain_budget"
    assert politeness.budget_reason(HostRecord("a.test", fetched=3), 0, settings) == "host_budget"
    assert politeness.origins_reason(1, settings) is None
    assert politeness.origins_reason(2, settings) == "host_origins"


def test_on_behalf_of_another_a_host_is_asked_when_its_delay_is_over_or_at_once_when_that_will_fail() -> None:
    assert politeness.free_s(HOST, 2.0, 49.0) == 50.0
    assert politeness.free_s(HOST, 2.0, 47.0) == 47.0, "it has to be left alone: so will the question be done"
    assert politeness.free_after_question_s(NOW) > NOW


def test_who_takes_over_waits_a_delay_since_somebody_may_have_asked() -> None:
    assert politeness.inherited(HOST, NOW, 2.0).next_fetch_s == 62.0
    assert politeness.inherited(HOST, -inf, 2.0) is HOST
    assert politeness.inherited(HOST, 10.0, 2.0) is HOST


def test_the_clock_of_another_peer_is_brought_to_ours_and_believed_within_limits() -> None:
    far = HostRecord("a.test", 1e9, 5, 2, True)
    assert politeness.seen_elsewhere(HOST, 3.0, NOW, SETTINGS).next_fetch_s == 53.0
    latest = politeness.seen_elsewhere(far, 0.0, NOW, SETTINGS)
    assert latest == HostRecord("a.test", NOW + politeness.longest_pause_s(SETTINGS), 5, 2, True)


@given(hosts, hosts, hosts)
def test_what_peers_know_joins_in_any_order(one: HostRecord, two: HostRecord, three: HostRecord) -> None:
    join = politeness.join
    assert join(one, one) == one
    assert join(one, two) == join(two, one)
    assert join(join(one, two), three) == join(one, join(two, three))


def test_a_slow_host_is_left_alone_for_longer_between_bounds() -> None:
    settings = CrawlSettings(delay_s=1.0, delay_factor=5.0, delay_max_s=30.0)
    delays = [politeness.delay_s((), settings, None, seconds) for seconds in (0.0, 0.1, 0.5, 4.0, 6.0, 300.0)]
    assert delays == [1.0, 1.0, 2.5, 20.0, 30.0, 30.0]
    assert politeness.address_delay_s(settings, None, 4.0) == 20.0
    assert politeness.delay_s((60.0,), settings, None, 4.0) == 60.0, "its robots.txt wants more"
    scooter = CrawlSettings(delay_factor=100.0, delay_max_s=3_600.0)
    assert politeness.delay_s((), scooter, None, 4.0) == 400.0
    laboratory = CrawlSettings(delay_s=0.0)
    assert politeness.delay_s((), laboratory, None, 4.0) == 0.0
    wide = CrawlSettings(delay_s=60.0)
    assert politeness.delay_s((), wide, None, 4.0) == 60.0, "the most does not lower our own least"


def test_after_the_last_question_of_a_day_a_host_is_left_alone_until_the_next() -> None:
    day_max = politeness.requests_a_day(CrawlSettings(requests_per_host_day_max=3))
    host, now = HOST, 10 * politeness.DAY_S + 100.0
    for _ in range(2):
        host = politeness.with_answer(host, 0.5, day_max, now)
        assert host.next_fetch_s == HOST.next_fetch_s
        assert hold_by_clock(host, day_max) is Hold.DELAY
    host = politeness.with_answer(host, 0.0, day_max, now)
    assert host.next_fetch_s == 11 * politeness.DAY_S
    assert hold_by_clock(host, day_max) is Hold.DAY_SPENT
    assert host.seconds == 0.5, "the last one got no answer"
    host = politeness.with_answer(host, 0.5, day_max, host.next_fetch_s)
    assert (host.day, host.of_day) == (11, 1)
    host = politeness.with_answer(host, 0.5, day_max, 11 * politeness.DAY_S + 1.0, further=1)
    assert host.of_day == 3, "what a browser asked besides counts"
    assert host.next_fetch_s == 12 * politeness.DAY_S


def test_what_two_peers_counted_of_a_day_is_the_most_of_the_later_day() -> None:
    one, other = (HostRecord("a.test", at_s, day=4, of_day=count) for at_s, count in ((9.0, 7), (8.0, 12)))
    assert politeness.join(one, other).of_day == 12
    joined = politeness.join(one, HostRecord("a.test", 1.0, day=5, of_day=2))
    assert (joined.next_fetch_s, joined.day, joined.of_day) == (9.0, 5, 2)
