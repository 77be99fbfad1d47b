"""What a change of the slot tables costs in the handover of one peer, which runs in its event loop.

pytest tests/benchmarks/bench_handover.py -s

Milliseconds of processor time, median of 20, 50,000 slots, 2 replicas, one core of an AMD EPYC (KVM, shared),
CPython 3.11.7; one of the other peers leaves the mesh and comes back:

    peers                          8      64     256
    change: it leaves            0.9     7.8     9.4
    change: it is back           0.8     4.2    10.0
    a yield, one of peers - 1    0.05    0.07    0.04
    an offer heard               0.2     0.2     0.2
    slots brought                0.4     0.2     0.2   at most 1, 6, 33
    slots taken by another       0.07    0.1     0.1
    all others' tasks begun      0.2     0.9     0.2   at most 1, 4, 9
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import pytest

from mesh.actors.actor import Address, Message, Send
from mesh.actors.ownership import Ownership, OwnershipChanged
from mesh.membership.model.messages import HoldingsRevoked
from mesh.slot_set import NO_SLOTS, SlotMask, encode_slots
from mesh.slots import SlotTable
from peers.handover.handover import Handover
from peers.handover.messages import SlotsFilled, SlotsStopped, SlotsSynchronised, SynchroniseSlots
from peers.handover.wire_messages import ClaimSlots, OfferSlots, SlotsTaken, SlotsYielded
from tests.helpers import STORES

SLOTS = 50_000
REPLICAS = 2
ROUNDS = 20


class Settled:
    """The handover of peer 0 in a mesh where nothing moves, and the answers of all the others."""

    def __init__(self, peer_count: int) -> None:
        self.names = [f"peer{number:04}" for number in range(peer_count)]
        self.me = self.names[0]
        self.now = 0.0
        self.handover = Handover(self.me, STORES)
        self.all = self.view(self.names)
        self.without_last = self.view(self.names[:-1])
        self.seconds: dict[str, list[float]] = {}
        self.tell("membership", OwnershipChanged(self.all), "begin")
        for store in STORES:
            self.tell(store.actor, SlotsFilled(encode_slots(np.ones(SLOTS, np.bool_))), "begin")
        self.offers_of_all()
        self.settle()
        statistics = self.handover.observe()
        assert statistics.held == statistics.owned > 0
        assert statistics.offered == 0

    def view(self, names: list[str]) -> Ownership:
        return Ownership(self.me, SlotTable(dict.fromkeys(names, 100), SLOTS, REPLICAS), names)

    def tell(self, source: str, message: Message, what: str) -> None:
        self._receive(Address(self.me, source), message, what)

    def settle(self) -> None:
        """Let time pass, and all others do what is asked of them, until nothing more is."""
        for _ in range(100):
            self.now = max(self.now, self.handover.wake_at())
            self._carry(self._timed("wake", lambda: self.handover.wake(self.now)))
            if self.handover.observe().is_quiet:
                return
        raise AssertionError("does not settle")

    def _receive(self, source: Address, message: Message, what: str) -> None:
        self._carry(self._timed(what, lambda: self.handover.receive(source, message, self.now)))

    def _timed(self, what: str, work: Callable[[], list[Send]]) -> list[Send]:
        start = time.thread_time()
        sends = work()
        self.seconds.setdefault(what, []).append(time.thread_time() - start)
        return sends

    def _carry(self, sends: list[Send]) -> None:
        for target, message in sends:
            match message:
                case ClaimSlots(claim, epoch, slots):
                    everybody = self.handover._state.ownership.alive - {self.me}
                    for peer in sorted(everybody) if target.peer == "*" else [target.peer]:
                        answer = SlotsYielded(claim, epoch, slots, NO_SLOTS)
                        self._receive(Address(peer, "handover"), answer, "yield")
                case OfferSlots(offer, _, slots):
                    self._receive(target, SlotsTaken(offer, slots), "taken")
                case SynchroniseSlots(task, _, slots):
                    self.tell(target.actor, SlotsSynchronised(task, slots), "synchronised")

    def offers_of_all(self) -> None:
        """Every owner offers us what we are a standby for."""
        here = self.handover._state.ownership
        for peer in here.table.peers[1:]:
            theirs: SlotMask = here.table.slots_of(peer) & here.kept
            offer = OfferSlots(1, here.epoch, encode_slots(theirs))
            self._receive(Address(peer, "handover"), offer, "offer")


def report(settled: Settled, peer_count: int, what: str) -> None:
    times = [1e3 * second for second in settled.seconds[what]]
    print(f"\n{peer_count:4} peers {what:14}{median(times):8.2f} ms {max(times):8.2f} ms at most", end="")


@pytest.mark.parametrize("peer_count", [8, 64, 256])
def test_cost_of_an_ownership_change(peer_count: int) -> None:
    settled = Settled(peer_count)
    settled.seconds.clear()
    for _ in range(ROUNDS):
        settled.tell("membership", OwnershipChanged(settled.without_last), "leave")
        settled.offers_of_all()
        settled.settle()
        settled.tell("membership", OwnershipChanged(settled.all), "join")
        stopping = encode_slots(settled.handover._state.stopping)
        settled.tell("controller", SlotsStopped(stopping), "stopped")
        settled.offers_of_all()
        settled.settle()
    settled.tell("membership", HoldingsRevoked(), "revoke")
    for what in settled.seconds:
        report(settled, peer_count, what)
