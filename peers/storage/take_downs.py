"""Pages that the owner of the mesh has taken down: kept, so that this can be taken back, and shown to nobody.

The index is to have nothing of them, and no gateway gets their records. When what is taken down changes all
pages are looked through, some at a time, and those of which the index has the contrary are marked to be
indexed anew; what comes of a mark is decided when it is taken up, by the policy of then. A gateway that knows
the policy shows nothing of them meanwhile.

The table has of which pages the index was given nothing for that reason (`IndexMarks.is_hidden`), what was
taken down last, and whether all pages have been looked through since. So a peer that starts hides what it hid
before until it is told, and looks through its pages only if what is taken down has changed while it was away.
"""

from __future__ import annotations

import logging
from math import inf
from typing import Final

import msgspec

from peers.policy.rules import EVERYTHING, Policy, policy_bytes, policy_in
from peers.storage.ledger.ledger import Ledger

_DONE: Final = b"\x01"  # before a policy: the index follows it
_TO_DO: Final = b"\x00"  # not all pages have been looked through

logger = logging.getLogger(__name__)


class TakeDowns:
    """Which pages are taken down; marks those that are and were not, or were and are not."""

    def __init__(self, ledger: Ledger, entries_per_turn: int = 1_024, turn_pause_s: float = 0.02) -> None:
        """Go on with the last take-downs, until told of a policy or to `begin`."""
        self._ledger = ledger
        self._entries_per_turn = entries_per_turn
        self._turn_pause_s = turn_pause_s
        followed = ledger.followed
        self._policy = _read(followed[1:]) if followed else EVERYTHING
        self._is_done = followed[:1] != _TO_DO
        self._is_told = False
        self._seen_to = b""  # where looking through the pages has come to
        self.wake_at_s = inf  # when to call `wake`

    def hides(self, url: str) -> bool:
        return self._policy.is_taken_down(url)

    def begin(self, now: float) -> None:
        """Go by no policy if none has been told by now."""
        if not self._is_told:
            self.change_policy(EVERYTHING, now)

    def change_policy(self, policy: Policy, now: float) -> bool:
        """Go by another policy; tell whether it takes down other pages than the one before."""
        self._is_told = True
        before, self._policy = self._policy, policy
        is_looking = self.wake_at_s < inf
        is_same = before.take_downs == policy.take_downs
        if is_same and (self._is_done or is_looking):
            return False
        self._is_done = False
        self._ledger.note_followed(_TO_DO + self._body())
        self._seen_to = b""
        self.wake_at_s = now
        return not is_same

    def wake(self, now: float) -> None:
        """Look at some more pages."""
        self._seen_to = self._ledger.mark_changed(self.hides, self._seen_to, self._entries_per_turn)
        if self._seen_to:
            self.wake_at_s = now + self._turn_pause_s
        else:
            self._is_done, self.wake_at_s = True, inf
            self._ledger.note_followed(_DONE + self._body() if self._policy.takes_down else b"")

    def _body(self) -> bytes:
        return policy_bytes(Policy(rules=self._policy.take_downs))


def _read(body: bytes) -> Policy:
    """Read the last take-downs; if another version wrote them, the mesh tells us of them again."""
    try:
        return policy_in(body)
    except (msgspec.ValidationError, msgspec.DecodeError) as error:
        logger.warning("take-downs of another version of tianmesh are not understood error=%s", error)
        return EVERYTHING
