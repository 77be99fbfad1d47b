"""Plans of faults: the same from the same seed, varied, and never asking what cannot be promised."""

from __future__ import annotations

from collections import Counter

import pytest

from simulations.faults.faults import (
    CALM_S,
    PEERS_ADDED_MAX,
    AnyFault,
    Clog,
    Crash,
    Cut,
    FaultPlan,
    Flip,
    Join,
    Leave,
    Vanish,
    Wipe,
    plan_of,
)

PLANS = [plan_of(seed, 3 + seed % 7) for seed in range(400)]


def lost_disks(plan: FaultPlan) -> list[float]:
    return [planned.at_s for planned in plan.faults if isinstance(planned.fault, Wipe | Vanish | Flip)]


def test_a_seed_gives_one_plan_and_another_number_of_peers_another() -> None:
    assert plan_of(7, 5) == plan_of(7, 5)
    assert plan_of(7, 5) != plan_of(7, 6)
    assert plan_of(7, 5) != plan_of(8, 5)


def test_every_kind_of_fault_comes_in_some_plans() -> None:
    kinds = Counter(type(planned.fault) for plan in PLANS for planned in plan.faults)
    assert set(kinds) == set(AnyFault.__args__)
    assert min(kinds.values()) >= 5


def test_faults_come_in_order_and_say_what_they_are() -> None:
    for plan in PLANS:
        times = [planned.at_s for planned in plan.faults]
        assert times == sorted(times)
        assert all(" " in str(planned.fault) for planned in plan.faults)


def test_at_most_one_disk_is_lost_and_none_without_replicas() -> None:
    for plan in PLANS:
        assert len(lost_disks(plan)) <= (1 if plan.replicas > 1 else 0)
    assert sum(len(lost_disks(plan)) for plan in PLANS) > 50


def test_nothing_else_goes_wrong_around_the_loss_of_a_disk() -> None:
    for plan in PLANS:
        for at_s in lost_disks(plan):
            others = [planned.at_s for planned in plan.faults if planned.at_s != at_s]
            if at_s >= plan.healed_s:  # the run waits for the mesh to be whole again
                continue
            assert all(other > at_s + CALM_S for other in others)


def test_links_go_between_two_peers_and_clogs_end_after_they_begin() -> None:
    for plan in PLANS:
        for planned in plan.faults:
            fault = planned.fault
            if isinstance(fault, Cut | Clog):
                assert all(source != target for source, target in fault.links)
            if isinstance(fault, Clog):
                assert all(begin <= end for begin, end in zip(fault.begins, fault.ends, strict=True))


def test_three_peers_at_least_stay_and_new_ones_have_keys() -> None:
    for plan in PLANS:
        present = set(range(plan.peers))
        for planned in plan.faults:
            match planned.fault:
                case Join(peer):
                    assert peer not in present
                    present.add(peer)
                case Leave(peer) | Vanish(peer):
                    present.remove(peer)
        assert len(present) >= 3
        assert max(present) < plan.peers + PEERS_ADDED_MAX == len(plan.drifts)


def test_a_sentence_for_the_transcript_names_the_peer() -> None:
    assert str(Crash(3, 2.5, 7, is_power_loss=True)) == ("p3 loses power after 7 more sends, down for 2.5 s")


@pytest.mark.parametrize("peers", [3, 9])
def test_plans_are_made_for_small_and_large_meshes(peers: int) -> None:
    assert plan_of(1, peers).peers == peers
