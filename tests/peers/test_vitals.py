"""How fast a counter grows."""

from __future__ import annotations

from peers.vitals import SPEED_S, Speed


def test_speed_is_that_of_now_and_not_since_the_start() -> None:
    speed = Speed(0.0)
    count = 0
    for second in range(1, 31):
        count += 1_000 if second <= 20 else 0
        now = speed.note(count, float(second))
        if second == 20:
            assert now == 1_000.0
    assert now == 0.0


def test_speed_after_a_long_silence_is_that_since_the_last_look() -> None:
    speed = Speed(0.0)
    speed.note(0, 1.0)
    assert speed.note(5_000, 1.0 + 10 * SPEED_S) == 5_000 / (10 * SPEED_S)


def test_two_looks_at_once_do_not_divide_by_nothing() -> None:
    speed = Speed(5.0)
    assert speed.note(0, 5.0) == 0.0
    assert speed.note(100, 5.0) == 100 / (SPEED_S / 8)


def test_what_was_there_before_is_no_growth() -> None:
    speed = Speed(0.0, 5_000, span_s=80.0)
    assert speed.note(5_000, 1.0) == 0.0
    assert speed.note(6_000, 20.0) == 50.0
