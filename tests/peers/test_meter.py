from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import DiskFilled
from mesh.errors import LocalProtocolError
from peers.gateway.model.messages import MeterRead, ReadMeter
from peers.gateway.model.status import PeerStatus, encode
from peers.history.event import Event, EventKind, PeerCondition
from peers.history.messages import Happened, VitalsTaken
from peers.history.sample import Counts
from peers.meter import MEASURE_EVERY_S, REQUESTS_MAX, Meter

SEARCHER = Address("ann", "searcher")
VITALS = VitalsTaken(Counts(), {}, PeerCondition(version="1"), has_joined=True)


def meter_of(measure: Callable[[], PeerStatus] = lambda: PeerStatus(id="ann")) -> Meter:
    return Meter("ann", measure, lambda status: VITALS)


async def test_meter_tells_what_is_measured(nursery: trio.Nursery, autojump_clock: object) -> None:
    delivered: list[tuple[Address, str, Message]] = []
    meter = meter_of(lambda: PeerStatus(id="ann", pages_fetched=len(delivered)))
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
    meter = meter_of()
    for request in range(REQUESTS_MAX + 1):
        meter.receive(SEARCHER, ReadMeter(request))


async def test_meter_refuses_what_is_not_for_it() -> None:
    with pytest.raises(LocalProtocolError):
        meter_of().receive(SEARCHER, Message())


async def test_meter_tells_the_historian_now_and_then(nursery: trio.Nursery, autojump_clock: object) -> None:
    delivered: list[tuple[Address, str, Message]] = []
    nursery.start_soon(meter_of().run, lambda *delivery: delivered.append(delivery))
    await trio.sleep(2.5 * MEASURE_EVERY_S)
    assert delivered == [(Address("ann", "meter"), "historian", VITALS)] * 2
    nursery.cancel_scope.cancel()


async def test_meter_tells_the_controller_while_the_disk_has_enough(
    nursery: trio.Nursery, autojump_clock: object
) -> None:
    why = ["", "2 GB are used", ""]
    delivered: list[tuple[Address, str, Message]] = []
    meter = meter_of(lambda: PeerStatus(id="ann", disk_stop=why.pop(0)))
    nursery.start_soon(meter.run, lambda *delivery: delivered.append(delivery))
    await trio.sleep(3.5 * MEASURE_EVERY_S)
    assert [each for each in delivered if each[1] == "controller"] == [
        (Address("ann", "meter"), "controller", DiskFilled("2 GB are used"))
    ]
    nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("kind", "level"), [(EventKind.DOWN, logging.WARNING), (EventKind.JOINED, logging.INFO)]
)
async def test_what_has_happened_is_logged_the_grave_as_warnings(
    kind: EventKind, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    meter_of().receive(Address("ann", "historian"), Happened(Event(1.0, kind, "bob")))
    [record] = caplog.records
    assert (record.levelno, record.message) == (level, f"event {kind} peer=bob")
