"""The versions that only the malicious member read while it lied: nobody else is held to them.

It may keep a page to itself, or what that links to, and others may rightly take nothing from it. So a version
that nobody else has read counts as stored when the lies are over, if it is on some disk by then; and what is
linked from a page must be known once another one has read that page, or the same one when it lies no more.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

from xxhash import xxh3_64_digest

if TYPE_CHECKING:
    from simulations.faults.machine import Machine
    from simulations.webs.web import Served

_NOT_MODIFIED: Final = 304


class DoubtfulVersions:
    """The readers of each version of each page, as far as they matter."""

    def __init__(self) -> None:
        """Begin without a liar."""
        self.liar: Machine | None = None
        self.lies_until_s = inf
        self._is_read: set[str] = set()  # URLs that somebody else has read
        self._by_others: set[tuple[str, bytes]] = set()  # with the digest of the body
        self._by_liar: set[tuple[str, bytes]] = set()
        self._told: dict[tuple[str, bytes], Machine] = {}  # versions that its table calls stored

    def requested(self, machine: Machine, url: str, served: Served, now: float) -> None:
        """Note the reader of a page; a 304 (not modified) says nothing about the content."""
        if self.liar is None or served.status == _NOT_MODIFIED:
            return
        version = url, xxh3_64_digest(served.body)
        if machine is self.liar and now < self.lies_until_s:
            self._by_liar.add(version)
        else:
            self._is_read.add(url)
            self._by_others.add(version)

    def is_read(self, url: str) -> bool:
        """Has any member that can be held to it read this page?"""
        return self.liar is None or url in self._is_read

    def is_of_liar(self, url: str, digest: bytes | None) -> bool:
        """Did the liar read this version when it lied, or any of the page?

        Then others may have another text of it, also when they have read it since: it has not changed.
        """
        if digest is None:
            return any(url == of_liar for of_liar, _ in self._by_liar)
        return (url, digest) in self._by_liar

    def is_doubtful(self, machine: Machine, url: str, digest: bytes) -> bool:
        """Has a machine of some version that is stored nothing but the word of the liar?"""
        version = url, digest
        if version not in self._by_liar or version in self._by_others:
            return False
        self._told.setdefault(version, machine)
        return True

    def confirm(self, is_there: Callable[[str, bytes], bool]) -> list[tuple[Machine, str, bytes]]:
        """After the lies, return the doubtful versions on disks, with the machines that told of them."""
        there = [
            (machine, *version)
            for version, machine in self._told.items()
            if version not in self._by_others and is_there(*version)
        ]
        self._by_others.update((url, digest) for _, url, digest in there)
        return there
