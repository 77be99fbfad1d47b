"""What one handover answers, message by message; whole histories are in `test_histories`."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import pytest

from mesh.actors.actor import EVERYBODY, Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError
from mesh.membership.model.messages import HoldingsRevoked, MembersSeparated, ServeSlots
from mesh.membership.model.swim_settings import SwimSettings
from mesh.membership.model.wire_messages import Ping
from mesh.slot_set import NO_SLOTS, SlotMask, decode_slots, encode_slots
from mesh.slots import SlotTable
from peers.handover.handover import Handover
from peers.handover.messages import (
    ForgetSlots,
    HoldSlots,
    SlotsComplete,
    SlotsDiffer,
    SlotsFilled,
    SlotsLacking,
    SlotsStopped,
    SlotsSynchronised,
    StopSynchronising,
    SynchroniseSlots,
    UseStore,
)
from peers.handover.settings import HandoverSettings
from peers.handover.store import StoreDeclaration
from peers.handover.wire_messages import ClaimSlots, OfferSlots, ReplicasWanted, SlotsTaken, SlotsYielded
from tests.helpers import STORES

ANN, BEN, CAT = "ann", "ben", "cat"
SLOTS = 64
FENCE_S = HandoverSettings().fence_s
SETTINGS = HandoverSettings()
ALL = encode_slots(np.ones(SLOTS, np.bool_))
HALF = encode_slots(np.arange(SLOTS) < SLOTS // 2)
ENOUGH_S = 0.6  # for what is told a little later


def view(*peers: str, me: str = ANN, is_most: bool = True, missed: int = 0, **weights: int) -> Ownership:
    table = SlotTable(dict.fromkeys(peers, 100) | weights, SLOTS, 2)
    return Ownership(me, table, table.weights, has_majority=is_most, missed=missed)


def mask(encoded: bytes) -> SlotMask:
    return decode_slots(encoded, SLOTS)


class Ann:
    """A handover, and what it said last."""

    def __init__(
        self,
        ownership: Ownership | None = None,
        filled: bytes = NO_SLOTS,
        settings: HandoverSettings = SETTINGS,
    ) -> None:
        self.handover = Handover(ANN, STORES, settings=settings)
        self.now = 0.0
        self.said: list[Send] = []
        if ownership is not None:
            self.hear(OwnershipChanged(ownership))
            first = list(self.said)
            for store in STORES:
                self.hear(SlotsFilled(filled), store.actor)
            self.said = first + self.said

    def hear(self, message: Message, actor: str = "membership", peer: str = ANN) -> list[Send]:
        self.said = self.handover.receive(Address(peer, actor), message, self.now)
        return self.said

    def hear_from(self, peer: str, message: Message) -> list[Send]:
        return self.hear(message, "handover", peer)

    def wait(self, seconds: float) -> list[Send]:
        """Let time pass; returns all that is said meanwhile."""
        end, said = self.now + seconds, []
        while self.handover.wake_at() <= end:
            self.now = max(self.now, self.handover.wake_at())
            said += self.handover.wake(self.now)
        self.now, self.said = end, said
        return said

    def told(self, kind: type[Message], target: str | None = None) -> list[Message]:
        return [
            message
            for address, message in self.said
            if isinstance(message, kind) and target in (None, address.peer, address.actor)
        ]

    def one(self, kind: type[Message], target: str | None = None) -> Message:
        [message] = self.told(kind, target)
        return message

    def claim(self) -> ClaimSlots:
        message = self.one(ClaimSlots)
        assert isinstance(message, ClaimSlots)
        return message

    def yielded_by(
        self, peer: str, answered: ClaimSlots, filled: bytes = NO_SLOTS, **changes: object
    ) -> list[Send]:
        fields: dict[str, object] = {
            "claim": answered.claim,
            "epoch": answered.epoch,
            "slots": answered.slots,
        }
        return self.hear_from(peer, SlotsYielded(**(fields | changes), filled=filled))  # type: ignore[arg-type]

    def finish_tasks(self) -> None:
        """Have both stores bring whatever they are asked for, now and next."""
        said: list[Send] = []
        todo = list(self.said)
        while todo:
            address, message = todo.pop(0)
            said.append(Send(address, message))
            if isinstance(message, SynchroniseSlots):
                todo += self.hear(SlotsSynchronised(message.task, message.slots), address.actor)
        self.said = said

    @property
    def held(self) -> int:
        return self.handover.observe().held

    @property
    def refused(self) -> int:
        return self.handover.observe().refused


def holding(ownership: Ownership, filled: bytes = NO_SLOTS, settings: HandoverSettings = SETTINGS) -> Ann:
    """Ann, with all she owns held and complete."""
    ann = Ann(ownership, filled, settings)
    claim = ann.claim()
    for peer in sorted(ownership.alive - {ANN}):
        ann.yielded_by(peer, claim)
    assert ann.held == ownership.owned.sum() > 0
    return ann


# --- Claiming


def test_the_only_member_holds_everything_at_once() -> None:
    ann = Ann(view(ANN))
    assert ann.told(HoldSlots)[-1] == HoldSlots(ALL, ALL)
    assert ann.told(ServeSlots) == [ServeSlots()]


def test_a_peer_claims_what_it_owns_from_everybody_in_one_message() -> None:
    here = view(ANN, BEN, CAT)
    ann = Ann(here)
    assert Send(Address(EVERYBODY, "handover"), ann.claim()) in ann.said
    assert ann.claim() == ClaimSlots(ann.claim().claim, here.epoch, encode_slots(here.owned))
    assert ann.claim().claim > 0
    assert ann.held == 0


def test_a_slot_is_held_when_the_last_live_member_has_yielded_it() -> None:
    here = view(ANN, BEN, CAT)
    ann = Ann(here)
    claim = ann.claim()
    ann.yielded_by(BEN, claim)
    assert ann.held == 0
    some = encode_slots(mask(claim.slots) & mask(HALF))
    ann.yielded_by(CAT, claim, slots=some)
    assert ann.told(HoldSlots, "controller") == ann.told(HoldSlots, "lessor") == [HoldSlots(some, some)]
    ann.yielded_by(CAT, claim)
    assert ann.held == here.owned.sum()


def test_the_same_yield_twice_counts_once() -> None:
    ann = Ann(view(ANN, BEN, CAT))
    claim = ann.claim()
    ann.yielded_by(BEN, claim)
    ann.yielded_by(BEN, claim)
    assert ann.held == 0


@pytest.mark.parametrize(
    "changes", [{"claim": 7}, {"epoch": b"another"}, {"slots": NO_SLOTS}], ids=["claim", "epoch", "nothing"]
)
def test_a_yield_for_something_else_does_not_count(changes: dict[str, Any]) -> None:
    ann = Ann(view(ANN, BEN))
    ann.yielded_by(BEN, ann.claim(), **changes)
    assert ann.held == 0


def test_a_yield_of_a_peer_that_is_not_live_does_not_count() -> None:
    ann = Ann(view(ANN, BEN))
    ann.yielded_by(CAT, ann.claim())
    assert ann.held == 0


def test_with_as_many_down_as_there_are_copies_a_slot_waits_unless_somebody_has_all_of_it() -> None:
    ownership = view(ANN, BEN)
    lacking = Ownership(ANN, ownership.table, ownership.alive, missed=2)
    ann = Ann(lacking)
    some = np.zeros(SLOTS, np.bool_)
    some[np.flatnonzero(lacking.owned)[:3]] = True
    ann.yielded_by(BEN, ann.claim(), complete=encode_slots(some))
    assert ann.held == 3
    # One of the dead is back: what was not found may be found now, so it is claimed again.
    ann.hear(OwnershipChanged(ownership))
    again = ann.claim()
    assert (decode_slots(again.slots, SLOTS) == (lacking.owned & ~some)).all()
    ann.yielded_by(BEN, again)
    assert ann.held == lacking.owned.sum()


@pytest.mark.parametrize(
    ("missed", "lacking", "is_held"),
    [(0, (BEN,), True), (1, (), True), (1, (BEN,), False), (0, (BEN, CAT), True)],
    ids=["one lacks it", "one is down", "one lacks it and one is down", "both lack it and nobody is down"],
)
def test_a_copy_that_lacks_something_counts_as_one_that_is_missed(
    missed: int, lacking: tuple[str, ...], is_held: bool
) -> None:
    ownership = view(ANN, BEN, CAT)
    ann = Ann(Ownership(ANN, ownership.table, ownership.alive, missed=missed))
    claim = ann.claim()
    for peer in (BEN, CAT):
        ann.yielded_by(peer, claim, lacking=claim.slots if peer in lacking else NO_SLOTS)
    assert ann.held == (ownership.owned.sum() if is_held else 0)


def test_what_could_not_be_kept_here_is_lacking_until_it_has_been_brought_again() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    standby = encode_slots(here.table.slots_of(BEN))
    ann.hear_from(BEN, OfferSlots(5, here.epoch, standby))
    ann.finish_tasks()
    ann.hear(SlotsLacking(standby), "cell")
    [answer] = ann.hear_from(BEN, ClaimSlots(1, here.epoch, standby))
    assert isinstance(answer.message, SlotsYielded)
    assert (answer.message.lacking, answer.message.complete) == (standby, NO_SLOTS)
    ann.hear_from(BEN, OfferSlots(6, here.epoch, standby))
    ann.finish_tasks()
    [answer] = ann.hear_from(BEN, ClaimSlots(2, here.epoch, standby))
    assert isinstance(answer.message, SlotsYielded)
    assert (answer.message.lacking, answer.message.complete) == (NO_SLOTS, standby)


def test_what_was_complete_here_is_held_whoever_is_down() -> None:
    before = view(ANN, BEN)
    ann = holding(before)
    standby = before.kept & ~before.owned
    ann.hear_from(BEN, OfferSlots(5, before.epoch, encode_slots(standby)))
    ann.finish_tasks()
    after = view(ANN)
    ann.hear(OwnershipChanged(Ownership(ANN, after.table, after.alive, missed=2)))
    ann.wait(FENCE_S)
    assert ann.held == SLOTS


def test_while_a_last_answer_may_license_the_dead_nothing_is_yielded_and_nothing_taken_over() -> None:
    ann, after = holding(view(ANN, BEN, CAT)), view(ANN, BEN)
    before = ann.held
    ann.hear(OwnershipChanged(after))
    ann.yielded_by(BEN, ann.claim())
    bens = encode_slots(after.table.slots_of(BEN))
    assert ann.hear_from(BEN, ClaimSlots(1, after.epoch, bens)) == []
    assert not any(isinstance(send.message, SlotsYielded) for send in ann.wait(FENCE_S - 0.1))
    assert ann.held == before
    said = ann.wait(0.1)
    assert [send.message.slots for send in said if isinstance(send.message, SlotsYielded)] == [bens]
    assert ann.held == after.owned.sum() > before


def test_the_frontier_is_brought_before_a_slot_is_crawled_and_the_pages_before_it_is_complete() -> None:
    here = view(ANN, BEN)
    ann = Ann(here)
    claim = ann.claim()
    ann.yielded_by(BEN, claim, filled=claim.slots)
    assert ann.held == 0
    orders = {address.actor: m for address, m in ann.said if isinstance(m, SynchroniseSlots)}
    assert {(m.peer, m.slots, m.bytes_per_s) for m in orders.values()} == {(BEN, claim.slots, inf)}
    ann.hear(SlotsSynchronised(orders["controller"].task, claim.slots), "controller")
    assert ann.held == here.owned.sum()
    assert ann.told(SlotsComplete) == []
    ann.hear(SlotsSynchronised(orders["cell"].task, claim.slots), "cell")
    assert ann.told(SlotsComplete) == [SlotsComplete(claim.slots)] * 3


def test_what_could_not_be_brought_is_tried_again() -> None:
    ann = Ann(view(ANN, BEN))
    claim = ann.claim()
    ann.yielded_by(BEN, claim, filled=claim.slots)
    order = ann.one(SynchroniseSlots, "controller")
    assert isinstance(order, SynchroniseSlots)
    ann.hear(SlotsSynchronised(order.task, NO_SLOTS), "controller")
    assert ann.held == 0
    assert ann.told(SynchroniseSlots) == []
    ann.wait(SETTINGS.retry_s)
    assert [message.slots for message in ann.told(SynchroniseSlots, "controller")] == [claim.slots]  # type: ignore[attr-defined]


def test_an_unanswered_claim_is_repeated_to_those_who_have_not_yielded_with_growing_pauses() -> None:
    ann = Ann(view(ANN, BEN, CAT))
    claim = ann.claim()
    ann.yielded_by(BEN, claim)
    times = []
    while ann.now < 8.0:
        ann.wait(max(0.0, ann.handover.wake_at() - ann.now))
        assert ann.told(ClaimSlots, BEN) == []
        if ann.told(ClaimSlots, CAT):
            times.append(ann.now)
    assert times == [0.5, 1.5, 3.5, 7.5]


def test_a_claim_under_a_new_epoch_makes_yields_to_the_last_one_void() -> None:
    ann = Ann(view(ANN, BEN))
    first = ann.claim()
    ann.hear(OwnershipChanged(view(ANN, BEN, CAT)))
    second = ann.claim()
    ann.hear(OwnershipChanged(view(ANN, BEN)))  # the first epoch again
    third = ann.claim()
    assert first.epoch == third.epoch
    assert first.claim < second.claim < third.claim
    ann.yielded_by(BEN, first)
    ann.yielded_by(BEN, second)
    assert ann.held == 0
    ann.yielded_by(BEN, third)
    ann.wait(FENCE_S)
    assert ann.held > 0


def test_slots_agreed_upon_but_not_brought_are_claimed_again_under_the_next_epoch() -> None:
    ann = Ann(view(ANN, BEN))
    claim = ann.claim()
    ann.yielded_by(BEN, claim, filled=claim.slots)
    orders = ann.told(SynchroniseSlots)
    here = view(ANN, BEN, dan=0)
    ann.hear(OwnershipChanged(here))
    again = ann.claim()
    assert again.slots == claim.slots
    for store, order in zip(STORES, orders, strict=True):
        ann.hear(SlotsSynchronised(order.task, claim.slots), store.actor)  # type: ignore[attr-defined]
    assert ann.held == 0
    ann.yielded_by(BEN, again)
    ann.yielded_by("dan", again)
    assert ann.held == here.owned.sum()


def test_without_a_majority_nothing_is_claimed_and_late_yields_do_not_count() -> None:
    ann = Ann(view(ANN, BEN))
    claim = ann.claim()
    ann.hear(OwnershipChanged(view(ANN, BEN, is_most=False)))  # of the same epoch
    assert ann.told(ClaimSlots) == []
    ann.yielded_by(BEN, claim)
    assert ann.held == 0
    ann.wait(60.0)
    assert ann.told(ClaimSlots) == []


# --- Yielding


def claim_of(peer: str, ownership: Ownership, number: int = 1) -> ClaimSlots:
    return ClaimSlots(number, ownership.epoch, encode_slots(ownership.table.slots_of(peer)))


def test_what_is_not_crawled_is_yielded_at_once_with_what_is_here_of_it() -> None:
    here = view(ANN, BEN)
    ann = Ann(here, filled=HALF)
    claim = claim_of(BEN, here)
    filled = encode_slots(mask(claim.slots) & mask(HALF))
    assert ann.hear_from(BEN, claim) == [
        Send(Address(BEN, "handover"), SlotsYielded(1, here.epoch, claim.slots, filled))
    ]


def test_nothing_is_yielded_before_both_stores_have_told_what_they_have() -> None:
    here = view(ANN, BEN)
    ann = Ann()
    ann.hear(OwnershipChanged(here))
    ann.hear(SlotsFilled(NO_SLOTS), "controller")
    assert ann.hear_from(BEN, claim_of(BEN, here)) == []
    ann.hear(SlotsFilled(ALL), "cell")
    assert [m.filled for m in ann.told(SlotsYielded, BEN)] == [claim_of(BEN, here).slots]  # type: ignore[attr-defined]


def test_a_claim_that_comes_before_its_epoch_is_answered_when_that_comes() -> None:
    ann, later = Ann(view(ANN, BEN)), view(ANN, BEN, CAT)
    assert ann.hear_from(BEN, claim_of(BEN, later)) == []
    ann.hear(OwnershipChanged(later))
    assert ann.told(SlotsYielded, BEN) == [SlotsYielded(1, later.epoch, claim_of(BEN, later).slots, NO_SLOTS)]


def test_two_that_both_think_a_slot_theirs_do_not_yield_it_to_each_other() -> None:
    ann, bens = Ann(view(ANN, BEN)), view(ANN, BEN, ben=200)
    assert ann.hear_from(BEN, claim_of(BEN, bens)) == []


def test_a_slot_is_yielded_only_when_the_controller_has_stopped() -> None:
    ann, later = holding(view(ANN, BEN)), view(ANN, BEN, CAT)
    held = ann.handover._state.held.copy()
    ann.hear(OwnershipChanged(later))
    lost = held & ~later.owned
    assert lost.any()
    assert ann.told(HoldSlots, "controller") == [HoldSlots(encode_slots(held & later.owned), NO_SLOTS)]
    cats = later.table.slots_of(CAT)
    ann.hear_from(CAT, claim_of(CAT, later))
    assert [mask(m.slots).tolist() for m in ann.told(SlotsYielded)] == [(cats & ~lost).tolist()]  # type: ignore[attr-defined]
    first = np.flatnonzero(lost)[:1]
    for part in (np.isin(np.arange(SLOTS), first), lost & ~np.isin(np.arange(SLOTS), first)):
        ann.hear(SlotsStopped(encode_slots(part)), "controller")
        assert [m.slots for m in ann.told(SlotsYielded, CAT)] == [encode_slots(part)]  # type: ignore[attr-defined]


def test_the_owner_again_does_not_crawl_what_it_is_still_stopping() -> None:
    ann, later = holding(view(ANN, BEN)), view(ANN, BEN, CAT)
    before = ann.held
    ann.hear(OwnershipChanged(later))
    stopping = encode_slots(ann.handover._state.stopping)
    ann.hear(OwnershipChanged(view(ANN, BEN)))
    ann.yielded_by(BEN, ann.claim())
    ann.wait(FENCE_S)
    assert ann.held == before - mask(stopping).sum()
    ann.hear(SlotsStopped(stopping), "controller")
    assert ann.held == before


def test_a_claim_of_what_is_not_the_claimants_is_refused_and_counted() -> None:
    here = view(ANN, BEN)
    ann = Ann(here)
    assert ann.hear_from(BEN, ClaimSlots(1, here.epoch, ALL)) == []
    assert ann.refused == 1


def test_who_was_held_for_dead_stops_everything_and_claims_anew() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.hear(HoldingsRevoked())
    assert ann.told(HoldSlots, "controller") == [HoldSlots(NO_SLOTS, NO_SLOTS)]
    assert ann.told(SlotsComplete, "indexer") == [SlotsComplete(NO_SLOTS)]
    claim = ann.claim()
    assert claim.slots == encode_slots(here.owned)
    ann.yielded_by(BEN, claim)
    assert ann.held == 0
    ann.hear(SlotsStopped(claim.slots), "controller")
    assert ann.held == here.owned.sum()


# --- Offering and taking


def offers(ann: Ann) -> Mapping[str, OfferSlots]:
    return {to.peer: message for to, message in ann.said if isinstance(message, OfferSlots)}


def test_the_owner_offers_its_complete_slots_to_their_standbys_until_they_have_taken_them() -> None:
    here = view(ANN, BEN, CAT)
    ann = holding(here)
    ann.wait(ENOUGH_S)
    made = offers(ann)
    for peer in (BEN, CAT):
        assert mask(made[peer].slots).tolist() == (here.owned & here.table.slots_of(peer, 1)).tolist()
    ann.hear_from(BEN, SlotsTaken(made[BEN].offer, made[BEN].slots))
    ann.wait(1.0)
    assert list(offers(ann)) == [CAT]
    ann.hear_from(CAT, SlotsTaken(made[CAT].offer, made[CAT].slots))
    ann.wait(5.0)
    assert offers(ann) == {}


def test_a_standby_is_complete_when_both_stores_have_brought_what_the_owner_offers() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    bens = encode_slots(here.table.slots_of(BEN))
    ann.hear_from(BEN, OfferSlots(5, here.epoch, bens))
    orders = [m for m in ann.told(SynchroniseSlots) if isinstance(m, SynchroniseSlots)]
    assert [(m.peer, m.slots, m.bytes_per_s) for m in orders] == [
        (BEN, bens, SETTINGS.replicate_bytes_per_s)
    ] * 2
    ann.hear(SlotsSynchronised(orders[0].task, bens), "controller")
    assert ann.told(SlotsTaken) == []
    ann.hear(SlotsSynchronised(orders[1].task, bens), "cell")
    assert ann.told(SlotsTaken, BEN) == [SlotsTaken(5, bens)]
    assert ann.told(SlotsComplete, "cell") == [SlotsComplete(ALL)]


def test_a_standby_that_could_not_keep_a_page_is_complete_when_it_has_taken_the_slot_anew() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    bens = encode_slots(here.table.slots_of(BEN))
    ann.hear_from(BEN, OfferSlots(5, here.epoch, bens))
    ann.finish_tasks()
    ann.hear(SlotsLacking(ALL), "cell")
    assert ann.told(SlotsComplete, "indexer") == [SlotsComplete(encode_slots(here.owned))]
    ann.wait(SETTINGS.ask_s)
    assert ann.told(ReplicasWanted, BEN) == [ReplicasWanted(bens)]
    ann.hear_from(BEN, OfferSlots(6, here.epoch, bens))
    ann.finish_tasks()
    assert ann.told(SlotsComplete, "indexer") == [SlotsComplete(ALL)]


def separated(here: Ownership) -> Ann:
    """Ann, complete in all slots, who hears by then that she does not hear Ben herself."""
    ann = holding(here)
    bens = encode_slots(here.table.slots_of(BEN))
    ann.hear_from(BEN, OfferSlots(5, here.epoch, bens))
    ann.finish_tasks()
    assert ann.told(SlotsComplete, "indexer")
    ann.hear(MembersSeparated(frozenset({BEN})))
    return ann


def test_standby_that_is_separated_from_an_owner_is_complete_in_its_own_slots_alone() -> None:
    here = view(ANN, BEN, CAT)
    ann = separated(here)
    bens = here.table.slots_of(BEN)
    [told] = ann.told(SlotsComplete, "indexer")
    assert isinstance(told, SlotsComplete)
    assert (mask(told.slots) == (here.owned & ~bens)).all()
    [answer] = ann.hear_from(BEN, ClaimSlots(1, here.epoch, encode_slots(bens)))
    assert isinstance(answer.message, SlotsYielded)
    assert answer.message.lacking == encode_slots(bens & here.kept)


def test_separated_standby_is_complete_only_when_all_that_was_under_way_has_ended() -> None:
    here = view(ANN, BEN)
    ann, bens = separated(here), encode_slots(here.table.slots_of(BEN))
    ann.wait(100.0)
    ann.hear(MembersSeparated(frozenset()))
    ann.hear_from(BEN, OfferSlots(6, here.epoch, bens))
    ann.finish_tasks()
    assert ann.told(SlotsComplete) == ann.told(SlotsTaken) == []
    ann.wait(SETTINGS.reunited_s - 0.1)
    assert ann.told(ReplicasWanted) == []
    ann.wait(0.1 + SETTINGS.ask_s)
    assert ann.told(ReplicasWanted, BEN) == [ReplicasWanted(bens)]
    ann.hear_from(BEN, OfferSlots(7, here.epoch, bens))
    ann.finish_tasks()
    assert ann.told(SlotsComplete, "indexer") == [SlotsComplete(ALL)]
    assert ann.told(SlotsTaken, BEN) == [SlotsTaken(7, bens)]


def test_member_that_is_separated_anew_while_it_waits_waits_as_long_again() -> None:
    here = view(ANN, BEN)
    ann, bens = separated(here), encode_slots(here.table.slots_of(BEN))
    for number, peers in enumerate((frozenset[str](), frozenset({BEN}), frozenset[str]())):
        ann.hear(MembersSeparated(peers))
        ann.hear_from(BEN, OfferSlots(6 + number, here.epoch, bens))
        ann.finish_tasks()
        assert ann.told(SlotsComplete) == []
        ann.wait(SETTINGS.reunited_s - 0.1)
        assert ann.told(SlotsComplete) == []
    ann.wait(0.2)
    ann.hear_from(BEN, OfferSlots(9, here.epoch, bens))
    ann.finish_tasks()
    assert ann.told(SlotsComplete, "indexer") == [SlotsComplete(ALL)]


def test_an_offer_that_is_repeated_is_answered_again_and_nothing_brought_again() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    offer = OfferSlots(5, here.epoch, encode_slots(here.table.slots_of(BEN)))
    ann.hear_from(BEN, offer)
    ann.finish_tasks()
    ann.hear_from(BEN, offer)
    assert ann.said == [Send(Address(BEN, "handover"), SlotsTaken(5, offer.slots))]


def test_an_offer_with_another_number_is_brought_again() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.hear_from(BEN, OfferSlots(5, here.epoch, encode_slots(here.table.slots_of(BEN))))
    ann.finish_tasks()
    ann.hear_from(BEN, OfferSlots(6, here.epoch, encode_slots(here.table.slots_of(BEN))))
    assert len(ann.told(SynchroniseSlots)) == 2
    assert ann.told(SlotsTaken) == []


def test_an_offer_under_another_epoch_waits_for_its_repetition() -> None:
    ann = holding(view(ANN, BEN))
    assert ann.hear_from(BEN, OfferSlots(5, b"another", ALL)) == []


def test_what_a_peer_offered_before_it_was_the_owner_makes_no_copy_complete() -> None:
    before, after = view(ANN, CAT, ben=0), view(ANN, BEN, cat=0)
    ann = holding(before)
    standby = before.kept & ~before.owned & after.kept & after.table.slots_of(BEN)
    assert standby.any()
    ann.hear_from(BEN, OfferSlots(5, before.epoch, encode_slots(standby)))
    ann.finish_tasks()
    assert not (ann.handover._state.complete & standby).any()
    ann.hear(OwnershipChanged(after))
    assert not (ann.handover._state.complete & standby).any()
    ann.hear_from(BEN, OfferSlots(5, after.epoch, encode_slots(standby)))
    ann.finish_tasks()
    assert ann.told(SlotsTaken, BEN) == [SlotsTaken(5, encode_slots(standby))]


def test_what_an_owner_is_offered_it_takes_only_when_it_is_complete() -> None:
    here = view(ANN, BEN, CAT)
    ann = Ann(here)
    claim = ann.claim()
    ann.hear_from(BEN, OfferSlots(5, here.epoch, claim.slots))
    ann.finish_tasks()
    assert ann.told(SlotsTaken) == []
    ann.yielded_by(BEN, claim)
    ann.yielded_by(CAT, claim)
    assert ann.told(SlotsTaken, BEN) == [SlotsTaken(5, claim.slots)]


def test_a_standby_that_lost_track_is_offered_again_what_it_took() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.wait(ENOUGH_S)
    first = offers(ann)[BEN]
    ann.hear_from(BEN, SlotsTaken(first.offer, first.slots))
    ann.hear_from(BEN, ReplicasWanted(first.slots))
    ann.wait(ENOUGH_S)
    again = offers(ann)[BEN]
    assert (again.slots, again.offer > first.offer) == (first.slots, True)
    ann.hear_from(BEN, SlotsTaken(first.offer, first.slots))  # of its former life
    assert ann.handover.observe().offered == mask(first.slots).sum()


def test_a_standby_asks_the_owner_for_what_nobody_offers() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.wait(SETTINGS.ask_s)
    assert ann.told(ReplicasWanted, BEN) == [ReplicasWanted(encode_slots(here.table.slots_of(BEN)))]


def test_nobody_yields_the_slots_of_the_dead_before_the_longest_licence_has_ended() -> None:
    """Not even where those at rest have given one to a member that is buried by those that are not."""
    pace = SwimSettings()
    assert pace.licence_s * 1.1 <= FENCE_S
    first_yield_s = pace.suspicion_min_s - pace.news_s + FENCE_S  # after the ping that was answered
    assert pace.idle_licence_s * 1.1 <= first_yield_s


def test_who_comes_in_for_a_dead_peer_brings_copies_only_after_a_while() -> None:
    ann, later = holding(view(ANN, BEN, CAT)), view(ANN, BEN, missed=1)
    ann.hear(OwnershipChanged(later))
    ann.hear_from(BEN, OfferSlots(5, later.epoch, encode_slots(later.table.slots_of(BEN))))
    assert ann.told(SynchroniseSlots) == []
    ann.wait(SETTINGS.replicate_after_s - 0.1)
    assert ann.told(SynchroniseSlots) == []
    ann.wait(0.2)
    assert len(ann.told(SynchroniseSlots)) == 2


@pytest.mark.parametrize("others_down", [0, 1])
def test_when_who_was_lost_is_back_copies_are_brought_at_once(others_down: int) -> None:
    all_three = view(ANN, BEN, CAT, missed=others_down)
    ann = holding(all_three)
    ann.hear(OwnershipChanged(view(ANN, BEN, missed=1 + others_down)))
    ann.wait(SETTINGS.fence_s)
    ann.hear(OwnershipChanged(all_three))
    ann.hear_from(CAT, OfferSlots(5, all_three.epoch, encode_slots(all_three.table.slots_of(CAT))))
    assert len(ann.told(SynchroniseSlots)) == 2


def test_while_one_of_those_lost_is_away_copies_wait_on() -> None:
    ann, one_back = holding(view(ANN, BEN, CAT)), view(ANN, BEN, missed=1)
    ann.hear(OwnershipChanged(view(ANN, missed=2)))
    ann.wait(SETTINGS.fence_s)
    ann.hear(OwnershipChanged(one_back))
    offer = OfferSlots(5, one_back.epoch, encode_slots(one_back.table.slots_of(BEN)))
    assert not [send for send in ann.hear_from(BEN, offer) if isinstance(send.message, SynchroniseSlots)]


def test_nobody_waits_for_a_member_that_kept_nothing() -> None:
    ann, later = holding(view(ANN, BEN, CAT, cat=0)), view(ANN, BEN, missed=1)
    ann.hear(OwnershipChanged(later))
    ann.hear_from(BEN, OfferSlots(5, later.epoch, encode_slots(later.table.slots_of(BEN))))
    assert len(ann.told(SynchroniseSlots)) == 2


def test_nobody_waits_for_a_member_that_is_gone_for_good() -> None:
    ann, later = holding(view(ANN, BEN, CAT)), view(ANN, BEN)
    ann.hear(OwnershipChanged(later))
    ann.hear_from(BEN, OfferSlots(5, later.epoch, encode_slots(later.table.slots_of(BEN))))
    assert len(ann.told(SynchroniseSlots)) == 2


def test_what_is_being_brought_from_a_peer_that_dies_is_stopped() -> None:
    here = view(ANN, BEN, CAT)
    ann = Ann(here)
    claim = ann.claim()
    ann.yielded_by(BEN, claim, filled=claim.slots)
    tasks = {m.task for m in ann.told(SynchroniseSlots) if isinstance(m, SynchroniseSlots)}
    ann.hear(OwnershipChanged(view(ANN, CAT)))
    assert {m.task for m in ann.told(StopSynchronising) if isinstance(m, StopSynchronising)} == tasks
    assert len(tasks) == 2


# --- Letting go


def stray_view(me: str = ANN) -> Ownership:
    """Ann has no weight any more and nobody's queries go to her."""
    return view(ANN, BEN, CAT, me=me, ann=0)


def test_strays_are_offered_to_the_whole_team_and_forgotten_when_all_have_taken_them() -> None:
    here = stray_view()
    ann = Ann(here, filled=HALF)
    ann.wait(ENOUGH_S)
    made = offers(ann)
    assert {peer: offer.slots for peer, offer in made.items()} == {BEN: HALF, CAT: HALF}
    ann.hear_from(BEN, SlotsTaken(made[BEN].offer, HALF))
    assert ann.told(ForgetSlots) == []
    ann.hear_from(CAT, SlotsTaken(made[CAT].offer, HALF))
    assert ann.told(ForgetSlots) == [ForgetSlots(HALF)] * 2
    assert {to.actor for to, m in ann.said if isinstance(m, ForgetSlots)} == {"controller", "cell"}
    assert ann.handover.observe().is_quiet


@pytest.mark.parametrize("number", [0, 999], ids=["never given", "of an earlier life"])
def test_an_answer_to_another_offer_does_not_let_anything_be_forgotten(number: int) -> None:
    ann = Ann(stray_view(), filled=HALF)
    ann.wait(ENOUGH_S)
    for peer in (BEN, CAT):
        ann.hear_from(peer, SlotsTaken(number, HALF))
    assert ann.handover.observe().strays == mask(HALF).sum()


def test_what_was_taken_while_we_kept_it_has_to_be_taken_again_before_it_is_forgotten() -> None:
    before, after = view(ANN, BEN), stray_view()
    ann = holding(before, filled=ALL)
    ann.wait(ENOUGH_S)
    offer = offers(ann)[BEN]
    ann.hear_from(BEN, SlotsTaken(offer.offer, offer.slots))
    ann.hear(OwnershipChanged(after))
    ann.hear(SlotsStopped(offer.slots), "controller")
    ann.wait(ENOUGH_S)
    made = offers(ann)
    ann.hear_from(CAT, SlotsTaken(made[CAT].offer, made[CAT].slots))
    assert ann.told(ForgetSlots) == []
    ann.hear_from(BEN, SlotsTaken(made[BEN].offer, made[BEN].slots))
    assert ann.told(ForgetSlots, "cell") == [ForgetSlots(ALL)]


def test_a_slot_in_which_something_comes_after_it_was_taken_is_offered_anew() -> None:
    ann = Ann(stray_view(), filled=HALF)
    ann.wait(ENOUGH_S)
    made = offers(ann)
    ann.hear_from(BEN, SlotsTaken(made[BEN].offer, HALF))
    ann.hear(SlotsFilled(HALF), "cell")
    ann.hear_from(CAT, SlotsTaken(made[CAT].offer, HALF))
    assert ann.told(ForgetSlots) == []


def test_strays_are_kept_though_taken_while_those_who_keep_them_are_too_few() -> None:
    ann = Ann(view(ANN, BEN, ann=0), filled=HALF)
    ann.wait(ENOUGH_S)
    ann.hear_from(BEN, SlotsTaken(offers(ann)[BEN].offer, HALF))
    assert ann.told(ForgetSlots) == []
    assert ann.handover.observe().strays == 0  # for nobody need wait for that
    assert ann.handover.observe().is_quiet


def test_strays_of_nobody_are_kept() -> None:
    ann = Ann(Ownership(ANN, SlotTable({ANN: 0, BEN: 0}, SLOTS, 2), (ANN, BEN)), filled=HALF)
    assert ann.wait(60.0) == []
    assert ann.handover.observe().strays == mask(HALF).sum()


def draining_view() -> Ownership:
    """Ann has no weight any more and still answers as before; the others answer as they keep."""
    table = SlotTable({ANN: 0, BEN: 100, CAT: 100}, SLOTS, 2)
    serving = SlotTable({ANN: 100, BEN: 100, CAT: 100}, SLOTS, 2)
    return Ownership(ANN, table, table.weights, serving=serving)


def test_who_drains_answers_until_the_new_owners_have_taken_what_it_had() -> None:
    here = draining_view()
    ann = Ann(here, filled=ALL)
    ann.wait(ENOUGH_S)
    made = offers(ann)
    for peer in (BEN, CAT):
        assert (here.answers & here.table.slots_of(peer) & ~mask(made[peer].slots)).sum() == 0
    ann.hear_from(BEN, SlotsTaken(made[BEN].offer, made[BEN].slots))
    assert ann.told(ServeSlots) == []
    ann.hear_from(CAT, SlotsTaken(made[CAT].offer, made[CAT].slots))
    assert ann.told(ServeSlots) == [ServeSlots()]
    assert not (
        here.answers & ~ann.handover._state.filled
    ).any()  # and forgets nothing of what it answers for


def test_serving_is_asked_for_once_in_an_epoch_and_not_before_all_copies_are_here() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    assert ann.told(ServeSlots) == []
    ann.hear_from(BEN, OfferSlots(5, here.epoch, encode_slots(here.table.slots_of(BEN))))
    ann.finish_tasks()
    assert ann.told(ServeSlots) == [ServeSlots()]
    ann.hear_from(BEN, OfferSlots(6, here.epoch, encode_slots(here.table.slots_of(BEN))))
    ann.finish_tasks()
    assert ann.told(ServeSlots) == []


def test_who_would_have_to_answer_for_what_it_does_not_keep_serves_together_with_others() -> None:
    together = view(ANN, BEN, CAT)
    weights = together.table.weights
    alone = SlotTable(dict.fromkeys(weights, 0) | {ANN: weights[ANN]}, SLOTS, 2)
    waiting = Ownership(ANN, together.table, weights, serving_with_me=alone)
    ann = holding(waiting)
    for peer in (BEN, CAT):
        offered = encode_slots(waiting.table.slots_of(peer) & waiting.kept)
        ann.hear_from(peer, OfferSlots(5, waiting.epoch, offered))
        ann.finish_tasks()
    assert ann.told(ServeSlots) == [ServeSlots(is_together=True)]
    assert waiting.epoch == together.epoch
    ann.hear(OwnershipChanged(waiting))
    assert ann.told(ServeSlots) == []
    ann.hear(OwnershipChanged(together))
    assert ann.told(ServeSlots) == [ServeSlots()]


# --- Comparing


def test_a_standby_compares_all_its_slots_with_their_owners_in_turn() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.hear_from(BEN, OfferSlots(5, here.epoch, encode_slots(here.table.slots_of(BEN))))
    ann.finish_tasks()
    ann.wait(SETTINGS.compare_every_s)
    compared = [m.slots for m in ann.told(SynchroniseSlots, "cell") if isinstance(m, SynchroniseSlots)]
    assert compared == [encode_slots(here.table.slots_of(BEN))]


def test_an_owner_compares_its_slots_with_the_standbys_that_have_taken_them() -> None:
    here = view(ANN, BEN, CAT)
    ann = holding(here)
    ann.wait(ENOUGH_S)
    offer = offers(ann)[BEN]
    ann.hear_from(BEN, SlotsTaken(offer.offer, offer.slots))
    ann.wait(SETTINGS.compare_every_s)
    told = [m for m in ann.told(SynchroniseSlots, "cell") if isinstance(m, SynchroniseSlots)]
    assert [(m.peer, m.slots, m.is_routine) for m in told] == [(BEN, offer.slots, True)]


def test_a_round_of_comparisons_takes_its_time_whatever_there_is_to_compare() -> None:
    here = view(ANN, BEN)
    settings = HandoverSettings(compare_slots_min=1, compare_round_s=4 * SETTINGS.compare_every_s)
    ann = holding(here, settings=settings)
    ann.hear_from(BEN, OfferSlots(5, here.epoch, encode_slots(here.table.slots_of(BEN))))
    ann.finish_tasks()
    compared = np.zeros(SLOTS, np.int64)
    for _ in range(4):
        ann.wait(SETTINGS.compare_every_s)
        [message] = ann.told(SynchroniseSlots, "cell")
        assert isinstance(message, SynchroniseSlots)
        compared += mask(message.slots)
        ann.finish_tasks()
    assert (compared[here.table.slots_of(BEN)] >= 1).all()
    assert compared.sum() < here.table.slots_of(BEN).sum() + 4


def test_the_end_of_a_comparison_changes_nothing() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.hear_from(BEN, OfferSlots(5, here.epoch, encode_slots(here.table.slots_of(BEN))))
    ann.finish_tasks()
    assert ann.told(SlotsTaken)
    ann.wait(SETTINGS.compare_every_s)
    ann.finish_tasks()
    assert {type(send.message) for send in ann.said} - {OfferSlots} == {SynchroniseSlots}


def test_what_is_said_to_differ_is_compared_and_offered_again_but_not_at_once() -> None:
    here = view(ANN, BEN)
    ann = holding(here)
    ann.wait(ENOUGH_S)
    offer = offers(ann)[BEN]
    ann.hear_from(BEN, SlotsTaken(offer.offer, offer.slots))
    assert ann.hear(SlotsDiffer(BEN, offer.slots), "cell") == []
    assert ann.handover.observe().differing == mask(offer.slots).sum()
    ann.wait(SETTINGS.differing_s + 1.0)
    assert ann.handover.observe().differing == 0
    assert [m.slots for m in ann.told(SynchroniseSlots, "cell")] == [offer.slots]  # type: ignore[attr-defined]
    assert offers(ann)[BEN].slots == offer.slots


# --- Before the beginning, and nonsense


def test_nothing_is_answered_before_the_first_ownership() -> None:
    ann = Ann()
    assert ann.hear_from(BEN, ClaimSlots(1, b"", ALL)) == []
    assert ann.handover.wake_at() == inf
    assert not ann.handover.observe().is_quiet


@pytest.mark.parametrize(
    "message",
    [
        SlotsTaken(1, b"nonsense"),
        OfferSlots(1, view(ANN, BEN).epoch, b""),
        ReplicasWanted(b"M"),
        ClaimSlots(1, view(ANN, BEN).epoch, b"L\xff\xff"),
    ],
    ids=["taken", "offer", "wanted", "claim"],
)
def test_nonsense_of_others_is_refused_and_counted(message: Message) -> None:
    ann = Ann(view(ANN, BEN))
    assert ann.hear_from(BEN, message) == []
    assert ann.refused == 1


def test_nonsense_of_our_own_is_our_mistake() -> None:
    with pytest.raises(LocalProtocolError):
        Ann(view(ANN)).hear(Ping(1))


def test_an_optional_store_is_brought_from_its_first_use_and_anew_when_it_says_so_again() -> None:
    ann = Ann()
    ann.handover = Handover(ANN, [*STORES, StoreDeclaration("log", "log", is_optional=True)])
    ann.hear(OwnershipChanged(view(ANN, BEN)))
    claim = ann.claim()
    for store in STORES:
        ann.hear(SlotsFilled(NO_SLOTS), store.actor)
    ann.yielded_by(BEN, claim)
    said = ann.said + ann.wait(60.0)
    assert any(isinstance(message, SlotsComplete) for _, message in said)
    assert not [message for address, message in said if address.actor == "log"]
    for is_first in (True, False):
        ann.hear(UseStore(), "log")
        order = ann.one(SynchroniseSlots, "log")
        assert isinstance(order, SynchroniseSlots)
        assert (order.peer, order.slots, order.is_routine) == (BEN, ALL, False)
        assert len(ann.told(SlotsComplete, "log")) == is_first
        ann.hear(SlotsSynchronised(order.task, order.slots), "log")
        assert not ann.told(SynchroniseSlots, "log")
