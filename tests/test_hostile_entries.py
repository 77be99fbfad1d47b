"""No loop of the product takes more than linear time for what strangers made, wherever it enters.

Of regular expressions alone `test_hostile_patterns` tells more. Here are the ways in as a whole: what a
library does with a text, and what we do with what it says of it.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Iterator, Sequence
from typing import Final

import pytest

from tests.hostile_entries import ENTRIES, PUMPS, Entry, shapes

FEW_CHARS: Final = 2_048
TIMES: Final = (2, 8)
# What takes less may take what it likes: all pairs of 16,384 characters take .2 s in C, far more in Python.
FREE_S: Final = 0.05
# That much more than linear, for what caches and an allocator add once there is more; eight times as much
# takes 64 times as long where it is quadratic, which is more.
GROWTH_MAX: Final = 6.0
TRIES: Final = 3  # of each measurement: somebody else may have had the machine, so the least counts


def seconds(entry: Entry, text: str) -> float:
    """Return the processor time, without that of a look at what all tests before have left behind."""
    gc.disable()
    try:
        began_s = time.thread_time()
        entry.take(text)
        return time.thread_time() - began_s
    finally:
        gc.enable()


def faults(entry: Entry, times: Sequence[int] = TIMES, few_chars: int = FEW_CHARS) -> Iterator[str]:
    """Say which shapes take more than linear time, with so many times as much of them."""
    few = shapes(entry, few_chars)
    more = [shapes(entry, factor * few_chars) for factor in times]
    for (name, text), *larger in zip(few, *more, strict=True):
        entry.take(text)  # what is read or compiled once counts for none
        base_s = min(seconds(entry, text) for _ in range(TRIES))
        grown = zip(times, (text for _, text in larger), strict=True)
        costs = [factor for factor, text in grown if _is_dear(entry, text, factor, base_s)]
        if costs:
            yield f"{name}: dear at {costs} times what took {base_s:.4f} s"


def _is_dear(entry: Entry, text: str, times: int, base_s: float) -> bool:
    bound_s = max(FREE_S, GROWTH_MAX * times * base_s)
    return all(seconds(entry, text) > bound_s for _ in range(TRIES))


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry.name for entry in ENTRIES])
def test_what_strangers_made_takes_linear_time(entry: Entry) -> None:
    assert list(faults(entry)) == []


def test_what_was_quadratic_is_found_out() -> None:
    lines = re.compile(r"^\s*(https?://\S+)\s*$", re.MULTILINE)  # as lists of links were read once
    entry = Entry("before", lines.findall)
    # 256 times as long, where 96 times is found out: what was measured may be off by a factor of two.
    assert any("'\\n'" in fault for fault in faults(entry, (16,), 512))


def test_the_shapes_differ() -> None:
    assert len(set(PUMPS)) == len(PUMPS) > 60
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES) > 30
