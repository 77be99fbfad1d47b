"""A member that takes part as all others do, and beside that says in its own name whatever may do harm.

What it says goes over the same network from its own address, so it is known who says it; what only the holder
of another key could say it can but forge. It does not spoil the slots that are its own: so all that must hold
without it must hold with it, for every page of the web.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from mesh.actor import Address, Message
from mesh.certificate import Grant, issue
from mesh.credentials import PeerCredentials
from mesh.decree import DRAIN, POLICY, RENEWAL, REVOCATION, WRITE_OFF, Signer, number_body
from mesh.membership.members import State
from mesh.membership.membership import Membership
from mesh.membership.wire_messages import (
    GOSSIP_MAX,
    DecreesTold,
    MemberRecord,
    MembersTold,
    Ping,
    Rumour,
    RumoursSpread,
)
from mesh.signing_key import SigningKey
from mesh.slot_ranking import WEIGHT_MAX

if TYPE_CHECKING:
    from random import Random

    from simulations.machine import Machine
    from simulations.members import Members
    from simulations.world import World

PAUSE_S: Final = 1.0  # mean, between two lies
FLOOD: Final = 50  # messages at once


class Liar:
    """Speaks in the name of the peer of one machine, while that runs."""

    def __init__(
        self,
        machine: Machine,
        world: World,
        members: Members,
        random: Random,
        tell: Callable[[str], None],
    ) -> None:
        self.n_lies = 0
        self._machine = machine
        self._world = world
        self._members = members
        self._random = random
        self._tell = tell
        self._until = 0.0
        self._heard: list[MemberRecord] = []  # to be told again when they are old
        self._lies = (
            self._bury,
            self._accuse,
            self._claim,
            self._command,
            self._repeat,
            self._forge,
            self._flood,
        )

    def lie(self, until: float) -> None:
        """Begin, and go on until that time of the world."""
        self._until = until
        self._world.distrust(self._machine.peer)
        self._later()

    def _later(self) -> None:
        self._world.plan(self._world.now + self._random.expovariate(1 / PAUSE_S), self._lie_now)

    def _lie_now(self) -> None:
        if self._world.now >= self._until:
            return
        self._later()
        if not self._machine.is_running:
            return
        victims = [rumour.record for rumour in self._believed() if rumour.record.peer != self._machine.peer]
        if victims:
            self.n_lies += 1
            self._random.choice(self._lies)(self._random.choice(victims))
            self._heard = [*self._heard, *victims][-100:]

    def _believed(self) -> list[Rumour]:
        membership = self._world.node(self._machine.peer).actor("membership")
        assert isinstance(membership, Membership)
        return membership.believed()

    def _say(self, message: Message, *, to_all: bool = True) -> None:
        others = [
            rumour.record.peer for rumour in self._believed() if rumour.record.peer != self._machine.peer
        ]
        for peer in others if to_all else self._random.sample(others, 1):
            self._world.forge(self._machine.peer, Address(peer, "membership"), message)

    # --- What it says ---

    def _bury(self, victim: MemberRecord) -> None:
        """Say of a living member that it is dead, or has left."""
        state = self._random.choice((State.DEAD, State.LEFT))
        self._tell(f"{self._machine.name} lies: {victim.peer} is {state.name.lower()}")
        self._say(RumoursSpread((Rumour(victim, state),)), to_all=self._random.random() < 0.5)

    def _accuse(self, victim: MemberRecord) -> None:
        """Say that many found a member silent."""
        accusers = tuple(rumour.record.peer for rumour in self._believed())[:8]
        self._say(RumoursSpread((Rumour(victim, State.SUSPECT, accusers),)))

    def _claim(self, victim: MemberRecord) -> None:
        """Sign a record of its own with all the weight there is, and one certified by itself."""
        peer = self._machine.peer
        credentials = PeerCredentials(self._members.identities[peer], self._members.config)
        own = next(rumour.record for rumour in self._believed() if rumour.record.peer == peer)
        greedy = replace(own, weight=WEIGHT_MAX, serving=WEIGHT_MAX, incarnation=own.incarnation + 1)
        keys = own.curve_key, own.signing_key
        everything = Grant(peer, weight_max=WEIGHT_MAX)
        certificate = issue(self._own_key(), self._members.config.digest(), *keys, everything)
        certified = replace(greedy, certificate=certificate.encoded())
        for record in (greedy, certified):
            self._say(RumoursSpread((Rumour(credentials.sign(record), State.ALIVE),)))

    def _command(self, victim: MemberRecord) -> None:
        """Decree what only others may."""
        signer = Signer(self._own_key(), self._members.config.digest())
        kind = self._random.choice((DRAIN, POLICY, RENEWAL, REVOCATION, WRITE_OFF))
        subject = "" if kind == POLICY else victim.peer
        decree = signer.decree(kind, subject, 1 << 40, number_body(1 << 40))
        root = bytes.fromhex(self._members.config.root_key)
        self._say(DecreesTold((decree, replace(decree, signer=root, warrant=b""))))

    def _repeat(self, victim: MemberRecord) -> None:
        """Tell old records again, which were genuine once."""
        old = self._random.choice(self._heard) if self._heard else victim
        self._say(MembersTold((Rumour(old, State.DEAD), Rumour(old, State.ALIVE))))

    def _forge(self, victim: MemberRecord) -> None:
        """Change what a member says of itself."""
        forged = replace(victim, weight=0, is_draining=True, incarnation=victim.incarnation + 1)
        parted = replace(forged, parting=int(State.LEFT))
        self._say(RumoursSpread((Rumour(forged, State.ALIVE), Rumour(parted, State.LEFT))))

    def _flood(self, victim: MemberRecord) -> None:
        """Send one member many pings that are full of members that do not exist."""
        nobody = tuple(Rumour(replace(victim, peer=f"nobody{n}"), State.ALIVE) for n in range(GOSSIP_MAX))
        for number in range(FLOOD):
            message = Ping(number, nobody, queue=1 << 40)
            self._world.forge(self._machine.peer, Address(victim.peer, "membership"), message)

    def _own_key(self) -> SigningKey:
        return SigningKey.of_secret(self._members.identities[self._machine.peer].secret)
