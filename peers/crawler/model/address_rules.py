"""The policy's rules on the addresses of a host, for the fetcher that looks its name up. Pure.

Only the fetcher knows where a host is, and only the controller what the policy wants of a page. So the
request for a page says what becomes of it at which addresses, when that makes a difference; the first that
matches counts, and an address that none is about must not be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import msgspec

from peers.policy.rules import is_within


class PageRule(msgspec.Struct, frozen=True):
    """Whether a page is asked for at some addresses."""

    networks: tuple[str, ...]  # empty for all
    reason: str = ""  # why not; "" when it is


class HostRule(msgspec.Struct, frozen=True):
    """How a host is asked at some addresses."""

    networks: tuple[str, ...]  # empty for all
    pause_s: float  # until it may be asked
    delay_s: float  # for which the address is left alone after that


class AddressVerdict(msgspec.Struct, frozen=True):
    """The decision on a request at one address: refused, paused or made."""

    reason: str  # why it is not made there; "" when it is, now or later
    pause_s: float  # until then
    delay_s: float

    @property
    def is_to_ask(self) -> bool:
        return not (self.reason or self.pause_s)


class AddressRules(msgspec.Struct, frozen=True):
    """The rules for a request, by address."""

    page: tuple[PageRule, ...]
    host: tuple[HostRule, ...]  # the last for all addresses

    def at(self, address: str) -> AddressVerdict:
        page = _first(self.page, address)
        host = _first(self.host, address)
        assert host is not None, "the last one is for all addresses"
        return AddressVerdict("unruled" if page is None else page.reason, host.pause_s, host.delay_s)

    def to_ask(self, addresses: Iterable[str]) -> tuple[str, ...]:
        """Return those of some addresses that may be asked now, in their order."""
        return tuple(address for address in addresses if self.at(address).is_to_ask)

    def refusal(self, addresses: Sequence[str]) -> tuple[str, AddressVerdict]:
        """Return, when no address may be asked, the one that may be so first, and the verdict on it."""
        verdicts = [(address, self.at(address)) for address in addresses]
        return min(verdicts, key=lambda each: (each[1].reason != "", each[1].pause_s))


_Rule = TypeVar("_Rule", PageRule, HostRule)


def _first(rules: Iterable[_Rule], address: str) -> _Rule | None:
    return next((rule for rule in rules if not rule.networks or is_within(address, rule.networks)), None)
