"""The port that tells how this peer is: process id, memory, processor time and all counters. [io]"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import trio

from mesh.actor import Address, Message
from mesh.errors import LocalProtocolError
from mesh.port import Deliver
from peers.gateway.messages import MeterRead, ReadMeter
from peers.gateway.status import PeerStatus, encode

REQUESTS_MAX = 64  # as the searcher keeps; what is over is dropped, the asker asks again
MEASURE_EVERY_S = 2.0


class Meter:
    """Answers `ReadMeter` with what the composition root measures."""

    name: ClassVar[str] = "meter"

    def __init__(self, me: str, measure: Callable[[], PeerStatus]) -> None:
        """Remember who measures.

        Args:
          me: id of this peer.
          measure: takes the status now, within a millisecond; called on the event loop's thread.
        """
        self._address = Address(me, self.name)
        self._measure = measure
        self._orders, self._inbox = trio.open_memory_channel[tuple[str, ReadMeter]](REQUESTS_MAX)

    def receive(self, source: Address, message: Message) -> None:
        match message:
            case ReadMeter():
                try:
                    self._orders.send_nowait((source.actor, message))
                except trio.WouldBlock:
                    pass  # the searcher repeats what it still wants
            case _:
                raise LocalProtocolError(f"the meter got {message!r}")

    async def run(self, deliver: Deliver) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._measure_regularly)
            async for actor, order in self._inbox:
                deliver(self._address, actor, MeterRead(order.request, encode(self._measure())))

    async def _measure_regularly(self) -> None:
        """Speeds are differences to what was measured before."""
        while True:
            await trio.sleep(MEASURE_EVERY_S)
            self._measure()
