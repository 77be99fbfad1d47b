"""A policy: ordered rules, the first that matches a URL decides.

Theory of operation
===================
A rule has conditions and an action. All conditions that it has must hold; of those with several values one.
A rule without conditions matches every URL. Where no rule matches nothing is crawled, and that is counted
and told, as it is an error of who wrote the policy. Without any policy seeds are crawled, and what they lead
to within their registrable domains: somebody who may give seeds, and no orders, cannot send a mesh anywhere.

    crawl      visit it, with the limits that the rule has
    pause      visit it later: what is known stays queued
    skip       do not visit it; pages that are stored stay, and are found
    take down  do not visit it, and show nothing of it: no answer, no stored copy, no export

Conditions are on hosts and URLs, and on what a page turns out to be: its media type and language, which only
a visit tells. Before it, a rule with such conditions counts as matching when it says crawl, and is passed
over when it says skip: whatever may be wanted is visited. Then the rule that matches the page as it is
decides, and of one that is to be skipped nothing is kept, no record and no link; a version from before stays.
A page of which nobody knows the language or type, as of one that asks not to be indexed, fulfils no condition
on that. What is taken down, what waits, and how gently a host is asked are never such matters.

A condition on addresses is one on where the host is, which is known once its name is looked up: the fetcher
decides it (`crawler.address_rules`), for each address of a host by itself, before it connects to any. Until
then a URL is queued when any of the rules that may turn out to match wants it. Such rules crawl, skip and
pause; what is taken down is taken down wherever it is.

Directories of FTP servers are crawled where a rule to crawl says so by a pattern that begins with `ftp://`;
other rules to crawl do not match them, however wide they are. So a policy that names none is of the web.

What a rule says of a *host* (delay, hours, pauses) is that of the first
rule that matches the host and has no condition on URLs, since a host has one clock. One with a condition on
addresses counts from when it is known where the host is.

Source: the policy bus of Li Wei's thesis (USTC 2006): versions, ordered rules, no match is an error.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cached_property, lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from itertools import chain
from math import inf
from operator import attrgetter
from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta

from mesh.slot_limits import SLOTS_MAX
from mesh.urls import FTP, host_of
from mesh.wire_fields import Name as PeerName
from peers.policy.crawl_order import CrawlOrder
from peers.policy.entity_rules import EntityRules
from peers.policy.graph_rules import LinkGraphRules
from peers.policy.log_rules import QueryLogRules
from peers.policy.patterns import UrlSet, host_in
from peers.policy.submission_rules import SubmissionRules

HOSTS_REMEMBERED: Final = 1 << 12  # of which it is known what rules can match them
RULES_MAX: Final = 2_000
PINS_MAX: Final = 1_000
PINNED_SLOTS_MAX: Final = 16_384  # 2 microseconds each whenever the members change
PRIVATE_MAX: Final = 1_000
UNDO_MAX: Final = 16
SYNONYMS_MAX: Final = 1_000  # groups of words
USER_WORDS_MAX: Final = 2_000
SYNONYMS_EACH_MAX: Final = 3  # as many ways as a query may have a word
INSIDE_MAX: Final = 16  # each costs a search by people outside a pass over the pages of its domains
WILDCARDS_MAX: Final = 4  # in one pattern: each more is one more search through the URL
DAY_S: Final = 86_400.0

Pattern = Annotated[str, Meta(min_length=1, max_length=2_083, pattern=r"^[!-~]*$")]
Name = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[a-z0-9_.:\[\]-]*$")]
MediaType = Annotated[str, Meta(max_length=127, pattern=r"^[a-z0-9.+-]+/[a-z0-9.+-]+$")]  # as "text/html"
Language = Annotated[str, Meta(pattern=r"^[a-z]{2,3}$")]  # primary subtag, as "zh"
Network = Annotated[str, Meta(max_length=49, pattern=r"^[0-9a-f.:]+(/\d{1,3})?$")]  # as "162.105.0.0/16"
Slot = Annotated[int, Meta(ge=0, lt=SLOTS_MAX)]
Private = Annotated[str, Meta(min_length=1, max_length=253, pattern=r"^[a-z0-9_.:/-]*$")]
Moment = Annotated[datetime, Meta(tz=True)]
Clock = Annotated[str, Meta(pattern=r"^([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d$")]


class Action(StrEnum):
    """The way a URL is treated."""

    CRAWL = "crawl"
    PAUSE = "pause"
    SKIP = "skip"
    TAKE_DOWN = "take_down"


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Conditions, and the action for the URLs that fulfil them."""

    action: Action
    hosts: tuple[Name, ...] = ()  # host names, each for itself alone
    domains: tuple[Name, ...] = ()  # names, each for itself and all below it
    urls: tuple[Pattern, ...] = ()  # whole canonical URLs; * stands for any characters
    media_types: tuple[MediaType, ...] = ()  # of the page, as its server says
    languages: tuple[Language, ...] = ()  # of the page, as it says, else by its text
    addresses: tuple[Network, ...] = ()  # where the host is, IPv4 or IPv6
    delay_s: Annotated[float, Meta(ge=0, le=DAY_S)] | None = (
        None  # instead of the peer's; a site may want more
    )
    pages_a_day: Annotated[int, Meta(ge=1)] | None = None  # of one host: spread over the day
    # Questions to one host on a day, robots.txt and failures included, instead of the peer's limit.
    requests_a_day: Annotated[int, Meta(ge=1)] | None = None
    hours: Clock | None = None  # UTC, as in "22:00-06:00": when hosts may be asked
    depth_max: Annotated[int, Meta(ge=0, le=65_535)] | None = None  # clicks from a seed
    pages_per_host_max: Annotated[int, Meta(ge=1)] | None = None
    # Of links, only those from pages of the same registrable domain are followed; seeds all are.
    within_domain: bool = False
    until: Moment | None = None  # from then on it matches nothing; None for ever
    reason: Annotated[str, Meta(max_length=500)] = ""  # for people

    def __post_init__(self) -> None:
        for pattern in self.urls:
            if pattern.count("*") > WILDCARDS_MAX:
                raise ValueError(f"pattern {pattern!r} has more than {WILDCARDS_MAX} wildcards")
        is_of_hosts = self.action is Action.PAUSE or any(
            each is not None for each in (self.least_delay_s, self.hours, self.requests_a_day)
        )
        for network in self.addresses:
            _network(network)
        if self.until is not None and self.action is Action.TAKE_DOWN:
            raise ValueError("what is taken down has no end, for then it would be shown again")
        if self.addresses and self.action is Action.TAKE_DOWN:
            raise ValueError("what is taken down is not a matter of addresses: say hosts, domains or urls")
        if self.is_of_pages and self.action not in (Action.CRAWL, Action.SKIP):
            raise ValueError(f"media_types and languages are for crawl and skip, and not for {self.action}")
        if (self.urls or self.is_of_pages) and is_of_hosts:
            raise ValueError(
                "pauses, delays, hours and requests a day are for hosts: say hosts or domains, and no urls, "
                "media_types or languages"
            )
        if self.action is not Action.CRAWL and self._has_limits:
            raise ValueError(f"limits are for what is crawled, and {self.action} is not")

    @property
    def end_s(self) -> float:
        """Seconds since the epoch; inf for never."""
        return inf if self.until is None else self.until.timestamp()

    @property
    def is_for_hosts(self) -> bool:
        """Does it say the same of all URLs of a host, wherever that is?"""
        return self.is_of_clocks and not self.addresses

    @property
    def is_of_clocks(self) -> bool:
        """Does it say the same of all URLs of a host that is where it says?"""
        return not (self.urls or self.is_of_pages)

    def is_at(self, address: str) -> bool:
        """Does it match hosts at an address? At "", which is not known, only one without such a condition."""
        return not self.addresses or is_within(address, self.addresses)

    @property
    def is_of_pages(self) -> bool:
        """Does it take a visit to know whether it matches?"""
        return bool(self.media_types or self.languages)

    def matches_page(self, media_type: str, language: str) -> bool:
        """Does it match such a page of a URL that it matches?"""
        is_of_type = not self.media_types or media_type in self.media_types
        return is_of_type and (not self.languages or language in self.languages)

    @property
    def least_delay_s(self) -> float | None:
        """Seconds between two visits to a host that it asks for; None when it asks for none."""
        by_day = DAY_S / self.pages_a_day if self.pages_a_day else None
        return max(each for each in (by_day, self.delay_s) if each is not None) if by_day else self.delay_s

    def has_room_at(self, depth: int) -> bool:
        """Are pages that it matches visited at a depth, now or later?"""
        if self.action not in (Action.CRAWL, Action.PAUSE):
            return False
        return self.depth_max is None or depth <= self.depth_max

    @property
    def _has_limits(self) -> bool:
        limits = (self.delay_s, self.pages_a_day, self.requests_a_day, self.hours)
        of_crawl = (self.depth_max, self.pages_per_host_max)
        return self.within_domain or any(limit is not None for limit in (*limits, *of_crawl))

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

    @property
    def is_for_all(self) -> bool:
        """Does it match every URL?"""
        return self.is_for_hosts and not (self.hosts or self.domains)


class Pin(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Which member crawls some slots, as long as it is there: one inside a network, or near a host.

    Slots are what members own, so a host takes along what else is in its slot: of 50,000 slots, little. There
    are no pins of URLs: a host has one clock, and so one peer.
    """

    peer: PeerName
    host: Name | None = None  # its slot
    slot: Slot | None = None
    slots: tuple[Slot, Slot] | None = None  # all from the first to the last

    def __post_init__(self) -> None:
        if [self.host, self.slot, self.slots].count(None) != 2:
            raise ValueError("a pin has either a host, a slot or slots")
        if self.slots is not None and self.slots[0] > self.slots[1]:
            raise ValueError("the first of pinned slots is behind the last")

    def slots_pinned(self, slot_of: Callable[[str], int]) -> range:
        """Return its slots, of which the mesh may have fewer.

        Args:
          slot_of: the slot of a host.
        """
        if self.slots is not None:
            return range(self.slots[0], self.slots[1] + 1)
        slot = slot_of(self.host) if self.host is not None else self.slot
        assert slot is not None
        return range(slot, slot + 1)


class Inside(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Sites with pages that are kept, and shown to people in some networks only, as a licence has it.

    It is no rule: what is shown to whom does not depend on which rule says that a page is crawled.

    Source: the licensed collections of Tianwang's campus; Li, Yan, Wang 2004, chapter 3, section 2.
    """

    domains: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=INSIDE_MAX)]  # and all below them
    networks: Annotated[tuple[Network, ...], Meta(min_length=1, max_length=PRIVATE_MAX)]  # of IPv6 up to /64
    reason: Annotated[str, Meta(max_length=500)] = ""  # for people

    def __post_init__(self) -> None:
        for network in self.networks:
            if _network(network).version == 6 and _network(network).prefixlen > 64:
                raise ValueError(f"people are told apart by networks of 64 bits, and {network} has more")


class Undo(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Visits that are not believed, as when a member lied: all pages visited then, by a peer or by all,
    are visited again.

    A page that was visited since by others is left alone.
    """

    since: Moment
    until: Moment
    reason: Annotated[str, Meta(max_length=500)] = ""  # for people
    peer: PeerName | None = None  # that made them; None for all peers

    def __post_init__(self) -> None:
        if self.since >= self.until:
            raise ValueError("visits are undone from a time on until a later one")

    @property
    def span_s(self) -> tuple[float, float]:
        """From when on until when, seconds since the epoch."""
        return self.since.timestamp(), self.until.timestamp()


# Words that mean the same to people who search. `synonyms` says what can be one.
SynonymGroup: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=64)], ...],
    Meta(min_length=2, max_length=SYNONYMS_EACH_MAX),
]

# A word, its frequency, and the tag of its part of speech. `user_words` says what can be one.
UserWordLine: TypeAlias = Annotated[str, Meta(min_length=2, max_length=64)]


class SearchHistoryRules(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Versions of pages that have been replaced are indexed, too, so that searches can ask for a day."""

    # After a version was replaced, it is found for so long. It has to be kept as long: see `version_days` and
    # `versions_max` of each peer. An index grows by as much as all these versions take beside the pages.
    days: Annotated[int, Meta(ge=1, le=36_500)]

    @property
    def keep_s(self) -> float:
        return self.days * DAY_S


class Policy(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True, dict=True
):
    """Rules in the order in which they are tried, and settings of the crawl as a whole."""

    rules: Annotated[tuple[Rule, ...], Meta(max_length=RULES_MAX)] = ()
    # URLs that all peers together visit, whatever comes of it; imported pages count. Then nothing is fetched,
    # and what is queued stays so.
    pages_max: Annotated[int, Meta(ge=1)] | None = None
    pins: Annotated[tuple[Pin, ...], Meta(max_length=PINS_MAX)] = ()
    inside: Annotated[tuple[Inside, ...], Meta(max_length=INSIDE_MAX)] = ()
    # Names, with all below them, and networks that may be asked though their addresses are private.
    allow_private: Annotated[tuple[Private, ...], Meta(max_length=PRIVATE_MAX)] = ()
    undo: Annotated[tuple[Undo, ...], Meta(max_length=UNDO_MAX)] = ()
    # Whoever searches for one of the words of a group finds pages with any, those with the typed one first.
    synonyms: Annotated[tuple[SynonymGroup, ...], Meta(max_length=SYNONYMS_MAX)] = ()
    # By which Chinese queries are cut besides the dictionary: lines of a user dictionary of jieba.
    user_words: Annotated[tuple[UserWordLine, ...], Meta(max_length=USER_WORDS_MAX)] = ()
    ordering: CrawlOrder | None = (
        None  # in which order new pages are visited; None for what each peer is set to
    )
    # When the crawl is over: nothing is fetched, and what is queued stays so.
    ends_at: Moment | None = None
    issued_at: float = 0.0  # seconds since the epoch, by the clock of who signed it; for people
    # By when another one follows: people are told when it is late. This one goes on.
    next_at: Moment | None = None
    query_log: QueryLogRules | None = None  # None: searches are not logged
    submissions: SubmissionRules | None = None  # None: nobody can submit a site
    link_graph: LinkGraphRules | None = None  # None: which pages link to which is not kept
    entities: EntityRules | None = None  # None: nobody can register an entity
    search_history: SearchHistoryRules | None = None  # None: pages are searched as they are, not as they were

    def __post_init__(self) -> None:
        if any(rule.until is not None for rule in self.take_downs):
            raise ValueError("rules with an end must stand behind all that take something down")
        if len({(pin.host, pin.slot, pin.slots) for pin in self.pins}) < len(self.pins):
            raise ValueError("a host or slot is pinned twice")
        if sum(len(pin.slots_pinned(lambda _: 0)) for pin in self.pins) > PINNED_SLOTS_MAX:
            raise ValueError(f"more than {PINNED_SLOTS_MAX:,} slots are pinned")
        if sum(len(each.domains) for each in self.inside) > INSIDE_MAX:
            raise ValueError(f"more than {INSIDE_MAX} domains are shown inside only")

    def pinned(self, slot_of: Callable[[str], int]) -> dict[int, str]:
        """Return by slot the peer that is to crawl it; of two pins that come to one slot the first counts.

        Args:
          slot_of: the slot of a host. A slot that is named may be none of the mesh.
        """
        pinned: dict[int, str] = {}
        for pin in self.pins:
            for slot in pin.slots_pinned(slot_of):
                pinned.setdefault(slot, pin.peer)
        return pinned

    def hidden_from(self, address: str) -> tuple[str, ...]:
        """Return the domains of which nothing is shown to a person that asks from an address.

        Args:
          address: of IPv4, or a network of IPv6; what is none is outside of all.
        """
        host = address.partition("/")[0]
        hidden = (each.domains for each in self.inside if not is_within(host, each.networks))
        return tuple(dict.fromkeys(chain.from_iterable(hidden)))

    def late_s(self, now: float) -> float:
        """For how long there should have been another one; 0.0 when that is not so."""
        return 0.0 if self.next_at is None else max(0.0, now - self.next_at.timestamp())

    def at(self, now: float) -> Policy:
        """Return the policy without the rules that have ended, and when all of it has, with a pause of all.

        Args:
          now: seconds since the epoch.
        """
        is_over = self.is_over_at(now)
        if not is_over and not any(rule.end_s <= now for rule in self.rules):
            return self
        rules = tuple(rule for rule in self.rules if rule.end_s > now)
        if is_over:
            n_shown = len(self.take_downs)  # none of these has an end
            rules = (*rules[:n_shown], Rule(action=Action.PAUSE), *rules[n_shown:])
        return msgspec.structs.replace(self, rules=rules)

    def is_over_at(self, now: float) -> bool:
        """Is nothing fetched any more, even if URLs are queued?"""
        return self.ends_at is not None and self.ends_at.timestamp() <= now

    def next_end_s(self, now: float) -> float:
        """Return when the next of its rules ends, or the crawl, seconds since the epoch; inf for never."""
        ends = [rule.end_s for rule in self.rules]
        if self.ends_at is not None:
            ends.append(self.ends_at.timestamp())
        return min((end_s for end_s in ends if end_s > now), default=inf)

    def rules_for(self, url: str, address: str = "") -> Iterator[Rule | None]:
        """Yield the rules that may decide about a visit to a canonical URL: one, or None when none does.

        Args:
          address: "" when not known: then also, before that, all that decide if the host is where they say.
        """
        for rule in self._about(url):
            if rule.is_of_pages and rule.action is not Action.CRAWL:
                continue
            if rule.is_at(address):
                yield rule
                return
            if not address:
                yield rule
        yield None

    def rule_for_page(self, url: str, media_type: str, language: str, address: str = "") -> Rule | None:
        """Return the rule that decides about a page that was visited; None when none does.

        Args:
          media_type, language, address: "" when not known.
        """
        for rule in self._about(url):
            if rule.is_at(address) and rule.matches_page(media_type, language):
                return rule
        return None

    def _about(self, url: str) -> Iterator[Rule]:
        """Yield the rules that match a canonical URL, in their order."""
        rules = self._of_ftp_host if url.startswith(FTP) else self._of_host
        for entry in rules(host_of(url)):
            if entry.urls is None or url in entry.urls:
                yield entry.rule

    def host_rule(self, host: str, address: str = "") -> Rule | None:
        """Return the rule by which a host is asked; None when none says anything of all of it.

        Args:
          address: where it is, "" when that is not known.
        """
        for rule in self.host_rules(host):
            if rule.is_at(address):
                return rule
        return None

    def host_rules(self, host: str) -> list[Rule]:
        """Return the rules by which a host may be asked, wherever it is."""
        return [entry.rule for entry in self._of_host(host) if entry.rule.is_of_clocks]

    def has_room_for(self, url: str, depth: int = 0, *, is_abroad: bool = False) -> bool:
        """Is a URL to be visited, now or later?

        Args:
          depth: clicks from a seed.
          is_abroad: it was found on a page of another registrable domain.
        """
        is_ftp = url.startswith(FTP)
        if self._has_room_for_all and not (is_ftp or (is_abroad and self.is_of_domains)):
            return True
        rules = self._of_ftp_host if is_ftp else self._of_host
        for entry in rules(host_of(url)):  # as `rules_for`, which every link would pay for
            rule = entry.rule
            if entry.urls is not None and url not in entry.urls:
                continue
            if rule.action is not Action.CRAWL and (
                rule.is_of_pages or (is_abroad and rule.action is Action.PAUSE)
            ):
                continue  # once a pause is over another rule decides, and nobody asks whence a URL came
            if rule.has_room_at(depth) and not (is_abroad and rule.within_domain):
                return True
            if not rule.addresses:
                return False
        return False

    def is_taken_down(self, url: str) -> bool:
        if not self.takes_down:
            return False
        known = (rule for rule in self._about(url) if not (rule.is_of_pages or rule.addresses))
        rule = next(known, None)
        return rule is not None and rule.action is Action.TAKE_DOWN

    def shows(self, url: str, hidden: Sequence[str]) -> bool:
        """Tell whether a page is shown to a reader that may not see the pages of some domains."""
        return not self.is_taken_down(url) and not (hidden and is_below(host_of(url), hidden))

    @cached_property
    def takes_down(self) -> bool:
        """Does it take anything down at all?"""
        return bool(self.take_downs)

    @cached_property
    def is_of_pages(self) -> bool:
        """Does it take a visit to know the action for some pages?"""
        return any(rule.is_of_pages for rule in self.rules)

    @cached_property
    def is_of_addresses(self) -> bool:
        """Does it matter where hosts are?"""
        return any(rule.addresses for rule in self.rules)

    @cached_property
    def is_of_domains(self) -> bool:
        """Does it matter on which domain's pages a URL was found?"""
        return any(rule.within_domain for rule in self.rules)

    @cached_property
    def crawls_ftp(self) -> bool:
        """Are directories of any FTP server visited?"""
        rules = [rule for rule in self.rules if rule.urls]  # most policies have none
        return any(rule.action is Action.CRAWL and _ftp_patterns(rule) for rule in rules) if rules else False

    @cached_property
    def take_downs(self) -> tuple[Rule, ...]:
        """The rules up to the last that takes something down: which pages are shown depends on no others."""
        last = max((n for n, rule in enumerate(self.rules, 1) if rule.action is Action.TAKE_DOWN), default=0)
        return self.rules[:last]

    @cached_property
    def pauses_all(self) -> bool:
        """Does every host wait that is not left out?"""
        deciding = (rule for rule in self.rules if rule.action is Action.CRAWL or rule.is_for_all)
        rule = next(deciding, None)
        return rule is not None and rule.action is Action.PAUSE

    @cached_property
    def _has_room_for_all(self) -> bool:
        """Is every URL to be visited, as most policies say?"""
        rule = next(iter(self.rules), None)
        return rule is not None and rule.is_for_all and rule.has_room_at(0) and rule.depth_max is None

    @cached_property
    def _of_host(self) -> _RulesOfHost:
        return _RulesOfHost(self.rules)

    @cached_property
    def _of_ftp_host(self) -> _RulesOfHost:
        """The same for directories of FTP servers, by those rules that are about them."""
        return _RulesOfHost(self.rules, are_of_ftp=True)


class _Entry(NamedTuple):
    """A rule, as far as it is about some host."""

    place: int  # of the rule in the policy
    rule: Rule
    urls: UrlSet | None  # None for all


class _RulesOfHost:
    """Which rules can match URLs of a host, found by its name, and remembered.

    A pattern that names its host is of that alone, so a page that is taken down costs other hosts nothing.
    """

    def __init__(self, rules: Iterable[Rule], *, are_of_ftp: bool = False) -> None:
        self._by_host: dict[str, list[_Entry]] = {}
        self._by_domain: dict[str, list[_Entry]] = {}
        self._of_any: list[_Entry] = []
        self._known: dict[str, tuple[_Entry, ...]] = {}
        for place, rule in enumerate(rules):
            is_to_name = are_of_ftp and rule.action is Action.CRAWL
            patterns = _ftp_patterns(rule) if is_to_name else rule.urls
            if is_to_name and not patterns:
                continue
            self._add(place, rule, patterns)
            if rule.is_for_all:
                break

    def __call__(self, host: str) -> tuple[_Entry, ...]:
        """Return them in their order, up to the one that matches all URLs of the host."""
        found = self._known.get(host)
        if found is None:
            if len(self._known) >= HOSTS_REMEMBERED:
                self._known.clear()
            found = self._known[host] = tuple(self._find(host))
        return found

    def _add(self, place: int, rule: Rule, urls: tuple[str, ...]) -> None:
        """Take up a rule, of its patterns these."""
        hosts, domains = frozenset(rule.hosts), frozenset(rule.domains)
        is_of_any = not (hosts or domains)
        patterns: dict[str | None, list[str]] = {}
        for pattern in urls:
            patterns.setdefault(host_in(pattern), []).append(pattern)
        of_any = patterns.pop(None, None)
        for host, of_host in patterns.items():
            assert host is not None
            if is_of_any or host in hosts or not domains.isdisjoint(_names_above(host)):
                self._by_host.setdefault(host, []).append(_Entry(place, rule, UrlSet(of_host)))
        if of_any is None and urls:
            return
        entry = _Entry(place, rule, None if of_any is None else UrlSet(of_any))
        for host in hosts:
            self._by_host.setdefault(host, []).append(entry)
        for domain in domains:
            self._by_domain.setdefault(domain, []).append(entry)
        if is_of_any:
            self._of_any.append(entry)

    def _find(self, host: str) -> Iterator[_Entry]:
        entries = [*self._of_any, *self._by_host.get(host, ())]
        for name in _names_above(host) if self._by_domain else ():
            entries += self._by_domain.get(name, ())
        entries.sort(key=attrgetter("place"))
        for entry in entries:
            yield entry
            if entry.rule.is_for_hosts:
                return


EVERYTHING: Final = Policy(rules=(Rule(action=Action.CRAWL),))
# What holds while nobody has decreed any.
OF_SEEDS: Final = Policy(rules=(Rule(action=Action.CRAWL, within_domain=True),))

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


def _ftp_patterns(rule: Rule) -> tuple[str, ...]:
    """Return the patterns that are about directories of FTP servers and nothing else."""
    return tuple(pattern for pattern in rule.urls if pattern.startswith(FTP))


def _names_above(host: str) -> Iterator[str]:
    """Yield a host and all names that it is below."""
    labels = host.split(".")
    return (".".join(labels[n:]) for n in range(len(labels)))


def is_below(host: str, domains: Container[str]) -> bool:
    """Tell whether a host is one of some domains, or below one."""
    return any(name in domains for name in _names_above(host))


def _seconds_of_day(clock: str) -> float:
    hours, minutes = clock.split(":")
    return int(hours) * 3_600.0 + int(minutes) * 60.0


def is_within(address: str, networks: Iterable[str]) -> bool:
    """Tell whether an address, as text, is in one of some networks; "" is in none."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return any(parsed in _network(network) for network in networks)


@lru_cache(maxsize=4_096)
def _network(text: str) -> IPv4Network | IPv6Network:
    """Read a network.

    Raises:
      ValueError: it is none.
    """
    return ip_network(text)
