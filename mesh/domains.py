"""Registrable domains: names that somebody has registered, and answers for with all names below them.

The Public Suffix List says under which names anybody may register one (`cn`, `edu.cn`, `github.io`). It
comes with its library; a list of another day changes few names, and no two peers have to agree on it.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

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
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList()
