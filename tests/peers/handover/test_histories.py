"""Meshes that grow, shrink, fall apart and crash while they crawl: one peer per slot, and nothing is lost."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest

from tests.peers.handover.twins import WEIGHT, World

SEEDS = 60
CALM_S = 90.0  # within which everything has been taken by whom it belongs to, by far


def settle(world: World) -> None:
    """No more changes; the network stays as bad as it is. Who is down comes back if it is needed."""
    world.run(10.0)  # who is cut off is healed by then
    for name in sorted(world.records.keys() - world.running.keys()):
        if 2 * len(world.running) > len(world.records) and world.count_missed() + 1 < world.replicas:
            world.drop(name)
        else:
            world.start(name)
    world.run(5.0)
    world.is_crawling = False
    end = world.now + CALM_S
    world.run(8.0)
    while world.now < end and not world.is_quiet():
        world.run(2.0)
    world.check_nothing_is_lost()
    world.check_settled()


def disturb(world: World, random: Random) -> None:
    """Do one thing to the mesh that can happen to one."""
    names = sorted(world.running.keys() - world.cut_off)
    down = sorted(world.records.keys() - world.running.keys())
    name = random.choice(names)
    keeping = {peer for peer, record in world.records.items() if record.is_alive and record.weight}
    # Who drains its slots into fewer peers than there are copies leaves fewer copies.
    may_be_least = 0 if len(keeping - {name}) >= world.replicas else 20
    match random.randrange(8):
        case 0 if len(world.records) < 5:
            world.start("abcde"[len(world.records)])
        case 1 if len(names) > 1:
            world.crash(name)
        case 2 if down:
            world.start(random.choice(down))
        case 3 if down:
            world.drop(random.choice(down))
        case 4 | 5 if len(names) > 2:
            world.cut(
                name, dropped_after_s=random.choice((0.5, 2.0, inf)), healed_after_s=random.uniform(2, 9)
            )
        case 6:
            weight = random.choice((may_be_least, 50, WEIGHT, 200))
            world.change(name, replace(world.records[name], weight=weight))
        case 7:  # there and back, and some see nothing of it
            before = world.records[name].weight
            world.change(name, replace(world.records[name], weight=random.choice((may_be_least, 200))))
            world.run(random.choice((0.01, 0.2, 0.6)))
            world.change(name, replace(world.records[name], weight=before))
        case _:
            pass


@pytest.mark.parametrize("seed", range(SEEDS))
def test_any_history_ends_with_every_slot_crawled_by_its_owner_and_nothing_lost(seed: int) -> None:
    random = Random(seed)
    names = "abcde"[: random.randint(1, 4)]
    world = World(seed, names, replicas=random.choice((1, 2, 2, 3)), loss=random.choice((0.0, 0.05, 0.2)))
    for _ in range(random.randint(3, 12)):
        world.run(random.choice((0.1, 0.5, 1.0, 3.0, 10.0)))
        disturb(world, random)
    if not any(world.records[name].weight for name in world.running):
        name = min(world.running)
        world.change(name, replace(world.records[name], weight=WEIGHT))
    settle(world)
    assert world.n_fetched > 0
