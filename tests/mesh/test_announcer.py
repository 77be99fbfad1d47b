"""Who owns what, as the members and the policy say; the rest of it is in `test_membership`."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

import pytest

from mesh.actors.actor import Address, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.keys.decree import POLICY, Decree, Signer
from mesh.membership.membership import Membership
from mesh.membership.model.members import State
from mesh.membership.model.messages import PublishDecree
from mesh.membership.model.wire_messages import Rumour
from mesh.tables.memory_table import MemoryTable
from tests.mesh.membership_world import CONFIG, ROOT, TrustingCredentials, record_of

ME, ANN = "me", "ann"


def pins_of(decree: Decree, slot_count: int) -> Mapping[int, str] | None:
    """A policy here is the name of who is to have slots 0 to 9; "?" cannot be read."""
    who = decree.body.decode()
    return None if who == "?" else dict.fromkeys(range(10), who)


class Peer:
    """A membership that knows one other member, and what it has told of the slots last."""

    def __init__(self) -> None:
        self.membership = Membership(
            record_of(ME),
            CONFIG,
            Random(1),
            MemoryTable(),
            TrustingCredentials(),
            listeners=("controller",),
            pins_of=pins_of,
        )
        self.changes: list[Ownership] = []
        self._number = 0
        self._hear(self.membership.wake(0.0))
        self.membership._intake.learn(Rumour(record_of(ANN), State.ALIVE), 1.0)
        self._hear(self.membership.wake(1.0))

    def decree(self, who: str, **times: float) -> None:
        self._number += 1
        decree = Signer(ROOT, CONFIG.digest()).decree(POLICY, "", self._number, who.encode(), **times)
        self._hear(self.membership.receive(Address(ME, "http"), PublishDecree(1, decree), 2.0))

    def wake(self, now: float) -> None:
        self._hear(self.membership.wake(now))

    def _hear(self, sends: list[Send]) -> None:
        told = [send.message for send in sends]
        self.changes += [message.ownership for message in told if isinstance(message, OwnershipChanged)]

    def owners(self) -> list[str | None]:
        return [self.changes[-1].owner_of(slot) for slot in range(10)]


@pytest.fixture
def peer() -> Peer:
    return Peer()


@pytest.mark.parametrize("who", [ME, ANN])
def test_who_the_policy_pins_slots_to_owns_them_and_the_next_policy_says_otherwise(
    peer: Peer, who: str
) -> None:
    before, answering, epoch = peer.owners(), peer.changes[-1].answers, peer.changes[-1].epoch
    assert set(before) == {ME, ANN}
    peer.decree(who)
    assert peer.owners() == [who] * 10
    assert (peer.changes[-1].answers == answering).all()
    assert peer.changes[-1].epoch != epoch
    peer.decree("nobody here")
    assert peer.owners() == before
    assert peer.changes[-1].epoch == epoch


def test_a_policy_that_cannot_be_read_leaves_the_pins_of_the_last_one(peer: Peer) -> None:
    peer.decree(ANN)
    n_changes = len(peer.changes)
    peer.decree("?")
    assert len(peer.changes) == n_changes
    assert peer.owners() == [ANN] * 10


def test_pins_end_with_their_policy(peer: Peer) -> None:
    before = peer.owners()
    peer.decree(ANN, valid_until=60.0)
    assert peer.owners() == [ANN] * 10
    peer.wake(61.0)
    assert peer.owners() == before


def test_a_peer_that_the_policy_pins_slots_to_gives_them_up_with_its_weight(peer: Peer) -> None:
    peer.decree(ANN)
    drained = record_of(ANN, incarnation=1, weight=0, serving=0)
    peer.membership._intake.learn(Rumour(drained, State.ALIVE), 3.0)
    peer.wake(3.0)
    assert peer.owners() == [ME] * 10
