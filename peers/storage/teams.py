"""The peers that keep a page with us, by the view of the mesh that this peer has now."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from mesh.actors.actor import Address, Send
from mesh.actors.ownership import Ownership
from mesh.slot_set import SlotMask, decode_slots, encode_slot_list
from mesh.urls import FTP, host_of
from peers.handover.messages import SlotsDiffer, SlotsLacking
from peers.storage.ledger.ledger_keys import identity_of

# Of the mesh, before the one of now, each some 0.3 MB: a page that was begun under one of them is brought.
VIEWS_REMEMBERED: Final = 8


class Teams:
    """The teams of all slots, and the messages to the handover when a member of one lacks something."""

    def __init__(self, me: str) -> None:
        self._me = me
        self._handover = Address(me, "handover")
        self._ownership: Ownership | None = None
        self._before: deque[Ownership] = deque(maxlen=VIEWS_REMEMBERED)

    @property
    def are_known(self) -> bool:
        """Has there been a first view of the mesh? Before, nobody can say which slot a page has."""
        return self._ownership is not None

    def change_ownership(self, ownership: Ownership) -> None:
        if self._ownership is not None and self._ownership.has_majority:
            self._before.append(self._ownership)
        self._ownership = ownership

    def others(self, slot: int) -> list[str]:
        """Return the other living members of a slot's team, by rank."""
        ownership = self._known()
        return [peer for peer in ownership.team_of(slot) if peer != self._me and peer in ownership.alive]

    def may_give(self, peer: str, slot: int) -> bool:
        """May that peer have us keep a page of a slot?

        It may if we are in the team, and it is or was of late: who drains or has just lost the slot has pages
        to bring to their end that it had begun to fetch. What others would bring was not theirs to fetch, and
        would rule as the newest version; who has such pages all the same offers the slot. Views without a
        majority do not count, as nobody fetches by them: to who is cut off with one other, that one is in the
        team of every slot.
        """
        ownership = self._known()
        if self._me not in ownership.team_of(slot) or peer not in ownership.alive:
            return False
        views = (ownership, *reversed(self._before))
        return any(view.has_majority and peer in view.team_of(slot) for view in views)

    def keepers_of(self, slot: int) -> set[str]:
        """Return the peers in the team of a slot, now or of late, as far as this peer has seen."""
        views = filter(None, (self._ownership, *self._before))
        return {peer for view in views for peer in view.team_of(slot)}

    def slot_of(self, url: str) -> int | None:
        """Return the slot of a URL from another peer, None when it is none or nobody knows yet."""
        if self._ownership is None or not url.startswith(("http://", "https://", FTP)):
            return None
        try:
            return self._ownership.slot_of(host_of(url))
        except ValueError:  # no path, or no valid text
            return None

    def identity_of(self, url: str) -> bytes | None:
        slot = self.slot_of(url)
        return None if slot is None else identity_of(slot, url)

    def decode(self, slots: bytes) -> SlotMask:
        return decode_slots(slots, self._known().table.slot_count)

    def differing(self, slots: dict[str, set[int]]) -> list[Send]:
        """Tell the handover which slots are to be compared, and with which peers."""
        return [
            Send(self._handover, SlotsDiffer(peer, self.encode(numbers)))
            for peer, numbers in sorted(slots.items())
        ]

    def lacking(self, slot: int) -> Send:
        """Tell the handover that we lack something of a slot."""
        return Send(self._handover, SlotsLacking(self.encode([slot])))

    def encode(self, slots: Iterable[int]) -> bytes:
        return encode_slot_list(slots, self._known().table.slot_count)

    def _known(self) -> Ownership:
        assert self._ownership is not None, "slots before the first OwnershipChanged"
        return self._ownership
