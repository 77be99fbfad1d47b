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
first: most come back. All compare their slots with the owner's from time to time (anti-entropy), which
repairs what messages, disks and bugs have lost.

*Letting go.* A peer answers queries for a slot until its new owner has taken what it had; then the serving
weights change (`Ownership.serving`). What it neither keeps nor answers for it offers to the whole team, and
forgets it when all of them have taken it, if they are as many as there are to be copies; see `offers` for why
nothing is lost by that.

What it needs of others
=======================
*Membership.* A peer that any live member has held for dead fetches nothing until it has been told so by
`HoldingsRevoked`. Whoever comes to hold it for dead yields nothing for as long as its last answer may license
it (`mesh.licence`), so by when all others have yielded its licence has run out. It then begins anew, and its
claims make those who took over stop.

*Stores.* `messages` says what they promise. They keep nothing for others of a slot in whose team they are
not: an item that a peer acknowledged after its new owner had compared with it would count and be forgotten.

Known gaps
==========
A peer that is in the team by the views it sees, and was not by one in between that it never saw, counts as
complete until it has taken the owner's new offer: till then its answers can lack what came in between.
What is stored while fewer peers crawl than there are copies, since the others drain or are down, has fewer
copies; if those die, who comes back after them can call complete what is with the dead, since no more members
are down than copies should allow. So can those who see a peer start again that had forgotten to be lacking.
A member that is alive but whose handover hangs stops the slots that move, and no others. Numbers follow the
clock at the start of a peer, so one whose clock was set back meanwhile could take an answer to its former
life for one to this life, if that was under way all the time.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil, inf
from typing import Annotated, ClassVar

import msgspec
import numpy as np
from msgspec import Meta

from mesh.actor import EVERYBODY, Actor, Address, Message, Send, Statistics
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.lives import numbers_of
from mesh.membership_messages import HoldingsRevoked, ServeSlots
from mesh.messages import ClaimSlots, CopiesWanted, OfferSlots, SlotsTaken, SlotsYielded
from mesh.ownership import Ownership, OwnershipChanged
from mesh.slot_set import NO_SLOTS, SlotMask, decode_slots, encode_slots
from mesh.slots import NOBODY, SLOTS_MAX
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
)
from peers.handover.offers import Offers
from peers.handover.store import StoreDeclaration
from peers.handover.wants import Wants


class HandoverSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and pace of moving slots."""

    again_s: Annotated[
        float, Meta(description="what is not answered by then is repeated; doubled each time")
    ] = 0.5
    again_max_s: Annotated[float, Meta(description="up to this pause")] = 4.0
    ask_s: Annotated[float, Meta(description="before a standby asks for what nobody has offered")] = 1.0
    # An answer to a dead peer's last ping may still license it: `SwimSettings.licence_s`, and a tenth for its
    # clock.
    fence_s: Annotated[
        float,
        Meta(description="from when another peer is held for dead until anybody may have its slots"),
    ] = 2.5
    retry_s: Annotated[float, Meta(description="before slots that could not be brought are tried again")] = (
        1.0
    )
    replicate_after_s: Annotated[
        float,
        Meta(description="from the death of a standby until another takes its place; restarts are over then"),
    ] = 20.0
    replicate_bytes_per_s: Annotated[
        float, Meta(description="pace of what is not urgent: a sixth of a gigabit")
    ] = 20e6
    tasks_max: Annotated[int, Meta(description="transfers at a time, per store")] = 4
    differing_s: Annotated[
        float,
        Meta(description="before what is said to differ is compared: most of it is on its way"),
    ] = 4.0
    compare_every_s: Annotated[
        float, Meta(description="how often a standby compares some slots with their owners")
    ] = 20.0
    compare_round_s: Annotated[float, Meta(description="after which it has compared all of them")] = 480.0
    compare_slots_min: Annotated[int, Meta(description="slots that it compares at a time at least")] = 256


class HandoverStatistics(Statistics, frozen=True):
    """Slots of this peer by what is true of them now, and counts since the start."""

    owned: int  # to be crawled by us
    held: int  # of those, that we may crawl
    stopping: int  # given up, but something of them is not finished
    kept: int  # as owner or standby
    complete: int  # of which we have everything
    missing: int  # answered for by the table and not complete
    filled: int  # of which we have anything
    wanted: dict[
        str, int
    ]  # by store: to be brought here, a slot counts once for every peer that has some of it
    differing: int  # that are said to differ and have still to be compared, for every peer
    offered: int  # to be taken by others, a slot counts once for every peer
    strays: int  # which we do not keep and which all of the team do not have yet
    claims: int  # count
    takeovers: int  # count: slots that we came to hold
    yielded: int  # count: slots, a repetition counts again
    refused: int  # count: messages that made no sense
    is_quiet: bool  # nothing is moving or has to; routine comparisons aside


@dataclass(slots=True)
class _Claimant:
    """Another peer and what it claims that we have not yet yielded."""

    claim: int
    blocked: SlotMask


@dataclass(slots=True)
class _Taking:
    """An offer of another peer, as far as we keep what it offers."""

    number: int
    slots: SlotMask  # to be brought, or brought, since it was offered under this number and ownership
    told: SlotMask  # of those, what we said we have taken


class Handover(Actor):
    """Neighbours: handovers, membership, the actors that hold stores, indexer."""

    name: ClassVar[str] = "handover"
    remote_messages: ClassVar[frozenset[type[Message]]] = frozenset(
        {ClaimSlots, SlotsYielded, OfferSlots, SlotsTaken, CopiesWanted}
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
          stores: all that a peer has.
          life: of this peer, whose numbers no claim, offer or task of an earlier life has.
        """
        self._me = me
        self._settings = settings or HandoverSettings()
        self._numbers = numbers_of(life)
        self._ownership: Ownership | None = None
        self._stores = {store.name: store for store in stores}
        self._store_of = {store.actor: store.name for store in self._stores.values()}
        self._holders = {store.name: Address(me, store.actor) for store in self._stores.values()}
        self._needed_to_crawl = {store.name for store in self._stores.values() if store.is_needed_to_crawl}
        self._controller, self._indexer = Address(me, "controller"), Address(me, "indexer")
        self._membership = Address(me, "membership")
        self._claim = 0
        self._claim_again_at = inf
        self._claim_pause_s = self._settings.again_s
        self._heard: dict[str, ClaimSlots] = {}  # by peer, its last claim, under whatever epoch
        self._claimants: dict[str, _Claimant] = {}
        self._offer_at = inf
        self._offer_pause_s = self._settings.again_s
        self._fence_until = -inf  # nothing is yielded, and nothing comes to be held, before
        self._copies_at = 0.0  # standbys bring nothing new before
        self._ask_at = inf
        self._differing_at = self._compare_at = inf
        self._compared_to = 0  # owner and slot, as one number
        self._n_claims = self._n_takeovers = self._n_yielded = self._n_refused = 0

    # --- The actor -------------------------------------------------------------------------------

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        if self._ownership is None and not isinstance(message, OwnershipChanged):
            return []  # others repeat what they want
        if source.peer != self._me:
            try:
                return self._receive_remote(source, message, now)
            except RemoteProtocolError:
                self._n_refused += 1
                return []
        match message:
            case OwnershipChanged(ownership):
                return self._change_ownership(ownership, now)
            case HoldingsRevoked():
                return self._revoke(now)
            case SlotsStopped(slots):
                return self._note_stopped(self._decode(slots), now)
            case SlotsFilled(slots):
                return self._note_filled(self._store_of[source.actor], self._decode(slots), now)
            case SlotsSynchronised(task, slots):
                return self._note_synchronised(task, self._decode(slots), now)
            case SlotsLacking(slots):
                return self._note_lacking(self._decode(slots), now)
            case SlotsDiffer(peer, slots):
                self._note_differing(peer, self._decode(slots), now)
                return []
            case ClaimSlots():
                return []  # our own, which went to everybody
            case _:
                raise LocalProtocolError(f"handover does not understand {type(message).__name__}")

    def _receive_remote(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case ClaimSlots():
                return self._hear_claim(source.peer, message)
            case SlotsYielded():
                return self._note_yielded(source.peer, message, now)
            case OfferSlots():
                return self._hear_offer(source.peer, message, now)
            case SlotsTaken(offer, slots):
                if self._offers.note_taken(source.peer, offer, self._decode(slots)):
                    self._may_forget = True
                    return self._advance(now)
                return []
            case CopiesWanted(slots):
                known = self._offers.taken_by(source.peer) & self._here.owned
                self._take_back_from(source.peer, self._decode(slots) & known)
                return self._advance(now)
            case _:
                raise LocalProtocolError(f"handover took a {type(message).__name__} of {source.peer}")

    def wake(self, now: float) -> list[Send]:
        if self._ownership is None:
            return []
        sends: list[Send] = []
        if -inf < self._fence_until <= now:
            self._fence_until = -inf
            sends += self._hear_claims_again() + self._advance(now)
        if self._claim_again_at <= now:
            sends += self._repeat_claim(now)
        if self._offer_at <= now:
            sends += self._send_offers(now)
        if self._ask_at <= now:
            sends += self._ask_for_copies(now)
        if self._differing_at <= now:
            self._compare_differing(now)
            sends += self._advance(now)
        if self._compare_at <= now:
            self._compare_some(now)
        return sends + self._start_tasks(now)

    def wake_at(self) -> float:
        if self._ownership is None:
            return inf
        wanted_at = self._wants.next_time(self._settings.tasks_max)
        fence_at = self._fence_until if self._fence_until > -inf else inf
        return min(
            self._claim_again_at,
            self._offer_at,
            self._ask_at,
            self._differing_at,
            self._compare_at,
            fence_at,
            wanted_at,
        )

    def observe(self) -> HandoverStatistics:
        if self._ownership is None:
            return _nothing_known()
        ownership = self._ownership
        kept, owned, strays = ownership.kept, ownership.owned, self._strays() & ~self._taken_by_team()
        n_offered = sum(int(slots.sum()) for _, slots in self._offers.open().values())
        is_settled = bool((self._held == owned).all() and (self._complete & kept == kept).all())
        lacking = self._wants.urgent(self._stores)
        is_moving = bool(n_offered or (lacking | self._stopping | strays).any())
        return HandoverStatistics(
            owned=int(owned.sum()),
            held=int(self._held.sum()),
            stopping=int(self._stopping.sum()),
            kept=int(kept.sum()),
            complete=int((self._complete & kept).sum()),
            missing=int((ownership.answers & ~self._complete).sum()),
            filled=int(self._filled.sum()),
            wanted={store: self._wants.count(store) for store in self._stores},
            differing=sum(int(slots.sum()) for slots in self._differing.values()),
            offered=n_offered,
            strays=int(strays.sum()),
            claims=self._n_claims,
            takeovers=self._n_takeovers,
            yielded=self._n_yielded,
            refused=self._n_refused,
            is_quiet=is_settled and not is_moving,
        )

    # --- Who is responsible ----------------------------------------------------------------------

    def _begin(self, ownership: Ownership, now: float) -> None:
        def nothing() -> SlotMask:
            return np.zeros(ownership.table.slot_count, np.bool_)

        self._held, self._stopping = nothing(), nothing()
        self._filled, self._complete = nothing(), nothing()
        self._lacking = nothing()  # here: not kept though it counts elsewhere, and not brought since
        self._silent_stores = set(self._stores)  # which have not told what they have
        self._claimed, self._agreed = nothing(), nothing()
        self._vouched = nothing()  # claimed, and complete at one who has yielded it
        self._n_lacking = np.zeros(ownership.table.slot_count, np.int16)  # who have yielded it so
        self._found = nothing()  # agreed upon while all that was acknowledged was there to be brought
        self._yields: dict[str, SlotMask] = {}  # by live member: of our claim
        self._n_yields = np.zeros(ownership.table.slot_count, np.int16)  # their sum
        self._told_complete: SlotMask | None = None  # what our indexer and stores were told
        self._asked_to_serve = b""  # the epoch under which we said that we can
        self._offers = Offers(ownership.table.slot_count, self._numbers)
        self._taking: dict[str, _Taking] = {}  # by peer: what it offers
        self._stirred: set[str] = set()  # whose offers may have been taken by now
        self._are_offers_stale = self._may_forget = True  # as far as we know, to spare work
        self._differing: dict[str, SlotMask] = {}  # by peer: to be compared with it
        self._wants = Wants(ownership.table.slot_count, self._stores)
        self._compare_at = now + self._settings.compare_every_s

    def _change_ownership(self, new: Ownership, now: float) -> list[Send]:
        old, self._ownership = self._ownership, new
        if old is None:
            self._begin(new, now)
        elif old.alive - new.alive:
            self._fence_until = now + self._settings.fence_s
            self._copies_at = now + self._settings.replicate_after_s
        sends = self._stop_tasks(self._wants.keep_only(new.alive, urgent=new.owned, copies=new.kept))
        # Who was in no team of a slot has missed what came for it.
        self._complete &= new.kept | new.answers
        lost = self._held & ~new.owned
        self._held &= ~lost
        self._stopping |= lost
        sends += self._tell_held() if lost.any() or old is None else []
        if old is not None:
            # What a peer took while we kept the slot does not let us forget it.
            self._offers.take_back(old.kept ^ new.kept)
        self._are_offers_stale = self._may_forget = True
        self._differing = {peer: slots for peer, slots in self._differing.items() if peer in new.alive}
        self._taking.clear()  # whose offer makes us complete may be another now; they offer again
        self._offer_at, self._offer_pause_s = now + self._settings.again_s, self._settings.again_s
        self._ask_at = now + self._settings.ask_s
        return sends + self._claim_slots(now) + self._hear_claims_again() + self._advance(now)

    def _revoke(self, now: float) -> list[Send]:
        """Begin as after a restart: others may have taken over, and we have missed what came meanwhile."""
        self._stopping |= self._held
        self._held[:] = False
        self._complete[:] = False
        self._taking.clear()
        self._are_offers_stale = True
        self._ask_at = now + self._settings.ask_s
        return self._tell_held() + self._claim_slots(now) + self._advance(now)

    def _advance(self, now: float) -> list[Send]:
        """Draw the conclusions from whatever has changed."""
        sends = self._hold_agreed() + self._note_complete()
        if sends:
            self._are_offers_stale = True
        if self._may_forget:
            sends += self._forget_taken()
        if self._are_offers_stale:
            self._make_offers(now)
        return sends + self._tell_taken() + self._serve() + self._start_tasks(now)

    # --- Claiming --------------------------------------------------------------------------------

    def _claim_slots(self, now: float) -> list[Send]:
        """Claim all that is ours and not held; what was agreed upon before has to be agreed upon again."""
        ownership = self._here
        # Without a claim, too, so that answers to the last one count no more.
        self._claim = next(self._numbers)
        self._claim_again_at = inf
        self._claimed = ownership.owned & ~self._held
        self._vouched, self._found = np.zeros_like(self._held), np.zeros_like(self._held)
        self._agreed = np.zeros_like(self._held)
        self._yields = {peer: np.zeros_like(self._held) for peer in ownership.alive if peer != self._me}
        self._n_yields[:] = 0
        self._n_lacking[:] = self._lacking
        if not ownership.has_majority or not self._claimed.any():
            return []
        self._n_claims += 1
        if not self._yields:
            self._agree(self._claimed)
            return []
        self._claim_pause_s = self._settings.again_s
        self._claim_again_at = now + self._claim_pause_s
        claim = ClaimSlots(self._claim, ownership.epoch, encode_slots(self._claimed))
        return [Send(Address(EVERYBODY, self.name), claim)]

    def _repeat_claim(self, now: float) -> list[Send]:
        """Ask those again who have not yielded everything."""
        self._claim_pause_s = min(2 * self._claim_pause_s, self._settings.again_max_s)
        self._claim_again_at = inf
        sends = []
        for peer, yielded in sorted(self._yields.items()):
            lacking = self._claimed & ~yielded
            if lacking.any():
                claim = ClaimSlots(self._claim, self._here.epoch, encode_slots(lacking))
                sends.append(Send(Address(peer, self.name), claim))
        if sends:
            self._claim_again_at = now + self._claim_pause_s
        return sends

    def _hear_claim(self, peer: str, message: ClaimSlots) -> list[Send]:
        """Yield what we do not crawl; the rest when the controller has stopped."""
        ownership = self._here
        self._heard[peer] = message  # under another epoch it waits until that is ours
        if message.epoch != ownership.epoch or peer not in ownership.alive or self._silent_stores:
            return []
        if self._fence_until > -inf:
            return []
        claimed = self._decode(message.slots)
        if (claimed & ~ownership.table.slots_of(peer)).any():
            raise RemoteProtocolError(f"{peer} claims what is not its own")
        blocked = claimed & (self._held | self._stopping)
        self._claimants[peer] = _Claimant(message.claim, blocked)
        return self._yield_to(peer, message.claim, claimed & ~blocked)

    def _hear_claims_again(self) -> list[Send]:
        """Answer those who have had this epoch, or this peer's attention, before us."""
        self._claimants.clear()
        self._heard = {peer: claim for peer, claim in self._heard.items() if peer in self._here.alive}
        sends = []
        for peer, claim in list(self._heard.items()):
            try:
                sends += self._hear_claim(peer, claim)
            except RemoteProtocolError:
                self._n_refused += 1
                del self._heard[peer]
        return sends

    def _yield_to(self, peer: str, claim: int, slots: SlotMask) -> list[Send]:
        if not slots.any():
            return []
        self._n_yielded += int(slots.sum())
        known = (encode_slots(slots & mask) for mask in (self._filled, self._complete, self._lacking))
        answer = SlotsYielded(claim, self._here.epoch, encode_slots(slots), *known)
        return [Send(Address(peer, self.name), answer)]

    def _note_stopped(self, slots: SlotMask, now: float) -> list[Send]:
        stopped = self._stopping & slots
        self._stopping &= ~slots
        self._are_offers_stale = True
        sends: list[Send] = []
        for peer, claimant in self._claimants.items():
            sends += self._yield_to(peer, claimant.claim, claimant.blocked & stopped)
            claimant.blocked &= ~stopped
        return sends + self._advance(now)

    def _note_yielded(self, peer: str, message: SlotsYielded, now: float) -> list[Send]:
        yielded = self._yields.get(peer)
        if yielded is None or message.claim != self._claim or message.epoch != self._here.epoch:
            return []
        new = self._decode(message.slots) & self._claimed & ~yielded
        filled = self._decode(message.filled) & new
        self._vouched |= self._decode(message.complete) & new
        self._n_lacking += self._decode(message.lacking) & new
        if not new.any():
            return []
        yielded |= new
        self._n_yields += new
        for store in self._stores:
            self._wants.add_urgent(store, peer, filled, now)
        agreed = new & (self._n_yields == len(self._yields))
        if not agreed.any():
            return self._start_tasks(now)
        self._agree(agreed)
        return self._advance(now)

    def _agree(self, slots: SlotMask) -> None:
        """Note what all have yielded, and whether it can be complete here without those that are down."""
        self._agreed |= slots
        missed, replicas = self._here.missed, self._here.table.replicas
        is_there = self._n_lacking < replicas - missed if missed else slots
        self._found |= slots & (is_there | self._complete | self._vouched)

    def _hold_agreed(self) -> list[Send]:
        """Crawl what all have yielded, once all that is known of it and needed for that is here."""
        ready = self._agreed & self._found & ~self._held & ~self._stopping
        if self._fence_until > -inf or not ready.any():
            return []
        ready &= ~self._wants.urgent(self._needed_to_crawl)
        if not ready.any():
            return []
        self._held |= ready
        self._n_takeovers += int(ready.sum())
        return self._tell_held(ready)

    def _tell_held(self, inherited: SlotMask | None = None) -> list[Send]:
        new = NO_SLOTS if inherited is None else encode_slots(inherited)
        return [Send(self._controller, HoldSlots(encode_slots(self._held), new))]

    # --- Bringing what others have -----------------------------------------------------------------

    def _start_tasks(self, now: float) -> list[Send]:
        settings = self._settings
        sends = []
        for store, declaration in self._stores.items():
            for want in self._wants.due(store, settings.tasks_max, declaration.task_slots_max, now):
                number = next(self._numbers)
                self._wants.start(number, want)
                pace = inf if want.is_urgent else settings.replicate_bytes_per_s
                order = SynchroniseSlots(number, want.peer, encode_slots(want.slots), pace)
                sends.append(Send(self._holders[store], order))
        return sends

    def _stop_tasks(self, tasks: list[tuple[str, int]]) -> list[Send]:
        return [Send(self._holders[store], StopSynchronising(task)) for store, task in tasks]

    def _note_synchronised(self, task: int, done: SlotMask, now: float) -> list[Send]:
        want = self._wants.end(task, done, now + self._settings.retry_s)
        if want is None:
            return []
        taking = self._taking.get(want.peer)
        if not want.is_urgent and (taking is None or not (taking.slots & ~taking.told).any()):
            return self._start_tasks(now)  # it was a comparison: nothing else hangs on it
        self._stirred.add(want.peer)
        return self._advance(now)

    def _note_filled(self, store: str, slots: SlotMask, now: float) -> list[Send]:
        self._filled |= slots
        strays = self._strays() & slots
        if store not in self._silent_stores and not strays.any():
            return []  # what we keep is offered, whether anything is in it or not
        self._offers.take_back(strays)  # there is more to be taken
        self._are_offers_stale = True
        sends = []
        if store in self._silent_stores:
            self._silent_stores.discard(store)
            sends = self._hear_claims_again()
        return sends + self._advance(now)

    def _note_differing(self, peer: str, slots: SlotMask, now: float) -> None:
        """Compare with that peer, not at once: what is on its way makes a difference, too."""
        slots = slots & self._here.kept
        if peer in self._here.alive and peer != self._me and slots.any():
            known = self._differing.get(peer)
            self._differing[peer] = slots if known is None else known | slots
            self._differing_at = min(self._differing_at, now + self._settings.differing_s)

    def _note_lacking(self, slots: SlotMask, now: float) -> list[Send]:
        """Be complete in these copies of ours no more, and ask their owners for them."""
        slots = slots & ~self._held
        if not slots.any():
            return []
        self._lacking |= slots
        self._complete &= ~slots
        for taking in self._taking.values():
            taking.slots &= ~slots
            taking.told &= ~slots
        self._ask_at = min(self._ask_at, now + self._settings.ask_s)
        return self._advance(now)

    def _compare_differing(self, now: float) -> None:
        """Have those whose slots differ from ours bring what we have, and bring what they have."""
        for peer, slots in self._differing.items():
            self._take_back_from(peer, slots & self._held)
            for store in self._stores:
                self._wants.add_copies(store, peer, slots & self._here.kept, now)
        self._differing, self._differing_at = {}, inf

    def _compare_some(self, now: float) -> None:
        """Compare some of our slots with their owners, in turn."""
        self._compare_at = now + self._settings.compare_every_s
        for peer, slots in self._by_peer(self._next_compared(), 0).items():
            for store in self._stores:
                self._wants.add_copies(store, peer, slots, now)

    def _next_compared(self) -> SlotMask:
        """Of our complete standby slots the next ones, going round; owner by owner, for fewer questions."""
        chosen = np.zeros_like(self._held)
        standby = np.flatnonzero(self._here.kept & ~self._here.owned & self._complete)
        if len(standby):
            owners = self._here.table.ranking[0][standby].astype(np.int64)
            places = np.sort(owners * SLOTS_MAX + standby)
            start = int(np.searchsorted(places, self._compared_to))
            settings = self._settings
            share = ceil(len(places) * settings.compare_every_s / settings.compare_round_s)
            count = min(max(settings.compare_slots_min, share), len(places))
            next_places = np.take(places, range(start, start + count), mode="wrap")
            self._compared_to = int(next_places[-1]) + 1
            chosen[next_places % SLOTS_MAX] = True
        return chosen

    # --- Being complete ----------------------------------------------------------------------------

    def _note_complete(self) -> list[Send]:
        """See which slots are complete by now, and tell our own if these have changed."""
        lacking = self._wants.urgent(self._stores)
        self._complete |= self._held & ~lacking
        for peer in self._stirred & self._taking.keys():
            # Whose slots these are holds them and has all: else it would not have offered them.
            self._complete |= self._here.table.slots_of(peer) & self._brought(peer)
        self._lacking &= ~self._complete
        if self._told_complete is not None and (self._told_complete == self._complete).all():
            return []
        self._stirred.update(self._taking)  # for what these offer may be complete only now
        self._told_complete = self._complete.copy()
        told = SlotsComplete(encode_slots(self._complete))
        return [Send(address, told) for address in (self._indexer, *self._holders.values())]

    def _serve(self) -> list[Send]:
        """Have the serving weight follow the weight, once that costs nobody an answer."""
        ownership = self._here
        if self._asked_to_serve == ownership.epoch or (ownership.kept & ~self._complete).any():
            return []
        for peer, slots in self._by_peer(ownership.answers & ~ownership.owned, 0).items():
            if (slots & ~self._offers.taken_by(peer)).any():
                return []
        self._asked_to_serve = ownership.epoch
        return [Send(self._membership, ServeSlots())]

    # --- Taking what is offered ----------------------------------------------------------------------

    def _hear_offer(self, peer: str, message: OfferSlots, now: float) -> list[Send]:
        """Bring what is offered of ours, and say when that is done."""
        ownership = self._here
        if message.epoch != ownership.epoch or peer not in ownership.alive:
            return []  # repeated until both know the same
        slots = self._decode(message.slots) & ownership.kept
        taking = self._taking.get(peer)
        if taking is None or taking.number != message.offer:
            taking = _Taking(message.offer, np.zeros_like(slots), np.zeros_like(slots))
            self._taking[peer] = taking
        new = slots & ~taking.slots
        taking.slots |= new
        taking.told &= ~slots  # what we said of them was lost
        for store in self._stores:
            self._wants.add_copies(store, peer, new & ownership.owned, now)
            self._wants.add_copies(store, peer, new & ~ownership.owned, max(now, self._copies_at))
        self._stirred.add(peer)
        return self._advance(now)

    def _brought(self, peer: str) -> SlotMask:
        """Of what a peer offers, what is in all stores."""
        return self._taking[peer].slots & ~self._wants.wanted_from(peer)

    def _tell_taken(self) -> list[Send]:
        sends = []
        for peer in sorted(self._stirred & self._taking.keys()):
            taking = self._taking[peer]
            new = self._brought(peer) & self._complete & ~taking.told
            if new.any():
                taking.told |= new
                sends.append(Send(Address(peer, self.name), SlotsTaken(taking.number, encode_slots(new))))
        self._stirred.clear()
        return sends

    def _ask_for_copies(self, now: float) -> list[Send]:
        """As a standby, have owners offer what they believe we have taken, as before a restart of ours."""
        ownership = self._here
        lacking = ownership.kept & ~ownership.owned & ~self._complete
        self._ask_at = now + self._settings.again_max_s if lacking.any() else inf
        sends = []
        for peer, slots in self._by_peer(lacking, 0).items():
            taking = self._taking.get(peer)
            unoffered = slots if taking is None else slots & ~taking.slots
            if unoffered.any():
                sends.append(Send(Address(peer, self.name), CopiesWanted(encode_slots(unoffered))))
        return sends

    # --- Offering and letting go ---------------------------------------------------------------------

    def _make_offers(self, now: float) -> None:
        self._are_offers_stale = False
        if self._offers.make(self._due_offers()):
            self._offer_pause_s = self._settings.again_s
            # A little later, for more slots may become complete.
            self._offer_at = min(self._offer_at, now + self._offer_pause_s)

    def _take_back_from(self, peer: str, slots: SlotMask) -> None:
        """Have a peer take these again, if they are still due."""
        if slots.any():
            self._offers.take_back_from(peer, slots)
            self._are_offers_stale = True

    def _due_offers(self) -> dict[str, SlotMask]:
        """By peer what it is to take from here, whether it has or not."""
        ownership, replicas = self._here, self._here.table.replicas
        copied = self._held & self._complete
        moving = ownership.answers & ~ownership.owned
        strays = self._strays()
        due: dict[str, SlotMask] = {}
        for rank in range(replicas):
            offered = strays | (moving if rank == 0 else copied)
            for peer, slots in self._by_peer(offered, rank).items():
                due[peer] = due[peer] | slots if peer in due else slots
        return due

    def _send_offers(self, now: float) -> list[Send]:
        offers = self._offers.open()
        self._offer_pause_s = min(2 * self._offer_pause_s, self._settings.again_max_s)
        self._offer_at = now + self._offer_pause_s if offers else inf
        return [
            Send(Address(peer, self.name), OfferSlots(number, self._here.epoch, encode_slots(slots)))
            for peer, (number, slots) in offers.items()
        ]

    def _strays(self) -> SlotMask:
        """Slots of which something is here that is not ours to keep."""
        ownership = self._here
        return self._filled & ~(ownership.kept | ownership.answers | self._stopping)

    def _taken_by_team(self) -> SlotMask:
        """Of the strays, those that all who are to keep them have taken, if there is anybody."""
        table, strays = self._here.table, self._strays()
        taken: SlotMask = strays & (table.ranking[0] != NOBODY)
        for rank in range(table.replicas):
            for peer, slots in self._by_peer(strays, rank).items():
                taken &= ~slots | self._offers.taken_by(peer)
        return taken

    def _forget_taken(self) -> list[Send]:
        """Delete the strays that the whole team has taken."""
        self._may_forget = False
        table = self._here.table
        gone = self._strays()
        if gone.any():
            gone &= self._taken_by_team() & (table.ranking[table.replicas - 1] != NOBODY)
        if not gone.any():
            return []
        self._filled &= ~gone
        self._complete &= ~gone
        self._lacking &= ~gone
        self._are_offers_stale = True
        order = ForgetSlots(encode_slots(gone))
        return [Send(address, order) for address in (*self._holders.values(), self._indexer)]

    # --- Details -----------------------------------------------------------------------------------

    @property
    def _here(self) -> Ownership:
        assert self._ownership is not None
        return self._ownership

    def _by_peer(self, slots: SlotMask, rank: int) -> dict[str, SlotMask]:
        """Split slots by the peer that has this rank for them; those of nobody and our own are left out."""
        table = self._here.table
        ranked = table.ranking[rank]
        counts = np.bincount(ranked[slots] - NOBODY, minlength=1)
        counts[0] = 0  # NOBODY
        found = ((table.peers[each + NOBODY], each + NOBODY) for each in np.flatnonzero(counts).tolist())
        return {peer: slots & (ranked == position) for peer, position in found if peer != self._me}

    def _decode(self, slots: bytes) -> SlotMask:
        return decode_slots(slots, self._here.table.slot_count)


def _nothing_known() -> HandoverStatistics:
    """The statistics of a handover that knows no slots yet."""
    counts = dict.fromkeys(HandoverStatistics.__struct_fields__, 0)
    return HandoverStatistics(**counts | {"wanted": {}, "is_quiet": False})  # type: ignore[arg-type]
