"""A policy: ordered rules, the first that matches a URL decides.

Theory of operation
===================
A rule has conditions and an action. All conditions that it has must hold; of those with several values one.
A rule without conditions matches every URL. Where no rule matches nothing is crawled, and that is counted
and told, as it is an error of who wrote the policy. Without any policy everything is crawled.

    crawl      visit it, with the limits that the rule has
    pause      visit it later: what is known stays queued
    skip       do not visit it; pages that are stored stay, and are found
    take down  do not visit it, and show nothing of it: no answer, no stored copy, no export

Conditions are on hosts and URLs. What a rule says of a *host* (delay, hours, pauses) is that of the first
rule that matches the host and has no condition on URLs, since a host has one clock.

Source: the policy bus of Li Wei's thesis (USTC 2006): versions, ordered rules, no match is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from mesh.urls import host_of

HOSTS_REMEMBERED: Final = 1 << 14  # of which it is known what rules can match them
RULES_MAX: Final = 2_000
WILDCARDS_MAX: Final = 4  # in one pattern: each more can make a search longer by the length of a URL
DAY_S: Final = 86_400.0

Pattern = Annotated[str, Meta(min_length=1, max_length=2_083, pattern=r"^[!-~]*$")]
Name = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[a-z0-9_.:\[\]-]*$")]
Clock = Annotated[str, Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$")]


class Action(StrEnum):
    """What becomes of a URL."""

    CRAWL = "crawl"
    PAUSE = "pause"
    SKIP = "skip"
    TAKE_DOWN = "take_down"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Conditions, and what becomes of the URLs that fulfil them."""

    action: Action
    hosts: tuple[Name, ...] = ()  # host names, each for itself alone
    domains: tuple[Name, ...] = ()  # names, each for itself and all below it
    urls: tuple[Pattern, ...] = ()  # whole canonical URLs; * stands for any characters
    delay_s: Annotated[float, Meta(ge=0, le=DAY_S)] | None = (
        None  # instead of the peer's; a site may want more
    )
    pages_a_day: Annotated[int, Meta(ge=1)] | None = None  # of one host: spread over the day
    hours: Clock | None = None  # UTC, as in "22:00-06:00": when hosts may be asked
    depth_max: Annotated[int, Meta(ge=0, le=65_535)] | None = None  # clicks from a seed
    pages_per_host_max: Annotated[int, Meta(ge=1)] | None = None
    reason: Annotated[str, Meta(max_length=500)] = ""  # for people

    def __post_init__(self) -> None:
        for pattern in self.urls:
            if pattern.count("*") > WILDCARDS_MAX:
                raise ValueError(f"pattern {pattern!r} has more than {WILDCARDS_MAX} wildcards")
        is_of_hosts = self.action is Action.PAUSE or self.least_delay_s is not None or self.hours is not None
        if self.urls and is_of_hosts:
            raise ValueError("pauses, delays and hours are for hosts: say hosts or domains, not urls")
        if self.action is not Action.CRAWL and self._has_limits:
            raise ValueError(f"limits are for what is crawled, and {self.action} is not")

    @property
    def is_for_hosts(self) -> bool:
        """Does it say the same of all URLs of a host?"""
        return not self.urls

    @property
    def least_delay_s(self) -> float | None:
        """Seconds between two visits to a host that it asks for; None when it asks for none."""
        by_day = DAY_S / self.pages_a_day if self.pages_a_day else None
        return max(each for each in (by_day, self.delay_s) if each is not None) if by_day else self.delay_s

    @property
    def _has_limits(self) -> bool:
        limits = (self.delay_s, self.pages_a_day, self.hours, self.depth_max, self.pages_per_host_max)
        return any(limit is not None for limit in limits)

    def opens_at(self, now: float) -> float:
        """Return from when on hosts may be asked: `now` within its hours, else when they begin.

        Args:
          now: seconds since the epoch.
        """
        if self.hours is None:
            return now
        begin_s, end_s = map(_seconds_of_day, self.hours.split("-"))
        length_s = (end_s - begin_s) % DAY_S or DAY_S
        passed_s = (now - begin_s) % DAY_S
        return now if passed_s < length_s else now - passed_s + DAY_S

    def matches_url(self, url: str) -> bool:
        """Does it match a URL of a host that it could match?"""
        return not self.urls or any(pattern.fullmatch(url) for pattern in self._patterns)

    @property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(_compiled, self.urls))


class Policy(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """Rules in the order in which they are tried."""

    rules: Annotated[tuple[Rule, ...], Meta(max_length=RULES_MAX)] = ()
    issued_at: float = 0.0  # seconds since the epoch, by the clock of who signed it; for people

    def rule_for(self, url: str) -> Rule | None:
        """Return the rule that decides about a canonical URL; None when none does."""
        for rule in self.rules_for_host(host_of(url)):
            if rule.matches_url(url):
                return rule
        return None

    def host_rule(self, host: str) -> Rule | None:
        """Return the rule by which a host is asked; None when none says anything of all of it."""
        return next((rule for rule in self.rules_for_host(host) if rule.is_for_hosts), None)

    def has_room_for(self, url: str, depth: int = 0) -> bool:
        """Is a URL to be visited, now or later?

        Args:
          depth: clicks from a seed.
        """
        rule = self.rule_for(url)
        if rule is None or rule.action not in (Action.CRAWL, Action.PAUSE):
            return False
        return rule.depth_max is None or depth <= rule.depth_max

    def is_taken_down(self, url: str) -> bool:
        rule = self.rule_for(url) if self.takes_down else None
        return rule is not None and rule.action is Action.TAKE_DOWN

    @cached_property
    def takes_down(self) -> bool:
        """Does it take anything down at all?"""
        return any(rule.action is Action.TAKE_DOWN for rule in self.rules)

    @cached_property
    def pauses_all(self) -> bool:
        """Is every host paused?"""
        return bool(self.rules) and self.rules[0] == msgspec.structs.replace(
            Rule(action=Action.PAUSE), reason=self.rules[0].reason
        )

    def rules_for_host(self, host: str) -> tuple[Rule, ...]:
        """Return what could match URLs of a host, up to the rule that matches all of them."""
        return self._of_host(host)

    @cached_property
    def _of_host(self) -> _RulesOfHost:
        return _RulesOfHost(self.rules)


class _RulesOfHost:
    """Which rules can match URLs of a host, remembered."""

    def __init__(self, rules: tuple[Rule, ...]) -> None:
        self._rules = [(rule, frozenset(rule.hosts), frozenset(rule.domains)) for rule in rules]
        self._known: dict[str, tuple[Rule, ...]] = {}

    def __call__(self, host: str) -> tuple[Rule, ...]:
        found = self._known.get(host)
        if found is None:
            if len(self._known) >= HOSTS_REMEMBERED:
                self._known.clear()
            found = self._known[host] = tuple(self._find(host))
        return found

    def _find(self, host: str) -> list[Rule]:
        found = []
        above = frozenset(_names_above(host))
        for rule, hosts, domains in self._rules:
            if not (hosts or domains) or host in hosts or not domains.isdisjoint(above):
                found.append(rule)
                if rule.is_for_hosts:
                    break
        return found


EVERYTHING: Final = Policy(rules=(Rule(action=Action.CRAWL),))  # what holds while nobody has decreed any

_decoder = msgspec.msgpack.Decoder(Policy)


def policy_bytes(policy: Policy) -> bytes:
    """Return the body of a decree."""
    return msgspec.msgpack.encode(policy)


def policy_in(body: bytes) -> Policy:
    """Read the body of a decree.

    Raises:
      msgspec.ValidationError, msgspec.DecodeError: it is no policy that this version understands.
    """
    return _decoder.decode(body)


def _names_above(host: str) -> Iterator[str]:
    """Yield a host and all names that it is below."""
    labels = host.split(".")
    return (".".join(labels[n:]) for n in range(len(labels)))


def _seconds_of_day(clock: str) -> float:
    hours, minutes = clock.split(":")
    return int(hours) * 3_600.0 + int(minutes) * 60.0


@lru_cache(RULES_MAX)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*?".join(map(re.escape, pattern.split("*"))))
