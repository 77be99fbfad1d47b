"""Slots that are there, and copied, where peers come and go: by hand and by closed forms."""

from __future__ import annotations

from math import gamma

import numpy as np
import pytest

from simulations.model.sessions import Churn, ChurningMesh, ChurnSeen

NEVER = 1e9
RESTLESS = Churn(8.0, 4.0, 0.5, 0.001, 0.001, 0.0, 0.0)


def seen(churn: Churn, hours: float = 300.0, replicas: int = 2, peers: int = 6, seed: int = 1) -> ChurnSeen:
    return ChurningMesh(peers, 60, replicas, churn, np.random.default_rng(seed)).run(hours)


class Scripted(ChurningMesh):
    """Peers whose sessions and absences have given lengths, in the order of being drawn."""

    def __init__(self, lengths: list[float], peers: int, slots: int, replicas: int, churn: Churn) -> None:
        super().__init__(peers, slots, replicas, churn, np.random.default_rng(1))
        self._lengths = lengths

    def _length(self, mean: float) -> float:
        return self._lengths.pop(0)


def test_a_mesh_that_nobody_leaves_has_everything_and_copies_nothing() -> None:
    mesh = Scripted([NEVER] * 5, 5, 50, 2, RESTLESS)
    assert mesh.run(100.0)[:5] == (1.0, 1.0, 1.0, 0.0, 0)


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_who_leaves_is_replaced_and_copies_what_has_changed_when_it_is_back(replicas: int) -> None:
    # Of three peers the second is away from the first hour to the third; a tenth changes in an hour.
    churn = Churn(1e-3, 1e-3, 1.0, 0.01, 0.001, 0.1, 0.0)
    mesh = Scripted([NEVER, 1.0, NEVER, 2.0, NEVER], 3, 90, replicas, churn)
    found = mesh.run(10.0)
    owned = 30 * replicas
    if replicas == 1:  # there is nobody to copy from, neither meanwhile nor afterwards
        assert found.copied == 0.0
        assert found.covered == pytest.approx(1 - 2 / 10 / 3, abs=0.02)
        return
    replaced = owned if replicas == 2 else 0  # of three peers all have all
    assert found.copied * 10 * 3 == pytest.approx(replaced + 0.2 * owned, rel=0.15)
    assert found.covered == pytest.approx(1.0)
    assert found.present == pytest.approx(1 - 2 / 10 / 3, abs=0.001)


def test_a_disk_that_is_lost_takes_along_what_nobody_else_has() -> None:
    lossy = RESTLESS._replace(disks_lost=0.5)
    single, double = seen(lossy, replicas=1), seen(lossy, replicas=2)
    assert single.lost > 20 * max(1, double.lost)
    assert seen(RESTLESS, replicas=1).lost == 0


def test_lines_that_are_slow_leave_more_uncovered() -> None:
    slow, fast = (seen(RESTLESS._replace(slot_h=hours)) for hours in (0.5, 0.001))
    assert slow.covered < fast.covered
    assert slow.complete < fast.complete


@pytest.mark.parametrize("shape", [0.34, 1.0, 2.0])
def test_sessions_have_the_mean_and_the_spread_of_their_distribution(shape: float) -> None:
    mesh = ChurningMesh(2, 1, 1, RESTLESS._replace(shape=shape), np.random.default_rng(3))
    lengths = np.array([mesh._length(8.0) for _ in range(200_000)])
    assert lengths.mean() == pytest.approx(8.0, rel=0.03)
    spread = gamma(1 + 2 / shape) / gamma(1 + 1 / shape) ** 2 - 1  # variance over the square of the mean
    assert lengths.var() / 64 == pytest.approx(spread, rel=0.3)


def test_the_same_seed_is_the_same_mesh() -> None:
    assert seen(RESTLESS) == seen(RESTLESS)
    assert seen(RESTLESS) != seen(RESTLESS, seed=2)
