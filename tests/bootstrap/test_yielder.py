"""A member without slots consents to the claims of all others."""

from __future__ import annotations

import pytest

from bootstrap.rendezvous import Yielder
from mesh.actors.actor import Address, Send
from mesh.actors.node import Node
from mesh.errors import RemoteProtocolError
from mesh.slot_set import NO_SLOTS, encode_slots
from peers.handover.wire_messages import ClaimSlots, OfferSlots, SlotsYielded
from tests.helpers import ownership_changed

ME, PEER = "me", "peer"
MEMBERSHIP = Address(ME, "membership")
CLAIMANT = Address(PEER, "handover")


def _slots() -> bytes:
    return encode_slots(ownership_changed([PEER], me=ME).ownership.table.slots_of(PEER))


def test_claim_is_yielded_whole_and_again_when_it_is_repeated() -> None:
    yielder = Yielder(ME)
    changed = ownership_changed([PEER], me=ME)
    assert yielder.receive(MEMBERSHIP, changed, 0.0) == []
    claim = ClaimSlots(7, changed.ownership.epoch, _slots())
    answer = [Send(CLAIMANT, SlotsYielded(7, changed.ownership.epoch, _slots(), NO_SLOTS))]
    assert yielder.receive(CLAIMANT, claim, 1.0) == answer
    assert yielder.receive(CLAIMANT, claim, 2.0) == answer


def test_claim_under_another_epoch_waits_until_that_is_ours() -> None:
    yielder = Yielder(ME)
    before, after = ownership_changed(["other"], me=ME), ownership_changed([PEER], me=ME)
    claim = ClaimSlots(1, after.ownership.epoch, _slots())
    assert yielder.receive(CLAIMANT, claim, 0.0) == []
    assert yielder.receive(MEMBERSHIP, before, 1.0) == []
    assert yielder.receive(CLAIMANT, claim, 2.0) == []
    assert len(yielder.receive(MEMBERSHIP, after, 3.0)) == 1


def test_claim_of_a_member_that_died_meanwhile_is_forgotten() -> None:
    yielder = Yielder(ME)
    with_it, without_it = ownership_changed([PEER], me=ME), ownership_changed(["other"], me=ME)
    yielder.receive(CLAIMANT, ClaimSlots(1, with_it.ownership.epoch, _slots()), 0.0)
    yielder.receive(MEMBERSHIP, without_it, 1.0)
    assert yielder.receive(MEMBERSHIP, with_it, 2.0) == []


def test_other_peers_reach_it_with_claims_and_nothing_else() -> None:
    node = Node(ME, [Yielder(ME)])
    changed = ownership_changed([PEER], me=ME)
    node.receive(MEMBERSHIP, "handover", changed, 0.0)
    claim = ClaimSlots(7, changed.ownership.epoch, _slots())
    [(_, target, answer)] = node.receive_remote(CLAIMANT, "handover", claim, 1.0)
    assert (target, answer.is_promise) == (CLAIMANT, True)
    with pytest.raises(RemoteProtocolError):
        node.receive_remote(CLAIMANT, "handover", OfferSlots(1, b"", _slots()), 2.0)
