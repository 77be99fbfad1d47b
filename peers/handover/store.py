"""Stores: each is declared once, by the actor that holds it; all that is done with stores follows from that.

A store keeps *items* by slot. An item has an id, eight bytes that follow from its content (without times and
places, which differ from peer to peer), so equal ids mean equal items. Items only ever grow: merging is a
maximum or a union, in any order and any number of times, so two stores that have sent each other what they
lack have the same.

To add a store, write an actor with a `StoreDeclaration` that hands what it does not understand itself to a
`keeper.Keeper`, and put it among the actors of a peer (`peers.actors`). Whose content is nothing but values
under names finds a `Store` in `item_store`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple, Protocol

from mesh.actors.actor import Actor, Message, Send, Statistics
from mesh.slot_set import SlotMask
from peers.handover.slot_digests import SlotDigest
from peers.handover.wire_messages import (
    CompareSlots,
    ItemsChanged,
    ItemsKept,
    ItemsSent,
    ItemsTaken,
    SendItems,
    SlotsCompared,
)

# What those who hold a store say to each other about it.
STORE_MESSAGES: Final[frozenset[type[Message]]] = frozenset(
    {CompareSlots, SlotsCompared, SendItems, ItemsSent, ItemsTaken, ItemsChanged, ItemsKept}
)


@dataclass(frozen=True, slots=True)
class StoreDeclaration:
    """One store of every peer: its name, the actor that holds it, how it is brought from peer to peer."""

    name: str  # in statistics and in status
    actor: str  # that holds it: what is said of the store is addressed to it, here and at other peers
    task_slots_max: int = 4_096  # brought in one task: none of them is complete before all are
    is_needed_to_crawl: bool = False  # no slot is crawled before what others have of it is here
    # Only some meshes have it: it is not compared, brought or forgotten before its actor says `UseStore`.
    is_optional: bool = False


class StoreStatistics(Statistics, frozen=True):
    """The statistics of every store: gauges of now, and counts since the start."""

    name: str
    slots_filled: int  # gauge: of which anything is here
    is_forgetting: bool
    tasks: int  # gauge: being brought here
    transfers: int  # gauge: going out
    parts_received: int
    bytes_received: int  # in parts
    parts_sent: int
    bytes_sent: int  # in parts
    parts_refused: int  # and other messages that were damaged or made no sense
    slots_compared: int
    slots_differing: int  # of those compared for others
    items_shipped: int  # changes sent to other members of teams, once for each
    items_merged: int  # changes taken from others
    items_refused: int  # of others, in changes and parts, that were left out of what was taken
    items_told_refused: int  # of those shipped, that others have left out
    changes_refused: int  # messages with such, malformed or from who is not in the team
    unkept: int  # gauge: messages with changes that a member has not kept so far


class HolderStatistics(Statistics, frozen=True):
    """The statistics of an actor that holds a store; subclasses add other counts."""

    store: StoreStatistics


class StoreActor(Actor):
    """An actor that holds a store. The handover of its peer is given the declaration, and needs no more."""

    keeps: ClassVar[StoreDeclaration]
    remote_messages: ClassVar[frozenset[type[Message]]] = STORE_MESSAGES


class Part(NamedTuple):
    """A piece of a transfer."""

    items: bytes  # as the store encodes them, at most PART_BYTES_MAX
    bulk: bytes = b""  # what they describe (WARC records, an index segment), at most BULK_BYTES_MAX


PAUSE: Final = Part(b"")  # in the place of a part: none so far, and enough for one turn


class Store(Protocol):
    """An actor's content as a `keeper.Keeper` sees it."""

    # Of other peers, left out because they cannot be. The rest of what came with them is taken: else all of
    # it would be sent again because of one, without an end.
    items_refused: int

    @property
    def newly_filled(self) -> list[int]:
        """The slots that had nothing, and now have something; the reader empties the list."""

    @property
    def is_forgetting(self) -> bool:
        """Is there anything left to be forgotten?"""

    def filled_mask(self, slot_count: int) -> SlotMask:
        """Return a mask over all slots: where there is an item. All others are equal without a look."""

    def item_ids(self, slot: int) -> Iterable[bytes]:
        """Return the ids of all items of a slot, each once, in any order; none for an empty slot."""

    def digest_of(self, slot: int) -> SlotDigest:
        """Return the combined ids of a slot's items; equal items in two stores have equal digests."""

    def parts(self, ticket: int, slots: SlotMask, have: Collection[bytes]) -> Iterator[Part | Send]:
        """Yield, lazily, all items of these slots except those with an id in `have`.

        A `Send` in the place of a part is an order to a port of this peer that the part needs; the actor
        hands `Keeper.give_part` the ticket and the part that came of it. `PAUSE` lets other messages have
        their turn, where much was looked through without a part.
        """

    def merge(
        self, ticket: int, peer: str, slots: SlotMask, part: Part, clock_offset_s: float
    ) -> Send | None:
        """Take in a part from another peer, which is not believed blindly.

        Args:
          slots: what was asked for; items of others are refused.
          clock_offset_s: to be added to times in the items, to have them by our clock.

        Returns:
          None when all is in the table; or an order to a port of this peer that must be carried out first:
          the actor calls `Keeper.end_merge` with the ticket when that is done and the rest is in the table.

        Raises:
          RemoteProtocolError: it is no part, or of slots that were not asked for.
        """

    def forget_later(self, slots: SlotMask) -> None:
        """Have all of these slots deleted by `forget_some`. Items that come anew of them meanwhile stay."""

    def forget_some(self, entries_max: int) -> None:
        """Delete up to about so many entries of the slots that are to be forgotten."""


class Shipment(NamedTuple):
    """Items in one message to another member of a team."""

    items: bytes  # as the store encodes them
    n_items: int  # at most CHANGES_MAX
    slots: frozenset[int]


class MirroredStore(Store, Protocol):
    """A store that has its changes sent to the other members of each slot's team at once, see `mirror`."""

    @property
    def has_changes(self) -> bool:
        """Has anything changed that was not taken by `take_changes`?"""

    def note_changes(self, *, is_wanted: bool) -> None:
        """Remember changes from now on, or none if there is nobody to hear of them."""

    def take_changes(self) -> Collection[bytes]:
        """Return the keys of all rows that have changed, in that order, and forget that they have.

        A key begins with its slot, two bytes big-endian.
        """

    def shipments(self, keys: Iterable[bytes]) -> Iterator[Shipment]:
        """Yield the items of these rows as they are now."""

    def only(self, shipment: Shipment, slots: frozenset[int]) -> Shipment:
        """Return a shipment without its items of other slots."""

    def merge_changes(
        self, peer: str, items: bytes, is_taken: Callable[[int], bool], clock_offset_s: float
    ) -> int:
        """Take in the changes made at another peer; return how many items they were.

        Args:
          peer: that one.
          is_taken: of each slot, whether it may come from it.
          clock_offset_s: as for `merge`.

        Raises:
          RemoteProtocolError: these are no items, too many, or of a slot that is not taken; then none of them
            was.
        """
