"""How long slot tables take to make and to change.

pytest tests/benchmarks/bench_slots.py -s

50,000 slots, two replicas, all peers of weight 100 (the last line: 1 to 977). Milliseconds of processor time,
one core of an Intel Xeon (KVM) that others use too, CPython 3.11.7, NumPy 2.4.6:

                       first table    join   leave  change of weight
         4 peers                32     4.6    14               19
        16 peers                38     4.1     4.6              9
        64 peers                66     4.1     2.6              8
       256 peers               191     4.7     2.2              7
     1,000 peers               682     3.5     2.1              7
     1,000 peers, weighted     640     4.1     0.6              4
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from mesh.slots import SlotTable

SLOTS = 50_000


@pytest.mark.parametrize("n", [4, 16, 64, 256, 1_000])
def test_slot_tables_of_equals(n: int) -> None:
    measure(f"{n} peers", {f"peer{i:04}": 100 for i in range(n)})


def test_slot_tables_of_many_weights() -> None:
    measure("1000 peers, weighted", {f"peer{i:04}": 1 + i * i % 977 for i in range(1_000)})


def measure(name: str, weights: dict[str, int]) -> None:
    SlotTable({"first": 1}, SLOTS, 1)  # makes the table of logarithms
    first, table = timed(lambda: SlotTable(weights, SLOTS, 2))
    join, joined = timed(lambda: table.with_peer("peer0500x", 100))
    leave, _ = timed(lambda: joined.without_peer("peer0001"))
    change, _ = timed(lambda: joined.with_peer("peer0001", 50))
    print(f"\n{name:24}{first:8.1f}{join:8.1f}{leave:8.1f}{change:8.1f}", end="")
    assert join < 50
    assert leave < 200


def timed(work: Callable[[], SlotTable]) -> tuple[float, SlotTable]:
    """Milliseconds of processor time, the least of three, and the table."""
    times = []
    for _ in range(3):
        start = time.process_time()
        table = work()
        times.append(1_000 * (time.process_time() - start))
    return min(times), table
