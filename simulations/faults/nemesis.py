"""Makes the faults of a plan happen, and ends them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import inf
from typing import Final

import msgspec

from mesh.actors.codec import PROTOCOL_VERSION
from simulations.faults.faults import (
    AnyFault,
    Clog,
    Crash,
    Cut,
    Drain,
    FaultOfRunning,
    Flip,
    FullDisk,
    Join,
    Leave,
    Link,
    Pause,
    Planned,
    Restart,
    Skew,
    SlowDisk,
    StepClock,
    Vanish,
    Weather,
    Wipe,
)
from simulations.faults.machine import Machine
from simulations.faults.watch import Watch
from simulations.world.network import Network
from simulations.world.world import World

AFTERMATH_S: Final = 15.0  # that a fault is still felt after its end: suspicions, repetitions


class _Disturbance(msgspec.Struct):
    """A fault and the machines that it touches."""

    begun: float
    machines: frozenset[int]  # empty for everybody
    ended: float = inf


class Nemesis:
    """Carries out faults; a fault that has ended or was healed is never ended twice."""

    def __init__(
        self,
        world: World,
        network: Network,
        machines: Sequence[Machine],
        watch: Watch,
        tell: Callable[[str], None],
    ) -> None:
        self._world = world
        self._network = network
        self._machines = machines
        self._watch = watch
        self._tell = tell
        self._cuts: Counter[Link] = Counter()
        self._clogs: Counter[Link] = Counter()
        self._holders: Counter[tuple[str, int]] = Counter()  # faults of one kind that last on one machine
        self._draining: set[int] = set()
        self._heals = 0
        self._disturbances: list[_Disturbance] = []

    def plan(self, faults: Iterable[Planned], start_s: float) -> None:
        """Have all faults happen, by seconds after a time of the world."""
        for planned in faults:
            self._world.plan(start_s + planned.at_s, partial(self.cause, planned.fault))

    def is_calm(self, machine: Machine | None, begin_s: float, end_s: float) -> bool:
        """Did no fault touch a machine (None: any) between two times, nor had one just ended?"""
        return not any(
            each.begun < end_s
            and each.ended + AFTERMATH_S > begin_s
            and (machine is None or not each.machines or machine.number in each.machines)
            for each in self._disturbances
        )

    def heal(self) -> None:
        """End everything that lasts, and have all machines back that are not gone for good."""
        self._tell("everything is healed")
        self._heals += 1
        now = self._world.now
        for each in self._disturbances:
            each.ended = min(each.ended, now)
        self._cuts.clear()
        self._holders.clear()
        self._network.heal()
        for link in list(self._clogs):
            self._unclog(link)
        self._clogs.clear()
        for machine in self._machines:
            self._heal_machine(machine)
        self._look_at_links()

    def cause(self, fault: AnyFault) -> None:
        """Let a fault begin now; it does nothing to a machine that is down already, or gone."""
        match fault:
            case Cut(links, for_s):
                self._tell(str(fault))
                self.disturb(for_s)
                self._cut(links, for_s)
            case Clog(links, begins, ends):
                self._tell(str(fault))
                self.disturb(max(ends))
                for link, begin_s, end_s in zip(links, begins, ends, strict=True):
                    self._clog_for(link, begin_s, end_s)
            case Weather():
                self._tell(str(fault))
                self._weather(fault)
            case StepClock(peer, by_s):
                self._tell(str(fault))
                self._machines[peer].clock.wall_offset_s += by_s
            case Join(peer):
                self._join(fault, peer)
            case _:
                machine = self._machines[fault.peer]
                if machine.is_running and not machine.is_leaving:
                    self._tell(str(fault))
                    self._befall(fault, fault.peer, machine)

    def _befall(self, fault: FaultOfRunning, peer: int, machine: Machine) -> None:
        """Let a fault begin that happens to one machine, which runs."""
        match fault:
            case Crash():
                self._crash(fault, machine)
            case Restart():
                self._stop(machine, fault.down_s)
            case Wipe():
                self.disturb(fault.down_s, peer)
                self._kill(machine, is_power_loss=False)
                machine.wipe()
                self._watch.wiped(machine)
                self._later(fault.down_s, lambda: self._bring_back(peer))
            case Vanish():
                self.disturb(0.0, peer)
                self._kill(machine, is_power_loss=False)
                machine.vanish()
            case Flip():
                for place in fault.places:
                    machine.disk.archive.flip(place)
            case Pause():
                self.disturb(fault.for_s, peer)
                machine.pause()
                self._hold("pause", peer, fault.for_s, lambda: self._resume(machine))
            case SlowDisk():
                self.disturb(fault.for_s, peer)
                self._slow(peer, fault.factor)
                self._hold("slow", peer, fault.for_s, lambda: self._slow(peer, 1.0))
            case FullDisk():
                self.disturb(fault.for_s)  # nobody can store what it is to keep a copy of
                machine.disk.fill()
                self._hold("full", peer, fault.for_s, machine.disk.free)
            case Leave():
                self._watch.members_changed()
                machine.leave(self._look_at_links)
            case Drain():
                self._draining.add(peer)
                machine.drain(is_draining=True)
                self._hold("drain", peer, fault.for_s, lambda: self._end_drain(peer))
            case Skew():
                self._skew(peer)

    # --- Processes ---

    def _crash(self, fault: Crash, machine: Machine) -> None:
        disturbance = self.disturb(inf, fault.peer)

        def die() -> None:
            self._kill(machine, is_power_loss=fault.is_power_loss)
            disturbance.ended = self._world.now + fault.down_s
            self._later(fault.down_s, lambda: self._bring_back(fault.peer))

        if fault.sends:
            self._world.light_fuse(machine.peer, fault.sends, die)
        else:
            die()

    def _stop(self, machine: Machine, down_s: float) -> None:
        disturbance = self.disturb(inf, machine.number)

        def go_down() -> None:
            self._watch.ended(machine)
            self._look_at_links()
            disturbance.ended = self._world.now + down_s
            self._later(down_s, lambda: self._bring_back(machine.number))

        machine.stop(go_down)

    def _kill(self, machine: Machine, *, is_power_loss: bool) -> None:
        machine.crash(is_power_loss=is_power_loss)
        self._watch.ended(machine)
        self._tell(f"{machine.name} is dead")
        self._look_at_links()

    def _bring_back(self, peer: int) -> None:
        machine = self._machines[peer]
        if machine.is_gone or machine.is_up:
            return
        self._tell(f"{machine.name} starts")
        machine.start()
        self._look_at_links()

    def _join(self, fault: AnyFault, peer: int) -> None:
        self._tell(str(fault))
        self._watch.members_changed()
        self._machines[peer].start()
        self._look_at_links()

    def _resume(self, machine: Machine) -> None:
        self._watch.goes_on(machine)
        machine.resume()

    def _heal_machine(self, machine: Machine) -> None:
        machine.disk.free()
        machine.disk.factor = 1.0
        if not machine.has_lived or machine.is_gone:
            return
        if machine.is_up:
            self._world.slow_disk(machine.peer, 1.0)
            self._world.put_out_fuse(machine.peer)
            if not machine.is_running:
                self._resume(machine)
            self._end_drain(machine.number)
        else:
            self._bring_back(machine.number)
            self._later(1.0, lambda: self._end_drain(machine.number))

    def _end_drain(self, peer: int) -> None:
        machine = self._machines[peer]
        if peer in self._draining and machine.is_running and not machine.is_leaving:
            self._draining.discard(peer)
            self._tell(f"{machine.name} takes its share again")
            machine.drain(is_draining=False)

    def _slow(self, peer: int, factor: float) -> None:
        machine = self._machines[peer]
        machine.disk.factor = factor
        if machine.is_up:
            self._world.slow_disk(machine.peer, factor)

    def _skew(self, peer: int) -> None:
        machine = self._machines[peer]
        self._world.skew(machine.peer, of_tomorrow)
        for other in self._machines:
            if other.is_up and other is not machine:
                self._world.transmit(machine.peer, other.peer, unknown_frame("handover"))

    # --- The network ---

    def _cut(self, links: Sequence[Link], for_s: float) -> None:
        self._cuts.update(links)
        self._network.cut(map(self._link, links))
        self._look_at_links()
        self._later(for_s, lambda: self._mend(links))

    def _mend(self, links: Sequence[Link]) -> None:
        for link in links:
            self._cuts[link] -= 1
            if self._cuts[link] == 0:
                self._network.mend([self._link(link)])
        self._look_at_links()

    def _clog_for(self, link: Link, begin_s: float, end_s: float) -> None:
        def clog() -> None:
            self._clogs[link] += 1
            self._world.clog(*self._link(link))
            self._look_at_links()

        def unclog() -> None:
            self._clogs[link] -= 1
            if self._clogs[link] == 0:
                self._unclog(link)

        self._later(begin_s, clog)
        self._later(end_s, unclog)

    def _unclog(self, link: Link) -> None:
        self._world.unclog(*self._link(link))
        self._look_at_links()

    def _weather(self, weather: Weather) -> None:
        self.disturb(weather.for_s)
        self._network.set_loss(weather.loss)
        self._network.set_repetition(weather.repetition)
        self._network.set_delay(weather.delay_min_s, weather.delay_mean_s)
        self._hold("weather", -1, weather.for_s, self._network.clear_up)

    def _look_at_links(self) -> None:
        self._watch.links_changed(self._passes)

    def _passes(self, source: Machine, target: Machine) -> bool:
        are_running = source.is_running and target.is_running
        return are_running and self._world.passes(source.peer, target.peer)

    def _link(self, link: Link) -> tuple[str, str]:
        source, target = link
        return self._machines[source].peer, self._machines[target].peer

    # --- Time ---

    def disturb(self, for_s: float, *machines: int) -> _Disturbance:
        now = self._world.now
        disturbance = _Disturbance(now, frozenset(machines), now + for_s)
        self._disturbances.append(disturbance)
        return disturbance

    def _hold(self, kind: str, peer: int, for_s: float, end: Callable[[], None]) -> None:
        """End something when the last of the faults that want it is over."""
        self._holders[kind, peer] += 1

        def release() -> None:
            self._holders[kind, peer] -= 1
            if self._holders[kind, peer] == 0:
                end()
                self._look_at_links()

        self._later(for_s, release)

    def _later(self, seconds: float, action: Callable[[], None]) -> None:
        """Go on with a fault, unless everything is healed before."""
        heals = self._heals

        def act() -> None:
            if self._heals == heals:
                action()

        self._world.plan(self._world.now + seconds, act)


UNKNOWN_TAG: Final = 1_000_000


def of_tomorrow(frame: bytes) -> bytes:
    """Append a field to the message in a frame, as a peer of a later version of the protocol does.

    Peers of this version do not see it. Source: the rules at the top of `peers.wire_tags`.
    """
    version, source, target, message, *rest = _decode(frame)
    return _encode((version, source, target, [*message, "a field of tomorrow"], *rest))


def unknown_frame(actor: str) -> bytes:
    """Return a frame with a message of a later version, which peers of this one refuse and count."""
    return _encode((PROTOCOL_VERSION, actor, actor, [UNKNOWN_TAG, 1, "two", [3]]))


_decode = msgspec.msgpack.Decoder().decode
_encode = msgspec.msgpack.Encoder().encode
