"""Groups of pages with the same content, in a table, and the role that each page was told.

    slot(2) content(8) slot(2) page(16)
        -> version, copies told, whether confirmed, standing, first seen, domain, canonical

The first slot is that of the content, the second that of the page.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from struct import Struct
from typing import Final, NamedTuple

from mesh.tables.table import Table
from peers.copies.content_row import (
    DOMAIN_BYTES,
    STANDING_BYTES,
    VERSION_BYTES,
    standing_between,
)
from peers.copies.wire_messages import ToldContent
from peers.engine.segments.live_segment import COPY, FOLDED, stands_for_others

UNKNOWN: Final = -2  # what a page was told: it may be hidden or not
# Pages of other domains that are found, and stand under the one that is shown: more are nobody's to be seen.
FOLDED_MAX: Final = 3
_VALUE: Final = Struct(f">{VERSION_BYTES}si?{STANDING_BYTES}sI{DOMAIN_BYTES}s")
_GROUP: Final = Struct(">HQ")
_PAGE: Final = Struct(">H16s")
GROUP_BYTES: Final = _GROUP.size
NO_VERSION: Final = bytes(VERSION_BYTES)


class GroupPage(NamedTuple):
    """A page of a group."""

    key: bytes
    version: bytes  # of its row, as was told last
    told: int  # as what it was named, as far as we know; UNKNOWN
    has_confirmed: bool  # it is shown, has that content, and said so since something was heard of it
    standing: bytes
    canonical: bytes
    first_s: int
    domain: bytes  # a digest of the registrable domain

    @property
    def group(self) -> bytes:
        return self.key[:GROUP_BYTES]

    @property
    def content(self) -> int:
        return int.from_bytes(self.key[2:GROUP_BYTES], "big")

    @property
    def slot(self) -> int:
        """Of the page."""
        return int.from_bytes(self.key[GROUP_BYTES : GROUP_BYTES + 2], "big")

    @property
    def is_elsewhere(self) -> bool:
        """Does it say that another page is to be shown for it?"""
        return self.canonical not in (b"", self.page)

    @property
    def page(self) -> bytes:
        return self.key[GROUP_BYTES + 2 :]

    def encode(self) -> bytes:
        said = self.told, self.has_confirmed, self.standing, self.first_s, self.domain
        return _VALUE.pack(self.version, *said) + self.canonical


def group_of(content: int, slot_count: int) -> bytes:
    """Return the key of a group: the slot of its content, then that."""
    return _GROUP.pack(content % slot_count, content)


def slot_in(group: bytes) -> int:
    """Return the slot of the content of a group."""
    return int.from_bytes(group[:2], "big")


def representatives_of(members: Sequence[GroupPage]) -> list[GroupPage]:
    """Return the page that is shown, and behind it those that stand for other domains, the best first.

    A page that names another one of the group gives way to it, wherever that is: it speaks for itself. Within
    a registrable domain a page goes first that is named there, perhaps by itself, and last one that names a
    page that is not here; of others the one whose `standing_of` is the least. Between domains no page has a
    say in what becomes of others: there the one stands for all to which most other domains link, then that of
    the domain that was seen first with it, whichever of its pages represents it, then the short address.

    It depends on what the pages say alone, so whoever keeps the group comes to the same.
    """
    pages = {each.page for each in members}
    staying = [each for each in members if not (each.is_elsewhere and each.canonical in pages)]
    named = {(each.canonical, each.domain) for each in members}
    best: dict[bytes, GroupPage] = {}  # by domain
    for each in sorted(staying or members, key=lambda each: _rank_within(each, named)):
        best.setdefault(each.domain, each)
    first_s: dict[bytes, int] = {}  # likewise
    for each in members:
        first_s[each.domain] = min(each.first_s, first_s.get(each.domain, each.first_s))
    return sorted(best.values(), key=lambda each: _rank_between(each, first_s[each.domain]))


def _rank_within(member: GroupPage, named: Set[tuple[bytes, bytes]]) -> tuple[object, ...]:
    return ((member.page, member.domain) not in named, member.is_elsewhere, member.standing, member.key)


def _rank_between(member: GroupPage, first_s: int) -> tuple[object, ...]:
    linked, size = standing_between(member.standing)
    return (member.is_elsewhere, linked, first_s, size, member.key)


def to_tell(members: Sequence[GroupPage]) -> list[tuple[GroupPage, int]]:
    """Return the pages of a group to tell now, each with its role; none when all is said and done.

    The copies are told only when the representative has confirmed that it is shown. Pages that stand for
    other domains are not hidden, but shown under it, the first of them.
    """
    if not members:
        return []
    shown, *others = representatives_of(members)
    n_copies = len(members) - 1
    if not n_copies:
        return [(shown, 0)] if shown.told else []
    folded = others[:FOLDED_MAX]
    reports = [(shown, n_copies)] if shown.told != n_copies or not shown.has_confirmed else []
    reports += [(each, FOLDED) for each in folded if each.told != FOLDED]
    if shown.has_confirmed and stands_for_others(shown.told):
        found = {each.key for each in (shown, *folded)}
        reports += [(each, COPY) for each in members if each.key not in found and each.told != COPY]
    return reports


class Groups:
    """The groups of pages with contents that this peer answers for."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def members(self, group: bytes) -> list[GroupPage]:
        return [_member(key, value) for key, value in self._table.scan_prefix(group)]

    def note(self, group: bytes, told: ToldContent) -> bool:
        """Take in news of a page's content; return whether the group may have something to say about it."""
        key = group + _PAGE.pack(told.slot, told.page)
        first = [_member(*row) for row in self._table.scan_prefix(group, limit=2)]
        before = next((each for each in first if each.key == key), None)
        if before is None and len(first) == 2:
            before = self._member_at(key)
        if before is not None and told.version < before.version:
            return False  # it was overtaken
        if not told.is_there:
            if before is not None:
                self._table.delete(key)
            return before is not None
        is_known = before is not None and before.has_confirmed and before.version == told.version
        # What was told before the page left the group may come after that, and what was told before it was
        # named when it has noted that, and more than once: who says something else than we know is asked.
        is_as_known = told.n_copies != COPY if before is None else told.n_copies == before.told
        named = told.n_copies if is_as_known else UNKNOWN
        said = told.standing, told.canonical, told.first_s, told.domain
        self._put(GroupPage(key, told.version, named, is_known, *said))
        return named != 0 or any(each.key != key for each in first)

    def note_asked(self, member: GroupPage) -> None:
        """A page is being named: whether it hears of it is not known, until it says so."""
        self._put(member._replace(told=UNKNOWN))

    def note_told(self, key: bytes, n_copies: int) -> None:
        """A page has been named, and its index goes by it."""
        member = self._member_at(key)
        if member is not None:
            self._put(member._replace(told=n_copies, has_confirmed=stands_for_others(n_copies)))

    def remove(self, key: bytes) -> None:
        """A page does not have that content."""
        self._table.delete(key)

    def doubt(self, member: GroupPage) -> None:
        """Forget the role that a page was told, to tell it again: another peer answers for it, or may."""
        self._put(member._replace(version=NO_VERSION, told=UNKNOWN, has_confirmed=False))

    def doubt_page(self, group: bytes, told: ToldContent) -> bool:
        """Doubt a page of which a peer not answering for it says that it has left; tell if it was there."""
        member = self._member_at(group + _PAGE.pack(told.slot, told.page))
        if member is not None:
            self.doubt(member)
        return member is not None

    def rows(self, after: bytes, limit: int) -> list[GroupPage]:
        """Return members of all groups in the order of keys, from the one after `after`."""
        start = after + b"\0" if after else b""
        return [_member(key, value) for key, value in self._table.scan(start, limit=limit)]

    def is_alone(self, group: bytes) -> bool:
        return sum(1 for _ in self._table.scan_prefix(group, limit=2)) < 2

    def _member_at(self, key: bytes) -> GroupPage | None:
        value = self._table.get(key)
        return None if value is None else _member(key, value)

    def _put(self, member: GroupPage) -> None:
        self._table.put(member.key, member.encode())


def _member(key: bytes, value: bytes) -> GroupPage:
    version, told, has_confirmed, standing, first_s, domain = _VALUE.unpack_from(value)
    return GroupPage(key, version, told, has_confirmed, standing, value[_VALUE.size :], first_s, domain)
