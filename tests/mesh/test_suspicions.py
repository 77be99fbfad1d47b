"""Suspects and their time, and how far a prober trusts itself."""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from mesh.membership.failures.local_health import LocalHealth
from mesh.membership.failures.prober import Prober
from mesh.membership.failures.suspicions import Suspicions
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import ACCUSERS_MAX, PingAnswered

PACE = SwimSettings(
    suspicion_min_s=3.0, suspicion_max_s=9.0, confirmations=3, probe_timeout_s=0.2, probe_deadline_s=0.5
)


@pytest.mark.parametrize(
    ("confirmations", "live", "expected"),
    [(0, 9, 9.0), (1, 9, 6.0), (3, 9, 3.0), (5, 9, 3.0), (0, 2, 3.0), (0, 3, 9.0), (1, 3, 3.0)],
)
def test_lifeguard_4_2_suspicion_shrinks_with_confirmations(
    confirmations: int, live: int, expected: float
) -> None:
    assert PACE.suspicion_s(confirmations, live) == pytest.approx(expected)


def test_only_new_accusers_confirm() -> None:
    suspicions = Suspicions(PACE)
    assert suspicions.accuse("x", ["a"], 0.0, 9)
    assert suspicions.wake_at() == 9.0
    assert not suspicions.accuse("x", ["a"], 1.0, 9)
    assert suspicions.wake_at() == 9.0
    assert suspicions.accuse("x", ["b", "a"], 1.0, 9)
    assert suspicions.wake_at() == pytest.approx(6.0)
    assert suspicions.accusers_of("x") == ("a", "b")
    assert suspicions.due(5.9) == []
    assert suspicions.due(6.1) == ["x"]


def test_accusers_that_change_nothing_are_not_noted() -> None:
    suspicions = Suspicions(PACE)
    suspicions.accuse("x", map(str, range(20)), 0.0, 99)
    assert len(suspicions.accusers_of("x")) == PACE.confirmations + 1 <= ACCUSERS_MAX
    assert not suspicions.accuse("x", ["another"], 0.0, 99)


def test_a_suspect_that_refutes_is_none_any_more() -> None:
    suspicions = Suspicions(PACE)
    suspicions.accuse("x", ["a"], 0.0, 9)
    assert suspicions.end("x")
    assert not suspicions.end("x")
    assert suspicions.wake_at() == inf
    assert suspicions.unclear_count(0.0) == 0


def test_who_died_as_a_suspect_stays_unclear_for_a_while_and_who_said_so_itself_does_not() -> None:
    suspicions = Suspicions(PACE)
    suspicions.accuse("x", ["a"], 0.0, 9)
    suspicions.end_in_death("x", 9.0)
    suspicions.end_in_death("y", 9.0)
    assert suspicions.unclear_count(11.9) == 1
    assert suspicions.unclear_count(12.1) == 0


@pytest.mark.parametrize(("stall_s", "due_at"), [(0.5, 9.5), (60.0, 69.0)])
def test_a_stall_is_added_to_the_time_of_a_suspect(stall_s: float, due_at: float) -> None:
    suspicions = Suspicions(PACE)
    suspicions.accuse("x", ["a"], 0.0, 9)
    suspicions.grant(stall_s, 0.0 + stall_s)
    assert suspicions.wake_at() == pytest.approx(due_at)


def test_after_a_long_stall_a_suspect_has_at_least_the_shortest_time_even_if_others_accuse_it() -> None:
    suspicions = Suspicions(PACE)
    suspicions.accuse("x", ["a", "b", "c", "d"], 0.0, 9)
    suspicions.grant(60.0, 62.9)
    assert suspicions.wake_at() == pytest.approx(65.9)
    suspicions.accuse("x", ["e"], 63.0, 9)
    assert suspicions.wake_at() == pytest.approx(65.9)


def test_repeated_short_stalls_do_not_save_a_suspect() -> None:
    suspicions = Suspicions(PACE)
    suspicions.accuse("x", ["a", "b", "c", "d"], 0.0, 9)
    now = 0.0
    while not suspicions.due(now + 0.6):  # awake for 0.7 s, standing still for 0.3 s
        now += 1.0
        suspicions.grant(0.3, now)
        assert now < 6.0


def test_lifeguard_4_1_distrust_grows_with_each_sign_and_shrinks_with_each_answer() -> None:
    health = LocalHealth(3)
    assert health.distrust == 1
    health.improve()
    assert health.distrust == 1
    health.worsen(7)
    assert health.distrust == 3
    health.improve()
    health.improve()
    assert health.distrust == 1


def test_a_prober_whose_helpers_are_silent_too_waits_longer() -> None:
    prober = Prober(PACE, Random(1))
    members = ["a", "b", "c", "d", "e"]
    probe = prober.next_probe(0.0, members)
    assert probe is not None
    again, *requests = prober.requests_due(0.2, members)
    assert again == probe
    assert len(requests) == PACE.indirect_probes
    assert prober.silent(0.5) == [probe[0]]
    assert prober.health.distrust == 1 + min(PACE.distrust_max - 1, PACE.indirect_probes)
    later = prober.next_probe(1.0, members)
    assert later is not None
    assert prober.requests_due(1.3, members) == []
    assert prober.silent(1.6) == []
    assert prober.silent(1.0 + 0.5 * prober.health.distrust) == [later[0]]


def test_a_prober_whose_helpers_answer_does_not_doubt_itself() -> None:
    prober = Prober(PACE, Random(1))
    members = ["a", "b", "c", "d", "e"]
    probe = prober.next_probe(0.0, members)
    assert probe is not None
    for helper, request in prober.requests_due(0.2, members)[1:]:
        assert prober.witnessed(helper, PingAnswered(request.sequence, helper), 1.5) == 0.0
        assert prober.witnessed(helper, PingAnswered(request.sequence, helper), 1.5) is None
    assert prober.silent(0.5) == [probe[0]]
    assert prober.health.distrust == 1


def test_an_answer_counts_once_and_by_the_time_of_its_own_ping() -> None:
    prober = Prober(PACE, Random(1))
    first, second = (prober.next_probe(at, ["a"]) for at in (1.0, 1.3))
    assert first is not None
    assert second is not None
    assert prober.witnessed("a", PingAnswered(second[1].sequence, "a"), 1.5) == 1.3
    assert prober.witnessed("a", PingAnswered(first[1].sequence, "a"), 1.5) == 1.0
    assert prober.witnessed("a", PingAnswered(first[1].sequence, "a"), 1.5) is None
    assert prober.witnessed("a", PingAnswered(99, "a"), 1.5) is None


def test_after_a_helpers_word_that_it_is_alive_a_members_own_word_still_counts() -> None:
    prober = Prober(PACE, Random(1))
    members = ["a", "b"]
    probe = prober.next_probe(1.0, members)
    assert probe is not None
    peer, ping = probe
    (helper,) = set(members) - {peer}
    assert [target for target, _ in prober.requests_due(1.2, members)] == [peer, helper]
    assert prober.witnessed(helper, PingAnswered(ping.sequence, peer), 1.5) == 1.0
    assert prober.witnessed(peer, PingAnswered(ping.sequence, peer), 1.5) == 1.0
    assert prober.witnessed(peer, PingAnswered(ping.sequence, peer), 1.5) is None
    assert prober.silent(1.5) == []


def test_a_member_whose_helper_says_it_is_alive_is_not_silent() -> None:
    prober = Prober(PACE, Random(1))
    probe = prober.next_probe(1.0, ["a"])
    assert probe is not None
    assert prober.witnessed("b", PingAnswered(probe[1].sequence, "a"), 1.4) == 1.0
    assert prober.silent(1.5) == []
    assert prober.health.distrust == 1


def test_the_answer_of_who_was_not_asked_is_none() -> None:
    prober = Prober(PACE, Random(1))
    probe = prober.next_probe(1.0, ["a"])
    assert probe is not None
    assert prober.witnessed("b", PingAnswered(probe[1].sequence, "b"), 1.5) is None
    assert prober.silent(1.5) == ["a"]


def test_probes_that_are_forgotten_make_nobody_silent() -> None:
    prober = Prober(PACE, Random(1))
    prober.next_probe(1.0, ["a"])
    prober.forget()
    assert prober.silent(9.0) == []
    assert prober.health.distrust == 1
