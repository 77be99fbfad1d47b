"""The actor that sees to it that every slot is crawled by one peer and kept by all of its team.

Theory of operation
===================
*Holding.* A peer begins fetches for a slot only while it holds it, and it holds one when every live member has
yielded it under the same epoch: each promised that it fetches nothing of it any more and agrees whose it is.
Two peers that both think a slot theirs do not yield to each other, so neither gets it until their tables are
the same. A member that cannot be asked because it is held for dead does not fetch: its licence has run out
(`mesh.licence`). Holding is not kept over a restart, nor by one that hears it was held for dead: it claims
again, and whoever took over stops, says what it has and yields.

*Getting.* Who yields says where it has anything. The frontier's part is brought before the slot is crawled,
the pages meanwhile. All of this is union: what two sides of a partition, or an owner and its late standby,
know is put together, in any order.

*Keeping.* A standby brings what the owner has and is *complete* from then on, as everything new reaches it
before it counts. If it comes in for one that died it waits a while first: most come back. All compare their
slots with the owner's from time to time (anti-entropy), which repairs what messages, disks and bugs have lost.

*Letting go.* A peer answers queries for a slot until its new owner says that it is complete; then the serving
weights change (`Ownership.serving`). What one has of slots it does not keep it offers to their owner, and
forgets it when that says the whole team has it.
"""

from __future__ import annotations

from math import inf
from typing import ClassVar, Final, NamedTuple

import msgspec
import numpy as np

from mesh.actor import EVERYBODY, Actor, Address, Message, Send, Statistics
from mesh.errors import LocalProtocolError, RemoteProtocolError
from mesh.membership_messages import HoldingsRevoked, ServeSlots
from mesh.messages import ClaimSlots, CopiesComplete, CopiesNoted, OfferSlots, SlotsYielded
from mesh.ownership import Ownership, OwnershipChanged
from mesh.slot_set import NO_SLOTS, SlotMask, decode_slots, encode_slots
from peers.handover.messages import (
    ForgetSlots,
    HoldSlots,
    SlotsComplete,
    SlotsDiffer,
    SlotsFilled,
    SlotsStopped,
    SlotsSynchronised,
    StopSynchronising,
    SynchroniseSlots,
)
from peers.handover.wants import STORES, Wants


class HandoverSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Patience and pace of moving slots."""

    again_s: float = 0.5  # a claim that is not answered by then is repeated; doubled each time
    again_max_s: float = 4.0
    retry_s: float = 1.0  # before slots that could not be brought are tried again
    # A standby takes the place of one that died after this: most restarts are over by then.
    replicate_after_s: float = 20.0
    replicate_bytes_per_s: float = 20e6  # of that, and of comparing: a sixth of a gigabit
    tasks_max: int = 4  # at a time, per store
    task_slots_max: int = 4_096
    compare_every_s: float = 10.0  # a standby compares some slots with their owners so often,
    compare_slots: int = 1_024  # so many: all of 50,000 in eight minutes
    offer_s: float = 5.0  # between offers of what we do not keep


class HandoverStatistics(Statistics, frozen=True):
    """Slots of this peer by what is true of them now, and counts since the start."""

    owned: int  # to be crawled by us
    held: int  # of those, that we may crawl
    stopping: int  # given up, but something of them is not finished
    kept: int  # as owner or standby
    complete: int  # of which we have everything
    missing: int  # answered for by the table and not complete
    filled: int  # of which we have anything
    frontier_wanted: int  # to be brought here, a slot counts once for every peer that has some of it
    pages_wanted: int
    strays: int  # which we do not keep and others do not have yet
    claims: int  # count
    takeovers: int  # count: slots that we came to hold
    yielded: int  # count: slots, a repetition counts again
    refused: int  # count: messages that made no sense
    is_quiet: bool  # nothing is moving or has to


class _Claim(NamedTuple):
    """What another peer claims and we have not yet yielded."""

    claim: int
    slots: SlotMask


class Handover(Actor):
    """Neighbours: handovers, membership, controller, cell, indexer."""

    name: ClassVar[str] = "handover"

    def __init__(self, me: str, first_request: int = 1, settings: HandoverSettings | None = None) -> None:
        """Begin with nothing held.

        Args:
          first_request: number of the first claim and task: greater than any of an earlier life of this
            peer, as milliseconds since the epoch are.
        """
        self._me = me
        self._settings = settings or HandoverSettings()
        self._next_number = first_request
        self._ownership: Ownership | None = None
        self._addresses = {
            name: Address(me, name) for name in ("membership", "controller", "cell", "indexer")
        }
        self._claim = 0
        self._claim_again_at = inf
        self._claim_pause_s = self._settings.again_s
        self._claimants: dict[str, _Claim] = {}
        self._tell_again_at = inf
        self._tell_pause_s = self._settings.again_s
        self._offer_at = inf
        self._compare_at = inf
        self._compared_to = 0
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
                self._filled |= self._decode(slots)
                self._plan_offers(now)
                return []
            case SlotsSynchronised(task, slots):
                return self._note_synchronised(source.actor, task, self._decode(slots), now)
            case SlotsDiffer(peer, slots):
                return self._note_differing(source.actor, peer, self._decode(slots), now)
            case ClaimSlots():
                return []  # our own, which went to everybody
            case _:
                raise LocalProtocolError(f"handover does not understand {type(message).__name__}")

    def _receive_remote(self, source: Address, message: Message, now: float) -> list[Send]:
        match message:
            case ClaimSlots():
                return self._hear_claim(source, message)
            case SlotsYielded():
                return self._note_yielded(source.peer, message, now)
            case CopiesComplete(slots, is_safe):
                return self._note_copies(source, slots, is_safe, now)
            case CopiesNoted(slots):
                told = self._untold.get(source.peer)
                if told is not None:
                    told &= ~self._decode(slots)
                return []
            case OfferSlots(slots):
                return self._take_offer(source, self._decode(slots), now)
            case _:
                raise RemoteProtocolError(f"{type(message).__name__} is not for a handover")

    def wake(self, now: float) -> list[Send]:
        if self._ownership is None:
            return []
        sends: list[Send] = []
        if self._claim_again_at <= now:
            sends += self._repeat_claim(now)
        if self._tell_again_at <= now:
            sends += self._tell_complete(now)
        if self._offer_at <= now:
            sends += self._offer(now)
        if self._compare_at <= now:
            self._compare_some(now)
        return sends + self._start_tasks(now)

    def wake_at(self) -> float:
        if self._ownership is None:
            return inf
        wanted_at = self._wants.next_time(self._settings.tasks_max)
        return min(self._claim_again_at, self._tell_again_at, self._offer_at, self._compare_at, wanted_at)

    def observe(self) -> HandoverStatistics:
        if self._ownership is None:
            nothing = dict.fromkeys(HandoverStatistics.__struct_fields__, 0)
            return HandoverStatistics(**(nothing | {"is_quiet": False}))
        ownership = self._ownership
        kept, owned = ownership.kept, ownership.owned
        n_wanted = {store: self._wants.count(store) for store in STORES}
        strays = self._strays()
        is_settled = bool((self._held == owned).all() and (self._complete & kept == kept).all())
        return HandoverStatistics(
            owned=int(owned.sum()),
            held=int(self._held.sum()),
            stopping=int(self._stopping.sum()),
            kept=int(kept.sum()),
            complete=int((self._complete & kept).sum()),
            missing=int((ownership.answers & ~self._complete).sum()),
            filled=int(self._filled.sum()),
            frontier_wanted=n_wanted["controller"],
            pages_wanted=n_wanted["cell"],
            strays=int(strays.sum()),
            claims=self._n_claims,
            takeovers=self._n_takeovers,
            yielded=self._n_yielded,
            refused=self._n_refused,
            is_quiet=is_settled
            and not any(n_wanted.values())
            and not self._stopping.any()
            and not strays.any(),
        )

    # --- Who is responsible ----------------------------------------------------------------------

    def _change_ownership(self, new: Ownership, now: float) -> list[Send]:
        old, self._ownership = self._ownership, new
        if old is None:
            self._begin(new, now)
        sends = self._stop_tasks_with(self._wants.forget_peers(new.alive))
        self._standby_complete = {
            peer: slots for peer, slots in self._standby_complete.items() if peer in new.alive
        }
        self._offered = {peer: slots for peer, slots in self._offered.items() if peer in new.alive}
        # Who was in no team of a slot has missed what came for it.
        self._complete &= new.kept | new.answers
        self._claimants.clear()  # they claim anew under this epoch
        lost = self._held & ~new.owned
        self._held &= ~lost
        self._stopping |= lost
        sends += self._tell_held() if lost.any() or old is None else []
        has_died = old is not None and bool(old.alive - new.alive)
        self._want_copies(now + self._settings.replicate_after_s if has_died else now)
        sends += self._claim_slots(now)
        sends += self._note_complete(now)
        self._plan_telling(now)
        self._plan_offers(now)
        return sends + self._start_tasks(now)

    def _begin(self, ownership: Ownership, now: float) -> None:
        def nothing() -> SlotMask:
            return np.zeros(ownership.table.slot_count, np.bool_)

        self._held, self._stopping = nothing(), nothing()
        self._filled, self._complete = nothing(), nothing()
        self._claimed, self._agreed = nothing(), nothing()
        self._told_complete: SlotMask | None = None  # what our indexer and stores were told
        self._asked_to_serve = b""  # the epoch under which we said that we can
        self._yields: dict[str, SlotMask] = {}  # by live member: of our claim
        self._untold: dict[str, SlotMask] = {}  # by peer: what it is to be told that we have
        self._standby_complete: dict[str, SlotMask] = {}  # by peer: what it has told us
        self._offered: dict[str, SlotMask] = {}  # by peer: what it would like to forget
        self._wants = Wants(ownership.table.slot_count)
        self._compare_at = now + self._settings.compare_every_s

    def _revoke(self, now: float) -> list[Send]:
        """Begin as after a restart: others may have taken over, and we have missed what came meanwhile."""
        self._stopping |= self._held
        self._held[:] = False
        self._complete[:] = False
        sends = self._tell_held()
        self._want_copies(now)
        return sends + self._claim_slots(now) + self._note_complete(now) + self._start_tasks(now)

    # --- Claiming --------------------------------------------------------------------------------

    def _claim_slots(self, now: float) -> list[Send]:
        """Claim all that is ours and not held; what was agreed upon before has to be agreed upon again."""
        ownership = self._here
        self._claim_again_at = inf
        self._claimed = ownership.owned & ~self._held
        self._agreed = np.zeros_like(self._held)
        self._yields = {peer: np.zeros_like(self._held) for peer in ownership.alive if peer != self._me}
        if not ownership.has_majority or not self._claimed.any():
            return []
        self._claim = self._number()
        self._n_claims += 1
        if not self._yields:
            return self._agree(now)
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

    def _hear_claim(self, source: Address, message: ClaimSlots) -> list[Send]:
        """Yield what we do not crawl; the rest when the controller has stopped."""
        ownership = self._here
        if message.epoch != ownership.epoch or source.peer not in ownership.alive:
            return []  # repeated until both know the same
        claimed = self._decode(message.slots)
        if (claimed & ~ownership.table.slots_of(source.peer)).any():
            raise RemoteProtocolError(f"{source.peer} claims what is not its own")
        # Who claims has begun anew with these: what it said of them before is no longer true.
        if source.peer in self._standby_complete:
            self._standby_complete[source.peer] &= ~claimed
        blocked = claimed & (self._held | self._stopping)
        self._claimants[source.peer] = _Claim(message.claim, blocked)
        return self._yield_to(source.peer, message.claim, claimed & ~blocked)

    def _yield_to(self, peer: str, claim: int, slots: SlotMask) -> list[Send]:
        if not slots.any():
            return []
        self._n_yielded += int(slots.sum())
        filled = encode_slots(slots & self._filled)
        answer = SlotsYielded(claim, self._here.epoch, encode_slots(slots), filled)
        return [Send(Address(peer, self.name), answer)]

    def _note_stopped(self, slots: SlotMask, now: float) -> list[Send]:
        stopped = self._stopping & slots
        self._stopping &= ~slots
        sends: list[Send] = []
        for peer, (claim, blocked) in list(self._claimants.items()):
            sends += self._yield_to(peer, claim, blocked & stopped)
            self._claimants[peer] = _Claim(claim, blocked & ~stopped)
        self._plan_offers(now)
        return sends + self._try_to_hold() + self._note_complete(now)

    def _note_yielded(self, peer: str, message: SlotsYielded, now: float) -> list[Send]:
        yielded = self._yields.get(peer)
        if yielded is None or message.claim != self._claim or message.epoch != self._here.epoch:
            return []
        slots = self._decode(message.slots) & self._claimed
        filled = self._decode(message.filled) & slots & ~yielded
        yielded |= slots
        for store in STORES:
            self._wants.add(store, peer, filled, now)
        return self._agree(now) + self._start_tasks(now)

    def _agree(self, now: float) -> list[Send]:
        """Find out which slots all others have yielded."""
        agreed = self._claimed.copy()
        for yielded in self._yields.values():
            agreed &= yielded
        self._agreed = agreed
        return self._try_to_hold() + self._note_complete(now)

    def _try_to_hold(self) -> list[Send]:
        """Crawl what all have yielded and whose frontier is here."""
        ready = self._agreed & ~self._held & ~self._stopping & ~self._wants.urgent("controller")
        if not ready.any():
            return []
        self._held |= ready
        self._n_takeovers += int(ready.sum())
        return self._tell_held(ready)

    def _tell_held(self, inherited: SlotMask | None = None) -> list[Send]:
        new = NO_SLOTS if inherited is None else encode_slots(inherited)
        return [Send(self._addresses["controller"], HoldSlots(encode_slots(self._held), new))]

    # --- Bringing what others have -----------------------------------------------------------------

    def _want_copies(self, at: float) -> None:
        """As a standby, bring what the owners have of slots that are not complete here."""
        ownership = self._here
        lacking = ownership.kept & ~ownership.owned & ~self._complete
        for peer in ownership.table.peers:
            if peer == self._me:
                continue
            slots = ownership.table.slots_of(peer)
            for store in STORES:
                self._wants.drop_copies(store, peer, ~(slots & lacking))
                self._wants.add_copies(store, peer, slots & lacking, at)

    def _start_tasks(self, now: float) -> list[Send]:
        settings = self._settings
        sends = []
        for store in STORES:
            for want in self._wants.due(store, settings.tasks_max, settings.task_slots_max, now):
                number = self._number()
                self._wants.start(number, want)
                pace = inf if want.is_urgent else settings.replicate_bytes_per_s
                order = SynchroniseSlots(number, want.peer, encode_slots(want.slots), pace)
                sends.append(Send(self._addresses[store], order))
        return sends

    def _note_synchronised(self, store: str, task: int, done: SlotMask, now: float) -> list[Send]:
        if not self._wants.end(task, done, now + self._settings.retry_s):
            return []
        sends = self._try_to_hold() + self._note_complete(now)
        return sends + self._answer_offers() + self._start_tasks(now)

    def _stop_tasks_with(self, tasks: list[tuple[str, int]]) -> list[Send]:
        return [Send(self._addresses[store], StopSynchronising(task)) for store, task in tasks]

    def _note_differing(self, store: str, peer: str, slots: SlotMask, now: float) -> list[Send]:
        """Compare with a peer that has, or lacks, something of slots that both keep."""
        if peer not in self._here.alive or peer == self._me:
            return []
        self._wants.add_copies(store, peer, slots & self._here.kept, now)
        return self._start_tasks(now)

    def _compare_some(self, now: float) -> None:
        """Compare some of our slots with their owners, in turn: nothing is different, we hope."""
        ownership, settings = self._here, self._settings
        self._compare_at = now + settings.compare_every_s
        standby = np.flatnonzero(ownership.kept & ~ownership.owned & self._complete)
        if not len(standby):
            return
        start = int(np.searchsorted(standby, self._compared_to))
        chosen = np.take(
            standby, range(start, start + min(settings.compare_slots, len(standby))), mode="wrap"
        )
        self._compared_to = int(chosen[-1]) + 1
        slots = np.zeros_like(self._held)
        slots[chosen] = True
        for peer in ownership.table.peers:
            theirs = slots & ownership.table.slots_of(peer)
            if theirs.any():
                for store in STORES:
                    self._wants.add_copies(store, peer, theirs, now)

    # --- Being complete ----------------------------------------------------------------------------

    def _note_complete(self, now: float) -> list[Send]:
        """See which slots are complete by now, and tell everybody whom it concerns."""
        ownership = self._here
        lacking = self._wants.urgent("controller") | self._wants.urgent("cell")
        as_owner = self._held
        as_standby = ownership.kept & ~ownership.owned & ~self._first_copies()
        self._complete |= (as_owner | as_standby) & ~lacking
        if self._told_complete is not None and (self._told_complete == self._complete).all():
            return self._serve()
        is_more = self._told_complete is None or bool((self._complete & ~self._told_complete).any())
        self._told_complete = self._complete.copy()
        told = SlotsComplete(encode_slots(self._complete))
        sends = [Send(self._addresses[name], told) for name in ("indexer", "controller", "cell")]
        if is_more:
            self._plan_telling(now)
        return sends + self._serve() + self._answer_offers()

    def _first_copies(self) -> SlotMask:
        """Slots of which a copy is still to be brought for the first time."""
        return (self._wants.wanted("controller") | self._wants.wanted("cell")) & ~self._complete

    def _serve(self) -> list[Send]:
        """Have the serving weight follow the weight, once that costs nobody an answer."""
        ownership = self._here
        if self._asked_to_serve == ownership.epoch:
            return []
        if (ownership.kept & ~self._complete).any():
            return []
        moving = ownership.answers & ~ownership.owned
        for peer in ownership.table.peers:
            ready = self._standby_complete.get(peer)
            if ready is not None:
                moving &= ~(ready & ownership.table.slots_of(peer))
        if moving.any():
            return []
        self._asked_to_serve = ownership.epoch
        return [Send(self._addresses["membership"], ServeSlots())]

    def _plan_telling(self, now: float) -> None:
        """Owners, and those that answer until we do, are to know what is complete here."""
        ownership = self._here
        ours = self._complete & ownership.kept
        self._untold = {}
        for peer in sorted(ownership.alive - {self._me}):
            slots = ours & (ownership.table.slots_of(peer) | ownership.serving.slots_of(peer))
            if slots.any():
                self._untold[peer] = slots
        self._tell_pause_s = self._settings.again_s
        self._tell_again_at = now if self._untold else inf

    def _tell_complete(self, now: float) -> list[Send]:
        self._untold = {peer: slots for peer, slots in self._untold.items() if slots.any()}
        self._tell_again_at = now + self._tell_pause_s if self._untold else inf
        self._tell_pause_s = min(2 * self._tell_pause_s, self._settings.again_max_s)
        return [
            Send(Address(peer, self.name), CopiesComplete(encode_slots(slots)))
            for peer, slots in self._untold.items()
        ]

    def _note_copies(self, source: Address, encoded: bytes, is_safe: bool, now: float) -> list[Send]:
        slots, ownership = self._decode(encoded), self._here
        if is_safe:
            return self._forget(slots & ownership.table.slots_of(source.peer))
        known = self._standby_complete.setdefault(source.peer, np.zeros_like(slots))
        known |= slots
        return [Send(source, CopiesNoted(encoded)), *self._serve(), *self._answer_offers()]

    # --- Letting go --------------------------------------------------------------------------------

    def _strays(self) -> SlotMask:
        """Slots of which something is here that is not ours to keep."""
        ownership = self._here
        return self._filled & ~(ownership.kept | ownership.answers | self._held | self._stopping)

    def _plan_offers(self, now: float) -> None:
        if not self._strays().any():
            self._offer_at = inf
        elif self._offer_at == inf:
            self._offer_at = now

    def _offer(self, now: float) -> list[Send]:
        strays = self._strays()
        self._offer_at = now + self._settings.offer_s if strays.any() else inf
        sends = []
        for peer in self._here.table.peers:
            theirs = strays & self._here.table.slots_of(peer)
            if theirs.any() and peer != self._me:
                sends.append(Send(Address(peer, self.name), OfferSlots(encode_slots(theirs))))
        return sends

    def _take_offer(self, source: Address, slots: SlotMask, now: float) -> list[Send]:
        """Bring what is offered of ours; once the whole team has it, say so."""
        offered = slots & self._here.owned
        before = self._offered.get(source.peer, np.zeros_like(slots))
        self._offered[source.peer] = before | offered
        for store in STORES:
            self._wants.add(store, source.peer, offered & ~before, now, is_urgent=False)
        return self._answer_offers() + self._start_tasks(now)

    def _answer_offers(self) -> list[Send]:
        if not self._offered:
            return []
        safe = self._held & self._complete & self._complete_at_standbys()
        safe &= ~self._wants.wanted("controller") & ~self._wants.wanted("cell")
        sends = []
        for peer, offered in list(self._offered.items()):
            ready = offered & safe
            if ready.any() and peer in self._here.alive:
                sends.append(
                    Send(Address(peer, self.name), CopiesComplete(encode_slots(ready), is_safe=True))
                )
            self._offered[peer] = offered & ~ready & self._here.owned
            if not self._offered[peer].any():
                del self._offered[peer]
        return sends

    def _complete_at_standbys(self) -> SlotMask:
        """Our slots of which every standby has said that it is complete."""
        table = self._here.table
        safe = np.ones_like(self._held)
        for peer in table.peers:
            if peer == self._me:
                continue
            ready = self._standby_complete.get(peer, np.zeros_like(safe))
            for rank in range(1, table.replicas):
                safe &= ready | ~table.slots_of(peer, rank)
        return safe

    def _forget(self, slots: SlotMask) -> list[Send]:
        gone = slots & self._strays()
        if not gone.any():
            return []
        self._filled &= ~gone
        self._complete &= ~gone
        order = ForgetSlots(encode_slots(gone))
        return [Send(self._addresses[name], order) for name in ("controller", "cell", "indexer")]

    # --- Details -----------------------------------------------------------------------------------

    @property
    def _here(self) -> Ownership:
        assert self._ownership is not None
        return self._ownership

    def _decode(self, slots: bytes) -> SlotMask:
        return decode_slots(slots, self._here.table.slot_count)

    def _number(self) -> int:
        self._next_number += 1
        return self._next_number
