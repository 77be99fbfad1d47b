"""Policies that differ by one wish: a wider scope, a pause, a take-down, and each of these taken back.

A policy that commands have made has this order: what is taken down, what is paused, what a person has written
into it, what is crawled, and last what becomes of everything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from math import inf
from typing import Annotated, Final

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from mesh.domains import registrable_domain
from mesh.errors import ConfigError
from mesh.urls import canonical, canonical_with_ftp, host_of
from peers.policy.crawl_order import GUIDE_WORDS_MAX, GUIDED, PLAIN, Order
from peers.policy.log_rules import FORGOTTEN_MAX, ForgottenQuery, QueryLogRules, logged_text, query_digest
from peers.policy.patterns import fault_of, spelt
from peers.policy.rules import OF_SEEDS, PRIVATE_MAX, RULES_MAX, UNDO_MAX, Action, Policy, Private, Rule, Undo

_NETWORK: Final = re.compile(r"[0-9a-f.:]+/\d+")
NOTHING_ELSE: Final = Rule(action=Action.SKIP)
ALL_ELSE: Final = Rule(action=Action.CRAWL)
SEEDS_ELSE: Final = OF_SEEDS.rules[0]  # as without any policy


def target(text: str) -> Rule:
    """Read a person's URL, pattern, host or domain as a rule; its action is to be replaced.

    `https://a.org/b` is that page, `https://a.org/b*` all that begin so, `*.pdf` all that end
    so, `a.org` that name and all below, `162.105.0.0/16` all hosts that are there.

    Raises:
      ConfigError: it is none of these.
    """
    if "*" in text:
        pattern = spelt(text)
        if pattern is None:
            raise ConfigError(fault_of(text))
        return _rule(text, urls=(pattern,))
    if _NETWORK.fullmatch(text):
        return _rule(text, addresses=(text,))
    if "/" in text:
        url = canonical_with_ftp(text)
        if url is None:
            raise ConfigError(f"{text!r} is no URL of a web page; give one with http:// or https://")
        return _rule(text, urls=(url,))
    root = canonical(f"http://{text.strip('.')}/")
    if root is None:
        raise ConfigError(f"{text!r} is neither a host name, nor a URL, nor a pattern with *")
    return _rule(text, domains=(host_of(root),))


def _rule(text: str, **conditions: tuple[str, ...]) -> Rule:
    try:
        return msgspec.convert({"action": "skip", **conditions}, Rule)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{text!r} cannot be used: {error}") from error


def domains_of(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the registrable domains of canonical URLs, each once."""
    return tuple(dict.fromkeys(registrable_domain(host_of(url)) for url in urls))


# --- Scope ---


def widened(policy: Policy | None, scopes: Sequence[Rule], limits: Rule) -> Policy:
    """Crawl URLs that these match as well, by these limits; other rules about them go before.

    Args:
      policy: None when there is none yet: then nothing else is crawled.
      scopes: see `target`.
      limits: a rule without conditions.
    """
    rules = (NOTHING_ELSE,) if policy is None else policy.rules
    place = _place_of_rest(rules)
    before, last = list(rules[:place]), rules[place:]
    domains = dict.fromkeys(name for scope in scopes for name in scope.domains)
    urls = dict.fromkeys(pattern for scope in scopes for pattern in scope.urls)
    new = [replace(limits, domains=tuple(domains))] if domains else []
    new += [replace(limits, urls=tuple(urls))] if urls else []
    networks = dict.fromkeys(network for scope in scopes for network in scope.addresses)
    new += [replace(limits, addresses=tuple(networks))] if networks else []
    for rule in new:
        place = next((n for n, other in enumerate(before) if _is_alike(other, rule)), len(before))
        before[place : place + 1] = [_merged(before[place], rule) if place < len(before) else rule]
    return _with(policy, [*before, *last])


def anywhere(policy: Policy | None, limits: Rule) -> Policy:
    """Crawl by these limits all URLs that no other rule is about."""
    rules = () if policy is None else policy.rules
    return _with(policy, [*(rule for rule in rules if not _is_of_rest(rule)), limits])


def goes_anywhere(policy: Policy) -> bool:
    """Is a page crawled that no rule is about?"""
    rest = policy.rules[_place_of_rest(policy.rules) :]
    return bool(rest) and rest[0].action is Action.CRAWL and not rest[0].within_domain


def _place_of_rest(rules: Sequence[Rule]) -> int:
    """Return the place of the rule for all URLs that no other rule is about."""
    return next((n for n, rule in enumerate(rules) if _is_of_rest(rule)), len(rules))


def _is_of_rest(rule: Rule) -> bool:
    """Does it bound the crawl? A pause or take-down of everything is no bound: it has an order of its own."""
    return rule.is_for_all and rule.action in (Action.CRAWL, Action.SKIP)


def limited(policy: Policy, pages_max: int | None) -> Policy:
    """Have the mesh visit so many pages at most; None leaves that as it is."""
    return policy if pages_max is None else replace(policy, pages_max=pages_max)


def undoing(
    policy: Policy | None, since: datetime, until: datetime, reason: str, peer: str | None = None
) -> Policy:
    """Have pages visited again that were visited between two times, the whole last second included.

    Args:
      peer: that has made these visits; None for all peers.

    Raises:
      ConfigError: the times are in the wrong order.
    """
    policy = policy or OF_SEEDS
    try:
        end = until.replace(microsecond=0) + timedelta(seconds=1)
        undo = Undo(since=since, until=end, reason=reason, peer=peer)
    except ValueError as error:
        raise ConfigError(f"{error}: give an earlier time") from error
    return replace(policy, undo=(*policy.undo, undo)[-UNDO_MAX:])


def guided(policy: Policy | None, words: Sequence[str], order: Order | None) -> Policy:
    """Have new pages visited by these guide words as well.

    Args:
      order: None for the one that there is if it goes by guide words, else focused.

    Raises:
      ConfigError: there are too many, or the order does not go by any.
    """
    if order is not None and order not in GUIDED:
        raise ConfigError(f"the order {order} goes by no words: say {', '.join(GUIDED)}")
    policy = policy or OF_SEEDS
    before = policy.ordering or PLAIN
    guide_words = tuple(dict.fromkeys((*before.guide_words, *words)))
    if len(guide_words) > GUIDE_WORDS_MAX:
        raise ConfigError(
            f"a policy has {GUIDE_WORDS_MAX} guide words at most, this one would have {len(guide_words)}: "
            "take some out (tianmesh policy show, then set)"
        )
    order = order or (before.order if before.order in GUIDED else Order.FOCUSED)
    return replace(policy, ordering=replace(before, order=order, guide_words=guide_words))


def allowing(policy: Policy | None, private: Iterable[str]) -> Policy:
    """Let these names, with all below them, and networks be asked though their addresses are private.

    Raises:
      ConfigError: one is neither.
    """
    policy = policy or OF_SEEDS
    entries = dict.fromkeys((*policy.allow_private, *(text.strip().strip(".").lower() for text in private)))
    try:
        allowed = msgspec.convert(list(entries), Annotated[tuple[Private, ...], Meta(max_length=PRIVATE_MAX)])
    except msgspec.ValidationError as error:
        raise ConfigError(f"--allow-private takes host names and networks as 10.1.0.0/16: {error}") from error
    return replace(policy, allow_private=allowed)


# --- The log of searches ---


def keeping_log(policy: Policy | None, days: int, today: date, *, clicks: bool) -> Policy:
    """Keep a log of searches for so many days; 0 for none. Forgotten queries stay so.

    A log that begins has nothing of days before: a peer that was down may have rows of one that was ended.
    """
    policy = policy or OF_SEEDS
    if not days:
        return replace(policy, query_log=None)
    before = policy.query_log or QueryLogRules(days=days, forgotten_to=today - timedelta(days=1))
    wants_clicks = {} if clicks else {"second": None, "click_weight": 0.0}
    return replace(policy, query_log=replace(before, days=days, clicks=clicks, **wants_clicks))


def forgetting(policy: Policy | None, query: str, to: date, today: date) -> Policy:
    """Forget a query up to a day.

    Args:
      query: "" for all.

    Raises:
      ConfigError: there is no log, or too much of it is forgotten query by query.
    """
    rules = None if policy is None else policy.query_log
    if policy is None or rules is None:
        raise ConfigError("the mesh keeps no log of searches: there is nothing to forget")
    if not query:
        rules = replace(rules, forgotten_to=max(to, rules.forgotten_to or to))
        return replace(policy, query_log=rules)
    digest = query_digest(logged_text(query)).hex()
    first_kept = today - timedelta(days=rules.days - 1)
    others = [each for each in rules.forgotten if each.digest != digest and each.to >= first_kept]
    if len(others) >= FORGOTTEN_MAX:
        raise ConfigError(
            f"{FORGOTTEN_MAX:,} queries are forgotten already: give --before DAY or --all, or wait until the "
            "first of them are older than the log"
        )
    forgotten = (*others, ForgottenQuery(digest=digest, to=to))
    return replace(policy, query_log=replace(rules, forgotten=forgotten))


# --- Ends ---


def ending(policy: Policy, end_s: float) -> Policy:
    """Give each rule the end of the whole policy, after which it is as if there was none.

    So what is added to it has no end of its own accord: a pause holds until it is taken back, and what is
    taken down is not shown again.

    Args:
      end_s: seconds since the epoch; inf for never.
    """
    if end_s == inf:
        return policy
    end = datetime.fromtimestamp(end_s, UTC)
    rules = [replace(rule, until=min(rule.until or end, end)) for rule in policy.rules]
    return _with(policy, [*rules, SEEDS_ELSE])


# --- Pauses and take-downs ---


def paused(policy: Policy | None, what: Rule | None) -> Policy:
    """Let the hosts of a rule wait; all hosts when it is None."""
    rule = Rule(action=Action.PAUSE) if what is None else replace(what, action=Action.PAUSE)
    return _inserted(policy, rule, behind=lambda other: other.action is Action.TAKE_DOWN)


def resumed(policy: Policy | None, what: Rule | None) -> Policy:
    """Take the pause of the same hosts back.

    Raises:
      ConfigError: they are not paused.
    """
    return _without(policy, Rule(action=Action.PAUSE) if what is None else what, Action.PAUSE, "paused")


def taken_down(policy: Policy | None, what: Rule, reason: str) -> Policy:
    """Show nothing more of the pages that a rule matches, nor visit them."""
    rule = replace(what, action=Action.TAKE_DOWN, reason=reason)
    return _inserted(policy, rule, behind=lambda other: False)


def restored(policy: Policy | None, what: Rule) -> Policy:
    """Take a take-down back.

    Raises:
      ConfigError: there is none of this.
    """
    return _without(policy, what, Action.TAKE_DOWN, "taken down")


def restored_by(old: Policy | None, new: Policy) -> list[str]:
    """Name the hosts, URLs and other targets that the old policy takes down and the new one does not."""
    kept = [rule for rule in new.rules if rule.action is Action.TAKE_DOWN]
    lost = [
        rule
        for rule in (old.rules if old is not None else ())
        if rule.action is Action.TAKE_DOWN and not any(_is_same(rule, other) for other in kept)
    ]
    return [name for rule in lost for names in _conditions(rule) for name in names]


def with_links_told_anew(old: Policy | None, new: Policy, now: datetime) -> Policy:
    """Have all pages asked for as a whole if any is shown again: links to it were forgotten, or not taken."""
    graph = new.link_graph
    if graph is None or not restored_by(old, new) or (graph.since is not None and graph.since >= now):
        return new
    return replace(new, link_graph=replace(graph, since=now))


def _inserted(policy: Policy | None, rule: Rule, behind: Callable[[Rule], bool]) -> Policy:
    rules = [SEEDS_ELSE] if policy is None else list(policy.rules)
    rules = [other for other in rules if not _is_same(other, rule)]
    place = next((place for place, other in enumerate(rules) if not behind(other)), len(rules))
    return _with(policy, [*rules[:place], rule, *rules[place:]])


def _without(policy: Policy | None, what: Rule, action: Action, state: str) -> Policy:
    rules = () if policy is None else policy.rules
    left = [rule for rule in rules if not _is_same(rule, replace(what, action=action))]
    if len(left) == len(rules):
        raise ConfigError(f"that is not {state}; see what is: tianmesh policy show")
    return _with(policy, left)


def _conditions(rule: Rule) -> tuple[tuple[str, ...], ...]:
    return rule.hosts, rule.domains, rule.urls, rule.media_types, rule.languages, rule.addresses


def _is_same(one: Rule, other: Rule) -> bool:
    """Do they do the same with the same URLs?"""
    return (one.action, _conditions(one)) == (other.action, _conditions(other))


def _is_alike(one: Rule, other: Rule) -> bool:
    """Do they do the same with domains, the same with URLs, or the same with addresses?"""
    kinds = [(bool(rule.domains), bool(rule.urls), bool(rule.addresses)) for rule in (one, other)]
    if one.hosts or kinds[0] != kinds[1] or sum(kinds[0]) != 1:
        return False
    bare, bare_other = (replace(rule, domains=(), urls=(), addresses=()) for rule in (one, other))
    return bare == bare_other


def _merged(one: Rule, other: Rule) -> Rule:
    return replace(
        one,
        domains=tuple(dict.fromkeys((*one.domains, *other.domains))),
        urls=tuple(dict.fromkeys((*one.urls, *other.urls))),
        addresses=tuple(dict.fromkeys((*one.addresses, *other.addresses))),
    )


def _with(policy: Policy | None, rules: list[Rule]) -> Policy:
    if len(rules) > RULES_MAX:
        raise ConfigError(
            f"a policy has at most {RULES_MAX:,} rules, and this one would have {len(rules):,}: "
            "write one rule with several domains instead of many (tianmesh policy show, then set)"
        )
    return replace(policy or Policy(), rules=tuple(rules))
