"""Pages that the owner of the mesh has taken down: kept, so that this can be taken back, and shown to nobody.

The index is to have nothing of them, and no gateway gets their records. When the policy changes all pages are
looked through, some at a time, and those that it changes are marked to be indexed anew; what comes of a mark
is decided when it is taken up, by the policy of then. A gateway that knows the policy shows nothing of them
meanwhile.
"""

from __future__ import annotations

from math import inf

from peers.policy.rules import EVERYTHING, Policy
from peers.storage.ledger import Ledger


class TakeDowns:
    """Which pages are taken down; marks those that were, or are, and are so no more."""

    def __init__(self, ledger: Ledger, entries_per_turn: int = 1_024, turn_pause_s: float = 0.02) -> None:
        """Take nothing down until a policy says so; who starts is told of it again."""
        self._ledger = ledger
        self._entries_per_turn = entries_per_turn
        self._turn_pause_s = turn_pause_s
        self._policy = EVERYTHING
        self._before: list[Policy] = []  # by which the index may still be
        self._seen_to = b""  # where looking through the pages has come to
        self._wake_at = inf

    def hides(self, url: str) -> bool:
        return self._policy.is_taken_down(url)

    def change_policy(self, policy: Policy, now: float) -> None:
        before, self._policy = self._policy, policy
        if before.takes_down or policy.takes_down:
            self._before.append(before)
            self._seen_to = b""
            self._wake_at = now

    def wake_at(self) -> float:
        return self._wake_at

    def wake(self, now: float) -> None:
        """Look at some more pages."""
        self._seen_to = self._ledger.mark_changed(self._is_changed, self._seen_to, self._entries_per_turn)
        if self._seen_to:
            self._wake_at = now + self._turn_pause_s
        else:
            self._before.clear()
            self._wake_at = inf

    def _is_changed(self, url: str) -> bool:
        hides = self.hides(url)
        return any(policy.is_taken_down(url) != hides for policy in self._before)
