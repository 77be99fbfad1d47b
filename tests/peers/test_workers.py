"""Processes that work for a command."""

from __future__ import annotations

import multiprocessing
import time
from contextlib import suppress

import pytest

from peers.workers import Workers, result_of

LONG_S = 600.0


def doubled(number: int) -> int:
    return 2 * number


def slept(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


@pytest.mark.parametrize("is_needed", [True, False])
def test_orders_are_carried_out_in_processes_or_here(is_needed: bool) -> None:
    with Workers(doubled, 1, is_needed=is_needed) as workers:
        futures = [workers.submit(number) for number in range(3)]
        assert [result_of(future) for future in futures] == [0, 2, 4]


def test_what_nobody_waits_for_any_more_is_ended() -> None:
    before = set(multiprocessing.active_children())
    with suppress(KeyboardInterrupt), Workers(slept, 1) as workers:
        result_of(workers.submit(0.0))
        workers.submit(LONG_S)
        raise KeyboardInterrupt
    assert set(multiprocessing.active_children()) <= before
