"""Versions that did not read back as they were written, until other members of the team have brought them.

A damaged version is taken out of the table, as if it had never come. Then comparing brings it: one member of
the team is asked at once, and the next ones after growing pauses, as the first may have it no better.
"""

from __future__ import annotations

from math import inf

from mesh.actors.actor import Send
from peers.storage.cell_store import DamagedVersion
from peers.storage.ledger.ledger import Ledger
from peers.storage.ledger.ledger_keys import slot_in
from peers.storage.settings import CellSettings
from peers.storage.teams import Teams


class Repairs:
    """Takes damaged versions out, and has them brought."""

    def __init__(self, teams: Teams, ledger: Ledger, settings: CellSettings) -> None:
        self.unreadable_count = 0  # places that were taken out
        self._teams = teams
        self._ledger = ledger
        self._settings = settings
        self._pause_s = settings.repair_again_s
        self.wake_at_s = -inf if ledger.totals.damaged else inf  # when to call `wake`
        self._n_looks = 0

    def take_out(self, damages: list[DamagedVersion], now: float) -> list[Send]:
        """Take out versions that did not read back as written, and have them brought from others."""
        differing: dict[str, set[int]] = {}
        for identity, place in damages:
            if not self._ledger.drop_damaged(identity, place):
                continue  # it was forgotten, and its segment removed, in the meantime
            self.unreadable_count += 1
            self._ask_for(slot_in(identity), 0, differing)
            self.wake_at_s = min(self.wake_at_s, now + self._settings.repair_again_s)
        return self._teams.differing(differing)

    def wake(self, now: float) -> list[Send]:
        """Ask again, and others, for versions that are still damaged."""
        damaged = self._ledger.damaged(self._settings.repairs_per_look)
        if not damaged:
            self.wake_at_s = inf
            self._pause_s = self._settings.repair_again_s
            return []
        self.wake_at_s = now + self._pause_s
        self._pause_s = min(2 * self._pause_s, self._settings.repair_again_max_s)
        self._n_looks += 1
        differing: dict[str, set[int]] = {}
        for identity in damaged:
            self._ask_for(slot_in(identity), self._n_looks, differing)
        return self._teams.differing(differing)

    def _ask_for(self, slot: int, turn: int, differing: dict[str, set[int]]) -> None:
        """Note the slot for the member of the team that is asked in this turn."""
        others = self._teams.others(slot) if self._teams.are_known else []
        if others:
            differing.setdefault(others[turn % len(others)], set()).add(slot)
