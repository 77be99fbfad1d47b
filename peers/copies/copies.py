"""The actor that sees to it that of pages with the same content one is found.

Theory of operation
===================
What content a page has, the peer that answers for its slot tells the peer that answers for the slot of that
*content* (its digest, taken modulo the number of slots): there all pages of a group are known, whatever
peers and hosts they are on. It names the representative, and tells those who have the pages; each index then
leaves the copies out by itself, so that hits, counts and facets of a mesh fold as those of one peer do.

A copy may be shown twice for a while, but none is hidden for which nothing is shown. So a representative is
named first, and the others hear of it when it is in a commit of its index; a page whose content changes is
shown at once (`peers.engine.merging.copies`); and when the answerer of a representative changes, it is asked
again. Who is told something of a page that does not have that content by now says so, and the page leaves the
group; who has not all of the page's slot yet, as who stands in for others, says nothing and is asked again.

The rows of pages (`content_row`) are a store, replicated and handed over as the others are. They have what
the page was named, so the index of every member of its team goes by it, and who becomes the answerer knows
it. Groups (`groups`) follow from these rows: they are in a table so that a restart loses none, and when the
answerer of their slot changes they are told anew, by all whose pages are in them, and forgotten where they
were. That is some 60 bytes a page for a share of the pages, and less than keeping them twice all the time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from operator import attrgetter
from typing import ClassVar, Final

import numpy as np

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.actors.slot_reports import ReportKind, SlotReports
from mesh.slot_limits import SLOTS_MAX
from mesh.slot_ranking import NOBODY
from mesh.slot_set import SlotMask
from mesh.stamp import Stamp
from mesh.tables.table import Table, TableSection
from mesh.urls import fingerprint
from peers.copies.content_row import ContentRow, join, row_after, row_in, version_in
from peers.copies.index_updates import IndexUpdates
from peers.copies.roles import Roles
from peers.copies.wire_messages import (
    PAGES_MAX,
    PATIENCE_S,
    ContentsNoted,
    ContentsTold,
    RolesNoted,
    RolesTold,
    ToldContent,
)
from peers.engine.merging.copies import CopyMark
from peers.engine.pages.document import Document
from peers.handover.item_store import Item, ItemStore, key_at, key_of, slot_in
from peers.handover.keeper import Keeper
from peers.handover.messages import SlotsComplete
from peers.handover.mirror import Mirror
from peers.handover.store import STORE_MESSAGES, HolderStatistics, StoreActor, StoreDeclaration
from peers.index.messages import CopiesMarked, PagesCommitted

TELL_EVERY_S: Final = 5.0  # contents of pages that are new, all those since the last time
ROWS_PER_TURN: Final = 1_000
TURN_PAUSE_S: Final = 0.05
# Contents that pages have, or have no more, go to the peers that answer for the contents' slots.
_CONTENTS: Final = ReportKind(
    ToldContent,
    attrgetter("content"),
    ContentsTold,
    items_max=PAGES_MAX,
    source_of=attrgetter("slot"),
    again_s=3 * PATIENCE_S,
)

_ROWS: Final = b"c"  # the part of the table with the rows of pages

# Returns the URL of a page by slot and fingerprint, None for one of which nothing is stored.
UrlOf = Callable[[int, bytes], str | None]


def contents_in(table: Table) -> Callable[[int, bytes], int]:
    """Return a reader of the contents of pages by slot and fingerprint, 0 for none and for unknown pages.

    Args:
      table: the section of a `Copies`.
    """
    rows = TableSection(table, _ROWS)

    def content_of(slot: int, page: bytes) -> int:
        value = rows.get(key_at(slot, page))
        return 0 if value is None else row_in(value).content

    return content_of


class CopiesStatistics(HolderStatistics, frozen=True):
    """The work on copies: gauges of now, counts since the start."""

    told: int  # count: contents of pages told to who answers for them
    untold: int  # gauge: of these, not yet noted
    heard: int  # count: those heard
    named: int  # count: pages named, again included
    unlike: int  # count: of these, that have another content by now
    waiting: int  # gauge: groups that are to be looked at, or whose pages have not noted what they are
    unmarked: int  # gauge: pages of which the index is still to be told


class Copies(StoreActor):
    """Keeps and tells contents of pages, names those that stand for copies, tells the index of this peer."""

    name: ClassVar[str] = "copies"
    keeps: ClassVar = StoreDeclaration("copies", name)
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES | {
        ContentsTold,
        ContentsNoted,
        RolesTold,
        RolesNoted,
    }

    def __init__(self, me: str, table: Table, url_of: UrlOf, life: int = 1) -> None:
        """Take up the rows in the table.

        Args:
          table: the section of this actor.
          url_of: says what of other actors' pages the URL is.
          life: of the peer, see `mesh.tables.lives`.
        """
        self._me = me
        self._url_of = url_of
        self._store = ItemStore(TableSection(table, _ROWS), join, changed=self._note_change)
        mirror = Mirror(me, self.name, self._store, life)
        self._keeper = Keeper(me, self.keeps, self._store, life=life, mirror=mirror)
        self._reports = SlotReports(me, self.name, TableSection(table, b"t"), life, _CONTENTS)
        self._roles = Roles(me, self.name, TableSection(table, b"g"), life)
        self._updates = IndexUpdates(me, TableSection(table, b"m"))
        # By key. Not in a table: another life tells anew what pages have, as soon as the owners are known.
        self._untold: dict[bytes, ToldContent] = {}
        self._tell_at_s = -inf  # not before
        self._changes: list[ToldContent] = []  # seen in this turn: together they are few messages
        self._is_own_word = False  # does a row change by it?
        self._has_begun = False  # are the marks known that an earlier life was to take back?
        self._ownership: Ownership | None = None
        self._answerers: np.ndarray[tuple[int], np.dtype[np.str_]] | None = None
        self._moved: SlotMask | None = None  # slots with another answerer, since all rows were looked at
        # Slots of which the index may lack marks: on their way in an earlier life, or come without them.
        self._to_mark: SlotMask = np.ones(SLOTS_MAX, np.bool_)
        self._complete: SlotMask = np.zeros(SLOTS_MAX, np.bool_)
        self._walked_to = b""
        self._walk_at_s = inf
        self._now = 0.0  # of this turn

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._now = now
        sends: list[Send] = []
        match message:
            case PagesCommitted(pages):
                self._take_news(pages)
            case CopiesMarked(ticket):
                sends = self._updates.note_marked(ticket)
            case ContentsTold(batch):
                if self._roles.note(source, message, now):
                    sends = [Send(source, ContentsNoted(batch))]
            case ContentsNoted(batch):
                self._reports.note_answer(source.peer, batch, now)
            case RolesTold():
                self._take_names(source, message)
            case RolesNoted():
                self._roles.note_answer(source.peer, message, now)
            case OwnershipChanged(ownership):
                self._change_ownership(ownership)
            case SlotsComplete(slots):
                self._note_complete(self._keeper.decode(slots))
                sends = self._keeper.receive(source, message, now)
            case _:
                sends = self._keeper.receive(source, message, now)
        return sends + self._end_turn()

    def wake(self, now: float) -> list[Send]:
        self._now = now
        sends = self._keeper.wake(now) if self._keeper.wake_at() <= now else []
        if self._walk_at_s <= now:
            self._walk()
        if self._roles.wake_at() <= now:
            sends += self._roles.wake(now)
        sends += self._updates.wake(now)
        return sends + self._end_turn()

    def wake_at(self) -> float:
        at = min(self._keeper.wake_at(), self._reports.wake_at(), self._updates.wake_at())
        if self._untold:
            at = min(at, self._tell_at_s)
        return min(at, self._roles.wake_at(), self._walk_at_s)

    @property
    def has_news(self) -> bool:
        return self._keeper.has_news

    def before_commit(self, now: float) -> list[Send]:
        sends = self._keeper.before_commit(now)
        self._tell_changes()
        return sends

    def observe(self) -> CopiesStatistics:
        return CopiesStatistics(
            store=self._keeper.observe(),
            told=self._reports.n_told,
            untold=self._reports.waiting_count + len(self._untold),
            heard=self._roles.n_heard,
            named=self._roles.n_named,
            unlike=self._roles.n_unlike,
            waiting=self._roles.waiting_count,
            unmarked=self._updates.waiting_count,
        )

    def _end_turn(self) -> list[Send]:
        self._tell_changes()
        if self._untold and self._tell_at_s <= self._now:
            self._tell_news()
        sends = self._reports.wake(self._now) if self._reports.wake_at() <= self._now else []
        return sends + self._keeper.end_turn(self._now)

    # --- What pages say

    def _tell_changes(self) -> None:
        if self._changes:
            self._reports.tell(self._changes, self._now)
            self._changes.clear()

    def _tell_news(self) -> None:
        """Tell the contents that have gathered; those that we answer for go to our groups at once."""
        ours = [each for each in self._untold.values() if self._answers(each.content % self._slot_count)]
        if ours and self._roles.note(Address(self._me, self.name), ContentsTold(0, tuple(ours)), self._now):
            for each in ours:
                del self._untold[key_at(each.slot, each.page)]
        self._reports.tell(self._untold.values(), self._now)
        self._untold.clear()
        self._tell_at_s = self._now + TELL_EVERY_S

    def _take_news(self, pages: Iterable[tuple[int, str, Stamp, Document | None]]) -> None:
        """Keep the contents that pages have by now, to be told to others where we answer for the pages."""
        for slot, url, stamp, document in pages:
            name = fingerprint(url)
            value = self._store.get(slot, name)
            before = None if value is None else row_in(value)
            row = row_after(before, stamp, document)
            if row is not None:
                self._keep(slot, name, value, row, is_news=False)
            row = row or before
            if row is None:
                continue
            if row.n_copies:  # the index may have lost it
                self._updates.add(url, key_at(slot, name), CopyMark(row.content, row.n_copies), self._now)
            if row.content and self._answers(slot):
                self._untold[key_at(slot, name)] = _told(slot, name, row, content=row.content)

    def _keep(
        self, slot: int, name: bytes, before: bytes | None, row: ContentRow, *, is_news: bool = True
    ) -> None:
        """Keep a row of a page, until now `before`, with a content or a naming that changes by our word."""
        self._is_own_word = True
        self._store.put_upon(before, slot, name, row.encode(), is_news=is_news)
        self._is_own_word = False

    def _note_change(self, slot: int, name: bytes, before: bytes | None, value: bytes) -> None:
        """Have the index go by a page's naming, and tell the content that it has lost, whichever peer saw it.

        Where another peer saw that, the index here may keep the old content: of this version it may have been
        brought another text. Nobody names the page for that any more, so its mark is taken back.

        What others kept of a page while they answered for it is told, too: they have told it to who answered
        for its content then, and nobody else knows it if we did not see that others answered.
        """
        row = row_in(value)
        known = None if before is None else row_in(before)
        if known is not None and known.content != row.content:
            self._updates.withdraw(key_at(slot, name))
            self._untold.pop(key_at(slot, name), None)
        if known is not None and known.content not in (0, row.content) and self._answers(slot):
            self._changes.append(_told(slot, name, row, content=known.content, is_there=False))
        if known is not None and row.content and not self._is_own_word and self._answers(slot):
            self._changes.append(_told(slot, name, row, content=row.content))
        is_marked = known is not None and known.n_copies != 0
        is_same = known is not None and known.content == row.content
        n_before = known.n_copies if known is not None and is_same else 0
        is_behind = is_marked and not is_same and not self._is_own_word
        if is_behind or (row.content and row.n_copies != n_before):
            self._mark(slot, name, row)

    def _mark(self, slot: int, name: bytes, row: ContentRow) -> bool:
        url = self._url_of(slot, name)
        if url is not None:
            self._updates.add(url, key_at(slot, name), CopyMark(row.content, row.n_copies), self._now)
        return url is not None

    # --- What pages are named

    def _take_names(self, source: Address, message: RolesTold) -> None:
        """Go by the roles our pages are given by the answerer of their contents; else they are told again."""
        ownership = self._ownership
        if ownership is None:
            return
        slot_count = ownership.table.slot_count
        for each in message.pages:
            is_right = ownership.answerer_of(each.content % slot_count) == source.peer
            if each.slot >= slot_count or not is_right or not self._answers(each.slot):
                return
        unlike: list[int] = []
        for number, each in enumerate(message.pages):
            value = self._store.get(each.slot, each.page)
            row = None if value is None else row_in(value)
            if row is None or row.content != each.content or not self._mark(each.slot, each.page, row):
                if not self._complete[each.slot]:
                    return  # its row may be on its way here; who keeps the group asks again
                unlike.append(number)
                continue
            if row.n_copies != each.n_copies:
                self._keep(each.slot, each.page, value, row.named(each.n_copies))
        keys = [key_at(each.slot, each.page) for each in message.pages]
        self._updates.answer(source, RolesNoted(message.batch, tuple(unlike)), keys, self._now)

    # --- When answerers change

    @property
    def _slot_count(self) -> int:
        return 1 if self._ownership is None else self._ownership.table.slot_count

    def _answers(self, slot: int) -> bool:
        return self._ownership is not None and self._ownership.answerer_of(slot) == self._me

    def _change_ownership(self, ownership: Ownership) -> None:
        now = self._now
        before, self._answerers = self._answerers, _answerers(ownership)
        moved: SlotMask = np.ones(len(self._answerers), np.bool_)
        if before is not None:
            moved = self._answerers != before
        self._ownership = ownership
        self._moved = moved if self._moved is None else self._moved | moved
        self._walk_anew()
        self._keeper.change_ownership(ownership, now)
        self._reports.change_ownership(ownership, now)
        self._roles.change_ownership(ownership, moved, now)

    def _note_complete(self, complete: SlotMask) -> None:
        """Have the index go by the rows of slots that were brought here: pages came without their marks."""
        n = len(complete)
        self._to_mark[:n] |= complete & ~self._complete[:n]
        self._complete[:n] = complete
        self._walk_anew()

    def _walk_anew(self) -> None:
        self._walked_to, self._walk_at_s = b"", self._now

    def _walk(self) -> None:
        """Look through some rows: tell again those for another answerer, and those told by us from now on."""
        assert self._moved is not None
        if not self._has_begun:
            self._has_begun = True
            self._take_marks_back()
        if self._reports.is_full or self._updates.is_full:
            self._walk_at_s = self._now + 1.0
            return
        items = self._store.items_after(self._walked_to, ROWS_PER_TURN)
        self._reports.tell(self._moved_among(items), self._now)
        is_done = len(items) < ROWS_PER_TURN
        if is_done:
            self._moved = np.zeros_like(self._moved)
            self._to_mark[:] = False
            self._walk_at_s = inf
        else:
            self._walked_to = key_of(items[-1])
            self._walk_at_s = self._now + TURN_PAUSE_S

    def _take_marks_back(self) -> None:
        """Have the index told of the marks that an earlier life had yet to take back."""
        for key in self._updates.to_be_taken_back():
            slot, name = slot_in(key), key[2:]
            value = self._store.get(slot, name)
            if value is None or not self._mark(slot, name, row_in(value)):
                self._updates.forget(key)

    def _moved_among(self, items: Iterable[Item]) -> Iterator[ToldContent]:
        moved = self._moved
        assert moved is not None
        for slot, name, value in ((item.slot, item.name, item.value) for item in items):
            row = row_in(value)
            if row.n_copies and self._to_mark[slot]:
                self._mark(slot, name, row)
            if row.content and self._answers(slot) and (moved[slot] or moved[row.content % len(moved)]):
                yield _told(slot, name, row, content=row.content)


def _told(slot: int, name: bytes, row: ContentRow, *, content: int, is_there: bool = True) -> ToldContent:
    version = version_in(row.encode())
    if not is_there:
        return ToldContent(slot, name, content, version, is_there)
    said = row.n_copies, row.standing, row.canonical, row.first_s, row.domain
    return ToldContent(slot, name, content, version, is_there, *said)


def _answerers(ownership: Ownership) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    """Return the peer that answers for each slot, "" for nobody."""
    serving = ownership.serving
    names = np.array([*serving.peers, ""])
    ranking = serving.ranking[0]
    return names[np.where(ranking == NOBODY, len(serving.peers), ranking)]
