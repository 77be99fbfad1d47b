"""Groups of contents that this peer answers for, and the roles told to their pages, until these note them."""

from __future__ import annotations

from collections import defaultdict
from math import inf
from typing import Final, NamedTuple

import numpy as np

from mesh.actors.actor import Address, Send
from mesh.actors.delivery import Delivery, DeliverySettings, in_batches
from mesh.actors.ownership import Ownership
from mesh.slot_set import SlotMask
from mesh.tables.lives import numbers_of
from mesh.tables.table import Table
from peers.copies.groups import GroupPage, Groups, group_of, slot_in, to_tell
from peers.copies.wire_messages import PAGES_MAX, ContentsTold, PageRole, RolesNoted, RolesTold

LOOK_S: Final = 1.0  # after something is heard of a group, for company
# A large group is looked through less often: these many seconds for each page, a thousandth of a core.
LOOK_S_PER_PAGE: Final = 0.002
GROUPS_PER_TURN: Final = 256
ROWS_PER_TURN: Final = 1_000
TURN_PAUSE_S: Final = 0.05
_NAMING_BYTES: Final = 40
_SETTINGS: Final = DeliverySettings(again_s=2.0, again_max_s=10.0, give_up_s=30.0, window=16)


class _Named(NamedTuple):
    """The role of one page in a parcel."""

    member: GroupPage
    n_copies: int


class Roles:
    """Looks at groups of which something was heard, and tells each of their pages its role."""

    def __init__(self, me: str, actor: str, table: Table, life: int) -> None:
        """Take up the groups that the table has; all of them are looked at once the owners are known."""
        self._me = me
        self._actor = actor
        self._groups = Groups(table)
        self._ownership: Ownership | None = None
        self._delivery: Delivery[int, list[_Named]] = Delivery(_SETTINGS)
        self._numbers = numbers_of(life)
        self._due: dict[bytes, float] = {}  # groups to be looked at, and when
        self._look_at_s = inf  # none is due before
        self._rests: dict[bytes, float] = {}  # large ones, until when they rest
        self._telling: dict[bytes, int] = defaultdict(int)  # parcels under way, by group
        self._moved: SlotMask | None = None  # slots with another answerer, since all rows were looked at
        self._walked_to = b""
        self._walk_at_s = inf
        self.n_heard = self.n_named = self.n_unlike = 0

    def change_ownership(self, ownership: Ownership, moved: SlotMask, now: float) -> None:
        """Go by new answerers: forget groups that are others' now, and ask representatives again.

        Args:
          moved: slots that have another answerer.
        """
        self._ownership = ownership
        self._moved = moved if self._moved is None else self._moved | moved
        self._walked_to, self._walk_at_s = b"", now
        for peer, number, _ in self._delivery.parcels():
            self._end_parcel(self._delivery.withdraw(peer, number) or [], now)

    def note(self, source: Address, message: ContentsTold, now: float) -> bool:
        """Take in contents of pages; False if they are not for us, or not from a keeper: they come again."""
        ownership = self._ownership
        if ownership is None:
            return False
        slot_count = ownership.table.slot_count
        for page in message.pages:
            is_ours = ownership.answerer_of(page.content % slot_count) == self._me
            if not is_ours or page.slot >= slot_count or source.peer not in ownership.team_of(page.slot):
                return False
        for page in message.pages:
            group = group_of(page.content, slot_count)
            if not page.is_there and ownership.answerer_of(page.slot) != source.peer:
                if self._groups.doubt_page(group, page):  # who answers for it is asked
                    self._look_later(group, now)
                continue
            if self._groups.note(group, page):
                self._look_later(group, now)
        self.n_heard += len(message.pages)
        return True

    def note_answer(self, peer: str, message: RolesNoted, now: float) -> None:
        named = self._delivery.note_answer(peer, message.batch, now)
        if named is None:
            return
        unlike = set(message.unlike)
        self.n_unlike += len(unlike)
        for number, each in enumerate(named):
            if number in unlike:
                self._groups.remove(each.member.key)
            else:
                self._groups.note_told(each.member.key, each.n_copies)
        self._end_parcel(named, now)

    def wake(self, now: float) -> list[Send]:
        if self._walk_at_s <= now:
            self._walk(now)
        if self._look_at_s <= now:
            self._look(now)
        leaving, given_up = self._delivery.wake(now)
        for parcel in given_up:
            self._end_parcel(parcel.item, now)
        return [
            Send(Address(peer, self._actor), RolesTold(number, tuple(map(_naming, named))))
            for peer, number, named in leaving
        ]

    def wake_at(self) -> float:
        return min(self._walk_at_s, self._look_at_s, self._delivery.wake_at_s)

    @property
    def waiting_count(self) -> int:
        """The number of groups to be looked at, or with pages that have not noted the role they were told."""
        return len(self._due) + len(self._telling)

    # --- Looking at groups

    def _look_later(self, group: bytes, now: float) -> None:
        due_s = max(now + LOOK_S, self._rests.get(group, 0.0))
        self._due[group] = min(due_s, self._due.get(group, inf))
        self._look_at_s = min(self._look_at_s, self._due[group])

    def _look(self, now: float) -> None:
        """Tell the pages of some groups their roles."""
        self._rests = {group: until for group, until in self._rests.items() if until > now}
        due = [group for group, at_s in self._due.items() if at_s <= now and group not in self._telling]
        by_peer: dict[str, list[_Named]] = defaultdict(list)
        for group in due[:GROUPS_PER_TURN]:
            del self._due[group]
            for peer, named in self._tellings_of(group, now):
                self._groups.note_asked(named.member)
                by_peer[peer].append(named)
        for peer, some in by_peer.items():
            for batch in in_batches(some, lambda _: _NAMING_BYTES, items_max=PAGES_MAX, bytes_max=inf):
                for group in dict.fromkeys(each.member.group for each in batch):
                    self._telling[group] += 1
                size = _NAMING_BYTES * len(batch)
                self._delivery.add(peer, next(self._numbers), list(batch), size, now)
                self.n_named += len(batch)
        waiting = [at_s for group, at_s in self._due.items() if group not in self._telling]
        self._look_at_s = max(min(waiting, default=inf), now + TURN_PAUSE_S)

    def _tellings_of(self, group: bytes, now: float) -> list[tuple[str, _Named]]:
        ownership = self._ownership
        if ownership is None or ownership.answerer_of(slot_in(group)) != self._me:
            return []
        members = self._groups.members(group)
        rest_s = LOOK_S_PER_PAGE * len(members)
        if rest_s > LOOK_S:
            self._rests[group] = now + rest_s
        told = [(ownership.answerer_of(each.slot), each, n) for each, n in to_tell(members)]
        if any(peer is None for peer, _, _ in told):
            self._look_later(group, now)
        return [(peer, _Named(each, n)) for peer, each, n in told if peer is not None]

    def _end_parcel(self, named: list[_Named], now: float) -> None:
        """Look again at the groups of a parcel: now the next ones may be told, or the same again."""
        for group in dict.fromkeys(each.member.group for each in named):
            self._telling[group] -= 1
            if self._telling[group] <= 0:
                del self._telling[group]
            self._look_later(group, now)

    # --- When answerers change

    def _walk(self, now: float) -> None:
        """Look through some rows: forget those of others' groups, doubt pages that others answer for now."""
        ownership, moved = self._ownership, self._moved
        assert ownership is not None
        assert moved is not None
        rows = self._groups.rows(self._walked_to, ROWS_PER_TURN)
        for member in rows:
            self._walked_to = member.key
            if ownership.answerer_of(slot_in(member.group)) != self._me:
                self._groups.remove(member.key)
            elif moved[member.slot]:
                self._look_again(member, now)
        is_done = len(rows) < ROWS_PER_TURN
        self._walk_at_s = inf if is_done else now + TURN_PAUSE_S
        if is_done:
            self._moved = np.zeros_like(moved)

    def _look_again(self, member: GroupPage, now: float) -> None:
        if member.told or not self._groups.is_alone(member.group):
            self._groups.doubt(member)
            self._look_later(member.group, now)


def _naming(named: _Named) -> PageRole:
    member = named.member
    return PageRole(member.slot, member.page, member.content, named.n_copies)
