"""The clock of a peer whose machine's clocks are wrong, as `mesh.process.runtime.MeshClock` behaves."""

from __future__ import annotations

import pytest

from simulations.faults.clock import VirtualClock


def test_a_fast_clock_gains_and_can_be_turned_back_into_the_time_of_the_world() -> None:
    clock = VirtualClock(50.0, 0.02)
    clock.start(1_000.0)
    assert clock.local(1_000.0) == 1_050.0
    assert clock.local(1_100.0) == pytest.approx(1_152.0)
    assert clock.world(1_152.0) == pytest.approx(1_100.0)


def test_a_step_of_the_wall_clock_is_not_seen_before_the_next_start() -> None:
    clock = VirtualClock()
    clock.start(1_000.0)
    clock.wall_offset_s += 3_600.0
    assert clock.local(1_010.0) == 1_010.0
    clock.start(1_020.0)
    assert clock.local(1_020.0) == 4_620.0


def test_a_start_never_goes_behind_the_last_commit() -> None:
    clock = VirtualClock()
    clock.start(1_000.0)
    clock.commit(1_010.0)
    clock.wall_offset_s -= 3_600.0
    clock.start(1_020.0)
    assert clock.local(1_020.0) == 1_010.0
    assert clock.local(1_025.0) == 1_015.0


def test_who_has_lost_the_disk_believes_the_wall_clock() -> None:
    clock = VirtualClock()
    clock.start(1_000.0)
    clock.commit(1_010.0)
    clock.wall_offset_s -= 600.0
    clock.forget()
    clock.start(1_020.0)
    assert clock.local(1_020.0) == 420.0


def test_the_clock_never_goes_back_within_a_life() -> None:
    clock = VirtualClock()
    clock.start(1_000.0)
    assert clock.local(1_000.0, least=1_000.5) == 1_000.5
    assert clock.local(1_000.1) == 1_000.5
