"""What a store must be able to do so that `exchange.Exchange` can bring two of them to the same content.

A store keeps *items* by slot. An item has an id, eight bytes that follow from its content (without times and
places, which differ from peer to peer), so equal ids mean equal items. Items only ever grow: merging is a
maximum or a union, in any order and any number of times, so two stores that have sent each other what they
lack have the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple, Protocol

from mesh.actor import Send
from mesh.slot_set import SlotMask
from peers.handover.slot_digests import SlotDigest


class Part(NamedTuple):
    """A piece of a transfer."""

    items: bytes  # as the store encodes them, at most PART_BYTES_MAX
    bulk: bytes = b""  # what they describe (WARC records, an index segment), at most BULK_BYTES_MAX


class Store(Protocol):
    """The side of an actor (the controller's frontier, the cell's pages) that its `Exchange` sees."""

    def filled_mask(self, slot_count: int) -> SlotMask:
        """Return a mask over all slots: where there is an item. All others are equal without a look."""

    def item_ids(self, slot: int) -> Iterable[bytes]:
        """Return the ids of all items of a slot, each once, in any order; none for an empty slot."""

    def digest_of(self, slot: int) -> SlotDigest:
        """Return the ids of a slot combined; what is equal in two stores has equal digests."""

    def parts(self, ticket: int, slots: SlotMask, have: Collection[bytes]) -> Iterator[Part | Send]:
        """Yield, lazily, all items of these slots whose ids are not in `have`.

        A `Send` in the place of a part is an order to a port of this peer that the part needs; the actor
        hands `Exchange.give_part` the ticket and the part that came of it.
        """

    def merge(self, ticket: int, peer: str, slots: SlotMask, part: Part, delay_s: float) -> Send | None:
        """Take in a part from another peer, which is not believed blindly.

        Args:
          slots: what was asked for; items of others are refused.
          delay_s: to be added to times in the items, to have them by our clock.

        Returns:
          None when all is in the table; or an order to a port of this peer that must be carried out first:
          the actor calls `Exchange.end_merge` with the ticket when that is done and the rest is in the table.

        Raises:
          RemoteProtocolError: it is no part, or of slots that were not asked for.
        """
