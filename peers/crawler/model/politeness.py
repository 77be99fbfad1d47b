"""The rules that decide when a host is asked next, and whether at all.

Everything that we owe a host is a function here, over what is remembered of it (`HostRecord`), what its
robots.txts say, and the settings. Others carry it out: the frontier keeps the records and lets every host
wait for its clock; the controller says what has happened, asks a host one thing at a time, and only while it
has a licence, and nobody while its own machine is in trouble.

A clock never goes back, but when a question was not asked after all (`unasked`). It is put forward, in this
order of importance:

    a question, when it is asked and again when it is answered    `after_question`: the delay
    the last question of a day                                    `with_answer`: until the next
    a failure of the host                                         `after_failure`: back-off, Retry-After
    too many failures, or a hopeless one                          `given_up`: a day, for as long as it takes;
                                                                  `is_lost`: its pages are shown no more
    a slot taken over, from whoever may just have asked           `inherited`: the delay
    a robots.txt that has moved to a host that has to wait        `free_s`: until that may be asked
    what another peer knows, within limits                        `seen_elsewhere`, `join`
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from math import ceil
from typing import Final

import msgspec

from mesh.urls import fingerprint
from peers.crawler.model.settings import CrawlSettings
from peers.crawler.model.url_rows import ICON_HOPS, UrlRow, lists_in
from peers.crawler.model.web_request import FailureReason
from peers.policy.rules import Action, Rule

_MAY_PASS: Final = frozenset((408, 425, 429, 500, 502, 503, 504))
PAUSED_LOOK_S: Final = 3_600.0  # between two looks at a paused host; another policy is obeyed at once
BUSY_PAUSE_S: Final = 1.0  # before looking again whether a host that is being asked is free
LICENCE_S_MIN: Final = 0.5  # left, to ask anything: what is given up when it ends is asked for once more
POLICY_REVIEW_S: Final = 86_400.0  # until it is looked again whether the policy still leaves a page out
ADDRESS_BELIEVED_S: Final = 600.0  # as long as the resolver remembers it; then who is left out is looked up
POLICY_REASONS: Final = frozenset(("policy", "unruled", "policy_budget"))
DAY_S: Final = 86_400.0
# With more the hosts that do not answer hold up the others, with less new ones are tried too slowly: of 1,000
# hosts of which 300 time out after 10 s and 100 refuse, the others had .90 of their pages in the first minute
# (.81 with a half, .68 with all), and from then on all of them.
DOUBTFUL_SHARE: Final = 0.7
DOUBTFUL_PAUSE_S: Final = 0.5  # of a doubtful host for which there is no room
SILENCES_MAX: Final = 255
ALIAS: Final = "alias"  # why a page is not asked for
COMPARED_AT_PAGES: Final = 32  # asked for of a host before it is first compared: with fewer little is saved
ALIAS_SAMPLE: Final = 8  # of 256 pages of an alias that are visited all the same
INDEXES_MAX: Final = 2  # of sitemaps in a row; some sites have two, nobody needs three
LISTS_PER_HOST_MAX: Final = 1_000  # an index names 50,000, each of which names 50,000 URLs
DOUBLINGS_MAX: Final = 64  # of the back-off: 2^1,024 is no float


class HostRecord(msgspec.Struct, frozen=True, array_like=True):
    """The record of a host: its politeness clock, and whether it is another name of a second one."""

    host: str
    next_fetch_s: float = 0.0  # mesh clock; not before
    fetched: int = 0  # pages asked for, whatever came back
    failures: int = 0  # in a row
    given_up: bool = False
    seconds: float = 0.0  # that its last answer took to come
    day: int = 0  # since the epoch, of the last question
    of_day: int = 0  # questions on that day
    silences: int = 0  # times in a row that it had no address, or no robots.txt could be had
    silent_s: float = 0.0  # mesh clock: the first of these
    judged: int = 0  # times that its representative has changed
    alias_of: str = ""  # its representative, see `aliases`; "" when it is no alias
    recalled: int = 0  # times that it was to be asked again though it had been given up


class Blame(Enum):
    """The party to blame when there is no answer."""

    NOBODY = 0  # it was we who let go; whoever has the licence asks again
    US = 1
    HOST = 2  # the whole host is in trouble
    HOPELESS_HOST = 3  # and asking again soon cannot help
    PAGE = 4


_BLAMES: Final = {
    FailureReason.UNLICENSED: Blame.NOBODY,
    FailureReason.ADDRESS_BUSY: Blame.NOBODY,
    FailureReason.DNS_OPEN: Blame.NOBODY,
    FailureReason.POLICY: Blame.NOBODY,
    FailureReason.LOCAL: Blame.US,
    FailureReason.NO_CONTACT: Blame.US,
    FailureReason.DNS: Blame.HOPELESS_HOST,
    FailureReason.PRIVATE_ADDRESS: Blame.HOPELESS_HOST,
    FailureReason.DNS_TEMPORARY: Blame.HOST,
    FailureReason.REFUSED: Blame.HOST,
    FailureReason.UNREACHABLE: Blame.HOST,
    FailureReason.TIMEOUT: Blame.HOST,
    FailureReason.RESET: Blame.HOST,
    FailureReason.TLS: Blame.HOST,
    FailureReason.FETCHER: Blame.HOST,
    FailureReason.CROWDED: Blame.HOST,
}


def blame_for(reason: FailureReason) -> Blame:
    return _BLAMES.get(reason, Blame.PAGE)


def may_pass(status: int) -> bool:
    """Tell whether a page that is answered so is worth another attempt, when the host was left alone."""
    return status in _MAY_PASS


def may_try_again(attempts: int, settings: CrawlSettings) -> bool:
    """Tell whether a page that has failed in a way that may pass is tried again.

    Args:
      attempts: made before this one.
    """
    return attempts + 1 < settings.attempts_max


# --- The delay ---


def delay_s(
    crawl_delays: Iterable[float | None],
    settings: CrawlSettings,
    decreed: Rule | None = None,
    seconds: float = 0.0,
) -> float:
    """Return the pause between two questions: the longest of ours and of all that its robots.txts want.

    An origin that wants a longer one than we honour has no say: it is left out, but for its robots.txt.

    Args:
      decreed: what the policy of the mesh says of the host; a delay there stands for our least.
      seconds: that its last answer took.
    """
    wanted_s = decreed.least_delay_s if decreed is not None else None
    ours_s = _as_it_answers_s(settings.delay_s if wanted_s is None else wanted_s, settings, seconds)
    honoured = [each for each in crawl_delays if each is not None and is_honoured(each, settings)]
    return max(ours_s, *honoured) if honoured else ours_s


def _as_it_answers_s(least_s: float, settings: CrawlSettings, seconds: float) -> float:
    """Return clamp(factor x seconds, least, most): a host that is slow has work, and gets longer pauses.

    Source: Heydon and Najork 1999, Mercator, factor 10; who wants no pause at all gets none.
    """
    by_answer_s = min(settings.delay_factor * seconds, settings.delay_max_s)
    return max(least_s, by_answer_s) if least_s else 0.0


def address_delay_s(settings: CrawlSettings, decreed: Rule | None = None, seconds: float = 0.0) -> float:
    """Return for how long the address of a host is left alone after a question to that host.

    It is ours, or the policy's: what one host wants by its robots.txt, or may have in a day, is no reason to
    keep others waiting that happen to be on the same machine.
    """
    wanted_s = decreed.delay_s if decreed is not None else None
    return _as_it_answers_s(settings.delay_s if wanted_s is None else wanted_s, settings, seconds)


def is_honoured(crawl_delay_s: float | None, settings: CrawlSettings) -> bool:
    """Tell whether we wait as long as a robots.txt wants, rather than leave its origin out."""
    return crawl_delay_s is None or crawl_delay_s <= settings.crawl_delay_max_s


# --- The clock ---


def wait_until(host: HostRecord, until_s: float) -> HostRecord:
    """Put the clock of a host forward, never back."""
    if until_s <= host.next_fetch_s:
        return host
    return msgspec.structs.replace(host, next_fetch_s=until_s)


def after_question(host: HostRecord, delay_s: float, now: float) -> HostRecord:
    """Keep the delay from now on: a question was answered, or is asked, in case we die before its answer."""
    return wait_until(host, now + delay_s)


def unasked(host: HostRecord, next_fetch_s: float) -> HostRecord:
    """Return a host with its clock put back, as its question was not sent: its address had no turn.

    Args:
      next_fetch_s: its clock before.
    """
    return msgspec.structs.replace(host, next_fetch_s=next_fetch_s)


def with_answer(host: HostRecord, seconds: float, day_max: int, now: float, further: int = 0) -> HostRecord:
    """Count a question of this day, after the last of which a host is left alone until the next day.

    Args:
      seconds: that the answer took; 0.0 when there was none.
      day_max: see `requests_a_day`.
      further: questions that a browser asked besides.
    """
    day = int(now // DAY_S)
    of_day = (host.of_day if host.day == day else 0) + 1 + further
    host = msgspec.structs.replace(host, seconds=seconds or host.seconds, day=day, of_day=of_day)
    return wait_until(host, (day + 1) * DAY_S) if of_day >= day_max else host


def requests_a_day(settings: CrawlSettings, decreed: Rule | None = None) -> int:
    """Return how many questions a host may be asked on a day.

    Args:
      decreed: what the policy of the mesh says of the host, which stands for our limit.
    """
    wanted = decreed.requests_a_day if decreed is not None else None
    return settings.requests_per_host_day_max if wanted is None else wanted


def is_day_spent(host: HostRecord, day_max: int) -> bool:
    """Tell whether a host is left alone until the next day since it was asked so often on this one."""
    return host.of_day >= day_max and host.next_fetch_s >= (host.day + 1) * DAY_S


def with_page_asked(host: HostRecord) -> HostRecord:
    """Count a page against the budget."""
    return msgspec.structs.replace(host, fetched=host.fetched + 1)


def after_success(host: HostRecord) -> HostRecord:
    """Forgive the failures before: the host has answered."""
    if not (host.failures or host.silences):
        return host
    return msgspec.structs.replace(host, failures=0, silences=0, silent_s=0.0)


def after_silence(host: HostRecord, now: float) -> HostRecord:
    """Note that the whole host is not to be had."""
    since_s = host.silent_s if host.silences else now
    return msgspec.structs.replace(host, silences=min(host.silences + 1, SILENCES_MAX), silent_s=since_s)


def is_lost(host: HostRecord, settings: CrawlSettings, now: float) -> bool:
    """Tell whether a host is silent for so long that its pages are shown no more."""
    return host.silences >= settings.lost_visits and now - host.silent_s >= settings.lost_after_s


def after_failure(
    host: HostRecord,
    settings: CrawlSettings,
    delay_s: float,
    now: float,
    *,
    retry_after_s: float = 0.0,
    attempts: int = 0,
) -> HostRecord:
    """Leave a host alone for backoff x 2^(failures - 1), or for the time it asks for if that is longer.

    A URL that has failed before does not count again: bad pages, which queue up for their next attempts
    together, say nothing new of the host. After too many failures in a row it is given up.

    Args:
      attempts: of the page, before this one.
    """
    failures = host.failures + 1 if not attempts else max(host.failures, 1)
    host = msgspec.structs.replace(host, failures=failures)
    if failures >= settings.host_failures_max:
        return given_up(host, settings, now)
    pause_s = min(settings.backoff_s * 2.0 ** min(failures - 1, DOUBLINGS_MAX), settings.backoff_max_s)
    pause_s = max(pause_s, delay_s, min(retry_after_s, settings.retry_after_max_s))
    return wait_until(host, now + pause_s)


def given_up(host: HostRecord, settings: CrawlSettings, now: float) -> HostRecord:
    """Leave a host alone for a day; its URLs stay queued."""
    return wait_until(msgspec.structs.replace(host, given_up=True), now + settings.give_up_s)


def with_courage(host: HostRecord) -> HostRecord:
    """Count a host that was given up among the living again, when its time has come."""
    return msgspec.structs.replace(host, given_up=False, failures=0) if host.given_up else host


def recalled(host: HostRecord, settings: CrawlSettings, delay_s: float, now: float) -> HostRecord:
    """Have a host that was given up asked before its time, on request, as its failure may have been mended.

    Args:
      delay_s: for which it is left alone after a question, if there was one: without an address none is.
    """
    if not host.given_up:
        return host
    asked_s = host.next_fetch_s - settings.give_up_s if host.failures else now - delay_s
    return msgspec.structs.replace(
        host,
        given_up=False,
        failures=0,
        next_fetch_s=min(host.next_fetch_s, max(now, asked_s + delay_s)),
        recalled=host.recalled + 1,
    )


def origin_pause_s(settings: CrawlSettings, retry_after_s: float) -> float:
    """Return how long an origin is left alone when its robots.txt fails but others of its host can be had."""
    return max(settings.backoff_max_s, min(retry_after_s, settings.retry_after_max_s))


# --- A robots.txt that has moved to another host ---


def free_s(other: HostRecord, delay_s: float, now: float) -> float:
    """Return when a host may be asked on behalf of another one that has moved its robots.txt there.

    If it has to be left alone for longer than its delay it fails: so will our question, and be done.

    Args:
      delay_s: its own.
    """
    return now if other.next_fetch_s > now + delay_s else other.next_fetch_s


def free_after_question_s(now: float) -> float:
    """Return when to look again whether a host that is being asked is free."""
    return now + BUSY_PAUSE_S


# --- Hosts that may not answer ---


def is_doubtful(host: HostRecord) -> bool:
    """Tell whether a host may keep a fetch waiting in vain: it never answered, or not the last time."""
    return host.failures > 0 or not host.seconds


def doubtful_max(settings: CrawlSettings) -> int:
    """Return how many fetches at a time may be of doubtful hosts: the others are for those that do answer."""
    return ceil(settings.fetches_in_flight_max * DOUBTFUL_SHARE)


# --- Budgets ---


def budget_reason(
    host: HostRecord, domain_asked: int, settings: CrawlSettings, decreed: Rule | None = None
) -> str | None:
    """Say why no further page of a host is asked for; None when it may be.

    Args:
      domain_asked: questions asked so far of all hosts of its registrable domain.
      decreed: what the policy of the mesh says of the page; fewer pages there are fewer.
    """
    if host.fetched >= settings.pages_per_host_max:
        return "host_budget"
    if domain_asked >= settings.requests_per_domain_max:
        return "domain_budget"
    decreed_max = decreed.pages_per_host_max if decreed is not None else None
    return "policy_budget" if decreed_max is not None and host.fetched >= decreed_max else None


def may_be_read(lists_read: int, hops: int) -> bool:
    """Tell whether one more sitemap of a host is read for its URLs.

    Args:
      lists_read: sitemaps of its host, so far.
      hops: of the sitemap, see `url_rows`.

    Source: https://www.sitemaps.org/protocol.html#index, by which no index is in another one.
    """
    return lists_in(hops) <= INDEXES_MAX and lists_read < LISTS_PER_HOST_MAX


def origins_reason(origin_count: int, settings: CrawlSettings) -> str | None:
    """Say why no further origin of a host is asked for its robots.txt; None when it may be."""
    return "host_origins" if origin_count >= settings.origins_per_host_max else None


# --- Other names of a site ---


def is_to_compare(host: HostRecord) -> bool:
    """Tell whether a host is to be compared with others that may be the same, as one more page was asked for.

    When these have doubled; an alias each time, since of it little is asked for.
    """
    return bool(host.alias_of) or (
        host.fetched >= COMPARED_AT_PAGES and host.fetched & (host.fetched - 1) == 0
    )


def judged(host: HostRecord, representative: str) -> HostRecord:
    """Return a host that is another name of this one from now on; "" of none."""
    if representative == host.alias_of:
        return host
    return msgspec.structs.replace(host, judged=host.judged + 1, alias_of=representative)


def is_left_to_representative(host: HostRecord, url: str, depth: int, hops: int) -> bool:
    """Tell whether a page that was never stored is visited at the representative of its host instead.

    Of an alias some are visited all the same, so that it is seen when it is none any more; and what is given
    as a seed, or a redirect leads to: there somebody wants it under this name.
    """
    return (
        bool(host.alias_of) and depth > 0 and hops in (0, ICON_HOPS) and fingerprint(url)[0] >= ALIAS_SAMPLE
    )


# --- What the owner of the mesh decrees ---


def paused_until_s(decreed: Rule | None, now: float) -> float:
    """Return when a host may be asked by the policy's rule for it, or looked at again; `now` if at once."""
    if decreed is None:
        return now
    return now + PAUSED_LOOK_S if decreed.action is Action.PAUSE else decreed.opens_at(now)


def policy_reason(decreed: Rule | None, depth: int) -> str | None:
    """Say why a page is not asked for by the policy; None when it may be.

    Args:
      depth: of the page, clicks from a seed: it may have been found before the rule.
    """
    if decreed is None:
        return "unruled"
    if decreed.action not in (Action.CRAWL, Action.PAUSE):
        return "policy"
    return "policy_budget" if decreed.depth_max is not None and depth > decreed.depth_max else None


def was_left_out(row: UrlRow) -> bool:
    """Tell whether the policy is why a URL was not asked for the last time."""
    return row.outcome[:1] == "X" and row.outcome[1:] in POLICY_REASONS


# --- What other peers know ---


def inherited(host: HostRecord, asked_s: float, delay_s: float) -> HostRecord:
    """Return a host of a slot that we took over: the earlier holder may have asked the host just before.

    Args:
      asked_s: when all hosts of the slot count as asked; -inf when nobody can have.
      delay_s: ours, since robots.txt is not looked into for all hosts of a slot; see `ready_s`.
    """
    return wait_until(host, asked_s + delay_s)


def ready_s(asked_s: float, delay_s: float) -> float:
    """Return when a host of a slot that we took over may be asked, with the delay that it wants itself."""
    return asked_s + delay_s


def seen_elsewhere(
    host: HostRecord, clock_offset_s: float, now: float, settings: CrawlSettings
) -> HostRecord:
    """Return a host from another peer's record, on our clock and within the limits of our own settings.

    Args:
      clock_offset_s: what our clock is ahead of the one it was told on.
    """
    latest_s = now + longest_pause_s(settings)
    return msgspec.structs.replace(host, next_fetch_s=min(host.next_fetch_s + clock_offset_s, latest_s))


def longest_pause_s(settings: CrawlSettings) -> float:
    """Return how far ahead a clock can be."""
    return max(
        settings.give_up_s, settings.backoff_max_s, settings.retry_after_max_s, settings.crawl_delay_max_s
    )


def join(one: HostRecord, other: HostRecord) -> HostRecord:
    """Join the records that two peers have of a host.

    The later clock, and what goes with it, unless the other one has been recalled more often; the most pages;
    the last judgement whether it is an alias.
    """
    clock = max(one, other, key=_clock_order)
    day, of_day = max((one.day, one.of_day), (other.day, other.of_day))
    judged, alias_of = max((one.judged, one.alias_of), (other.judged, other.alias_of))
    return msgspec.structs.replace(
        clock,
        host=one.host,
        fetched=max(one.fetched, other.fetched),
        day=day,
        of_day=of_day,
        judged=judged,
        alias_of=alias_of,
    )


def _clock_order(host: HostRecord) -> tuple[int, float, int, bool, float, int, float]:
    return (
        host.recalled,
        host.next_fetch_s,
        host.failures,
        host.given_up,
        host.seconds,
        host.silences,
        host.silent_s,
    )
