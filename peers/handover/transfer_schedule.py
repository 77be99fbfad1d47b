"""Has the stores of this peer bring data of other peers: orders by the policy of `wants`, store by store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import inf

from mesh.actors.actor import Address, Send
from mesh.actors.ownership import Ownership
from mesh.slot_set import SlotMask, encode_slots
from peers.handover.messages import StopSynchronising, SynchroniseSlots
from peers.handover.settings import HandoverSettings
from peers.handover.store import StoreDeclaration
from peers.handover.wants import Want, Wants


class TransferSchedule:
    """All tasks of all stores."""

    def __init__(
        self,
        ownership: Ownership,
        stores: Iterable[StoreDeclaration],
        numbers: Iterator[int],
        settings: HandoverSettings,
    ) -> None:
        self._stores = {store.name: store for store in stores}
        self._me = ownership.me
        self._addresses = {name: Address(ownership.me, store.actor) for name, store in self._stores.items()}
        self._numbers = numbers
        self._settings = settings
        self._wants = Wants(ownership.table.slot_count, self._stores)

    def use(self, store: StoreDeclaration) -> None:
        """Bring data of one more store, from the next want on."""
        self._stores[store.name] = store
        self._addresses[store.name] = Address(self._me, store.actor)
        self._wants.add_store(store.name)

    def want_of_store(self, store: str, peer: str, slots: SlotMask, at: float) -> None:
        """Have one store bring slots from a peer when there is time for it."""
        self._wants.add_copies(store, peer, slots, at, is_routine=False)

    def want_urgently(self, peer: str, slots: SlotMask, at: float) -> None:
        """Have all stores bring slots from a peer, before anything else."""
        for store in self._stores:
            self._wants.add_urgent(store, peer, slots, at)

    def want_copies(self, peer: str, slots: SlotMask, at: float, *, is_routine: bool = False) -> None:
        """Have all stores bring slots from a peer when there is time for it."""
        for store in self._stores:
            self._wants.add_copies(store, peer, slots, at, is_routine=is_routine)

    def follow(self, ownership: Ownership) -> list[Send]:
        """Stop tasks for slots that are not ours any more, and tasks with peers that are gone."""
        owned, kept = ownership.owned, ownership.kept
        stopped = self._wants.keep_only(ownership.alive, urgent=owned, copies=kept)
        return [Send(self._addresses[store], StopSynchronising(task)) for store, task in stopped]

    def start(self, now: float) -> list[Send]:
        """Begin the wants that are due, as far as there is room."""
        settings = self._settings
        sends = []
        for name, store in self._stores.items():
            for want in self._wants.due(name, settings.tasks_max, store.task_slots_max, now):
                number = next(self._numbers)
                self._wants.start(number, want)
                pace = inf if want.is_urgent else settings.replicate_bytes_per_s
                slots = encode_slots(want.slots)
                order = SynchroniseSlots(number, want.peer, slots, pace, is_routine=want.is_routine)
                sends.append(Send(self._addresses[name], order))
        return sends

    def end(self, task: int, done: SlotMask, now: float) -> Want | None:
        """Note the slots a task has brought; return its want, None when there is no such task."""
        return self._wants.end(task, done, now + self._settings.retry_s)

    def next_time(self) -> float:
        """When `start` has something to do, as far as time alone decides."""
        return self._wants.next_time(self._settings.tasks_max)

    def lacking(self) -> SlotMask:
        """Slots of which something has to come into any store before they are complete."""
        return self._wants.urgent(self._stores)

    def lacking_to_crawl(self) -> SlotMask:
        """Slots of which something has to come before they may be crawled."""
        needed = [name for name, store in self._stores.items() if store.is_needed_to_crawl]
        return self._wants.urgent(needed)

    def wanted_from(self, peer: str) -> SlotMask:
        """Slots of which something is to come from a peer into any store."""
        return self._wants.wanted_from(peer)

    def counts(self) -> dict[str, int]:
        """By store: slots wanted, a slot counts once for every peer."""
        return {store: self._wants.count(store) for store in self._stores}
