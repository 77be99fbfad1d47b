"""Policies that differ by one wish: a wider scope, a pause, a take-down, and each of these taken back.

A policy that commands have made has this order: what is taken down, what is paused, what a person has written
into it, what is crawled, and last what becomes of everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec.structs import replace

from mesh.domains import registrable_domain
from mesh.errors import ConfigError
from mesh.urls import canonical, host_of
from peers.policy.rules import RULES_MAX, Action, Policy, Rule

NOTHING_ELSE: Final = Rule(action=Action.SKIP)
ALL_ELSE: Final = Rule(action=Action.CRAWL)


def target(text: str) -> Rule:
    """Read what a person means by a URL, a pattern, a host or a domain; the action is to be replaced.

    `https://a.org/b` is that page, `https://a.org/b*` all that begin so, `a.org` that name and all below.

    Raises:
      ConfigError: it is none of these.
    """
    if "*" in text:
        return _rule(text, urls=(text,))
    if "/" in text:
        url = canonical(text)
        if url is None:
            raise ConfigError(f"{text!r} is no URL of a web page; give one with http:// or https://")
        return _rule(text, urls=(url,))
    root = canonical(f"http://{text.strip('.')}/")
    if root is None:
        raise ConfigError(f"{text!r} is neither a host name, nor a URL, nor a pattern with *")
    return _rule(text, domains=(host_of(root),))


def _rule(text: str, *, urls: tuple[str, ...] = (), domains: tuple[str, ...] = ()) -> Rule:
    try:
        return msgspec.convert({"action": "skip", "urls": urls, "domains": domains}, Rule)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{text!r} cannot be used: {error}") from error


def domains_of(urls: Iterable[str]) -> tuple[str, ...]:
    """Return the registrable domains of canonical URLs, each once."""
    return tuple(dict.fromkeys(registrable_domain(host_of(url)) for url in urls))


# --- Scope ---


def widened(policy: Policy | None, scopes: Sequence[Rule], limits: Rule) -> Policy:
    """Crawl what these match as well, by these limits; what other rules say of it goes before.

    Args:
      policy: None when there is none yet: then nothing else is crawled.
      scopes: see `target`.
      limits: a rule without conditions.
    """
    rules = (NOTHING_ELSE,) if policy is None else policy.rules
    last = rules[-1:] if rules and _is_for_all(rules[-1]) else ()
    before = list(rules[: len(rules) - len(last)])
    domains = dict.fromkeys(name for scope in scopes for name in scope.domains)
    urls = dict.fromkeys(pattern for scope in scopes for pattern in scope.urls)
    new = [replace(limits, domains=tuple(domains))] if domains else []
    new += [replace(limits, urls=tuple(urls))] if urls else []
    for rule in new:
        place = next((n for n, other in enumerate(before) if _is_alike(other, rule)), len(before))
        before[place : place + 1] = [_merged(before[place], rule) if place < len(before) else rule]
    return _with([*before, *last])


def anywhere(policy: Policy | None, limits: Rule) -> Policy:
    """Crawl by these limits whatever no other rule is about."""
    rules = () if policy is None else policy.rules
    return _with([*(rule for rule in rules if not _is_for_all(rule) or rule.action is Action.PAUSE), limits])


def goes_anywhere(policy: Policy) -> bool:
    """Is a page crawled that no rule is about?"""
    return bool(policy.rules) and _is_for_all(policy.rules[-1]) and policy.rules[-1].action is Action.CRAWL


# --- Pauses and take-downs ---


def paused(policy: Policy | None, what: Rule | None) -> Policy:
    """Let hosts wait; all of them when `what` is None."""
    rule = Rule(action=Action.PAUSE) if what is None else replace(what, action=Action.PAUSE)
    return _inserted(policy, rule, behind=lambda other: other.action is Action.TAKE_DOWN)


def resumed(policy: Policy | None, what: Rule | None) -> Policy:
    """Take the pause of the same hosts back.

    Raises:
      ConfigError: they are not paused.
    """
    return _without(policy, Rule(action=Action.PAUSE) if what is None else what, Action.PAUSE, "paused")


def taken_down(policy: Policy | None, what: Rule, reason: str) -> Policy:
    """Show nothing more of what `what` matches, nor visit it."""
    rule = replace(what, action=Action.TAKE_DOWN, reason=reason)
    return _inserted(policy, rule, behind=lambda other: False)


def restored(policy: Policy | None, what: Rule) -> Policy:
    """Take a take-down back.

    Raises:
      ConfigError: there is none of this.
    """
    return _without(policy, what, Action.TAKE_DOWN, "taken down")


def restored_by(old: Policy | None, new: Policy) -> list[str]:
    """Name what one policy takes down and the other does not."""
    kept = [rule for rule in new.rules if rule.action is Action.TAKE_DOWN]
    lost = [
        rule
        for rule in (old.rules if old is not None else ())
        if rule.action is Action.TAKE_DOWN and not any(_is_same(rule, other) for other in kept)
    ]
    return [name for rule in lost for names in _conditions(rule) for name in names]


def _inserted(policy: Policy | None, rule: Rule, behind: Callable[[Rule], bool]) -> Policy:
    rules = [ALL_ELSE] if policy is None else list(policy.rules)
    rules = [other for other in rules if not _is_same(other, rule)]
    place = next((place for place, other in enumerate(rules) if not behind(other)), len(rules))
    return _with([*rules[:place], rule, *rules[place:]])


def _without(policy: Policy | None, what: Rule, action: Action, state: str) -> Policy:
    rules = () if policy is None else policy.rules
    left = [rule for rule in rules if not _is_same(rule, replace(what, action=action))]
    if len(left) == len(rules):
        raise ConfigError(f"that is not {state}; see what is: tianmesh policy show")
    return _with(left)


def _conditions(rule: Rule) -> tuple[tuple[str, ...], ...]:
    return rule.hosts, rule.domains, rule.urls


def _is_same(one: Rule, other: Rule) -> bool:
    """Do they do the same with the same URLs?"""
    return (one.action, _conditions(one)) == (other.action, _conditions(other))


def _is_alike(one: Rule, other: Rule) -> bool:
    """Do they do the same with hosts, or the same with URLs?"""
    is_same_kind = (
        not one.hosts and bool(one.domains) == bool(other.domains) and bool(one.urls) == bool(other.urls)
    )
    return is_same_kind and replace(one, domains=(), urls=()) == replace(other, domains=(), urls=())


def _merged(one: Rule, other: Rule) -> Rule:
    return replace(
        one,
        domains=tuple(dict.fromkeys((*one.domains, *other.domains))),
        urls=tuple(dict.fromkeys((*one.urls, *other.urls))),
    )


def _is_for_all(rule: Rule) -> bool:
    return not any(_conditions(rule))


def _with(rules: list[Rule]) -> Policy:
    if len(rules) > RULES_MAX:
        raise ConfigError(
            f"a policy has at most {RULES_MAX:,} rules, and this one would have {len(rules):,}: "
            "write one rule with several domains instead of many (tianmesh policy show, then set)"
        )
    return Policy(rules=tuple(rules))
