"""The actor that keeps the notices of its peer: which new pages have an entry of the watch list.

A page is visited by the owner of its slot alone, and its controller tells of a text that is new before the
page counts as visited, in the same commit as all else of that turn. So after a crash a notice is said again
rather than lost, and is known by its identity; a copy of the page on another peer of the team is not visited.
"""

from __future__ import annotations

from typing import ClassVar

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.table import Table
from peers.watch.messages import PageWatched
from peers.watch.notices import NOTICES_MAX, Notices
from peers.watch.watch_list import WatchInForce, watch_of
from peers.watch.wire_messages import NoticesTold, NoticesWanted


class WatchStatistics(Statistics, frozen=True):
    """The work of the watch: gauges of now, counts since the start; no word of the list."""

    entries: int  # gauge: of the list in force
    kept: int  # gauge: notices
    said: int  # count: notices
    repeated: int  # count: of those that were known
    left_out: int  # count: entries of pages with too many of them


class Watcher(Actor):
    """Neighbours: the controller of this peer, and the gateways that ask."""

    name: ClassVar[str] = "watch"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset({NoticesWanted})

    def __init__(self, me: str, table: Table, notices_max: int = NOTICES_MAX) -> None:
        """Begin without looking at the table: most meshes watch for nothing.

        Args:
          table: the section of this actor.
          notices_max: that are kept; smaller in tests.
        """
        self._me, self._table, self._max = me, table, notices_max
        self.is_dormant = True  # there is never anything to do but to answer
        self._list: WatchInForce | None = None
        self._kept: Notices | None = None
        self._n_said = self._n_repeated = self._n_left_out = 0

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case PageWatched():
                n_new = self._notices.add(message, now)
                self._n_said += n_new
                self._n_repeated += len(message.watch.hits) - n_new
                self._n_left_out += message.watch.left_out
                return []
            case NoticesWanted():
                return [Send(source, self._told(message))]
            case DecreesInForce(decrees=decrees):
                self._list = watch_of(decrees, self._list)
                if self._list is not None:
                    self._notices.forget_counts(self._list.names)
                return []
            case OwnershipChanged():
                return []  # what was noticed stays where it was
            case _:
                raise LocalProtocolError(f"the watcher got {type(message).__name__} from {source}")

    def observe(self) -> Statistics:
        if self._kept is None:
            return Statistics()
        entries = 0 if self._list is None else len(self._list.entries)
        return WatchStatistics(entries, len(self._kept), self._n_said, self._n_repeated, self._n_left_out)

    @property
    def _notices(self) -> Notices:
        if self._kept is None:
            self._kept = Notices(self._table, self._max)
        return self._kept

    def _told(self, wanted: NoticesWanted) -> NoticesTold:
        notices = self._notices
        counts = tuple(notices.counts.values()) if wanted.wants_counts else ()
        return NoticesTold(wanted.request, notices.after(wanted.after, wanted.most), notices.last, counts)
