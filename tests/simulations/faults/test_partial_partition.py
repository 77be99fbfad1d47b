"""Two of three members do not hear each other: searches find all pages, or say that slots are missing."""

from __future__ import annotations

import msgspec
import pytest

from simulations.faults.fault_run import START_S, FaultRun
from simulations.faults.faults import Cut, Planned, plan_of

CUT_AT_S = 8.0
CUT_FOR_S = 80.0  # the owner counts pages without the standby after 30
PAUSE_S = 0.15  # between two searches


def search_all_the_time(run: FaultRun) -> None:
    if run._is_busy:
        run.search_something()
        run.world.plan(run.world.now + PAUSE_S, lambda: search_all_the_time(run))


@pytest.mark.parametrize("seed", [1, 4])
def test_page_that_a_separated_standby_lacks_is_found_or_its_slot_is_missing(seed: int) -> None:
    cut = Planned(CUT_AT_S, Cut(((0, 2), (2, 0)), CUT_FOR_S, "p0 | p2, over p1"))
    plan = msgspec.structs.replace(plan_of(seed, 3), faults=(cut,), healed_s=CUT_AT_S + CUT_FOR_S)
    run = FaultRun(plan)
    run.world.plan(START_S + CUT_AT_S, lambda: search_all_the_time(run))
    outcome = run.run()
    assert outcome.violations == ()
    assert 0 < outcome.complete_searches < outcome.searches
    assert outcome.searches > CUT_FOR_S / PAUSE_S
