"""How long answers may take follows from how long they took."""

from __future__ import annotations

from random import Random

import pytest

from mesh.membership.failures.prober import Prober
from mesh.membership.failures.round_trips import RoundTrips
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import PingAnswered

PACE = SwimSettings()


def test_rfc6298_2_2_the_first_sample_gives_three_times_itself() -> None:
    trips = RoundTrips()
    trips.note("a", 0.1)
    assert trips.expected_s("a") == pytest.approx(0.1 + 4 * 0.05)
    assert trips.expected_s("b") == 0.0


def test_rfc6298_2_3_later_samples_are_weighed_by_an_eighth_and_a_quarter() -> None:
    trips = RoundTrips()
    trips.note("a", 0.1)
    trips.note("a", 0.2)
    assert trips.expected_s("a") == pytest.approx(0.1125 + 4 * 0.0625)


def test_members_that_are_gone_are_forgotten() -> None:
    trips = RoundTrips()
    for number in range(30):
        trips.note(f"peer {number}", 0.1)
    trips.keep_only({"peer 1"})
    assert (trips.expected_s("peer 1") > 0, trips.expected_s("peer 2")) == (True, 0.0)


def probed(prober: Prober, rounds: int, answer_s: float) -> int:
    """Probe one member that answers after so long; return how often it was found silent."""
    silent = 0
    for number in range(rounds):
        now = 1.0 + number * 2.0
        probe = prober.next_probe(now, ["a"])
        assert probe is not None
        for at in (now + step / 100 for step in range(200)):
            silent += len(prober.silent(at))
            if at >= now + answer_s:
                prober.witnessed("a", PingAnswered(probe[1].sequence, "a"), at)
                break
    return silent


def test_a_member_that_is_always_slow_is_soon_waited_for() -> None:
    prober = Prober(PACE, Random(1))
    assert probed(prober, 2, 0.8) > 0
    assert probed(prober, 50, 0.8) == 0


def test_who_answers_at_once_again_is_waited_for_no_longer_than_others() -> None:
    prober = Prober(PACE, Random(1))
    probed(prober, 5, 0.8)
    probed(prober, 30, 0.01)
    assert prober.next_probe(100.0, ["a"]) is not None
    assert prober.silent(100.0 + PACE.probe_deadline_s) == ["a"]
