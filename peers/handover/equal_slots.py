"""The slots that were compared with members of their teams and found equal.

Two peers whose slots were equal both note it, each with the digest that it had: so as long as neither digest
has changed they still are. The one whose digest changes finds that out by itself, and compares anew.

That holds only if both have noted the same comparison, for a digest may change and change back. So who asks
knows nothing from then on until the answer to its newest question has come, and who is asked goes by the
newest question that it has heard: one that comes late says what the other has known better since.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from mesh.slots import SlotTable

Slots = npt.NDArray[np.intp]
Digests = npt.NDArray[np.uint64]


class EqualSlots:
    """For each slot of a store the digest that was compared last, and the ranks of those with the same."""

    def __init__(self) -> None:
        """Begin without knowing the mesh."""
        self._digests = np.zeros(0, np.uint64)
        self._ranks = np.zeros(0, np.uint16)  # a bit for each rank in the team
        self._asked = np.zeros(0, np.uint16)  # likewise, of those whose answers are waited for
        self._newest: dict[str, int] = {}  # number of the newest question, by peer
        self._table: SlotTable | None = None

    @property
    def slot_count(self) -> int:
        """Of the mesh; 0 until that is known."""
        return len(self._digests)

    def compare_anew(self, table: SlotTable) -> None:
        """Know nothing any more, under a table whose teams may be others."""
        if self._table is None:
            self._digests = np.zeros(table.slot_count, np.uint64)
        self._table = table
        self._ranks, self._asked = np.zeros((2, table.slot_count), np.uint16)

    def ask(self, peer: str, slots: Slots) -> None:
        """Know nothing of these slots of a peer from now on, since it is asked about them."""
        bits = self._bits_of(peer, slots)
        self._ranks[slots] &= ~bits
        self._asked[slots] |= bits

    def end_question(self, peer: str, slots: Slots) -> None:
        """Wait no more: a peer has answered the newest question about these slots."""
        self._asked[slots] &= ~self._bits_of(peer, slots)

    def is_newest(self, peer: str, number: int) -> bool:
        """Tell whether a peer has asked nothing with a higher number yet."""
        newest = self._newest[peer] = max(number, self._newest.get(peer, 0))
        return number == newest

    def note(self, peer: str, slots: Slots, digests: Digests) -> None:
        """Note that a peer had, or has, the same of these slots as we have, or had, with these digests.

        Nothing is noted of slots in whose team the peer is not, or about which it is asked.

        Args:
          slots: numbers, each once.
        """
        is_other = self._digests[slots] != digests
        bits = self._bits_of(peer, slots) & ~self._asked[slots]
        is_member = bits > 0
        members = slots[is_member]
        before = np.where(is_other[is_member], np.uint16(0), self._ranks[members])
        self._ranks[members] = before | bits[is_member]
        self._digests[members] = digests[is_member]

    def have_moved(self, peer: str, slots: Slots, digests: Digests) -> npt.NDArray[np.bool_]:
        """Tell of each slot whether it has changed here since it was equal with this peer's.

        Args:
          digests: of these slots, as they are here now.
        """
        is_unknown: npt.NDArray[np.bool_] = (self._ranks[slots] & self._bits_of(peer, slots)) == 0
        has_moved: npt.NDArray[np.bool_] = is_unknown | (self._digests[slots] != digests)
        return has_moved

    def _bits_of(self, peer: str, slots: Slots) -> npt.NDArray[np.uint16]:
        """Return for each slot the bit of this peer's rank; 0 where it is not in the team."""
        assert self._table is not None, "nothing is compared before"
        bits = np.zeros(len(slots), np.uint16)
        if peer in self._table.weights:
            for rank in range(len(self._table.ranking)):
                bits |= self._table.slots_of(peer, rank)[slots].astype(np.uint16) << np.uint16(rank)
        return bits
