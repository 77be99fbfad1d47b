"""The malicious member's lies about addresses of the web: the right to ask them, and their holders.

It lends those of others' slots, gives back and tells of leases that it has not, wants each address itself,
and those of its own slots for nobody. It lends none to two at once: nobody could see that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from mesh.actors.actor import Address, Message
from mesh.slot_set import encode_slots
from peers.crawler.addresses.lent_addresses import LEASE_S
from peers.crawler.addresses.lessor import Lessor
from peers.crawler.model.wire_messages import (
    PAUSE_S_MAX,
    AddressLeased,
    AddressReturned,
    LeaseAddress,
    LeasesTold,
    TellLeases,
)
from simulations.world.chance import random_of

if TYPE_CHECKING:
    from simulations.faults.machine import Machine
    from simulations.world.world import World

PAUSE_S: Final = 1.0  # mean, between two lies
SHARES_DENIED: Final = (0.0, 0.5, 1.0)  # of the addresses that it is asked for, one of these in a run
GREEDY_DELAY_S: Final = 20.0  # that it wants an address to be left alone after it
ACTOR: Final = Lessor.name


class FalseLeases:
    """The lies about addresses of one malicious member."""

    def __init__(
        self,
        seed: int,
        machine: Machine,
        others: Callable[[], Sequence[Machine]],
        world: World,
        networks: Sequence[str],
    ) -> None:
        """Begin.

        Args:
          machine: that of the liar.
          others: machines to which it may speak.
          networks: addresses of the web.
        """
        self._random = random_of(seed, "false leases")
        self._share = self._random.choice(SHARES_DENIED)
        self._machine = machine
        self._others = others
        self._world = world
        self._networks = networks
        self._until_s = 0.0

    def lie(self, until_s: float) -> None:
        """Begin, and go on until that time of the world."""
        self._until_s = until_s
        self._later()

    def twisted(self, message: Message) -> Message:
        """Let nobody have an address, and say of all that they are leased already."""
        if self._world.now >= self._until_s:
            return message
        if isinstance(message, AddressLeased) and self._random.random() < self._share:
            return replace(message, seconds=0.0)
        if isinstance(message, LeasesTold):
            return replace(message, leases=tuple((network, 1) for network in self._networks))
        return message

    def _later(self) -> None:
        self._world.plan(self._world.now + self._random.expovariate(1 / PAUSE_S), self._lie_now)

    def _lie_now(self) -> None:
        if self._world.now >= self._until_s:
            return
        self._later()
        ownership = self._machine.ownership
        others = [each for each in self._others() if each.is_running and each is not self._machine]
        if not self._machine.is_running or ownership is None or not others:
            return
        victim, network = self._random.choice(others), self._random.choice(self._networks)
        owner = ownership.owner_of(ownership.slot_of(network))
        if owner not in (None, self._machine.peer):
            self._lend(victim, network)
            wanted = LeaseAddress(network, self._random.randrange(1 << 40), GREEDY_DELAY_S, is_held=True)
            self._say(owner or "", wanted)
            for number in self._numbers_of(victim, network):
                self._say(owner or "", AddressReturned(network, number, PAUSE_S_MAX))
        everything = encode_slots(ownership.owned | True)
        self._say(victim.peer, TellLeases(self._random.randrange(1 << 40), everything))
        self._say(victim.peer, LeasesTold(self._random.randrange(1 << 40), ((network, 1),)))

    def _lend(self, victim: Machine, network: str) -> None:
        """Let a member ask an address of somebody else's, by all numbers that it may be waiting for."""
        for number in self._numbers_of(victim, network):
            self._say(victim.peer, AddressLeased(network, number, 0.0, LEASE_S))

    def _numbers_of(self, victim: Machine, network: str) -> list[int]:
        """Numbers that it cannot know, at worst guesses."""
        lessor = self._world.node(victim.peer).actor(ACTOR)
        assert isinstance(lessor, Lessor)
        wish = lessor._wishes.get(network)
        return [] if wish is None else sorted({*wish.asked, wish.number})

    def _say(self, peer: str, message: Message) -> None:
        self._world.forge(self._machine.peer, Address(peer, ACTOR), message)
