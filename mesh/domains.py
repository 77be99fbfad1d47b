"""Registrable domains: names that somebody has registered, and answers for with all names below them.

The Public Suffix List says under which names anybody may register one (`cn`, `edu.cn`, `github.io`). It
comes with its library; a list of another day changes few names, and no two peers have to agree on it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from ada_url import idna_to_ascii

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

DOMAINS_REMEMBERED: Final = 1 << 16  # 12 MB; finding one takes 6 us


@lru_cache(DOMAINS_REMEMBERED)
def registrable_domain(host: str) -> str:
    """Return the registrable domain of a host: the host itself for an address or a public suffix.

    Args:
      host: as given by `urls.host_of`.
    """
    if host.startswith("[") or host[-1:].isdigit():  # no top-level domain ends in a digit
        return host
    return _suffixes().privatesuffix(host) or host


def may_speak_for(host: str, other: str) -> bool:
    """Tell whether one host's word about another, or its likeness to it, counts as that other's own word.

    It does within a registrable domain. What strangers say of a page is a link to it and no more: they cannot
    hide it, take its place, or write its history.
    """
    return host == other or registrable_domain(host) == registrable_domain(other)


def load_suffixes() -> None:
    """Read the list now, 0.13 s for which nothing else would run, and not when it is needed first."""
    _suffixes()


@cache
def _suffixes() -> PublicSuffixList:
    from publicsuffixlist import PSLFILE, PublicSuffixList

    lines = Path(PSLFILE).read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("//")]
    # Left to it, it makes the names that hosts have of each rule, though most are of letters that stay as
    # they are: that takes twice the time, and 14 times as many calls.
    names = [_in_letters_of_hosts(rule) for rule in rules if not rule.isascii()]
    return PublicSuffixList([*rules, *names], accept_encoded_idn=False)


def _in_letters_of_hosts(rule: str) -> str:
    sign = rule[: rule[0] == "!"]  # of an exception
    labels = rule.removeprefix(sign).split(" ")[0].rstrip().split(".")
    return sign + ".".join(each if each.isascii() else idna_to_ascii(each).decode() for each in labels)
