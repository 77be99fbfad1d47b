"""The port that measures this peer, for the searcher and the historian, and logs its events. [io]

It tells the controller, too, while the disk has as much as it may.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ClassVar

import trio

from mesh.actors.actor import Address, Message
from mesh.actors.port import Deliver, DiskFilled
from mesh.errors import LocalProtocolError
from peers.gateway.model.messages import MeterRead, ReadMeter
from peers.gateway.model.status import PeerStatus, encode
from peers.history.event import GRAVE, line_of
from peers.history.messages import Happened, VitalsTaken

REQUESTS_MAX = 64  # as the searcher keeps; what is over is dropped, the asker asks again
MEASURE_EVERY_S = 2.0

logger = logging.getLogger(__name__)


class Meter:
    """Answers `ReadMeter` with the status of this peer; tells the historian now and then."""

    name: ClassVar[str] = "meter"

    def __init__(
        self, me: str, measure: Callable[[], PeerStatus], vitals_of: Callable[[PeerStatus], VitalsTaken]
    ) -> None:
        """Keep the functions that measure.

        Args:
          me: id of this peer.
          measure: takes the status now, within a millisecond; called on the event loop's thread.
          vitals_of: what of a status that was taken just now its history is told.
        """
        self._address = Address(me, self.name)
        self._measure = measure
        self._vitals_of = vitals_of
        self._orders, self._inbox = trio.open_memory_channel[tuple[str, ReadMeter]](REQUESTS_MAX)

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case ReadMeter():
                try:
                    self._orders.send_nowait((source.actor, message))
                except trio.WouldBlock:
                    pass  # the searcher repeats what it still wants
            case Happened(event):
                logger.log(logging.WARNING if event.kind in GRAVE else logging.INFO, "%s", line_of(event))
            case _:
                raise LocalProtocolError(f"the meter got {message!r}")

    async def run(self, deliver: Deliver) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._measure_regularly, deliver)
            async for actor, order in self._inbox:
                deliver(self._address, actor, MeterRead(order.request, encode(self._measure())))

    async def _measure_regularly(self, deliver: Deliver) -> None:
        """Measure at intervals: speeds are differences, and a crawl stops when its disk has enough."""
        while True:
            await trio.sleep(MEASURE_EVERY_S)
            status = self._measure()
            deliver(self._address, "historian", self._vitals_of(status))
            if status.disk_stop:
                deliver(self._address, "controller", DiskFilled(status.disk_stop))
