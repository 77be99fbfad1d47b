"""What all clients together may hold."""

from __future__ import annotations

from peers.gateway.http.memory_budget import MemoryBudget


def test_more_than_is_left_is_refused_as_a_whole() -> None:
    budget = MemoryBudget(10)
    assert budget.take(7)
    assert not budget.take(4)
    assert budget.take(3)
    assert budget.refused == 1


def test_what_is_given_back_can_be_taken_again() -> None:
    budget = MemoryBudget(10)
    assert budget.take(10)
    budget.give_back(10)
    assert budget.take(10)
