"""Meshes of machines for tests: with clocks that are right, and nobody who looks on."""

from __future__ import annotations

from typing import Any, Final

from peers.crawler.model.settings import CrawlSettings
from simulations.faults.clock import VirtualClock
from simulations.faults.machine import Machine
from simulations.webs.web import Web
from simulations.world.members import Members, VirtualDoor
from simulations.world.world import World

REST_S: Final = 240.0  # within which a mesh comes to rest, by far


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

    def rest(self) -> None:
        """Wait until all that run know each other, and nothing has to move or to be told."""
        until = self.world.now + REST_S
        while not self._is_at_rest():
            self.pass_time(2.0)
            assert self.world.now < until, [each.trouble() for each in self.running]

    def _is_at_rest(self) -> bool:
        peers = {machine.peer for machine in self.running}
        return all(
            machine.ownership is not None
            and machine.ownership.alive == peers
            and machine.has_settled()
            and self.is_told(machine)
            for machine in self.running
        )

    def is_told(self, machine: Machine) -> bool:
        """Has the store that is tested told others there all that it has?"""
        return True


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
