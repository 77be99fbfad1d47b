"""Patterns of URLs, in which `*` stands for any characters: which URLs they match, and on which host.

A pattern is matched by the pieces between its stars, one after the other, each where it stands first: what is
left for those behind is never more than that, so nothing is tried twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from mesh.urls import canonical_with_ftp, host_of

_SCHEMES: Final = ("http://", "https://", "ftp://")
_WITH_HOST: Final = re.compile(r"(?:https?|ftp)://[^/*]+/")


class UrlSet:
    """The URLs that any of some patterns match."""

    __slots__ = ("_urls", "_with_stars")

    def __init__(self, patterns: Iterable[str]) -> None:
        patterns = tuple(patterns)
        self._urls = frozenset(pattern for pattern in patterns if "*" not in pattern)
        in_pieces = [pattern.split("*") for pattern in patterns if "*" in pattern]
        self._with_stars = [(max(pieces, key=len), pieces) for pieces in in_pieces]

    def __contains__(self, url: str) -> bool:
        if url in self._urls:
            return True
        for longest, pieces in self._with_stars:  # noqa: SIM110 (a generator takes twice as long)
            if longest in url and _is_match(pieces, url):
                return True
        return False


def host_in(pattern: str) -> str | None:
    """Return the host of all URLs that a pattern matches; None when they may be of any."""
    with_host = _WITH_HOST.match(pattern)
    return None if with_host is None else host_of(with_host[0])


def spelt(pattern: str) -> str | None:
    """Spell a pattern as canonical URLs are, as far as it gives their scheme and host.

    Returns:
      None when it matches nothing, however it is spelt: it begins neither like a URL nor with `*`.
    """
    if "*" not in pattern:
        return canonical_with_ftp(pattern)
    scheme, separator, rest = pattern.partition("://")
    if not separator or "*" in scheme:
        begin = pattern.partition("*")[0]
        return pattern if any(each.startswith(begin) for each in _SCHEMES) else None
    authority, slash, path = rest.partition("/")
    if f"{scheme.lower()}://" not in _SCHEMES:
        return None
    if "*" in authority:
        return f"{scheme.lower()}://{authority.lower()}{slash}{path}"
    root = canonical_with_ftp(f"{scheme}://{authority}/")
    return None if root is None else root + path


def fault_of(pattern: str) -> str:
    """Tell why a pattern matches nothing, or not the URLs it seems to; "" when it is as it should be."""
    right = spelt(pattern)
    if right is None:
        return f"{pattern!r} matches no URL: begin a pattern with http://, https://, ftp:// or *"
    return "" if right == pattern else f"{pattern!r} matches no URL: write it {right!r}"


def _is_match(pieces: list[str], url: str) -> bool:
    first, last = pieces[0], pieces[-1]
    at, end = len(first), len(url) - len(last)
    if at > end or not (url.startswith(first) and url.endswith(last)):
        return False
    for piece in pieces[1:-1]:
        found = url.find(piece, at, end)
        if found < 0:
            return False
        at = found + len(piece)
    return True
