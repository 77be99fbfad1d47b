"""Which rule of a policy decides about a URL, in words."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from mesh.errors import ConfigError
from mesh.urls import FTP, canonical_with_ftp, host_of
from peers.policy.patterns import UrlSet
from peers.policy.rules import Policy, Rule

_NO_FTP = "no rule has a pattern that begins with ftp:// and matches it: it is not visited"


def explained(policy: Policy, text: str, address: str, now: float) -> Iterator[str]:
    """Yield a line for each rule that may decide about a URL.

    Args:
      address: of its host, "" when not known.
      now: seconds since the epoch.

    Raises:
      ConfigError: this is no URL, or no address.
    """
    url = canonical_with_ftp(text)
    if url is None:
        raise ConfigError(f"{text!r} is no URL of a web page; give one with http:// or https://")
    if address:
        _check(address)
    numbers = {id(rule): number for number, rule in enumerate(policy.rules, 1)}
    for rule in policy.at(now).rules_for(url, address):
        decision = _NO_FTP if rule is None and url.startswith(FTP) else _decision(rule, numbers, address)
        yield f"{url}: {decision}"


def _decision(rule: Rule | None, numbers: dict[int, int], address: str) -> str:
    if rule is None:
        return "no rule matches: it is not visited, and counted as an error of the policy (unruled)"
    is_open = rule.addresses and not address
    where = f" if its host is in {', '.join(rule.addresses)}, else" if is_open else ""
    what = " if it is such a page" if rule.is_of_pages else ""
    what += " if it is a seed, or linked to from its own domain" if rule.within_domain else ""
    reason = f" ({rule.reason})" if rule.reason else ""
    return f"rule {numbers[id(rule)]} decides: {rule.action}{reason}{what}{where}"


def _check(address: str) -> None:
    try:
        ip_address(address)
    except ValueError as error:
        raise ConfigError(f"--address: {error}") from error


def deciding(policy: Policy, url: str, address: str, now: float) -> Iterator[tuple[int, Rule | None]]:
    """Yield the rules that may decide about a canonical URL with their numbers from 1; 0 and None for none.

    Args:
      address: of its host, "" when not known.
      now: seconds since the epoch.
    """
    numbers = {id(rule): number for number, rule in enumerate(policy.rules, 1)}
    for rule in policy.at(now).rules_for(url, address):
        yield (0 if rule is None else numbers[id(rule)]), rule


def number_of_rule(policy: Policy, rule: Rule) -> int:
    """Return the place of a rule in a policy, from 1."""
    return next(number for number, each in enumerate(policy.rules, 1) if each is rule)


def condition_of(rule: Rule, url: str) -> str:
    """Return the condition by which a rule matches a canonical URL: `urls https://a.org/*`; "" for none."""
    host = host_of(url)
    pattern = next((each for each in rule.urls if url in UrlSet((each,))), None)
    if pattern is not None:
        return f"urls {pattern}"
    if host in rule.hosts:
        return f"hosts {host}"
    domain = next((each for each in rule.domains if host == each or host.endswith(f".{each}")), None)
    return "" if domain is None else f"domains {domain}"
