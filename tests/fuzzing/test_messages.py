"""Whatever a member says to another in well-formed messages, who hears it crawls and searches on."""

from __future__ import annotations

from math import inf

import msgspec
import pytest

from mesh.actors.actor import Address
from simulations.faults.conduct_watch import CONDUCT
from simulations.faults.fault_run import FaultRun
from simulations.faults.faults import plan_of
from tests.fuzzing.harness import Fuzzer
from tests.fuzzing.wire_frames import messages_of

PEERS = 3
AT_ONCE = 50  # messages, before time passes
PAUSE_S = 1.0
ANSWERED_S = 30.0  # for a search behind all that


@pytest.mark.inputs(10_000)
def test_no_message_of_a_member_ends_another(fuzzer: Fuzzer, monkeypatch: pytest.MonkeyPatch) -> None:
    conduct = msgspec.structs.replace(CONDUCT, quarantine_points=inf)  # or most would not be heard
    monkeypatch.setattr("simulations.faults.fault_run.CONDUCT", conduct)
    run = FaultRun(msgspec.structs.replace(plan_of(fuzzer.seed, PEERS), faults=()))
    world, (liar, victim, other) = run.world, run.machines[:PEERS]
    for machine in (liar, victim, other):
        machine.start()
    world.run(until=world.now + 30.0)
    for url in run.web.seeds:
        run.users.seed(victim, url)
    peers = [machine.peer for machine in (liar, victim, other)]
    for peer in peers:  # who is asked in the name of the liar answers its node, which has not asked
        world.distrust(peer)
    for actor, message in messages_of(fuzzer.random, peers, fuzzer.count):
        world.forge(liar.peer, Address(victim.peer, actor), message)
        fuzzer.n_inputs += 1
        if fuzzer.n_inputs % AT_ONCE == 0:
            run.search_something()
            world.run(until=world.now + PAUSE_S)
    for machine in (victim, other):
        assert machine.is_running
        assert machine.crawl().pages_fetched > 0
    answered = run.users.n_complete
    run.search_something()
    world.run(until=world.now + ANSWERED_S)
    assert run.users.n_complete > answered
