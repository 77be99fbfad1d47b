"""The owner of a mesh that pins slots to members now and then, each time with a new policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from peers.policy.rules import EVERYTHING, PINS_MAX, Pin, Policy, policy_bytes
from simulations.faults.machine import Machine
from simulations.world.members import Members
from simulations.world.world import World

if TYPE_CHECKING:
    from random import Random

PAUSE_S: Final = 15.0  # mean, between two policies


class Pinner:
    """Publishes policies with pins at any member, until it is told to stop; the last one stays.

    Attributes:
      pins: peer by slot, of the policy that was published last.
      base: all of the next policy but its pins.
    """

    def __init__(
        self,
        machines: Sequence[Machine],
        world: World,
        members: Members,
        random: Random,
        tell: Callable[[str], None],
        base: Policy = EVERYTHING,
    ) -> None:
        """Begin."""
        self.base = base
        self._machines = machines
        self._world = world
        self._members = members
        self._random = random
        self._tell = tell
        self._number = 0
        self.pins: Mapping[int, str] = {}

    def pin(self, until: float) -> None:
        """Begin, and go on until a time."""
        if self._world.now < until:
            self.publish()
            pause_s = self._random.expovariate(1 / PAUSE_S)
            self._world.plan(self._world.now + pause_s, lambda: self.pin(until))

    def publish(self) -> None:
        """Say it once, at a member that runs, if there is any."""
        running = [machine for machine in self._machines if machine.is_running]
        if not running:
            return
        slots = range(self._members.config.slot_count)
        chosen = self._random.sample(slots, self._random.randint(0, min(len(slots), PINS_MAX)))
        # Some may be pinned to members that are down, drain or never come.
        pins = tuple(Pin(slot=slot, peer=self._random.choice(self._machines).peer) for slot in chosen)
        self.pins = {pin.slot: pin.peer for pin in pins if pin.slot is not None}
        policy = replace(self.base, pins=pins)
        self._number += 1
        machine = self._random.choice(running)
        self._tell(f"policy {self._number} pins {len(pins)} of {len(slots)} slots, told to {machine.name}")
        machine.publish(self._members.policy(self._number, policy_bytes(policy)))
