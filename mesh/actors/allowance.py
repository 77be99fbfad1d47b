"""So much of something for each member, which comes back with time: one of them uses up nothing of others."""

from __future__ import annotations

from typing import Final

ALLOWANCE_S: Final = 60.0  # in which all of it comes back


class Allowance:
    """By member, how much of its allowance is spent: a leaky bucket for each."""

    def __init__(self) -> None:
        self.n_refused = 0  # count: times that one had spent it
        self._spent: dict[str, tuple[float, float]] = {}  # how much, and when

    def spend(self, member: str, amount: float, allowed: float, now: float) -> bool:
        """Take so much of a member's allowance; False when there is not enough left, and nothing is taken.

        Args:
          allowed: how much it has in all, at this time.
        """
        spent = self._spent_of(member, allowed, now)
        may_spend = spent + amount <= allowed
        self.n_refused += not may_spend
        self._spent[member] = (spent + amount if may_spend else spent, now)
        return may_spend

    def may_spend(self, member: str, amount: float, allowed: float, now: float) -> bool:
        """Tell the result that `spend` would have, and take nothing."""
        return self._spent_of(member, allowed, now) + amount <= allowed

    def _spent_of(self, member: str, allowed: float, now: float) -> float:
        spent, at = self._spent.get(member, (0.0, now))
        return max(0.0, spent - (now - at) * allowed / ALLOWANCE_S)
