"""Meshes of machines for tests: with clocks that are right, and nobody who looks on."""

from __future__ import annotations

from typing import Any

from peers.crawler.model.settings import CrawlSettings
from simulations.faults.clock import VirtualClock
from simulations.faults.machine import Machine
from simulations.webs.web import Web
from simulations.world.members import Members, VirtualDoor
from simulations.world.world import World


class PlayedMesh:
    """Machines in a world in which time passes when a test says so."""

    world: World
    members: Members
    machines: list[Machine]

    def begin(
        self,
        count: int,
        web: Web,
        settings: CrawlSettings | None = None,
        *,
        started: int | None = None,
        **others: Any,
    ) -> None:
        """Set up so many machines, of which the first ones, or all, are started. Args: as `machines_of`."""
        self.machines = machines_of(count, self.world, self.members, web, settings, **others)
        for machine in self.machines[:started]:
            machine.start()

    @property
    def running(self) -> list[Machine]:
        return [machine for machine in self.machines if machine.is_running]

    def pass_time(self, seconds: float) -> None:
        self.world.run(until=self.world.now + seconds)


def machines_of(
    count: int,
    world: World,
    members: Members,
    web: Web,
    settings: CrawlSettings | None = None,
    **others: Any,
) -> list[Machine]:
    """Set up so many machines, on none of which anything runs yet.

    Args:
      others: arguments of `Machine` that are not as most tests have them.
    """
    settings, doors = settings or CrawlSettings(), dict[str, VirtualDoor]()
    others = {"fetched": _ignore, "abandoned": _ignore, "told": _ignore} | others
    return [
        Machine(number, world, members, web, settings, doors, clock=VirtualClock(0.0, 0.0), **others)
        for number in range(count)
    ]


def _ignore(*_: object) -> None:
    pass
