"""The actor that sees to it that every slot is crawled by one peer and kept by all of its team.

Theory of operation
===================
*Holding.* A peer begins fetches for a slot only while it holds it, and it holds one when every live member
has yielded it under the same epoch: each promised that it fetches nothing of it any more and agrees whose it
is. Two peers that both think a slot theirs do not yield to each other, so neither gets it until their tables
are the same. Who has yielded a slot fetches nothing of it again before it holds it itself, which takes a
yield of the one it has yielded to. Holding is not kept over a restart.

*Getting.* Who yields says where it has anything. What is needed to crawl (the frontier) is brought before the
slot is crawled, all other stores meanwhile; with all of them the slot is *complete*. All of this is union:
what two sides of a partition, or an owner and its late standby, know is put together, in any order. But where
nobody who yielded was complete, and as many members as there are copies are down or *lack* something of the
slot, since their disk was full, what was acknowledged may be with the dead alone, and who crawled on would
fetch it again. Such a slot waits, and is claimed again whenever the members change, until one of the dead is
back or written off.

*Offering.* Who holds a slot and has it complete offers it to the standbys. What they have *taken* is
complete there from then on, since all that is new reaches them before it counts. A standby that has lost
track, as after a restart, says so and is offered again. If it comes in for a peer that died it waits a while
first, since most come back, but no longer than one of those is away. Owners and standbys compare their slots
in turn, again and again, each those that have changed in its own store since the two were equal
(anti-entropy), which repairs what messages, disks and bugs have lost.

*Standing apart.* A standby that its membership finds separated from an owner has its slots lacking until it
has taken them anew (`separated_owners`): the owner counts pages without it.

*Letting go.* A peer answers queries for a slot until its new owner has taken what it had; then the serving
weights change (`Ownership.serving`). What it neither keeps nor answers for it offers to the whole team, and
forgets it when all of them have taken it, if they are as many as there are to be copies; see `offers` for why
nothing is lost by that.

What it needs of others
=======================
*Membership.* A peer that any live member has held for dead fetches nothing until it has been told so by
`HoldingsRevoked`. Whoever comes to hold it for dead yields nothing for as long as its last answer may license
it (`mesh.membership.model.licence`), so by when all others have yielded its licence has run out. It then
begins anew, and its claims make those who took over stop.

*Stores.* `messages` says what they promise. They keep nothing for others of a slot in whose team they are
not: an item that a peer acknowledged after its new owner had compared with it would count and be forgotten.

Known gaps
==========
A peer that is in the team by the views it sees, and was not by one in between that it never saw, counts as
complete until it has taken the owner's new offer: till then its answers can lack what came in between.
What is stored while fewer peers crawl than there are copies, since the others drain or are down, has fewer
copies; if those die, who comes back after them can call complete what is with the dead, since no more members
are down than copies should allow. So can those who see a peer start again that had forgotten to be lacking.
In a mesh of more than some 60 members a standby may find out that it is separated from an owner only after
that has given it up: each member is probed once in a round. Till then its answers can lack pages.
A member that is alive but whose handover hangs stops the slots that move, and no others. So does an owner
whose disk is full before it has a slot complete: its standbys are not offered it, a newcomer among them does
not serve until there is space, and who served goes on to keep and to answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import ClassVar

import msgspec

from mesh.actors.actor import Actor, Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership.model.messages import HoldingsRevoked, MembersSeparated, ServeSlots
from mesh.slot_set import NO_SLOTS, SlotMask, encode_slots
from mesh.tables.lives import numbers_of
from peers.handover.comparison_schedule import ComparisonSchedule
from peers.handover.incoming_claims import IncomingClaims
from peers.handover.incoming_offers import IncomingOffers
from peers.handover.messages import (
    ForgetSlots,
    HoldSlots,
    SlotsComplete,
    SlotsDiffer,
    SlotsFilled,
    SlotsLacking,
    SlotsStopped,
    SlotsSynchronised,
    UseStore,
)
from peers.handover.outgoing_offers import OutgoingOffers
from peers.handover.own_claim import OwnClaim
from peers.handover.separated_owners import SeparatedOwners
from peers.handover.settings import HandoverSettings
from peers.handover.slot_state import SlotState
from peers.handover.store import StoreDeclaration
from peers.handover.transfer_schedule import TransferSchedule
from peers.handover.wire_messages import ClaimSlots, OfferSlots, ReplicasWanted, SlotsTaken, SlotsYielded


class HandoverStatistics(Statistics, frozen=True):
    """Numbers of this peer's slots by their present state, and counts since the start."""

    owned: int = 0  # to be crawled by us
    held: int = 0  # of those, that we may crawl
    stopping: int = 0  # given up, but something of them is not finished
    kept: int = 0  # as owner or standby
    complete: int = 0  # of which we have everything
    missing: int = 0  # answered for by the table and not complete
    filled: int = 0  # of which we have anything
    # By store: to be brought here, a slot counts once for every peer that has some of it.
    wanted: dict[str, int] = msgspec.field(default_factory=dict)
    differing: int = 0  # that are said to differ and have still to be compared, for every peer
    offered: int = 0  # to be taken by others, a slot counts once for every peer
    strays: int = 0  # which we do not keep and which all of the team do not have yet
    claims: int = 0  # count
    takeovers: int = 0  # count: slots that we came to hold
    yielded: int = 0  # count: slots, a repetition counts again
    refused: int = 0  # count: messages that made no sense
    is_quiet: bool = False  # nothing is moving or has to; routine comparisons aside

    @property
    def is_empty(self) -> bool:
        """Have others taken all that was here, and is nothing to come?"""
        return not (self.owned or self.held or self.stopping or self.kept or self.filled)


class Handover(Actor):
    """Neighbours: handovers, membership, the actors that hold stores, indexer."""

    name: ClassVar[str] = "handover"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset(
        {ClaimSlots, SlotsYielded, OfferSlots, SlotsTaken, ReplicasWanted}
    )

    def __init__(
        self,
        me: str,
        stores: Iterable[StoreDeclaration],
        life: int = 1,
        settings: HandoverSettings | None = None,
    ) -> None:
        """Begin with nothing held.

        Args:
          stores: all that a peer has, optional ones too.
          life: of this peer, whose numbers no claim, offer or task of an earlier life has.
        """
        self._me = me
        self._settings = settings or HandoverSettings()
        self._numbers = numbers_of(life)
        self._store_of = {store.actor: store for store in stores}
        self._stores = [store for store in self._store_of.values() if not store.is_optional]  # in use
        self._holders = [Address(me, store.actor) for store in self._stores]
        self._crawlers = [Address(me, actor) for actor in ("controller", "lessor", "aliases")]
        self._indexer = Address(me, "indexer")
        self._membership = Address(me, "membership")
        self._is_begun = False  # the first ownership is there, and with it all that `_begin` makes
        self._told_complete: SlotMask | None = None  # what our indexer and stores were told
        self._said_to_serve: tuple[bytes, ServeSlots] | None = None  # last, and under which epoch
        self._n_takeovers = self._n_refused = 0

    def _begin(self, ownership: Ownership, now: float) -> None:
        settings, numbers = self._settings, self._numbers
        self._state = SlotState(ownership, [store.name for store in self._stores])
        self._transfers = TransferSchedule(ownership, self._stores, numbers, settings)
        self._own_claim = OwnClaim(self._state, numbers, settings)
        self._incoming_claims = IncomingClaims(self._state)
        self._incoming_offers = IncomingOffers(self._state, self._transfers, settings)
        self._outgoing_offers = OutgoingOffers(self._state, numbers, settings)
        self._comparisons = ComparisonSchedule(
            self._state, self._transfers, self._outgoing_offers, settings, now
        )
        self._separated_owners = SeparatedOwners(self._state, settings)
        self._is_begun = True

    # --- The actor -------------------------------------------------------------------------------

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if not self._is_begun and not isinstance(message, OwnershipChanged | UseStore):
            return []  # others repeat what they want
        if source.peer != self._me:
            try:
                return self._receive_remote(source.peer, message, now)
            except RemoteProtocolError:
                self._n_refused += 1
                return []
        match message:
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case HoldingsRevoked():
                return self._revoke(now)
            case MembersSeparated(peers):
                self._separated_owners.hear(peers, now)
                return self._note_lacking(self._separated_owners.slots() & self._state.complete, now)
            case SlotsStopped(slots):
                return self._note_stopped(self._state.decode(slots), now)
            case SlotsFilled(slots):
                return self._note_filled(self._store_of[source.actor].name, self._state.decode(slots), now)
            case SlotsSynchronised(task, slots):
                return self._note_synchronised(task, self._state.decode(slots), now)
            case SlotsLacking(slots):
                return self._note_lacking(self._state.decode(slots), now)
            case SlotsDiffer(peer, slots):
                self._comparisons.note_differing(peer, self._state.decode(slots), now)
                return []
            case UseStore():
                return self._use(self._store_of[source.actor], now)
            case ClaimSlots():
                return []  # our own, which went to everybody
            case _:
                raise LocalProtocolError(f"handover does not understand {type(message).__name__}")

    def _receive_remote(self, peer: str, message: Message, now: float) -> list[Send]:
        match message:
            case ClaimSlots():
                return self._incoming_claims.hear(peer, message)
            case SlotsYielded():
                return self._hear_yield(peer, message, now)
            case OfferSlots():
                return self._advance(now) if self._incoming_offers.hear(peer, message, now) else []
            case SlotsTaken(offer, slots):
                is_new = self._outgoing_offers.note_taken(peer, offer, self._state.decode(slots))
                return self._advance(now) if is_new else []
            case ReplicasWanted(slots):
                known = self._outgoing_offers.taken_by(peer) & self._state.ownership.owned
                self._outgoing_offers.take_back_from(peer, self._state.decode(slots) & known)
                return self._advance(now)
            case _:
                raise LocalProtocolError(f"handover took a {type(message).__name__} of {peer}")

    def wake(self, now: float) -> list[Send]:
        if not self._is_begun:
            return []
        sends: list[Send] = []
        if -inf < self._state.fence_until <= now:
            self._state.fence_until = -inf
            sends += self._incoming_claims.hear_again() + self._advance(now)
        if self._own_claim.again_at <= now:
            sends += self._own_claim.repeat(now)
        if self._outgoing_offers.again_at <= now:
            sends += self._outgoing_offers.send(now)
        if self._incoming_offers.ask_at <= now:
            sends += self._incoming_offers.ask(now)
        if self._separated_owners.end_at <= now:
            self._incoming_offers.lose(self._separated_owners.end(now) & ~self._state.complete, now)
        if self._comparisons.differing_at <= now:
            for peer, slots in self._comparisons.compare_differing(now).items():
                self._outgoing_offers.take_back_from(peer, slots)
            sends += self._advance(now)
        if self._comparisons.routine_at <= now:
            self._comparisons.compare_some(now)
        return sends + self._transfers.start(now)

    def wake_at(self) -> float:
        if not self._is_begun:
            return inf
        return min(
            self._own_claim.again_at,
            self._outgoing_offers.again_at,
            self._incoming_offers.ask_at,
            self._separated_owners.end_at,
            self._comparisons.differing_at,
            self._comparisons.routine_at,
            self._state.fence_until if self._state.is_fenced else inf,
            self._transfers.next_time(),
        )

    def observe(self) -> HandoverStatistics:
        if not self._is_begun:
            return HandoverStatistics()  # it knows no slots yet
        state, ownership = self._state, self._state.ownership
        kept, owned, complete = ownership.kept, ownership.owned, state.complete
        strays, n_offered = self._outgoing_offers.untaken_strays(), self._outgoing_offers.n_open
        is_settled = bool((state.held == owned).all() and (complete & kept == kept).all())
        is_moving = bool(n_offered or (self._transfers.lacking() | state.stopping | strays).any())
        return HandoverStatistics(
            owned=int(owned.sum()),
            held=int(state.held.sum()),
            stopping=int(state.stopping.sum()),
            kept=int(kept.sum()),
            complete=int((complete & kept).sum()),
            missing=int((ownership.answers & ~complete).sum()),
            filled=int(state.filled.sum()),
            wanted=self._transfers.counts(),
            differing=self._comparisons.n_differing,
            offered=n_offered,
            strays=int(strays.sum()),
            claims=self._own_claim.n_claims,
            takeovers=self._n_takeovers,
            yielded=self._incoming_claims.n_yielded,
            refused=self._n_refused + self._incoming_claims.n_refused,
            is_quiet=is_settled and not is_moving,
        )

    # --- Who is responsible ----------------------------------------------------------------------

    def _change_ownership(self, new: Ownership, now: float) -> list[Send]:
        old = self._state.ownership if self._is_begun else None
        if old is None:
            self._begin(new, now)
        elif old.alive - new.alive:
            self._state.fence_until = now + self._settings.fence_s
        self._incoming_offers.wait_for(old, new, now)
        sends = self._transfers.follow(new)
        has_lost = self._state.follow(new)
        sends += self._tell_held() if has_lost or old is None else []
        self._outgoing_offers.follow(old, now)
        self._comparisons.follow()
        self._incoming_offers.begin_anew(now)
        return sends + self._own_claim.claim(now) + self._incoming_claims.hear_again() + self._advance(now)

    def _revoke(self, now: float) -> list[Send]:
        """Begin as after a restart: others may have taken over, and we have missed their news meanwhile."""
        self._state.revoke()
        self._incoming_offers.begin_anew(now)
        self._outgoing_offers.are_stale = True
        return self._tell_held() + self._own_claim.claim(now) + self._advance(now)

    # --- What follows from whatever has changed --------------------------------------------------

    def _advance(self, now: float) -> list[Send]:
        """Draw the conclusions."""
        sends = self._hold_agreed() + self._note_complete()
        if sends:
            self._outgoing_offers.are_stale = True
        if self._outgoing_offers.may_forget:
            sends += self._forget_taken()
        if self._outgoing_offers.are_stale:
            self._outgoing_offers.make(now)
        return sends + self._incoming_offers.tell() + self._serve() + self._transfers.start(now)

    def _hold_agreed(self) -> list[Send]:
        """Crawl the slots that all have yielded, once all data that is known and needed for that is here."""
        ready = self._own_claim.ready()
        if ready.any():
            ready &= ~self._transfers.lacking_to_crawl()
        if not ready.any():
            return []
        self._state.held |= ready
        self._n_takeovers += int(ready.sum())
        return self._tell_held(ready)

    def _tell_held(self, inherited: SlotMask | None = None) -> list[Send]:
        new = NO_SLOTS if inherited is None else encode_slots(inherited)
        hold = HoldSlots(encode_slots(self._state.held), new)
        return [Send(address, hold) for address in self._crawlers]

    def _note_complete(self) -> list[Send]:
        """See which slots are complete by now, and tell our own if these have changed."""
        state = self._state
        state.complete |= state.held & ~self._transfers.lacking()
        state.complete |= self._incoming_offers.completed() & ~self._separated_owners.slots()
        state.lacking &= ~state.complete
        if self._told_complete is not None and (self._told_complete == state.complete).all():
            return []
        self._incoming_offers.stir_all()
        self._told_complete = state.complete.copy()
        told = SlotsComplete(encode_slots(state.complete))
        return [Send(address, told) for address in (self._indexer, *self._holders)]

    def _forget_taken(self) -> list[Send]:
        """Have slots deleted that are not ours to keep and that the whole team has taken."""
        gone = self._outgoing_offers.forget_taken()
        order = ForgetSlots(encode_slots(gone))
        return [Send(holder, order) for holder in self._holders] if gone.any() else []

    def _serve(self) -> list[Send]:
        """Have the serving weight follow the weight, once that costs nobody an answer."""
        state, ownership = self._state, self._state.ownership
        if self._said_to_serve == (ownership.epoch, ServeSlots()) or (ownership.kept & ~state.complete).any():
            return []
        for peer, slots in state.by_answerer(ownership.leaving).items():
            if (slots & ~self._outgoing_offers.taken_by(peer)).any():
                return []
        has_to_wait = bool((ownership.answers_next & ~state.complete).any())
        said = ownership.epoch, ServeSlots(is_together=has_to_wait)
        if self._said_to_serve == said:
            return []
        self._said_to_serve = said
        return [Send(self._membership, said[1])]

    def _use(self, store: StoreDeclaration, now: float) -> list[Send]:
        """Treat an optional store as all others from now on; bring the data that teams have of our slots.

        Said again of a store in use, only the data is brought: it may have been told what it did not keep.
        """
        holder = Address(self._me, store.actor)
        is_new = store not in self._stores
        if is_new:
            self._stores.append(store)
            self._holders.append(holder)
        if not self._is_begun:
            return []
        ownership = self._state.ownership
        if is_new:
            self._transfers.use(store)
        for rank in range(len(ownership.table.ranking)):
            for peer, slots in self._state.by_peer(ownership.kept, rank).items():
                if peer in ownership.alive:
                    self._transfers.want_of_store(store.name, peer, slots, now)
        sends = self._transfers.start(now)
        if is_new and self._told_complete is not None:
            sends.append(Send(holder, SlotsComplete(encode_slots(self._told_complete))))
        return sends

    # --- News --------------------------------------------------------------------------------------

    def _hear_yield(self, peer: str, message: SlotsYielded, now: float) -> list[Send]:
        heard = self._own_claim.hear_yield(peer, message)
        if heard is None:
            return []
        self._transfers.want_urgently(peer, heard.filled, now)
        return self._advance(now) if heard.has_agreed else self._transfers.start(now)

    def _note_stopped(self, slots: SlotMask, now: float) -> list[Send]:
        self._outgoing_offers.are_stale = True
        return self._incoming_claims.note_stopped(slots) + self._advance(now)

    def _note_synchronised(self, task: int, done: SlotMask, now: float) -> list[Send]:
        want = self._transfers.end(task, done, now)
        if want is None:
            return []
        if not want.is_urgent and not self._incoming_offers.is_waiting_for(want.peer):
            return self._transfers.start(now)  # it was a comparison: nothing else hangs on it
        self._incoming_offers.stir(want.peer)
        return self._advance(now)

    def _note_filled(self, store: str, slots: SlotMask, now: float) -> list[Send]:
        state = self._state
        state.filled |= slots
        strays = state.strays() & slots
        is_first = store in state.silent_stores
        if not is_first and not strays.any():
            return []  # what we keep is offered, whether anything is in it or not
        self._outgoing_offers.take_back(strays)  # there is more to be taken
        state.silent_stores.discard(store)
        sends = self._incoming_claims.hear_again() if is_first else []
        return sends + self._advance(now)

    def _note_lacking(self, slots: SlotMask, now: float) -> list[Send]:
        """Be complete in these copies of ours no more, and ask their owners for them."""
        state = self._state
        slots = slots & ~state.held
        if not slots.any():
            return []
        state.lacking |= slots
        state.complete &= ~slots
        self._incoming_offers.lose(slots, now)
        return self._advance(now)
