"""A member that leaves its pages out of what it finds, in a mesh without faults: gateways find it out."""

from __future__ import annotations

from math import inf

import msgspec
import pytest

from mesh.actors.actor import Address, Message
from mesh.actors.conduct import Offence
from peers.gateway.model.messages import SearchPages
from peers.gateway.search.doubts import AGAIN_AFTER_S
from peers.gateway.search.stand_in_check import SEARCHES_EACH
from peers.index.wire_messages import HitsFound
from simulations.faults.fault_run import FaultRun
from simulations.faults.faults import plan_of
from simulations.world.words import COMMON_WORD

PEERS = 5
CRAWLED_S = 120.0
PAUSE_S = 0.3  # between two searches


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_who_leaves_hits_out_is_blamed_when_each_member_was_compared_once(share: float) -> None:
    run = FaultRun(msgspec.structs.replace(plan_of(1, PEERS), faults=(), replicas=2), has_revisits=False)
    run._join()
    for url in run.web.seeds:
        run.users.seed(run.machines[0], url)
    run.world.run(until=run.world.now + CRAWLED_S)
    answers, (gateway, liar) = run.false_answers, run.machines[:2]
    answers.share_left_out, answers.until_s = share, inf

    def twisted(source: Address, target: Address, message: Message) -> Message:
        return answers.hits(target.peer, message) if isinstance(message, HitsFound) else message

    run.world.twist(liar.peer, twisted)
    # One member after the other is compared, and where it differs again after a while; then comes the next.
    until_s = run.world.now + (PEERS - 1) * (SEARCHES_EACH * PAUSE_S + AGAIN_AFTER_S + 5.0)
    number = 0
    while run.world.now < until_s:
        number += 1
        gateway.order(SearchPages(1_000_000 + number, COMMON_WORD, k=1 + number % 100))
        run.world.run(until=run.world.now + PAUSE_S)
    conduct = gateway.conduct()
    assert [each.peer for each in conduct.members] == [liar.peer]
    assert conduct.members[0].offences.keys() == {Offence.CONTRADICTED}
