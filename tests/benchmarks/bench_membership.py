"""How soon a crash is known, what that costs, and how soon who is cut off stops, in virtual time.

pytest tests/benchmarks/bench_membership.py -s

All by the default settings, messages taking 1 to 20 ms. *First* and *all* are when the first member and when
every member holds a crashed one for dead; messages are those of a quiet mesh.

    members    crashes    first: mean, 99 %    all: mean, 99 %    messages per member and second
          4        200    3.41 s, 3.86 s       3.42 s, 3.88 s     6.66
         16        160    3.48 s, 4.16 s       3.51 s, 4.16 s     6.67
         64         96    3.53 s, 4.50 s       3.57 s, 4.54 s     6.67
        256         40    3.47 s, 4.00 s       3.54 s, 4.06 s     6.68

Of a mesh cut in two, *spare* is the time between a member of the minority losing its licence and the first
member of the majority holding it for dead (the least of all seeds and members), and *to claim* that between
the last licence of the minority and the first moment at which the majority agrees that all of it is dead,
before which no slot changes hands.

    members, cut off    no message lost: spare, to claim    a tenth lost
           5,  2        1.02 s, 1.14 s                      0.79 s, 1.16 s
           9,  4        0.99 s, 1.20 s                      0.99 s, 1.38 s
          16,  3        1.35 s, 1.79 s                      1.18 s, 1.48 s
          16,  7        0.61 s, 1.41 s                      0.96 s, 1.64 s
          32, 15        0.87 s, 1.87 s                      0.79 s, 2.20 s
          64,  2        1.63 s, 2.22 s                      1.11 s, 1.43 s
          64, 24        0.86 s, 2.29 s                      0.92 s, 2.33 s

Of meshes that lose a tenth of their messages: members held for dead that live, and the part of the time that
members are without a licence.

    members    member hours    held for dead    without licence
          5             4.2                0             0.000 %
         16             4.4                0             0.000 %
         64             1.1                0             0.000 %
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random
from statistics import mean

import pytest

from mesh.membership.model.members import State
from tests.mesh.membership_world import Machine, World

STEP_S = 0.02
JOINED_AT = 8.0


@pytest.mark.parametrize(("n", "seeds", "crashes"), [(4, 200, 1), (16, 40, 4), (64, 8, 12), (256, 1, 40)])
def test_detection(n: int, seeds: int, crashes: int) -> None:
    trials = [trial for seed in range(seeds) for trial in detect(n, crashes, seed)]
    first, everybody, rates = zip(*trials, strict=True)
    print(f"\n{n:5} members: first {spread(first)}, all {spread(everybody)}", end="")
    print(f", {mean(rates):.2f} messages per member and second", end="")
    assert sorted(everybody)[int(0.99 * (len(everybody) - 1))] < 5.0


@pytest.mark.parametrize(
    ("n", "cut_off", "seeds"),
    [(5, 2, 60), (9, 4, 60), (16, 3, 20), (16, 7, 40), (32, 15, 10), (64, 2, 4), (64, 24, 4)],
)
@pytest.mark.parametrize("loss", [0.0, 0.1])
def test_partition(n: int, cut_off: int, seeds: int, loss: float) -> None:
    spare, to_claim = zip(*(cut(n, cut_off, loss, seed) for seed in range(seeds)), strict=True)
    print(f"\n{n:5} members, {cut_off:2} cut off, {loss:.0%} lost: spare {min(spare):.2f} s", end="")
    print(f", to claim {min(to_claim):.2f} s", end="")
    assert min(to_claim) > 0.0


@pytest.mark.parametrize(("n", "seeds", "seconds"), [(5, 10, 300.0), (16, 5, 200.0), (64, 1, 60.0)])
def test_loss(n: int, seeds: int, seconds: float) -> None:
    dead, unlicensed = zip(*(lose(n, seconds, seed) for seed in range(seeds)), strict=True)
    hours = seeds * n * seconds / 3600
    print(f"\n{n:5} members, {hours:.1f} member hours: {sum(dead)} held for dead", end="")
    print(f", {sum(unlicensed) / hours / 3600:.3%} without licence", end="")
    assert not sum(dead)


def detect(n: int, crashes: int, seed: int) -> list[tuple[float, float, float]]:
    """Crash one after the other, each in a mesh that has come to rest."""
    world = settled(n, seed, 0.0)
    started, before = world.now, world.messages
    world.run(started + 2.0)
    rate = (world.messages - before) / (world.now - started) / n
    return [(*crash(world, f"peer{number:02}"), rate) for number in range(1, crashes + 1)]


def crash(world: World, peer: str) -> tuple[float, float]:
    """Seconds until the first and until all of the others hold the peer for dead."""
    world.run(world.now + 1.0 + world.random.random())
    world.crash(peer)
    crashed_at, first = world.now, 0.0
    while True:
        world.run(world.now + STEP_S)
        states = list(world.states_of(peer).values())
        if not first and State.DEAD in states:
            first = world.now - crashed_at
        if set(states) == {State.DEAD}:
            return first, world.now - crashed_at


def cut(n: int, cut_off: int, loss: float, seed: int) -> tuple[float, float]:
    world = settled(n, seed, loss)
    # The smallest id stays with the majority, which so has it even where it is only half.
    names = sorted(world.machines)
    Random(seed).shuffle(others := names[1:])
    minority = [world.machines[peer] for peer in others[:cut_off]]
    majority = [world.machines[peer] for peer in (names[0], *others[cut_off:])]
    world.partition(ids(minority), ids(majority))
    dead_at: dict[str, float] = {}
    while not agree(majority):
        world.run(world.now + STEP_S)
        for peer in ids(minority) - dead_at.keys():
            if State.DEAD in {believed(machine, peer) for machine in majority}:
                dead_at[peer] = world.now
    agreed_at = world.now
    world.run(world.now + 20.0)
    until = {machine.node.peer: machine.listener.licensed_until for machine in minority}
    return min(dead_at[peer] - until[peer] for peer in until), agreed_at - max(until.values())


def lose(n: int, seconds: float, seed: int) -> tuple[int, float]:
    world = settled(n, seed, 0.1)
    dead: set[tuple[str, int]] = set()
    unlicensed_s, ends_at = 0.0, world.now + seconds
    while world.now < ends_at:
        world.run(world.now + 0.1)
        for machine in world.up():
            rumours = [rumour for rumour in machine.membership._members if rumour.state == State.DEAD]
            dead.update((rumour.record.peer, rumour.record.incarnation) for rumour in rumours)
            unlicensed_s += 0.1 * (machine.listener.licensed_until <= world.now)
    return len(dead), unlicensed_s


def settled(n: int, seed: int, loss: float) -> World:
    world = World(seed, loss=loss)
    world.mesh(n - 1, until=JOINED_AT + Random(seed).random())
    return world


def ids(machines: Iterable[Machine]) -> set[str]:
    return {machine.node.peer for machine in machines}


def agree(machines: list[Machine]) -> bool:
    """Do they have one epoch, in which they alone are live?"""
    views = [machine.ownership for machine in machines]
    return all(view is not None and view.alive == ids(machines) for view in views) and (
        len({view.epoch for view in views if view is not None}) == 1
    )


def believed(machine: Machine, peer: str) -> int:
    rumour = machine.membership._members.get(peer)
    assert rumour is not None
    return rumour.state


def spread(times: Iterable[float]) -> str:
    rising = sorted(times)
    return f"{mean(rising):.2f} s on average, 99 of 100 within {rising[int(0.99 * (len(rising) - 1))]:.2f} s"
