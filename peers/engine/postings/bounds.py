"""What bounds the scores of a block of postings: the bytes in its skip entry, and what they are made of.

A score rises with frequencies and falls with lengths. Of the body, where documents differ most, the greatest
frequencies are kept with the least lengths that come with them, as a *staircase* of points, both rising:
every posting has at most the frequency and at least the length of one of them. A staircase with more steps
than are stored is cut by joining neighbours, which bounds more loosely, never wrongly. Of each other field
there are the greatest frequency and the least length of all postings.
"""

from __future__ import annotations

import numpy as np

from peers.engine.kernels import BODY, FIELD_COUNT
from peers.engine.postings.format import WORD_MASK
from peers.kernel import Ints, Words, int64, leaf

POINTS = 4
POINTS_AT = 3  # in a skip entry
FIELDS_AT = 7
FREQUENCY_ANY = 65_535  # of a point
FIELD_FREQUENCY_ANY = 255
LENGTH_MAX = 65_535

# While more points than are stored are collected, the staircase is not cut.
_POINTS_COLLECTED = 16
STAIRCASE_SIZE = 2 * _POINTS_COLLECTED + 2  # numbers: frequency and length of each point


@leaf
def add_point(points: Ints, n: int, frequency: int, length: int) -> int:
    """Add a point to a staircase, lengths and frequencies rising; return how many it has."""
    i = n
    while i > 0 and points[2 * i - 1] > length:
        i -= 1
    if i > 0 and points[2 * i - 2] >= frequency:
        return n
    low = i
    while low > 0 and points[2 * low - 1] == length:
        low -= 1
    high = i
    while high < n and points[2 * high] <= frequency:
        high += 1
    # low:high are dominated; the new point takes their place.
    moved = 1 - (high - low)
    if moved > 0:
        for j in range(n - 1, high - 1, -1):
            points[2 * (j + 1)] = points[2 * j]
            points[2 * (j + 1) + 1] = points[2 * j + 1]
    elif moved < 0:
        for j in range(high, n):
            points[2 * (j + moved)] = points[2 * j]
            points[2 * (j + moved) + 1] = points[2 * j + 1]
    points[2 * low] = frequency
    points[2 * low + 1] = length
    n += moved
    if n == _POINTS_COLLECTED:
        n = _cut_points(points, n, n - 1)
    return n


@leaf
def _cut_points(points: Ints, n: int, n_max: int) -> int:
    """Join neighbouring points, those first that lose least."""
    while n > n_max:
        best = 0
        least = np.inf
        for i in range(n - 1):
            frequencies = points[2 * i + 2] / points[2 * i]
            lengths = (points[2 * i + 3] + 1.0) / (points[2 * i + 1] + 1.0)
            loss = min(frequencies, lengths)
            if loss < least:
                least = loss
                best = i
        points[2 * best] = points[2 * best + 2]
        for j in range(best + 1, n - 1):
            points[2 * j] = points[2 * j + 2]
            points[2 * j + 1] = points[2 * j + 3]
        n -= 1
    return n


@leaf
def write_points(points: Ints, n: int, words: Words, entry: int) -> None:
    n = _cut_points(points, n, POINTS)
    for i in range(POINTS):
        words[entry + POINTS_AT + i] = np.uint32(points[2 * i] << 16 | points[2 * i + 1]) if i < n else 0


@leaf
def other_field(i: int) -> int:
    """Return which field has the i-th place among those without points."""
    return i if i < BODY else i + 1


@leaf
def write_fields(most: Ints, least: Ints, words: Words, entry: int) -> None:
    packed_low = int64(0)
    packed_high = int64(0)
    for i in range(FIELD_COUNT - 1):
        field = other_field(i)
        value = 0
        if most[field]:
            value = min(most[field], FIELD_FREQUENCY_ANY) << 16 | min(least[field], LENGTH_MAX)
        if i < 2:
            packed_low |= value << (24 * i)
        else:
            packed_high |= value << (24 * (i - 2))
    words[entry + FIELDS_AT] = np.uint32(packed_low & WORD_MASK)
    words[entry + FIELDS_AT + 1] = np.uint32((packed_low >> 32) | (packed_high & 0xFFFF) << 16)
    words[entry + FIELDS_AT + 2] = np.uint32(packed_high >> 16)


@leaf
def field_bounds(words: Words, entry: int, i: int) -> int:
    """Return frequency << 16 | length of the i-th field without points."""
    if i < 2:
        packed = int64(words[entry + FIELDS_AT]) | (int64(words[entry + FIELDS_AT + 1]) & 0xFFFF) << 32
    else:
        packed = int64(words[entry + FIELDS_AT + 1]) >> 16 | int64(words[entry + FIELDS_AT + 2]) << 16
    return int(packed >> (24 * (i & 1)) & 0xFFFFFF)
