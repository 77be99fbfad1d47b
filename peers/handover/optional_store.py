"""The actors of stores that only some meshes have: dormant, and not a row, until a policy switches them on.

Of a policy that switches a store on, members hear one after the other. Who has not heard of it says nothing
to those who have, and they repeat what they say; who has heard that it ended deletes what it has, or keeps
it unused, as the store says.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from math import inf
from typing import ClassVar, Final

from mesh.actors.actor import Address, Message, Send, Statistics
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.membership.model.messages import DecreesInForce
from mesh.tables.table import Table, TableSection
from peers.handover.item_store import Item, ItemStore, key_of
from peers.handover.keeper import Keeper
from peers.handover.messages import SlotsSynchronised, SynchroniseSlots, UseStore
from peers.handover.mirror import Mirror
from peers.handover.store import HolderStatistics, StoreActor, StoreStatistics
from peers.policy.decreed import policy_of
from peers.policy.rules import OF_SEEDS, Policy

SWEEP_ROWS: Final = 1_000  # looked through in a turn
SWEEP_PAUSE_S: Final = 0.05  # for messages, and a commit, in between


class OptionalStoreActor(StoreActor):
    """An actor with a store of values that a policy switches on and off.

    Subclasses say in `_is_wanted` which policies do, in `_open_store` which values there are, in `_handle`
    what other messages mean, and in `_look_at` what becomes of a row when all are looked through: after each
    change of the policy, and when `_next_sweep_at` says so. Their `_store`, `_mirror` and `_keeper` are there
    from the moment that they are not dormant.
    """

    rows_section: ClassVar[bytes]  # of the actor's table, in which its store is
    keeps_unused_rows: ClassVar[bool] = False  # stay those that are there when the policy ends the store?

    def __init__(self, me: str, table: Table, life: int = 1) -> None:
        """Begin without looking at the table: most meshes have no such store.

        Args:
          table: the section of this actor.
          life: of the peer, see `mesh.tables.lives`.
        """
        self._me, self._table, self._life = me, table, life
        self.is_dormant = True
        self._ownership: Ownership | None = None
        self._policy: Policy = OF_SEEDS
        self._is_on = False
        self._now = 0.0
        self._swept_to, self._sweep_at = b"", inf

    # --- What subclasses say

    @abstractmethod
    def _is_wanted(self, policy: Policy) -> bool:
        """Does this policy switch the store on?"""

    @abstractmethod
    def _open_store(self, rows: Table) -> ItemStore:
        """Return the store whose rows are in this section."""

    @abstractmethod
    def _observe(self, store: StoreStatistics) -> HolderStatistics:
        """Return the statistics of the actor, which is not dormant."""

    def _begin(self) -> None:
        """Take up the rows in the table: the policy has switched the store on, or there is something left."""
        self._store = self._open_store(TableSection(self._table, self.rows_section))
        self._mirror = Mirror(self._me, self.name, self._store, self._life)
        self._keeper = Keeper(self._me, self.keeps, self._store, life=self._life, mirror=self._mirror)
        self.is_dormant = False

    def _handle(self, source: Address, message: Message) -> list[Send]:
        """React to a message that is not about policy, ownership or the time; also while dormant."""
        return [] if self.is_dormant else self._keeper.receive(source, message, self._now)

    def _follow(self, ownership: Ownership) -> None:
        """Follow a change of ownership, while not dormant."""
        self._keeper.change_ownership(ownership, self._now)

    def _follow_policy(self, before: Policy, *, was_on: bool) -> None:
        """Follow a change of the policy, while not dormant."""
        if before != self._policy or was_on != self._is_on:
            self._sweep_anew()

    def _look_at(self, item: Item) -> None:
        """Look at a row in a sweep; the default deletes it where the store is not in use any more."""
        if not self._is_on:
            self._store.drop(item.slot, item.name)

    def _next_sweep_at(self) -> float:
        """The time of the next sweep, where one has just ended."""
        return inf

    # --- `Actor`

    def receive(self, source: Address, message: Message, now: float) -> list[Send]:
        self._now = now
        sends: list[Send] = []
        match message:
            case DecreesInForce():
                sends = self._hear_policy(message)
            case OwnershipChanged(ownership):
                self._ownership = ownership
                if not self.is_dormant:
                    self._follow(ownership)
            case SynchroniseSlots(task=task, slots=slots) if not self._is_on:
                # Of the store that has ended, peers that have started since have nothing, and those that have
                # not heard of it yet are compared once they have. No slot waits for either.
                sends = [Send(source, SlotsSynchronised(task, slots))]
            case _:
                sends = self._handle(source, message)
        return sends + self._end_turn() if not self.is_dormant else sends

    def wake(self, now: float) -> list[Send]:
        self._now = now
        sends = self._keeper.wake(now) if self._keeper.wake_at() <= now else []
        if self._sweep_at <= now:
            self._sweep()
        return sends + self._end_turn()

    def wake_at(self) -> float:
        return min(self._keeper.wake_at(), self._sweep_at)

    @property
    def has_news(self) -> bool:
        return self._keeper.has_news

    def before_commit(self, now: float) -> list[Send]:
        return self._keeper.before_commit(now) + self._redeem()

    def observe(self) -> Statistics:
        return Statistics() if self.is_dormant else self._observe(self._keeper.observe())

    def _end_turn(self) -> list[Send]:
        return self._redeem() + self._keeper.end_turn(self._now)

    def _redeem(self) -> list[Send]:
        """Return the answers that have waited until the team had kept the rows behind them."""
        if not self._mirror.has_pledges:
            return []
        return [send for pledge in self._mirror.redeem() for send in pledge.sends]

    # --- The policy, and all rows

    def _hear_policy(self, message: DecreesInForce) -> list[Send]:
        policy = policy_of(message)
        if policy is None:
            return []
        before, was_on, self._policy = self._policy, self._is_on, policy
        sends = self._switch(is_on=self._is_wanted(policy))
        if not self.is_dormant:
            self._follow_policy(before, was_on=was_on)
        return sends

    def _switch(self, *, is_on: bool) -> list[Send]:
        """Have the store used, or not; without a row there is nothing to be done for one that is not."""
        was_on, self._is_on = self._is_on, is_on
        if self.is_dormant:
            if not is_on and (self.keeps_unused_rows or self._has_no_row()):
                return []
            self._begin()
            if self._ownership is not None:
                self._follow(self._ownership)
        # Also when it is not the first time: nothing was kept for others meanwhile.
        return [Send(Address(self._me, "handover"), UseStore())] if is_on and not was_on else []

    def _has_no_row(self) -> bool:
        return next(self._table.scan(b"", limit=1), None) is None

    def _sweep_anew(self) -> None:
        """Have all rows looked through from the first on."""
        self._swept_to, self._sweep_at = b"", self._now

    def _sweep(self) -> None:
        """Look at some rows; when all of them are looked at, wait for the next time."""
        items = self._store.items_after(self._swept_to, SWEEP_ROWS)
        for item in items:
            self._look_at(item)
        if len(items) == SWEEP_ROWS:
            self._swept_to, self._sweep_at = key_of(items[-1]), self._now + SWEEP_PAUSE_S
        else:
            self._swept_to, self._sweep_at = b"", self._next_sweep_at()


class Places:
    """Rows that take a place, each with the member that brought it. No member takes the places of others.

    A member may bring one more while it has fewer than there are free places: one gets half of them, two get
    a third each, and however many lie, a place is free for one that has none. A mesh of one peer has all.
    """

    def __init__(self) -> None:
        self._member_of: dict[bytes, str] = {}
        self._n_of: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._member_of)

    def __contains__(self, name: bytes) -> bool:
        return name in self._member_of

    def add(self, name: bytes, member: str) -> None:
        self.discard(name)
        self._member_of[name] = member
        self._n_of[member] += 1

    def discard(self, name: bytes) -> None:
        member = self._member_of.pop(name, None)
        if member is not None:
            self._n_of[member] -= 1
            if not self._n_of[member]:
                del self._n_of[member]

    def clear(self) -> None:
        self._member_of.clear()
        self._n_of.clear()

    def free(self, places: int, each_max: int) -> int:
        """Return how many of so many places are free, if no more than `each_max` rows of a member count.

        Rows that another peer brings without asking for places so take no more than its share of them.
        """
        return places - sum(min(count, each_max) for count in self._n_of.values())

    def count_of(self, member: str) -> int:
        return self._n_of[member]

    def keep(self, is_kept: Callable[[bytes], bool]) -> None:
        """Count no others than these any more."""
        for name in [name for name in self._member_of if not is_kept(name)]:
            self.discard(name)

    def has_room(self, member: str, places: int, *, is_alone: bool) -> bool:
        free = places - len(self)
        return free > 0 and (is_alone or self._n_of[member] < free)
