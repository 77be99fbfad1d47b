"""A member that invents texts of its pages, in a mesh without faults: it is found out, and nobody else is."""

from __future__ import annotations

from math import inf

import msgspec

from mesh.actors.conduct import Offence
from simulations.faults.fault_run import FaultRun
from simulations.faults.faults import plan_of

PEERS = 4
LIAR = 2
CRAWLED_S = 450.0


def run_with(share_invented: float) -> FaultRun:
    """A crawl of many domains, one of whose peers says of a share of its pages something else."""
    plan = msgspec.structs.replace(plan_of(1, PEERS), faults=(), replicas=2, hosts=60, pages=400)
    run = FaultRun(plan, has_domains=True)
    run._join()
    texts = run.false_texts
    texts._share, texts._share_kept, texts.until_s = share_invented, 0.0, inf
    liar = run.machines[LIAR].peer
    run.world.twist(liar, lambda source, target, message: texts.twisted(target.peer, message))
    for url in run.web.seeds:
        run.users.seed(run.machines[0], url)
    run.world.run(until=run.world.now + CRAWLED_S)
    return run


def test_who_invents_most_texts_is_found_out_and_nobody_else_is() -> None:
    run = run_with(0.7)
    assert run.watch.violations == []
    liar = run.machines[LIAR]
    for machine in run.present():
        blamed = {each.peer for each in machine.conduct().members if Offence.INVENTED in each.offences}
        assert blamed <= {liar.peer}
    assert any(machine.conduct().offences.get(Offence.INVENTED) for machine in run.present())


def test_nobody_is_found_out_on_a_web_that_changes_while_it_is_looked_at() -> None:
    run = run_with(0.0)
    assert run.watch.violations == []
    assert len(run.watch.looks) > 50
    assert all(not machine.conduct().offences.get(Offence.INVENTED) for machine in run.present())
