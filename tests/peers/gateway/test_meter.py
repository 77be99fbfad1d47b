from __future__ import annotations

import pytest
import trio

from mesh.actor import Address, Message
from mesh.errors import LocalProtocolError
from peers.gateway.messages import MeterRead, ReadMeter
from peers.gateway.meter import REQUESTS_MAX, Meter
from peers.gateway.status import PeerStatus, encode

SEARCHER = Address("ann", "searcher")


async def test_meter_tells_what_is_measured(nursery: trio.Nursery, autojump_clock: object) -> None:
    delivered: list[tuple[Address, str, Message]] = []
    meter = Meter("ann", lambda: PeerStatus(id="ann", pages_fetched=len(delivered)))
    nursery.start_soon(meter.run, lambda *delivery: delivered.append(delivery))
    for request in (1, 2):
        meter.receive(SEARCHER, ReadMeter(request))
    await trio.testing.wait_all_tasks_blocked()
    assert delivered == [
        (Address("ann", "meter"), "searcher", MeterRead(n, encode(PeerStatus(id="ann", pages_fetched=n - 1))))
        for n in (1, 2)
    ]
    nursery.cancel_scope.cancel()


async def test_orders_over_the_limit_are_dropped() -> None:
    meter = Meter("ann", lambda: PeerStatus(id="ann"))
    for request in range(REQUESTS_MAX + 1):
        meter.receive(SEARCHER, ReadMeter(request))


async def test_meter_refuses_what_is_not_for_it() -> None:
    with pytest.raises(LocalProtocolError):
        Meter("ann", lambda: PeerStatus(id="ann")).receive(SEARCHER, Message())
