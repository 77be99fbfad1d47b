"""The slots that others are to bring from here, and those they say they have brought.

Theory of operation
===================
An offer to a peer is a set of slots and a number. The peer brings what we have of them and answers with that
number, slot by slot: *taken*. A slot that comes anew to an offer, or comes back to it, gives the offer a new
number, so an answer that was long under way never counts for what it was not about. What has been taken stays
so for as long as the slot is in the offer without a break.

*Why nothing is lost.* A peer forgets a slot that it does not keep once all of the team, as it sees it, have
taken it since it last began not to keep it. Suppose all copies of an item are forgotten, the last one by X.
Some Y of X's team had taken it, when Y kept the slot, and forgot it later. So Y began after that not to keep
it, and Y's team took it later still: among them a Z that is not X, for X has not kept the slot from before Y
took it up to the end. Z has forgotten it, too, and so on: an endless chain of later and later answers, all
before X's last deed. So there is a copy that is not forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from mesh.slot_set import SlotMask


@dataclass(slots=True)
class _Offer:
    number: int
    slots: SlotMask
    taken: SlotMask  # of those

    @property
    def open(self) -> SlotMask:
        return self.slots & ~self.taken


class Offers:
    """The slots each peer is to take from here."""

    def __init__(self, slot_count: int, numbers: Iterator[int]) -> None:
        """Begin with no offers.

        Args:
          numbers: that were never given before, in this or an earlier life.
        """
        self._nothing = np.zeros(slot_count, np.bool_)
        self._numbers = numbers
        self._by_peer: dict[str, _Offer] = {}

    def make(self, due: Mapping[str, SlotMask]) -> bool:
        """Offer exactly these slots from now on; True when anything is new."""
        for peer in self._by_peer.keys() - due.keys():
            del self._by_peer[peer]
        is_new = False
        for peer, slots in due.items():
            offer = self._by_peer.get(peer)
            if offer is None:
                self._by_peer[peer] = _Offer(next(self._numbers), slots, self._nothing)
                is_new = True
            else:
                if (slots & ~offer.slots).any():
                    offer.number = next(self._numbers)
                    is_new = True
                offer.slots, offer.taken = slots, offer.taken & slots
        return is_new

    def take_back(self, slots: SlotMask) -> None:
        """These are in no offer any more; if they come back it is anew."""
        for peer in self._by_peer:
            self.take_back_from(peer, slots)

    def take_back_from(self, peer: str, slots: SlotMask) -> None:
        """The same for the offer to one peer."""
        offer = self._by_peer.get(peer)
        if offer is not None:
            offer.slots, offer.taken = offer.slots & ~slots, offer.taken & ~slots

    def note_taken(self, peer: str, number: int, slots: SlotMask) -> bool:
        """Note an answer; False when it is old or says nothing new."""
        offer = self._by_peer.get(peer)
        if offer is None or offer.number != number or not (slots & offer.open).any():
            return False
        offer.taken = offer.taken | (slots & offer.slots)
        return True

    def taken_by(self, peer: str) -> SlotMask:
        """Return the slots a peer has taken of those offered to it; they are not to be changed."""
        offer = self._by_peer.get(peer)
        return self._nothing if offer is None else offer.taken

    def open(self) -> dict[str, tuple[int, SlotMask]]:
        """Return by peer the number of its offer and the slots it has not taken so far."""
        return {
            peer: (offer.number, offer.open)
            for peer, offer in sorted(self._by_peer.items())
            if offer.open.any()
        }
